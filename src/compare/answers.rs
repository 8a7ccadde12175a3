//! What Cluster API makes of the difference between two Clusters: the topology library is asked, and its answers are shared.
//!
//! Clusters that differ only in their names get the same answer, unless a template of their class reads names.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
};

use serde_json::{Map, Value as Json};
use sha2::{Digest as _, Sha256};

use super::{
    secrets::{Needs, refer},
    state::Classes,
};
use crate::{
    model::ManagementCluster,
    plan::ClusterPlan,
    topology::{
        Desired, Forecast, Gates, Meaning, Observed, Opaque, Refusal, Settings, SharedClass, Side,
        UpgradeStep, Verdict, import::Applied, predict::forecast,
    },
    yaml::{Node, to_json},
};

/// A Cluster as it is written, with its class.
#[derive(Clone, Debug)]
pub struct Written {
    /// The Cluster.
    pub cluster: Json,
    /// Its class, with the templates that the class names.
    pub class: SharedClass,
    /// The management cluster that builds it.
    pub management: Arc<ManagementCluster>,
    /// What is known of it while it runs.
    pub running: Option<Running>,
}

/// What is known of a Cluster that runs.
#[derive(Clone, Debug)]
pub struct Running {
    /// Who wrote which of its fields.
    pub applied: Applied,
    /// What is seen of its objects.
    pub observed: Observed,
}

/// What becomes of a Cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// What was refused; nothing happens then.
    pub faults: Vec<Refusal>,
    /// One for each part of the cluster.
    pub verdicts: Vec<Verdict>,
    /// What cannot be known.
    pub opaque: Vec<Opaque>,
    /// What else is to know of the whole.
    pub notes: Vec<String>,
    /// The steps of an upgrade, in order.
    pub steps: Vec<UpgradeStep>,
    /// The Secrets that the objects refer to which Cluster API makes, and did not before.
    pub secrets: Needs,
}

impl From<Forecast> for Answer {
    fn from(forecast: Forecast) -> Self {
        let secrets = referred(forecast.desired.as_ref());
        let Forecast { faults, verdicts, opaque, notes, change, .. } = forecast;
        let upgrade = change.filter(|change| change.plan.is_some());
        Self {
            faults,
            verdicts,
            opaque,
            notes,
            steps: upgrade.map(|change| change.steps).unwrap_or_default(),
            secrets,
        }
    }
}

impl Written {
    /// The Cluster that is drawn for a plan, with a class that clusters of its release share.
    pub fn drawn(plan: &ClusterPlan, cluster: &Node, classes: &Classes) -> Self {
        let management = plan.cluster.management.clone();
        let class = classes.of_release(&plan.release, &management);
        Self { cluster: to_json(cluster), class, management, running: None }
    }

    /// As the topology library takes it.
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

/// What the topology library needs to know of a management cluster.
pub fn settings(management: &ManagementCluster) -> Settings {
    let settings = Settings::new(&management.cluster_api.to_string()).expect("a minor is a version");
    settings.with_gates(gates(management))
}

/// The feature gates of a management cluster; where nothing is said, those that are on by themselves.
pub fn gates(management: &ManagementCluster) -> Gates {
    let set = management.provided.feature_gates.iter().flatten();
    let set: Vec<_> = set.map(|(name, on)| format!("{name}={on}")).collect();
    Gates::parse(&set.join(",")).expect("a test holds that all gates are known")
}

/// The feature gates with which something is taken in at least one of some management clusters.
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

/// What becomes of a Cluster that runs. If the state before is at fault, nothing runs that could be compared with.
pub fn forecast(before: Written, after: Written) -> Result<Forecast, Vec<Refusal>> {
    let settings = after.settings();
    forecast::of_change(&before.side(), &after.side(), &settings)
}

/// What is made of a Cluster, whatever runs.
pub fn made(cluster: Written) -> Forecast {
    let settings = cluster.settings();
    forecast::of_new(&cluster.side(), &settings)
}

/// The objects that Cluster API makes for a Cluster, and what cannot be known of them. Whether they are refused is not
/// judged.
pub fn desired(cluster: Written) -> (Option<Desired>, Vec<Opaque>) {
    let settings = cluster.settings();
    forecast::desired(&cluster.side(), &settings)
}

/// What becomes of a Cluster that is new; all its parts are created unless something refuses it.
pub fn created(after: Written) -> Forecast {
    let mut forecast = made(after);
    if let (true, Some(desired)) = (forecast.faults.is_empty(), &forecast.desired) {
        forecast.verdicts = forecast::of_all_parts(desired, &Meaning::Create);
    }
    forecast
}

/// The Secrets that the objects refer to which Cluster API makes.
fn referred(desired: Option<&Desired>) -> Needs {
    let mut needs = Needs::new();
    for object in desired.map(|desired| desired.objects()).unwrap_or_default().values() {
        refer(object, "", &mut needs);
    }
    needs
}

/// What becomes of a Cluster that runs, as its report needs it.
fn answer(before: Written, after: Written) -> Judged {
    let old = before.clone();
    let mut answer = Answer::from(forecast(before, after)?);
    if !answer.secrets.is_empty() {
        let known = referred(desired(old).0.as_ref());
        answer.secrets.retain(|secret, _| !known.contains_key(secret));
    }
    Ok(Arc::new(answer))
}

type Judged = Result<Arc<Answer>, Vec<Refusal>>;

/// Answers that were given. Clusters that differ only in their names share them.
#[derive(Debug, Default)]
pub struct Answers {
    given: RwLock<BTreeMap<[u8; 32], Judged>>,
    /// Whether a class reads names. It is kept, so no other can have its address.
    classes: RwLock<BTreeMap<usize, (SharedClass, bool)>>,
}

impl Answers {
    /// What becomes of a Cluster that runs.
    pub(super) fn of(&self, before: Written, after: Written) -> Judged {
        if before.running.is_some() {
            // What runs is known of this cluster alone.
            return answer(before, after);
        }
        let is_named = self.reads_names(&before.class) || self.reads_names(&after.class);
        let key = key(&before, &after, is_named);
        if let Some(known) = self.given.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return known.clone();
        }
        let names = [name(&before, "name"), name(&before, "namespace")].map(str::to_owned);
        let judged = answer(before, after);
        let text = format!("{judged:?}");
        // What holds a name is no answer for others.
        if names.iter().all(|name| !text.contains(name)) {
            let mut known = self.given.write().unwrap_or_else(PoisonError::into_inner);
            known.insert(key, judged.clone());
        }
        judged
    }

