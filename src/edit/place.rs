//! Locates the position of an edit in a text.

use super::{Edit, Locator, Obstacle, block, flow, lines, scalar};
use crate::yaml::{Mapping, Node, RawKind, RawNode, Style};

/// A collection on the path, and the index of the entry that the path takes.
#[derive(Clone, Copy)]
pub(super) struct Ancestor<'a> {
    pub(super) parent: &'a RawNode,
    pub(super) index: usize,
}

impl<'a> Ancestor<'a> {
    /// The key of the entry, if it has one.
    pub(super) fn key(&self) -> Option<&'a RawNode> {
        if let RawKind::Mapping(entries) = &self.parent.kind { Some(&entries[self.index].0) } else { None }
    }

    pub(super) fn value(&self) -> &'a RawNode {
        match &self.parent.kind {
            RawKind::Mapping(entries) => &entries[self.index].1,
            RawKind::Sequence(items) => &items[self.index],
            RawKind::Scalar { .. } => self.parent,
        }
    }

    pub(super) fn count(&self) -> usize {
        count(self.parent)
    }

    /// The first byte of an entry: that of its key or of the item.
    pub(super) fn start(&self, index: usize) -> usize {
        match &self.parent.kind {
            RawKind::Mapping(entries) => entries[index].0.start,
            RawKind::Sequence(items) => items[index].start,
            RawKind::Scalar { .. } => self.parent.start,
        }
    }
}

pub(super) fn count(node: &RawNode) -> usize {
    match &node.kind {
        RawKind::Mapping(entries) => entries.len(),
        RawKind::Sequence(items) => items.len(),
        RawKind::Scalar { .. } => 0,
    }
}

/// Whether a collection is written in braces or brackets. A list at the indentation of its key starts at its first item,
/// which may itself be in brackets.
pub(super) fn is_flow(text: &str, node: &RawNode) -> bool {
    let opens = |mark: char| text[node.start..].starts_with(mark);
    match &node.kind {
        RawKind::Mapping(_) => opens('{'),
        RawKind::Sequence(items) => opens('[') && items.first().is_none_or(|item| item.start > node.start),
        RawKind::Scalar { .. } => false,
    }
}

/// Whether the value is missing from the text.
pub(super) fn is_empty(node: &RawNode) -> bool {
    node.start >= node.end && matches!(&node.kind, RawKind::Scalar { style: Style::Plain, .. })
}

/// The end of a value as written, without trailing line breaks, blanks and comments.
pub(super) fn end(text: &str, node: &RawNode, floor: usize) -> Result<usize, Obstacle> {
    if is_empty(node) {
        return Ok(floor);
    }
    // An alias has the position of the node that it refers to.
    if node.start < floor {
        return Err(Obstacle::new(floor, "a value that is written as an alias is in the way"));
    }
    if is_flow(text, node) {
        return Ok(node.end);
    }
    match &node.kind {
        RawKind::Mapping(entries) => match entries.last() {
            Some((key, value)) => end(text, value, block::behind_colon(text, key)?),
            None => Ok(node.end),
        },
        RawKind::Sequence(items) => match items.last() {
            Some(item) if is_empty(item) => {
                Err(Obstacle::new(node.start, "a list with an empty last item is in the way"))
            }
            Some(item) => end(text, item, node.start),
            None => Ok(node.end),
        },
        RawKind::Scalar { .. } => Ok(node.start + text[node.start..node.end].trim_end().len()),
    }
}

