//! Go's regular expressions (RE2). Each template compiles its expressions once.
//!
//! ```
//! use gotmpl::regexp;
//!
//! assert!(regexp::compile(r"^\Qmd-0\E$")?.is_match("md-0"));
//! assert!(regexp::compile("(?<=a)b").is_err(), "Go has no look-behind");
//! # Ok::<(), gotmpl::Error>(())
//! ```

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::budget::Context;
use super::error::{Error, Outcome, exec, limit, unsupported};
use super::re2;
use super::value::Str;

/// The most compiled expressions kept per template. Beyond that, expressions are compiled again on each use.
const MAX_KEPT: usize = 32;
/// The largest compiled expression in bytes; counted repetitions of large classes can reach it.
const MAX_COMPILED: usize = 1 << 20;
/// The longest expression in bytes.
const MAX_PATTERN: usize = 16 << 10;
/// The fixed cost of compiling an expression.
const COMPILE_STEPS: u64 = 20_000;

/// A compiled expression, or the reason that compiling failed.
type Compiled = Result<Arc<Pattern>, Error>;

/// The compiled expressions of one template, shared by its renderings.
#[derive(Debug, Default)]
pub(super) struct Patterns {
    kept: Mutex<BTreeMap<Vec<u8>, Compiled>>,
}

/// A compiled expression.
#[derive(Debug)]
pub(super) struct Pattern {
    regex: regex::Regex,
    pub(super) names: Vec<Option<String>>,
    size: u64,
}

impl Patterns {
    /// The compiled form of an expression.
    pub(super) fn get(cx: &mut Context<'_>, source: &Str<'_>) -> Outcome<Arc<Pattern>> {
        let patterns = cx.patterns;
        let source = source.bytes();
        let kept = patterns.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept.get(source) {
            return known.clone().map_err(Box::new);
        }
        drop(kept);
        cx.spend(COMPILE_STEPS)?;
        let compiled = compile_bytes(source);
        let shared = match &compiled {
            Ok(pattern) => Ok(Arc::clone(pattern)),
            Err(fault) => Err((**fault).clone()),
        };
        let mut kept = patterns.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < MAX_KEPT {
            kept.insert(source.to_vec(), shared);
        }
        compiled
    }
}

fn compile_bytes(source: &[u8]) -> Outcome<Arc<Pattern>> {
    if source.len() > MAX_PATTERN {
        return Err(limit("a regular expression is too long"));
    }
    let Ok(source) = std::str::from_utf8(source) else {
        return Err(exec("error parsing regexp: invalid UTF-8"));
    };
    let translated = re2::translate(source)?;
    let built = regex::RegexBuilder::new(&translated.pattern)
        .size_limit(MAX_COMPILED)
        .dfa_size_limit(MAX_COMPILED)
        .build();
    match built {
        Ok(regex) => Ok(Arc::new(Pattern { regex, names: translated.names, size: translated.size })),
        Err(regex::Error::CompiledTooBig(_)) => Err(limit("a regular expression is too large")),
        Err(error) => {
            Err(unsupported(format!("the regular expression `{source}` is not supported: {error}")))
        }
    }
}

impl Pattern {
    /// The text as UTF-8, which the regex engine requires.
    pub(super) fn text<'t>(text: &'t Str<'_>) -> Outcome<&'t str> {
        std::str::from_utf8(text.bytes())
            .map_err(|_| unsupported("a regular expression cannot be applied to text that is not UTF-8"))
    }

    /// Charges one search through `len` bytes.
    fn pay(&self, cx: &mut Context<'_>, len: usize, share: u64) -> Outcome<()> {
        cx.spend(1 + (len as u64).saturating_mul(1 + self.size / 8) / share)
    }

    /// Whether the text has a match.
    pub(super) fn is_match(&self, cx: &mut Context<'_>, text: &str) -> Outcome<bool> {
        self.pay(cx, text.len(), 16)?;
        Ok(self.regex.is_match(text))
    }

    /// Up to `most` matches with their groups, without overlaps.
    pub(super) fn matches<'t>(
        &self,
        cx: &mut Context<'_>,
        text: &'t str,
        most: usize,
    ) -> Outcome<Vec<regex::Captures<'t>>> {
        self.pay(cx, text.len(), 16)?;
        let mut found = Vec::new();
        let mut searches = self.regex.captures_iter(text);
        while found.len() < most {
            let Some(captures) = searches.next() else { break };
            let start = captures.get(0).map_or(0, |whole| whole.start());
            cx.charge_items(self.names.len())?;
            self.pay(cx, text.len() - start, 64)?;
            found.push(captures);
        }
        Ok(found)
    }
}

/// Compiles a Go regular expression (RE2 syntax) for the `regex` crate.
///
/// # Errors
///
/// [`ErrorKind::Exec`](crate::ErrorKind::Exec) if Go refuses the expression; other kinds if this crate does not
/// support it.
pub fn compile(source: &str) -> Result<regex::Regex, Error> {
    match compile_bytes(source.as_bytes()) {
        Ok(pattern) => Ok(pattern.regex.clone()),
        Err(fault) => Err(*fault),
    }
}
