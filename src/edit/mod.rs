//! Edits that preserve the author's text: they set or remove one value of a YAML file and keep every other byte.
//!
//! An [`Edit`] is one replacement in a text, located with the reader's positions. Before an edit is returned, the new text
//! is read again and must mean exactly what was requested. If this module misreads a file (anchors, rare layouts), it
//! refuses with a message, and the author edits by hand. Deliberately absent: formatting, and edits of templates.

mod block;
mod flow;
mod lines;
mod place;

use std::ops::Range;

use crate::{
    note::{Notes, Place},
    yaml::{Mapping, Node, RawKind, RawNode, Source, read_raw},
};

/// A step on the path to a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Locator<'a> {
    Key(&'a str),
    /// The list item with this `name`.
    Named(&'a str),
}

/// One replacement in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The bytes to replace.
    pub range: Range<usize>,
    /// The replacement.
    pub text: String,
}

impl Edit {
    /// Applies the edit to the text.
    pub fn apply(&self, text: &str) -> String {
        [&text[..self.range.start], &self.text, &text[self.range.end..]].concat()
    }
}

/// The reason that an edit is impossible, with its position.
pub(crate) struct Obstacle {
    offset: usize,
    message: String,
}

impl Obstacle {
    fn new(offset: usize, message: impl Into<String>) -> Self {
        Self { offset, message: message.into() }
    }
}

