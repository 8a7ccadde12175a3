//! Rebases: what Cluster API makes of clusters that move to another release.
//!
//! A cluster is written as the one release and as the other would have it, and the topology library is asked. Clusters that
//! differ in nothing but their names and labels are asked about once, unless a template reads those.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use rayon::prelude::*;
use serde_json::{Value as Json, json};

use crate::{
    definition::Model,
    model::{Cluster, ManagementCluster, ReleaseRef},
    note::{Notes, Severity},
    plan,
    release::{Effect, Rebase, Rebases, Release, Releases},
    render,
    topology::{
        import::{Applied, ClassFiles},
        predict::{
            Settings,
            field::Field,
            forecast,
            observed::Observed,
            side::Side,
            verdict::{Meaning, Verdict},
        },
        role::Part,
    },
    world::Input,
    yaml::{Node, to_json},
};

/// Reasons are told to this length.
const REASON: usize = 240;

/// A Cluster with its class, as the topology library takes them.
pub fn side(release: &Release, cluster: &Node, management: &ManagementCluster) -> Side {
    of_json(&class_files(release, management), to_json(cluster))
}

fn to_json_all(objects: &[Node]) -> Vec<Json> {
    objects.iter().map(to_json).collect()
}

/// The class of a release first, then its templates, as the engine of a management cluster applies them.
fn class_files(release: &Release, management: &ManagementCluster) -> Vec<Json> {
    let objects = render::applied_class(release, management);
    let (classes, templates): (Vec<_>, Vec<_>) =
        objects.iter().map(to_json).partition(|object| object["kind"] == "ClusterClass");
    classes.into_iter().chain(templates).collect()
}

/// Gives the objects of a class from a release's files what the engine of a management cluster adds when it applies them.
pub fn applied(objects: &mut [Json], management: &ManagementCluster) {
    for object in objects {
        let Some(metadata) = object.get_mut("metadata").and_then(Json::as_object_mut) else { continue };
        let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
        if let Some(annotations) = annotations.as_object_mut() {
            for (name, value) in render::class_annotations(management) {
                annotations.entry(name).or_insert_with(|| json!(value));
            }
        }
    }
}

fn of_json(class: &[Json], cluster: Json) -> Side {
    let class = ClassFiles { objects: class.to_vec(), missing: Vec::new() };
    let class = class.into();
    Side { cluster, class, applied: Applied::File, written: true, observed: Observed::default() }
}

/// What becomes of the clusters that use a release, when they move to another one.
pub fn rebases(model: &Model, releases: &Releases, input: &Input, from: &Release, to: &Release) -> Rebases {
    let uses = |cluster: &&Cluster| match &cluster.release {
        ReleaseRef::Named(name) => name.as_str() == from.name,
        ReleaseRef::Head(stack, minor) => {
            from.is_head() && (stack, *minor) == (&from.stack, from.kubernetes.minor())
        }
    };
    let clusters: Vec<&Cluster> = model.clusters.iter().filter(uses).collect();
    let target = if to.is_head() {
        Some(ReleaseRef::Head(to.stack.clone(), to.kubernetes.minor()))
    } else {
        releases.find(&to.name)
    };
    let Some(target) = target else { return Rebases::default() };
    let moves: Vec<_> = clusters.par_iter().map(|one| moved(one, &target, model, releases, input)).collect();
    let named = [from, to].iter().any(|release| reads_names(&to_json_all(&release.objects)));
    let keys: Vec<_> = moves.iter().map(|one| key(one, named)).collect();
    let mut first: BTreeMap<&str, &Moved> = BTreeMap::new();
    for (key, one) in keys.iter().zip(&moves) {
        first.entry(key).or_insert(one);
    }
    let judged: Vec<_> = first.into_par_iter().map(|(key, one)| (key, judge(one, from, to))).collect();
    let judged: BTreeMap<&str, Judgement> = judged.into_iter().collect();
    let mut groups: BTreeMap<(&BTreeSet<Effect>, &str), Rebase> = BTreeMap::new();
    for (key, cluster) in keys.iter().zip(&clusters) {
        let Judgement { effects, means, why } = &judged[key.as_str()];
        let group = groups.entry((effects, means)).or_insert_with(|| Rebase {
            means: means.clone(),
            effects: effects.clone(),
            ..Rebase::default()
        });
        group.clusters.push(cluster.id());
        group.why.extend(why.iter().cloned());
    }
    let mut groups: Vec<_> = groups.into_values().collect();
    for group in &mut groups {
        group.clusters.sort();
    }
    groups.sort_by(|a, b| (b.effects.last(), b.clusters.len()).cmp(&(a.effects.last(), a.clusters.len())));
    Rebases { groups }
}

