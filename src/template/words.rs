//! Texts with expressions, and block scalars with statements among their lines.

use super::{
    expression::Expression,
    tree::{Item, lines},
};
use crate::yaml::{Scalar, quote};

/// A text of a template.
pub(super) struct Words {
    pub(super) kind: TextKind,
    written: CanonicalForm,
}

/// The structure of a text.
pub(super) enum TextKind {
    Parts(Vec<TextPart>),
    /// The lines of a block scalar, and whether the last one ends in a line break.
    Lines(Vec<Item<Line>>, bool),
}

/// A line of a block scalar.
pub(super) struct Line {
    pub(super) parts: Vec<TextPart>,
    /// The byte of the file at which its text starts.
    pub(super) offset: usize,
}

pub(super) enum TextPart {
    Text(String),
    Expression(Expression),
}

enum CanonicalForm {
    /// In double quotes.
    Quoted(String),
    /// A literal block.
    Literal(String),
}

impl Words {
    /// Creates a text from its parts. Only a value can be written as a literal block.
    pub(super) fn parts(parts: Vec<TextPart>, is_value: bool) -> Self {
        let written = match literal(&parts).filter(|_| is_value) {
            Some(text) => CanonicalForm::Literal(text),
            None => CanonicalForm::Quoted(quoted(&parts)),
        };
        Self { kind: TextKind::Parts(parts), written }
    }

    /// Creates a text from the lines of a block scalar.
    pub(super) fn lines(items: Vec<Item<Line>>, terminated: bool) -> Self {
        let mut written = String::new();
        lines(&items, &mut |line| {
            match line {
                Ok(line) => push_parts(&mut written, &line.parts),
                Err((statement, _)) => {
                    written.push_str("#% ");
                    written.push_str(statement);
                }
            }
            written.push('\n');
        });
        if !terminated {
            written.pop();
        }
        Self { kind: TextKind::Lines(items, terminated), written: CanonicalForm::Literal(written) }
    }

    pub(super) fn shown(&self) -> Scalar<'_> {
        match &self.written {
            CanonicalForm::Quoted(text) => Scalar::Verbatim(text),
            CanonicalForm::Literal(text) => Scalar::Literal(text),
        }
    }

    pub(super) fn written(&self) -> &str {
        match &self.written {
            CanonicalForm::Quoted(text) | CanonicalForm::Literal(text) => text,
        }
    }
}

pub(super) fn push_parts(text: &mut String, parts: &[TextPart]) {
    for part in parts {
        match part {
            TextPart::Text(part) => text.push_str(part),
            TextPart::Expression(expression) => {
                text.push_str("${{ ");
                text.push_str(&expression.text);
                text.push_str(" }}");
            }
        }
    }
}

/// The text as a literal block, if a literal block preserves it.
fn literal(parts: &[TextPart]) -> Option<String> {
    let has_break = |part: &TextPart| matches!(part, TextPart::Text(text) if text.contains('\n'));
    let special = |part: &TextPart| match part {
        TextPart::Text(text) => text.chars().any(|c| c != '\n' && c != '\t' && crate::yaml::is_special(c)),
        TextPart::Expression(_) => false,
    };
    if !parts.iter().any(has_break) || parts.iter().any(special) {
        return None;
    }
    let mut text = String::new();
    push_parts(&mut text, parts);
    Some(text)
}

fn quoted(parts: &[TextPart]) -> String {
    let mut out = "\"".to_owned();
    for part in parts {
        match part {
            TextPart::Text(text) => quote(text, &mut out),
            TextPart::Expression(_) => push_parts(&mut out, std::slice::from_ref(part)),
        }
    }
    out.push('"');
    out
}
