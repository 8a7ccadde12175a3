//! The only emitter. The same tree gives the same bytes, and every reader reads a string back as that string.
//!
//! Keys come in Kubernetes' order ([`rank`], then alphabetical). Strings are plain only if no YAML 1.1 or 1.2 reader could
//! take them for something else. Strings with line breaks are literal blocks; all others are quoted.

use std::fmt::Write;

use super::{Entry, Mapping, Node, Origin, Value};

/// A value that can be emitted. Documents consist of entries only; templates also contain statements.
pub trait Emit: Sized {
    /// The emitter's view of the value.
    fn view(&self) -> View<'_, Self>;
}

/// The emitter's view of a value.
pub enum View<'a, T> {
    Scalar(Scalar<'a>),
    /// A list in its order.
    Sequence(Vec<Item<'a, T, ()>>),
    /// A map in output order.
    Mapping(Vec<Item<'a, T, Name<'a>>>),
}

/// The key of an entry and its origin.
pub type Name<'a> = (Scalar<'a>, Origin);

/// A line or an entry of a collection.
pub enum Item<'a, T, K> {
    /// A template statement, written as `#% …` on a line of its own, and its origin.
    Statement(&'a str, Origin),
    Entry(K, &'a T),
}

#[derive(Clone, Copy, Debug)]
pub enum Scalar<'a> {
    Null,
    /// A boolean.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A finite number.
    Float(f64),
    /// Text.
    String(&'a str),
    /// Text that is written unchanged.
    Verbatim(&'a str),
    /// A template expression that keeps its type.
    Expression(&'a str),
    /// Template text that only our own reader sees: always a literal block. Not for keys.
    Literal(&'a str),
}

impl Emit for Node {
    fn view(&self) -> View<'_, Self> {
        match &self.value {
            Value::Null => View::Scalar(Scalar::Null),
            Value::Bool(value) => View::Scalar(Scalar::Bool(*value)),
            Value::Int(number) => View::Scalar(Scalar::Int(*number)),
            Value::Float(number) => View::Scalar(Scalar::Float(*number)),
            Value::String(text) => View::Scalar(Scalar::String(text)),
            Value::Sequence(items) => {
                View::Sequence(items.iter().map(|item| Item::Entry((), item)).collect())
            }
            Value::Mapping(mapping) => View::Mapping(sorted(mapping)),
        }
    }
}

fn sorted<'a>(mapping: &'a Mapping) -> Vec<Item<'a, Node, Name<'a>>> {
    let mut entries: Vec<(u64, &Entry)> =
        mapping.iter().map(|entry| (order(&entry.key.name), entry)).collect();
    // Each order is found once: a tree of a large fleet has millions of maps.
    entries.sort_unstable_by(|(order, a), (other, b)| {
        order.cmp(other).then_with(|| a.key.name.cmp(&b.key.name))
    });
    let item = |(_, entry): (u64, &'a Entry)| {
        Item::Entry((Scalar::String(&entry.key.name), entry.key.origin), &entry.value)
    };
    entries.into_iter().map(item).collect()
}

/// The rank of a key and its first bytes as one number: it decides about nearly all pairs of keys.
fn order(key: &str) -> u64 {
    let start = key.bytes().chain(std::iter::repeat(0)).take(7);
    start.fold(u64::from(rank(key)), |order, byte| order << 8 | u64::from(byte))
}

/// The sort rank of a map key. These keys come first, in this order; all others follow alphabetically. `components` comes
/// last, as in the cluster stack operator's release metadata.
pub fn rank(key: &str) -> u8 {
    match key {
        "apiVersion" => 0,
        "kind" => 1,
        "name" => 2,
        "namespace" => 3,
        "metadata" => 4,
        "spec" => 5,
        "components" => 7,
        _ => 6,
    }
}

/// Observes the output while it is written: the start and end of each entry, and statements.
pub trait Watch<'a, T> {
    /// A list item or map entry starts at a byte of the output.
    fn enter(&mut self, at: usize, key: Option<Name<'a>>, value: &'a T);
    /// The most recently entered item or entry ends.
    fn leave(&mut self);
    /// A statement starts at a byte of the output.
    fn statement(&mut self, at: usize, origin: Origin);
}

/// An observer that ignores everything.
struct Unwatched;

impl<'a, T> Watch<'a, T> for Unwatched {
    fn enter(&mut self, _at: usize, _key: Option<Name<'a>>, _value: &'a T) {}
    fn leave(&mut self) {}
    fn statement(&mut self, _at: usize, _origin: Origin) {}
}

/// Appends a document to `out`, without a separator and with one final line break.
pub fn emit<T: Emit>(root: &T, out: &mut String) {
    emit_watched(root, out, &mut Unwatched);
}

/// Like [`emit`], and reports to `watch` what is written where.
pub fn emit_watched<'a, T: Emit>(root: &'a T, out: &mut String, watch: &mut impl Watch<'a, T>) {
    match root.view() {
        View::Scalar(scalar) => {
            write_scalar(out, scalar, None);
            out.push('\n');
        }
        View::Sequence(items) if items.is_empty() => out.push_str("[]\n"),
        View::Mapping(items) if items.is_empty() => out.push_str("{}\n"),
        View::Sequence(items) => write_sequence(out, items, 0, 0, watch),
        View::Mapping(items) => write_mapping(out, items, 0, 0, watch),
    }
}

