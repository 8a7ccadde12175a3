//! Rebases: how Cluster API acts on clusters that move to another release.
//!
//! [`compare()`] finds the differences between each cluster with one release and with the other. This module describes them
//! in words and groups clusters with the same effects.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::Value as Json;

use crate::{
    compare::{ClusterOutcome, DefinedState, Unknown, Which, compare, settings},
    definition::{CLUSTER_API, Model},
    model::{Cluster, ClusterId, ManagementCluster, ReleaseRef},
    release::{Rebase, RebaseEffect, Rebases, Release, Releases},
    topology::{
        Field, Meaning, Settings, SharedClass, TopologyPart, Verdict,
        import::ClassFiles,
        predict::class_change::{ClassForecast, ClassState, of_any_cluster},
    },
    yaml::to_json,
};

/// The maximum length of a reason, in characters.
const REASON: usize = 240;

/// Forecasts what happens to the clusters that use a release when they move to another.
pub fn rebases(model: &Model, releases: &Releases, from: &Release, to: &Release) -> Rebases {
    let uses = |cluster: &&Cluster| match &cluster.release {
        ReleaseRef::Named(name) => name.as_str() == from.name,
        ReleaseRef::Head(stack, minor) => {
            from.is_head() && (stack, *minor) == (&from.stack, from.kubernetes.minor())
        }
    };
    let target = if to.is_head() {
        Some(ReleaseRef::Head(to.stack.clone(), to.kubernetes.minor()))
    } else {
        releases.find(&to.name)
    };
    let Some(target) = target else { return Rebases::default() };
    let before = DefinedState::new(model, releases).only(|cluster| uses(&cluster)).clusters_alone();
    let compared = compare(&before, &before.moved(target));
    let outcomes: Result<BTreeMap<&ClusterId, &ClusterOutcome>, _> = compared
        .as_ref()
        .map(|found| found.clusters.iter().map(|one| (&one.cluster, &one.outcome)).collect());
    let mut groups: BTreeMap<(BTreeSet<RebaseEffect>, String), Rebase> = BTreeMap::new();
    for cluster in model.clusters.iter().filter(uses).map(Cluster::id) {
        let Judgement { effects, means, why } = match &outcomes {
            Ok(outcomes) => judge(outcomes.get(&cluster).copied()),
            Err(fault) => unknown(format!("not known: {}", short(&fault.to_string()))),
        };
        let group = groups.entry((effects, means)).or_default();
        group.clusters.push(cluster);
        group.why.extend(why);
    }
    let all = groups.into_iter().map(|((effects, means), group)| Rebase { means, effects, ..group });
    let mut groups: Vec<_> = all.collect();
    for group in &mut groups {
        group.clusters.sort();
    }
    groups.sort_by(|a, b| (b.effects.last(), b.clusters.len()).cmp(&(a.effects.last(), a.clusters.len())));
    Rebases { groups }
}

/// Forecasts what happens to clusters because of their class, when they move from a release to another:
/// once for each way in which management clusters are set up.
pub fn class_forecasts(
    management: &[Arc<ManagementCluster>],
    from: &Release,
    to: &Release,
) -> Vec<ClassForecast> {
    let [before, after] = [from, to].map(|release| {
        let objects = release.objects.iter().map(to_json);
        let (classes, templates): (Vec<Json>, Vec<Json>) =
            objects.partition(|one| one["kind"] == "ClusterClass");
        SharedClass::from(ClassFiles::new(classes.into_iter().chain(templates).collect()))
    });
    let versions = [from, to].map(|release| format!("v{}", release.kubernetes));
    let of = |settings: &Settings| {
        let state = |class, version| ClassState::new(class, version);
        of_any_cluster(state(&before, &versions[0]), state(&after, &versions[1]), settings)
    };
    let mut all: Vec<Settings> = management.iter().map(|one| settings(one)).collect();
    if all.is_empty() {
        all.extend(CLUSTER_API.last().and_then(|newest| Settings::new(newest)));
    }
    let mut found = Vec::new();
    for settings in &all {
        let forecast = of(settings);
        if !found.contains(&forecast) {
            found.push(forecast);
        }
    }
    found
}

/// The effects on a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// The effects, as recorded in releases.
    pub effects: BTreeSet<RebaseEffect>,
    /// The effects, in words.
    pub means: String,
    /// The fields that cause machines to be replaced, without the names of pools.
    pub why: BTreeSet<String>,
}

fn unknown(means: String) -> Judgement {
    Judgement { effects: BTreeSet::from([RebaseEffect::Unknown]), means, why: BTreeSet::new() }
}

