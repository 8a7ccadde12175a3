//! The verdict on a part of a cluster: the result of all evidence about it.
//!
//! A rule of the prediction never changes a verdict. Instead, it adds [`Evidence`] to the [`Ledger`]: the part, the
//! outcome, the fields, the reasons, and the source of the rule. [`decide`] turns all evidence of a part into its verdict:
//!
//! 1. The strongest outcome decides ([`Weight`]): refused, then unknown, then not reached, then the findings in the order
//!    of [`MeaningKind`]. So something unknown is never shown as safe, whatever else is found.
//! 2. A part that is held keeps its machines: its scaling, rollout or upgrade becomes a change in place.
//! 3. The reasons are those of the deciding outcomes, with the remarks on them. The fields are those of every finding.
//!
//! The order in which evidence is added does not matter.

use std::collections::BTreeMap;

use super::evidence::{Evidence, RuleOutcome};
use super::field::Field;
use super::meaning::{Meaning, MeaningKind};
use super::reason::Reason;
use crate::role::TopologyPart;

/// A verdict on one part of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verdict {
    /// The part; the Cluster for findings about the whole cluster.
    pub subject: TopologyPart,
    /// What the change means for it.
    pub meaning: Meaning,
    /// The fields that cause it.
    pub fields: Vec<Field>,
    /// Its reasons: Cluster API's own, refusals, or unknown facts.
    pub reasons: Vec<Reason>,
    /// Whether a runtime extension decides the outcome, so that only a try can show it.
    pub by_extension: bool,
    /// The source of the rule.
    pub source: &'static str,
}

impl Verdict {
    /// Creates a verdict without fields, reasons or source.
    pub fn new(subject: TopologyPart, meaning: Meaning) -> Self {
        let (fields, reasons) = (Vec::new(), Vec::new());
        Self { subject, meaning, fields, reasons, by_extension: false, source: "" }
    }
}

/// The weight of an outcome: the greatest one decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Weight {
    /// A known finding.
    Found(MeaningKind),
    /// Cluster API does not get to the part, so its findings have no effect.
    NotReached,
    /// The outcome is unknown.
    Unknown,
    /// The whole change is refused.
    Rejected,
}

impl Evidence {
    /// The weight; none if the outcome decides nothing by itself.
    pub(super) fn weight(&self) -> Option<Weight> {
        match &self.outcome {
            RuleOutcome::Means(Meaning::Rejected) => Some(Weight::Rejected),
            RuleOutcome::Means(Meaning::Opaque) | RuleOutcome::Unsure => Some(Weight::Unknown),
            RuleOutcome::NotReached => Some(Weight::NotReached),
            RuleOutcome::Means(meaning) => Some(Weight::Found(meaning.kind())),
            RuleOutcome::Held
            | RuleOutcome::SurgeUnknown
            | RuleOutcome::NotTogether(_)
            | RuleOutcome::Remark(_) => None,
        }
    }

    /// Reports whether the reasons are shown, given the deciding weight and the kind of the finding.
    fn counts(&self, decisive: Weight, found: MeaningKind) -> bool {
        if decisive == Weight::NotReached {
            return self.outcome == RuleOutcome::NotReached;
        }
        match &self.outcome {
            RuleOutcome::Means(meaning) => meaning.kind() == found,
            RuleOutcome::Unsure => decisive == Weight::Unknown,
            RuleOutcome::NotReached => true,
            RuleOutcome::Held => {
                is_held(found) || matches!(found, MeaningKind::InPlace | MeaningKind::ProviderDependent)
            }
            RuleOutcome::SurgeUnknown => matches!(found, MeaningKind::Rollout | MeaningKind::Upgrade),
            RuleOutcome::NotTogether(_) => found == MeaningKind::Rollout,
            RuleOutcome::Remark(on) => on.has(found),
        }
    }
}

/// Reports whether a part that is held postpones a finding of this kind.
fn is_held(found: MeaningKind) -> bool {
    matches!(found, MeaningKind::Scale | MeaningKind::Rollout | MeaningKind::Upgrade)
}

/// The deciding weight among the evidence of one part, if any.
pub(super) fn weight(all: &[Evidence]) -> Option<Weight> {
    all.iter().filter_map(Evidence::weight).max()
}