/// A cluster as it is written before and after.
enum Moved {
    /// Both are as Cluster API gets them.
    Written { before: Json, after: Json, management: Arc<ManagementCluster> },
    /// One of them would not be written, and why.
    Refused { after: bool, why: String },
}

fn moved(cluster: &Cluster, target: &ReleaseRef, model: &Model, releases: &Releases, input: &Input) -> Moved {
    let rebased = Cluster { release: target.clone(), ..cluster.clone() };
    match (written(cluster, model, releases, input), written(&rebased, model, releases, input)) {
        (Ok(before), Ok(after)) => Moved::Written { before, after, management: cluster.management.clone() },
        (Err(why), _) => Moved::Refused { after: false, why },
        (_, Err(why)) => Moved::Refused { after: true, why },
    }
}

/// The Cluster that would be written; else why none would be.
fn written(cluster: &Cluster, model: &Model, releases: &Releases, input: &Input) -> Result<Json, String> {
    let mut notes = Notes::new();
    let planned = plan::plan_cluster(cluster, model, releases, input, &mut notes);
    let object = planned.and_then(|plan| render::cluster_object(&plan)).filter(|_| notes.errors() == 0);
    object.map(|object| to_json(&object)).ok_or_else(|| {
        let first = notes.iter().find(|note| note.severity == Severity::Error);
        first.map_or_else(|| "it is being removed".to_owned(), |note| note.message.clone())
    })
}

/// What decides the answer: clusters with equal keys get the same one.
fn key(moved: &Moved, named: bool) -> String {
    match moved {
        Moved::Refused { after, why } => format!("{after} {why}"),
        Moved::Written { before, after, management } => {
            let nameless = |object: &Json| {
                let mut object = object.clone();
                if let Some(metadata) = object["metadata"].as_object_mut().filter(|_| !named) {
                    metadata.retain(|key, _| key == "annotations");
                }
                object.to_string()
            };
            let settings = format!("{:?} {}", management.engine, management.cluster_api);
            [settings, nameless(before), nameless(after)].join("\n")
        }
    }
}

/// What a patch may read of `builtin` without getting to know a name or the metadata of the Cluster.
const NAMELESS: [&str; 7] = [
    ".cluster.topology.version",
    ".cluster.network",
    ".controlPlane.version",
    ".controlPlane.replicas",
    ".machineDeployment.version",
    ".machineDeployment.class",
    ".machineDeployment.replicas",
];

/// Whether templates of a class may give another result for a cluster of another name or with other labels.
fn reads_names(objects: &[Json]) -> bool {
    fn within(node: &Json) -> bool {
        match node {
            Json::String(text) => text.match_indices("builtin").any(|(at, word)| {
                let rest = &text[at + word.len()..];
                !NAMELESS.iter().any(|path| rest.starts_with(path))
            }),
            Json::Array(items) => items.iter().any(within),
            Json::Object(entries) => entries.values().any(within),
            _ => false,
        }
    }
    objects.iter().any(|object| within(&object["spec"]["patches"]))
}

/// What happens to a cluster.
struct Judgement {
    effects: BTreeSet<Effect>,
    means: String,
    /// The fields that make machines go, without the names of pools.
    why: BTreeSet<String>,
}

