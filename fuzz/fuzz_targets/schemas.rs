//! Schemas of variables. The input is a schema and a value, each as JSON. The value is defaulted, checked and judged.
#![no_main]

#[path = "../../crates/gotmpl/tests/fuzz/input.rs"]
mod input;
#[path = "../../crates/capi-topology/tests/topology/fuzz/schemas.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| target::run(bytes));
