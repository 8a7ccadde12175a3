//! Parses expressions, with limits on their size.

use std::fmt;

use kube_cel::cel::IdedExpr;
use kube_cel::cel::parser::Parser;

use super::tokens::plain;

/// The longest rule allowed by the schema of ClusterClass.
const MAX_LENGTH: usize = 4096;
/// The most operators and brackets of one expression; the parser and the evaluator are recursive.
const MAX_OPERATORS: usize = 400;

/// The number of brackets (and question marks) beyond which the parser gets its own stack, since it uses up to 200 KiB per
/// level.
const DEEP: usize = 8;
const STACK: usize = 256 << 20;
/// The deepest nesting that Kubernetes' own parser accepts.
const UPSTREAM_DEPTH: u16 = 250;

/// Why an expression has no tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ParseError {
    /// It may be valid, but is larger than this program follows.
    TooLarge,
    Invalid(String),
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge => f.write_str("it exceeds the size limit"),
            Self::Invalid(message) => f.write_str(message),
        }
    }
}

/// Whether an expression is too large for this program. If so, nothing is reported about it.
pub(crate) fn is_too_large(expression: &str) -> bool {
    let operators = expression.chars().filter(|c| "+-*/%<>=!&|?([{".contains(*c)).count();
    expression.len() > MAX_LENGTH || operators > MAX_OPERATORS
}

/// Parses an expression like Kubernetes, with optional syntax.
pub(crate) fn parse(expression: &str) -> Result<IdedExpr, ParseError> {
    if is_too_large(expression) {
        return Err(ParseError::TooLarge);
    }
    let expression = plain(expression);
    let expression = expression.as_str();
    if expression.chars().filter(|c| "?([{".contains(*c)).count() <= DEEP {
        return parse_flat(expression).map_err(ParseError::Invalid);
    }
    std::thread::scope(|scope| {
        let own = std::thread::Builder::new().stack_size(STACK);
        let parsed = own.spawn_scoped(scope, || parse_deep(expression));
        parsed
            .map_err(|_| ParseError::TooLarge)?
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn parse_flat(expression: &str) -> Result<IdedExpr, String> {
    let parser = Parser::new().enable_optional_syntax(true);
    parser.parse(expression).map_err(|error| error.to_string())
}

/// An expression that only Kubernetes' parser would accept is too large; one that it would refuse as well is a fault.
fn parse_deep(expression: &str) -> Result<IdedExpr, ParseError> {
    parse_flat(expression).map_err(|_| {
        let parser = Parser::new().enable_optional_syntax(true).max_recursion_depth(UPSTREAM_DEPTH);
        match parser.parse(expression).map_err(|error| error.to_string()) {
            Ok(_) => ParseError::TooLarge,
            Err(words) if words.contains("Recursion limit") => {
                ParseError::Invalid(format!("it is nested deeper than {UPSTREAM_DEPTH} levels"))
            }
            Err(words) => ParseError::Invalid(words),
        }
    })
}
