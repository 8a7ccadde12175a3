//! JSON patches and variable paths. The input is a document and operations, each as JSON.
#![no_main]

#[path = "../../crates/gotmpl/tests/fuzz/input.rs"]
mod input;
#[path = "../../crates/capi-topology/tests/topology/fuzz/json_patch.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| target::run(bytes));