/// Writes entries at `indent`. The first line is already indented by `done` columns (after a `- `).
fn write_mapping<'a, T: Emit>(
    out: &mut String,
    items: Vec<Item<'a, T, Name<'a>>>,
    indent: usize,
    mut done: usize,
    watch: &mut impl Watch<'a, T>,
) {
    for item in items {
        pad(out, indent - done);
        done = 0;
        match item {
            Item::Statement(text, origin) => write_statement(out, text, origin, watch),
            Item::Entry(name, value) => {
                watch.enter(out.len(), Some(name), value);
                write_scalar(out, name.0, None);
                out.push(':');
                write_value(out, value, indent, true, watch);
                watch.leave();
            }
        }
    }
}

fn write_sequence<'a, T: Emit>(
    out: &mut String,
    items: Vec<Item<'a, T, ()>>,
    indent: usize,
    mut done: usize,
    watch: &mut impl Watch<'a, T>,
) {
    for item in items {
        pad(out, indent - done);
        done = 0;
        match item {
            Item::Statement(text, origin) => write_statement(out, text, origin, watch),
            Item::Entry((), value) => {
                watch.enter(out.len(), None, value);
                out.push('-');
                write_value(out, value, indent, false, watch);
                watch.leave();
            }
        }
    }
}

fn write_statement<'a, T>(out: &mut String, text: &str, origin: Origin, watch: &mut impl Watch<'a, T>) {
    watch.statement(out.len(), origin);
    out.push_str("#% ");
    out.push_str(text);
    out.push('\n');
}

/// Writes the value after a `key:` or `-` at `indent`.
fn write_value<'a, T: Emit>(
    out: &mut String,
    value: &'a T,
    indent: usize,
    after_key: bool,
    watch: &mut impl Watch<'a, T>,
) {
    let inner = indent + 2;
    match value.view() {
        View::Scalar(scalar) => {
            out.push(' ');
            write_scalar(out, scalar, Some(inner));
            out.push('\n');
        }
        View::Sequence(items) if items.is_empty() => out.push_str(" []\n"),
        View::Mapping(items) if items.is_empty() => out.push_str(" {}\n"),
        // After `- `, a statement would be an ordinary comment on that line instead of a statement of the collection.
        View::Sequence(items) if after_key || starts_with_statement(&items) => {
            out.push('\n');
            write_sequence(out, items, inner, 0, watch);
        }
        View::Mapping(items) if after_key || starts_with_statement(&items) => {
            out.push('\n');
            write_mapping(out, items, inner, 0, watch);
        }
        View::Sequence(items) => {
            out.push(' ');
            write_sequence(out, items, inner, inner, watch);
        }
        View::Mapping(items) => {
            out.push(' ');
            write_mapping(out, items, inner, inner, watch);
        }
    }
}

