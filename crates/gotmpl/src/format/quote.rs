//! `strconv.Quote` and its relatives.

use std::io::Write as _;

use super::super::unicode;

/// A text in double quotes, as `%q` prints it.
pub(in super::super) fn quote(text: &[u8]) -> Vec<u8> {
    quoted(text, b'"', false)
}

/// A text in the given quotes, with all unprintable characters escaped.
pub(super) fn quoted(text: &[u8], quote: u8, ascii: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 2);
    out.push(quote);
    let mut rest = text;
    while let Some((found, len, valid)) = unicode::decode(rest) {
        match (valid, rest.first()) {
            (false, Some(byte)) => hex(&mut out, "\\x", u32::from(*byte), 2),
            _ => character(&mut out, found, quote, ascii),
        }
        rest = rest.get(len..).unwrap_or_default();
    }
    out.push(quote);
    out
}

fn character(out: &mut Vec<u8>, found: char, quote: u8, ascii: bool) {
    if found == char::from(quote) || found == '\\' {
        out.push(b'\\');
        push(out, found);
    } else if (found.is_ascii() || !ascii) && unicode::is_print(found) {
        push(out, found);
    } else {
        match found {
            '\x07' => out.extend_from_slice(b"\\a"),
            '\x08' => out.extend_from_slice(b"\\b"),
            '\x0c' => out.extend_from_slice(b"\\f"),
            '\n' => out.extend_from_slice(b"\\n"),
            '\r' => out.extend_from_slice(b"\\r"),
            '\t' => out.extend_from_slice(b"\\t"),
            '\x0b' => out.extend_from_slice(b"\\v"),
            _ => match u32::from(found) {
                code @ (0..=0x1f | 0x7f) => hex(out, "\\x", code, 2),
                code @ 0..=0xffff => hex(out, "\\u", code, 4),
                code => hex(out, "\\U", code, 8),
            },
        }
    }
}

fn hex(out: &mut Vec<u8>, prefix: &str, code: u32, digits: usize) {
    // Writing to a vector cannot fail.
    write!(out, "{prefix}{code:0digits$x}").unwrap_or_default();
}

fn push(out: &mut Vec<u8>, found: char) {
    let mut buffer = [0; 4];
    out.extend_from_slice(found.encode_utf8(&mut buffer).as_bytes());
}

/// `strconv.CanBackquote`
pub(super) fn can_backquote(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok_and(|text| {
        text.chars().all(|found| match found {
            '\t' => true,
            '`' | '\x7f' | '\u{feff}' => false,
            _ => found >= ' ',
        })
    })
}
