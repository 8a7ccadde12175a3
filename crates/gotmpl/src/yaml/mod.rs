//! YAML as read by `sigs.k8s.io/yaml` v1: with the rules of go-yaml v2, and only the first document.
//!
//! ```
//! use gotmpl::yaml;
//! use serde_json::json;
//!
//! let value = yaml::parse("debug: yes\nmode: 012\nversion: 1.30\n---\nignored: true\n")?;
//! assert_eq!(value, json!({ "debug": true, "mode": 10, "version": 1.3 }));
//! # Ok::<(), gotmpl::Error>(())
//! ```

mod scalar;
mod source;

use std::borrow::Cow;
use std::collections::BTreeMap;

use granit_parser::{
    ErrorKind as ScanKind, Event, Parser, ScalarStyle, ScanError, StrInput, StructureStyle, Tag,
};
use serde_json::{Map, Value};

use super::error::{Error, ErrorKind};
use source::{Flow, Rest, SourceProblem};

/// The deepest nesting of collections; reading them is recursive.
const MAX_DEPTH: usize = 200;
/// The most values of one text after its aliases are expanded.
const MAX_VALUES: usize = 1_000_000;

/// The parser's message for a line of a quoted scalar that is not indented deeply enough.
const OUTDENTED: &str = "invalid indentation in multiline quoted scalar";

/// The most bytes that are read again because of such lines.
const MAX_REREAD: usize = 8 << 20;

/// Parses a text. An empty text is null.
pub fn parse(text: &str) -> Result<Value, Error> {
    let mut read = read(text);
    let (mut indented, mut left, mut done) = (String::new(), MAX_REREAD, 0);
    while let Err(Error { message, line: Some(line), .. }) = &read
        && message == OUTDENTED
        && left > text.len()
        && *line > done
        && !ends_a_document(text, *line)
    {
        // go-yaml accepts such lines as if they were indented, because their leading blanks have no meaning.
        indented = indent(if indented.is_empty() { text } else { &indented }, *line);
        left -= text.len();
        done = *line;
        read = self::read(&indented);
    }
    read
}

/// Whether a line ends a document regardless of its context.
fn ends_a_document(text: &str, line: usize) -> bool {
    text.lines()
        .nth(line.saturating_sub(1))
        .is_some_and(|own| own.starts_with("---") || own.starts_with("..."))
}

/// Indents one line of a text more deeply than the preceding one.
fn indent(text: &str, line: usize) -> String {
    let (mut indented, mut before) = (String::with_capacity(text.len() + 64), 0);
    for (at, own) in text.split_inclusive('\n').enumerate() {
        if at + 1 == line {
            indented.extend(std::iter::repeat_n(' ', before + 1));
        }
        if !own.trim().is_empty() {
            before = own.len() - own.trim_start_matches(' ').len();
        }
        indented.push_str(own);
    }
    indented
}

fn read(text: &str) -> Result<Value, Error> {
    match source::check(text) {
        Some(SourceProblem::Refused(message, line)) => return Err(refused(message, line)),
        Some(SourceProblem::Unclear(message)) => return Err(unclear(message, None)),
        None => {}
    }
    // go-yaml ignores everything after a first value in brackets or quotes.
    match source::first_value(text) {
        Rest::None => Reader::new(text).document(),
        Rest::Ignored(end) => Reader::new(text.get(..end).unwrap_or_default()).document(),
        Rest::Unclear => Err(unclear("text after the first value", None)),
    }
}

type Reading<T> = Result<T, Error>;

fn refused(message: impl Into<String>, line: usize) -> Error {
    Error { kind: ErrorKind::Syntax, message: message.into(), line: Some(line) }
}

fn unclear(what: &str, line: Option<usize>) -> Error {
    let message = format!("go-yaml may read this differently: {what}");
    Error { kind: ErrorKind::Unsupported, message, line }
}

/// A value that aliases can refer to, and the number of values it contains.
struct Anchor {
    value: Value,
    size: usize,
}

/// A fully read node.
struct Node {
    value: Value,
    /// Whether a merge key can use it.
    is_map: bool,
}

/// A mapping key, a merge key, or the end of the mapping.
enum Key {
    Text(String),
    Merge,
    End,
}

