//! Runs the targets of `fuzz/` with inputs that once failed, and with a few that did not.
//!
//! `fuzz/inputs/<target>/` contains them as text. The bodies of the targets are here so that every test run compiles them.

use std::fs;
use std::path::PathBuf;

#[path = "../../../../gotmpl/tests/fuzz/input.rs"]
mod input;
mod json_patch;
mod schemas;

fn each(target: &str, run: fn(&[u8])) {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/topology/fuzz/inputs").join(target);
    let mut inputs: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    inputs.sort();
    assert!(!inputs.is_empty(), "no input of {target}");
    for input in inputs {
        run(&fs::read(&input).unwrap());
    }
}

#[test]
fn patches_that_went_wrong_end() {
    each("json_patch", json_patch::run);
}

#[test]
fn schemas_that_went_wrong_end() {
    each("schemas", schemas::run);
}
