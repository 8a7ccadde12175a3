//! Forecasts how Cluster API acts on the difference between two Clusters. The topology library decides; its answers are
//! shared.
//!
//! Clusters that differ only in their names, or in the sizes and labels of their pools, share an answer, unless a template of
//! their class reads what differs. Only the numbers of machines are adapted.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
};

use serde_json::{Map, Value as Json};
use sha2::{Digest as _, Sha256};

use super::{
    placeholders::{IDENTITY, Placeholders},
    secret_references::{Needs, refer},
    state::ClassCache,
    unchanged_pools::UnchangedPools,
};
use crate::{
    model::ManagementCluster,
    plan::ClusterPlan,
    topology::{
        Desired, Field, Forecast, Gates, Meaning, Observed, Opaque, Refusal, Role, Settings, SharedClass,
        Side, TopologyPart, UpgradeStep, Verdict,
        import::Applied,
        predict::{
            Change, ListChange, ObjectChange, forecast,
            machine_counts::{MachineCounts, Strategies},
        },
    },
    yaml::{Node, to_json},
};

/// A Cluster as written in its manifest, with its class.
#[derive(Clone, Debug)]
pub struct WrittenCluster {
    pub cluster: Json,
    /// Its class, with the templates that the class names.
    pub class: SharedClass,
    /// The management cluster that manages it.
    pub management: Arc<ManagementCluster>,
    /// What is known about the running Cluster.
    pub running: Option<Running>,
}

/// What is known about a running Cluster.
#[derive(Clone, Debug)]
pub struct Running {
    /// Which field manager wrote which fields.
    pub applied: Applied,
    /// What was observed of its objects.
    pub observed: Observed,
}

/// The forecast for a Cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// The refusals. If there are any, nothing happens.
    pub faults: Vec<Refusal>,
    /// One verdict for each part of the cluster.
    pub verdicts: Vec<Verdict>,
    /// What the forecast cannot know.
    pub opaque: Vec<Opaque>,
    /// Other notes on the cluster as a whole.
    pub notes: Vec<String>,
    /// Conditions under which Cluster API refuses the change. Only the running objects show whether they hold.
    pub conditions: Vec<String>,
    /// The parts whose machines stay on an older version, with that version.
    pub behind: BTreeMap<TopologyPart, String>,
    /// The steps of an upgrade, in order.
    pub steps: Vec<UpgradeStep>,
    /// Secrets that objects made by Cluster API refer to now, but did not before.
    pub secrets: Needs,
    /// Whether Cluster API's controller gets stuck if the change is taken back.
    pub is_stuck_if_reverted: bool,
    /// The entries that differ in lists, by field: for `files`, which files.
    pub entries: BTreeMap<Field, ListChange>,
}

impl From<Forecast> for Answer {
    fn from(forecast: Forecast) -> Self {
        let secrets = referred(forecast.desired.as_ref());
        let Forecast { faults, verdicts, opaque, notes, conditions, change, .. } = forecast;
        let entries = change.as_ref().map(entries).unwrap_or_default();
        let upgrade = change.filter(|change| change.plan.is_some());
        Self {
            faults,
            verdicts,
            opaque,
            notes,
            conditions,
            behind: upgrade.as_ref().map(|change| change.behind.clone()).unwrap_or_default(),
            steps: upgrade.map(|change| change.steps).unwrap_or_default(),
            secrets,
            is_stuck_if_reverted: false,
            entries,
        }
    }
}

fn entries(change: &Change) -> BTreeMap<Field, ListChange> {
    let of = |object: &ObjectChange| {
        let field = |list: &ListChange| Field::Changed { role: object.role.clone(), path: list.path.clone() };
        object.entries.iter().map(|list| (field(list), list.clone())).collect::<Vec<_>>()
    };
    change.objects.iter().flat_map(of).collect()
}

impl Answer {
    /// Whether the change upgrades Kubernetes.
    pub fn is_upgrade(&self) -> bool {
        !self.steps.is_empty()
    }
}

impl WrittenCluster {
    /// The Cluster drawn for a plan, with the class shared by all clusters of its release.
    pub fn drawn(plan: &ClusterPlan, cluster: &Node, classes: &ClassCache) -> Self {
        let management = plan.cluster.management.clone();
        let class = classes.of_release(&plan.release, &management);
        Self { cluster: to_json(cluster), class, management, running: None }
    }