struct Reader<'t> {
    text: &'t str,
    parser: Parser<'t, StrInput<'t>>,
    line: usize,
    /// The byte range of the last event.
    span: std::ops::Range<usize>,
    /// The number of open brackets.
    flow: usize,
    anchors: BTreeMap<usize, Anchor>,
    values: usize,
    depth: usize,
}

impl<'t> Reader<'t> {
    fn new(text: &'t str) -> Reader<'t> {
        let options = granit_parser::options! { emit_comments: false, emit_anchor_events: true };
        Reader {
            text,
            parser: Parser::new_from_str_with_options(text, options),
            line: 1,
            span: 0..0,
            flow: 0,
            anchors: BTreeMap::new(),
            values: 0,
            depth: 0,
        }
    }

    fn fail<T>(&self, kind: ErrorKind, message: impl Into<String>) -> Reading<T> {
        Err(Error { kind, message: message.into(), line: Some(self.line) })
    }

    fn bad<T>(&self, message: impl Into<String>) -> Reading<T> {
        self.fail(ErrorKind::Syntax, message)
    }

    fn next(&mut self) -> Reading<Event<'t>> {
        loop {
            match self.parser.next_event() {
                Some(Ok((Event::Anchor(_, name), _))) => {
                    if !source::is_anchor(&name) {
                        return self.bad("did not find expected alphabetic or numeric character");
                    }
                }
                Some(Ok((event, span))) => {
                    self.line = span.start.line();
                    let start = span.start.byte_offset().unwrap_or(0);
                    self.span = start..span.end.byte_offset().unwrap_or(start);
                    return Ok(event);
                }
                Some(Err(error)) => return Err(self.scan_error(&error)),
                None => return Ok(Event::StreamEnd),
            }
        }
    }

    fn scan_error(&self, error: &ScanError) -> Error {
        let line = error.marker().line();
        let odd_end = || [":,", ":]", ":}"].iter().any(|end| self.text.contains(end));
        match error.kind() {
            ScanKind::RecursionLimitExceeded => {
                Error { kind: ErrorKind::Limit, ..refused("exceeded max depth", line) }
            }
            ScanKind::CommentNotSeparated
            | ScanKind::BomInsideDocument
            | ScanKind::InvalidTagTerminator
            | ScanKind::PlainScalarStartsWithDashFlowIndicator => unclear(&error.info(), Some(line)),
            ScanKind::CommentInterceptedScalar if self.depth == 0 => unclear(&error.info(), Some(line)),
            ScanKind::UnknownQuotedScalarEscape if self.text.contains("\\'") => {
                unclear(&error.info(), Some(line))
            }
            ScanKind::ExpectedFlowMappingSeparator | ScanKind::ExpectedFlowSequenceSeparator if odd_end() => {
                unclear(&error.info(), Some(line))
            }
            _ => refused(error.info(), line),
        }
    }

    fn document(&mut self) -> Reading<Value> {
        loop {
            match self.next()? {
                Event::DocumentStart(_, Some(version)) if (version.major, version.minor) != (1, 1) => {
                    return self.bad("found incompatible YAML document");
                }
                Event::StreamStart | Event::DocumentStart(..) => {}
                Event::StreamEnd | Event::DocumentEnd => {
                    return Ok(Value::Null);
                }
                event => {
                    let scalar = match &event {
                        Event::Scalar(_, style, ..) => Some(*style),
                        _ => None,
                    };
                    let node = self.node(event)?;
                    let block = matches!(scalar, Some(ScalarStyle::Literal | ScalarStyle::Folded));
                    let rest = self.text.get(self.span.end..).unwrap_or_default();
                    if block && !source::is_trivial(rest) {
                        return Err(unclear("text after a block scalar", Some(self.line)));
                    }
                    // The rest is ignored, but a plain scalar must be terminated correctly.
                    let after = self.next();
                    if scalar == Some(ScalarStyle::Plain) {
                        after?;
                    }
                    return Ok(node.value);
                }
            }
        }
    }