fn judge(moved: &Moved, from: &Release, to: &Release) -> Judgement {
    let unknown =
        |means: String| Judgement { effects: BTreeSet::from([Effect::Unknown]), means, why: BTreeSet::new() };
    match moved {
        Moved::Refused { after: true, why } => unknown(format!("refused: {}", short(why))),
        Moved::Refused { after: false, why } => unknown(format!("not known: {}", short(why))),
        Moved::Written { before, after, management } => {
            let settings = Settings::new(&management.cluster_api.to_string()).expect("a minor is a version");
            let side = |release, cluster: &Json| of_json(&class_files(release, management), cluster.clone());
            let (old, new) = (side(from, before), side(to, after));
            match forecast::of_change(&old, &new, &settings) {
                Ok(forecast) => summary(&forecast.verdicts),
                Err(faults) => {
                    let why = faults.first().map(ToString::to_string).unwrap_or_default();
                    unknown(format!("unknown, because the current state has errors: {}", short(&why)))
                }
            }
        }
    }
}

fn short(reason: &str) -> String {
    let line = reason.replace('\n', " ");
    if line.chars().count() <= REASON {
        return line;
    }
    line.chars().take(REASON).chain(std::iter::once('…')).collect()
}

/// The verdicts on the parts of a cluster in one line; pools are not told apart by name.
fn summary(verdicts: &[Verdict]) -> Judgement {
    let mut effects = BTreeSet::new();
    let mut parts: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut reason = None;
    let mut why = BTreeSet::new();
    for verdict in verdicts {
        if effect(verdict).is_some_and(|effect| effect != Effect::InPlace) {
            let part = words_of(&verdict.subject);
            why.extend(verdict.fields.iter().filter_map(own_path).map(|path| format!("{part}: {path}")));
        }
        effects.extend(effect(verdict));
        if let Some(words) = words(&verdict.meaning) {
            parts.entry(words).or_default().insert(words_of(&verdict.subject));
        }
        if effect(verdict) == Some(Effect::Unknown) && reason.is_none() {
            reason = verdict.reasons.first().map(|reason| short(reason));
        }
    }
    if parts.is_empty() {
        return Judgement { effects, means: "no machine is replaced".to_owned(), why };
    }
    let told = parts.iter().map(|(words, parts)| {
        let parts: Vec<_> = parts.iter().copied().collect();
        format!("{} {words}", parts.join(" and "))
    });
    let mut means = told.collect::<Vec<_>>().join(", ");
    if let Some(reason) = reason {
        means = format!("{means}: {reason}");
    }
    Judgement { effects, means, why }
}

/// The path of a field that somebody changed; none of names, and of annotations that hold them: every class has its own.
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

/// What a release records of a verdict; nothing where only names and labels change.
pub fn effect(verdict: &Verdict) -> Option<Effect> {
    let machines = match verdict.subject {
        Part::ControlPlane => Effect::ControlPlaneReplaced,
        Part::Pool(_) => Effect::WorkersReplaced,
        Part::Infrastructure | Part::Cluster => Effect::Unknown,
    };
    match &verdict.meaning {
        Meaning::NoChange | Meaning::MetadataOnly => None,
        Meaning::InPlace | Meaning::Scale { .. } | Meaning::Create => Some(Effect::InPlace),
        Meaning::Rollout { .. } | Meaning::Upgrade { .. } | Meaning::Delete => Some(machines),
        Meaning::Rejected | Meaning::Wedged | Meaning::ProviderDependent | Meaning::Opaque => {
            Some(Effect::Unknown)
        }
    }
}

fn words(meaning: &Meaning) -> Option<&'static str> {
    match meaning {
        Meaning::NoChange | Meaning::MetadataOnly => None,
        Meaning::InPlace => Some("changed in place"),
        Meaning::Scale { .. } => Some("scaled"),
        Meaning::Rollout { .. } => Some("replaced machine by machine"),
        Meaning::Upgrade { .. } => Some("upgraded, all machines replaced"),
        Meaning::Create => Some("created"),
        Meaning::Delete => Some("deleted"),
        Meaning::Rejected => Some("rejected, nothing happens"),
        Meaning::Wedged => Some("stuck half-way"),
        Meaning::ProviderDependent => Some("not known, the provider decides"),
        Meaning::Opaque => Some("not known"),
    }
}

fn words_of(part: &Part) -> &'static str {
    match part {
        Part::ControlPlane => "control plane",
        Part::Pool(_) => "workers",
        Part::Infrastructure => "infrastructure",
        Part::Cluster => "cluster",
    }
}