    /// Converts it to the topology library's type.
    pub fn side(self) -> Side {
        let Self { cluster, class, running, .. } = self;
        let file = Running { applied: Applied::File, observed: Observed::default() };
        let Running { applied, observed } = running.unwrap_or(file);
        Side::new(cluster, class).with_applied(applied).with_observed(observed)
    }

    fn settings(&self) -> Settings {
        settings(&self.management)
    }
}

/// The settings of a management cluster for the topology library.
pub fn settings(management: &ManagementCluster) -> Settings {
    let settings = Settings::new(&management.cluster_api.to_string()).expect("a minor is a version");
    settings.with_gates(gates(management))
}

/// The feature gates of a management cluster, with Cluster API's defaults for those that are not set.
pub fn gates(management: &ManagementCluster) -> Gates {
    let set = management.provided.feature_gates.iter().flatten();
    let set: Vec<_> = set.map(|(name, on)| format!("{name}={on}")).collect();
    Gates::parse(&set.join(",")).expect("a test ensures that all gates are known")
}

/// The feature gates for deciding whether at least one of several management clusters accepts something. A gate is on if any
/// of them turns it on, and off only if all turn it off.
pub fn gates_of_any(managements: &[&ManagementCluster]) -> Gates {
    let set = |name: &str| {
        let said = managements.iter().map(|one| one.provided.feature_gates.as_ref()?.get(name).copied());
        let said: Vec<Option<bool>> = said.collect();
        if said.contains(&Some(true)) {
            return Some(format!("{name}=true"));
        }
        let is_off = !said.is_empty() && said.iter().all(|on| *on == Some(false));
        is_off.then(|| format!("{name}=false"))
    };
    let names = Gates::names().filter(|name| !name.starts_with("All"));
    let set: Vec<_> = names.filter_map(set).collect();
    Gates::parse(&set.join(",")).expect("they are the names of gates")
}

/// Forecasts what happens to a running Cluster. If the state before is invalid, nothing can be running to compare with.
pub fn forecast(before: WrittenCluster, after: WrittenCluster) -> Result<Forecast, Vec<Refusal>> {
    let settings = after.settings();
    forecast::of_change(&before.side(), &after.side(), &settings)
}

/// Forecasts the objects of a Cluster, regardless of what is running.
pub fn made(cluster: WrittenCluster) -> Forecast {
    let settings = cluster.settings();
    forecast::of_new(&cluster.side(), &settings)
}

/// The objects that Cluster API makes for a Cluster, and what cannot be known about them. Does not judge whether they are
/// refused.
pub fn desired(cluster: WrittenCluster) -> (Option<Desired>, Vec<Opaque>) {
    let settings = cluster.settings();
    forecast::desired(&cluster.side(), &settings)
}

/// Forecasts a new Cluster. All its parts are created, unless something is refused.
pub fn created(after: WrittenCluster) -> Forecast {
    let mut forecast = made(after);
    if let (true, Some(desired)) = (forecast.faults.is_empty(), &forecast.desired) {
        forecast.verdicts = forecast::of_all_parts(desired, &Meaning::Create);
    }
    forecast
}

/// The Secrets that objects made by Cluster API refer to.
fn referred(desired: Option<&Desired>) -> Needs {
    let mut needs = Needs::new();
    for object in desired.map(|desired| desired.objects()).unwrap_or_default().values() {
        refer(object, "", &mut needs);
    }
    needs
}

/// The forecast for a running Cluster, reduced to what reports need, and the rollout strategies at the end.
fn answer(before: WrittenCluster, after: WrittenCluster) -> Result<(Answer, Strategies), Vec<Refusal>> {
    let settings = after.settings();
    let [before, after] = [before.side(), after.side()];
    let mut forecast = forecast::of_change(&before, &after, &settings)?;
    let (strategies, former) = (forecast.strategies(), forecast.former.take());
    let mut answer = Answer::from(forecast);
    if !answer.secrets.is_empty() {
        let former = former.or_else(|| forecast::desired(&before, &settings).0);
        let known = referred(former.as_ref());
        answer.secrets.retain(|secret, _| !known.contains_key(secret));
    }
    answer.is_stuck_if_reverted = may_be_kept(&answer) && gets_stuck(&after, &before, &settings);
    Ok((answer, strategies))
}

