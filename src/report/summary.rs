//! The first line of a report, which sums it up in one sentence.

use std::collections::BTreeMap;

use super::{
    OutsideChange, OutsidePlace, RefusedShare, Report,
    change::{Change, Effect, Leaving, Subject},
    cluster::ClusterReport,
    machine_words::{and_waiting, count, tally},
    machines::{Flow, Tally},
    risk::Risk,
    unknown_parts::unknown_parts,
};
use crate::{
    note::in_words,
    topology::{Meaning, TopologyPart},
};

/// Sums up the report in one sentence. Each cluster counts once, by its highest risk.
pub fn summary(report: &Report) -> String {
    let (changed, total) = (report.clusters.len(), report.total);
    let all: Vec<&ClusterReport> = report.clusters.iter().collect();
    let beside = beside(report) + &errors(report);
    if changed == 0 {
        return match total {
            0 => format!("No clusters are defined{beside}"),
            1 => format!("The cluster does not change{beside}"),
            _ => format!("None of the {total} clusters change{beside}"),
        };
    }
    let changes = if changed == 1 { "changes" } else { "change" };
    let clusters = if total == 1 { "cluster" } else { "clusters" };
    format!("{changed} of {total} {clusters} {changes}: {}{beside}", parts(&all))
}

/// The errors that no change of the report repeats.
fn errors(report: &Report) -> String {
    match report.errors.count {
        0 => String::new(),
        1 => "; 1 error in the definitions stops `generate`".to_owned(),
        count => format!("; {count} errors in the definitions stop `generate`"),
    }
}

/// The changes outside clusters. Mild ones accompany any change of a cluster, so they count only on their own.
fn beside(report: &Report) -> String {
    let counted = |risk: Risk| {
        let found = || report.beside.iter().filter(|one| one.risk == risk);
        let count = found().count();
        let of = |one: &'static str, many: &'static str| if count == 1 { one } else { many };
        let abandoned = found().filter(|one| one.kept).count();
        let is_namespace = |one: &OutsideChange| matches!(one.place, OutsidePlace::Namespace { .. });
        let words = match risk {
            Risk::Refused => of("is refused", "are refused"),
            Risk::Deletes if abandoned == count && found().all(is_namespace) => {
                of("abandons a namespace", "abandon namespaces")
            }
            Risk::Deletes if abandoned == count => of("abandons objects", "abandon objects"),
            Risk::Deletes if abandoned > 0 => "delete or abandon objects",
            Risk::Deletes => of("deletes objects", "delete objects"),
            Risk::Unknown => of("has an unknown effect", "have unknown effects"),
            Risk::InPlace => of("takes effect in place", "take effect in place"),
            Risk::Metadata => of("changes metadata only", "change metadata only"),
            Risk::ControlPlane | Risk::Pools | Risk::ScaleDown | Risk::Restarts | Risk::Nothing => {
                risk.as_str()
            }
        };
        let would = match found().filter(|one| one.refused == RefusedShare::All).count() {
            0 if found().all(|one| one.refused == RefusedShare::None) => "",
            all if all == count => " if merged anyway",
            _ => " (some only if merged anyway)",
        };
        let is_shown = risk > Risk::InPlace || report.clusters.is_empty();
        (count > 0 && is_shown).then(|| format!("{count} {words}{would}"))
    };
    let found: Vec<String> = Risk::ALL.into_iter().filter_map(counted).collect();
    if found.is_empty() { String::new() } else { format!("; changes outside clusters: {}", found.join(", ")) }
}

/// What happens to a cluster of the class `deletes`, worst first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum DeletionKind {
    Cluster,
    Moved,
    Abandoned,
    Pools,
    Objects,
    Addons,
    Finished,
}

impl DeletionKind {
    fn of(change: &Change) -> Option<Self> {
        Some(match &change.effect {
            _ if change.risk != Risk::Deletes => return None,
            Effect::Gone(Leaving::Finished) => Self::Finished,
            Effect::Gone(Leaving::Abandoned) => Self::Abandoned,
            Effect::Gone(_) => Self::Cluster,
            Effect::Moved { .. } => Self::Moved,
            Effect::Verdict(_) => Self::Pools,
            Effect::AddonLeft { .. } => Self::Addons,
            _ => Self::Objects,
        })
    }

