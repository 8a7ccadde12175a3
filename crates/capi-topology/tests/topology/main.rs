//! Compares the topology library with worked examples that Cluster API's own code computed.
//!
//! `STACKLOOM_TOPOLOGY_CASES` names another folder with cases, as folders or archives. With `UPDATE=1`, they are also
//! written as archives into the project's own folder. `ONLY` restricts both to cases whose name contains its value.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::format_push_string,
    reason = "tests own their sandbox and may panic"
)]

mod applied_again;
mod applies;
mod case;
mod class_law;
mod compare;
mod conformance;
#[path = "../../../../tests/support/environment.rs"]
mod environment;
mod fuzz;
mod hostile;
mod law;
mod machine_counts;
mod together;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use capi_topology::predict::{Basis, Change, MachineRollout, ObjectChange, Replaced, create};
use capi_topology::testing::change::{self, After, Before, Instants, Writing};
use capi_topology::testing::objects;
use capi_topology::{Catalog, Desired, Note, Opaque, Pool, PoolKind, PoolObject, Refusal, Role, Settings};
use case::{Case, cases, pack};
use compare::compare;
use serde_json::{Value, json};

fn own_cases() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/topology/cases")
}

fn root() -> PathBuf {
    std::env::var("STACKLOOM_TOPOLOGY_CASES").map_or_else(|_| own_cases(), PathBuf::from)
}

/// The output of a case by file, in the layout of the expectations.
type Outcome = BTreeMap<String, Value>;

#[test]
fn cases_come_out_as_cluster_api_computes_them() {
    let only = std::env::var("ONLY").unwrap_or_default();
    let cases: Vec<Case> = cases(&root()).into_iter().filter(|case| case.name.contains(&only)).collect();
    assert!(!cases.is_empty(), "no case under {} has {only} in its name", root().display());
    if std::env::var("UPDATE").is_ok_and(|value| value == "1") {
        take_over(&cases);
    }
    let mut groups: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let mut report = String::new();
    for case in &cases {
        let differences = differences(case);
        let group = case.name.split('/').next().unwrap_or_default().to_owned();
        let (passed, all) = groups.entry(group).or_default();
        *all += 1;
        *passed += usize::from(differences.is_empty());
        if !differences.is_empty() {
            report += &format!("{}\n{}", case.name, differences.join(""));
        }
    }
    let total = groups.values().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    for (group, (passed, all)) in groups {
        println!("{passed:4} of {all:4} {group}");
    }
    println!("{:4} of {:4} in all", total.0, total.1);
    assert!(report.is_empty(), "cases that differ:\n{report}");
}

/// Writes cases as archives into the project's own folder.
fn take_over(cases: &[Case]) {
    for case in cases {
        let path = own_cases().join(format!("{}.txt", case.name));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, pack(&case.files)).unwrap();
    }
}

fn differences(case: &Case) -> Vec<String> {
    let outcome = outcome(case);
    let mut differences = Vec::new();
    let kind = kind(case);
    let counts = |path: &str| {
        let only = ["expected/cluster.yaml", "expected/errors.yaml"];
        !matches!(kind.as_str(), "defaulting" | "validation") || only.contains(&path)
    };
    for path in case.files.keys().filter(|path| path.starts_with("expected/")) {
        let expected = case.document(path).unwrap_or(json!([]));
        match outcome.get(path) {
            None => differences.push(format!("  {path}: nothing came out\n")),
            Some(actual) => compare(path, &expected, actual, &mut differences),
        }
    }
    for path in outcome.keys().filter(|path| counts(path)) {
        if !case.files.contains_key(path) {
            differences.push(format!("  {path}: came out, but is not expected\n"));
        }
    }
    differences
}

fn kind(case: &Case) -> String {
    case.document("case.yaml").unwrap()["kind"].as_str().unwrap().to_owned()
}

fn outcome(case: &Case) -> Outcome {
    let about = case.document("case.yaml").unwrap();
    let settings = Settings::new(about["capiVersion"].as_str().unwrap()).unwrap();
    let mut out = Outcome::new();
    let class = case.documents("input/class.yaml").unwrap_or_default();
    let mut faults = create::apply_classes(&class, &Catalog::default(), &[]);
    let definitions = contracts(&class);
    let catalog = Catalog::new(class.into_iter().chain(definitions));
    let cluster = case.document("input/cluster.yaml");
    let mut state = None;
    if let (true, Some(cluster)) = (faults.is_empty(), &cluster) {
        let admitted = create::admit(cluster.clone(), &catalog);
        if admitted.faults.is_empty() {
            out.insert("expected/cluster.yaml".to_owned(), admitted.cluster);
        }
        let created = create::create(cluster.clone(), &catalog, &settings);
        unknown(&mut out, &created.opaque);
        faults.extend(created.faults);
        if let Some(desired) = &created.desired {
            put_desired(&mut out, "desired", desired);
            leave_out_filled(&mut out, &catalog, cluster);
        }
        state = created.desired;
        if let Some(desired) = &state {
            faults.extend(objects::refused(desired, settings.gates));
        }
    }
    out.insert("expected/errors.yaml".to_owned(), errors(&faults));
    let changes = ["input/class-after.yaml", "input/cluster-after.yaml"]
        .iter()
        .any(|path| case.files.contains_key(*path));
    if changes && faults.is_empty() {
        changed(case, &about, &catalog, state, &settings, &mut out);
    }
    out
}