/// Whether a change writes fields of a control plane that its webhook may not let anybody remove.
///
/// Source: `allowedPaths` of Cluster API's `controlplane/kubeadm/webhooks/kubeadm_control_plane.go`, which lists the fields of
/// these two structs, but not the structs.
fn may_be_kept(answer: &Answer) -> bool {
    let mut fields = answer.verdicts.iter().flat_map(|verdict| &verdict.fields);
    let is_kept = |field: &Field| {
        let Field::Changed { role: Role::ControlPlane, path } = field else { return false };
        path.iter().any(|key| matches!(&**key, "initConfiguration" | "joinConfiguration"))
    };
    answer.faults.is_empty() && !answer.is_upgrade() && fields.any(is_kept)
}

fn gets_stuck(before: &Side, after: &Side, settings: &Settings) -> bool {
    let is_stuck =
        |verdict: &Verdict| verdict.subject == TopologyPart::Cluster && verdict.meaning == Meaning::Wedged;
    let forecast = forecast::of_change(before, after, settings);
    forecast.is_ok_and(|forecast| forecast.verdicts.iter().any(is_stuck))
}

type Judged = Result<Arc<Answer>, Vec<Refusal>>;

/// Answers by the key of the answer that they were adapted from, and the numbers of machines.
type Adapted = BTreeMap<([u8; 32], MachineCounts), Arc<Answer>>;

/// A cache of answers. Clusters that differ only in their names, or in the sizes and labels of their pools, share one.
#[derive(Debug, Default)]
pub struct Answers {
    given: RwLock<BTreeMap<[u8; 32], Given>>,
    /// Answers adapted to other numbers of machines.
    adapted: RwLock<Adapted>,
    /// What a class reads, by its address. Keeping the class ensures that no other can get this address.
    classes: RwLock<BTreeMap<usize, (SharedClass, Reads)>>,
}

/// What is known about all Clusters with the same key.
#[derive(Clone, Debug)]
enum Given {
    /// An answer that was given, and what it depends on.
    Answer { judged: Judged, pools: UnchangedPools, strategies: Strategies },
    /// The answer contains the name of the Cluster, or that of its namespace, so each Cluster needs one of its own.
    Named,
}

/// What is known about a Cluster.
enum Known {
    Answer(Judged),
    /// As `Given::Named`.
    Named,
}

/// What the templates of a class read of a Cluster, so that they may render differently.
#[derive(Clone, Copy, Debug)]
struct Reads {
    /// The name of the Cluster, or other metadata.
    names: bool,
    /// The sizes or labels of machine deployments.
    pools: bool,
}

impl Answers {
    /// Forecasts what happens to a running Cluster.
    pub(super) fn of(&self, mut before: WrittenCluster, mut after: WrittenCluster) -> Judged {
        if before.running.is_some() {
            // What is known about the running objects applies to this cluster only.
            return shared(answer(before, after)).0;
        }
        let [old, new] = [&before, &after].map(|one| self.reads(&one.class));
        let (reads_names, reads_pools) = (old.names || new.names, old.pools || new.pools);
        let pools = if reads_pools {
            UnchangedPools::default()
        } else {
            UnchangedPools::of(&before.cluster, &after.cluster)
        };
        let [for_all, for_these] = keys(&before, &after, reads_names, &pools);
        if let Some(Known::Answer(known)) = self.given(&for_all, &pools) {
            return known;
        }
        match self.given(&for_these, &pools) {
            Some(Known::Answer(known)) => return known,
            Some(Known::Named) => return shared(answer(before, after)).0,
            None => {}
        }
        if reads_names {
            let (judged, strategies) = shared(answer(before, after));
            self.insert(for_these, Given::Answer { judged: judged.clone(), pools, strategies });
            return judged;
        }
        match Placeholders::set([&mut before.cluster, &mut after.cluster]) {
            Some(placeholders) => {
                self.without_names([before, after], &placeholders, [for_all, for_these], pools)
            }
            None => shared(answer(before, after)).0,
        }
    }