/// Turns the evidence of one part into a verdict; none if nothing decides.
pub(super) fn decide(part: &TopologyPart, all: &[Evidence]) -> Option<Verdict> {
    let decisive = weight(all)?;
    let mut all: Vec<&Evidence> = all.iter().collect();
    all.sort_unstable();
    let findings = all.iter().filter_map(|one| match &one.outcome {
        RuleOutcome::Means(meaning) => Some(meaning),
        _ => None,
    });
    let found = findings.max_by_key(|meaning| (meaning.kind(), *meaning)).unwrap_or(&Meaning::NoChange);
    let kind = found.kind();
    let counting: Vec<&Evidence> = all.iter().copied().filter(|one| one.counts(decisive, kind)).collect();
    let is_finding =
        |one: &&&Evidence| matches!(one.outcome, RuleOutcome::Means(_)) || counting.contains(*one);
    let fields = all.iter().filter(is_finding).filter(|_| decisive != Weight::NotReached);
    Some(Verdict {
        subject: part.clone(),
        meaning: meaning(decisive, found, &counting),
        fields: fields.flat_map(|one| one.fields.iter().cloned()).collect(),
        reasons: counting.iter().flat_map(|one| one.reasons.iter().cloned()).collect(),
        by_extension: counting.iter().any(|one| one.by_extension),
        source: counting.iter().rev().find_map(|one| one.source).unwrap_or_default(),
    })
}

fn meaning(decisive: Weight, found: &Meaning, counting: &[&Evidence]) -> Meaning {
    match decisive {
        Weight::Rejected => return Meaning::Rejected,
        Weight::Unknown => return Meaning::Opaque,
        Weight::NotReached => return Meaning::NoChange,
        Weight::Found(_) => {}
    }
    let has = |outcome: &RuleOutcome| counting.iter().any(|one| one.outcome == *outcome);
    if is_held(found.kind()) && has(&RuleOutcome::Held) {
        return Meaning::InPlace;
    }
    let mut meaning = found.clone();
    if let Meaning::Rollout { surge, .. } | Meaning::Upgrade { surge, .. } = &mut meaning {
        surge.take_if(|_| has(&RuleOutcome::SurgeUnknown));
    }
    if let Meaning::Rollout { together_with, .. } = &mut meaning {
        let not_together = |part: &TopologyPart| {
            let separates =
                |one: &&Evidence| matches!(&one.outcome, RuleOutcome::NotTogether(all) if all.contains(part));
            counting.iter().any(separates)
        };
        together_with.retain(|part| !not_together(part));
    }
    meaning
}

/// All evidence on a change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Ledger {
    parts: BTreeMap<TopologyPart, Vec<Evidence>>,
}

impl Ledger {
    pub(super) fn add(&mut self, evidence: Evidence) {
        self.parts.entry(evidence.part.clone()).or_default().push(evidence);
    }

    /// The verdicts, ordered by part.
    pub(super) fn verdicts(&self) -> Vec<Verdict> {
        self.parts.iter().filter_map(|(part, all)| decide(part, all)).collect()
    }
}

impl IntoIterator for Ledger {
    type Item = Evidence;
    type IntoIter = std::iter::Flatten<std::collections::btree_map::IntoValues<TopologyPart, Vec<Evidence>>>;

    fn into_iter(self) -> Self::IntoIter {
        self.parts.into_values().flatten()
    }
}

impl Extend<Evidence> for Ledger {
    fn extend<T: IntoIterator<Item = Evidence>>(&mut self, all: T) {
        all.into_iter().for_each(|one| self.add(one));
    }
}

