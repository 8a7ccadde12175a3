//! Random classes and Clusters, computed by Cluster API's own code: `tests/conformance/cmd/topology` writes them, one JSON
//! document per line, and `STACKLOOM_TOPOLOGY_CONFORMANCE` names the file. Without it nothing is compared, and that is said.

use std::io::BufRead;

use serde_json::{Value, json};
use stackloom::topology::class::Catalog;
use stackloom::topology::predict::{Settings, create};

use super::walk;

/// An honest answer; too many of them would be none.
const UNKNOWN: &str = "  not known:";

#[test]
fn random_classes_come_out_as_cluster_api_computes_them() {
    let Ok(path) = std::env::var("STACKLOOM_TOPOLOGY_CONFORMANCE") else {
        println!("skipped: STACKLOOM_TOPOLOGY_CONFORMANCE names no file of `go run ./cmd/topology`");
        return;
    };
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

fn differences(case: &Value) -> Vec<String> {
    let settings = Settings::new("v1.14.2").unwrap();
    let objects = case["objects"].as_array().unwrap();
    let mut faults = create::apply_classes(objects, &Catalog::default(), &[]);
    let mut outcome = json!({});
    let mut opaque = Vec::new();
    if faults.is_empty() {
        let created = create::create(&case["cluster"], &Catalog::new(objects.iter().cloned()), &settings);
        faults = created.faults;
        opaque = created.opaque;
        if let Some(cluster) = created.cluster {
            outcome["cluster"] = cluster;
        }
        if let Some(desired) = created.desired {
            outcome["desired"] =
                desired.objects().into_iter().map(|(role, object)| (role, object.clone())).collect();
        }
    }
    let mut differences = Vec::new();
    let mut actual: Vec<String> = faults
        .iter()
        .map(|one| {
            let error = &one.error;
            format!("{} {} {} {}", one.stage.as_str(), one.by.as_str(), error.field, error.kind.as_str())
        })
        .collect();
    let word = |error: &Value, key: &str| error[key].as_str().unwrap_or_default().to_owned();
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
