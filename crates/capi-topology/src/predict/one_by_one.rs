//! Objects in files are written one by one: if some are refused, others are still accepted, and a class exists before its
//! Cluster.
//!
//! ```
//! use capi_topology::{Meaning, Settings, Side, TopologyPart, import::ClassFiles, predict::one_by_one::of_files};
//! use serde_json::{Value, json};
//!
//! fn class(template: &str, verbosity: i64) -> ClassFiles {
//!     let object = |api: &str, kind: &str, name: &str, spec: Value| json!({
//!         "apiVersion": format!("{api}cluster.x-k8s.io/v1beta2"), "kind": kind,
//!         "metadata": { "name": name, "namespace": "default" }, "spec": spec,
//!     });
//!     let reference = |api: &str, kind: &str| json!({
//!         "apiVersion": format!("{api}cluster.x-k8s.io/v1beta2"), "kind": kind, "name": template,
//!     });
//!     let kubeadm = json!({ "kubeadmConfigSpec": { "verbosity": verbosity } });
//!     ClassFiles::new(vec![
//!         object("", "ClusterClass", "small", json!({
//!             "infrastructure": { "templateRef": reference("infrastructure.", "DockerClusterTemplate") },
//!             "controlPlane": {
//!                 "templateRef": reference("controlplane.", "KubeadmControlPlaneTemplate"),
//!                 "machineInfrastructure": { "templateRef": reference("infrastructure.", "DockerMachineTemplate") },
//!             },
//!         })),
//!         object("infrastructure.", "DockerClusterTemplate", template, json!({ "template": { "spec": {} } })),
//!         object("infrastructure.", "DockerMachineTemplate", template, json!({ "template": { "spec": {} } })),
//!         object("controlplane.", "KubeadmControlPlaneTemplate", template, json!({ "template": { "spec": kubeadm } })),
//!     ])
//! }
//! let cluster = |version: &str| json!({
//!     "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
//!     "metadata": { "name": "dev-1", "namespace": "default" },
//!     "spec": { "topology": { "classRef": { "name": "small" }, "version": version } },
//! });
//! let settings = Settings::new("1.14").expect("a version");
//!
//! // The files change the class, and give the Cluster a version that the webhook refuses.
//! let before = Side::new(cluster("v1.35.0"), class("small-v1", 1));
//! let after = Side::new(cluster("latest"), class("small-v2", 4));
//! let forecast = of_files(&before, &after, None, &settings).expect("the state before is accepted");
//!
//! assert_eq!(forecast.faults[0].error.field, "spec.topology.version");
//! let control_plane = forecast.verdicts.iter().find(|one| one.subject == TopologyPart::ControlPlane).expect("it has a verdict");
//! assert!(matches!(control_plane.meaning, Meaning::Rollout { .. }), "the class alone replaces machines");
//! ```

use std::collections::BTreeMap;

use serde_json::Value;

use super::Settings;
use super::evidence::{Evidence, On, RuleOutcome};
use super::forecast::{Forecast, of_change};
use super::meaning::Meaning;
use super::rules::Rule;
use super::rules::edited_templates::is_edited;
use super::side::Side;
use super::verdict::Verdict;
use crate::import::{Applied, ClassFiles};
use crate::refusal::{Refusal, Stage};
use crate::role::TopologyPart;
use k8s_schema::value::{get, list, name_of, text};

const CLUSTER_STAYS: &str = "the Cluster is refused and stays as it is. Objects are written one by one, so its class is still written; this is \
                             the effect of the class alone";
const OTHERS_ARE_TAKEN: &str =
    "objects are written one by one: the other new files are written, but their effect is not reported here";
const CLASS_IS_TAKEN: &str =
    "Flux writes classes first: the class is written, and its effect is not reported here";
const CLASS_LACKS_TEMPLATES: &str = "Flux writes classes first: the class is written, and the templates that it names, from the same files, are not. \
                                     Cluster API gets stuck at them";

