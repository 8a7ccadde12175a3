//! `encoding/json` for template values.

use std::collections::BTreeMap;

use super::budget::Context;
use super::error::{Outcome, limit};
use super::format::json_float;
use super::unicode;
use super::value::{Elem, List, Str, Value};

/// The deepest nesting. Reading and writing values is recursive.
const MAX_DEPTH: usize = 90;

/// A JSON output style.
#[derive(Debug, Clone, Copy)]
pub(super) struct Style {
    /// Writes `<`, `>` and `&` as escapes.
    pub(super) escape_html: bool,
    /// Writes several lines, indented by two blanks.
    pub(super) pretty: bool,
}

/// Writes a value; `None` if JSON cannot represent it, as with infinity.
pub(super) fn encode<'a>(cx: &mut Context<'a>, value: &Value<'a>, style: Style) -> Outcome<Option<Vec<u8>>> {
    let mut writer = Writer { cx, style, out: Vec::new(), fits: true };
    writer.value(value, 0)?;
    Ok(writer.fits.then_some(writer.out))
}

struct Writer<'c, 'a> {
    cx: &'c mut Context<'a>,
    style: Style,
    out: Vec<u8>,
    fits: bool,
}

impl<'a> Writer<'_, 'a> {
    fn value(&mut self, value: &Value<'a>, depth: usize) -> Outcome<()> {
        self.cx.spend(1)?;
        if depth > MAX_DEPTH {
            return Err(limit("a value is nested too deeply for JSON"));
        }
        match value {
            Value::Invalid | Value::Nil => self.out.extend_from_slice(b"null"),
            Value::Bool(flag) => self.write(if *flag { "true" } else { "false" }),
            Value::Int(_, number) => self.write(&number.to_string()),
            Value::Uint(_, number) => self.write(&number.to_string()),
            Value::Float(number) if number.is_finite() => {
                self.write(&json_float(*number));
            }
            Value::Float(_) => self.fits = false,
            Value::Str(text) => self.text(text.bytes())?,
            Value::List(list) if list.nil => self.out.extend_from_slice(b"null"),
            Value::JsonList(_) | Value::List(_) => self.list(value, depth)?,
            Value::Map(map) if map.nil => self.out.extend_from_slice(b"null"),
            Value::JsonMap(_) | Value::Map(_) => self.map(value, depth)?,
            Value::Version(version, _) => self.text(version.to_string().as_bytes())?,
            Value::Time(time) => match time.rfc3339() {
                Some(text) => self.text(text.as_bytes())?,
                None => self.fits = false,
            },
        }
        Ok(())
    }

    fn write(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn line(&mut self, depth: usize) -> Outcome<()> {
        if self.style.pretty {
            self.cx.charge(depth as u64 * 2)?;
            self.out.push(b'\n');
            self.out.extend(std::iter::repeat_n(b' ', depth * 2));
        }
        Ok(())
    }

    fn list(&mut self, value: &Value<'a>, depth: usize) -> Outcome<()> {
        self.out.push(b'[');
        let len = value.list_len().unwrap_or(0);
        for index in 0..len {
            if index > 0 {
                self.out.push(b',');
            }
            self.line(depth + 1)?;
            if let Some(item) = value.item(index) {
                self.value(&item, depth + 1)?;
            }
        }
        if len > 0 {
            self.line(depth)?;
        }
        self.out.push(b']');
        Ok(())
    }

    fn map(&mut self, value: &Value<'a>, depth: usize) -> Outcome<()> {
        self.out.push(b'{');
        let entries = value.entries(self.cx)?;
        let empty = entries.is_empty();
        for (index, (key, item)) in entries.into_iter().enumerate() {
            if index > 0 {
                self.out.push(b',');
            }
            self.line(depth + 1)?;
            self.text(key.bytes())?;
            self.write(if self.style.pretty { ": " } else { ":" });
            self.value(&item, depth + 1)?;
        }
        if !empty {
            self.line(depth)?;
        }
        self.out.push(b'}');
        Ok(())
    }

    fn text(&mut self, text: &[u8]) -> Outcome<()> {
        self.cx.charge(text.len() as u64 + 2)?;
        self.out.push(b'"');
        let mut rest = text;
        while let Some((found, len, _)) = unicode::decode(rest) {
            match found {
                '"' => self.write("\\\""),
                '\\' => self.write("\\\\"),
                '\n' => self.write("\\n"),
                '\r' => self.write("\\r"),
                '\t' => self.write("\\t"),
                '\x08' => self.write("\\b"),
                '\x0c' => self.write("\\f"),
                '<' | '>' | '&' if !self.style.escape_html => {
                    self.write(found.encode_utf8(&mut [0; 4]));
                }
                '\0'..='\x1f' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                    self.write(&format!("\\u{:04x}", u32::from(found)));
                }
                char::REPLACEMENT_CHARACTER if len == 1 => self.write("\\ufffd"),
                _ => self.out.extend_from_slice(rest.get(..len).unwrap_or_default()),
            }
            rest = rest.get(len..).unwrap_or_default();
        }
        self.out.push(b'"');
        Ok(())
    }
}

