//! CEL rules. The input is a rule, the schema that contains it as JSON, and a value as JSON.
#![no_main]

#[path = "../../crates/gotmpl/tests/fuzz/input.rs"]
mod input;
#[path = "../../crates/k8s-schema/tests/fuzz/target.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| target::run(bytes));