    fn words(self, found: &[&ClusterReport]) -> String {
        let of = |one: &str, all: &str| if found.len() > 1 { all.to_owned() } else { one.to_owned() };
        let flow = flow(found);
        let with = |what: String, machines: Tally| match tally(machines) {
            Some(machines) => format!("{what} with {machines}"),
            None => what,
        };
        // What is deleted or built with a cluster or pool is named with it.
        let (words, rest) = match self {
            Self::Cluster => (with(of("is deleted", "are deleted"), flow.deleted), Named::Deleted),
            Self::Moved => (
                with(
                    of(
                        "is abandoned and rebuilt as a new cluster",
                        "are abandoned and rebuilt as new clusters",
                    ),
                    flow.added,
                ),
                Named::Added,
            ),
            Self::Abandoned => (of("is abandoned", "are abandoned"), Named::None),
            Self::Pools => {
                let parts = format!("{} {}", of("deletes", "delete"), deleted_parts(found));
                (with(parts, flow.deleted), Named::Deleted)
            }
            Self::Objects => (of("deletes addons or objects", "delete addons or objects"), Named::None),
            Self::Addons => (of("abandons addons", "abandon addons"), Named::None),
            Self::Finished => (of("ends its removal", "end their removal"), Named::None),
        };
        match doing(found, rest) {
            Some(also) => format!("{words} and {also}"),
            None => words,
        }
    }
}

/// The number of pools, and of other parts, that are deleted while their clusters stay.
fn deleted_parts(found: &[&ClusterReport]) -> String {
    let changes = found.iter().flat_map(|one| &one.changes);
    let deleted = changes.filter(|change| change.effect == Effect::Verdict(Meaning::Delete));
    let is_pool = |change: &&Change| matches!(change.subject, Subject::Part(TopologyPart::Pool(_)));
    let (pools, others): (Vec<&Change>, Vec<&Change>) = deleted.partition(is_pool);
    let of = |all: &[&Change], what: &str| (!all.is_empty()).then(|| count(all.len(), what));
    [of(&pools, "pool"), of(&others, "other part")].into_iter().flatten().collect::<Vec<_>>().join(" and ")
}

/// The number of clusters per kind of loss.
fn losses(clusters: &[&ClusterReport]) -> Vec<String> {
    let mut found: BTreeMap<DeletionKind, Vec<&ClusterReport>> = BTreeMap::new();
    for one in clusters.iter().filter(|one| one.risk == Risk::Deletes) {
        let loss = one.changes.iter().filter_map(DeletionKind::of).min().unwrap_or(DeletionKind::Objects);
        found.entry(loss).or_default().push(one);
    }
    let words = |(loss, found): (DeletionKind, Vec<&ClusterReport>)| {
        let unknown = unknown_parts(&found).map(|parts| format!(" (unknown: {parts})")).unwrap_or_default();
        format!("{} {}{unknown}", found.len(), loss.words(&found))
    };
    found.into_iter().map(words).collect()
}

/// Machines that the words before have named already.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Named {
    None,
    Deleted,
    Added,
}

fn flow(clusters: &[&ClusterReport]) -> Flow {
    Flow::of_clusters(clusters.iter().copied())
}

/// `replace 3 pool machines, remove 1 pool machine and add 2 pool machines`; none if no machine comes or goes.
fn doing(found: &[&ClusterReport], named: Named) -> Option<String> {
    let Flow { replaced, waiting, removed, deleted, added, .. } = flow(found);
    let is_one = found.len() == 1;
    let s = if is_one { "s" } else { "" };
    let verb = |of: Tally, verb: &str| Some(format!("{verb}{s} {}", tally(of)?));
    let waiting = and_waiting(Tally::default(), waiting).map(|machines| format!("replace{s} {machines}"));
    let removed = if named == Named::Deleted { removed } else { removed.and(deleted) };
    let added = if named == Named::Added { Tally::default() } else { added };
    let all = [verb(replaced, "replace"), verb(removed, "remove"), verb(added, "add"), waiting];
    let all: Vec<String> = all.into_iter().flatten().collect();
    let words = Some(in_words(&all, "and")).filter(|words| !words.is_empty())?;
    let is_paused = |one: &&&ClusterReport| one.changes.iter().any(|change| change.paused);
    Some(match (found.iter().filter(is_paused).count(), found.len()) {
        (0, _) => words,
        (paused, all) if paused == all => format!("{words} once resumed"),
        (1, _) => format!("{words} (1 cluster only once it is resumed)"),
        (paused, _) => format!("{words} ({paused} clusters only once they are resumed)"),
    })
}

/// What happens to a cluster whose changes are all mild.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MildEffect {
    New,
    Leaves,
    Ends,
    Adds,
    InPlace,
    Metadata,
}

