//! Source files in memory, and positions in them.

use std::{
    collections::BTreeMap,
    ops::RangeInclusive,
    sync::{Arc, OnceLock},
};

use super::lines::LineIndex;
use crate::note::{FileId, Origin, Place};

/// The longest line that a message shows, in bytes. Without it, a file written as one line would be in every message about
/// it.
const LONGEST_SHOWN: usize = 4096;

/// A source file.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its number among the sources of this run.
    pub id: FileId,
    /// Its path relative to the root of the fleet, with `/`.
    pub path: Arc<str>,
    pub text: Arc<str>,
    /// Its line index, built on first use.
    lines: Arc<OnceLock<LineIndex>>,
}

impl Source {
    pub fn new(id: FileId, path: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> Self {
        Self { id, path: path.into(), text: text.into(), lines: Arc::default() }
    }

    /// The same file with a different text.
    #[must_use]
    pub fn with_text(&self, text: impl Into<Arc<str>>) -> Self {
        Self::new(self.id, self.path.clone(), text)
    }

    fn index(&self) -> &LineIndex {
        self.lines.get_or_init(|| LineIndex::new(&self.text))
    }

    /// The number of the line that contains a byte, counted from 1.
    pub fn line_of(&self, offset: usize) -> usize {
        self.index().line_of(offset)
    }

    /// The text of a line without its line break. Lines are counted from 1.
    pub fn line_text(&self, line: usize) -> &str {
        let Some((start, end)) = self.index().span(line) else { return "" };
        self.text[start..end].trim_end_matches('\r')
    }

    /// The origin of a byte in this file.
    pub fn origin(&self, offset: usize) -> Origin {
        Origin { file: self.id, offset: u32::try_from(offset).unwrap_or(u32::MAX) }
    }

    /// The place of `length` characters starting at the byte `offset`.
    pub fn place(&self, offset: usize, length: usize) -> Place {
        let offset = self.text.floor_char_boundary(offset.min(self.text.len()));
        let index = self.index();
        let line = index.line_of(offset);
        let (start, _) = index.span(line).unwrap_or_default();
        let text = self.line_text(line);
        Place {
            file: self.path.to_string(),
            line,
            column: index.characters(&self.text, start, offset) + 1,
            length: length.max(1),
            source: if text.len() > LONGEST_SHOWN { String::new() } else { text.to_owned() },
        }
    }

    /// The place of the word (a scalar or a key) that starts at the byte `offset`.
    pub fn word(&self, offset: usize) -> Place {
        let length = self.word_at(offset).chars().count();
        self.place(offset, length)
    }

    /// The byte at which a line of a literal block starts. The text of the block starts at the byte `offset`, and lines are
    /// counted from 0. None if there is no literal block.
    pub fn block_line(&self, offset: usize, line: usize) -> Option<usize> {
        let header = self.block_header(offset)?;
        if header.indicator != '|' {
            return None;
        }
        let rest = &self.text[header.end..];
        let at = rest.split_inclusive('\n').take(line).map(str::len).sum::<usize>();
        Some(header.end + at)
    }

    /// The lines of the scalar at the byte `offset`, counted from 1. A block scalar starts with its header.
    pub fn lines_at(&self, offset: usize) -> RangeInclusive<usize> {
        let offset = self.text.floor_char_boundary(offset.min(self.text.len()));
        let line = |at: usize| self.line_of(at);
        if let Some(header) = self.block_header(offset) {
            return line(header.start)..=line(header.end) + header.lines.saturating_sub(1);
        }
        let rest = &self.text[offset..];
        let end = match rest.as_bytes().first() {
            Some(b'\'') => single_quoted(rest),
            Some(b'"') => double_quoted(rest),
            _ => 0,
        };
        line(offset)..=line(offset + end)
    }

    /// The header of the block scalar whose text starts at `offset`: the last non-blank line above it.
    fn block_header(&self, offset: usize) -> Option<Header> {
        let text = &self.text;
        let first = text.get(..offset)?.rfind('\n')? + 1;
        if !text[first..offset].chars().all(|c| c == ' ') {
            return None;
        }
        let above = text[..first].trim_end_matches(['\n', '\r', ' ']);
        let start = above.rfind('\n').map_or(0, |at| at + 1);
        let line = above[start..].split(" #").next().unwrap_or_default().trim_end();
        let marked = line.trim_end_matches(|c: char| c.is_ascii_digit() || c == '-' || c == '+');
        let indicator = marked.chars().last().filter(|last| matches!(last, '|' | '>'))?;
        if !marked[..marked.len() - 1].ends_with([' ', '-', ':']) {
            return None;
        }
        let end = text[start..].find('\n').map_or(text.len(), |at| start + at + 1);
        let indent = offset - first;
        let inside =
            |line: &&str| line.trim().is_empty() || line.bytes().take_while(|b| *b == b' ').count() >= indent;
        let block: Vec<_> = text[end..].split_inclusive('\n').take_while(inside).collect();
        let lines = block.iter().rposition(|line| !line.trim().is_empty()).map_or(0, |at| at + 1);
        Some(Header { start, end, indicator, lines })
    }

    /// The scalar at the byte `offset` as written: with its quotes, at most up to the end of the line.
    pub fn word_at(&self, offset: usize) -> &str {
        let (_, end) = self.index().span(self.line_of(offset)).unwrap_or_default();
        let line = self.text.get(offset..end).unwrap_or_default();
        let line = line.strip_suffix('\r').unwrap_or(line);
        let end = match line.chars().next() {
            Some(quote @ ('"' | '\'')) => line[1..].find(quote).map_or(line.len(), |at| at + 2),
            _ => plain_end(line),
        };
        &line[..end]
    }
}

/// The line that starts a block scalar.
struct Header {
    /// Its first byte.
    start: usize,
    /// The byte after its line.
    end: usize,
    /// `|` or `>`.
    indicator: char,
    /// The number of following lines that belong to the scalar.
    lines: usize,
}

/// The offset of the closing single quote. A quote within the text is doubled.
fn single_quoted(text: &str) -> usize {
    let mut before: Option<usize> = None;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match (before, byte) {
            (Some(_), b'\'') => before = None,
            (Some(end), _) => return end,
            (None, b'\'') => before = Some(at),
            (None, _) => {}
        }
    }
    before.unwrap_or(0)
}

