//! Fields of running objects that are not as the Cluster asks for: someone else set them, and what a change does there may be
//! another thing than it would be without them.
//!
//! Source: `core/reconcilers/topology/cluster/structuredmerge` (server-side apply leaves alone what others set) and
//! `core/reconcilers/machinedeployment/machinedeployment_controller.go` (what pauses a pool, what its strategy does).

use serde_json::Value;

use super::kubeadm;
use super::observed::{self, Observed};
use super::rollout::is_on_delete;
use super::running::with_defaults;
use super::verdict::{Meaning, Verdict, is_paused};
use crate::topology::desired::contract::Contract;
use crate::topology::desired::state::Desired;
use crate::topology::value::{get, leaves, merge_patch, same, set, text};

/// What is not as it was asked for.
pub(super) struct Foreign {
    role: String,
    kind: String,
    fields: Vec<Field>,
    /// Whether machines are kept that would be replaced otherwise.
    holds: bool,
}

/// A field, and what is told of it.
struct Field {
    path: String,
    told: String,
}

impl Field {
    fn named(path: String) -> Self {
        Self { told: path.clone(), path }
    }
}

const PAUSED: &str = "cluster.x-k8s.io/paused";
const UPDATE: &str = "spec.rollout.strategy.rollingUpdate";

/// Compares the fields by which machines are replaced, where running objects were given.
pub(super) fn found(running: &Desired, observed: &Observed) -> Vec<Foreign> {
    let mut all = Vec::new();
    let kind = text(&running.control_plane, &["kind"]);
    if let Some(live) = observed.objects.iter().find(|one| text(one, &["kind"]) == kind) {
        all.extend(control_plane(&running.control_plane, &with_defaults(live, None)));
    }
    for worker in &running.deployments {
        if let Some(live) = observed::deployment(observed, &worker.name) {
            let live = with_defaults(live, None);
            let fields = [
                "spec.template.spec.failureDomain",
                "spec.rollout.after",
                "spec.rollout.strategy.type",
                &format!("{UPDATE}.maxSurge"),
                &format!("{UPDATE}.maxUnavailable"),
            ];
            let differs =
                |path: &&str| !same(&at(&worker.object, path), &at(&live, path)) && !unused(&live, path);
            let told =
                |path: &str| Field { path: path.to_owned(), told: format!("{path} is {}", at(&live, path)) };
            let mut fields: Vec<Field> = fields.into_iter().filter(differs).map(told).collect();
            let held = is_paused(&live) && !is_paused(&worker.object);
            fields.extend(held.then(|| Field { path: paused(), told: "it is paused".to_owned() }));
            let holds = held || is_on_delete(&live) && !is_on_delete(&worker.object);
            let role = format!("md.{}", worker.name);
            all.push(Foreign { role, kind: "MachineDeployment".to_owned(), fields, holds });
        }
    }
    all.retain(|one| !one.fields.is_empty());
    all
}

fn at(object: &Value, path: &str) -> Value {
    let path: Vec<&str> = path.split('.').collect();
    get(object, &path).cloned().unwrap_or_default()
}

/// Numbers of another strategy do nothing.
fn unused(live: &Value, path: &str) -> bool {
    path.starts_with(UPDATE) && is_on_delete(live)
}

fn paused() -> String {
    format!("metadata.annotations.{PAUSED}")
}

fn control_plane(model: &Value, live: &Value) -> Option<Foreign> {
    if text(model, &["kind"]) != "KubeadmControlPlane" {
        return None;
    }
    // Its version is taken as it runs, where it is known.
    let mut aligned = live.clone();
    set(&mut aligned, Contract::VERSION, get(model, Contract::VERSION).cloned().unwrap_or_default());
    let outdated = kubeadm::outdated(model, &aligned);
    let mut fields = Vec::new();
    if outdated.init || outdated.joined {
        let config = |object| at(object, "spec.kubeadmConfigSpec");
        let mut paths = Vec::new();
        leaves(&merge_patch(&config(model), &config(&aligned)), &mut Vec::new(), &mut paths);
        let named = |path: &Vec<String>| Field::named(format!("spec.kubeadmConfigSpec.{}", path.join(".")));
        fields.extend(paths.iter().map(named));
    }
    let holds = is_paused(live) && !is_paused(model);
    fields.extend(holds.then(|| Field::named(paused())));
    let kind = text(model, &["kind"]).to_owned();
    Some(Foreign { role: "control-plane".to_owned(), kind, fields, holds })
}

/// Calls not known what a change does to such fields, and names them where the change does something else.
pub(super) fn judge(verdicts: &mut [Verdict], foreign: &[Foreign]) {
    for one in foreign {
        let Some(verdict) = verdicts.iter_mut().find(|verdict| verdict.subject == one.role) else { continue };
        if !matches!(
            verdict.meaning,
            Meaning::InPlace | Meaning::Scale { .. } | Meaning::Rollout { .. } | Meaning::Upgrade { .. }
        ) {
            continue;
        }
        let touched = |field: &Field| verdict.fields.contains(&format!("{}: {}", one.role, field.path));
        let told: Vec<&str> = one.fields.iter().map(|field| field.told.as_str()).collect();
        let reason = format!(
            "the {} that runs has values that the Cluster does not ask for: {}",
            one.kind,
            told.join(", ")
        );
        if one.holds || one.fields.iter().any(touched) {
            verdict.meaning = Meaning::Opaque;
            verdict.reasons =
                vec![format!("{reason}; what comes of the change there depends on who set them")];
            verdict.source = super::verdict::RECONCILE;
            continue;
        }
        if let Meaning::Rollout { surge, .. } = &mut verdict.meaning
            && one.fields.iter().any(|field| field.path.starts_with(UPDATE))
        {
            *surge = None;
        }
        verdict.reasons.push(reason);
    }
}

/// Instances of a machine pool are the provider's, whose controller looks at its own object: that is not paused with the pool.
///
/// Source: `test/infrastructure/docker/internal/controllers/dockermachinepool_controller.go`, `Reconcile`.
fn held_by_provider(verdict: &mut Verdict) {
    if matches!(verdict.meaning, Meaning::InPlace | Meaning::Scale { .. } | Meaning::ProviderDependent) {
        let reason = "its MachinePool is paused, and the provider's object beside it is not: whether its instances stay as they are \
                      is the provider's";
        verdict.reasons.push(reason.to_owned());
    }
}

/// What is paused in the end, whoever paused it, keeps its machines as they are.
///
/// Source: `util/paused/paused.go`, `EnsurePausedCondition` (the controllers return before anything else).
pub(super) fn judge_paused(verdicts: &mut [Verdict], after: &Desired) {
    let objects = after.objects();
    for verdict in verdicts {
        let Some(object) = objects.get(&verdict.subject).filter(|one| is_paused(one)) else { continue };
        if verdict.subject.starts_with("mp.") {
            held_by_provider(verdict);
            continue;
        }
        match verdict.meaning {
            Meaning::Scale { .. } | Meaning::Rollout { .. } | Meaning::Upgrade { .. } => {
                verdict.meaning = Meaning::InPlace;
            }
            Meaning::InPlace | Meaning::ProviderDependent => {}
            _ => continue,
        }
        verdict.reasons.push(format!(
            "its {} is paused: of its machines, nothing changes before that ends",
            text(object, &["kind"])
        ));
    }
}
