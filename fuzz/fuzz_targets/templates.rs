//! Go templates: a template, and its data as JSON. The output is read as YAML, as the value of a patch is.
#![no_main]

#[path = "../../crates/gotmpl/tests/fuzz/input.rs"]
mod input;
#[path = "../../crates/gotmpl/tests/fuzz/target.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| target::run(bytes));
