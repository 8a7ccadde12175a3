//! Turns the differences of one cluster into changes with risks.

use super::{
    Background,
    change::{Change, Effect, Leaving, Revert, Subject},
    leftovers::Leftover,
    objects,
    parts::{of_verdict, paused, replaces_healthy},
    paused_parts, peaks, refusal, renamed_pools,
    returned::Returned,
    risk::Risk,
    steps,
};
use crate::{
    compare::{
        Answer, ClusterChange, ClusterFacts, ClusterOutcome, Fate, ObjectChange, Section, Unknown, Which,
    },
    model::{ClusterId, hex},
    note::About,
    topology::{self, Meaning, TopologyPart, Verdict},
};

/// The effects of a change on one cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterReport {
    /// The cluster. If it moved, its new ID.
    pub cluster: ClusterId,
    /// Whether a cluster in another management cluster has the same namespace and name.
    pub has_namesake: bool,
    /// The people or teams that answer for it.
    pub owners: Vec<String>,
    /// Its release before and after.
    pub release: Sides,
    /// Its Kubernetes version before and after.
    pub kubernetes: Sides,
    /// The highest risk among its changes.
    pub risk: Risk,
    /// Its changes, worst first.
    pub changes: Vec<Change>,
    /// The steps of an upgrade, in order.
    pub steps: Vec<String>,
    /// The most pools that an upgrade changes in one step; 0 without an upgrade.
    pub pools_at_once: usize,
    /// Other notes.
    pub notes: Vec<String>,
}

/// A value before and after.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sides {
    /// The value before; none if there was none.
    pub before: Option<String>,
    /// The value after; none if there is none.
    pub after: Option<String>,
}

impl Sides {
    /// Whether the values differ.
    pub fn differs(&self) -> bool {
        self.before != self.after
    }
}

/// Reports the effects of a change on one cluster.
pub(super) fn report(found: &ClusterChange, background: &Background) -> ClusterReport {
    let (changes, notes, steps) = (Vec::new(), Vec::new(), Vec::new());
    let mut made = Making { found, background, changes, notes, steps, pools_at_once: 0 };
    made.fate();
    made.suspension();
    // A cluster that is rebuilt as a new one shares no object with the old one.
    let is_new =
        matches!(found.fate, Fate::Moved { .. }) && !found.after.as_ref().is_some_and(|one| one.paused);
    if !is_new || matches!(found.outcome, ClusterOutcome::Unknown(_)) {
        made.outcome();
    }
    if matches!(found.fate, Fate::Changed | Fate::Moved { .. }) && !is_new {
        objects::add(found, background, &mut made.changes);
    }
    objects::add_secrets(found, &mut made.changes);
    made.announced();
    paused_parts::hold(&mut made.changes, found);
    made.detached();
    made.guards();
    refusal::add_abandoned(&mut made.changes, &found.cluster, &background.abandoned);
    made.finish()
}

struct Making<'a> {
    found: &'a ClusterChange,
    background: &'a Background,
    changes: Vec<Change>,
    notes: Vec<String>,
    steps: Vec<String>,
    pools_at_once: usize,
}