    /// Counts values to stop the exponential growth of nested aliases.
    fn count(&mut self, values: usize) -> Reading<()> {
        self.values = self.values.saturating_add(values);
        if self.values > MAX_VALUES {
            return self.fail(ErrorKind::Limit, "document contains too many values");
        }
        Ok(())
    }

    fn node(&mut self, event: Event<'t>) -> Reading<Node> {
        let before = self.values;
        self.count(1)?;
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.check_scalar(&text, style, tag.as_deref(), false)?;
                let text = self.without_added_break(text, style);
                let value = self.scalar(&text, style, tag.as_deref())?;
                self.remember(anchor, &value, before);
                Ok(Node { value, is_map: false })
            }
            Event::SequenceStart(style, anchor, _) => {
                let outer = self.enter(style);
                self.sink()?;
                let mut items = Vec::new();
                loop {
                    let event = self.next()?;
                    if matches!(event, Event::SequenceEnd) {
                        break;
                    }
                    items.push(self.node(event)?.value);
                }
                self.depth -= 1;
                self.flow = outer;
                let value = Value::Array(items);
                self.remember(anchor, &value, before);
                Ok(Node { value, is_map: false })
            }
            Event::MappingStart(style, anchor, _) => {
                let outer = self.enter(style);
                let mut map = Map::new();
                self.mapping(&mut map)?;
                self.flow = outer;
                let value = Value::Object(map);
                self.remember(anchor, &value, before);
                Ok(Node { value, is_map: true })
            }
            Event::Alias(anchor) => self.alias(anchor),
            _ => self.bad("unexpected end of the document"),
        }
    }

    /// Enters a collection and returns the previous number of open brackets.
    fn enter(&mut self, style: StructureStyle) -> usize {
        let outer = self.flow;
        if outer > 0 || style == StructureStyle::Flow {
            self.flow += 1;
        }
        outer
    }

    /// Refuses scalars that go-yaml reads differently.
    fn check_scalar(&self, text: &str, style: ScalarStyle, tag: Option<&Tag>, is_key: bool) -> Reading<()> {
        match style {
            ScalarStyle::DoubleQuoted => {
                let source = self.text.get(self.span.clone()).unwrap_or_default();
                if source::has_foreign_escape(source) {
                    return self.bad("found unknown escape character");
                }
            }
            ScalarStyle::Plain if self.flow > 0 => {
                if tag.is_some() && text.is_empty() {
                    return self.bad("did not find expected whitespace or line break");
                }
                let after = self.text.get(self.span.end..).unwrap_or_default();
                match source::in_flow(text, after, is_key) {
                    Flow::Same => {}
                    Flow::Refused => return self.bad("did not find expected ',' or ']'"),
                    Flow::Unclear => {
                        let what = "a question mark or colon within brackets";
                        return Err(unclear(what, Some(self.line)));
                    }
                }
            }
            ScalarStyle::Literal | ScalarStyle::Folded => {
                if text.trim_start_matches('\n').starts_with('\t') {
                    return self.bad("found a tab character where an indentation space is expected");
                }
                let before = self.text.get(..self.span.start).unwrap_or_default();
                if self.depth == 0 && before.ends_with('\n') && !text.is_empty() {
                    return Err(unclear("a block scalar that is not indented", Some(self.line)));
                }
            }
            ScalarStyle::Plain | ScalarStyle::SingleQuoted => {}
        }
        Ok(())
    }

    /// Removes the line break that the parser adds to a block scalar at the very end of a text.
    fn without_added_break<'s>(&self, text: Cow<'s, str>, style: ScalarStyle) -> Cow<'s, str> {
        let block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
        let at_end = self.span.end >= self.text.len();
        if !block || !at_end {
            return text;
        }
        match source::without_added_break(self.text, &text) {
            Some(stripped) => Cow::Owned(stripped.to_owned()),
            None => text,
        }
    }

    fn sink(&mut self) -> Reading<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return self.fail(ErrorKind::Limit, "exceeded max depth");
        }
        Ok(())
    }

    fn remember(&mut self, anchor: usize, value: &Value, before: usize) {
        if anchor != 0 {
            let size = self.values - before;
            self.anchors.insert(anchor, Anchor { value: value.clone(), size });
        }
    }

    fn alias(&mut self, anchor: usize) -> Reading<Node> {
        let Some(Anchor { value, size }) = self.anchors.get(&anchor) else {
            return self.bad("anchor value contains itself");
        };
        let (size, is_map) = (*size, value.is_object());
        let value = value.clone();
        self.count(size)?;
        Ok(Node { value, is_map })
    }

    fn scalar(&self, text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Reading<Value> {
        let resolved = self.resolve(text, style, tag)?;
        match scalar::json(&resolved) {
            Some(value) => Ok(value),
            None => self.bad(format!("json: unsupported value: {text}")),
        }
    }

    fn resolve<'s>(
        &self,
        text: &'s str,
        style: ScalarStyle,
        tag: Option<&Tag>,
    ) -> Reading<scalar::Resolved<'s>> {
        let plain = style == ScalarStyle::Plain;
        let tag = tag.map(|tag| {
            let (handle, suffix) = tag.parts();
            format!("{handle}{suffix}")
        });
        match tag.as_deref() {
            None if plain => Ok(scalar::resolve(text)),
            None | Some("!") => Ok(scalar::Resolved::Text(text.into())),
            Some(tag) => match scalar::resolve_tagged(tag, text) {
                Ok(resolved) => Ok(resolved),
                Err(message) => self.bad(message),
            },
        }
    }

    fn mapping(&mut self, map: &mut Map<String, Value>) -> Reading<()> {
        self.sink()?;
        loop {
            match self.key()? {
                Key::End => break,
                Key::Merge => self.merge(map)?,
                Key::Text(key) => {
                    let event = self.next()?;
                    let node = self.node(event)?;
                    map.insert(key, node.value);
                }
            }
        }
        self.depth -= 1;
        Ok(())
    }

    fn key(&mut self) -> Reading<Key> {
        match self.next()? {
            Event::MappingEnd => Ok(Key::End),
            Event::Scalar(text, style, anchor, tag) => {
                let before = self.values;
                self.count(1)?;
                let merge_tag = tag.as_deref().is_some_and(|tag| {
                    let (handle, suffix) = tag.parts();
                    format!("{handle}{suffix}") == "tag:yaml.org,2002:merge"
                });
                let plain = style == ScalarStyle::Plain && tag.is_none();
                self.check_scalar(&text, style, tag.as_deref(), true)?;
                if text == "<<" && (plain || merge_tag) {
                    return Ok(Key::Merge);
                }
                let text = self.without_added_break(text, style);
                let resolved = self.resolve(&text, style, tag.as_deref())?;
                let Some(key) = scalar::key(&resolved) else {
                    return self.bad(format!("unsupported map key: {text}"));
                };
                if anchor != 0 {
                    let value = self.scalar(&text, style, tag.as_deref())?;
                    self.remember(anchor, &value, before);
                }
                Ok(Key::Text(key))
            }
            Event::Alias(anchor) => {
                let node = self.alias(anchor)?;
                match scalar::key_of_json(&node.value) {
                    Some(key) => Ok(Key::Text(key)),
                    None => self.bad("invalid map key"),
                }
            }
            _ => self.bad("invalid map key"),
        }
    }

    /// Handles `<<`: takes over the entries of one mapping, or of several, in which case the first one wins.
    fn merge(&mut self, map: &mut Map<String, Value>) -> Reading<()> {
        let want = "map merge requires map or sequence of maps as the value";
        let event = self.next()?;
        if !matches!(event, Event::SequenceStart(..)) {
            let node = self.node(event)?;
            return if node.is_map { take_over(map, node.value) } else { None }
                .map_or_else(|| self.bad(want), Ok);
        }
        let mut sources = Vec::new();
        loop {
            let event = self.next()?;
            if matches!(event, Event::SequenceEnd) {
                break;
            }
            let node = self.node(event)?;
            if !node.is_map {
                return self.bad(want);
            }
            sources.push(node.value);
        }
        for source in sources.into_iter().rev() {
            take_over(map, source);
        }
        Ok(())
    }
}

fn take_over(map: &mut Map<String, Value>, source: Value) -> Option<()> {
    let Value::Object(entries) = source else { return None };
    map.extend(entries);
    Some(())
}
