//! The parser's view of a file: scalars with their style, collections, comments, and their byte ranges.
//!
//! Limits apply here: nesting depth (enforced by the parser), the number of nodes, and the size of expanded aliases.

use std::{collections::BTreeMap, sync::Arc};

use granit_parser::{Event, Parser, ScalarStyle, Span, StructureStyle};

use super::Source;
use crate::note::{Notes, Place};

/// The most nodes of a file; an alias counts as one node here. A large ClusterClass has about 10,000.
const MAX_NODES: usize = 500_000;
/// The most nodes that aliases may add: enough for people's abbreviations, too little for a "billion laughs" attack.
const MAX_ALIASED: usize = 20_000;
/// The deepest nesting. Kubernetes' own decoders stop at 10,000 levels, people at about 20.
const MAX_DEPTH: usize = 100;
/// The most comment lines in a row.
const MAX_COMMENTS: usize = 100_000;

/// How a scalar is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Unquoted; its type is resolved.
    Plain,
    /// Quoted text.
    Quoted,
    /// A block scalar, `|` or `>`; always text.
    Block,
}

/// A node as written.
#[derive(Clone, Debug)]
pub struct RawNode {
    /// Its content.
    pub kind: RawKind,
    /// The byte at which it starts.
    pub start: usize,
    /// The byte after its end.
    pub end: usize,
}

/// The content of a node as written.
#[derive(Clone, Debug)]
pub enum RawKind {
    Scalar {
        /// Its text with escapes resolved.
        text: String,
        style: Style,
    },
    /// A list.
    Sequence(Vec<RawNode>),
    /// A map: keys and values as written, including duplicates.
    Mapping(Vec<(RawNode, RawNode)>),
}

#[derive(Clone, Debug)]
pub struct Comment {
    /// The byte of its `#`.
    pub start: usize,
    /// Its text after the `#`.
    pub text: String,
    /// Whether it has a line of its own.
    pub alone: bool,
}

/// One document of a file.
#[derive(Clone, Debug)]
pub struct Document {
    /// The byte at which its content starts.
    pub start: usize,
    pub root: RawNode,
    /// Its comments in order. Comments after the last document of a file belong to that document.
    pub comments: Vec<Comment>,
    /// The byte of its first anchor or alias, if there is one.
    pub anchor: Option<usize>,
}

/// The code of the message about text that is not YAML.
pub const SYNTAX: &str = "yaml-syntax";

/// Reads all documents of a file. Empty ones (comments only) are left out. Faults go to `notes`.
pub fn read_raw(source: &Source, notes: &mut Notes) -> Option<Vec<Document>> {
    read_masked(&source.text, source, notes)
}

/// The length of git's conflict markers.
const MARKER: usize = 7;

/// The byte of the first line that is one of git's conflict markers, for a file that cannot be read: a half-resolved conflict
/// leaves some of them.
fn leftover_marker(text: &str) -> Option<usize> {
    let mut at = 0;
    text.split_inclusive('\n').find_map(|line| {
        let start = at;
        at += line.len();
        let labelled = ["<<<<<<<", "|||||||", ">>>>>>>"].into_iter().any(|mark| {
            line.strip_prefix(mark).is_some_and(|label| label.trim_end().is_empty() || label.starts_with(' '))
        });
        (labelled || line.trim_end() == "=======").then_some(start)
    })
}

/// The byte of git's first conflict marker, if all three markers appear in order.
fn conflict(text: &str) -> Option<usize> {
    if !text.contains("<<<<<<< ") {
        return None;
    }
    let (mut at, mut first, mut seen) = (0, None, 0);
    for line in text.split_inclusive('\n') {
        let begins = |mark: &str| line.starts_with(mark);
        match seen {
            0 if begins("<<<<<<< ") => (first, seen) = (Some(at), 1),
            1 if line.trim_end() == "=======" => seen = 2,
            2 if begins(">>>>>>> ") => return first,
            _ => {}
        }
        at += line.len();
    }
    None
}

/// The directives of a file, such as `%YAML 1.2`, each with its byte. They stand before the first document or after `...`.
pub fn directives(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let (mut at, mut may_follow) = (0, true);
    text.split_inclusive('\n').filter_map(move |line| {
        let start = at;
        at += line.len();
        let line = line.trim_end();
        let is_directive = may_follow && line.starts_with('%');
        let is_empty = line.is_empty() || line.starts_with('#');
        may_follow = is_directive || may_follow && is_empty || line == "..." || line.starts_with("... ");
        is_directive.then_some((start, line))
    })
}

fn report_conflict(place: Place, notes: &mut Notes) {
    notes
        .error("merge-conflict", place, "this file contains an unresolved merge conflict")
        .hint("resolve the conflict, and remove the lines with `<<<<<<<`, `=======` and `>>>>>>>`");
}