/// Judges a cluster, given its outcome; none means that nothing differs.
pub fn judge(outcome: Option<&ClusterOutcome>) -> Judgement {
    match outcome {
        None | Some(ClusterOutcome::Untouched) => summary(&[]),
        Some(ClusterOutcome::Judged(answer)) => summary(&answer.verdicts),
        Some(ClusterOutcome::Absent) => unknown("not known: it is being removed".to_owned()),
        Some(ClusterOutcome::Unknown(why)) => match why {
            Unknown::Refused { side: Which::After, why } => unknown(format!("refused: {}", short(why))),
            Unknown::Refused { side: Which::Before, why } => unknown(format!("not known: {}", short(why))),
            Unknown::Unread { file, .. } => unknown(format!("not known: {}", short(&file.to_string()))),
            Unknown::NoManagementCluster => {
                unknown("not known: its management cluster is unknown".to_owned())
            }
            Unknown::Faulty(faults) => {
                let why = faults.first().map(ToString::to_string).unwrap_or_default();
                unknown(format!("unknown, because the current state has errors: {}", short(&why)))
            }
        },
    }
}

fn short(reason: &str) -> String {
    let line = reason.replace('\n', " ");
    if line.chars().count() <= REASON {
        return line;
    }
    line.chars().take(REASON).chain(std::iter::once('…')).collect()
}

/// Summarizes the verdicts on the parts of a cluster in one line, without the names of pools.
fn summary(verdicts: &[Verdict]) -> Judgement {
    let mut effects = BTreeSet::new();
    let mut parts: BTreeMap<&str, BTreeSet<&'static str>> = BTreeMap::new();
    let mut reason = None;
    let mut why = BTreeSet::new();
    for verdict in verdicts {
        if effect(verdict).is_some_and(|effect| effect != RebaseEffect::InPlace) {
            let part = words_of(&verdict.subject);
            why.extend(verdict.fields.iter().filter_map(own_path).map(|path| format!("{part}: {path}")));
        }
        effects.extend(effect(verdict));
        if let Some(words) = words(&verdict.meaning) {
            parts.entry(words).or_default().insert(words_of(&verdict.subject));
        }
        if effect(verdict) == Some(RebaseEffect::Unknown) && reason.is_none() {
            reason = verdict.reasons.first().map(|reason| short(&reason.to_string()));
        }
    }
    if parts.is_empty() {
        return Judgement { effects, means: "no machine is replaced".to_owned(), why };
    }
    let pools_differ = parts.values().filter(|parts| parts.contains(WORKERS)).count() > 1;
    let name = |part: &'static str| if pools_differ && part == WORKERS { "some workers" } else { part };
    let by_words = parts.iter().map(|(words, parts)| {
        let parts: Vec<_> = parts.iter().map(|part| name(part)).collect();
        format!("{} {words}", parts.join(" and "))
    });
    let mut means = by_words.collect::<Vec<_>>().join("; ");
    if let Some(reason) = reason {
        means = format!("{means}: {reason}");
    }
    Judgement { effects, means, why }
}

/// The path of a field that somebody changed. Excludes names, and annotations that contain them, because every class has its
/// own.
fn own_path(field: &Field) -> Option<String> {
    match field {
        Field::Refused(path) => Some(path.clone()),
        Field::Changed { path, .. } => match path.as_slice() {
            [] => None,
            [first, ..] if first == "metadata" => None,
            [.., reference, name] if reference.ends_with("Ref") && name == "name" => None,
            _ => Some(path.join(".")),
        },
    }
}

/// The effect that a release records for a verdict; none if only names and labels change.
pub fn effect(verdict: &Verdict) -> Option<RebaseEffect> {
    RebaseEffect::of(&verdict.subject, verdict.meaning.kind())
}

fn words(meaning: &Meaning) -> Option<&'static str> {
    match meaning {
        Meaning::NoChange | Meaning::MetadataOnly => None,
        Meaning::InPlace => Some("changed in place"),
        Meaning::Scale { .. } => Some("scaled"),
        Meaning::Rollout { on_delete: true, .. } => Some("replaced only as you delete machines (OnDelete)"),
        Meaning::Rollout { .. } => Some("replaced machine by machine"),
        Meaning::Upgrade { on_delete: true, .. } => Some("upgraded only as you delete machines (OnDelete)"),
        Meaning::Upgrade { times, unaided, .. } if unaided < times => {
            Some("upgraded, all machines replaced, once what they wait for is done")
        }
        Meaning::Upgrade { .. } => Some("upgraded, all machines replaced"),
        Meaning::Create => Some("created"),
        Meaning::Delete => Some("deleted"),
        Meaning::Rejected => Some("rejected, nothing happens"),
        Meaning::Wedged => Some("stuck half-way"),
        Meaning::ProviderDependent => Some("not known, the provider decides"),
        Meaning::Opaque => Some("not known"),
    }
}

/// The word for all pools of a cluster.
const WORKERS: &str = "workers";

fn words_of(part: &TopologyPart) -> &'static str {
    match part {
        TopologyPart::ControlPlane => "control plane",
        TopologyPart::Pool(_) => WORKERS,
        TopologyPart::Infrastructure => "infrastructure",
        TopologyPart::Cluster => "cluster",
    }
}
