//! Makes control characters and invisible characters visible.

use std::{borrow::Cow, fmt::Write as _};

/// Escapes these characters in a text for people as `\u{…}`. Line breaks and tabs stay.
pub(super) fn visible(text: &str) -> Cow<'_, str> {
    escaped(text, |c, into| write!(into, "{}", c.escape_unicode()))
}

/// Escapes these characters in a JSON document as `\u…`. They occur only in strings.
pub(super) fn visible_json(text: &str) -> Cow<'_, str> {
    escaped(text, |c, into| {
        c.encode_utf16(&mut [0; 2]).iter().try_for_each(|unit| write!(into, "\\u{unit:04x}"))
    })
}

fn escaped(text: &str, escape: impl Fn(char, &mut String) -> std::fmt::Result) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_hidden(c) {
            escape(c, &mut shown).expect("a string takes all that is written to it");
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// Whether a character is a control character, changes the text direction, or is invisible.
pub(super) fn is_hidden(c: char) -> bool {
    // Soft hyphen, grapheme joiner, Arabic letter mark, Hangul and Khmer fillers.
    const ALONE: [char; 9] = [
        '\u{ad}', '\u{34f}', '\u{61c}', '\u{115f}', '\u{1160}', '\u{17b4}', '\u{17b5}', '\u{3164}',
        '\u{ffa0}',
    ];
    // Mongolian selectors; zero-width characters and directional marks; line and paragraph separators, and embeddings;
    // invisible operators and isolates; variation selectors; the byte order mark; annotations; musical controls; tags.
    const RANGES: [(char, char); 9] = [
        ('\u{180b}', '\u{180f}'),
        ('\u{200b}', '\u{200f}'),
        ('\u{2028}', '\u{202e}'),
        ('\u{2060}', '\u{206f}'),
        ('\u{fe00}', '\u{fe0f}'),
        ('\u{feff}', '\u{feff}'),
        ('\u{fff0}', '\u{fffb}'),
        ('\u{1d173}', '\u{1d17a}'),
        ('\u{e0000}', '\u{e0fff}'),
    ];
    let is_control = c.is_control() && c != '\n' && c != '\t';
    is_control || ALONE.contains(&c) || RANGES.iter().any(|(first, last)| (*first..=*last).contains(&c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_and_invisible_characters_are_written_out() {
        assert_eq!(
            visible("a\u{1b}[31m\u{202e}b\u{200b}\u{7f}\r"),
            "a\\u{1b}[31m\\u{202e}b\\u{200b}\\u{7f}\\u{d}"
        );
        let plain = "naïve 漢字 \u{1f600}\n\tline";
        assert!(matches!(visible(plain), Cow::Borrowed(text) if text == plain));
    }

    #[test]
    fn json_keeps_its_meaning() {
        let value = serde_json::json!({ "a\u{202e}": "\u{85}\u{e0001}\u{1b}\n" });
        let shown = visible_json(&serde_json::to_string_pretty(&value).unwrap()).into_owned();
        assert!(!shown.contains(is_hidden), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }
}