impl MildEffect {
    fn of(one: &ClusterReport) -> Self {
        let has = |effect: &Effect| one.changes.iter().any(|change| change.effect == *effect);
        if has(&Effect::Created) {
            Self::New
        } else if has(&Effect::Detached) {
            Self::Leaves
        } else if has(&Effect::Gone(Leaving::Finished)) {
            Self::Ends
        } else if !flow(&[one]).added.is_empty() {
            Self::Adds
        } else if one.risk == Risk::InPlace {
            Self::InPlace
        } else {
            Self::Metadata
        }
    }
}

/// The number of clusters per kind of change, worst first.
pub(super) fn parts(clusters: &[&ClusterReport]) -> String {
    let of = |is_meant: &dyn Fn(&ClusterReport) -> bool| {
        clusters.iter().filter(|one| is_meant(one)).copied().collect::<Vec<_>>()
    };
    let counted = |found: &[&ClusterReport], words: &str| {
        (!found.is_empty()).then(|| format!("{} {words}", found.len()))
    };
    let moving = |found: Vec<&ClusterReport>, verb: &str| {
        let s = if found.len() == 1 { "s" } else { "" };
        counted(&found, &doing(&found, Named::None).unwrap_or_else(|| format!("{verb}{s} machines")))
    };
    let plain = |risk: Risk| of(&|one| one.risk == risk);
    let rolling = of(&|one| matches!(one.risk, Risk::ControlPlane | Risk::Pools));
    let begins = |one: &&ClusterReport| one.changes.iter().any(|change| change.effect == Effect::Detached);
    let (leaving, restarting): (Vec<_>, Vec<_>) = plain(Risk::Restarts).into_iter().partition(begins);
    let (growing, addons): (Vec<_>, Vec<_>) =
        restarting.into_iter().partition(|one| doing(&[*one], Named::None).is_some());
    let addons_of = |found: &[&ClusterReport]| {
        let change = if found.len() == 1 { "changes" } else { "change" };
        format!("{change} addons and {}", doing(found, Named::None).unwrap_or_default())
    };
    let mild = |kind: MildEffect| of(&|one| one.risk <= Risk::InPlace && MildEffect::of(one) == kind);
    let new = mild(MildEffect::New);
    let built = tally(flow(&new).added).map(|machines| format!(" with {machines}")).unwrap_or_default();
    let either = |found: Vec<&ClusterReport>, one: &str, many: &str| {
        counted(&found, if found.len() == 1 { one } else { many })
    };
    let gets_stuck = |one: &ClusterReport| {
        let is_it = |change: &Change| change.effect == Effect::Verdict(Meaning::Wedged);
        one.refusal().is_none() && one.changes.iter().any(is_it)
    };
    let stuck = of(&|one| one.risk == Risk::Refused && gets_stuck(one));
    // What a definition accepts happens, so it does not count as refused.
    let accepted = of(&|one| one.risk == Risk::Refused && !gets_stuck(one) && is_accepted(one));
    let refused = of(&|one| one.risk == Risk::Refused && !gets_stuck(one) && !is_accepted(one));
    let refused = counted(&refused, &format!("refused{}", despite(&refused)));
    let stuck = either(stuck, "gets stuck half-way", "get stuck half-way");
    let others = [
        counted(&plain(Risk::Unknown), &unknown(&plain(Risk::Unknown))),
        moving(rolling, "replace"),
        moving(plain(Risk::ScaleDown), "remove"),
        counted(&growing, &addons_of(&growing)),
        counted(&addons, "addons only"),
        either(leaving, "begins its removal and changes addons", "begin their removal and change addons"),
        counted(&new, &format!("new{built}")),
        either(mild(MildEffect::Leaves), "begins its removal", "begin their removal"),
        either(mild(MildEffect::Ends), "ends its removal", "end their removal"),
        moving(mild(MildEffect::Adds), "add"),
        counted(&mild(MildEffect::InPlace), "in place"),
        counted(&mild(MildEffect::Metadata), "metadata only"),
    ];
    let accepted = counted(&accepted, &although(&accepted));
    let all = refused.into_iter().chain(accepted).chain(stuck).chain(losses(clusters));
    let all = all.chain(others.into_iter().flatten());
    all.collect::<Vec<_>>().join(", ")
}

/// Whether guards refuse the change of a cluster, and its definition accepts that.
fn is_accepted(one: &ClusterReport) -> bool {
    let is_it = |change: &Change| change.effect == Effect::Refused && change.accepted.is_some();
    one.refusal().is_none() && one.changes.iter().any(is_it)
}

