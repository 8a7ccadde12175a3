//! Requirements of some tests that most machines do not meet.

/// The program or file named by an environment variable, made by another step. None if it is not set; the test is then
/// skipped.
pub(crate) fn named(variable: &str, what: &str) -> Option<String> {
    let found = std::env::var(variable).ok().filter(|value| !value.is_empty());
    if found.is_none() {
        is_missing(&format!("`{variable}`"), &format!("it names {what}"));
    }
    found
}

/// Reports that a test is skipped. In CI it fails instead: CI has everything, so a test skipped there would never run.
#[expect(clippy::print_stdout, reason = "says what is not tested")]
pub(crate) fn is_missing(what: &str, hint: &str) {
    let is_ci = std::env::var("CI").is_ok_and(|value| !value.is_empty() && value != "false");
    assert!(!is_ci, "{what} is missing, and CI skips nothing: {hint}; `bash .ci/run test` has everything");
    println!("skipped: {what} is missing: {hint}");
}