/// Reads `text`, a copy of the source's text in which some bytes are replaced one for one. Places show the original text.
pub(crate) fn read_masked(text: &str, source: &Source, notes: &mut Notes) -> Option<Vec<Document>> {
    if source.text.starts_with('\u{feff}') {
        notes
            .error("byte-order-mark", source.place(0, 1), "the file begins with a byte order mark")
            .hint("save it as UTF-8 without BOM");
        return None;
    }
    if let Some(offset) = conflict(&source.text) {
        report_conflict(source.place(offset, MARKER), notes);
        return None;
    }
    let is_known = |line: &str| {
        let words: Vec<_> = line.split_whitespace().collect();
        matches!(words.as_slice(), ["%YAML", "1.1" | "1.2", ..] | ["%TAG", ..])
    };
    // The parser ignores directives that it does not know, and later minor versions.
    if let Some((offset, line)) = directives(text).find(|(_, line)| !is_known(line)) {
        notes
            .error(SYNTAX, source.place(offset, line.len()), "this directive is not supported")
            .hint("remove the line: readers of YAML 1.1 and 1.2 refuse the file, or ignore the directive");
        return None;
    }
    let options = granit_parser::options! {
        block_nesting_limit: MAX_DEPTH,
        flow_nesting_limit: MAX_DEPTH,
        max_buffered_comment_events: MAX_COMMENTS,
    };
    let mut builder = Builder {
        source,
        notes,
        anchors: BTreeMap::new(),
        nodes: 0,
        aliased: 0,
        stack: Vec::new(),
        documents: Vec::new(),
        comments: Vec::new(),
        anchor: None,
    };
    for next in Parser::new_from_str_with_options(text, options) {
        let (event, span) = match next {
            Ok(pair) => pair,
            Err(error) => {
                let at = error.marker().byte_offset().unwrap_or(0);
                let place = source.place(at, 1);
                builder.syntax(&error.info(), place);
                return None;
            }
        };
        builder.event(event, span)?;
    }
    if let Some(last) = builder.documents.last_mut() {
        last.comments.append(&mut builder.comments);
    }
    Some(builder.documents)
}

/// The text of a key. Only scalars can be keys.
pub(crate) fn key_text(key: &RawNode, source: &Source, notes: &mut Notes) -> Option<Arc<str>> {
    let RawKind::Scalar { text, style } = &key.kind else {
        notes
            .error("key-type", source.place(key.start, 1), "a key that is not plain text")
            .hint("keys are strings; quote the key if it begins with `{` or `[`");
        return None;
    };
    if *style == Style::Plain {
        if text == "<<" {
            notes.error("merge-key", source.place(key.start, 2), "merge keys (`<<`) are not supported").hint(
                "write the entries out, or put them into `_defaults.yaml`: YAML readers differ on merge keys",
            );
            return None;
        }
        let hazard = match super::resolve_plain(text) {
            super::Plain::Value(super::Value::String(_)) => None,
            super::Plain::Value(_) => Some("not a string for every YAML reader"),
            super::Plain::Ambiguous(why) => Some(why),
        };
        if let Some(why) = hazard {
            notes
                .error("ambiguous-scalar", source.word(key.start), format!("the key `{text}` is {why}"))
                .hint(format!("keys are strings: write \"{text}\""));
            return None;
        }
    }
    Some(text.as_str().into())
}

/// A collection that is still being read.
struct Open {
    start: usize,
    anchor: usize,
    items: Vec<RawNode>,
    mapping: bool,
    flow: bool,
}

struct Builder<'a> {
    source: &'a Source,
    notes: &'a mut Notes,
    anchors: BTreeMap<usize, (RawNode, usize)>,
    nodes: usize,
    aliased: usize,
    stack: Vec<Open>,
    documents: Vec<Document>,
    comments: Vec<Comment>,
    anchor: Option<usize>,
}