/// `refused but accepted, and removes 3 pool machines`.
fn although(found: &[&ClusterReport]) -> String {
    let also = doing(found, Named::None).map(|also| format!(", and {also}")).unwrap_or_default();
    format!("refused but accepted{also}")
}

/// What happens in clusters although their change is refused, in brackets.
fn despite(found: &[&ClusterReport]) -> String {
    let (guarded, others): (Vec<&ClusterReport>, Vec<&ClusterReport>) =
        found.iter().partition(|one| one.refusal().is_some_and(|one| one.by_guards));
    let moves = |one: &&&ClusterReport| {
        one.changes
            .iter()
            .any(|change| matches!(change.subject, Subject::Addon(_)) && change.risk >= Risk::Restarts)
    };
    let addons = |of: &[&ClusterReport]| match of.iter().filter(moves).count() {
        0 => None,
        1 => Some("addons of 1 cluster change".to_owned()),
        many => Some(format!("addons of {many} clusters change")),
    };
    let would = addons(&guarded).map(|words| format!("if merged anyway, {words}"));
    let all: Vec<String> =
        [would, addons(&others).map(|words| format!("{words} all the same"))].into_iter().flatten().collect();
    if all.is_empty() { String::new() } else { format!(" ({})", all.join("; ")) }
}

