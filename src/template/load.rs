//! Reads a template: builds trees from its documents and statements.

use std::ops::Range;

use super::{
    assign::{Assigned, last_start},
    expression::{Expression, Failure},
    mask::{Mask, Piece},
    statement::{self, Group, Statement, groups, nest},
    tree::{Entry, Item, Key, NodeKind, Tree},
    words::{Line, TextPart, Words},
};
use crate::{
    note::{Diagnostic, Notes},
    yaml::{self, Document, Plain, RawKind, RawNode, Source, Style, Value},
};

/// The state of reading a template.
pub(super) struct Loader<'a> {
    pub(super) source: &'a Source,
    pub(super) level: u32,
    pub(super) notes: &'a mut Notes,
    mask: Mask,
    /// The bytes at which comments start.
    comments: Vec<usize>,
    /// The bytes at which the `---` and `...` lines start.
    markers: Vec<usize>,
    /// The statements of the current document that are not yet part of a tree.
    pub(super) statements: Vec<Option<Statement>>,
}

/// Reads all documents of a template.
pub(super) fn load(source: &Source, level: u32, notes: &mut Notes) -> Option<Vec<Tree>> {
    let mask = Mask::new(source, notes)?;
    let documents = yaml::read_masked(&mask.text, source, notes)?;
    let mut comments: Vec<_> =
        documents.iter().flat_map(|document| &document.comments).map(|comment| comment.start).collect();
    comments.sort_unstable();
    let markers = markers(&mask.text);
    let mut loader = Loader { source, level, notes, mask, comments, markers, statements: Vec::new() };
    let mut sections = loader.sections(&documents)?;
    let mut trees = Vec::new();
    for document in documents {
        let statements = sections.remove(&loader.section(document.start)).unwrap_or_default();
        trees.push(loader.document(&document, statements));
    }
    let mut sound = true;
    for statement in sections.into_values().flatten() {
        let place = loader.source.place(statement.offset, statement.length);
        loader.notes.error("template-statement", place, "a statement in a document without entries").hint(
            "put a statement into the document whose entries it encloses, between the same `---` lines",
        );
        sound = false;
    }
    trees.into_iter().collect::<Option<_>>().filter(|_| sound)
}

/// The starts of the `---` and `...` lines. Nothing else at the start of a line can look like one.
fn markers(text: &str) -> Vec<usize> {
    let (mut markers, mut at) = (Vec::new(), 0);
    for line in text.split_inclusive('\n') {
        let rest = line.strip_prefix("---").or_else(|| line.strip_prefix("..."));
        if rest.is_some_and(|rest| rest.trim_start() != rest || rest.is_empty()) {
            markers.push(at);
        }
        at += line.len();
    }
    markers
}

type Sections = std::collections::BTreeMap<usize, Vec<Statement>>;