/// Follows a path as far as it exists. Returns the remaining steps as well.
fn follow<'a, 'p, 's>(
    root: &'a RawNode,
    path: &'p [Locator<'s>],
) -> Result<(Vec<Ancestor<'a>>, &'p [Locator<'s>]), Obstacle> {
    let (mut node, mut trail, mut rest) = (root, Vec::new(), path);
    while let [step, behind @ ..] = rest {
        let index = match (step, &node.kind) {
            (Locator::Key(key), RawKind::Mapping(entries)) => {
                entries.iter().position(|(name, _)| scalar(name) == Some(*key))
            }
            (Locator::Named(name), RawKind::Sequence(items)) => {
                items.iter().position(|item| name_of(item) == Some(*name))
            }
            _ => None,
        };
        let Some(index) = index else { break };
        let at = Ancestor { parent: node, index };
        let floor = at.key().map_or(node.start, |key| key.end);
        if !is_empty(at.value()) && at.value().start < floor {
            return Err(Obstacle::new(floor, "it is written as an alias"));
        }
        trail.push(at);
        (node, rest) = (at.value(), behind);
    }
    Ok((trail, rest))
}

fn name_of(item: &RawNode) -> Option<&str> {
    let RawKind::Mapping(entries) = &item.kind else { return None };
    entries.iter().find(|(key, _)| scalar(key) == Some("name")).and_then(|(_, value)| scalar(value))
}

pub(super) fn set(text: &str, root: &RawNode, path: &[Locator<'_>], value: &Node) -> Result<Edit, Obstacle> {
    let (trail, rest) = follow(root, path)?;
    let deepest = trail.last().map_or(root, Ancestor::value);
    let [first, behind @ ..] = rest else {
        let at =
            trail.last().ok_or_else(|| Obstacle::new(root.start, "it is the whole content of the file"))?;
        return replace(text, *at, value);
    };
    let Locator::Key(key) = first else {
        return Err(Obstacle::new(deepest.start, "there is no item of this name"));
    };
    let mut value = value.clone();
    for step in behind.iter().rev() {
        let Locator::Key(key) = step else {
            return Err(Obstacle::new(deepest.start, "there is no list with an item of this name"));
        };
        let mut outer = Mapping::new();
        outer.set(key, value);
        value = outer.into();
    }
    match (&deepest.kind, trail.last()) {
        (RawKind::Mapping(_), _) if is_flow(text, deepest) => flow::insert(text, deepest, key, &value),
        (RawKind::Mapping(_), _) => block::insert(text, deepest, key, &value),
        (RawKind::Scalar { .. }, Some(at)) if is_null(deepest) => {
            let mut mapping = Mapping::new();
            mapping.set(key, value);
            replace(text, *at, &mapping.into())
        }
        _ => Err(Obstacle::new(deepest.start, "this is not a map")),
    }
}

/// Adds an item after the last one of a list with one item per line.
pub(super) fn append(
    text: &str,
    root: &RawNode,
    path: &[Locator<'_>],
    item: &Node,
) -> Result<Edit, Obstacle> {
    let (trail, rest) = follow(root, path)?;
    let list = trail.last().map_or(root, Ancestor::value);
    match (&list.kind, rest) {
        (RawKind::Sequence(items), []) if !items.is_empty() && !is_flow(text, list) => {
            block::append(text, list, items, item)
        }
        (RawKind::Sequence(_), []) => {
            Err(Obstacle::new(list.start, "the list is not written with one item per line"))
        }
        _ => Err(Obstacle::new(list.start, "there is no list here")),
    }
}

/// Renames a key and keeps its quotes.
pub(super) fn rename(text: &str, root: &RawNode, path: &[Locator<'_>], name: &str) -> Result<Edit, Obstacle> {
    let (trail, rest) = follow(root, path)?;
    let key = trail.last().and_then(Ancestor::key).filter(|_| rest.is_empty());
    let key = key.ok_or_else(|| Obstacle::new(root.start, "there is no such key"))?;
    Ok(Edit { range: key.start..key.end, text: lines::like(text, key, &Node::from(name)) })
}

fn is_null(node: &RawNode) -> bool {
    matches!(scalar(node), Some("" | "~" | "null" | "Null" | "NULL"))
}

fn replace(text: &str, at: Ancestor<'_>, value: &Node) -> Result<Edit, Obstacle> {
    if is_flow(text, at.parent) || at.key().is_none() {
        flow::replace(text, at, value)
    } else {
        block::replace(text, at, value)
    }
}

/// Removes an entry and keeps its comments, on separate lines.
pub(super) fn remove_keeping_comments(
    text: &str,
    root: &RawNode,
    path: &[Locator<'_>],
) -> Result<Edit, Obstacle> {
    let (trail, rest) = follow(root, path)?;
    match (trail.as_slice(), rest) {
        ([.., outer, at], []) if at.count() == 1 && !is_flow(text, at.parent) => {
            block::empty(text, *outer, *at, true)
        }
        ([.., at], []) if !is_flow(text, at.parent) => block::remove_keeping_comments(text, *at),
        _ => remove(text, root, path),
    }
}

pub(super) fn remove(text: &str, root: &RawNode, path: &[Locator<'_>]) -> Result<Edit, Obstacle> {
    let (trail, rest) = follow(root, path)?;
    let (Some(at), []) = (trail.last(), rest) else {
        return Err(Obstacle::new(
            trail.last().map_or(root, Ancestor::value).start,
            "there is no such value",
        ));
    };
    if is_flow(text, at.parent) {
        flow::remove(text, *at)
    } else if at.count() > 1 {
        block::remove(text, *at)
    } else {
        match trail.iter().rev().nth(1) {
            Some(outer) => block::empty(text, *outer, *at, false),
            None => Err(Obstacle::new(root.start, "it is the only content of the file")),
        }
    }
}
