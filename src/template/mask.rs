//! Hides `${{ … }}` from the YAML reader. Each expression is replaced by a stand-in of the same length that every YAML
//! reader accepts, so all later bytes keep their position.

use std::ops::Range;

use super::{lex::expression_end, limits::MAX_EXPRESSIONS};
use crate::{note::Notes, yaml::Source};

/// The first characters of stand-ins, which a template's own text must not contain.
const PRIVATE: std::ops::RangeInclusive<char> = '\u{e000}'..='\u{f8ff}';
const RADIX: usize = 6400;
/// The number of bytes of the two characters that number an expression.
const NUMBER: usize = 6;

/// A text with masked expressions.
pub(super) struct Mask {
    pub(super) text: String,
    /// The expressions including their `${{` and `}}`.
    spans: Vec<Range<usize>>,
}

/// A piece of a scalar.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    Text(&'a str),
    /// The bytes of an expression in the file, between its braces.
    Expression(Range<usize>),
}

impl Mask {
    /// Masks a file. Faults go to `notes`.
    pub(super) fn new(source: &Source, notes: &mut Notes) -> Option<Self> {
        let text = &*source.text;
        if let Some((at, _)) = text.char_indices().find(|(_, c)| PRIVATE.contains(c)) {
            notes
                .error("template-character", source.place(at, 1), "a private-use character")
                .hint("remove it: templates cannot contain characters from U+E000 to U+F8FF");
            return None;
        }
        // Only YAML breaks lines here, so statements would be on lines that nobody sees.
        if let Some(at) = lone_return(text) {
            notes
                .error("template-character", source.place(at, 1), "a carriage return without a line feed")
                .hint("end lines with a line feed");
            return None;
        }
        if let Some(start) = one_too_many(text) {
            return too_many(source, start, notes);
        }
        let mut mask = Self { text: String::with_capacity(text.len()), spans: Vec::new() };
        let (mut from, mut sound) = (0, true);
        let mut behind = LinePrefix::default();
        while let Some(found) = text[from..].find("${{") {
            let start = from + found;
            mask.text.push_str(&text[from..start]);
            from = start + 3;
            match expression_end(&text[from..]) {
                Some(length) if length > 0 => {
                    from += length + 2;
                    mask.hide(start..from);
                }
                end => {
                    mask.text.push_str("${{");
                    if behind.open_on_line(text, start) > MOST_OPEN {
                        return too_many_open(source, start, notes);
                    }
                    sound &= behind.comment || unended(source, start, end.is_some(), notes);
                }
            }
        }
        mask.text.push_str(&text[from..]);
        sound.then_some(mask)
    }

    fn hide(&mut self, span: Range<usize>) {
        let number = self.spans.len();
        for digit in [number / RADIX % RADIX, number % RADIX] {
            let code = u32::try_from(digit).unwrap_or_default() + *PRIVATE.start() as u32;
            self.text.push(char::from_u32(code).unwrap_or(*PRIVATE.start()));
        }
        self.text.extend(std::iter::repeat_n('x', span.len() - NUMBER));
        self.spans.push(span);
    }

    /// The pieces of a scalar that was read from the bytes `within`; none if its text contains private characters that do
    /// not come from an expression.
    pub(super) fn pieces<'t>(&self, text: &'t str, within: &Range<usize>) -> Option<Vec<Piece<'t>>> {
        let (mut pieces, mut rest, mut next) = (Vec::new(), text, 0);
        while let Some(at) = rest.find(|c| PRIVATE.contains(&c)) {
            if at > 0 {
                pieces.push(Piece::Text(&rest[..at]));
            }
            let mut digits = rest[at..].chars();
            let (high, low) = (digits.next().and_then(digit)?, digits.next().and_then(digit)?);
            let number = high * RADIX + low;
            let span = self.spans.get(number)?;
            if number < next || span.start < within.start || span.end > within.end {
                return None;
            }
            next = number + 1;
            pieces.push(Piece::Expression(span.start + 3..span.end - 2));
            rest = rest.get(at + span.len()..)?;
        }
        if !rest.is_empty() {
            pieces.push(Piece::Text(rest));
        }
        Some(pieces)
    }
}

fn digit(c: char) -> Option<usize> {
    PRIVATE.contains(&c).then(|| (c as u32 - *PRIVATE.start() as u32) as usize)
}

fn lone_return(text: &str) -> Option<usize> {
    text.match_indices('\r').map(|(at, _)| at).find(|at| text.as_bytes().get(at + 1) != Some(&b'\n'))
}

