//! Go's `text/template` with sprig's hermetic functions, and YAML as `sigs.k8s.io/yaml` reads it.
//!
//! Kubernetes tools render templates with Go. This crate renders the same templates to the same bytes, offline, and
//! stops those that would run or grow without end.
//!
//! ```
//! use gotmpl::Template;
//! use serde_json::json;
//!
//! let template = Template::parse("{{ .cluster }}-{{ .pool | default \"md-0\" | trunc 4 }}")?;
//! assert_eq!(template.render(&json!({ "cluster": "dev-1" }))?, "dev-1-md-0");
//!
//! let error = template.render(&json!({ "cluster": "dev-1", "pool": 4 })).unwrap_err();
//! assert_eq!(error.kind, gotmpl::ErrorKind::Exec);
//! # Ok::<(), gotmpl::Error>(())
//! ```
//!
//! A function whose result nobody can know offline, such as `genPrivateKey`, parses and then fails with
//! [`ErrorKind::Unsupported`]. Numbers in the data are `float64`, as `encoding/json` reads them.

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
pub mod regexp;
mod render;
mod token;
pub mod time;
mod unicode;
mod url;
mod value;
mod version;
pub mod yaml;

pub use constraint::Constraint;
pub use error::{Error, ErrorKind};
pub use reads::{Found, Reads};
pub use url::Url;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

use budget::Context;
use regexp::Patterns;
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
    /// Parses a template that may call sprig's functions.
    ///
    /// # Errors
    /// [`ErrorKind::Syntax`] where Go would refuse the text: functions and variables that do not exist are found here.
    /// [`ErrorKind::Limit`] where it nests too deep.
    pub fn parse(source: &str) -> Result<Template, Error> {
        Self::parse_with(source, functions::find)
    }

    /// Parses a template that may call the functions of `text/template` alone.
    ///
    /// # Errors
    /// As [`Template::parse`].
    pub fn parse_plain(source: &str) -> Result<Template, Error> {
        Self::parse_with(source, functions::find_builtin)
    }

    fn parse_with(source: &str, find: parser::Find) -> Result<Template, Error> {
        let trees = parser::parse(source, find).map_err(|fault| *fault)?;
        Ok(Template { reads: Reads::of(&trees), trees, patterns: Patterns::default() })
    }

    /// The paths of its data that the template looks at; `None` where it takes its data as a whole. Data that is the same
    /// at these paths renders to the same text.
    pub fn reads(&self) -> Option<&Reads> {
        self.reads.as_ref()
    }

    /// Renders the template with data as `encoding/json` reads it.
    ///
    /// # Errors
    /// [`ErrorKind::Exec`] where Go would stop, [`ErrorKind::Unsupported`] where the result cannot be known offline, and
    /// [`ErrorKind::Limit`] where rendering takes too much time or memory.
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
