//! Structural templates: parsed once, evaluated many times.
//!
//! `${{ expression }}` stands for a value. `#% if`, `#% for` and `#% set` on separate lines enclose whole entries of one
//! map or list. Before YAML is read, each expression is replaced by a stand-in of the same length ([`mask`]). The reader
//! returns statements as comments, and each is assigned to its collection ([`assign`]).
//!
//! The result is a tree ([`tree`]). It is either evaluated into nodes ([`render`]) or written in canonical form, which
//! parses back into the same template. The expression language is listed in [`language`].
//!
//! Deliberately absent: templates that include others, macros, and text that is rendered and then parsed again.

mod assign;
mod checks;
mod context;
mod expression;
mod filters;
mod kinds;
mod language;
mod lex;
mod limits;
mod lists;
mod load;
mod mask;
mod names;
mod record;
mod render;
mod statement;
mod text;
mod tracer;
mod tree;
mod value;
mod visible;
mod words;

use std::fmt;

pub use context::Context;
pub use kinds::ObjectKind;
pub use language::LANGUAGE;
pub(crate) use lex::expression_end;
pub use record::{EnclosingStatement, Line, Read, Recorder, Trace};
pub use text::Text;
pub use tree::Tree;
pub use visible::Visible;

use crate::{
    note::{Notes, Place},
    yaml::{Node, Source, emit},
};

/// A template. Two templates are equal if they differ only in comments, formatting and the order of keys.
pub struct Template {
    source: Source,
    documents: Vec<Tree>,
}

impl Template {
    /// Reads a template of a language level. Faults go to `notes`.
    pub fn load(source: &Source, level: u32, visible: Visible, notes: &mut Notes) -> Option<Self> {
        if language::environment(level).is_none() {
            notes
                .error(
                    "template-language",
                    Place::file(&*source.path),
                    format!("template language level {level} is not known"),
                )
                .hint(format!("this program supports levels up to {LANGUAGE}: use a newer one"));
            return None;
        }
        let documents = load::load(source, level, notes)?;
        let before = notes.errors();
        for document in &documents {
            names::Names::new(source, visible, notes).tree(document);
        }
        (notes.errors() == before).then(|| Self { source: source.clone(), documents })
    }

    /// Evaluates the template: one node per document, without those that became `{}`. All faults go to `notes`.
    pub fn render(&self, context: &Context, notes: &mut Notes) -> Option<Vec<Node>> {
        let scope = context::Scope::new(context);
        let mut renderer = render::Renderer::new(&self.source, context, notes);
        let mut nodes = Some(Vec::new());
        for document in &self.documents {
            match renderer.tree(document, &scope) {
                Ok(node) if node.as_mapping().is_some_and(crate::yaml::Mapping::is_empty) => {}
                Ok(node) => {
                    if let Some(nodes) = &mut nodes {
                        nodes.push(node);
                    }
                }
                Err(render::Failed::Here) => nodes = None,
                Err(render::Failed::Everywhere) => return None,
            }
        }
        nodes
    }

    /// Evaluates a template of Kubernetes objects. A document that is a list yields one object per item.
    pub fn objects(&self, context: &Context, notes: &mut Notes) -> Option<Vec<Node>> {
        let documents = self.render(context, notes)?;
        let objects = documents.into_iter().flat_map(|document| match document.as_sequence() {
            Some(items) => items.to_vec(),
            None => vec![document],
        });
        Some(objects.collect())
    }

    /// The file it was read from.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The documents, for the emitter.
    pub fn documents(&self) -> &[Tree] {
        &self.documents
    }

    /// The canonical form, which is hashed and which a release freezes.
    pub fn canonical(&self) -> String {
        let mut out = String::new();
        for (at, document) in self.documents.iter().enumerate() {
            if at > 0 {
                out.push_str("---\n");
            }
            emit(document, &mut out);
        }
        out
    }
}

impl PartialEq for Template {
    fn eq(&self, other: &Self) -> bool {
        self.canonical() == other.canonical()
    }
}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:\n{}", self.source.path, self.canonical())
    }
}

#[cfg(test)]
mod unit_tests;