fn starts_with_statement<T, K>(items: &[Item<'_, T, K>]) -> bool {
    matches!(items.first(), Some(Item::Statement(..)))
}

fn pad(out: &mut String, columns: usize) {
    const BLANKS: &str = "                                                                ";
    match BLANKS.get(..columns) {
        Some(blanks) => out.push_str(blanks),
        None => out.extend(std::iter::repeat_n(' ', columns)),
    }
}

/// Writes a scalar. It spans several lines only if `block_indent` gives an indent.
fn write_scalar(out: &mut String, scalar: Scalar<'_>, block_indent: Option<usize>) {
    match scalar {
        Scalar::Null => out.push_str("null"),
        Scalar::Bool(true) => out.push_str("true"),
        Scalar::Bool(false) => out.push_str("false"),
        Scalar::Int(number) => write!(out, "{number}").expect("a string takes everything"),
        Scalar::Float(number) => write_float(out, number),
        Scalar::Verbatim(text) => out.push_str(text),
        Scalar::Expression(text) => write!(out, "${{{{ {text} }}}}").expect("a string takes everything"),
        Scalar::Literal(text) => write_literal(out, text, block_indent.unwrap_or_default()),
        Scalar::String(text) => write_string(out, text, block_indent),
    }
}

/// Writes a float with a point and a signed exponent, as YAML 1.1 requires.
fn write_float(out: &mut String, number: f64) {
    let text = format!("{number:?}");
    match text.split_once('e') {
        None => out.push_str(&text),
        Some((mantissa, exponent)) => {
            out.push_str(mantissa);
            if !mantissa.contains('.') {
                out.push_str(".0");
            }
            out.push('e');
            if !exponent.starts_with('-') {
                out.push('+');
            }
            out.push_str(exponent);
        }
    }
}

/// Writes a string. It becomes a literal block only if `block_indent` gives an indent.
fn write_string(out: &mut String, text: &str, block_indent: Option<usize>) {
    if is_plain(text) {
        out.push_str(text);
    } else if !is_printable_ascii(text) && text.contains(is_special) {
        match block_indent {
            Some(indent) if is_literal(text) => write_literal(out, text, indent),
            _ => write_double_quoted(out, text),
        }
    } else if text.contains('\'') && !text.contains(['"', '\\']) {
        write_double_quoted(out, text);
    } else {
        out.push('\'');
        out.push_str(&text.replace('\'', "''"));
        out.push('\'');
    }
}

/// Whether a text, like most, has none of the characters of [`is_special`] for sure.
fn is_printable_ascii(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// Characters that not every reader accepts in single quotes: controls, Unicode line breaks, byte order marks.
pub(crate) fn is_special(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{85}' | '\u{a0}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
        || is_private(c)
}

/// Characters that some readers consider unprintable.
fn is_private(c: char) -> bool {
    matches!(c, '\u{e000}'..='\u{f8ff}') || (c as u32 & 0xfffe) == 0xfffe
}

/// The longest plain string. Longer ones are easier to read in quotes, and old readers fold them.
const MAX_PLAIN: usize = 120;

/// Whether every YAML 1.1 and 1.2 reader takes the unquoted text for exactly that string.
fn is_plain(text: &str) -> bool {
    let bytes = text.as_bytes();
    let Some(&first) = bytes.first() else { return false };
    if text.len() > MAX_PLAIN || is_reserved(text) {
        return false;
    }
    let safe_start = first.is_ascii_alphabetic()
        || first == b'/'
        || text.starts_with("./")
        || (first.is_ascii_digit() && is_no_number(text));
    safe_start
        && bytes.iter().enumerate().all(|(at, byte)| match PLAIN[usize::from(*byte)] {
            Plainness::Always => true,
            Plainness::Never => false,
            Plainness::ByNext => is_plain_between(bytes, at),
        })
}

/// Whether a byte can be in a plain string.
#[derive(Clone, Copy)]
enum Plainness {
    Always,
    /// The bytes around it decide.
    ByNext,
    Never,
}

static PLAIN: [Plainness; 256] = {
    let mut table = [Plainness::Never; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        table[byte as usize] = match byte {
            b'-' | b'_' | b'.' | b'/' | b'@' | b'+' | b'(' | b')' | b'=' | b';' | b'$' | b'~' | b'^' => {
                Plainness::Always
            }
            b':' | b' ' => Plainness::ByNext,
            _ if byte.is_ascii_alphanumeric() => Plainness::Always,
            _ => Plainness::Never,
        };
        byte += 1;
    }
    table
};

/// Whether a colon or a blank at a place of a plain string means nothing but itself.
fn is_plain_between(bytes: &[u8], at: usize) -> bool {
    let Some(next) = bytes.get(at + 1) else { return false };
    match bytes[at] {
        b':' => *next != b' ',
        _ => !matches!(next, b' ' | b'#') && at > 0,
    }
}

/// Whether a text that starts with a digit contains a character that no number, date or hexadecimal can have.
fn is_no_number(text: &str) -> bool {
    text.bytes().any(|b| {
        matches!(b.to_ascii_lowercase(), b'g'..=b'n' | b'p'..=b's' | b'u'..=b'w' | b'y') || b == b'/'
    }) && !text.contains(['_', ':'])
}

fn is_reserved(text: &str) -> bool {
    const WORDS: [&str; 12] =
        ["y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf", "infinity"];
    let may_be = |first: u8| matches!(first.to_ascii_lowercase(), b'f' | b'i' | b'n' | b'o' | b't' | b'y');
    text.len() <= 8
        && text.bytes().next().is_some_and(may_be)
        && WORDS.iter().any(|word| word.eq_ignore_ascii_case(text))
}

/// Whether every reader reads the text back unchanged from a literal block.
fn is_literal(text: &str) -> bool {
    text.contains('\n')
        && !text.starts_with([' ', '\n'])
        && !text.chars().any(|c| c != '\n' && is_special(c))
        && !text.split('\n').any(|line| line.ends_with(' '))
        && !text.trim_end_matches('\n').is_empty()
}

fn write_literal(out: &mut String, text: &str, indent: usize) {
    let body = text.trim_end_matches('\n');
    let breaks = text.len() - body.len();
    out.push('|');
    if text.starts_with([' ', '\t', '\n']) {
        out.push('2');
    }
    out.push_str(match breaks {
        0 => "-",
        1 => "",
        _ => "+",
    });
    for line in body.split('\n') {
        out.push('\n');
        if !line.is_empty() {
            pad(out, indent);
            out.push_str(line);
        }
    }
    out.extend(std::iter::repeat_n('\n', breaks.saturating_sub(1)));
}

fn write_double_quoted(out: &mut String, text: &str) {
    out.push('"');
    quote(text, out);
    out.push('"');
}

/// Appends the text as the content of a double-quoted string.
pub(crate) fn quote(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if is_special(c) => {
                let code = c as u32;
                let escaped = match code {
                    0..=0xff => write!(out, "\\x{code:02x}"),
                    0x100..=0xffff => write!(out, "\\u{code:04x}"),
                    _ => write!(out, "\\U{code:08x}"),
                };
                escaped.expect("a string takes everything");
            }
            c => out.push(c),
        }
    }
}
