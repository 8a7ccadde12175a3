//! Go templates. The input is a template and its data as JSON. The output is read as YAML, like the value of a patch.
#![no_main]

#[path = "../../crates/gotmpl/tests/fuzz/input.rs"]
mod input;
#[path = "../../crates/gotmpl/tests/fuzz/target.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| target::run(bytes));
