//! Paragraphs are short enough for a reader.

use std::{fs, path::Path};

use super::super::support;

/// Five lines of 150 characters, without the targets of links.
const LONGEST: usize = 750;

/// The paragraphs and list items of a document, with the numbers of their first lines. Code and tables are left out.
fn paragraphs(text: &str) -> Vec<(usize, String)> {
    let mut found = vec![(1, String::new())];
    let mut is_code = false;
    for (line, number) in text.lines().map(str::trim).zip(1..) {
        let is_fence = line.starts_with("```");
        is_code ^= is_fence;
        let is_item = line.starts_with("- ") || line.starts_with(|first: char| first.is_ascii_digit());
        let is_prose = !is_code && !is_fence && !line.is_empty() && !line.starts_with(['|', '#', '<']);
        if !is_prose || is_item {
            found.push((number, String::new()));
        }
        if let (true, Some((_, paragraph))) = (is_prose, found.last_mut()) {
            paragraph.push_str(line);
            paragraph.push(' ');
        }
    }
    found
}

/// Counts the characters that a reader sees.
fn length(paragraph: &str) -> usize {
    let mut pieces = paragraph.split("](");
    let first = pieces.next().unwrap_or_default().chars().count();
    first
        + pieces
            .map(|rest| rest.split_once(')').map_or(rest, |(_, text)| text).chars().count())
            .sum::<usize>()
}

fn long(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "md") && !path.ends_with("CHANGELOG.md") {
            let text = fs::read_to_string(&path).unwrap();
            let long = paragraphs(&text).into_iter().filter(|(_, paragraph)| length(paragraph) > LONGEST);
            found.extend(long.map(|(line, _)| format!("{}:{line}", path.display())));
        }
    }
}

#[test]
fn paragraphs_have_five_lines_at_most() {
    let root = support::package();
    let mut found = Vec::new();
    for folder in ["", "docs", "crates/gotmpl", "crates/k8s-schema", "crates/capi-topology"] {
        long(&root.join(folder), &mut found);
    }
    assert!(found.is_empty(), "{found:#?}");
    let two = format!("{0}\n\n- {0}\n", "word ".repeat(LONGEST / 6));
    assert!(paragraphs(&two).iter().all(|(_, one)| length(one) <= LONGEST));
    let one = paragraphs(&two.replace("\n\n- ", "\n"));
    assert!(one.iter().any(|(_, one)| length(one) > LONGEST));
}