    fn reads_names(&self, class: &SharedClass) -> bool {
        let address = class.address();
        if let Some((_, reads)) = self.classes.read().unwrap_or_else(PoisonError::into_inner).get(&address) {
            return *reads;
        }
        let reads = class.objects.iter().any(|object| reads_names(&object["spec"]["patches"]));
        let mut known = self.classes.write().unwrap_or_else(PoisonError::into_inner);
        known.insert(address, (class.clone(), reads));
        reads
    }
}

fn name<'a>(written: &'a Written, which: &str) -> &'a str {
    written.cluster["metadata"][which].as_str().unwrap_or_default()
}

/// What decides the answer.
fn key(before: &Written, after: &Written, is_named: bool) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(after.management.cluster_api.to_string());
    hash.update(format!("{:?}", after.management.provided.feature_gates));
    for (written, other) in [(before, after), (after, before)] {
        hash.update(written.class.address().to_le_bytes());
        let mut cluster = written.cluster.clone();
        if let (false, Some(metadata)) = (is_named, cluster["metadata"].as_object_mut()) {
            without_identity(metadata, &other.cluster["metadata"]["labels"]);
        }
        hash.update(cluster.to_string());
    }
    hash.finalize().into()
}

/// Takes out what tells a Cluster from others and decides nothing: its names but for their lengths, because names of objects
/// are made of them and are limited, and labels that stay as they are.
fn without_identity(metadata: &mut Map<String, Json>, other_labels: &Json) {
    for field in ["name", "namespace"] {
        if let Some(Json::String(name)) = metadata.get_mut(field) {
            *name = name.len().to_string();
        }
    }
    if let Some(labels) = metadata.get_mut("labels").and_then(Json::as_object_mut) {
        // Kubernetes and Cluster API give their own labels a meaning.
        labels.retain(|name, value| name.contains("k8s.io/") || other_labels.get(name) != Some(value));
    }
}

/// What a patch may read of `builtin` without learning a name or the metadata of the Cluster.
const NAMELESS: [&str; 7] = [
    ".cluster.topology.version",
    ".cluster.network",
    ".controlPlane.version",
    ".controlPlane.replicas",
    ".machineDeployment.version",
    ".machineDeployment.class",
    ".machineDeployment.replicas",
];

/// Whether templates of a class may give another result for a cluster of another name.
fn reads_names(patches: &Json) -> bool {
    match patches {
        Json::String(text) => text.match_indices("builtin").any(|(at, word)| {
            let rest = &text[at + word.len()..];
            !NAMELESS.iter().any(|path| rest.starts_with(path))
        }),
        Json::Array(items) => items.iter().any(reads_names),
        Json::Object(entries) => entries.values().any(reads_names),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::FeatureGates;

    /// A fleet can name every gate that the library knows by its own name, and no other.
    #[test]
    fn all_feature_gates_can_be_named() {
        let names: Vec<_> = Gates::names().filter(|name| !name.starts_with("All")).collect();
        let all: Map<_, _> = names.iter().map(|name| ((*name).to_owned(), Json::Bool(true))).collect();
        let gates: FeatureGates = serde_json::from_value(Json::Object(all)).unwrap();
        assert_eq!(gates.set().into_keys().collect::<Vec<_>>(), names);
        assert!(gates.set().into_values().all(|on| on));
    }
}
