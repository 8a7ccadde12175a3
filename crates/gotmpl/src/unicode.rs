//! Go's character classes. ASCII is handled directly, everything else with Unicode tables.

use std::sync::LazyLock;

use regex::Regex;

/// A class of single characters. It would be `None` only if its pattern did not compile, which the tests rule out.
type Class = LazyLock<Option<Regex>>;

static LETTER: Class = LazyLock::new(|| Regex::new(r"^\p{L}$").ok());
static DIGIT: Class = LazyLock::new(|| Regex::new(r"^\p{Nd}$").ok());
static PRINT: Class = LazyLock::new(|| Regex::new(r"^[\p{L}\p{M}\p{N}\p{P}\p{S}]$").ok());

fn within(class: &Class, found: char) -> bool {
    let mut buffer = [0; 4];
    class.as_ref().is_some_and(|class| class.is_match(found.encode_utf8(&mut buffer)))
}

/// `unicode.IsLetter`
pub(super) fn is_letter(found: char) -> bool {
    if found.is_ascii() { found.is_ascii_alphabetic() } else { within(&LETTER, found) }
}

/// `unicode.IsDigit`
pub(super) fn is_digit(found: char) -> bool {
    if found.is_ascii() { found.is_ascii_digit() } else { within(&DIGIT, found) }
}

/// `unicode.IsPrint`
pub(super) fn is_print(found: char) -> bool {
    if found.is_ascii() { (' '..='~').contains(&found) } else { within(&PRINT, found) }
}

/// `unicode.IsSpace`
pub(super) fn is_space(found: char) -> bool {
    found.is_whitespace()
}

/// Whether a character may occur in names of a template.
pub(super) fn is_alphanumeric(found: char) -> bool {
    found == '_' || is_letter(found) || is_digit(found)
}

/// The first character of a Go string, its length, and whether it is valid. Invalid UTF-8 yields U+FFFD with length 1.
pub(super) fn decode(bytes: &[u8]) -> Option<(char, usize, bool)> {
    let first = *bytes.first()?;
    if first < 0x80 {
        return Some((char::from(first), 1, true));
    }
    let longest = bytes.get(..bytes.len().min(4)).unwrap_or_default();
    let valid = match std::str::from_utf8(longest) {
        Ok(text) => text,
        Err(error) => longest
            .get(..error.valid_up_to())
            .and_then(|valid| std::str::from_utf8(valid).ok())
            .unwrap_or_default(),
    };
    match valid.chars().next() {
        Some(found) => Some((found, found.len_utf8(), true)),
        None => Some((char::REPLACEMENT_CHARACTER, 1, false)),
    }
}

/// The characters of a Go string, as `range` iterates over them.
pub(super) fn runes(bytes: &[u8]) -> Vec<char> {
    let mut runes = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((found, len, _)) = decode(rest) {
        runes.push(found);
        rest = rest.get(len..).unwrap_or_default();
    }
    runes
}

/// `utf8.RuneCount`
pub(super) fn count(bytes: &[u8]) -> usize {
    let mut count = 0;
    let mut rest = bytes;
    while let Some((_, len, _)) = decode(rest) {
        count += 1;
        rest = rest.get(len..).unwrap_or_default();
    }
    count
}

/// The last character of a Go string, its length, and whether it is valid.
pub(super) fn decode_last(bytes: &[u8]) -> Option<(char, usize, bool)> {
    let last = *bytes.last()?;
    if last < 0x80 {
        return Some((char::from(last), 1, true));
    }
    for len in 2..=bytes.len().min(4) {
        let tail = bytes.get(bytes.len() - len..).unwrap_or_default();
        if let Some((found, found_len, true)) = decode(tail)
            && found_len == len
        {
            return Some((found, len, true));
        }
    }
    Some((char::REPLACEMENT_CHARACTER, 1, false))
}

/// The general categories that matter to functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Category {
    /// Lu
    Upper,
    /// Ll
    Lower,
    /// Lt
    Title,
    /// P
    Punctuation,
    /// N
    Number,
    /// Everything else.
    Other,
}

static UPPER: Class = LazyLock::new(|| Regex::new(r"^\p{Lu}$").ok());
static LOWER: Class = LazyLock::new(|| Regex::new(r"^\p{Ll}$").ok());
static TITLE: Class = LazyLock::new(|| Regex::new(r"^\p{Lt}$").ok());
static PUNCTUATION: Class = LazyLock::new(|| Regex::new(r"^\p{P}$").ok());
static NUMBER: Class = LazyLock::new(|| Regex::new(r"^\p{N}$").ok());

pub(super) fn category(found: char) -> Category {
    if found.is_ascii() {
        return match found {
            'A'..='Z' => Category::Upper,
            'a'..='z' => Category::Lower,
            '0'..='9' => Category::Number,
            '$' | '+' | '<' | '=' | '>' | '^' | '`' | '|' | '~' => Category::Other,
            '!'..='~' => Category::Punctuation,
            _ => Category::Other,
        };
    }
    let classes = [
        (&LOWER, Category::Lower),
        (&UPPER, Category::Upper),
        (&NUMBER, Category::Number),
        (&PUNCTUATION, Category::Punctuation),
        (&TITLE, Category::Title),
    ];
    let hit = classes.into_iter().find(|(class, _)| within(class, found));
    hit.map_or(Category::Other, |(_, category)| category)
}

/// `unicode.ToUpper`: the simple mapping, which always yields one character.
pub(super) fn to_upper(found: char) -> char {
    match found {
        // Greek letters with iota subscript have a longer full mapping.
        '\u{1f80}'..='\u{1f87}' | '\u{1f90}'..='\u{1f97}' | '\u{1fa0}'..='\u{1fa7}' => {
            char::from_u32(u32::from(found) + 8).unwrap_or(found)
        }
        '\u{1fb3}' => '\u{1fbc}',
        '\u{1fc3}' => '\u{1fcc}',
        '\u{1ff3}' => '\u{1ffc}',
        _ => single(found.to_uppercase()).unwrap_or(found),
    }
}

/// `unicode.ToLower`
pub(super) fn to_lower(found: char) -> char {
    match found {
        '\u{130}' => 'i',
        _ => single(found.to_lowercase()).unwrap_or(found),
    }
}

/// `unicode.ToTitle`
pub(super) fn to_title(found: char) -> char {
    match found {
        '\u{1c4}'..='\u{1c6}' => '\u{1c5}',
        '\u{1c7}'..='\u{1c9}' => '\u{1c8}',
        '\u{1ca}'..='\u{1cc}' => '\u{1cb}',
        '\u{1f1}'..='\u{1f3}' => '\u{1f2}',
        // Georgian has capital letters but does not use them in titles.
        '\u{10d0}'..='\u{10ff}' => found,
        _ => to_upper(found),
    }
}

fn single(mut mapping: impl Iterator<Item = char>) -> Option<char> {
    let first = mapping.next()?;
    mapping.next().is_none().then_some(first)
}
