//! Values and manifests as text in other objects.
//!
//! Some controllers evaluate such a text as a template, once or several times, before they parse it as YAML. The text must
//! therefore contain no template markers, which are escaped in YAML instead: `{{ x }}` becomes `"\x7b{ x }}"`. This is the
//! same string to every YAML parser, and a template to no engine.

use crate::yaml::{Emit, Item, Mapping, Node, Origin, Scalar, Value, View, emit, quote, rank};

/// The second character of what starts an expression, a statement or a comment, after a brace. Go templates have only the first,
/// Jinja has all three.
const AFTER_BRACE: [char; 3] = ['{', '%', '#'];

/// Writes a document as text that no template engine changes.
pub(super) fn literal(node: &Node) -> String {
    let mut text = String::new();
    emit(&UnmarkedNode::of(node), &mut text);
    debug_assert!(!holds_marker(&text), "a marker is left: {text}");
    text
}

/// Parses a document embedded as text, as its controller does.
pub(super) fn read(text: &str) -> Option<Node> {
    use crate::{
        note::Notes,
        yaml::{FileId, Source, read},
    };
    read(&Source::new(FileId(0), "values", text), &mut Notes::new())
}

/// The place of the first marker. A text can contain thousands, so one search must not look for each kind through all of it.
fn marker(text: &str) -> Option<usize> {
    text.match_indices('{').map(|(at, _)| at).find(|at| text[at + 1..].starts_with(AFTER_BRACE))
}

fn holds_marker(text: &str) -> bool {
    marker(text).is_some()
}

/// A node whose strings are written without markers.
#[derive(Debug)]
pub(crate) enum UnmarkedNode<'a> {
    /// A number, a boolean, or a string without a marker.
    Scalar(Scalar<'a>),
    /// A string in double quotes.
    Quoted(String),
    /// A list.
    Sequence(Vec<Self>),
    /// A map, in the order of writing.
    Mapping(Vec<(Name<'a>, Origin, Self)>),
}

/// The key of an entry.
#[derive(Debug)]
pub(crate) enum Name<'a> {
    /// A key without a marker.
    Plain(&'a str),
    /// A key in double quotes.
    Quoted(String),
}

impl<'a> UnmarkedNode<'a> {
    pub(crate) fn of(node: &'a Node) -> Self {
        match &node.value {
            Value::Null => Self::Scalar(Scalar::Null),
            Value::Bool(value) => Self::Scalar(Scalar::Bool(*value)),
            Value::Int(number) => Self::Scalar(Scalar::Int(*number)),
            Value::Float(number) => Self::Scalar(Scalar::Float(*number)),
            Value::String(text) if holds_marker(text) => Self::Quoted(quoted(text)),
            Value::String(text) => Self::Scalar(Scalar::String(text)),
            Value::Sequence(items) => Self::Sequence(items.iter().map(Self::of).collect()),
            Value::Mapping(mapping) => Self::Mapping(entries(mapping)),
        }
    }
}

fn entries(mapping: &Mapping) -> Vec<(Name<'_>, Origin, UnmarkedNode<'_>)> {
    let mut entries: Vec<_> = mapping.iter().collect();
    entries.sort_by_cached_key(|entry| (rank(&entry.key.name), entry.key.name.clone()));
    let name = |text| if holds_marker(text) { Name::Quoted(quoted(text)) } else { Name::Plain(text) };
    entries
        .into_iter()
        .map(|entry| (name(&entry.key.name), entry.key.origin, UnmarkedNode::of(&entry.value)))
        .collect()
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    let mut rest = text;
    while let Some(at) = marker(rest) {
        quote(&rest[..at], &mut out);
        out.push_str("\\x7b");
        rest = &rest[at + 1..];
    }
    quote(rest, &mut out);
    out.push('"');
    out
}

impl Emit for UnmarkedNode<'_> {
    fn view(&self) -> View<'_, Self> {
        match self {
            Self::Scalar(scalar) => View::Scalar(*scalar),
            Self::Quoted(text) => View::Scalar(Scalar::Verbatim(text)),
            Self::Sequence(items) => View::Sequence(items.iter().map(|item| Item::Entry((), item)).collect()),
            Self::Mapping(entries) => View::Mapping(
                entries
                    .iter()
                    .map(|(name, origin, value)| match name {
                        Name::Plain(name) => Item::Entry((Scalar::String(name), *origin), value),
                        Name::Quoted(name) => Item::Entry((Scalar::Verbatim(name), *origin), value),
                    })
                    .collect(),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::{from_json, to_json};

    #[test]
    fn a_text_holds_no_marker_and_means_the_same() {
        let hostile = serde_json::json!({
            "{{ key }}": "{{ .Values.x }}",
            "jinja": ["{% raw %}", "{# x #}", "{{{{%#", "{", "{{", "a{", "#}", "%}", "}}"],
            "shell": "echo ${x} {{ y }}\n  `z` \"q\" '{%' \\{{\n",
            "tail": "line\n{{- x -}}\n\n",
            "plain": "script: |\n  no marker\n",
            "numbers": [1, 1.5, 1e21, "1.30", "012", null, true],
            "empty": [{}, [], ""],
        });
        let text = literal(&from_json(&hostile, Origin::NOWHERE));
        assert!(!holds_marker(&text), "{text}");
        assert_eq!(to_json(&read(&text).unwrap()), hostile, "{text}");
    }
}
