//! Source files in memory, and where in them something stands.

use std::{collections::BTreeMap, sync::Arc};

use crate::note::Place;

/// A file among [`Sources`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

/// Where a node came from: a byte of a source file.
///
/// Two nodes with different origins and equal content are equal; see [`super::Node`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin {
    /// The file.
    pub file: FileId,
    /// The byte at which it begins.
    pub offset: u32,
}

impl Origin {
    /// Made by the program itself, from no place in particular.
    pub const NOWHERE: Self = Self { file: FileId(u32::MAX), offset: 0 };
}

/// A source file.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its number among the sources of this run.
    pub id: FileId,
    /// Its path from the root of the fleet, with `/`.
    pub path: Arc<str>,
    /// Its text.
    pub text: Arc<str>,
}

impl Source {
    /// An origin in this file.
    pub fn origin(&self, offset: usize) -> Origin {
        Origin { file: self.id, offset: u32::try_from(offset).unwrap_or(u32::MAX) }
    }

    /// The place of `length` characters from the byte `offset`.
    pub fn place(&self, offset: usize, length: usize) -> Place {
        let offset = self.text.floor_char_boundary(offset.min(self.text.len()));
        let before = &self.text[..offset];
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let end = self.text[offset..].find('\n').map_or(self.text.len(), |at| offset + at);
        let line = self.text[start..end].trim_end_matches('\r');
        Place {
            file: self.path.to_string(),
            line: before.matches('\n').count() + 1,
            column: self.text[start..offset].chars().count() + 1,
            length: length.max(1),
            source: line.to_owned(),
        }
    }

    /// The place of the word (a scalar or a key) that begins at the byte `offset`.
    pub fn word(&self, offset: usize) -> Place {
        let length = self.word_at(offset).chars().count();
        self.place(offset, length)
    }

    /// The scalar as it is written at the byte `offset`: with its quotes, up to the end of its line.
    pub fn word_at(&self, offset: usize) -> &str {
        let rest = self.text.get(offset..).unwrap_or_default();
        let line = rest.split(['\n', '\r']).next().unwrap_or_default();
        let end = match line.chars().next() {
            Some(quote @ ('"' | '\'')) => line[1..].find(quote).map_or(line.len(), |at| at + 2),
            _ => plain_end(line),
        };
        &line[..end]
    }
}

/// Where a plain scalar that begins `line` ends.
fn plain_end(line: &str) -> usize {
    let mut previous = ' ';
    for (at, c) in line.char_indices() {
        let ends = match c {
            ',' | ']' | '}' => at > 0,
            '#' => previous == ' ' && at > 0,
            ':' => line[at + 1..].chars().next().is_none_or(|next| next == ' '),
            _ => false,
        };
        if ends {
            return line[..at].trim_end().len();
        }
        previous = c;
    }
    line.trim_end().len()
}

/// All source files of a run.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    files: Vec<Source>,
    by_path: BTreeMap<Arc<str>, FileId>,
}

impl Sources {
    /// Takes the files in order of their paths, so that numbers do not depend on the order of reading.
    pub fn new(files: BTreeMap<String, String>) -> Self {
        let mut sources = Self::default();
        for (path, text) in files {
            sources.add(&path, text);
        }
        sources
    }

    /// Adds a file, such as a frozen one that is made during the run.
    pub fn add(&mut self, path: &str, text: impl Into<Arc<str>>) -> FileId {
        let id = FileId(u32::try_from(self.files.len()).expect("fewer than 2^32 files"));
        let path: Arc<str> = path.into();
        self.by_path.insert(path.clone(), id);
        self.files.push(Source { id, path, text: text.into() });
        id
    }

    /// The file of a number.
    pub fn get(&self, id: FileId) -> Option<&Source> {
        self.files.get(id.0 as usize)
    }

    /// The file at a path.
    pub fn at(&self, path: &str) -> Option<&Source> {
        self.by_path.get(path).and_then(|id| self.get(*id))
    }

    /// All files, in order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &Source> {
        self.files.iter()
    }

    /// All files below a folder (given without a slash at its end), in order of their paths.
    pub fn below<'a>(&'a self, folder: &str) -> impl Iterator<Item = &'a Source> + use<'a> {
        let prefix = format!("{folder}/");
        self.by_path
            .range::<str, _>((std::ops::Bound::Included(prefix.as_str()), std::ops::Bound::Unbounded))
            .map_while(move |(path, id)| path.starts_with(&prefix).then_some(*id))
            .filter_map(|id| self.get(id))
    }

    /// The place of the word at an origin; none where the program itself made it.
    pub fn place(&self, origin: Origin) -> Option<Place> {
        self.get(origin.file).map(|source| source.word(origin.offset as usize))
    }

    /// The scalar at an origin as it is written.
    pub fn written(&self, origin: Origin) -> &str {
        self.get(origin.file).map_or("", |source| source.word_at(origin.offset as usize))
    }
}
