//! Fields of running objects that differ from what the Cluster asks for, because someone else set them. They may alter the
//! effect of a change.
//!
//! Source: `core/reconcilers/topology/cluster/structuredmerge` (server-side apply does not touch fields of other managers)
//! and `core/reconcilers/machinedeployment/machinedeployment_controller.go` (the effects of a pause and of the strategy).

use serde_json::Value;

use super::kubeadm_config;
use super::machine_rollouts::is_on_delete;
use crate::contract::Contract;
use crate::predict::evidence::{Evidence, On, RuleOutcome};
use crate::predict::field::Field;
use crate::predict::meaning::MeaningKind;
use crate::predict::observed::{self, Observed};
use crate::predict::reconcile::RECONCILE;
use crate::predict::rules::Rule;
use crate::predict::running::{is_paused, with_defaults};
use crate::predict::verdict::Verdict;
use crate::role::{PoolKind, TopologyPart};
use crate::state::Desired;
use k8s_schema::value::{get, leaves, merge_patch, same, set, text};

/// The fields of a part that differ from what the Cluster asks for.
pub(in crate::predict) struct Foreign {
    part: TopologyPart,
    kind: String,
    fields: Vec<Differing>,
    /// Whether they keep machines that would otherwise be replaced.
    holds: bool,
}

/// A differing field, with its description.
struct Differing {
    path: Vec<String>,
    words: String,
}

impl Differing {
    /// A field that is shown with its value.
    fn with_value(path: &[&str], live: &Value) -> Self {
        let words = format!("{} is {}", path.join("."), get(live, path).unwrap_or(&Value::Null));
        Self { path: owned(path), words }
    }

    /// A field that is shown without its value.
    fn named(path: Vec<String>) -> Self {
        Self { words: path.join("."), path }
    }
}

fn owned(path: &[&str]) -> Vec<String> {
    path.iter().map(|one| (*one).to_owned()).collect()
}

const PAUSED: [&str; 3] = ["metadata", "annotations", "cluster.x-k8s.io/paused"];
const UPDATE: [&str; 4] = ["spec", "rollout", "strategy", "rollingUpdate"];
const CONFIG: [&str; 2] = ["spec", "kubeadmConfigSpec"];

/// The fields of a `MachineDeployment` that control whether and how its machines are replaced.
const OF_DEPLOYMENT: [&[&str]; 5] = [
    &["spec", "template", "spec", "failureDomain"],
    &["spec", "rollout", "after"],
    &["spec", "rollout", "strategy", "type"],
    &["spec", "rollout", "strategy", "rollingUpdate", "maxSurge"],
    &["spec", "rollout", "strategy", "rollingUpdate", "maxUnavailable"],
];

/// Compares the fields that control the replacement of machines, for each part whose running object was given.
pub(in crate::predict) fn found(running: &Desired, observed: &Observed) -> Vec<Foreign> {
    let mut all = Vec::new();
    let kind = text(&running.control_plane, &["kind"]);
    if let Some(live) = observed.objects.iter().find(|one| text(one, &["kind"]) == kind) {
        all.extend(control_plane(&running.control_plane, &with_defaults(live, None)));
    }
    for worker in &running.deployments {
        if let Some(live) = observed::deployment(observed, &worker.name) {
            let live = with_defaults(live, None);
            let differs =
                |path: &&[&str]| !same(&at(&worker.object, path), &at(&live, path)) && !unused(&live, path);
            let fields = OF_DEPLOYMENT.into_iter().filter(differs);
            let mut fields: Vec<Differing> = fields.map(|path| Differing::with_value(path, &live)).collect();
            let held = is_paused(&live) && !is_paused(&worker.object);
            fields.extend(held.then(|| Differing { path: owned(&PAUSED), words: "it is paused".to_owned() }));
            let holds = held || is_on_delete(&live) && !is_on_delete(&worker.object);
            let part = TopologyPart::pool(PoolKind::MachineDeployment, &worker.name);
            all.push(Foreign { part, kind: "MachineDeployment".to_owned(), fields, holds });
        }
    }
    all.retain(|one| !one.fields.is_empty());
    all
}

fn at(object: &Value, path: &[&str]) -> Value {
    get(object, path).cloned().unwrap_or_default()
}

/// Numbers for a rolling update have no effect with `OnDelete`.
fn unused(live: &Value, path: &[&str]) -> bool {
    path.starts_with(&UPDATE) && is_on_delete(live)
}

fn control_plane(model: &Value, live: &Value) -> Option<Foreign> {
    if text(model, &["kind"]) != "KubeadmControlPlane" {
        return None;
    }
    // Versions are not compared: the model already has the running version, if known.
    let mut aligned = live.clone();
    set(&mut aligned, Contract::VERSION, get(model, Contract::VERSION).cloned().unwrap_or_default());
    let outdated = kubeadm_config::outdated(model, &aligned);
    let mut fields = Vec::new();
    if outdated.init || outdated.joined {
        let config = |object| at(object, &CONFIG);
        let mut paths = Vec::new();
        leaves(&merge_patch(&config(model), &config(&aligned)), &mut Vec::new(), &mut paths);
        let named = |path: Vec<String>| Differing::named([owned(&CONFIG), path].concat());
        fields.extend(paths.into_iter().map(named));
    }
    let surge = [&UPDATE[..], &["maxSurge"]].concat();
    if !same(&at(model, &surge), &at(live, &surge)) {
        fields.push(Differing::with_value(&surge, live));
    }
    let holds = is_paused(live) && !is_paused(model);
    fields.extend(holds.then(|| Differing::named(owned(&PAUSED))));
    let kind = text(model, &["kind"]).to_owned();
    Some(Foreign { part: TopologyPart::ControlPlane, kind, fields, holds })
}

/// The kinds of findings that depend on differing fields.
const DEPENDS: &[MeaningKind] =
    &[MeaningKind::InPlace, MeaningKind::Scale, MeaningKind::Rollout, MeaningKind::Upgrade];

/// Marks a part as unknown if the change touches differing fields, or if they keep machines. Otherwise, the fields appear
/// in a remark. `found` holds the verdicts on the change alone.
pub(in crate::predict) fn evidence(found: &[Verdict], foreign: &[Foreign]) -> Vec<Evidence> {
    let mut all = Vec::new();
    for one in foreign {
        let Some(verdict) = found.iter().find(|verdict| verdict.subject == one.part) else { continue };
        if !DEPENDS.contains(&verdict.meaning.kind()) {
            continue;
        }
        let role = one.part.own();
        let touched = |field: &Differing| {
            let is_it = |other: &Field| matches!(other, Field::Changed { role: of, path } if *of == role && *path == field.path);
            verdict.fields.iter().any(is_it)
        };
        let words: Vec<&str> = one.fields.iter().map(|field| field.words.as_str()).collect();
        let reason = format!(
            "the running {} has values that the Cluster does not ask for: {}",
            one.kind,
            words.join(", ")
        );
        if one.holds || one.fields.iter().any(touched) {
            let reason = format!("{reason}; what the change does there depends on who set them");
            all.push(Evidence::unknown(one.part.clone(), Rule::ForeignValues, RECONCILE).because(reason));
            continue;
        }
        if one.fields.iter().any(|field| field.path.starts_with(&owned(&UPDATE))) {
            all.push(Evidence::new(one.part.clone(), Rule::ForeignValues, RuleOutcome::SurgeUnknown));
        }
        all.push(Evidence::remark(one.part.clone(), Rule::ForeignValues, On::Only(DEPENDS)).because(reason));
    }
    all
}
