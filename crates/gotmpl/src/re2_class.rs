//! Character classes and escapes of Go's regular expressions.

use regex::Regex;

use super::error::{Outcome, unsupported};
use super::re2::Translator;

/// The class names allowed between `[:` and `:]`.
const POSIX: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
    "upper", "word", "xdigit",
];

/// Translates a class after its opening bracket.
pub(super) fn class(source: &mut Translator<'_>) -> Outcome<()> {
    source.out.push('[');
    if source.accept("^") {
        source.out.push('^');
    }
    let mut first = true;
    loop {
        match source.peek() {
            None => return source.fail("missing closing ]"),
            Some(']') if !first => {
                source.at += 1;
                source.out.push(']');
                return Ok(());
            }
            Some(_) => item(source)?,
        }
        first = false;
    }
}

fn item(source: &mut Translator<'_>) -> Outcome<()> {
    if source.rest().starts_with("[:") && posix(source)? {
        return Ok(());
    }
    let mut ahead = source.rest().chars();
    if ahead.next() == Some('\\') {
        let fixed = match ahead.next() {
            Some('d') => "0-9",
            Some('D') => "[^0-9]",
            Some('s') => "\\t\\n\\x0c\\r\\x20",
            Some('S') => "[^\\t\\n\\x0c\\r\\x20]",
            Some('w') => "0-9A-Za-z_",
            Some('W') => "[^0-9A-Za-z_]",
            Some(kind @ ('p' | 'P')) => {
                source.at += 2;
                let class = property(source, kind == 'P')?;
                source.out.push_str(&class);
                return Ok(());
            }
            _ => return range(source),
        };
        source.at += 2;
        source.out.push_str(fixed);
        return Ok(());
    }
    range(source)
}

/// Translates `[:name:]`. Reports whether there is one.
fn posix(source: &mut Translator<'_>) -> Outcome<bool> {
    let Some(end) = source.rest().get(2..).and_then(|rest| rest.find(":]")) else {
        return Ok(false);
    };
    let text = source.rest().get(..end + 4).unwrap_or_default();
    let name = text.get(2..end + 2).unwrap_or_default();
    if !POSIX.contains(&name.strip_prefix('^').unwrap_or(name)) {
        return source.fail("invalid character class range");
    }
    source.at += text.len();
    source.out.push_str(text);
    Ok(true)
}

fn range(source: &mut Translator<'_>) -> Outcome<()> {
    let low = character(source)?;
    source.literal(low);
    let rest = source.rest();
    if rest.starts_with('-') && rest.len() > 1 && !rest.starts_with("-]") {
        source.at += 1;
        let high = character(source)?;
        if high < low {
            return source.fail("invalid character class range");
        }
        source.out.push('-');
        source.literal(high);
    }
    Ok(())
}

fn character(source: &mut Translator<'_>) -> Outcome<char> {
    match source.next() {
        None => source.fail("missing closing ]"),
        Some('\\') => escaped_char(source),
        Some(found) => Ok(found),
    }
}

/// The character of an escape, after its backslash.
pub(super) fn escaped_char(source: &mut Translator<'_>) -> Outcome<char> {
    let Some(kind) = source.next() else {
        return source.fail("trailing backslash at end of expression");
    };
    Ok(match kind {
        '1'..='7' if !source.peek().is_some_and(|next| next.is_digit(8)) => {
            return source.fail("invalid escape sequence");
        }
        '0'..='7' => {
            let mut code = kind.to_digit(8).unwrap_or(0);
            for _ in 0..2 {
                let Some(digit) = source.peek().and_then(|next| next.to_digit(8)) else {
                    break;
                };
                source.at += 1;
                code = code * 8 + digit;
            }
            return code_point(source, code);
        }
        'x' => return hex(source),
        'a' => '\x07',
        'f' => '\x0c',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\x0b',
        _ if kind.is_ascii() && !kind.is_ascii_alphanumeric() => kind,
        _ => return source.fail("invalid escape sequence"),
    })
}

fn hex(source: &mut Translator<'_>) -> Outcome<char> {
    let digits = if source.accept("{") {
        let Some(end) = source.rest().find('}') else {
            return source.fail("invalid escape sequence");
        };
        let digits = source.rest().get(..end).unwrap_or_default();
        source.at += end + 1;
        digits
    } else {
        let Some(digits) = source.rest().get(..2) else {
            return source.fail("invalid escape sequence");
        };
        source.at += 2;
        digits
    };
    let trimmed = digits.trim_start_matches('0');
    let plain = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    if !plain || trimmed.len() > 6 {
        return source.fail("invalid escape sequence");
    }
    let code = if trimmed.is_empty() { Ok(0) } else { u32::from_str_radix(trimmed, 16) };
    code_point(source, code.unwrap_or(u32::MAX))
}

fn code_point(source: &Translator<'_>, code: u32) -> Outcome<char> {
    match char::from_u32(code) {
        Some(found) => Ok(found),
        None if code <= 0x10_ffff => {
            Err(unsupported("half a surrogate pair in a regular expression is not supported"))
        }
        None => source.fail("invalid escape sequence"),
    }
}

/// Translates a Unicode property, after its `\p`.
pub(super) fn property(source: &mut Translator<'_>, negated: bool) -> Outcome<String> {
    let name = if source.accept("{") {
        let Some(end) = source.rest().find('}') else {
            return source.fail("invalid character class range");
        };
        let name = source.rest().get(..end).unwrap_or_default();
        source.at += end + 1;
        name
    } else {
        let start = source.rest();
        let Some(found) = source.next() else {
            return source.fail("invalid character class range");
        };
        start.get(..found.len_utf8()).unwrap_or_default()
    };
    let (name, negated) = match name.strip_prefix('^') {
        Some(name) => (name, !negated),
        None => (name, negated),
    };
    let plain = |found: char| found.is_ascii_alphanumeric() || "_- ".contains(found);
    if name.is_empty() || !name.chars().all(plain) {
        return source.fail("invalid character class range");
    }
    // Go supports categories and scripts, but no other properties.
    let known = ["gc", "sc"].into_iter().find(|kind| Regex::new(&format!("\\p{{{kind}={name}}}")).is_ok());
    let mark = if negated { 'P' } else { 'p' };
    match known {
        Some(kind) => Ok(format!("\\{mark}{{{kind}={name}}}")),
        None => source.fail("invalid character class range"),
    }
}