impl Making<'_> {
    fn finish(self) -> ClusterReport {
        let Self { found, background, mut changes, notes, steps, pools_at_once } = self;
        if changes.is_empty() {
            // Something differs, but none of the steps above recognized it.
            let mut change = Change::new(Subject::Whole, Effect::Unknown, Risk::Unknown, Revert::Unknown);
            change.reasons.push("something differs that this report does not know".to_owned());
            change.content = found.objects.iter().map(|object| &*object.content).collect();
            changes.push(change);
        }
        let digest =
            [&found.before, &found.after].map(|side| side.as_ref().map(|facts| hex(&facts.spec[..8])));
        for change in &mut changes {
            if matches!(change.subject, Subject::Whole | Subject::Part(_)) {
                change.content.extend(digest.iter().map(|side| format!("{side:?}")));
            }
            if matches!(
                change.effect,
                Effect::Created | Effect::Returned { .. } | Effect::Moved { paused: false, .. }
            ) {
                change.content.extend(found.objects.iter().map(|object| &*object.content));
            }
        }
        changes.sort_by(|a, b| (b.risk, &a.subject).cmp(&(a.risk, &b.subject)));
        let of = |side: &Option<ClusterFacts>, get: fn(&ClusterFacts) -> Option<String>| {
            side.as_ref().and_then(get)
        };
        let sides = |get| Sides { before: of(&found.before, get), after: of(&found.after, get) };
        ClusterReport {
            cluster: found.cluster.clone(),
            has_namesake: background.namesakes.contains(&found.cluster),
            owners: background.owners.get(&found.cluster).cloned().unwrap_or_default(),
            release: sides(|facts| facts.release.clone()),
            kubernetes: sides(|facts| facts.kubernetes.clone()),
            risk: changes.iter().map(|change| change.risk).max().unwrap_or(Risk::Unknown),
            changes,
            steps,
            pools_at_once,
            notes,
        }
    }

    fn whole(&mut self, effect: Effect, risk: Risk, revert: Revert) -> &mut Change {
        self.changes.push(Change::new(Subject::Whole, effect, risk, revert));
        let last = self.changes.len() - 1;
        &mut self.changes[last]
    }

    /// Adds what the guards refuse.
    fn guards(&mut self) {
        let from = if let Fate::Moved { from } = &self.found.fate { Some(from) } else { None };
        let mut known = [Some(&self.found.cluster), from].into_iter().flatten();
        let Some(guarded) = known.find_map(|one| self.background.guarded.get(one)) else { return };
        let mut guarded = guarded.clone();
        guarded.0.retain(|message| !message.mark_left_addon(&mut self.changes));
        if guarded.0.is_empty() {
            return;
        }
        if self.found.fate == Fate::Deleted && guarded.keeps_deleted() {
            // The engine leaves it behind, so no machine goes.
            self.changes.retain(|change| !matches!(change.effect, Effect::Gone(_)));
        }
        // What happens to the cluster as a whole says it already.
        let is_abandoned = self.found.fate == Fate::Gone && guarded.is_abandoned();
        let is_lost = |change: &&mut Change| match change.effect {
            Effect::Gone(Leaving::Abandoned | Leaving::Unannounced | Leaving::Unproven)
            | Effect::Moved { .. } => true,
            Effect::Unknown => is_abandoned,
            _ => false,
        };
        if let Some(change) = self.changes.iter_mut().find(is_lost) {
            change.guarded = true;
            change.reasons.extend(guarded.0.into_iter().filter_map(|message| message.hint));
            return;
        }
        let content = guarded.content(&self.changes);
        let rejected =
            matches!(&self.found.outcome, ClusterOutcome::Judged(answer) if refusal::is_rejected(answer));
        let is_refused = |change: &&mut Change| change.effect == Effect::Refused;
        let same = guarded.is_only_version() && self.is_version_refused();
        let same = self.changes.iter_mut().find(is_refused).filter(|_| same);
        let change = match same {
            // Both report the same version; the guard names the way out, too.
            Some(change) => {
                change.reasons.clear();
                change
            }
            // Kept apart from Cluster API's refusals, because either may be accepted without the other.
            None => self.whole(Effect::Refused, Risk::Refused, Revert::Nothing),
        };
        change.guarded = true;
        change.about = guarded.0.iter().find_map(|message| message.about.clone());
        change.rejected |= rejected;
        change.repeats.extend(guarded.0.iter().map(|message| message.id));
        change.reasons.extend(guarded.0.into_iter().map(|message| message.reason));
        change.content = content;
    }

    /// Whether the Kubernetes version is all that Cluster API refuses.
    fn is_version_refused(&self) -> bool {
        let ClusterOutcome::Judged(answer) = &self.found.outcome else { return false };
        let is_version = |fault: &topology::Refusal| fault.error.field == "spec.topology.version";
        !answer.faults.is_empty() && answer.faults.iter().all(is_version)
    }

    /// Marks everything whose removal takes all its steps within this change.
    fn announced(&mut self) {
        let Some(leaving) = self.background.announced.get(&self.found.cluster) else { return };
        for change in &mut self.changes {
            let about = match (&change.subject, &mut change.effect) {
                (Subject::Whole, Effect::Gone(how)) if leaving.contains(&About::Cluster) => {
                    *how = Leaving::Announced;
                    change.lose_all(self.found.before.as_ref());
                    change.revert = Revert::CreatesNew;
                    About::Cluster
                }
                (Subject::Part(TopologyPart::Pool(pool)), Effect::Verdict(Meaning::Delete)) => {
                    About::Pool(pool.name.clone())
                }
                (Subject::Addon(name), Effect::Addon { after: None, .. }) => About::Addon(name.clone()),
                _ => continue,
            };
            if leaving.contains(&about) {
                change.announced = true;
                let otherwise = match about {
                    About::Cluster => {
                        ". If the engine sees only the last one, the cluster keeps running, unmanaged"
                    }
                    About::Pool(_) => {
                        ". If the engine sees only the last one, the machines are deleted at once"
                    }
                    _ => "",
                };
                change.reasons.push(format!(
                    "this change contains all steps of its removal: merge its commits one by one, and let the engine apply each before the next{otherwise}"
                ));
            }
        }
    }

    /// Separates addons that nodes need: those whose removal steps were taken in earlier changes, and those that are still
    /// protected and stay installed. Other addons are never protected.
    fn detached(&mut self) {
        for change in self.changes.iter_mut().filter(|change| !change.announced) {
            let (Subject::Addon(name), Effect::Addon { before, after: None, needed }) =
                (&change.subject, &change.effect)
            else {
                continue;
            };
            let key = (self.found.cluster.clone(), name.clone());
            if self.background.kept.contains(&key) {
                let version = before.clone().unwrap_or_default();
                change.effect = Effect::AddonLeft { version };
                change.revert = Revert::Undoes;
            } else if *needed == Some(true) {
                change.announced = true;
            }
        }
    }

    fn fate(&mut self) {
        let found = self.found;
        let (before, after) = (found.before.as_ref(), found.after.as_ref());
        let is_leaving = |facts: Option<&ClusterFacts>| facts.is_some_and(|facts| facts.removal.is_some());
        let (was, is) = (is_leaving(before), is_leaving(after));
        let leaving = match (&self.found.fate, before) {
            _ if matches!(self.found.outcome, ClusterOutcome::Unknown(Unknown::Refused { .. })) => None,
            _ if self.background.returned.contains_key(&found.cluster) => {
                self.returned();
                None
            }
            _ if found.lacks_cluster_before() => {
                self.half_known();
                None
            }
            (Fate::Created, _) => {
                let release = after.and_then(|facts| facts.release.as_deref());
                let reason = release.map(|release| format!("it is built with the release {release}"));
                let change = self.whole(Effect::Created, Risk::InPlace, Revert::NeedsRemoval);
                change.reasons.extend(reason);
                change.build_all(after);
                if after.is_some_and(|facts| facts.paused) {
                    change.paused = true;
                    change.built = change.built.unless_kept(true);
                }
                objects::act(&found.objects, change);
                objects::grant(&found.objects, change);
                None
            }
            (Fate::Deleted, _) if was => Some(Leaving::Announced),
            (Fate::Gone, None) => self.last_files(),
            (Fate::Gone, Some(_)) if !was => Some(Leaving::Abandoned),
            (Fate::Gone | Fate::Deleted, _) => Some(Leaving::Unannounced),
            (Fate::Moved { from }, _) => {
                let paused = after.is_some_and(|facts| facts.paused);
                let risk = if paused { Risk::Unknown } else { Risk::Deletes };
                let revert = if paused { Revert::Unknown } else { Revert::NeedsRemoval };
                let change = self.whole(Effect::Moved { from: from.clone(), paused }, risk, revert);
                if !paused {
                    change.build_all(after);
                }
                None
            }
            (Fate::Changed, _) => {
                match (was, is) {
                    (false, true) => {
                        self.whole(Effect::Detached, Risk::InPlace, Revert::Undoes);
                    }
                    (true, false) if after.is_some() => {
                        self.whole(Effect::Attached, Risk::InPlace, Revert::Undoes);
                    }
                    _ => {}
                }
                None
            }
        };
        if leaving == Some(Leaving::Finished) {
            self.finished();
        } else if leaving == Some(Leaving::Unproven) {
            self.whole(Effect::Gone(Leaving::Unproven), Risk::Unknown, Revert::Unknown);
        } else if let Some(leaving) = leaving {
            let revert = if leaving == Leaving::Abandoned { Revert::Undoes } else { Revert::CreatesNew };
            let change = self.whole(Effect::Gone(leaving), Risk::Deletes, revert);
            if leaving != Leaving::Abandoned {
                change.lose_all(before);
            }
        }
    }

    /// How a cluster leaves of which the base has no Cluster object; none if the base has one that cannot be read.
    fn last_files(&self) -> Option<Leaving> {
        match self.background.leftovers.get(&self.found.cluster) {
            Some(Leftover::Removed) => Some(Leaving::Finished),
            Some(Leftover::Lost { .. }) => Some(Leaving::Abandoned),
            None if matches!(self.found.outcome, ClusterOutcome::Unknown(_)) => None,
            Some(Leftover::Unproven { .. }) | None => Some(Leaving::Unproven),
        }
    }

    /// Adds the end of a removal. Its machines are gone already. What engines installed in it went with them, so only the
    /// objects next to the Cluster count.
    fn finished(&mut self) {
        let is_own = |one: &&ObjectChange| {
            one.section == Section::Cluster && !objects::is_marker(one, &self.found.cluster)
        };
        let objects: Vec<_> =
            self.found.objects.iter().filter(is_own).map(|one| one.address.to_string()).collect();
        let (risk, revert) = if objects.is_empty() {
            (Risk::InPlace, Revert::Undoes)
        } else {
            (Risk::Deletes, Revert::CreatesNew)
        };
        let change = self.whole(Effect::Gone(Leaving::Finished), risk, revert);
        if !objects.is_empty() {
            let objects = objects.join(", ");
            change.reasons.push(format!("it deletes {objects}"));
            change.content = objects;
        }
        let wait = "merge it once the Cluster is gone from the management cluster: until then, its deletion may need what goes now";
        change.reasons.push(wait.to_owned());
    }

    fn suspension(&mut self) {
        let (Some(before), Some(after)) = (&self.found.before, &self.found.after) else { return };
        match (before.paused, after.paused) {
            (false, true) => {
                self.whole(Effect::Paused, Risk::InPlace, Revert::Undoes);
            }
            (true, false) => {
                let change = self.whole(Effect::Resumed, Risk::Unknown, Revert::Unknown);
                change.reasons.push(
                    "changes made while it was paused take effect now, and this comparison does not see them"
                        .to_owned(),
                );
            }
            _ => {}
        }
    }

    fn outcome(&mut self) {
        match &self.found.outcome {
            ClusterOutcome::Untouched | ClusterOutcome::Absent => {}
            ClusterOutcome::Judged(answer) => self.answer(answer),
            ClusterOutcome::Unknown(why) => {
                let (effect, risk, reasons, revert) = unknown(why);
                self.whole(effect, risk, revert).reasons = reasons;
            }
        }
    }

    /// A cluster that left git without the steps of a removal, and is back.
    fn returned(&mut self) {
        let Some(Returned { commit, is_same }) = self.background.returned.get(&self.found.cluster) else {
            return;
        };
        let risk = if *is_same { Risk::InPlace } else { Risk::Unknown };
        let effect = Effect::Returned { commit: commit.clone(), is_same: *is_same };
        let found = self.found;
        let change = self.whole(effect, risk, Revert::NeedsRemoval);
        change.reasons.push(
            "it left git without the steps of a removal, so its protection from deletion was on".to_owned(),
        );
        change.reasons.push("if somebody deleted it since, it is created".to_owned());
        objects::grant(&found.objects, change);
    }

    /// A cluster whose Cluster object alone is missing before the change.
    fn half_known(&mut self) {
        let found = self.found;
        let change = self.whole(Effect::Unknown, Risk::Unknown, Revert::NeedsRemoval);
        change.reasons.push(
            "the base has files of this cluster, but not its Cluster object, so it does not tell whether the cluster runs"
                .to_owned(),
        );
        change.reasons.push(
            "if it runs, this manages it again, and machines can be replaced; if it is being deleted, the deletion goes on; if it \
             is gone, it is built as a new one"
                .to_owned(),
        );
        change.content = found.objects.iter().map(|object| &*object.content).collect();
    }

    fn answer(&mut self, answer: &Answer) {
        let is_new = self.found.fate == Fate::Created || self.found.lacks_cluster_before();
        // The verdicts on a running cluster that gets stuck say what happens before and beside that.
        if !answer.faults.is_empty() && (is_new || !refusal::is_stuck(answer)) {
            let mut reasons: Vec<String> = answer.faults.iter().map(ToString::to_string).collect();
            reasons.dedup();
            let change = self.whole(Effect::Refused, Risk::Refused, Revert::Nothing);
            change.rejected = refusal::is_rejected(answer);
            change.reasons = reasons;
        }
        let is_paused = self.found.after.as_ref().is_some_and(|facts| facts.paused);
        if is_new {
            self.replaces_healthy(&answer.verdicts);
        }
        for verdict in &answer.verdicts {
            let is_reported = match verdict.meaning {
                Meaning::NoChange => true,
                Meaning::Create => is_new,
                Meaning::Rejected => !answer.faults.is_empty(),
                _ => false,
            };
            if !is_reported {
                let sides = [self.found.before.as_ref(), self.found.after.as_ref()];
                let change = of_verdict(verdict, answer, sides);
                self.changes.push(if is_paused { paused(change) } else { change });
            }
        }
        if let (Some(before), Some(after)) = (&self.found.before, &self.found.after) {
            renamed_pools::name(before, after, &mut self.changes);
        }
        let is_known = answer.opaque.is_empty() && !(answer.verdicts.is_empty() && answer.faults.is_empty());
        if !is_known && self.changes.iter().all(|change| change.risk < Risk::Unknown) {
            let reasons = answer.opaque.iter().map(|one| format!("{}: {}", one.role, one.reason)).collect();
            let change = self.whole(Effect::Unknown, Risk::Unknown, Revert::Unknown);
            change.reasons = reasons;
            change.by_extension = answer.opaque.iter().any(|one| one.by_extension);
        }
        self.notes.extend(answer.notes.iter().chain(&answer.conditions).cloned());
        self.notes.extend(steps::kept_back(&answer.steps, &answer.verdicts));
        self.steps = steps::in_words(&answer.steps, &answer.verdicts);
        self.pools_at_once = peaks::pools_at_once(&answer.steps);
    }

    /// A new cluster whose health checks replace its machines again and again does not just come up.
    fn replaces_healthy(&mut self, verdicts: &[Verdict]) {
        let Some(whole) = self.changes.iter_mut().find(|change| change.subject == Subject::Whole) else {
            return;
        };
        for verdict in verdicts {
            if let Some(reason) = replaces_healthy(verdict) {
                whole.reasons.push(format!("{}: {reason}", verdict.subject.in_words()));
                whole.risk = whole.risk.max(Risk::Unknown);
            }
        }
    }
}