impl Loader<'_> {
    /// The number of the document that contains a byte, counted by `---` and `...` lines.
    fn section(&self, offset: usize) -> usize {
        self.markers.partition_point(|marker| *marker <= offset)
    }

    /// The statements of all documents, by document.
    fn sections(&mut self, documents: &[Document]) -> Option<Sections> {
        let mut sections = Sections::new();
        let mut sound = true;
        let written = self.source.text.clone();
        if documents.is_empty() {
            let mut offset = 0;
            for line in written.split_inclusive('\n') {
                let at = offset + line.len() - line.trim_start().len();
                offset += line.len();
                sound &= self.statement(line.trim_start(), at, &mut sections);
            }
            return sound.then_some(sections);
        }
        for comment in documents.iter().flat_map(|document| &document.comments) {
            let line = written[comment.start..].split('\n').next().unwrap_or_default();
            if line.starts_with("#%") && !comment.alone {
                let place = self.source.place(comment.start, line.trim_end().len());
                self.notes
                    .error("template-statement", place, "a statement after something else on its line")
                    .hint("write the statement on a line of its own");
                sound = false;
                continue;
            }
            sound &= self.statement(line, comment.start, &mut sections);
        }
        sound.then_some(sections)
    }

    /// Parses the statement of a line, if it is one.
    fn statement(&mut self, line: &str, offset: usize, sections: &mut Sections) -> bool {
        if !line.starts_with("#%") {
            return true;
        }
        match Statement::parse(line, offset, self.level) {
            Ok(statement) => sections.entry(self.section(offset)).or_default().push(statement),
            Err(failure) => {
                self.fail(failure);
                return false;
            }
        }
        true
    }

    pub(super) fn fail(&mut self, failure: Failure) {
        let Failure { code, message, hint, range } = failure;
        let note = self.error(code, range, message);
        if let Some(hint) = hint {
            note.hint(hint);
        }
    }

    pub(super) fn error(
        &mut self,
        code: &'static str,
        range: Range<usize>,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        let length = self.source.text.get(range.clone()).map_or(1, |text| text.chars().count());
        self.notes.error(code, self.source.place(range.start, length), message)
    }

    fn document(&mut self, document: &Document, mut statements: Vec<Statement>) -> Option<Tree> {
        if let Some(at) = document.anchor {
            self.notes
                .error("template-anchor", self.source.word(at), "templates cannot have anchors and aliases")
                .hint("bind the value with `#% set name = …`, or write it out");
            return None;
        }
        if let RawKind::Scalar { text, .. } = &document.root.kind {
            let range = document.root.start..document.root.end;
            let is_expression =
                matches!(self.mask.pieces(text, &range).as_deref(), Some([Piece::Expression(_)]));
            if !is_expression || self.source.text[range.start..].starts_with(['"', '\'']) {
                self.notes
                    .error("template-document", self.source.word(range.start), "a document that is only text")
                    .hint("a document is a map, a list, or one expression without quotes");
                return None;
            }
        }
        statements.sort_by_key(|statement| statement.offset);
        let (source, notes) = (self.source, &mut *self.notes);
        let groups = groups(&statements, |statement, message, hint| {
            let place = source.place(statement.offset, statement.length);
            notes.error("template-statement", place, message).hint(hint);
        })?;
        self.statements = statements.into_iter().map(Some).collect();
        self.tree(&document.root, groups)
    }

    /// Builds the tree of a node and of the blocks inside it.
    fn tree(&mut self, raw: &RawNode, groups: Vec<Group>) -> Option<Tree> {
        let kind = match &raw.kind {
            RawKind::Scalar { text, style } => {
                for group in &groups {
                    self.encloses_nothing(group.marks[0]);
                }
                if groups.is_empty() { self.scalar(raw, text, *style)? } else { return None }
            }
            RawKind::Sequence(items) => {
                let starts: Vec<_> = items.iter().map(|item| self.item_start(raw, item)).collect();
                let lasts: Vec<_> = items.iter().map(last_start).collect();
                let Assigned { owned, deeper, sound } = self.assign(&starts, &lasts, groups);
                let trees: Vec<_> =
                    items.iter().zip(deeper).map(|(item, groups)| self.tree(item, groups)).collect();
                let trees = trees.into_iter().collect::<Option<_>>().filter(|_| sound)?;
                NodeKind::Sequence(self.nest(owned, &starts, trees)?)
            }
            RawKind::Mapping(entries) => {
                let starts: Vec<_> = entries.iter().map(|(key, _)| key.start).collect();
                let lasts: Vec<_> =
                    entries.iter().map(|(key, value)| key.start.max(last_start(value))).collect();
                let Assigned { owned, deeper, sound } = self.assign(&starts, &lasts, groups);
                let trees: Vec<_> =
                    entries.iter().zip(deeper).map(|(entry, groups)| self.entry(entry, groups)).collect();
                let trees = trees.into_iter().collect::<Option<_>>().filter(|_| sound)?;
                let items = self.nest(owned, &starts, trees)?;
                self.refuse_duplicates(&items)?;
                NodeKind::Mapping(items)
            }
        };
        Some(Tree::new(kind, self.source.origin(raw.start)))
    }

    fn entry(&mut self, (key, value): &(RawNode, RawNode), groups: Vec<Group>) -> Option<Entry> {
        let value = self.tree(value, groups);
        let key_text = match &key.kind {
            RawKind::Scalar { text, .. } => {
                let pieces = self.pieces(text, key)?;
                if pieces.iter().any(|piece| matches!(piece, Piece::Expression(_))) {
                    let parts = self.parts(pieces)?;
                    Key::Text(Words::parts(parts, false))
                } else {
                    Key::Name(yaml::key_text(key, self.source, self.notes)?)
                }
            }
            _ => Key::Name(yaml::key_text(key, self.source, self.notes)?),
        };
        Some(Entry { key: key_text, origin: self.source.origin(key.start), value: value? })
    }

    /// The byte at which a list item starts: that of its dash, if it has one.
    fn item_start(&self, list: &RawNode, item: &RawNode) -> usize {
        let text = self.mask.text.as_bytes();
        if text.get(list.start) == Some(&b'[') {
            return item.start;
        }
        let mut at = item.start;
        while at > list.start {
            let byte = text[at - 1];
            let comment = self.comments[..self.comments.partition_point(|start| *start < at)].last();
            match comment.filter(|start| !self.mask.text[**start..at].contains('\n')) {
                Some(start) => at = *start,
                None if byte == b'-' => return at - 1,
                None => at -= 1,
            }
        }
        at
    }

    /// Merges entries with the statements among them.
    fn nest<T>(&mut self, owned: Vec<usize>, starts: &[usize], entries: Vec<T>) -> Option<Vec<Item<T>>> {
        let mut pieces: Vec<_> = starts
            .iter()
            .zip(entries)
            .map(|(start, entry)| (*start, statement::Piece::Entry(entry)))
            .collect();
        for index in owned {
            let statement = self.statements.get_mut(index)?.take()?;
            pieces.push((statement.offset, statement::Piece::Statement(Box::new(statement))));
        }
        pieces.sort_by_key(|(offset, _)| *offset);
        nest(pieces.into_iter().map(|(_, piece)| piece).collect())
    }

    pub(super) fn statement_offset(&self, index: usize) -> usize {
        self.statements.get(index).and_then(Option::as_ref).map_or(0, |statement| statement.offset)
    }

    pub(super) fn statement_range(&self, index: usize) -> Range<usize> {
        let statement = self.statements.get(index).and_then(Option::as_ref);
        statement.map_or(0..1, |statement| statement.offset..statement.offset + statement.length)
    }

    fn scalar(&mut self, raw: &RawNode, text: &str, style: Style) -> Option<NodeKind> {
        if style == Style::Block && text.lines().any(is_statement) && self.is_literal(raw) {
            return self.block(raw, text);
        }
        self.refuse_text_statements(raw, text, style)?;
        let pieces = self.pieces(text, raw)?;
        if let ([Piece::Expression(range)], Style::Plain) = (pieces.as_slice(), style) {
            return self.expression(range.clone()).map(NodeKind::Typed);
        }
        if pieces.iter().any(|piece| matches!(piece, Piece::Expression(_))) {
            let parts = self.parts(pieces)?;
            return Some(NodeKind::Text(Words::parts(parts, true)));
        }
        if style != Style::Plain {
            return Some(NodeKind::Scalar(Value::String(text.into())));
        }
        match yaml::resolve_plain(text) {
            Plain::Value(value) => Some(NodeKind::Scalar(value)),
            Plain::Ambiguous(why) => {
                self.notes
                    .error("ambiguous-scalar", self.source.word(raw.start), format!("`{text}` is {why}"))
                    .hint(yaml::unambiguous(text));
                None
            }
        }
    }

    /// Whether a block scalar is literal. Its header is the last non-blank line above it.
    fn is_literal(&self, raw: &RawNode) -> bool {
        let (header, _) = self.header(raw);
        let end = self.comments[..self.comments.partition_point(|start| *start < raw.start)]
            .last()
            .filter(|start| header.contains(start))
            .map_or(header.end, |start| *start);
        let line = self.mask.text[header.start..end].trim_end();
        line.trim_end_matches(|c: char| c.is_ascii_digit() || c == '-' || c == '+').ends_with('|')
    }

    /// The header line of a block scalar, and the byte at which its first line starts.
    fn header(&self, raw: &RawNode) -> (Range<usize>, usize) {
        let text = &self.mask.text;
        let mut first = text[..raw.start].rfind('\n').map_or(0, |at| at + 1);
        loop {
            let end = first.saturating_sub(1);
            let start = text[..end].rfind('\n').map_or(0, |at| at + 1);
            if start == 0 || !text[start..end].trim().is_empty() {
                return (start..end, first);
            }
            first = start;
        }
    }

    /// Builds a literal block with statements among its lines.
    fn block(&mut self, raw: &RawNode, text: &str) -> Option<NodeKind> {
        let (_, mut offset) = self.header(raw);
        let written = self.source.text.clone();
        let masked = self.mask.text.clone();
        let mut statements = Vec::new();
        let mut pieces = Vec::new();
        let terminated = text.ends_with('\n');
        let body = text.strip_suffix('\n').unwrap_or(text);
        for line in body.split('\n') {
            let end = masked[offset..].find('\n').map_or(masked.len(), |at| offset + at);
            let content = masked[offset..end].trim_end_matches('\r');
            let start = offset + content.len() - line.trim_start().len().min(content.len());
            offset = (end + 1).min(masked.len());
            if is_statement(line) {
                let length = line.trim_start().len();
                match Statement::parse(written.get(start..start + length)?, start, self.level) {
                    Ok(statement) => {
                        pieces.push(None);
                        statements.push(statement);
                    }
                    Err(failure) => {
                        self.fail(failure);
                        return None;
                    }
                }
            } else {
                let line = self.pieces(line, raw)?;
                pieces.push(Some(Line { parts: self.parts(line)?, offset: start }));
            }
        }
        self.block_items(statements, pieces).map(|items| NodeKind::Text(Words::lines(items, terminated)))
    }

    /// Refuses lines that look like statements outside of literal blocks: writing the template would turn them into
    /// statements.
    fn refuse_text_statements(&mut self, raw: &RawNode, text: &str, style: Style) -> Option<()> {
        let mut at = raw.start;
        let mut shown = None;
        for line in self.mask.text[raw.start..raw.end].split_inclusive('\n') {
            if is_statement(line) {
                shown.get_or_insert(at + line.len() - line.trim_start().len());
            }
            at += line.len();
        }
        let made = text.contains('\n') && text.lines().any(is_statement);
        if !made && (shown.is_none() || style != Style::Block) {
            return Some(());
        }
        let place = self.source.word(shown.unwrap_or(raw.start));
        self.notes
            .error("template-statement", place, "a line of a text that begins with `#%`")
            .hint("statements work only in literal blocks (`|`); for the text `#%` write `${{ \"#%\" }}`");
        None
    }

    fn block_items(
        &mut self,
        statements: Vec<Statement>,
        pieces: Vec<Option<Line>>,
    ) -> Option<Vec<Item<Line>>> {
        let (source, notes) = (self.source, &mut *self.notes);
        groups(&statements, |statement, message, hint| {
            let place = source.place(statement.offset, statement.length);
            notes.error("template-statement", place, message).hint(hint);
        })?;
        let mut statements = statements.into_iter();
        let pieces = pieces.into_iter().map(|piece| match piece {
            Some(line) => Some(statement::Piece::Entry(line)),
            None => statements.next().map(|statement| statement::Piece::Statement(Box::new(statement))),
        });
        nest(pieces.collect::<Option<_>>()?)
    }

    /// The pieces of a scalar. Text that only looks like an expression is an error.
    fn pieces<'t>(&mut self, text: &'t str, raw: &RawNode) -> Option<Vec<Piece<'t>>> {
        let within = raw.start..raw.end;
        let Some(pieces) = self.mask.pieces(text, &within) else {
            self.notes
                .error("template-character", self.source.word(raw.start), "a private-use character")
                .hint("remove it: templates cannot contain characters from U+E000 to U+F8FF");
            return None;
        };
        if pieces.iter().any(|piece| matches!(piece, Piece::Text(text) if text.contains("${{"))) {
            let shown = self.mask.text[within].find("${{").unwrap_or_default();
            self.notes
                .error(
                    "template-syntax",
                    self.source.word(raw.start + shown),
                    "`${{` that opens no expression",
                )
                .hint("write `${{ \"${{\" }}` for the text `${{`");
            return None;
        }
        Some(pieces)
    }

    fn parts(&mut self, pieces: Vec<Piece<'_>>) -> Option<Vec<TextPart>> {
        let parts: Vec<_> = pieces
            .into_iter()
            .map(|piece| match piece {
                Piece::Text(text) => Some(TextPart::Text(text.to_owned())),
                Piece::Expression(range) => self.expression(range).map(TextPart::Expression),
            })
            .collect();
        parts.into_iter().collect()
    }

    fn expression(&mut self, range: Range<usize>) -> Option<Expression> {
        let written = &self.source.text[range.clone()];
        Expression::compile(written, range.start, self.level).map_err(|failure| self.fail(failure)).ok()
    }
}

fn is_statement(line: &str) -> bool {
    line.trim_start().starts_with("#%")
}
