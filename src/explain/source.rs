//! The elements of an answer: places in sources, and their roles.

use std::{fmt, ops::Deref, sync::Arc};

use serde::{Serialize, Serializer};

use crate::yaml::{Entry, Node, Path, Segment, Source as File, Value};

/// The role of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The line of a template that rendered it.
    Template,
    /// A statement of a template that let it through.
    Statement,
    /// A definition or the defaults of a folder, with the effective value.
    Set,
    /// A default of the release.
    Default,
    /// A layer overridden by another.
    Overridden,
    /// A layer whose value another removed with `null`.
    Removed,
    /// A stack, an addon, a node image or a numbered release.
    Stack,
    /// A row of an addon's compatibility matrix.
    Version,
    /// `stackloom.yaml`.
    Fleet,
    /// A definition that selects the release.
    Release,
    /// All lines that determine the content of a release, whose name is a hash of them.
    Content,
    /// One of several users; the line would remain without this one.
    User,
    /// The program itself; the place is the subject that it writes this for.
    Program,
}

impl Role {
    pub fn word(self) -> &'static str {
        match self {
            Self::Template => "template",
            Self::Statement => "statement",
            Self::Set => "set",
            Self::Default => "default",
            Self::Overridden => "overridden",
            Self::Removed => "removed",
            Self::Stack => "stack",
            Self::Version => "version",
            Self::Fleet => "fleet",
            Self::Release => "release",
            Self::Content => "content",
            Self::User => "used by",
            Self::Program => "stackloom",
        }
    }
}

/// A shared string, or a part of one. A part of a fleet has many sources, most of which have the same texts.
#[derive(Clone)]
pub struct Words {
    text: Arc<str>,
    start: usize,
    length: usize,
}

impl Words {
    fn part(text: &Arc<str>, start: usize, length: usize) -> Self {
        let inside = text.get(start..start + length).is_some();
        if inside { Self { text: text.clone(), start, length } } else { Self::from("") }
    }
}

impl Deref for Words {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text[self.start..self.start + self.length]
    }
}

impl From<Arc<str>> for Words {
    fn from(text: Arc<str>) -> Self {
        Self { start: 0, length: text.len(), text }
    }
}

impl From<&str> for Words {
    fn from(text: &str) -> Self {
        // All empty strings share one allocation.
        Self::from(if text.is_empty() { Arc::default() } else { Arc::<str>::from(text) })
    }
}

impl From<String> for Words {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl PartialEq for Words {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Words {}

impl PartialOrd for Words {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Words {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (**self).cmp(&**other)
    }
}

impl std::borrow::Borrow<str> for Words {
    fn borrow(&self) -> &str {
        self
    }
}

impl PartialEq<str> for Words {
    fn eq(&self, other: &str) -> bool {
        **self == *other
    }
}

impl fmt::Debug for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}

impl Serialize for Words {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

/// A place in a source, with its role.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SourcePlace {
    /// How it takes part in the value.
    pub role: Role,
    /// The file, relative to the root of the fleet.
    pub file: Words,
    /// The line, counted from 1.
    pub line: usize,
    /// The last line, if there are several.
    pub end: usize,
    /// The text of the line.
    pub text: Words,
    /// The value read there, or the reason why the program writes it.
    pub what: Words,
    /// Whether it does not set the value, and is only the closest place to do so.
    #[serde(skip)]
    pub is_unset: bool,
    /// Whether changing it would change the explained line or value.
    pub decides: bool,
    /// The release whose content it stands for, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release: Option<Words>,
}

impl SourcePlace {
    pub(super) fn lines(role: Role, what: impl Into<Words>, file: &File, line: usize, end: usize) -> Self {
        let text = file.line_text(line.max(1)).trim();
        let start = text.as_ptr().addr() - file.text.as_ptr().addr();
        Self {
            role,
            file: file.path.clone().into(),
            line,
            end: end.max(line),
            text: Words::part(&file.text, start, text.len()),
            what: what.into(),
            is_unset: false,
            decides: !matches!(role, Role::Overridden | Role::Removed | Role::User | Role::Program),
            release: None,
        }
    }

