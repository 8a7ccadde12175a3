//! JSON that a YAML parser cannot read as it is: kubectl reads a document that begins with a brace as JSON.
//!
//! Source: `pkg/util/yaml/decoder.go` of k8s.io/apimachinery, `YAMLOrJSONDecoder`.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::Value;

/// Rewrites a JSON document with escapes that both JSON and YAML know. Unchanged if it is not JSON or needs no escapes.
pub(super) fn readable(document: &str) -> Cow<'_, str> {
    let begins = document.trim_start().starts_with(['{', '[']);
    let odd = ["\\u", "\\/"].iter().any(|escape| document.contains(escape)) || document.chars().any(is_odd);
    if !begins || !odd || serde_json::from_str::<Value>(document).is_err() {
        return Cow::Borrowed(document);
    }
    let mut out = String::with_capacity(document.len());
    let mut rest = document.chars();
    while let Some(found) = rest.next() {
        match found {
            '\\' => escape(&mut out, &mut rest),
            _ if is_odd(found) => put(&mut out, u32::from(found)),
            _ => out.push(found),
        }
    }
    Cow::Owned(out)
}

/// Reports whether a character is valid in JSON text, but in YAML is invalid or a line break.
fn is_odd(found: char) -> bool {
    matches!(found, '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

fn put(out: &mut String, code: u32) {
    // Writing to a String cannot fail.
    let _ = if code > 0xffff { write!(out, "\\U{code:08x}") } else { write!(out, "\\u{code:04x}") };
}

/// Writes an escape sequence; a pair of surrogates is one character.
fn escape(out: &mut String, rest: &mut std::str::Chars<'_>) {
    let Some(kind) = rest.next() else { return };
    if kind == '/' {
        // Some YAML parsers do not know this escape.
        out.push(kind);
        return;
    }
    if kind != 'u' {
        out.extend(['\\', kind]);
        return;
    }
    let code = digits(rest);
    if !(0xd800..0xdc00).contains(&code) {
        put(out, code);
        return;
    }
    // The document is valid JSON, so the other half follows.
    rest.nth(1);
    let low = digits(rest);
    put(out, 0x1_0000 + ((code - 0xd800) << 10) + (low.wrapping_sub(0xdc00) & 0x3ff));
}

fn digits(rest: &mut std::str::Chars<'_>) -> u32 {
    (0..4).fold(0, |code, _| (code << 4) | rest.next().and_then(|digit| digit.to_digit(16)).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_json_come_through_the_reader_of_yaml() {
        let texts = [
            "{\"a\": \"\\ud83d\\ude00\"}",
            "{\"a\": \"raw \u{2028} and \u{85} and \u{2029} and \u{7f}\"}",
            "{\"a\": \"\\u2028 \\u0085 \\u00e9 \\\\u1234 \\\" \\\\\"}",
            "{\"a\": \"a\\/b \\\\/\"}",
            "{\"\\ud83d\\ude00\": [\"\u{feff}\", \"\\uffff\", \"\u{1f600}\"]}",
        ];
        for text in texts {
            let meant: Value = serde_json::from_str(text).unwrap();
            assert_eq!(gotmpl::yaml::parse(&readable(text)).unwrap(), meant, "{text}");
        }
    }

    #[test]
    fn text_that_is_not_json_stays_unchanged() {
        for text in ["a: \"\\ud83d\\ude00\"", "{\"a\": \"\\ud83d\"}", "{a: \"\u{2028}\"}", "{\"a\": 1}"] {
            assert!(matches!(readable(text), Cow::Borrowed(_)), "{text}");
        }
    }
}
