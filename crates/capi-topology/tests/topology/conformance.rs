//! Compares classes and Clusters with the results of Cluster API's own code. `tests/conformance/cmd/topology` writes them as
//! one JSON document per line. `STACKLOOM_TOPOLOGY_CONFORMANCE` names the file with random ones, and
//! `STACKLOOM_TOPOLOGY_CLASSES` the one with classes from files. `cmd/webhooks` writes pairs of objects, whose file
//! `STACKLOOM_TOPOLOGY_WEBHOOKS` names. Without these files, the tests compare nothing and say so.

use std::io::BufRead;

use capi_topology::import::Objects;
use capi_topology::predict::create;
use capi_topology::testing::desired::with_defaults;
use capi_topology::testing::{objects, webhooks, workers};
use capi_topology::{Catalog, Desired, Gates, Refusal, Role, Settings};
use serde_json::{Value, json};

use super::compare::walk;
use super::environment;

/// Marks an unknown result. It is an honest answer, but too many of them would be useless.
const UNKNOWN: &str = "  not known:";

#[test]
fn random_classes_come_out_as_cluster_api_computes_them() {
    let path = environment::named("STACKLOOM_TOPOLOGY_CONFORMANCE", "a file of `go run ./cmd/topology`");
    let Some(path) = path else { return };
    let file = std::fs::File::open(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let (mut all, mut desired, mut wrong, mut unknown) = (0, 0, Vec::new(), Vec::new());
    for line in std::io::BufReader::new(file).lines() {
        let case: Value = serde_json::from_str(&line.unwrap()).unwrap();
        all += 1;
        desired += usize::from(case["outcome"].get("desired").is_some());
        let differences = differences(&case);
        if differences.iter().any(|one| one.starts_with(UNKNOWN)) {
            unknown.push(format!("seed {} case {}:\n{}", case["seed"], case["number"], differences.join("")));
        } else if !differences.is_empty() {
            let name = format!("seed {} case {}", case["seed"], case["number"]);
            wrong.push(format!("{name}:\n{}", differences.join("")));
        }
    }
    let equal = all - wrong.len() - unknown.len();
    println!("{equal} of {all} cases equal, {} not known; {desired} with desired objects", unknown.len());
    assert!(desired > 0, "{path} holds no case with desired objects");
    let shown: String = wrong.iter().take(20).cloned().collect();
    let most = unknown.iter().take(5).cloned().collect::<String>();
    assert!(unknown.len() * 50 <= all, "{} of {all} cases are not known; the first:\n{most}", unknown.len());
    assert!(wrong.is_empty(), "{} of {all} cases differ; the first:\n{shown}", wrong.len());
}

#[test]
fn classes_of_files_come_out_as_cluster_api_computes_them() {
    let what = "a file of `go run ./cmd/topology -out FILE CASE.yaml…`";
    let Some(path) = environment::named("STACKLOOM_TOPOLOGY_CLASSES", what) else { return };
    let file = std::fs::File::open(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let (mut all, mut wrong) = (0, Vec::new());
    for line in std::io::BufReader::new(file).lines() {
        let case: Value = serde_json::from_str(&line.unwrap()).unwrap();
        all += 1;
        let name = case["file"].as_str().unwrap();
        let differences = differences_of_file(&case);
        println!("{name}: {}", if differences.is_empty() { "equal" } else { "differs" });
        if !differences.is_empty() {
            wrong.push(format!("{name}:\n{}", differences.join("")));
        }
    }
    assert!(all > 0, "{path} holds no case");
    assert!(wrong.is_empty(), "{} of {all} cases differ:\n{}", wrong.len(), wrong.join(""));
}

#[test]
fn random_objects_are_refused_as_cluster_apis_webhooks_refuse_them() {
    let path = environment::named("STACKLOOM_TOPOLOGY_WEBHOOKS", "a file of `go run ./cmd/webhooks`");
    let Some(path) = path else { return };
    let file = std::fs::File::open(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let (mut all, mut refused, mut wrong) = (0, 0, Vec::new());
    for line in std::io::BufReader::new(file).lines() {
        let pair: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let told = pair["errors"].as_array().unwrap();
        all += 1;
        refused += usize::from(!told.is_empty());
        let word = |error: &Value, key: &str| error[key].as_str().unwrap_or_default().to_owned();
        let mut expected: Vec<String> =
            told.iter().map(|error| ["by", "field", "type"].map(|key| word(error, key)).join(" ")).collect();
        let mut actual = refusals(&pair);
        expected.sort();
        actual.sort();
        if expected != actual {
            let name = format!("seed {} pair {}", pair["seed"], pair["number"]);
            let (old, new) = (&pair["old"], &pair["new"]);
            wrong.push(format!(
                "{name}: expected {expected:#?}, actual {actual:#?}\n  old {old}\n  new {new}\n"
            ));
        }
    }
    println!("{} of {all} pairs equal, {refused} refused", all - wrong.len());
    assert!(refused > 0 && refused < all, "of {all} pairs {refused} are refused");
    let shown: String = wrong.iter().take(20).cloned().collect();
    assert!(wrong.is_empty(), "{} of {all} pairs differ; the first:\n{shown}", wrong.len());
}

/// The errors of our webhooks for an object. Each consists of the webhook, the field and the kind of error.
fn refusals(pair: &Value) -> Vec<String> {
    let gates = Gates::parse(pair["gates"].as_str().unwrap()).unwrap();
    if let ("MachineDeployment" | "MachinePool", Some(_)) =
        (pair["new"]["kind"].as_str().unwrap(), workers::defaulting(&pair["new"]))
    {
        return vec!["webhook-default  ".to_owned()];
    }
    let old = pair.get("old").map(|old| with_defaults(old, None));
    let errors = webhooks::validate(&with_defaults(&pair["new"], None), old.as_ref(), gates);
    errors.iter().map(|one| format!("webhook-validate {} {}", one.field, one.kind.as_str())).collect()
}

/// The differences for the text of a file, starting with its YAML.
fn differences_of_file(case: &Value) -> Vec<String> {
    let mut objects = Objects::default();
    if let Err(unread) = objects.read("case", case["text"].as_str().unwrap()) {
        return vec![format!("  unread: {}\n", unread.message)];
    }
    let word = |path: &str| case.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let namespace = Some(word("/cluster/metadata/namespace")).filter(|own| !own.is_empty());
    let found = objects.cluster(namespace.unwrap_or("default"), word("/cluster/metadata/name"));
    let (Some(cluster), refused) = (found, objects.refused().flat_map(|one| one.refused.clone())) else {
        let why: Vec<String> =
            objects.refused().flat_map(|one| &one.refused).map(Refusal::to_string).collect();
        return vec![format!("  no Cluster: {why:?}\n")];
    };
    let refused: Vec<Refusal> = refused.collect();
    let class = objects.class_of(&cluster.object).map(|files| files.objects).unwrap_or_default();
    let in_default = |object: &Value| {
        let mut object = object.clone();
        object["metadata"]["namespace"] = json!("default");
        object
    };
    let class: Vec<Value> = class.iter().map(in_default).collect();
    compare(case, &class, &in_default(&cluster.object), refused)
}

fn differences(case: &Value) -> Vec<String> {
    compare(case, case["objects"].as_array().unwrap(), &case["cluster"], Vec::new())
}

/// The differences in the errors when desired objects are created. The API server checks each object of Cluster API's own
/// kinds separately, and the case contains the errors of its own code.
fn uncreated(case: &Value, desired: &Desired, gates: Gates) -> Vec<String> {
    // Go prints `<nil>` for an empty path.
    let word = |error: &Value, key: &str| error[key].as_str().unwrap_or_default().replace("<nil>", "");
    let told = case["created"].as_array().into_iter().flatten();
    let mut expected: Vec<String> =
        told.map(|one| ["role", "by", "field", "type"].map(|key| word(one, key)).join(" ")).collect();
    let mut actual = Vec::new();
    for (role, object) in desired.objects().into_iter().filter(|(role, _)| *role != Role::Cluster) {
        for fault in objects::refused_create(object, gates) {
            let (field, kind) = (&fault.error.field, fault.error.kind.as_str());
            actual.push(format!("{role} {} {field} {kind}", fault.by.as_str()));
        }
    }
    expected.sort();
    actual.sort();
    if expected == actual {
        return Vec::new();
    }
    vec![format!("  refused at creation: expected {expected:#?}, actual {actual:#?}\n")]
}

fn compare(case: &Value, classes: &[Value], cluster: &Value, refused: Vec<Refusal>) -> Vec<String> {
    let external = classes.iter().filter_map(|class| class["spec"]["patches"].as_array()).flatten();
    let runtime_sdk = external.filter(|patch| patch.get("external").is_some()).count() > 0;
    let gates = Gates::parse(&format!("RuntimeSDK={runtime_sdk}")).unwrap();
    let settings = Settings::new("v1.14.2").unwrap().with_gates(gates);
    let mut faults = refused;
    if faults.is_empty() {
        faults = create::apply_classes(classes, &Catalog::default().with_gates(gates), &[]);
    }
    let mut outcome = json!({});
    let (mut opaque, mut differences) = (Vec::new(), Vec::new());
    // If runtime extensions decide the result, upstream has only judged the class.
    if faults.is_empty() && case["outcome"]["external"] != json!(true) {
        let catalog = Catalog::new(classes.iter().cloned()).with_gates(gates);
        let admitted = create::admit(cluster.clone(), &catalog);
        if admitted.faults.is_empty() {
            outcome["cluster"] = admitted.cluster;
        }
        let created = create::create(cluster.clone(), &catalog, &settings);
        faults = created.faults;
        opaque = created.opaque;
        if let Some(desired) = created.desired {
            differences.extend(uncreated(case, &desired, gates));
            outcome["desired"] = desired
                .objects()
                .into_iter()
                .map(|(role, object)| (role.to_string(), object.clone()))
                .collect();
        }
    }
    let mut actual: Vec<String> = faults
        .iter()
        .map(|one| {
            let error = &one.error;
            format!("{} {} {} {}", one.stage.as_str(), one.by.as_str(), error.field, error.kind.as_str())
        })
        .collect();
    let word = |error: &Value, key: &str| error[key].as_str().unwrap_or_default().replace("<nil>", "");
    let told = case["outcome"]["errors"].as_array().unwrap();
    let mut expected: Vec<String> = told
        .iter()
        .map(|error| ["stage", "by", "field", "type"].map(|key| word(error, key)).join(" "))
        .collect();
    actual.sort();
    expected.sort();
    if actual != expected {
        differences.push(format!("  errors: expected {expected:#?}, actual {actual:#?}\n"));
        differences.extend(told.iter().map(|error| format!("    theirs: {}\n", word(error, "detail"))));
        differences.extend(faults.iter().map(|fault| format!("    ours: {fault}\n")));
    }
    differences.extend(opaque.iter().map(|one| format!("{UNKNOWN} {}: {}\n", one.role, one.reason)));
    for key in ["cluster", "desired"] {
        let (one, other) = (case["outcome"].get(key), outcome.get(key));
        match (one, other) {
            (Some(one), Some(other)) => walk(key, "", one, other, &mut differences),
            (None, None) => {}
            (one, other) => {
                let there = |side: Option<&Value>| if side.is_some() { "there" } else { "none" };
                differences.push(format!("  {key}: expected {}, actual {}\n", there(one), there(other)));
            }
        }
    }
    differences
}