/// Predicts the change of a running Cluster if each object in the files is written separately. `left` is the class that the
/// Cluster moves away from, as the files leave it.
///
/// Source: `kubectl apply` and Argo CD continue with the next object. Flux writes classes in a separate stage, waits until
/// they are reconciled, and writes nothing of a stage in which one object is refused (`fluxcd/pkg/ssa`, `manager_apply.go`,
/// `ApplyAllStaged` and `ApplyAll`).
pub fn of_files(
    before: &Side,
    after: &Side,
    left: Option<&ClassFiles>,
    settings: &Settings,
) -> Result<Forecast, Vec<Refusal>> {
    let mut forecast = of_change(before, after, settings)?;
    let class = left.map_or_else(|| after.class.clone(), |left| left.clone().into());
    let alone = Side { cluster: before.cluster.clone(), written: false, class, ..after.clone() };
    let edited: Vec<&Value> =
        alone.class.objects.iter().filter(|one| is_edited(one, &before.class.objects)).collect();
    if !forecast.verdicts.iter().any(|one| one.meaning == Meaning::Rejected) {
        let by_class = edited.iter().any(|one| is_class(one));
        if by_class && after.written && before.cluster != after.cluster {
            between(&mut forecast, &of_change(before, &alone, settings)?);
            forecast.notes.extend(lost_values(before, after, &alone.class));
        }
        if by_class && is_by_flux(before) {
            waits_for_templates(&mut forecast, before, &alone.class);
        }
        return Ok(forecast);
    }
    if !forecast.faults.iter().all(|fault| fault.stage == Stage::Cluster) {
        let others = edited.len() > 1 || after.written && before.cluster != after.cluster;
        forecast.notes.extend(beside_refused(&forecast.faults, others, is_by_flux(before)));
        return Ok(forecast);
    }
    if edited.is_empty() {
        return Ok(forecast);
    }
    beside_refused_cluster(forecast, before, alone, settings)
}

/// Predicts the effect of a class on the unchanged Cluster, if the new Cluster is refused.
fn beside_refused_cluster(
    mut forecast: Forecast,
    before: &Side,
    alone: Side,
    settings: &Settings,
) -> Result<Forecast, Vec<Refusal>> {
    let by_flux = is_by_flux(before);
    let alone = if by_flux { without_templates(alone, before) } else { alone };
    if !alone.class.objects.iter().any(|one| is_edited(one, &before.class.objects)) {
        return Ok(forecast);
    }
    let mut of_class = of_change(before, &alone, settings)?;
    if of_class.faults.iter().any(|fault| fault.stage == Stage::ClassReconcile) && by_flux {
        forecast.notes.push(CLASS_LACKS_TEMPLATES.to_owned());
        return Ok(forecast);
    }
    if of_class.verdicts.iter().any(|one| one.meaning == Meaning::Rejected) {
        return Ok(forecast);
    }
    of_class.faults.splice(0..0, forecast.faults);
    of_class.notes.insert(0, CLUSTER_STAYS.to_owned());
    Ok(of_class)
}

/// The note about other objects if a class or a template is refused.
fn beside_refused(faults: &[Refusal], others: bool, by_flux: bool) -> Option<String> {
    let has_class = faults.iter().any(|fault| matches!(fault.stage, Stage::Class | Stage::ClassReconcile));
    match (others, by_flux) {
        (false, _) => None,
        (true, false) => Some(OTHERS_ARE_TAKEN.to_owned()),
        (true, true) => (!has_class).then(|| CLASS_IS_TAKEN.to_owned()),
    }
}

/// Between writing the class and the Cluster, Cluster API may start to apply the class alone. Parts affected by that are
/// not reported as unchanged; if they change anyway, they get it as an additional reason. The same for parts on which the
/// effect of the class alone is unknown.
///
/// Source: `core/reconcilers/topology/cluster/cluster_controller.go`, `SetupWithManager` (it watches classes).
fn between(forecast: &mut Forecast, alone: &Forecast) {
    if alone.verdicts.iter().any(|one| one.meaning == Meaning::Rejected) {
        return;
    }
    let patches = |of: &Forecast, subject: &TopologyPart| -> Vec<Option<Value>> {
        let objects = of.change.iter().flat_map(|change| &change.objects);
        objects.filter(|one| one.role.is_of(subject)).map(|one| one.patch.clone()).collect()
    };
    let differs = |subject: &TopologyPart| patches(forecast, subject) != patches(alone, subject);
    let is_first =
        |one: &&Verdict| is_unknown(one) || acts_on_machines(&one.meaning) && differs(&one.subject);
    let first = alone.verdicts.iter().filter(is_first);
    let first: BTreeMap<&TopologyPart, &Verdict> = first.map(|one| (&one.subject, one)).collect();
    let mut found = Vec::new();
    for verdict in &forecast.verdicts {
        let Some(first) = first.get(&verdict.subject).filter(|_| !is_unknown(verdict)) else { continue };
        let reason = format!(
            "its class is written before the Cluster, and alone has this effect: {}; Cluster API may begin with that in between (with Flux, \
             which waits for the class, it does), so machines may be replaced more than once",
            first.meaning.words()
        );
        let outcome = if may_touch_machines(&verdict.meaning) {
            RuleOutcome::Remark(On::ALL)
        } else {
            RuleOutcome::Unsure
        };
        found.push(Evidence::new(verdict.subject.clone(), Rule::ClassFirst, outcome).because(reason));
    }
    forecast.weigh(found);
}