/// Parses a text; `None` if it is not JSON. Numbers become `float64`.
pub(super) fn decode<'a>(cx: &mut Context<'a>, text: &[u8]) -> Outcome<Option<Value<'a>>> {
    cx.charge(text.len() as u64)?;
    let mut reader = Reader { cx, text, at: 0 };
    let value = reader.value(0)?;
    reader.blanks();
    Ok(if reader.at == text.len() { value } else { None })
}

struct Reader<'c, 't, 'a> {
    cx: &'c mut Context<'a>,
    text: &'t [u8],
    at: usize,
}

impl<'a> Reader<'_, '_, 'a> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn accept(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn value(&mut self, depth: usize) -> Outcome<Option<Value<'a>>> {
        self.cx.spend(1)?;
        if depth > MAX_DEPTH {
            return Err(limit("JSON is nested too deeply"));
        }
        self.blanks();
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => Ok(self.string().map(Value::text)),
            Some(b't') => Ok(self.word("true", Value::Bool(true))),
            Some(b'f') => Ok(self.word("false", Value::Bool(false))),
            Some(b'n') => Ok(self.word("null", Value::Nil)),
            _ => Ok(self.number().map(Value::Float)),
        }
    }

    fn word(&mut self, word: &str, value: Value<'a>) -> Option<Value<'a>> {
        self.text.get(self.at..)?.starts_with(word.as_bytes()).then(|| {
            self.at += word.len();
            value
        })
    }

    fn digits(&mut self) -> Option<()> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }

    fn number(&mut self) -> Option<f64> {
        let start = self.at;
        self.accept(b'-');
        if !self.accept(b'0') {
            self.digits()?;
        }
        if self.accept(b'.') {
            self.digits()?;
        }
        if self.accept(b'e') || self.accept(b'E') {
            if !self.accept(b'+') {
                self.accept(b'-');
            }
            self.digits()?;
        }
        let text = std::str::from_utf8(self.text.get(start..self.at)?).ok()?;
        text.parse().ok().filter(|number: &f64| number.is_finite())
    }

    fn array(&mut self, depth: usize) -> Outcome<Option<Value<'a>>> {
        self.at += 1;
        let mut items = Vec::new();
        self.blanks();
        if self.accept(b']') {
            return List::of(Elem::Any, items).map(Some);
        }
        loop {
            self.cx.charge_items(1)?;
            let Some(item) = self.value(depth + 1)? else { return Ok(None) };
            items.push(item);
            self.blanks();
            if self.accept(b']') {
                return List::of(Elem::Any, items).map(Some);
            }
            if !self.accept(b',') {
                return Ok(None);
            }
        }
    }

    fn object(&mut self, depth: usize) -> Outcome<Option<Value<'a>>> {
        self.at += 1;
        let mut entries = BTreeMap::new();
        self.blanks();
        if self.accept(b'}') {
            return Ok(Some(self.cx.map(Elem::Any, entries)));
        }
        loop {
            self.cx.charge_items(1)?;
            self.blanks();
            let Some(key) = self.string() else { return Ok(None) };
            self.blanks();
            if !self.accept(b':') {
                return Ok(None);
            }
            let Some(value) = self.value(depth + 1)? else { return Ok(None) };
            entries.insert(Str::from(key), value);
            self.blanks();
            if self.accept(b'}') {
                return Ok(Some(self.cx.map(Elem::Any, entries)));
            }
            if !self.accept(b',') {
                return Ok(None);
            }
        }
    }

    fn string(&mut self) -> Option<Vec<u8>> {
        if !self.accept(b'"') {
            return None;
        }
        let mut out = Vec::new();
        loop {
            let rest = self.text.get(self.at..)?;
            let (found, len, _) = unicode::decode(rest)?;
            self.at += len;
            match found {
                '"' => return Some(out),
                '\\' => self.escape(&mut out)?,
                '\0'..='\x1f' => return None,
                _ => push(&mut out, found),
            }
        }
    }

    fn escape(&mut self, out: &mut Vec<u8>) -> Option<()> {
        let kind = self.peek()?;
        self.at += 1;
        out.push(match kind {
            b'"' | b'\\' | b'/' => kind,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let code = self.hex()?;
                push(out, self.surrogates(code));
                return Some(());
            }
            _ => return None,
        });
        Some(())
    }

    fn hex(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + 4)?;
        let text = std::str::from_utf8(digits).ok()?;
        if !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        self.at += 4;
        u32::from_str_radix(text, 16).ok()
    }

    /// The character of a code. If it is a high surrogate, the following low surrogate is consumed as well.
    fn surrogates(&mut self, code: u32) -> char {
        if let (0xd800..=0xdbff, Some(b"\\u")) = (code, self.text.get(self.at..self.at + 2)) {
            let mark = self.at;
            self.at += 2;
            if let Some(low @ 0xdc00..=0xdfff) = self.hex() {
                let joined = 0x1_0000 + ((code - 0xd800) << 10) + (low - 0xdc00);
                return char::from_u32(joined).unwrap_or(char::REPLACEMENT_CHARACTER);
            }
            self.at = mark;
        }
        char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
    }
}

fn push(out: &mut Vec<u8>, found: char) {
    out.extend_from_slice(found.encode_utf8(&mut [0; 4]).as_bytes());
}
