//! Finds secrets in YAML or JSON within a text, as in a file that a ConfigMap contains.

use super::{At, DEPTH, Found, Tree as _, files::is_collection, report, tree};
use crate::{
    note::Notes,
    yaml::{FileId, RawNode, Source, read_raw},
};

/// What the objects within a text are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::check) enum Objects {
    /// Nothing else looks at them.
    Unchecked,
    /// They are generated, and each was checked by itself.
    Checked,
}

/// Finds secrets in the values of a text that is YAML or JSON. `depth` counts the texts around it.
pub(super) fn in_structure(at: At<'_>, text: &str, objects: Objects, depth: usize) -> Vec<Found> {
    if depth >= DEPTH || !may_have_structure(text) {
        return Vec::new();
    }
    let source = Source::new(FileId(0), at.path, text);
    let Some(documents) = read_raw(&source, &mut Notes::new()) else { return Vec::new() };
    let is_object = |root: &RawNode| root.child("kind").is_some() && root.child("apiVersion").is_some();
    let mut found = Vec::new();
    for document in documents {
        let root = &document.root;
        if is_collection(root) && !(objects == Objects::Checked && is_object(root)) {
            let inner = tree::in_nested_object(at.path, root, &report::is_allowed, depth + 1);
            found.extend(
                inner.into_iter().map(|(node, one)| Found { line: line_of(&source, node, &one), ..one }),
            );
        }
    }
    found
}

/// Whether a text can have keys and values, or items: it has a line break, or is JSON. `password: ask me` is prose.
fn may_have_structure(text: &str) -> bool {
    let is_json = || {
        let text = text.trim();
        text.starts_with(['{', '[']) && text.ends_with(['}', ']']) && !text.starts_with("{{")
    };
    text.contains(':') && (text.contains('\n') || is_json())
}

/// The line of a finding in a text that contains the node, counted from 0.
fn line_of(source: &Source, node: &RawNode, found: &Found) -> usize {
    let kind = node.child("kind").filter(|_| found.name == tree::OBJECT);
    let start = kind.map_or(node.start, |kind| kind.start);
    let start = source.block_line(start, found.line).unwrap_or(start);
    source.line_of(start) - 1
}