/// The note about values that may be lost because the Cluster sets them for new variables of its class. At the same time,
/// Cluster API fills in the defaults of these variables. It writes all variables as one list, so the last writer wins.
///
/// Source, confirmed with 1.14.2: `core/reconcilers/topology/cluster/cluster_controller.go`, `Reconcile` (the patch at its
/// end).
fn lost_values(before: &Side, after: &Side, class: &ClassFiles) -> Option<String> {
    let set = |side: &Side, name: &str| {
        list(&side.cluster, &["spec", "topology", "variables"]).iter().any(|one| text(one, &["name"]) == name)
    };
    let variables = |of: &ClassFiles| -> Vec<Value> {
        let classes = of.objects.iter().filter(|one| is_class(one));
        classes.flat_map(|class| list(class, &["spec", "variables"])).cloned().collect()
    };
    let (old, new) = (variables(&before.class), variables(class));
    let is_new = |one: &&Value| old.iter().all(|old| text(old, &["name"]) != text(one, &["name"]));
    let filled =
        new.iter().filter(is_new).filter(|one| get(one, &["schema", "openAPIV3Schema", "default"]).is_some());
    let names = filled.map(|one| text(one, &["name"]));
    let names: Vec<String> =
        names.filter(|name| set(after, name) && !set(before, name)).map(|name| format!("`{name}`")).collect();
    (!names.is_empty()).then(|| {
        format!(
            "the default of {} may overwrite the value that is applied at the same time: Cluster API fills it in as soon as the \
             class is written; apply the class first, and the Cluster after that",
            names.join(" and ")
        )
    })
}

/// Handles an existing class that references a new template in the same files. Flux writes the class first, waits until it
/// is reconciled, and never gets to the template, unless another Kustomization writes that earlier.
///
/// Source, confirmed with kustomize-controller 1.9.4: `fluxcd/pkg/ssa`, `manager_apply.go`, `ApplyAllStaged`.
fn waits_for_templates(forecast: &mut Forecast, before: &Side, class: &ClassFiles) {
    let is_there = |one: &Value| before.class.objects.iter().any(|old| name_of(old) == name_of(one));
    if class.objects.first().is_none_or(|class| !is_there(class)) {
        return;
    }
    let new = class.objects.iter().filter(|one| text(one, &["kind"]).ends_with("Template") && !is_there(one));
    let new: Vec<String> =
        new.map(|one| format!("{} {}", text(one, &["kind"]), text(one, &["metadata", "name"]))).collect();
    if new.is_empty() {
        return;
    }
    let acts = |one: &&Verdict| !matches!(one.meaning, Meaning::NoChange | Meaning::Opaque);
    let unsure = |verdict: &Verdict| {
        let reason = format!(
            "Flux writes the class first and waits until Cluster API has reconciled it, so it never writes {}, which the class names: \
             unless another Kustomization has written that before, Cluster API gets stuck and nothing happens; otherwise: {}",
            new.join(" and "),
            verdict.meaning.words()
        );
        Evidence::new(verdict.subject.clone(), Rule::ClassesFirst, RuleOutcome::Unsure).because(reason)
    };
    let found: Vec<Evidence> = forecast.verdicts.iter().filter(acts).map(unsure).collect();
    forecast.weigh(found);
}

fn may_touch_machines(meaning: &Meaning) -> bool {
    !matches!(meaning, Meaning::NoChange | Meaning::MetadataOnly | Meaning::InPlace)
}

fn acts_on_machines(meaning: &Meaning) -> bool {
    may_touch_machines(meaning) && !matches!(meaning, Meaning::Wedged | Meaning::Rejected)
}

fn is_unknown(verdict: &Verdict) -> bool {
    matches!(verdict.meaning, Meaning::Opaque | Meaning::ProviderDependent)
}

fn is_class(object: &Value) -> bool {
    text(object, &["kind"]) == "ClusterClass"
}

fn is_by_flux(before: &Side) -> bool {
    let Applied::Known(claims) = &before.applied else { return false };
    !claims.is_empty() && claims.iter().all(|claim| claim.by.is_flux())
}

/// Keeps the class as written, and resets the templates to their earlier state.
fn without_templates(side: Side, before: &Side) -> Side {
    let there = |one: Value| {
        let old = before.class.objects.iter().find(|old| name_of(old) == name_of(&one)).cloned();
        if is_class(&one) { Some(one) } else { old }
    };
    let objects = side.class.objects.iter().cloned().filter_map(there).collect();
    let class = ClassFiles { objects, missing: side.class.missing.clone() };
    Side { class: class.into(), ..side }
}