/// The reason why the outcome for a cluster is unknown, as a change.
fn unknown(why: &Unknown) -> (Effect, Risk, Vec<String>, Revert) {
    let unknown = |reason: String| (Effect::Unknown, Risk::Unknown, vec![reason], Revert::Unknown);
    match why {
        Unknown::Refused { side: Which::After, why } => {
            (Effect::Refused, Risk::Refused, vec![why.clone()], Revert::Nothing)
        }
        Unknown::Refused { side: Which::Before, why } => {
            unknown(format!("before the change, nothing could be generated for it: {why}"))
        }
        Unknown::Unread { side, file } => {
            let side = if *side == Which::Before { "before" } else { "after" };
            unknown(format!("a file cannot be read ({side} the change): {file}"))
        }
        Unknown::Faulty(faults) => {
            let reasons = faults.iter().map(|one| format!("the state before the change has an error: {one}"));
            (Effect::Unknown, Risk::Unknown, reasons.collect(), Revert::Unknown)
        }
        Unknown::NoManagementCluster => {
            unknown("nothing says which Cluster API its management cluster runs".to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::Unread;

    #[test]
    fn what_is_not_known_is_never_safe() {
        let file = Unread { path: "f".to_owned(), line: None, message: "broken".to_owned() };
        let fault = topology::Refusal::controller(topology::Stage::Cluster, "no");
        for side in [Which::Before, Which::After] {
            for why in [
                Unknown::Refused { side, why: "no".to_owned() },
                Unknown::Unread { side, file: file.clone() },
                Unknown::Faulty(vec![fault.clone()]),
                Unknown::NoManagementCluster,
            ] {
                let (_, risk, reasons, _) = unknown(&why);
                assert!(risk == Risk::Unknown || risk == Risk::Refused, "{why:?}: {risk:?}");
                assert!(!reasons.is_empty(), "{why:?}");
            }
        }
    }

    fn judged(answer: Answer) -> ClusterReport {
        let label = |text: &str| crate::model::Label::new(text).unwrap();
        let found = ClusterChange {
            cluster: ClusterId { management: label("m"), namespace: label("n"), name: label("c") },
            fate: Fate::Changed,
            before: Some(ClusterFacts::default()),
            after: Some(ClusterFacts::default()),
            objects: Vec::new(),
            addons: Vec::new(),
            outcome: ClusterOutcome::Judged(std::sync::Arc::new(answer)),
            secrets: crate::compare::Needs::new(),
        };
        report(&found, &Background::default())
    }

    #[test]
    fn an_answer_without_verdicts_or_with_doubts_is_unknown() {
        assert_eq!(judged(Answer::default()).risk, Risk::Unknown);
        let verdict = Verdict::new(TopologyPart::ControlPlane, Meaning::MetadataOnly);
        let sure = Answer { verdicts: vec![verdict], ..Answer::default() };
        assert_eq!(judged(sure.clone()).risk, Risk::Metadata);
        let doubt = topology::Opaque::of_all("an extension decides".to_owned());
        assert_eq!(judged(Answer { opaque: vec![doubt], ..sure.clone() }).risk, Risk::Unknown);
        let fault = topology::Refusal::controller(topology::Stage::Cluster, "no");
        assert_eq!(judged(Answer { faults: vec![fault], ..sure }).risk, Risk::Refused);
    }

    #[test]
    fn what_gets_stuck_still_has_effects_on_other_parts() {
        let pool = TopologyPart::pool(topology::PoolKind::MachineDeployment, "md-0");
        let rollout = Meaning::Rollout {
            machines: 2,
            least: 2,
            surge: Some((1, 0)),
            together_with: Vec::new(),
            on_delete: false,
        };
        let answer = |meaning| Answer {
            faults: vec![topology::Refusal::controller(topology::Stage::Apply, "no")],
            verdicts: vec![
                Verdict::new(TopologyPart::Cluster, meaning),
                Verdict::new(pool.clone(), rollout.clone()),
            ],
            ..Answer::default()
        };
        let stuck = judged(answer(Meaning::Wedged));
        assert_eq!((stuck.risk, stuck.refusal()), (Risk::Refused, None));
        assert!(stuck.changes.iter().any(|change| change.machines.least == 2));
        assert!(judged(answer(Meaning::Rejected)).refusal().is_some_and(|refusal| refusal.is_rejected));
    }
}
