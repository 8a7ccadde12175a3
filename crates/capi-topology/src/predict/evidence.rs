//! What the rules find of a part, and the one rule by which that becomes a verdict.
//!
//! A rule of the prediction never changes a verdict. It adds [`Evidence`] to the [`Ledger`]: of which part, with what outcome, for
//! which fields, with which reasons, and where the rule is written. [`decide`] makes the verdict of all evidence of a part:
//!
//! 1. The strongest outcome decides ([`Weight`]): refused, then not known, then never reached, then the findings in the order
//!    of [`Kind`]. So what is not known is never shown as safe, whatever else is found.
//! 2. A part that is held keeps its machines: scaling, a rollout or an upgrade of it is a change in place.
//! 3. Reasons are those of the outcomes that decide, and remarks on what they found. Fields are those of every finding.
//!
//! The order in which evidence is added means nothing.

use std::collections::BTreeMap;

use super::field::Field;
use super::verdict::{Kind, Meaning, Verdict};
use crate::role::Part;

/// The rules, in the order in which their reasons are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rule {
    /// The API server, a webhook or the controller refuses.
    Refusal,
    /// What the change does to the objects of the part.
    Change,
    /// Something that the change depends on is not known.
    Unknown,
    /// The number of machines is not known.
    Count,
    /// Somebody has to act before it happens.
    ByHand,
    /// An upgrade holds the part back.
    Waiting,
    /// Objects come or go beside one that stays.
    Objects,
    /// The Cluster is paused.
    PausedCluster,
    /// Another pool is refused.
    Retries,
    /// Whether the part goes depends on who applies the Cluster.
    Applier,
    /// An annotation held the pool back before.
    HeldBack,
    /// Templates were edited earlier.
    EditedTemplates,
    /// Somebody else set values of what runs.
    ForeignValues,
    /// The part is paused.
    PausedPart,
    /// What rolls at the same time.
    Together,
    /// The provider may refuse, or refuses, the infrastructure.
    Infrastructure,
    /// Machines may be updated in place.
    InPlaceUpdates,
    /// The class is written before the Cluster.
    ClassFirst,
    /// Flux waits for the class before it writes templates.
    FluxOrder,
}

/// What a rule finds.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Outcome {
    /// The change means this.
    Means(Meaning),
    /// What is found may not be what happens: it is not known, and the reasons of the finding stay.
    Unsure,
    /// Cluster API stops before it gets to the part: nothing happens to it.
    NotReached,
    /// Its machines stay as they are for now.
    Held,
    /// A rollout does not go by the numbers of the Cluster.
    SurgeUnknown,
    /// It is not known whether these roll at the same time.
    NotTogether(Vec<Part>),
    /// Words to add where such a thing was found.
    Remark(On),
}

/// The kinds of findings that a remark is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum On {
    /// These.
    Only(&'static [Kind]),
    /// All others.
    AllBut(&'static [Kind]),
}

impl On {
    /// All kinds.
    pub(super) const ALL: Self = Self::AllBut(&[]);

    fn has(self, kind: Kind) -> bool {
        match self {
            Self::Only(kinds) => kinds.contains(&kind),
            Self::AllBut(kinds) => !kinds.contains(&kind),
        }
    }
}

/// How much an outcome counts: the greatest decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Weight {
    /// Something was found that is known.
    Found(Kind),
    /// Whatever was found does not happen.
    NotReached,
    /// It is not known.
    Unknown,
    /// The whole change is refused.
    Rejected,
}

/// What one rule finds of one part.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Evidence {
    /// The part.
    pub part: Part,
    /// The rule.
    pub rule: Rule,
    /// What it finds.
    pub outcome: Outcome,
    /// The fields by which it finds that.
    pub fields: Vec<Field>,
    /// Why, in words.
    pub reasons: Vec<String>,
    /// Where the rule is written; none where that is shown for what it adds to.
    pub source: Option<&'static str>,
}

impl Evidence {
    /// Evidence without a word.
    pub(super) fn new(part: Part, rule: Rule, outcome: Outcome) -> Self {
        Self { part, rule, outcome, fields: Vec::new(), reasons: Vec::new(), source: None }
    }