    /// Forecasts what happens to a Cluster of any name. The answer is valid for other names if it contains no placeholder.
    fn without_names(
        &self,
        mut states: [WrittenCluster; 2],
        placeholders: &Placeholders,
        [for_all, for_these]: [[u8; 32]; 2],
        pools: UnchangedPools,
    ) -> Judged {
        let [before, after] = states.clone();
        let (judged, strategies) = shared(answer(before, after));
        if placeholders.are_in(&format!("{judged:?}")) {
            self.insert(for_these, Given::Named);
            for one in &mut states {
                placeholders.remove_from(&mut one.cluster);
            }
            let [before, after] = states;
            return shared(answer(before, after)).0;
        }
        let can_differ = judged.as_ref().is_ok_and(|answer| pools.can_differ(answer, &strategies));
        let key = if can_differ { for_all } else { for_these };
        self.insert(key, Given::Answer { judged: judged.clone(), pools, strategies });
        judged
    }

    fn insert(&self, key: [u8; 32], given: Given) {
        self.given.write().unwrap_or_else(PoisonError::into_inner).insert(key, given);
    }

    fn given(&self, key: &[u8; 32], pools: &UnchangedPools) -> Option<Known> {
        let all = self.given.read().unwrap_or_else(PoisonError::into_inner);
        let (judged, given, strategies) = match all.get(key)? {
            Given::Named => return Some(Known::Named),
            Given::Answer { judged, pools, strategies } => (judged, pools, strategies),
        };
        match judged {
            Ok(answer) if given != pools => {
                Some(Known::Answer(Ok(self.adapted(key, answer, strategies, [given, pools])?)))
            }
            judged => Some(Known::Answer(judged.clone())),
        }
    }

    fn adapted(
        &self,
        key: &[u8; 32],
        answer: &Answer,
        strategies: &Strategies,
        [given, pools]: [&UnchangedPools; 2],
    ) -> Option<Arc<Answer>> {
        let key = (*key, pools.counts().clone());
        if let Some(known) = self.adapted.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Some(known.clone());
        }
        let adapted = Arc::new(pools.apply(answer, strategies, given)?);
        let mut known = self.adapted.write().unwrap_or_else(PoisonError::into_inner);
        Some(known.entry(key).or_insert(adapted).clone())
    }

    fn reads(&self, class: &SharedClass) -> Reads {
        let address = class.address();
        if let Some((_, reads)) = self.classes.read().unwrap_or_else(PoisonError::into_inner).get(&address) {
            return *reads;
        }
        let reads = |unread: &[&str]| {
            class.objects.iter().any(|object| reads_builtin(&object["spec"]["patches"], unread))
        };
        let reads = Reads { names: reads(&NAMELESS), pools: reads(&POOLLESS) };
        let mut known = self.classes.write().unwrap_or_else(PoisonError::into_inner);
        known.insert(address, (class.clone(), reads));
        reads
    }
}

/// An answer in a form that Clusters share.
fn shared(answer: Result<(Answer, Strategies), Vec<Refusal>>) -> (Judged, Strategies) {
    match answer {
        Ok((answer, strategies)) => (Ok(Arc::new(answer)), strategies),
        Err(faults) => (Err(faults), Strategies::default()),
    }
}

/// The cache keys: hashes of everything that the answer depends on, first without the given details of pools, then with them.
fn keys(
    before: &WrittenCluster,
    after: &WrittenCluster,
    is_named: bool,
    pools: &UnchangedPools,
) -> [[u8; 32]; 2] {
    let (mut hash, mut details) = (Sha256::new(), Vec::new());
    hash.update(after.management.cluster_api.to_string());
    hash.update(format!("{:?}", after.management.provided.feature_gates));
    for (written, other) in [(before, after), (after, before)] {
        hash.update(written.class.address().to_le_bytes());
        let mut cluster = written.cluster.clone();
        if let (false, Some(metadata)) = (is_named, cluster["metadata"].as_object_mut()) {
            without_identity(metadata, &other.cluster["metadata"]["labels"]);
        }
        details.push(Json::from(pools.remove_from(&mut cluster)));
        hash.update(cluster.to_string());
    }
    let with_details = hash.clone().chain_update(Json::from(details).to_string());
    [hash, with_details].map(|hash| hash.finalize().into())
}

/// Removes what identifies a Cluster without affecting the answer. Names are replaced by their lengths, since the names of
/// other objects are built from them and limited in length. Labels are removed if they do not change.
fn without_identity(metadata: &mut Map<String, Json>, other_labels: &Json) {
    for field in IDENTITY {
        if let Some(Json::String(name)) = metadata.get_mut(field) {
            *name = name.len().to_string();
        }
    }
    if let Some(labels) = metadata.get_mut("labels").and_then(Json::as_object_mut) {
        // Labels of Kubernetes and Cluster API have a meaning of their own.
        labels.retain(|name, value| name.contains("k8s.io/") || other_labels.get(name) != Some(value));
    }
}

