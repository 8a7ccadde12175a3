//! Runs the fuzz target with inputs that once failed, and with a few that did not.
//!
//! The body of the target is here so that every test run compiles it.
#![expect(clippy::disallowed_methods, reason = "tests own their files and may panic")]

use std::fs;
use std::path::PathBuf;

mod input;
mod target;

#[test]
fn templates_that_went_wrong_end() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/inputs");
    let mut inputs: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    inputs.sort();
    assert!(!inputs.is_empty(), "no input");
    for input in inputs {
        target::run(&fs::read(&input).unwrap());
    }
}
