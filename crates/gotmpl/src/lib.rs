//! Go's `text/template` with sprig's hermetic functions, and YAML as `sigs.k8s.io/yaml` reads it.
//!
//! Kubernetes tools render templates with Go. This crate renders the same templates to the same bytes, offline, and stops
//! templates that would run or grow forever.
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
//! A function whose result cannot be known offline, such as `genPrivateKey`, parses but fails with
//! [`ErrorKind::Unsupported`] when called. Numbers in the data are `float64`, as `encoding/json` reads them.

mod ast;
mod budget;
mod clock;
mod constraint;
mod error;
mod evaluate;
mod format;
mod functions;
mod integer_comparisons;
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

pub use constraint::{Bound, Constraint, Operator};
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

/// A parsed template that can be rendered any number of times.
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
    ///
    /// [`ErrorKind::Syntax`] if Go would refuse the text, including unknown functions and variables.
    /// [`ErrorKind::Limit`] if it is nested too deeply.
    pub fn parse(source: &str) -> Result<Template, Error> {
        Self::parse_with(source, functions::find)
    }

    /// Parses a template that may only call the functions of `text/template`.
    ///
    /// # Errors
    ///
    /// As [`Template::parse`].
    pub fn parse_plain(source: &str) -> Result<Template, Error> {
        Self::parse_with(source, functions::find_builtin)
    }

    fn parse_with(source: &str, find: parser::Find) -> Result<Template, Error> {
        let trees = parser::parse(source, find).map_err(|fault| *fault)?;
        Ok(Template { reads: Reads::of(&trees), trees, patterns: Patterns::default() })
    }

    /// The paths of its data that the template reads; `None` if it uses its data as a whole. Data with equal values at these
    /// paths renders to the same text.
    ///
    /// ```
    /// let template = gotmpl::Template::parse("{{ .flavor }} {{ .network.mtu }}")?;
    /// let reads = template.reads().expect("it reads single fields");
    /// assert_eq!(reads.fields().collect::<Vec<_>>(), ["flavor", "network"]);
    /// # Ok::<(), gotmpl::Error>(())
    /// ```
    pub fn reads(&self) -> Option<&Reads> {
        self.reads.as_ref()
    }

    /// Renders the template with data as read by `encoding/json`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Exec`] if Go would fail, [`ErrorKind::Unsupported`] if the result cannot be known offline, and
    /// [`ErrorKind::Limit`] if rendering takes too much time or memory.
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
