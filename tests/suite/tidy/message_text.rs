//! Nothing is decided by the text of a message: a message that code must recognize has a code or a typed field.

use super::rust_files;

/// What asks about a text.
const QUESTIONS: [&str; 9] = [
    ".starts_with(",
    ".ends_with(",
    ".contains(",
    ".strip_prefix(",
    ".strip_suffix(",
    ".find(",
    ".split_once(",
    " == ",
    " != ",
];

/// The fields and variables that hold our messages.
const MESSAGES: [&str; 3] = ["message", "hint", "help"];

/// Files that read messages of other programs.
const FOREIGN: [(&str, &str); 1] =
    [("crates/gotmpl/src/yaml/mod.rs", "the YAML scanner gives this error no kind of its own")];

/// Whether a line asks what a message says.
fn asks(line: &str) -> bool {
    QUESTIONS.iter().flat_map(|question| line.match_indices(question)).any(|(at, _)| {
        let before = &line[..at];
        let start = before.rfind(|c: char| !(c.is_alphanumeric() || c == '_')).map_or(0, |at| at + 1);
        MESSAGES.contains(&&before[start..])
    })
}

#[test]
fn nothing_is_decided_by_the_text_of_a_message() {
    let mut found = Vec::new();
    for (path, text) in ["src", "crates"].into_iter().flat_map(rust_files) {
        if path.contains("/tests/") || FOREIGN.iter().any(|(foreign, _)| *foreign == path) {
            continue;
        }
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let lines = code.lines().enumerate().filter(|(_, line)| asks(line));
        found.extend(lines.map(|(number, line)| format!("{path}:{}: {}", number + 1, line.trim())));
    }
    assert!(found.is_empty(), "give these a code or a typed field:\n{}", found.join("\n"));
}

#[test]
fn a_question_is_recognized() {
    assert!(asks("    note.severity == Severity::Warning && note.message.starts_with(IN_COMMIT)"));
    assert!(asks("hint.starts_with(HISTORY)"));
    assert!(asks("if note.message == known {"));
    assert!(!asks("self.messages.contains(&id)"));
    assert!(!asks("note.code == \"abandoned\""));
}