    /// A source from the scalar, or the first line of the collection, at a byte offset of a file.
    pub(super) fn at(role: Role, what: impl Into<Words>, file: &File, offset: usize) -> Self {
        let lines = file.lines_at(offset);
        Self::lines(role, what, file, *lines.start(), *lines.end())
    }

    /// The same place, for a value that is not set there: `<value> is not set`.
    pub(super) fn unset(self, value: &str) -> Self {
        Self { what: format!("{value} is not set").into(), is_unset: true, ..self }
    }

    /// The same source in another role, as one that does not decide.
    pub(super) fn aside(mut self, role: Role) -> Self {
        self.role = role;
        self.decides = false;
        self
    }

    /// Whether it includes a line.
    pub fn covers(&self, file: &str, line: usize) -> bool {
        *self.file == *file && (self.line..=self.end).contains(&line)
    }
}

/// A value with the byte offset of its key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot<'a> {
    pub(super) key: Option<usize>,
    pub(super) node: &'a Node,
}

impl Spot<'_> {
    /// The source for it: the lines of the key and of the scalar, or the first line of a collection.
    pub(super) fn source(&self, role: Role, what: impl Into<Words>, file: &File) -> SourcePlace {
        let value = self.node.origin.offset as usize;
        let first = self.key.unwrap_or(value);
        let line = *file.lines_at(first).start();
        let collection = matches!(self.node.value, Value::Sequence(_) | Value::Mapping(_));
        let end = if collection { line } else { *file.lines_at(value).end() };
        let line = if self.key.is_none() { *file.lines_at(value).start() } else { line };
        SourcePlace::lines(role, what, file, line, end)
    }
}

/// Finds the value at a path of a document. List items are identified by index or name.
pub(super) fn spot<'a>(root: &'a Node, path: &Path) -> Option<Spot<'a>> {
    let mut spot = Spot { key: None, node: root };
    for segment in path.segments() {
        spot = step(spot.node, segment)?;
    }
    Some(spot)
}

/// Finds the value at the deepest existing part of a path.
pub(super) fn deepest<'a>(root: &'a Node, path: &Path) -> Spot<'a> {
    let mut spot = Spot { key: None, node: root };
    for segment in path.segments() {
        match step(spot.node, segment) {
            Some(next) => spot = next,
            None => break,
        }
    }
    spot
}

fn step<'a>(node: &'a Node, segment: &Segment) -> Option<Spot<'a>> {
    match (segment, &node.value) {
        (Segment::Item(index), Value::Sequence(items)) => {
            items.get(*index).map(|node| Spot { key: None, node })
        }
        (Segment::Key(name), Value::Sequence(items)) => {
            let named = |item: &&Node| item.get("name").and_then(Node::as_str) == Some(name);
            items.iter().find(named).map(|node| Spot { key: None, node })
        }
        (Segment::Key(name), Value::Mapping(mapping)) => mapping
            .entry(name)
            .map(|Entry { key, value }| Spot { key: Some(key.origin.offset as usize), node: value }),
        _ => None,
    }
}

/// The path of the value at a byte offset of a document. A collection starts at its first key or item.
pub(super) fn locate(root: &Node, offset: u32, collection: bool) -> Option<Path> {
    let (mut node, mut path) = (root, Path::default());
    loop {
        let is_collection = matches!(node.value, Value::Sequence(_) | Value::Mapping(_));
        if node.origin.offset == offset && is_collection == collection {
            return Some(path);
        }
        // Values are in document order, so only the last one starting before the offset can contain it.
        match &node.value {
            Value::Sequence(items) => {
                let at = items.partition_point(|item| item.origin.offset <= offset).checked_sub(1)?;
                (node, path) = (&items[at], path.item(at));
            }
            Value::Mapping(mapping) => {
                let entry = mapping.entry_before(offset)?;
                path = path.key(&entry.key.name);
                if entry.key.origin.offset == offset && !collection {
                    return Some(path);
                }
                node = &entry.value;
            }
            _ => return None,
        }
    }
}
