//! Files and functions small enough for a reader.

use super::rust_files;

const LINES_OF_FILE: usize = 500;
const LINES_OF_FUNCTION: usize = 70;

/// The code of a file, without unit tests.
fn without_tests(text: &str) -> &str {
    text.split_once("\n#[cfg(test)]\nmod tests").map_or(text, |(code, _)| code)
}

/// Functions that are too long, with their names and lengths. As formatted by rustfmt, a body ends at a brace in the column
/// where the function begins.
fn long_functions(text: &str, limit: usize) -> Vec<(String, usize)> {
    let lines: Vec<_> = text.lines().collect();
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let Some(name) = function_name(code) else { continue };
        if code.ends_with('}') || code.ends_with(';') {
            continue;
        }
        let end = format!("{}}}", &line[..line.len() - code.len()]);
        let first = lines[start..].iter().position(|line| line.ends_with('{')).unwrap_or(0);
        let last = lines[start..].iter().position(|line| *line == end).unwrap_or(0);
        let length = last.saturating_sub(first + 1);
        if length > limit {
            found.push((name.to_owned(), length));
        }
    }
    found
}

fn function_name(code: &str) -> Option<&str> {
    let mut words = code.split(' ').take(6);
    words
        .find(|word| {
            !(word.starts_with("pub")
                || matches!(*word, "in" | "const" | "async" | "unsafe" | "extern")
                || word.ends_with(')'))
        })
        .filter(|word| *word == "fn")?;
    let rest = code.split_once("fn ")?.1;
    rest.split(['(', '<']).next()
}

#[test]
fn files_are_short() {
    for (path, text) in ["src", "crates"].into_iter().flat_map(rust_files) {
        let length = without_tests(&text).lines().count();
        assert!(length <= LINES_OF_FILE, "{path} has {length} lines");
    }
    for (path, text) in
        ["tests/suite", "tests/repo", "tests/support", "benches"].into_iter().flat_map(rust_files)
    {
        let length = text.lines().count();
        assert!(length <= LINES_OF_FILE, "{path} has {length} lines");
    }
}

#[test]
fn functions_are_short() {
    for (path, text) in ["src", "crates", "tests/suite", "tests/repo", "tests/support", "benches"]
        .into_iter()
        .flat_map(rust_files)
    {
        let long = long_functions(&text, LINES_OF_FUNCTION);
        assert!(long.is_empty(), "{path}: {long:?}");
    }
}

#[test]
fn a_long_function_is_caught() {
    let body = "        step();\n".repeat(5);
    let text = format!(
        "impl One {{\n    pub(in crate::x) fn long<T>(a: T) {{\n{body}    }}\n\n    fn short() {{}}\n}}\n"
    );
    assert_eq!(long_functions(&text, 4), [("long".to_owned(), 5)]);
    assert!(long_functions(&text, 5).is_empty());
}
