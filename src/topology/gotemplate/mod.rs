//! Go's `text/template` with sprig's hermetic functions, and YAML as `sigs.k8s.io/yaml` reads it.

mod ast;
mod budget;
mod clock;
mod constraint;
mod error;
mod evaluate;
mod facts;
mod format;
mod functions;
mod json;
mod layout;
mod layout_parse;
mod lexer;
mod literal;
mod methods;
mod operand;
mod parser;
mod re2;
mod re2_class;
mod reads;
mod regex;
mod render;
mod token;
mod unicode;
mod url;
mod value;
mod version;
pub mod yaml;

#[cfg(test)]
mod tests;

pub(in crate::topology) use clock::{duration_text, parse_duration, utc_seconds};
pub use error::{Error, ErrorKind};
pub use reads::Reads;
pub(in crate::topology) use regex::go_regex;

use budget::Context;
use regex::Patterns;
use render::Renderer;
use value::Value;

/// A parsed template, which can be rendered any number of times.
#[derive(Debug)]
pub struct Template {
    trees: ast::Trees,
    patterns: Patterns,
    reads: Option<Reads>,
}

impl Template {
    /// Parses a template; functions and variables that do not exist are errors already here.
    pub fn parse(source: &str) -> Result<Template, Error> {
        Self::parse_with(source, functions::find)
    }

    /// Parses a template that has the functions of `text/template` alone, as those of names have.
    pub fn parse_plain(source: &str) -> Result<Template, Error> {
        Self::parse_with(source, functions::find_builtin)
    }

    fn parse_with(source: &str, find: parser::Find) -> Result<Template, Error> {
        let trees = parser::parse(source, find).map_err(|fault| *fault)?;
        Ok(Template { reads: Reads::of(&trees), trees, patterns: Patterns::default() })
    }

    /// What of its data the template looks at: data that has the same there renders to the same. None where it takes its
    /// data as a whole.
    pub fn reads(&self) -> Option<&Reads> {
        self.reads.as_ref()
    }

    /// Renders the template with its data, as Go does after `encoding/json` read them.
    pub fn render(&self, data: &serde_json::Value) -> Result<String, Error> {
        let mut cx = Context::new(&self.patterns);
        let dot = if self.trees.changes_data {
            Value::thaw(data, &mut cx).map_err(|fault| *fault)?
        } else {
            Value::from_json(data)
        };
        let mut renderer = Renderer::new(&self.trees, cx);
        let bytes = match renderer.run(parser::ROOT, &dot.unwrapped()) {
            Ok(bytes) => bytes,
            Err(mut fault) => {
                fault.line = fault.line.or(Some(renderer.line));
                return Err(*fault);
            }
        };
        String::from_utf8(bytes).map_err(|_| Error {
            kind: ErrorKind::Exec,
            message: "the output is not valid UTF-8".to_owned(),
            line: None,
        })
    }
}