/// The definitions of control planes that do not belong to Cluster API. Their version is that of their contract.
fn contracts(class: &[Value]) -> Vec<Value> {
    let definition = |template: &Value| {
        let kind = template["kind"].as_str()?.strip_suffix("Template")?;
        let group = template["apiVersion"].as_str()?.split('/').next()?;
        (kind.ends_with("ControlPlane") && kind != "KubeadmControlPlane").then(|| {
            json!({
                "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "metadata": {
                    "name": format!("{}s.{group}", kind.to_lowercase()),
                    "labels": { "cluster.x-k8s.io/v1beta1": "v1beta1", "cluster.x-k8s.io/v1beta2": "v1beta2" },
                },
                "spec": { "group": group, "names": { "kind": kind } },
            })
        })
    };
    class.iter().filter_map(definition).collect()
}

fn put_desired(out: &mut Outcome, folder: &str, desired: &Desired) {
    for (role, object) in desired.objects() {
        let file = format!("expected/{folder}/{}.yaml", written(&role));
        assert!(out.insert(file.clone(), object.clone()).is_none(), "two objects have the name {file}");
    }
}

/// Removes a field that the cases omit because schemas fill it in: a v1beta1 template gets a rollout strategy.
fn leave_out_filled(out: &mut Outcome, catalog: &Catalog, cluster: &Value) {
    let class = catalog.class_of(cluster).unwrap();
    let name = &class["spec"]["controlPlane"]["templateRef"]["name"];
    let template = catalog.same_object(&json!({
        "apiVersion": "controlplane.cluster.x-k8s.io/v1beta1", "kind": "KubeadmControlPlaneTemplate",
        "metadata": { "name": name },
    }));
    let is_filled = template.is_some_and(|template| {
        template["apiVersion"] == "controlplane.cluster.x-k8s.io/v1beta1"
            && template["spec"]["template"]["spec"].get("rolloutStrategy").is_none()
    });
    let control_plane = out.get_mut("expected/desired/control-plane.yaml").filter(|_| is_filled);
    if let Some(spec) = control_plane.and_then(|object| object["spec"].as_object_mut()) {
        spec.retain(|field, _| !matches!(field.as_str(), "rollout" | "rolloutStrategy"));
    }
}

/// Formats a role the way the cases do. They do not quote names of pools, so no two objects of a case may have the same
/// name.
fn written(role: &Role) -> String {
    let Role::Pool(Pool { kind, name, .. }, object) = role else { return role.to_string() };
    let short = match kind {
        PoolKind::MachineDeployment => "md",
        PoolKind::MachinePool => "mp",
    };
    let object = match object {
        PoolObject::Own => "",
        PoolObject::Bootstrap => ".bootstrap",
        PoolObject::HealthCheck => ".health-check",
        PoolObject::Infrastructure => ".infrastructure",
    };
    format!("{short}.{name}{object}")
}

fn errors(faults: &[Refusal]) -> Value {
    faults
        .iter()
        .map(|fault| {
            let mut error = json!({
                "stage": fault.stage.as_str(),
                "by": fault.by.as_str(),
                "field": fault.error.field,
                "type": fault.error.kind.as_str(),
                "detail": fault.error.detail,
            });
            if !fault.object.is_empty() {
                error["object"] = json!(fault.object);
            }
            error
        })
        .collect()
}

fn changed(
    case: &Case,
    about: &Value,
    catalog: &Catalog,
    state: Option<Desired>,
    settings: &Settings,
    out: &mut Outcome,
) {
    let classes = case.documents("input/class-after.yaml").unwrap_or_default();
    let cluster = case.document("input/cluster-after.yaml");
    let Some(desired) = state else {
        let faults = create::apply_classes(&classes, catalog, &[]);
        let admission = if faults.is_empty() { "accepted" } else { "rejected" };
        let change = json!({ "admission": admission, "errors": errors(&faults) });
        out.insert("expected/change.yaml".to_owned(), change);
        return;
    };
    let before = before(case, about, catalog, &desired);
    let writing = match about["apply"].as_str() {
        Some("replace") => Writing::Replace,
        _ => Writing::Apply,
    };
    let after = After { classes: &classes, cluster: cluster.as_ref(), writing };
    let instants = Instants { now: "2026-06-01T00:00:00Z", machines: "2026-01-01T00:00:00Z" };
    let change = change::change(&before, after, settings, instants);
    out.insert("expected/change.yaml".to_owned(), report(&change));
    unknown(out, &change.opaque);
    if !change.accepted {
        return;
    }
    if let Some(admitted) = &change.admitted {
        out.insert("expected/cluster-after.yaml".to_owned(), serde_json::Value::clone(admitted));
    }
    if let Some(desired) = &change.desired {
        put_desired(out, "desired-after", desired);
    }
    if let Some(plan) = plan(&change) {
        out.insert("expected/plan.yaml".to_owned(), plan);
    }
}