/// The most unclosed expressions on one line, since the search for each end scans the rest of the line.
const MOST_OPEN: usize = 1000;

/// The part of a line before a position. Positions are queried in ascending order.
#[derive(Default)]
struct LinePrefix {
    at: usize,
    /// Whether it contains a `#`. The position may then be in a comment, where nothing is an expression.
    comment: bool,
    /// The number of queried positions on this line.
    open: usize,
}

impl LinePrefix {
    /// Moves on to the next position and returns how many on its line have been queried.
    fn open_on_line(&mut self, text: &str, at: usize) -> usize {
        let passed = &text[self.at..at];
        let on_line = passed.rfind('\n').map(|end| &passed[end + 1..]);
        if on_line.is_some() {
            (self.comment, self.open) = (false, 0);
        }
        self.comment |= on_line.unwrap_or(passed).contains('#');
        self.at = at;
        self.open += 1;
        self.open
    }
}

/// The position of the first expression or statement beyond the limit of a file.
fn one_too_many(text: &str) -> Option<usize> {
    let mut begins = 0;
    let mut signs = text.split_inclusive('\n').flat_map(|line| {
        let start = begins;
        begins += line.len();
        let statement =
            line.trim_start().starts_with("#%").then_some(start + line.len() - line.trim_start().len());
        statement.into_iter().chain(line.match_indices("${{").map(move |(at, _)| start + at))
    });
    signs.nth(MAX_EXPRESSIONS)
}

fn too_many<T>(source: &Source, start: usize, notes: &mut Notes) -> Option<T> {
    notes
        .error(
            "template-limit",
            source.place(start, 2),
            format!("the file has more than {MAX_EXPRESSIONS} expressions and statements"),
        )
        .hint("write repeated entries as a loop, or split the file");
    None
}

fn too_many_open<T>(source: &Source, start: usize, notes: &mut Notes) -> Option<T> {
    notes
        .error(
            "template-limit",
            source.place(start, 3),
            format!("more than {MOST_OPEN} unclosed expressions on one line"),
        )
        .hint("close each `${{` with `}}` on the same line");
    None
}

fn unended(source: &Source, start: usize, empty: bool, notes: &mut Notes) -> bool {
    let (message, hint) = if empty {
        ("an empty expression", "write `${{ … }}` with an expression, or `${{ \"${{\" }}` for the text `${{`")
    } else {
        (
            "`${{` without `}}` on the same line",
            "close the expression, or write `${{ \"${{\" }}` for the text `${{`",
        )
    };
    notes.error("template-syntax", source.place(start, 3), message).hint(hint);
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::Sources;

    fn mask(text: &str) -> (Option<Mask>, Notes) {
        let mut sources = Sources::default();
        let id = sources.add("a.yaml", text);
        let mut notes = Notes::new();
        let mask = sources.get(id).and_then(|source| Mask::new(source, &mut notes));
        (mask, notes)
    }

    #[test]
    fn masking_keeps_every_offset() {
        let text = "a: ${{x}} b\n${{ 'é}}' }}: ${{ {'a': {}} }}\n";
        let (mask, notes) = mask(text);
        let mask = mask.expect("it is sound");
        assert!(notes.is_empty());
        assert_eq!(mask.text.len(), text.len());
        assert_eq!(mask.text.find(": "), text.find(": "));
        assert!(!mask.text.contains('{'));
        let pieces = mask.pieces(&mask.text[3..11], &(3..11)).expect("it is ours");
        assert_eq!(pieces, [Piece::Expression(6..7), Piece::Text(" b")]);
    }

    #[test]
    fn unclosed_expressions_are_errors_outside_comments() {
        assert!(mask("a: ${{ b").0.is_none());
        assert!(mask("a: ${{}}").0.is_none());
        assert!(mask("a: \u{e000}").0.is_none());
        assert!(mask("# ${{ b").0.is_some());
    }

    #[test]
    fn characters_of_ours_that_were_escaped_into_a_text_are_no_expressions() {
        let (mask, _) = mask("a: ${{ b }}");
        let mask = mask.expect("it is sound");
        let forged = mask.text[3..].to_owned();
        assert_eq!(mask.pieces(&forged, &(3..11)), Some(vec![Piece::Expression(6..9)]));
        assert_eq!(mask.pieces(&forged, &(20..30)), None);
        assert_eq!(mask.pieces("\u{e000}", &(0..30)), None);
    }
}
