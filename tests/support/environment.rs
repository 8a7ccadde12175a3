//! What some tests need of the machine, and most machines lack.

/// What a variable names: a program or a file that other steps make. None where it is not set; then the test is skipped.
pub(crate) fn named(variable: &str, what: &str) -> Option<String> {
    let found = std::env::var(variable).ok().filter(|value| !value.is_empty());
    if found.is_none() {
        is_missing(&format!("`{variable}`"), &format!("it names {what}"));
    }
    found
}

/// Says that a test is skipped. CI has everything, so there it fails: what is skipped there is never run.
#[expect(clippy::print_stdout, reason = "what is not tested is said")]
pub(crate) fn is_missing(what: &str, hint: &str) {
    let is_ci = std::env::var("CI").is_ok_and(|value| !value.is_empty() && value != "false");
    assert!(!is_ci, "{what} is missing, and CI skips nothing: {hint}; `bash .ci/run test` has everything");
    println!("skipped: {what} is missing: {hint}");
}