impl FromIterator<Evidence> for Ledger {
    fn from_iter<T: IntoIterator<Item = Evidence>>(all: T) -> Self {
        let mut ledger = Self::default();
        ledger.extend(all);
        ledger
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::predict::evidence::On;
    use crate::predict::rules::Rule;

    const PART: TopologyPart = TopologyPart::ControlPlane;

    fn meanings() -> Vec<Meaning> {
        let rollout = |machines| Meaning::Rollout {
            machines,
            least: 1,
            surge: Some((1, 0)),
            together_with: vec![TopologyPart::Infrastructure],
            on_delete: false,
        };
        let upgrade = Meaning::Upgrade {
            from: "v1".to_owned(),
            to: "v2".to_owned(),
            times: 1,
            unaided: 1,
            surge: Some((1, 0)),
            on_delete: false,
        };
        vec![
            Meaning::NoChange,
            Meaning::MetadataOnly,
            Meaning::InPlace,
            Meaning::Scale { from: 1, to: 3 },
            rollout(1),
            rollout(3),
            upgrade,
            Meaning::ProviderDependent,
            Meaning::Create,
            Meaning::Delete,
            Meaning::Wedged,
            Meaning::Opaque,
            Meaning::Rejected,
        ]
    }

    fn outcomes() -> impl Strategy<Value = RuleOutcome> {
        prop_oneof![
            4 => prop::sample::select(meanings()).prop_map(RuleOutcome::Means),
            3 => prop::sample::select(vec![
                RuleOutcome::Unsure,
                RuleOutcome::NotReached,
                RuleOutcome::Held,
                RuleOutcome::SurgeUnknown,
                RuleOutcome::NotTogether(vec![TopologyPart::Infrastructure]),
                RuleOutcome::Remark(On::ALL),
                RuleOutcome::Remark(On::Only(&[MeaningKind::Rollout])),
            ]),
        ]
    }

    fn evidence() -> impl Strategy<Value = Evidence> {
        const RULES: [Rule; 4] = [Rule::Change, Rule::Unknown, Rule::HeldBack, Rule::PausedPart];
        (outcomes(), prop::sample::select(&RULES[..]), 0..3_u8).prop_map(|(outcome, rule, number)| {
            let source = (number > 0).then_some(["a", "b"][usize::from(number % 2)]);
            Evidence { source, ..Evidence::new(PART, rule, outcome).because(format!("reason {number}")) }
        })
    }

    fn several() -> impl Strategy<Value = Vec<Evidence>> {
        prop::collection::vec(evidence(), 0..7)
    }

    fn verdict(all: &[Evidence]) -> Option<Verdict> {
        decide(&PART, all)
    }

    /// Reports whether a verdict says that all machines stay as they are.
    fn is_safe(verdict: &Verdict) -> bool {
        matches!(verdict.meaning, Meaning::NoChange | Meaning::MetadataOnly | Meaning::InPlace)
    }

    proptest! {
        #[test]
        fn what_is_not_known_is_never_shown_as_anything_else(all in several(), unsure in any::<bool>(), at in any::<prop::sample::Index>()) {
            let unknown = if unsure { RuleOutcome::Unsure } else { RuleOutcome::Means(Meaning::Opaque) };
            let mut all = all;
            let at = at.index(all.len() + 1);
            all.insert(at, Evidence::new(PART, Rule::Unknown, unknown).because("not known"));
            let verdict = verdict(&all).unwrap();
            let is_refused = all.iter().any(|one| one.outcome == RuleOutcome::Means(Meaning::Rejected));
            prop_assert_eq!(verdict.meaning, if is_refused { Meaning::Rejected } else { Meaning::Opaque });
            prop_assert!(is_refused || verdict.reasons.contains(&"not known".into()));
        }

        #[test]
        fn evidence_counts_in_any_order((one, other) in several().prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle()))) {
            prop_assert_eq!(verdict(&one), verdict(&other));
        }

        #[test]
        fn more_evidence_never_weighs_less(all in several(), more in evidence()) {
            let mut with = all.clone();
            with.push(more);
            prop_assert!(weight(&with) >= weight(&all));
        }

        #[test]
        fn machines_stay_only_where_nothing_says_that_they_go(all in several()) {
            let Some(verdict) = verdict(&all) else { return Ok(()) };
            let has = |outcome: &RuleOutcome| all.iter().any(|one| one.outcome == *outcome);
            let moves = all.iter().filter_map(Evidence::weight).any(|weight| weight > Weight::Found(MeaningKind::InPlace));
            prop_assert!(!is_safe(&verdict) || !moves || has(&RuleOutcome::Held) || has(&RuleOutcome::NotReached));
        }

        #[test]
        fn only_what_says_so_keeps_machines_or_stops(all in several(), more in evidence()) {
            let mut with = all.clone();
            with.push(more.clone());
            let (Some(before), Some(after)) = (verdict(&all), verdict(&with)) else { return Ok(()) };
            let keeps = matches!(more.outcome, RuleOutcome::Held | RuleOutcome::NotReached);
            prop_assert!(is_safe(&before) || !is_safe(&after) || keeps);
        }
    }

    #[test]
    fn a_part_that_is_held_keeps_its_machines_and_the_reasons() {
        let rollout = RuleOutcome::Means(meanings()[5].clone());
        let all = [
            Evidence::new(PART, Rule::PausedPart, RuleOutcome::Held).because("it is paused"),
            Evidence::new(PART, Rule::Change, rollout).because("another version"),
        ];
        let verdict = verdict(&all).unwrap();
        assert_eq!(verdict.meaning, Meaning::InPlace);
        assert_eq!(verdict.reasons, ["another version", "it is paused"].map(Reason::from));
    }

    #[test]
    fn words_alone_are_no_verdict() {
        assert_eq!(verdict(&[Evidence::remark(PART, Rule::Retries, On::ALL).because("a remark")]), None);
    }
}
