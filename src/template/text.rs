//! A field of a definition that may contain expressions.

use std::fmt;

use super::{
    context::{Context, Scope},
    expression::{Expression, Failure},
    language,
    lex::expression_end,
    names::Names,
    render::Renderer,
    visible::Visible,
    words::{TextPart, push_parts},
};
use crate::{
    note::Notes,
    yaml::{Node, Origin, Source, Value},
};

/// A text outside of a template that may contain expressions. Two texts are equal if they are written the same, apart from
/// the blanks around expressions.
pub struct Text {
    parts: Vec<TextPart>,
    source: Source,
    origin: Origin,
}

impl Text {
    /// Parses the text of a node in `source`. Faults go to `notes`.
    pub fn parse(
        node: &Node,
        source: &Source,
        level: u32,
        visible: Visible,
        notes: &mut Notes,
    ) -> Option<Self> {
        let place = source.word(node.origin.offset as usize);
        let Some(text) = node.as_str() else {
            notes
                .error("template-value", place, format!("{} where a text is expected", node.kind()))
                .hint("put it in quotes");
            return None;
        };
        if language::environment(level).is_none() {
            notes
                .error("template-language", place, format!("template language level {level} is not known"))
                .hint("a newer stackloom made this release: use that one");
            return None;
        }
        let (mut parts, mut rest) = (Vec::new(), text);
        // If the file contains the text verbatim, expressions have exact places. Otherwise they have that of the whole text.
        let offset = node.origin.offset as usize;
        let mut at =
            source.text.get(offset..).and_then(|file| file.find(text)).map_or(offset, |at| offset + at);
        while let Some(found) = rest.find("${{") {
            let Some(length) = expression_end(&rest[found + 3..]) else {
                notes
                    .error("template-syntax", place, "`${{` without `}}`")
                    .hint("close the expression, or write `${{ \"${{\" }}` for the text `${{`");
                return None;
            };
            if found > 0 {
                parts.push(TextPart::Text(rest[..found].to_owned()));
            }
            let written = &rest[found + 3..found + 3 + length];
            match Expression::compile(written, at + found + 3, level) {
                Ok(expression) => parts.push(TextPart::Expression(expression)),
                Err(Failure { code, message, hint, .. }) => {
                    notes.error(code, place, message).hints.extend(hint);
                    return None;
                }
            }
            at += found + length + 5;
            rest = &rest[found + length + 5..];
        }
        if !rest.is_empty() {
            parts.push(TextPart::Text(rest.to_owned()));
        }
        let before = notes.errors();
        Names::new(source, visible, notes).parts(&parts);
        (notes.errors() == before).then(|| Self { parts, source: source.clone(), origin: node.origin })
    }

    /// Evaluates the text. Faults go to `notes`.
    pub fn render(&self, context: &Context, notes: &mut Notes) -> Option<Node> {
        let mut renderer = Renderer::new(&self.source, context, notes);
        let (text, origin) = renderer.text_of(&self.parts, &Scope::new(context), self.origin).ok()?;
        Some(Node { value: Value::String(text), origin })
    }
}

impl fmt::Display for Text {
    /// Writes the canonical form, which parses back into the same text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        push_parts(&mut text, &self.parts);
        f.write_str(&text)
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_string(), f)
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}
