//! Lines of a text, and values as text.

use crate::yaml::{Node, RawKind, RawNode, Style, Value, emit, is_special, quote};

/// The line break of the line that contains `at`. If that line has none, the first line's is used.
pub(super) fn line_break(text: &str, at: usize) -> &'static str {
    let own = text[at..].find('\n').map(|found| at + found);
    match own.or_else(|| text.find('\n')) {
        Some(end) if text[..end].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// Whether a character may begin a new line.
pub(super) fn is_break(one: char) -> bool {
    one.is_control() || matches!(one, '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// The byte at which the line of `at` starts.
pub(super) fn start_of(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |at| at + 1)
}

/// The byte at which the line of `at` ends, before its line break.
pub(super) fn end_of(text: &str, at: usize) -> usize {
    let end = text[at..].find('\n').map_or(text.len(), |found| at + found);
    if text[at..end].ends_with('\r') { end - 1 } else { end }
}

/// The byte at which the next line starts; after the last line, the end of the text.
pub(super) fn next_of(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |found| at + found + 1)
}

/// The distance of a position from the start of its line, in bytes.
pub(super) fn column(text: &str, at: usize) -> usize {
    at - start_of(text, at)
}

/// Whether only spaces precede a position in its line.
pub(super) fn leads_its_line(text: &str, at: usize) -> bool {
    text[start_of(text, at)..at].bytes().all(|byte| byte == b' ')
}

/// The end of the comment lines directly after the line of `at` that are indented by at least `indent`; `at` itself if there
/// are none.
pub(super) fn behind_comments(text: &str, at: usize, indent: usize) -> usize {
    let mut end = at;
    loop {
        let next = next_of(text, end);
        if next == text.len() || next == end {
            return end;
        }
        let line = &text[next..end_of(text, next)];
        let body = line.trim_start_matches(' ');
        if !body.starts_with('#') || line.len() - body.len() < indent {
            return end;
        }
        end = end_of(text, next);
    }
}

/// Formats a value on one line: scalars as the emitter writes them, collections in braces and brackets.
pub(super) fn inline(node: &Node) -> String {
    match &node.value {
        Value::Mapping(mapping) if !mapping.is_empty() => {
            let entries: Vec<_> = mapping
                .iter()
                .map(|entry| format!("{}: {}", key(&entry.key.name), inline(&entry.value)))
                .collect();
            format!("{{ {} }}", entries.join(", "))
        }
        Value::Sequence(items) if !items.is_empty() => {
            format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", "))
        }
        _ => written(node),
    }
}

/// Formats a key.
pub(super) fn key(name: &str) -> String {
    written(&Node::from(name))
}

fn written(node: &Node) -> String {
    let mut text = String::new();
    emit(node, &mut text);
    text.truncate(text.trim_end_matches('\n').len());
    text
}

/// Formats a scalar with the quotes of the one it replaces.
pub(super) fn like(text: &str, old: &RawNode, new: &Node) -> String {
    let quoted = matches!(old.kind, RawKind::Scalar { style: Style::Quoted, .. });
    match (new.as_str(), text[old.start..].chars().next()) {
        (Some(new), Some('"')) if quoted => {
            let mut out = String::from('"');
            quote(new, &mut out);
            out + "\""
        }
        (Some(new), Some('\'')) if quoted && !new.contains(is_special) => {
            format!("'{}'", new.replace('\'', "''"))
        }
        _ => inline(new),
    }
}

/// Whether a value needs lines of its own below its key.
pub(super) fn needs_lines(node: &Node) -> bool {
    match &node.value {
        Value::Mapping(mapping) => !mapping.is_empty(),
        Value::Sequence(items) => !items.is_empty(),
        _ => false,
    }
}

/// Formats a collection as lines at an indent, each after a line break.
pub(super) fn below(node: &Node, indent: usize, line_break: &str) -> String {
    let mut out = String::new();
    for line in written(node).split('\n') {
        out += line_break;
        if !line.is_empty() {
            out.extend(std::iter::repeat_n(' ', indent));
            out += line;
        }
    }
    out
}