/// `unknown (1 control plane, 2 pools)`, with what is known of their machines.
fn unknown(found: &[&ClusterReport]) -> String {
    let parts = unknown_parts(found).unwrap_or_default();
    let also = doing(found, Named::None).map(|also| format!(" and {also}")).unwrap_or_default();
    format!("unknown ({parts}){also}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        model::{ClusterId, Label},
        report::{
            change::{Machines, Revert},
            cluster::Sides,
            machine_words,
        },
        topology::PoolKind,
    };

    fn pool(name: &str) -> TopologyPart {
        TopologyPart::pool(PoolKind::MachineDeployment, name)
    }

    /// A cluster with changes of these risk classes, each affecting a number of machines of a control plane or of a pool.
    fn cluster(name: &str, changes: &[(Risk, i64)]) -> ClusterReport {
        let label = |text: &str| Label::new(text).unwrap();
        let change = |(risk, machines): &(Risk, i64)| {
            let part = if *risk == Risk::ControlPlane { TopologyPart::ControlPlane } else { pool("a") };
            let rollout = Meaning::Rollout {
                machines: *machines,
                least: *machines,
                surge: None,
                together_with: Vec::new(),
                on_delete: false,
            };
            let effect = match risk {
                Risk::ControlPlane | Risk::Pools => Effect::Verdict(rollout),
                _ => Effect::Changed,
            };
            let change = Change::new(Subject::Part(part), effect, *risk, Revert::Unknown);
            Change { machines: Machines::exactly(Some(*machines)), ..change }
        };
        ClusterReport {
            cluster: ClusterId { management: label("m"), namespace: label("n"), name: label(name) },
            has_namesake: false,
            owners: Vec::new(),
            release: Sides::default(),
            kubernetes: Sides::default(),
            risk: changes.iter().map(|(risk, _)| *risk).max().unwrap_or_default(),
            changes: changes.iter().map(change).collect(),
            steps: Vec::new(),
            pools_at_once: 0,
            notes: Vec::new(),
        }
    }

    #[test]
    fn machines_that_are_replaced_and_machines_that_only_go_are_counted_apart() {
        let clusters = vec![
            cluster("a", &[(Risk::ControlPlane, 3), (Risk::ScaleDown, 2)]),
            cluster("b", &[(Risk::Pools, 4)]),
            cluster("c", &[(Risk::ScaleDown, 1), (Risk::InPlace, 0)]),
        ];
        let report = Report { total: 9, clusters, ..Report::default() };
        let expected = "3 of 9 clusters change: 2 replace 7 machines (3 control plane machines, 4 pool machines) \
                        and remove 2 pool machines, 1 removes 1 pool machine";
        assert_eq!(summary(&report), expected);
    }

    /// A cluster that gets machines besides a change of another class.
    fn growing(name: &str, risk: Risk, parts: &[(TopologyPart, i64)]) -> ClusterReport {
        let mut one = cluster(name, &[(risk, 0)]);
        one.changes.extend(parts.iter().map(|(part, count)| Change {
            built: Machines::exactly(Some(*count)),
            ..Change::new(
                Subject::Part(part.clone()),
                Effect::Verdict(Meaning::Create),
                Risk::InPlace,
                Revert::Deletes,
            )
        }));
        one
    }

    #[test]
    fn added_machines_are_counted_whatever_else_happens() {
        let of = |clusters: Vec<ClusterReport>| {
            let all: Vec<&ClusterReport> = clusters.iter().collect();
            parts(&all)
        };
        assert_eq!(
            of(vec![growing("a", Risk::Restarts, &[(pool("a"), 1)]), cluster("b", &[(Risk::Restarts, 0)])]),
            "1 changes addons and adds 1 pool machine, 1 addons only"
        );
        let scaled = growing("a", Risk::InPlace, &[(TopologyPart::ControlPlane, 2), (pool("a"), 1)]);
        assert_eq!(
            of(vec![scaled, cluster("b", &[(Risk::InPlace, 0)])]),
            "1 adds 3 machines (2 control plane machines, 1 pool machine), 1 in place"
        );
        let both = growing("a", Risk::ScaleDown, &[(pool("b"), 4)]);
        assert_eq!(of(vec![both]), "1 adds 4 pool machines");
    }

    #[test]
    fn deleted_pools_are_counted_and_nothing_of_a_refused_cluster_is() {
        let lose = |name: &str, parts: &[TopologyPart]| {
            let mut one = cluster(name, &[]);
            one.risk = Risk::Deletes;
            one.changes = parts
                .iter()
                .map(|part| Change {
                    machines: Machines::exactly(Some(2)),
                    ..Change::new(
                        Subject::Part(part.clone()),
                        Effect::Verdict(Meaning::Delete),
                        Risk::Deletes,
                        Revert::CreatesNew,
                    )
                })
                .collect();
            one
        };
        let (one, two) = (lose("a", &[pool("a")]), lose("b", &[pool("a"), TopologyPart::ControlPlane]));
        assert_eq!(parts(&[&one]), "1 deletes 1 pool with 2 pool machines");
        assert_eq!(
            parts(&[&one, &two]),
            "2 delete 2 pools and 1 other part with 6 machines (2 control plane machines, 4 pool machines)"
        );
        let mut refused = lose("c", &[pool("a")]);
        let refusal = Change::new(Subject::Whole, Effect::Refused, Risk::Refused, Revert::Nothing);
        refused.changes.push(Change { guarded: true, ..refusal });
        refused.risk = Risk::Refused;
        assert_eq!(parts(&[&one, &refused]), "1 refused, 1 deletes 1 pool with 2 pool machines");
        assert_eq!(machine_words::lost(&[&refused]), "none; if merged anyway: 2 pool machines");
        refused.changes[1].accepted = Some("it is empty".to_owned());
        assert_eq!(machine_words::lost(&[&refused]), "2 pool machines");
        assert_eq!(parts(&[&refused]), "1 refused but accepted, and removes 2 pool machines");
    }

    fn with(name: &str, risk: Risk, effect: Effect, machines: i64) -> ClusterReport {
        let mut one = cluster(name, &[(risk, machines)]);
        (one.changes[0].subject, one.changes[0].effect) = (Subject::Whole, effect);
        one
    }

    #[test]
    fn clusters_of_every_class_are_counted() {
        for risk in Risk::ALL.into_iter().filter(|risk| *risk != Risk::Nothing) {
            assert!(parts(&[&cluster("a", &[(risk, 1)])]).starts_with("1 "), "{risk:?}");
        }
    }

    #[test]
    fn what_is_deleted_abandoned_or_begins_to_leave_is_named() {
        let gone = |name, how| with(name, Risk::Deletes, Effect::Gone(how), 3);
        let from = cluster("x", &[(Risk::InPlace, 0)]).cluster;
        let mut clusters = vec![
            gone("a", Leaving::Announced),
            gone("b", Leaving::Unannounced),
            with("c", Risk::Deletes, Effect::Gone(Leaving::Abandoned), 0),
            with("d", Risk::Deletes, Effect::Moved { from, paused: false }, 0),
            with("e", Risk::Deletes, Effect::Removed, 0),
            with("f", Risk::InPlace, Effect::Detached, 0),
        ];
        clusters.push(with("g", Risk::Deletes, Effect::AddonLeft { version: "1".into() }, 0));
        clusters.push(with("h", Risk::Refused, Effect::Verdict(Meaning::Wedged), 0));
        let report = Report { total: 9, clusters, ..Report::default() };
        let expected = "8 of 9 clusters change: 1 gets stuck half-way, 2 are deleted with 6 machines, 1 is abandoned and rebuilt as a new cluster, \
                        1 is abandoned, 1 deletes addons or objects, 1 abandons addons, 1 begins its removal";
        assert_eq!(summary(&report), expected);
    }
}