/// Records unknown parts as output, so that the case fails.
fn unknown(out: &mut Outcome, opaque: &[Opaque]) {
    for one in opaque {
        out.insert(format!("unknown: {}: {}", written(&one.role), one.reason), Value::Null);
    }
}

fn before(case: &Case, about: &Value, catalog: &Catalog, desired: &Desired) -> Before {
    let mut catalog = catalog.clone();
    for object in about["remove"].as_array().into_iter().flatten() {
        let (kind, name) = object.as_str().unwrap().split_once('/').unwrap();
        catalog.remove(kind, name);
    }
    let mut running = change::run(desired);
    let patches = case.document("input/current.yaml").unwrap_or_default();
    for patch in patches.as_array().into_iter().flatten() {
        let roles = running.objects().into_keys().filter(|role| written(role) == patch["object"]);
        let roles: Vec<Role> = roles.collect();
        let [role] = roles.as_slice() else { panic!("{} is not one object: {roles:?}", patch["object"]) };
        merge(running.object_mut(role).unwrap(), &patch["patch"]);
    }
    let written = case.document("input/cluster.yaml").unwrap();
    Before {
        catalog,
        written,
        others: Value::Null,
        all: Arc::default(),
        running,
        set_by_others: BTreeMap::new(),
        upgrading: BTreeSet::new(),
        settles: false,
    }
}

fn merge(object: &mut Value, patch: &Value) {
    let Value::Object(fields) = patch else {
        *object = patch.clone();
        return;
    };
    for (key, value) in fields {
        if value.is_null() {
            if let Some(object) = object.as_object_mut() {
                object.remove(key);
            }
        } else {
            merge(&mut object[key.as_str()], value);
        }
    }
}

fn basis(basis: Basis) -> &'static str {
    match basis {
        Basis::Upstream => "upstream",
        Basis::Derived => "derived",
    }
}

fn report(change: &Change) -> Value {
    if !change.accepted {
        return json!({ "admission": "rejected", "errors": errors(&change.faults) });
    }
    let mut objects: Vec<&ObjectChange> = change.objects.iter().collect();
    objects.sort_by_key(|one| written(&one.role));
    let objects: Vec<Value> = objects
        .into_iter()
        .map(|one| {
            let mut object = json!({
                "object": written(&one.role),
                "kind": one.kind,
                "change": one.effect.as_str(),
                "basis": basis(one.basis),
            });
            if let Some(patch) = &one.patch {
                object["patch"] = patch.clone();
            }
            object
        })
        .collect();
    let rollouts: Vec<Value> = change.rollouts.iter().map(rollout).collect();
    let mut report = json!({
        "admission": "accepted",
        "errors": errors(&change.faults),
        "objects": objects,
        "reconcile": if change.faults.is_empty() { "ok" } else { "failed" },
        "rollouts": rollouts,
    });
    if let Some(reason) = change.held {
        report["topologyReconciled"] = json!({ "reason": reason, "status": "False" });
    }
    report
}

fn rollout(one: &MachineRollout) -> Value {
    let mut rollout = json!({
        "object": written(&one.part.own()),
        "basis": basis(one.basis),
        "rollout": match one.replaced {
            Replaced::No => json!(false),
            Replaced::Yes => json!(true),
            Replaced::Unknown => json!("unknown"),
        },
    });
    if let Some(replicas) = one.replicas {
        rollout["replicas"] = json!(replicas);
    }
    if !one.reasons.is_empty() {
        rollout["reasons"] = one.reasons.iter().map(ToString::to_string).collect();
    }
    // The cases record the numbers of rolling updates of machine deployments only.
    let is_recorded = one.part.is_of(PoolKind::MachineDeployment) && one.note != Some(Note::OnDelete);
    if let Some((surge, unavailable)) = one.surge.filter(|_| is_recorded) {
        rollout["maxSurge"] = json!(surge);
        rollout["maxUnavailable"] = json!(unavailable);
    }
    if let Some(note) = one.note {
        rollout["note"] = json!(note.to_string());
    }
    rollout
}

fn plan(change: &Change) -> Option<Value> {
    let plan = change.plan.as_ref()?;
    let steps: Vec<Value> = change
        .steps
        .iter()
        .map(|step| {
            let mut out = json!({ "controlPlane": step.control_plane });
            for kind in PoolKind::ALL {
                let versions: BTreeMap<_, _> = step.pools_of(kind).collect();
                if !versions.is_empty() {
                    out[kind.list()] = json!(versions);
                }
            }
            if !step.rotated.is_empty() {
                let rotated: BTreeSet<String> = step.rotated.iter().map(written).collect();
                out["rotated"] = json!(rotated);
            }
            out
        })
        .collect();
    Some(json!({
        "basis": "upstream",
        "controlPlane": plan.control_plane,
        "workers": plan.workers,
        "steps": steps,
    }))
}