    /// That something is not known, and what was found of it does not count.
    pub(super) fn unknown(part: Part, rule: Rule, source: &'static str) -> Self {
        Self { source: Some(source), ..Self::new(part, rule, Outcome::Means(Meaning::Opaque)) }
    }

    /// Words to add where something of such a kind was found.
    pub(super) fn remark(part: Part, rule: Rule, on: On) -> Self {
        Self::new(part, rule, Outcome::Remark(on))
    }

    /// The same with one reason more.
    #[must_use]
    pub(super) fn because(mut self, reason: impl Into<String>) -> Self {
        self.reasons.push(reason.into());
        self
    }

    /// How much it counts; none for what decides nothing by itself.
    pub(super) fn weight(&self) -> Option<Weight> {
        match &self.outcome {
            Outcome::Means(Meaning::Rejected) => Some(Weight::Rejected),
            Outcome::Means(Meaning::Opaque) | Outcome::Unsure => Some(Weight::Unknown),
            Outcome::NotReached => Some(Weight::NotReached),
            Outcome::Means(meaning) => Some(Weight::Found(meaning.kind())),
            Outcome::Held | Outcome::SurgeUnknown | Outcome::NotTogether(_) | Outcome::Remark(_) => None,
        }
    }

    /// Whether its reasons are shown where this decides and that was found.
    fn counts(&self, decisive: Weight, found: Kind) -> bool {
        if decisive == Weight::NotReached {
            return self.outcome == Outcome::NotReached;
        }
        match &self.outcome {
            Outcome::Means(meaning) => meaning.kind() == found,
            Outcome::Unsure => decisive == Weight::Unknown,
            Outcome::NotReached => true,
            Outcome::Held => is_held(found) || matches!(found, Kind::InPlace | Kind::ProviderDependent),
            Outcome::SurgeUnknown | Outcome::NotTogether(_) => found == Kind::Rollout,
            Outcome::Remark(on) => on.has(found),
        }
    }
}

/// Whether a part that is held does nothing of this.
fn is_held(found: Kind) -> bool {
    matches!(found, Kind::Scale | Kind::Rollout | Kind::Upgrade)
}

/// What decides among evidence of one part; none where nothing does.
pub(super) fn weight(all: &[Evidence]) -> Option<Weight> {
    all.iter().filter_map(Evidence::weight).max()
}