/// The offset of the closing double quote.
fn double_quoted(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            b'"' if !escaped => return at,
            b'\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    0
}

/// The end of a plain scalar at the start of `line`.
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
    /// Adds the files in order of their paths, so that their numbers do not depend on the order of reading.
    pub fn new(files: BTreeMap<String, String>) -> Self {
        let mut sources = Self::default();
        for (path, text) in files {
            sources.add(&path, text);
        }
        sources
    }

    /// Adds a file, such as a frozen one created during the run.
    pub fn add(&mut self, path: &str, text: impl Into<Arc<str>>) -> FileId {
        let id = FileId(u32::try_from(self.files.len()).expect("fewer than 2^32 files"));
        let path: Arc<str> = path.into();
        self.by_path.insert(path.clone(), id);
        self.files.push(Source::new(id, path, text));
        id
    }

    /// The file with a number.
    pub fn get(&self, id: FileId) -> Option<&Source> {
        self.files.get(id.0 as usize)
    }

    /// The file at a path.
    pub fn at(&self, path: &str) -> Option<&Source> {
        self.by_path.get(path).and_then(|id| self.get(*id))
    }

    /// All files in order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &Source> {
        self.files.iter()
    }

    /// All files below a folder (given without a trailing slash), in order of their paths.
    pub fn below<'a>(&'a self, folder: &str) -> impl Iterator<Item = &'a Source> + use<'a> {
        let prefix = format!("{folder}/");
        self.by_path
            .range::<str, _>((std::ops::Bound::Included(prefix.as_str()), std::ops::Bound::Unbounded))
            .map_while(move |(path, id)| path.starts_with(&prefix).then_some(*id))
            .filter_map(|id| self.get(id))
    }

    /// The place of the word at an origin; none if the program itself made it.
    pub fn place(&self, origin: Origin) -> Option<Place> {
        self.get(origin.file).map(|source| source.word(origin.offset as usize))
    }

    /// The scalar at an origin as written.
    pub fn written(&self, origin: Origin) -> &str {
        self.get(origin.file).map_or("", |source| source.word_at(origin.offset as usize))
    }
}
