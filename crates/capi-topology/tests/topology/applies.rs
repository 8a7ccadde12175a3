//! Random objects that one manager applies repeatedly, merged by the API server's own code. `tests/conformance/cmd/applies`
//! writes them, and `STACKLOOM_TOPOLOGY_APPLIES` names its file. Without the file, the test compares nothing and says so.

use std::io::BufRead;

use capi_topology::testing::apply::{read_metadata, server_side_apply};
use serde_json::Value;

use super::compare::walk;
use super::environment;

#[test]
fn random_applies_conformance() {
    let path = environment::named("STACKLOOM_TOPOLOGY_APPLIES", "a file of `go run ./cmd/applies`");
    let Some(path) = path else { return };
    let file = std::fs::File::open(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let (mut all, mut changed, mut wrong) = (0, 0, Vec::new());
    for line in std::io::BufReader::new(file).lines() {
        let case: Value = serde_json::from_str(&line.unwrap()).unwrap();
        all += 1;
        // The API server converts metadata to its own type only after the merge.
        let mut expected = case["after"].clone();
        read_metadata(&mut expected);
        let after = server_side_apply(&case["live"], &case["previous"], &Value::Null, &case["applied"]);
        changed += usize::from(after != case["applied"]);
        let mut differences = Vec::new();
        walk("", "", &expected, &after, &mut differences);
        if !differences.is_empty() {
            let name = format!("seed {} object {} step {}", case["seed"], case["number"], case["step"]);
            let sides = ["live", "previous", "applied"].map(|side| format!("  {side}: {}\n", case[side]));
            wrong.push(format!("{name}:\n{}{}", differences.join(""), sides.join("")));
        }
    }
    println!(
        "{} of {all} applies equal; {changed} leave something else than what is applied",
        all - wrong.len()
    );
    assert!(changed > 0, "{path} holds no apply that leaves something else than what is applied");
    let shown: String = wrong.iter().take(10).cloned().collect();
    assert!(wrong.is_empty(), "{} of {all} applies differ; the first:\n{shown}", wrong.len());
}
