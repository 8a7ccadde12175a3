//! Reads a text that differs in few values from one that was read before. When a release reaches a whole fleet, most files
//! change in a name, and parsing them again takes most of the time of reading them.

use std::{collections::BTreeMap, sync::Arc};

use super::{Node, Plain, Value, resolve_plain};

/// Values that differ, by the byte at which they start in the former text: before and after.
type Values<'t> = BTreeMap<u32, [&'t str; 2]>;

/// Reads a text like a former one, given the former text and what was read from it: none if they differ in more than plain
/// strings at the ends of lines, so that the text must be parsed. The result has the origins of the former text.
pub fn read_like(former: (&str, &Node), text: &str) -> Option<Node> {
    let (before, node) = former;
    // An alias has the origin of what it repeats, so one byte would stand for several values.
    if before.contains('&') {
        return None;
    }
    let mut values = changed_values(before, text)?;
    let read = with_values(node, &mut values);
    // What remains is not a value, but a line of a longer text, or a comment.
    values.is_empty().then(|| read.unwrap_or_else(|| node.clone()))
}

fn changed_values<'t>(before: &'t str, after: &'t str) -> Option<Values<'t>> {
    let mut values = Values::new();
    let (mut start, mut others) = (0, after.split_inclusive('\n'));
    for line in before.split_inclusive('\n') {
        let other = others.next()?;
        if line != other {
            let at = value_start(line)?;
            if line.get(..at) != other.get(..at) {
                return None;
            }
            let [old, new] = [&line[at..], &other[at..]].map(plain_string);
            values.insert(u32::try_from(start + at).ok()?, [old?, new?]);
        }
        start += line.len();
    }
    others.next().is_none().then_some(values)
}

/// The byte of a line at which the value behind its last key or list mark starts.
fn value_start(line: &str) -> Option<usize> {
    let ends = [": ", "- "].into_iter().filter_map(|mark| Some(line.rfind(mark)? + mark.len()));
    ends.max()
}

/// The rest of a line, if it is a string in plain letters, whatever surrounds it.
fn plain_string(rest: &str) -> Option<&str> {
    let value = rest.strip_suffix('\n')?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'/');
    let is_simple =
        value.starts_with(|first: char| first.is_ascii_alphabetic()) && value.bytes().all(is_plain);
    let is_string = || matches!(resolve_plain(value), Plain::Value(Value::String(_)));
    (is_simple && is_string()).then_some(value)
}

/// A node with the values that differ, which are removed from the list; none if it has none of them.
fn with_values(node: &Node, values: &mut Values<'_>) -> Option<Node> {
    let value = match &node.value {
        Value::String(text) => {
            let [before, after] = values.get(&node.origin.offset)?;
            if **text != **before {
                return None;
            }
            let after = Value::String(Arc::from(*after));
            values.remove(&node.origin.offset);
            after
        }
        Value::Sequence(items) => {
            let changed = changed(items.iter(), values);
            let mut items = (!changed.is_empty()).then(|| Vec::clone(items))?;
            for (at, item) in changed {
                items[at] = item;
            }
            Value::Sequence(Arc::new(items))
        }
        Value::Mapping(entries) => {
            let changed = changed(entries.iter().map(|entry| &entry.value), values);
            let names = changed.iter().filter_map(|(at, _)| entries.iter().nth(*at));
            let names: Vec<_> = names.map(|entry| entry.key.name.clone()).collect();
            let mut entries = (!changed.is_empty()).then(|| (**entries).clone())?;
            for (name, (_, value)) in names.iter().zip(changed) {
                *entries.get_mut(name)? = value;
            }
            Value::Mapping(Arc::new(entries))
        }
        _ => return None,
    };
    Some(Node { value, origin: node.origin })
}

fn changed<'n>(children: impl Iterator<Item = &'n Node>, values: &mut Values<'_>) -> Vec<(usize, Node)> {
    children.enumerate().filter_map(|(at, child)| Some((at, with_values(child, values)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        note::{FileId, Notes},
        yaml::{Source, read},
    };

    const TEXT: &str = "\
# Generated from a definition
kind: Cluster
metadata:
  name: dev-1
  labels: { a: b }
spec:
  classRef:
    name: docker-v1
  script: |
    name: docker-v1
    - item
  folded: one
    two
  quoted: \"docker-v1\"
  list:
    - first
    - key: value
      deep: [v, w]
    -   - nested
  number: 3
  flag: true
  empty:
";

    fn parsed(text: &str) -> Option<Node> {
        read(&Source::new(FileId(0), "f", text), &mut Notes::new())
    }

    fn read_again(text: &str) -> Option<Node> {
        read_like((TEXT, &parsed(TEXT).unwrap()), text)
    }

    #[test]
    fn a_plain_string_is_replaced() {
        let text = TEXT.replace("    name: docker-v1\n  script", "    name: docker-v2\n  script");
        let text = text.replace("- first", "- second").replace("key: value", "key: other");
        let read = read_again(&text).unwrap();
        assert_eq!(Some(&read), parsed(&text).as_ref());
        assert_eq!(read.at(&["spec", "classRef", "name"]).unwrap().as_str(), Some("docker-v2"));
        assert_eq!(read_again(TEXT), parsed(TEXT));
    }

    /// Whatever a line turns into: the result is that of parsing, or there is none.
    #[test]
    fn the_result_is_that_of_parsing() {
        let others = [
            "v2",
            "yes",
            "on",
            "null",
            "12",
            "1.5",
            "a b",
            "\"q\"",
            "x: y",
            "- z",
            "[",
            "#",
            "~",
            "2026-01-01",
            "",
        ];
        let mut replaced = 0;
        for (at, line) in TEXT.lines().enumerate() {
            let ends = line
                .match_indices([' ', ':', '-', '[', '|'])
                .map(|(start, _)| start + 1)
                .chain([0, line.len()]);
            for (end, other) in ends.flat_map(|end| others.map(|other| (end, other))) {
                let changed = format!("{}{other}", &line[..end]);
                let lines: Vec<_> = TEXT
                    .lines()
                    .enumerate()
                    .map(|(one, line)| if one == at { &*changed } else { line })
                    .collect();
                let text = lines.join("\n") + "\n";
                if let Some(read) = read_again(&text) {
                    assert_eq!(Some(read), parsed(&text), "{text}");
                    replaced += usize::from(text != TEXT);
                }
            }
        }
        assert!(replaced >= 5, "{replaced}");
    }

    #[test]
    fn a_text_with_aliases_is_parsed() {
        let before = "base: &base\n  name: first\nother: *base\n";
        let after = before.replace("first", "second");
        assert_eq!(parsed(&after).unwrap().at(&["other", "name"]).unwrap().as_str(), Some("second"));
        assert_eq!(read_like((before, &parsed(before).unwrap()), &after), None);
    }

    #[test]
    fn other_differences_are_parsed() {
        for (old, new) in [
            ("name: dev-1", "name: yes"),
            ("name: dev-1", "names: dev-1"),
            ("name: dev-1", "name: dev-1\n  other: x"),
            ("flag: true\n", ""),
            ("folded: one", "folded: other"),
            ("    name: docker-v1\n    - item", "    name: docker-v2\n    - item"),
            ("quoted: \"docker-v1\"", "quoted: \"docker-v2\""),
            ("number: 3", "number: 4"),
            ("# Generated from a definition", "# Generated from- another"),
            ("labels: { a: b }", "labels: { a: c }"),
        ] {
            assert!(TEXT.contains(old), "{old}");
            assert_eq!(read_again(&TEXT.replacen(old, new, 1)), None, "{new}");
        }
    }
}