impl Builder<'_> {
    fn event(&mut self, event: Event<'_>, span: Span) -> Option<()> {
        let (start, end) = span.byte_range().map_or((0, 0), |range| (range.start, range.end));
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.refuse_tag(tag.is_some(), start)?;
                let style = match style {
                    ScalarStyle::Plain => Style::Plain,
                    ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => Style::Quoted,
                    ScalarStyle::Literal | ScalarStyle::Folded => Style::Block,
                };
                let kind = RawKind::Scalar { text: text.into_owned(), style };
                self.node(RawNode { kind, start, end }, anchor)
            }
            Event::SequenceStart(style, anchor, tag) => {
                self.refuse_tag(tag.is_some(), start)?;
                self.open(start, anchor, false, style);
                Some(())
            }
            Event::MappingStart(style, anchor, tag) => {
                self.refuse_tag(tag.is_some(), start)?;
                self.open(start, anchor, true, style);
                Some(())
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(end),
            Event::Alias(id) => self.alias(id, start),
            Event::Comment(text, _) => {
                let line = self.source.text[..start].rfind('\n').map_or(0, |at| at + 1);
                let alone = self.source.text[line..start].trim().is_empty();
                self.comments.push(Comment { start, text: text.into_owned(), alone });
                Some(())
            }
            Event::DocumentEnd => {
                if let Some(document) = self.documents.last_mut() {
                    document.comments.append(&mut self.comments);
                }
                Some(())
            }
            _ => Some(()),
        }
    }

    fn open(&mut self, start: usize, anchor: usize, mapping: bool, style: StructureStyle) {
        let flow = style == StructureStyle::Flow;
        self.stack.push(Open { start, anchor, items: Vec::new(), mapping, flow });
    }

    fn close(&mut self, end: usize) -> Option<()> {
        let open = self.stack.pop()?;
        // The parser reports the end of a block collection only at the next token. Its real end is that of its last entry.
        let end = if open.flow { end } else { open.items.last().map_or(end, |last| last.end) };
        let kind = if open.mapping {
            let mut items = open.items.into_iter();
            let mut entries = Vec::new();
            while let (Some(key), Some(value)) = (items.next(), items.next()) {
                entries.push((key, value));
            }
            RawKind::Mapping(entries)
        } else {
            RawKind::Sequence(open.items)
        };
        self.node(RawNode { kind, start: open.start, end }, open.anchor)
    }

    fn node(&mut self, node: RawNode, anchor: usize) -> Option<()> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return self.limit(node.start, format!("more than {MAX_NODES} nodes in one file"));
        }
        if anchor > 0 {
            let size = size(&node);
            self.anchors.insert(anchor, (node.clone(), size));
            self.anchor.get_or_insert(node.start);
        }
        match self.stack.last_mut() {
            Some(open) => open.items.push(node),
            None if is_empty(&node) => {}
            None => {
                let (start, anchor) = (node.start, self.anchor.take());
                self.documents.push(Document { start, root: node, comments: Vec::new(), anchor });
            }
        }
        Some(())
    }

    fn alias(&mut self, id: usize, start: usize) -> Option<()> {
        let Some((node, size)) = self.anchors.get(&id).cloned() else {
            let place = self.source.word(start);
            self.notes
                .error("alias", place, "an alias inside the node that it names")
                .hint("write the value out: the alias would never end");
            return None;
        };
        self.anchor.get_or_insert(start);
        self.aliased += size;
        if self.aliased > MAX_ALIASED {
            return self.limit(start, format!("aliases unfold to more than {MAX_ALIASED} nodes"));
        }
        self.node(node, 0)
    }

    fn limit(&mut self, start: usize, message: String) -> Option<()> {
        let place = self.source.place(start, 1);
        self.notes.error("yaml-limit", place, message).hint("split the file, or use fewer aliases");
        None
    }

    fn refuse_tag(&mut self, tagged: bool, start: usize) -> Option<()> {
        if tagged {
            let place = self.source.word(start);
            self.notes
                .error("yaml-tag", place, "tags (`!…`) are not supported")
                .hint("write the value in its plain form, or in quotes if you mean text");
            return None;
        }
        Some(())
    }

    fn syntax(&mut self, info: &str, place: Place) {
        let start = place.source.trim_start_matches(|c: char| c.is_whitespace() || c == '-');
        let tab = place.source[..place.source.len() - start.len()].contains('\t');
        if info.contains("recursion limit") {
            let message = format!("collections are nested more than {MAX_DEPTH} levels deep");
            self.notes.error("yaml-limit", place, message).hint("reduce the nesting");
            return;
        }
        if let Some(offset) = leftover_marker(&self.source.text) {
            return report_conflict(self.source.place(offset, MARKER), self.notes);
        }
        let note = self.notes.error(SYNTAX, place, format!("invalid YAML: {info}"));
        if tab {
            note.hint("indent the line with spaces: YAML does not allow tabs");
        } else if info.starts_with("unexpected character") {
            note.hint("remove or replace the character: YAML does not allow it here");
        } else {
            note.hint("check the indentation and the quotes of this line and the one above");
        }
    }
}

fn is_empty(node: &RawNode) -> bool {
    matches!(&node.kind, RawKind::Scalar { text, style: Style::Plain } if text.is_empty() || text == "~")
}

fn size(node: &RawNode) -> usize {
    match &node.kind {
        RawKind::Scalar { text, .. } => 1 + text.len() / 256,
        RawKind::Sequence(items) => 1 + items.iter().map(size).sum::<usize>(),
        RawKind::Mapping(entries) => {
            1 + entries.iter().map(|(key, value)| size(key) + size(value)).sum::<usize>()
        }
    }
}
