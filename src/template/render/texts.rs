//! Evaluates texts: words with expressions between them, and the lines of block scalars.

use std::sync::Arc;

use minijinja::value::ValueKind;

use super::{Done, Failed, Renderer};
use crate::{
    template::{
        context::Scope,
        expression::Expression,
        value::to_text,
        words::{self, TextPart, Words},
    },
    yaml::Origin,
};

impl Renderer<'_> {
    pub(super) fn words(&mut self, words: &Words, scope: &Scope, origin: Origin) -> Done<(Arc<str>, Origin)> {
        let (items, terminated) = match &words.kind {
            words::TextKind::Parts(parts) => return self.text_of(parts, scope, origin),
            words::TextKind::Lines(items, terminated) => (items, *terminated),
        };
        let base = self.depth();
        self.begin_text();
        let mut text = String::new();
        let mut first = true;
        self.items(items, scope, &mut |renderer, line, scope| {
            if !std::mem::take(&mut first) {
                text.push('\n');
            }
            renderer.line(renderer.source.origin(line.offset), base);
            renderer.parts(&line.parts, scope, &mut text, None)
        })?;
        if terminated && !first {
            text.push('\n');
        }
        Ok((text.into(), self.end_text(origin)))
    }

    /// Evaluates parts, whose text is at `origin` in the file.
    pub(in crate::template) fn text_of(
        &mut self,
        parts: &[TextPart],
        scope: &Scope,
        origin: Origin,
    ) -> Done<(Arc<str>, Origin)> {
        self.begin_text();
        let first = self.source.block_line(origin.offset as usize, 0);
        self.line(first.map_or(origin, |at| self.source.origin(at)), self.depth());
        let mut text = String::new();
        self.parts(parts, scope, &mut text, Some(origin))?;
        if let (Some(tracer), true) = (&mut self.tracer, text.ends_with('\n')) {
            tracer.unline();
        }
        Ok((text.into(), self.end_text(origin)))
    }

    /// Appends evaluated parts. `block` is the origin of the text if it may span several lines.
    fn parts(
        &mut self,
        parts: &[TextPart],
        scope: &Scope,
        text: &mut String,
        block: Option<Origin>,
    ) -> Done<()> {
        let mut result = Ok(());
        let mut lines = 0;
        for part in parts {
            let before = text.len();
            let range = match part {
                TextPart::Text(part) => {
                    text.push_str(part);
                    if let (Some(_), Some(block)) = (&self.tracer, block) {
                        self.lines(part, block, &mut lines);
                    }
                    0..1
                }
                TextPart::Expression(expression) => {
                    match self.text(expression, scope) {
                        Ok(part) => {
                            text.push_str(&part);
                            if let Some(tracer) = &mut self.tracer {
                                tracer.wrote(part.matches('\n').count());
                            }
                        }
                        Err(Failed::Here) => result = Err(Failed::Here),
                        Err(Failed::Everywhere) => return Err(Failed::Everywhere),
                    }
                    expression.range()
                }
            };
            self.budget.text(text.len() - before + 1).map_err(|excess| self.excess(excess, &range))?;
        }
        result
    }

    fn text(&mut self, expression: &Expression, scope: &Scope) -> Done<Arc<str>> {
        let value = self.evaluate(expression, scope)?;
        to_text(&value).map_err(|unfit| {
            let hint = match value.kind() {
                ValueKind::None => "check first with `#% if …`, or give a default: `… | default(\"\")`",
                _ => "take one of its values, or write it with `tojson`, `toyaml` or `join`",
            };
            self.unfit(&unfit, expression, scope, Some(hint))
        })
    }

    fn begin_text(&mut self) {
        if let Some(tracer) = &mut self.tracer {
            tracer.begin_text();
        }
    }

    fn line(&mut self, site: Origin, base: usize) {
        if let Some(tracer) = &mut self.tracer {
            tracer.line(site, base);
        }
    }

    /// Starts a line for each line break in a text of a block.
    fn lines(&mut self, text: &str, block: Origin, lines: &mut usize) {
        for _ in text.matches('\n') {
            *lines += 1;
            let at = self.source.block_line(block.offset as usize, *lines);
            self.line(at.map_or(block, |at| self.source.origin(at)), self.depth());
        }
    }

    fn end_text(&mut self, origin: Origin) -> Origin {
        self.tracer.as_mut().map_or(origin, |tracer| tracer.end_text(origin))
    }
}