/// Paths below `builtin` that reveal neither a name nor the metadata of the Cluster.
const NAMELESS: [&str; 7] = [
    ".cluster.topology.version",
    ".cluster.network",
    ".controlPlane.version",
    ".controlPlane.replicas",
    ".machineDeployment.version",
    ".machineDeployment.class",
    ".machineDeployment.replicas",
];

/// Paths below `builtin` that reveal neither the size of a machine deployment nor its labels.
const POOLLESS: [&str; 9] = [
    ".cluster.",
    ".controlPlane.",
    ".machinePool.",
    ".machineDeployment.version",
    ".machineDeployment.class",
    ".machineDeployment.name",
    ".machineDeployment.topologyName",
    ".machineDeployment.infrastructureRef",
    ".machineDeployment.bootstrap",
];

/// Whether patches read something of `builtin` other than the paths that are `unread`. A template that uses its data as a
/// whole reads everything, and may not even name `builtin`.
fn reads_builtin(patches: &Json, unread: &[&str]) -> bool {
    match patches {
        Json::String(text) => text.match_indices("builtin").any(|(at, word)| {
            let rest = &text[at + word.len()..];
            !unread.iter().any(|path| rest.starts_with(path))
        }),
        Json::Array(items) => items.iter().any(|one| reads_builtin(one, unread)),
        Json::Object(entries) => {
            let is_template = |name: &str| matches!(name, "enabledIf" | "template");
            entries.iter().any(|(name, one)| {
                reads_builtin(one, unread) || is_template(name) && one.as_str().is_some_and(reads_all)
            })
        }
        _ => false,
    }
}

/// Whether a template uses its data as a whole, spells `builtin` with escapes, or cannot be parsed.
fn reads_all(template: &str) -> bool {
    gotmpl::Template::parse(template).map_or(true, |parsed| {
        let is_escaped = template.contains('\\');
        parsed.reads().is_none_or(|reads| is_escaped && reads.fields().any(|field| field == "builtin"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::FeatureGates;

    #[test]
    fn a_class_reads_names_and_sizes_only_where_it_says_so() {
        let of = |patches: Json| [reads_builtin(&patches, &NAMELESS), reads_builtin(&patches, &POOLLESS)];
        let reads = |text: &str| of(Json::from([text]));
        assert_eq!(reads("{{ .builtin.machineDeployment.replicas }}"), [false, true]);
        assert_eq!(reads("{{ .builtin.machineDeployment.version }}"), [false, false]);
        assert_eq!(reads("{{ .builtin.cluster.name }}"), [true, false]);
        assert_eq!(reads("builtin.machineDeployment.topologyName"), [true, false]);
        assert_eq!(reads("{{ with .builtin.machineDeployment }}"), [true, true]);
        assert_eq!(reads("builtin"), [true, true]);
        let of_template = |text: &str| of(serde_json::json!([{ "enabledIf": text }]));
        assert_eq!(of_template("{{ .flavor }}"), [false, false]);
        assert_eq!(of_template("{{ .builtin.machineDeployment.version }}"), [false, false]);
        assert_eq!(of_template("{{ range $name, $value := . }}{{ $name }}{{ end }}"), [true, true]);
        assert_eq!(of_template("{{ contains \"replicas\" (toJson .) }}"), [true, true]);
        assert_eq!(of_template("{{ index . \"\\x62uiltin\" }}"), [true, true]);
        assert_eq!(of_template("{{ if }}"), [true, true]);
    }

    /// A fleet can set exactly the gates that the library knows by name.
    #[test]
    fn all_feature_gates_can_be_named() {
        let names: Vec<_> = Gates::names().filter(|name| !name.starts_with("All")).collect();
        let all: Map<_, _> = names.iter().map(|name| ((*name).to_owned(), Json::Bool(true))).collect();
        let gates: FeatureGates = serde_json::from_value(Json::Object(all)).unwrap();
        assert_eq!(gates.set().into_keys().collect::<Vec<_>>(), names);
        assert!(gates.set().into_values().all(|on| on));
    }
}