/// The verdict that evidence of one part comes to; none where nothing decides.
pub(super) fn decide(part: &Part, all: &[Evidence]) -> Option<Verdict> {
    let decisive = weight(all)?;
    let mut all: Vec<&Evidence> = all.iter().collect();
    all.sort_unstable();
    let findings = all.iter().filter_map(|one| match &one.outcome {
        Outcome::Means(meaning) => Some(meaning),
        _ => None,
    });
    let found = findings.max_by_key(|meaning| (meaning.kind(), *meaning)).unwrap_or(&Meaning::NoChange);
    let kind = found.kind();
    let counting: Vec<&Evidence> = all.iter().copied().filter(|one| one.counts(decisive, kind)).collect();
    let is_finding = |one: &&&Evidence| matches!(one.outcome, Outcome::Means(_)) || counting.contains(*one);
    let fields = all.iter().filter(is_finding).filter(|_| decisive != Weight::NotReached);
    Some(Verdict {
        subject: part.clone(),
        meaning: meaning(decisive, found, &counting),
        fields: fields.flat_map(|one| one.fields.iter().cloned()).collect(),
        reasons: counting.iter().flat_map(|one| one.reasons.iter().cloned()).collect(),
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
    let has = |outcome: &Outcome| counting.iter().any(|one| one.outcome == *outcome);
    if is_held(found.kind()) && has(&Outcome::Held) {
        return Meaning::InPlace;
    }
    let mut meaning = found.clone();
    if let Meaning::Rollout { surge, together_with, .. } = &mut meaning {
        surge.take_if(|_| has(&Outcome::SurgeUnknown));
        let apart = |part: &Part| {
            let is_apart =
                |one: &&Evidence| matches!(&one.outcome, Outcome::NotTogether(all) if all.contains(part));
            counting.iter().any(is_apart)
        };
        together_with.retain(|part| !apart(part));
    }
    meaning
}

/// All evidence on a change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Ledger {
    parts: BTreeMap<Part, Vec<Evidence>>,
}

impl Ledger {
    /// Adds evidence.
    pub(super) fn add(&mut self, evidence: Evidence) {
        self.parts.entry(evidence.part.clone()).or_default().push(evidence);
    }

    /// The verdicts, in the order of the parts.
    pub(super) fn verdicts(&self) -> Vec<Verdict> {
        self.parts.iter().filter_map(|(part, all)| decide(part, all)).collect()
    }
}

impl IntoIterator for Ledger {
    type Item = Evidence;
    type IntoIter = std::iter::Flatten<std::collections::btree_map::IntoValues<Part, Vec<Evidence>>>;

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

    const PART: Part = Part::ControlPlane;

    fn meanings() -> Vec<Meaning> {
        let rollout = |machines| Meaning::Rollout {
            machines,
            least: 1,
            surge: Some((1, 0)),
            together_with: vec![Part::Infrastructure],
            on_delete: false,
        };
        let upgrade =
            Meaning::Upgrade { from: "v1".to_owned(), to: "v2".to_owned(), times: 1, on_delete: false };
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

    fn outcomes() -> impl Strategy<Value = Outcome> {
        prop_oneof![
            4 => prop::sample::select(meanings()).prop_map(Outcome::Means),
            3 => prop::sample::select(vec![
                Outcome::Unsure,
                Outcome::NotReached,
                Outcome::Held,
                Outcome::SurgeUnknown,
                Outcome::NotTogether(vec![Part::Infrastructure]),
                Outcome::Remark(On::ALL),
                Outcome::Remark(On::Only(&[Kind::Rollout])),
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

    /// Whether a verdict says that all machines stay as they are.
    fn is_safe(verdict: &Verdict) -> bool {
        matches!(verdict.meaning, Meaning::NoChange | Meaning::MetadataOnly | Meaning::InPlace)
    }

    proptest! {
        #[test]
        fn what_is_not_known_is_never_shown_as_anything_else(all in several(), unsure in any::<bool>(), at in any::<prop::sample::Index>()) {
            let unknown = if unsure { Outcome::Unsure } else { Outcome::Means(Meaning::Opaque) };
            let mut all = all;
            let at = at.index(all.len() + 1);
            all.insert(at, Evidence::new(PART, Rule::Unknown, unknown).because("not known"));
            let verdict = verdict(&all).unwrap();
            let is_refused = all.iter().any(|one| one.outcome == Outcome::Means(Meaning::Rejected));
            prop_assert_eq!(verdict.meaning, if is_refused { Meaning::Rejected } else { Meaning::Opaque });
            prop_assert!(is_refused || verdict.reasons.contains(&"not known".to_owned()));
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
            let has = |outcome: &Outcome| all.iter().any(|one| one.outcome == *outcome);
            let moves = all.iter().filter_map(Evidence::weight).any(|weight| weight > Weight::Found(Kind::InPlace));
            prop_assert!(!is_safe(&verdict) || !moves || has(&Outcome::Held) || has(&Outcome::NotReached));
        }

        #[test]
        fn only_what_says_so_keeps_machines_or_stops(all in several(), more in evidence()) {
            let mut with = all.clone();
            with.push(more.clone());
            let (Some(before), Some(after)) = (verdict(&all), verdict(&with)) else { return Ok(()) };
            let keeps = matches!(more.outcome, Outcome::Held | Outcome::NotReached);
            prop_assert!(is_safe(&before) || !is_safe(&after) || keeps);
        }
    }

    #[test]
    fn a_part_that_is_held_keeps_its_machines_and_the_reasons() {
        let rollout = Outcome::Means(meanings()[5].clone());
        let all = [
            Evidence::new(PART, Rule::PausedPart, Outcome::Held).because("it is paused"),
            Evidence::new(PART, Rule::Change, rollout).because("another version"),
        ];
        let verdict = verdict(&all).unwrap();
        assert_eq!(verdict.meaning, Meaning::InPlace);
        assert_eq!(verdict.reasons, ["another version", "it is paused"]);
    }

    #[test]
    fn words_alone_are_no_verdict() {
        assert_eq!(verdict(&[Evidence::remark(PART, Rule::Retries, On::ALL).because("a remark")]), None);
    }
}
