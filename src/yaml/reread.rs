//! Reads a text that differs in few values from one that was read before. In a fleet, most files differ from those of another
//! cluster, or of another release, in names and numbers, and parsing them takes most of the time of reading them.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::Arc,
};

use super::{Node, Plain, Value, resolve_plain};

/// Values that differ, by the byte at which they start in the former text: before and after.
type Values = BTreeMap<u32, [Value; 2]>;

/// A hash of a text without the comments at its start and the values at the ends of lines. Texts with the same hash can
/// usually be read like each other.
pub fn shape(text: &str) -> u64 {
    let mut hash = DefaultHasher::new();
    for line in body(text).split_inclusive('\n') {
        match value_start(line).filter(|at| is_simple(&line[*at..])) {
            Some(at) => (&line[..at], true).hash(&mut hash),
            None => (line, false).hash(&mut hash),
        }
    }
    hash.finish()
}

/// Reads a text like a former one, given the former text and what was read from it: none if they differ in more than the
/// comments at the start and simple values at the ends of lines, so that the text must be parsed. The result has the origins of
/// the former text.
pub fn read_like(former: (&str, &Node), text: &str) -> Option<Node> {
    let (before, node) = former;
    // An alias has the origin of what it repeats, so one byte would stand for several values.
    if may_have_anchor(before) {
        return None;
    }
    let mut values = changed_values(before, text)?;
    let read = with_values(node, &mut values);
    // What remains is not a value, but a line of a longer text, or a comment.
    values.is_empty().then(|| read.unwrap_or_else(|| node.clone()))
}

/// Whether a text has `&` where an anchor can be: at the start of a line, an entry or a value. Expressions have it elsewhere.
fn may_have_anchor(text: &str) -> bool {
    text.match_indices('&').any(|(at, _)| {
        let before = text[..at].trim_end_matches([' ', '\t']);
        before.is_empty() || before.ends_with(['\n', ':', '-', '?', ',', '[', '{', '!'])
    })
}

/// A text without the comments at its start.
fn body(text: &str) -> &str {
    let mut rest = text;
    while rest.starts_with('#') {
        rest = rest.find('\n').map_or("", |end| &rest[end + 1..]);
    }
    rest
}

fn changed_values(before: &str, after: &str) -> Option<Values> {
    let mut values = Values::new();
    let [old, new] = [before, after].map(body);
    let (mut start, mut others) = (before.len() - old.len(), new.split_inclusive('\n'));
    for line in old.split_inclusive('\n') {
        let other = others.next()?;
        if line != other {
            let at = value_start(line)?;
            if line.get(..at) != other.get(..at) {
                return None;
            }
            let [old, new] = [&line[at..], &other[at..]].map(simple_value);
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

/// The value that the rest of a line is, whatever surrounds it: a string in plain letters, quoted or not, or a whole number.
fn simple_value(rest: &str) -> Option<Value> {
    if !is_simple(rest) {
        return None;
    }
    let value = rest.strip_suffix('\n')?;
    if let Some(inner) = quoted(value) {
        return Some(Value::String(inner.into()));
    }
    match resolve_plain(value) {
        Plain::Value(value @ (Value::String(_) | Value::Int(_))) => Some(value),
        _ => None,
    }
}

/// The text between quotes of one kind.
fn quoted(value: &str) -> Option<&str> {
    ['\'', '"'].into_iter().find_map(|quote| value.strip_prefix(quote)?.strip_suffix(quote))
}

/// Whether the rest of a line has the form of a simple value.
fn is_simple(rest: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'/');
    let Some(value) = rest.strip_suffix('\n') else { return false };
    if let Some(inner) = quoted(value) {
        return inner.bytes().all(is_plain);
    }
    // Every reader takes these digits for the same number.
    let is_number = || {
        value.len() <= 9
            && !(value.starts_with('0') && value.len() > 1)
            && value.bytes().all(|byte| byte.is_ascii_digit())
    };
    match value.as_bytes().first() {
        Some(first) if first.is_ascii_alphabetic() || value.starts_with("./") => value.bytes().all(is_plain),
        Some(_) => is_number(),
        None => false,
    }
}

/// A node with the values that differ, which are removed from the list; none if it has none of them.
fn with_values(node: &Node, values: &mut Values) -> Option<Node> {
    let value = match &node.value {
        Value::String(_) | Value::Int(_) => {
            let [before, _] = values.get(&node.origin.offset)?;
            if node.value != *before {
                return None;
            }
            let [_, after] = values.remove(&node.origin.offset)?;
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

fn changed<'n>(children: impl Iterator<Item = &'n Node>, values: &mut Values) -> Vec<(usize, Node)> {
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
  rule: number > 1 && flag
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
    fn an_anchor_is_told_from_an_operator() {
        for text in
            ["&a b", "k: &a v", "- &a v", "k:\n  &a v", "[&a v]", "k: [v, &a w]", "? &a v", "k: &&a v"]
        {
            assert!(may_have_anchor(text), "{text}");
        }
        for text in ["k: a && b", "k: 'a&b'", "k: a & b", "k: a\n"] {
            assert!(!may_have_anchor(text), "{text}");
        }
    }

    #[test]
    fn a_text_with_aliases_is_parsed() {
        let before = "base: &base\n  name: first\nother: *base\n";
        let after = before.replace("first", "second");
        assert_eq!(parsed(&after).unwrap().at(&["other", "name"]).unwrap().as_str(), Some("second"));
        assert_eq!(read_like((before, &parsed(before).unwrap()), &after), None);
    }

    #[test]
    fn numbers_and_quoted_strings_are_replaced() {
        for (old, new) in [
            ("number: 3", "number: 40"),
            ("number: 3", "number: \"3\""),
            ("number: 3", "number: three"),
            ("quoted: \"docker-v1\"", "quoted: \"12\""),
            ("quoted: \"docker-v1\"", "quoted: docker-v1"),
            ("quoted: \"docker-v1\"", "quoted: '12'"),
            ("quoted: \"docker-v1\"", "quoted: ''"),
            ("name: dev-1", "name: ./generated/dev-1"),
            ("# Generated from a definition\n", "# Generated from: another\n# by hand\n"),
            ("# Generated from a definition\n", ""),
        ] {
            let text = TEXT.replacen(old, new, 1);
            assert_eq!(read_again(&text), parsed(&text), "{new}");
            assert_eq!(shape(&text), shape(TEXT), "{new}");
        }
    }

    #[test]
    fn texts_of_other_shapes_have_other_hashes() {
        for (old, new) in [("name: dev-1", "names: dev-1"), ("flag: true\n", ""), ("[v, w]", "[v, x]")] {
            assert_ne!(shape(&TEXT.replacen(old, new, 1)), shape(TEXT), "{new}");
        }
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
            ("quoted: \"docker-v1\"", "quoted: \"docker\\tv1\""),
            ("quoted: \"docker-v1\"", "quoted: 'docker''v1'"),
            ("number: 3", "number: 04"),
            ("number: 3", "number: 0x4"),
            ("number: 3", "number: -3"),
            ("number: 3", "number: .5"),
            ("number: 3", "number: 3.0"),
            ("flag: true", "flag: false"),
            ("labels: { a: b }", "labels: { a: c }"),
        ] {
            assert!(TEXT.contains(old), "{old}");
            assert_eq!(read_again(&TEXT.replacen(old, new, 1)), None, "{new}");
        }
    }
}
