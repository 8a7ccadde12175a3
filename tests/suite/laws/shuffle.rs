//! Reorders the keys of maps in a YAML text, except among template statements, where the order is content.
//!
//! It works on lines, so that the rest of the text stays unchanged. Anything that it does not understand (flow collections,
//! multi-line scalars) is left alone. Comments are dropped, because they are not content.

use super::super::support::random::Random;

/// The same content with keys in another order.
pub(super) fn shuffled(text: &str, random: &mut Random) -> String {
    let mut out = String::new();
    let mut document = Vec::new();
    for line in text.lines().chain(["---"]) {
        if line == "---" {
            if !out.is_empty() {
                out.push_str("---\n");
            }
            for line in block(&document, random) {
                out.push_str(&line);
                out.push('\n');
            }
            document.clear();
        } else {
            document.push(line.to_owned());
        }
    }
    out
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with('#')
}

fn is_item(line: &str) -> bool {
    line.trim_start().starts_with("- ") || line.trim() == "-"
}

fn is_entry(line: &str) -> bool {
    line.trim_end().ends_with(':') || line.contains(": ")
}

/// The lines of one map or list, including everything inside.
fn block(lines: &[String], random: &mut Random) -> Vec<String> {
    let content = lines.iter().filter(|line| !line.trim().is_empty() && !is_comment(line));
    let Some(indent) = content.map(|line| indentation(line)).min() else { return lines.to_vec() };
    let outside = |line: &String| !line.trim().is_empty() && indentation(line) < indent;
    if lines.iter().any(outside) {
        return lines.to_vec();
    }
    let at_top = |line: &&String| !line.trim().is_empty() && indentation(line) == indent && !is_comment(line);
    let list = lines.iter().find(at_top).is_some_and(|line| is_item(line));
    let Some((mut groups, statements)) = groups(lines, indent, list) else { return lines.to_vec() };
    if !list && !statements {
        random.shuffle(&mut groups);
    }
    let inner = |group: Vec<String>| if list { item(&group, indent, random) } else { entry(&group, random) };
    groups.into_iter().flat_map(inner).collect()
}

/// The entries or items of a block, including statements, and whether there are statements; none if any line is neither.
fn groups(lines: &[String], indent: usize, list: bool) -> Option<(Vec<Vec<String>>, bool)> {
    let mut groups: Vec<Vec<String>> = Vec::new();
    let mut statements = false;
    for line in lines {
        let inside = line.trim().is_empty() || indentation(line) > indent || (!list && is_item(line));
        if inside {
            if let Some(open) = groups.last_mut() {
                open.push(line.clone());
            }
        } else if line.trim_start().starts_with("#%") {
            statements = true;
            groups.push(vec![line.clone()]);
        } else if !is_comment(line) {
            if !(if list { is_item(line) } else { is_entry(line) }) {
                return None;
            }
            groups.push(vec![line.clone()]);
        }
    }
    Some((groups, statements))
}

fn entry(group: &[String], random: &mut Random) -> Vec<String> {
    match group.split_first() {
        Some((key, rest)) if key.trim_end().ends_with(':') && !is_comment(key) && !rest.is_empty() => {
            std::iter::once(key.clone()).chain(block(rest, random)).collect()
        }
        _ => group.to_vec(),
    }
}

fn item(group: &[String], indent: usize, random: &mut Random) -> Vec<String> {
    let first = &group[0];
    let inside = first[indent..].strip_prefix("- ").unwrap_or_default();
    let map = is_entry(inside) && inside.starts_with(|c: char| c.is_ascii_alphabetic());
    if is_comment(first) || !map {
        return group.to_vec();
    }
    let spaces = " ".repeat(indent);
    let mut lines = group.to_vec();
    lines[0] = format!("{spaces}  {inside}");
    let mut lines = block(&lines, random);
    lines[0] = format!("{spaces}- {}", lines[0].trim_start());
    lines
}

#[test]
fn keys_change_places_and_nothing_else_does() {
    let text = "a: 1\nb:\n  - c: 2\n    d: |\n      z: 1\n      y: 2\n  - e\nf:\n  #% if x\n  g: 1\n  #% endif\n  h: 2\n";
    let all: Vec<_> = (0..20).map(|seed| shuffled(text, &mut Random::new(seed))).collect();
    assert!(
        all.iter().any(|found| found.contains("- d: |\n      z: 1\n      y: 2\n    c: 2\n  - e\n")),
        "{all:#?}"
    );
    assert!(all.iter().any(|found| found.starts_with("f:\n")));
    assert!(all.iter().all(|found| found.contains("f:\n  #% if x\n  g: 1\n  #% endif\n  h: 2\n")));
}