/// Sets a value and creates the missing maps on its path. The reason for a refusal goes to `notes`.
pub fn set(source: &Source, path: &[Locator<'_>], value: &Node, notes: &mut Notes) -> Option<Edit> {
    edit(source, path, Some(value), notes)
}

/// Appends an item to a non-empty list. The reason for a refusal goes to `notes`.
pub fn append(source: &Source, path: &[Locator<'_>], item: &Node, notes: &mut Notes) -> Option<Edit> {
    finish(source, path, notes, |before, root| {
        let edit = place::append(&source.text, root, path, item)?;
        let mut meant = before.clone();
        let keys: Vec<_> = path
            .iter()
            .filter_map(|step| if let Locator::Key(key) = step { Some(*key) } else { None })
            .collect();
        let mut items = before.at(&keys).and_then(Node::as_sequence).unwrap_or_default().to_vec();
        items.push(item.clone());
        let changed = change(&mut meant, path, Some(&items.into()));
        changed.ok_or_else(|| Obstacle::new(root.start, format!("there is no `{}` here", shown(path))))?;
        Ok((edit, meant))
    })
}

/// Removes a key with its value, or a list item. The reason for a refusal goes to `notes`.
pub fn remove(source: &Source, path: &[Locator<'_>], notes: &mut Notes) -> Option<Edit> {
    edit(source, path, None, notes)
}

/// Like [`remove`], and keeps the comments beside and inside the entry if it is one of a block.
pub fn remove_keeping_comments(source: &Source, path: &[Locator<'_>], notes: &mut Notes) -> Option<Edit> {
    finish(source, path, notes, |before, root| {
        let edit = place::remove_keeping_comments(&source.text, root, path)?;
        let mut meant = before.clone();
        match change(&mut meant, path, None) {
            Some(()) => Ok((edit, meant)),
            None => Err(Obstacle::new(root.start, format!("there is no `{}` here", shown(path)))),
        }
    })
}

/// Renames a key. The reason for a refusal goes to `notes`.
pub fn rename(source: &Source, path: &[Locator<'_>], name: &str, notes: &mut Notes) -> Option<Edit> {
    finish(source, path, notes, |before, root| {
        let edit = place::rename(&source.text, root, path, name)?;
        let mut meant = before.clone();
        match change_key(&mut meant, path, name) {
            Some(()) => Ok((edit, meant)),
            None => Err(Obstacle::new(edit.range.start, format!("the key `{name}` already exists"))),
        }
    })
}

fn edit(source: &Source, path: &[Locator<'_>], value: Option<&Node>, notes: &mut Notes) -> Option<Edit> {
    finish(source, path, notes, |before, root| {
        let edit = match value {
            Some(value) => place::set(&source.text, root, path, value),
            None => place::remove(&source.text, root, path),
        }?;
        let mut meant = before.clone();
        match change(&mut meant, path, value) {
            Some(()) => Ok((edit, meant)),
            None => Err(Obstacle::new(root.start, format!("there is no `{}` here", shown(path)))),
        }
    })
}

/// Returns an edit if the edited text means what was requested; otherwise adds the reason to `notes`.
fn finish(
    source: &Source,
    path: &[Locator<'_>],
    notes: &mut Notes,
    make: impl FnOnce(&Node, &RawNode) -> Result<(Edit, Node), Obstacle>,
) -> Option<Edit> {
    let (before, root) = read(source, notes)?;
    let refusal = match make(&before, &root) {
        Ok((edit, meant)) if reads_as(source, &edit, &meant) => return Some(edit),
        Ok((edit, _)) => Obstacle::new(edit.range.start, "the layout of the file is not supported"),
        Err(refusal) => refusal,
    };
    notes
        .error(
            "edit",
            placed(source, refusal.offset),
            format!("cannot edit `{}`: {}", shown(path), refusal.message),
        )
        .hint("edit the file by hand: it was not changed");
    None
}

fn read(source: &Source, notes: &mut Notes) -> Option<(Node, RawNode)> {
    let documents = read_raw(source, notes)?;
    let mut documents = documents.into_iter();
    match (documents.next(), documents.next()) {
        (Some(only), None) => Some((Node::from_raw(&only.root, source, notes)?, only.root)),
        _ => {
            let place = Place::file(&*source.path);
            notes
                .error("edit", place, "stackloom edits only files with exactly one document")
                .hint("write one document per file, without a second `---`");
            None
        }
    }
}

fn placed(source: &Source, offset: usize) -> Place {
    source.word(offset.min(source.text.len()))
}

/// Formats a path the way people write it.
fn shown(path: &[Locator<'_>]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            Locator::Key(key) if text.is_empty() => text += key,
            Locator::Key(key) => text.extend([".", key]),
            Locator::Named(name) => text.extend(["[", name, "]"]),
        }
    }
    text
}

/// Whether the edited text means what was requested.
fn reads_as(source: &Source, edit: &Edit, meant: &Node) -> bool {
    let edited = source.with_text(edit.apply(&source.text));
    let mut notes = Notes::new();
    read(&edited, &mut notes).is_some_and(|(node, _)| node == *meant)
}

/// Makes the same change in the parsed tree.
fn change(node: &mut Node, path: &[Locator<'_>], value: Option<&Node>) -> Option<()> {
    let [step, rest @ ..] = path else { return None };
    match step {
        Locator::Key(key) => {
            if node.is_null() && value.is_some() {
                *node = Mapping::new().into();
            }
            let mapping = node.as_mapping_mut()?;
            match (rest, value) {
                ([], None) => mapping.remove(key).map(drop),
                ([], Some(value)) => {
                    mapping.set(key, value.clone());
                    Some(())
                }
                _ => {
                    if mapping.get(key).is_none() && value.is_some() {
                        mapping.set(key, Mapping::new());
                    }
                    change(mapping.get_mut(key)?, rest, value)
                }
            }
        }
        Locator::Named(name) => {
            let mut items = node.as_sequence()?.to_vec();
            let at = items.iter().position(|item| item.get("name").and_then(Node::as_str) == Some(*name))?;
            match (rest, value) {
                ([], None) => drop(items.remove(at)),
                ([], Some(value)) => items[at] = value.clone(),
                _ => change(&mut items[at], rest, value)?,
            }
            *node = items.into();
            Some(())
        }
    }
}

/// Renames the key in the parsed tree, unless the new key already exists.
fn change_key(node: &mut Node, path: &[Locator<'_>], name: &str) -> Option<()> {
    let (Locator::Key(key), parents) = path.split_last()? else { return None };
    let mut parent = node.clone();
    for step in parents {
        parent = match step {
            Locator::Key(key) => parent.get(key)?.clone(),
            Locator::Named(name) => {
                let is_it = |item: &&Node| item.get("name").and_then(Node::as_str) == Some(*name);
                parent.as_sequence()?.iter().find(is_it)?.clone()
            }
        };
    }
    let mapping = parent.as_mapping_mut()?;
    if mapping.get(name).is_some() {
        return None;
    }
    let value = mapping.remove(key)?;
    mapping.set(name, value);
    if parents.is_empty() {
        *node = parent;
        return Some(());
    }
    change(node, parents, Some(&parent))
}

/// The text of a scalar with escapes resolved.
fn scalar(node: &RawNode) -> Option<&str> {
    if let RawKind::Scalar { text, .. } = &node.kind { Some(text) } else { None }
}

#[cfg(test)]
mod layouts;
#[cfg(test)]
mod tests;
