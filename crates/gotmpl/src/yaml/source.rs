//! Checks the text for cases in which go-yaml v2 (YAML 1.1) is stricter than the parser (YAML 1.2).

/// A problem of a text, found before parsing.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SourceProblem {
    /// go-yaml refuses the text.
    Refused(&'static str, usize),
    /// go-yaml may read the text differently.
    Unclear(&'static str),
}

/// Checks directives, leading tabs, and line breaks that only YAML 1.1 knows.
pub(super) fn check(text: &str) -> Option<SourceProblem> {
    if text.contains(['\u{85}', '\u{2028}', '\u{2029}']) {
        return Some(SourceProblem::Unclear("a line break of YAML 1.1 only"));
    }
    let mut content = false;
    for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        if let Some(directive) = line.strip_prefix('%') {
            if content {
                return Some(SourceProblem::Unclear("a line that starts with a percent sign"));
            }
            let name = directive.split_whitespace().next().unwrap_or_default();
            if name != "YAML" && name != "TAG" {
                return Some(SourceProblem::Refused("found unknown directive name", index + 1));
            }
            continue;
        }
        let inner = line.trim_start_matches(' ');
        if !content && inner.starts_with('\t') {
            let message = "found character that cannot start any token";
            return Some(SourceProblem::Refused(message, index + 1));
        }
        let marker = line.strip_prefix("...").map(|rest| rest.chars().next());
        if !content && marker.is_some_and(|next| next.is_none_or(char::is_whitespace)) {
            return Some(SourceProblem::Refused("did not find expected node content", index + 1));
        }
        let after_mark = inner.trim_start_matches(['-', '?', ' ']);
        if after_mark.starts_with('\t') && inner.starts_with(['-', '?']) {
            return Some(SourceProblem::Unclear("a tab after a dash"));
        }
        content |= !inner.is_empty() && !inner.starts_with('#');
    }
    None
}

/// The text after the first value.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Rest {
    /// Nothing relevant, or the first value is not in brackets or quotes.
    None,
    /// Words that go-yaml ignores. The value ends at this byte.
    Ignored(usize),
    /// Something that go-yaml may read.
    Unclear,
}

/// Finds the end of a first value in brackets or quotes, and classifies the text after it.
pub(super) fn first_value(text: &str) -> Rest {
    let body = text.trim_start_matches('\u{feff}').trim_start();
    let body = body.strip_prefix("---").unwrap_or(body).trim_start();
    let Some(len) = value_len(body) else { return Rest::None };
    let rest = body.get(len..).unwrap_or_default();
    if is_trivial(rest) || rest.trim_start().starts_with(':') {
        return Rest::None;
    }
    let line = rest.trim_start().lines().next().unwrap_or_default();
    let plain = |found: char| found.is_ascii_alphanumeric() || "_./- ".contains(found);
    let dash = line.ends_with('-') || line.contains("- ");
    if line.chars().all(plain) && !dash { Rest::Ignored(text.len() - rest.len()) } else { Rest::Unclear }
}

/// Whether only blanks and comments follow, up to a document marker.
pub(super) fn is_trivial(rest: &str) -> bool {
    let mut lines = rest.lines();
    let first = lines.next().unwrap_or_default();
    let blank = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    blank(first)
        && lines
            .find(|line| !blank(line))
            .is_none_or(|line| line.starts_with("---") || line.starts_with("..."))
}

/// The length of the quoted text or bracketed collection at the start of a text.
fn value_len(text: &str) -> Option<usize> {
    let first = text.chars().next()?;
    if matches!(first, '"' | '\'') {
        return quoted_len(text);
    }
    if !matches!(first, '[' | '{') {
        return None;
    }
    let mut depth = 0_usize;
    let mut at = 0;
    let mut token = true;
    while let Some(found) = text.get(at..).and_then(|rest| rest.chars().next()) {
        match found {
            '"' | '\'' if token => {
                at += quoted_len(text.get(at..)?)?;
                token = false;
                continue;
            }
            '#' if token && at > 0 => {
                at += text.get(at..)?.find('\n')?;
                continue;
            }
            '[' | '{' => depth += 1,
            ']' | '}' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
        token = matches!(found, '[' | '{' | ',' | ':') || found.is_whitespace();
        at += found.len_utf8();
    }
    None
}

/// The length of a quoted text, including the quotes.
fn quoted_len(text: &str) -> Option<usize> {
    let quote = text.chars().next()?;
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, found)) = chars.next() {
        if found == '\\' && quote == '"' {
            chars.next();
        } else if found == quote {
            if quote == '\'' && chars.peek().is_some_and(|(_, next)| *next == quote) {
                chars.next();
                continue;
            }
            return Some(at + 1);
        }
    }
    None
}

/// Removes the added line break of a block scalar at the end of a text; none if there was none.
pub(super) fn without_added_break<'s>(text: &str, scalar: &'s str) -> Option<&'s str> {
    let last_line = text.rsplit('\n').next().unwrap_or_default();
    let stripped = scalar.strip_suffix('\n')?;
    let last_kept = stripped.rsplit('\n').next().unwrap_or_default();
    let blank_kept = !last_kept.is_empty() && last_kept.trim().is_empty();
    let added = !last_line.trim().is_empty() || !last_line.is_empty() && blank_kept;
    added.then_some(stripped)
}

/// Whether a double-quoted scalar contains escapes that go-yaml does not support.
pub(super) fn has_foreign_escape(source: &str) -> bool {
    let mut rest = source;
    while let Some((_, escape)) = rest.split_once('\\') {
        let half = escape.strip_prefix('u').and_then(|digits| digits.get(..4));
        let half = half.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        if escape.starts_with('/') || half.is_some_and(|code| (0xd800..0xe000).contains(&code)) {
            return true;
        }
        let mut chars = escape.chars();
        chars.next();
        rest = chars.as_str();
    }
    false
}

/// How go-yaml reads a plain scalar within brackets.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// In the same way.
    Same,
    /// As several tokens that do not fit together.
    Refused,
    /// In some other way.
    Unclear,
}

/// Compares both readings of a plain scalar within brackets. `after` is the text after it.
pub(super) fn in_flow(scalar: &str, after: &str, is_key: bool) -> Flow {
    if scalar.starts_with('?') {
        return Flow::Unclear;
    }
    if scalar.contains('?') || scalar.starts_with(':') {
        return Flow::Refused;
    }
    let next = after.strip_prefix(':').and_then(|rest| rest.chars().next());
    if is_key && matches!(next, Some(',' | ']' | '}')) {
        return Flow::Unclear;
    }
    Flow::Same
}

/// Whether go-yaml accepts a text as the name of an anchor.
pub(super) fn is_anchor(name: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    !name.is_empty() && name.bytes().all(word)
}
