//! Expressions: compiled once and evaluated many times, with errors that name the undefined name.

use std::{ops::Range, sync::Arc};

use minijinja::{Error, ErrorKind, Value as Any};

use super::{
    context::Scope,
    language::{FILTERS, FUNCTIONS, TESTS, environment},
    lex::{Rewritten, Role, Token, TokenKind, rewrite, role, tokens},
    limits::{FUEL, MAX_NESTING},
};

/// The most words of one expression. A chain of this many operators still compiles without deep recursion.
const MAX_WORDS: usize = 400;
/// The most signs and `not`s before one operand.
const MAX_SIGNS: usize = 8;

pub(super) struct Expression {
    /// The text as written, without surrounding blanks.
    pub(super) text: Arc<str>,
    /// The byte of the file at which it starts.
    pub(super) offset: usize,
    compiled: minijinja::Expression<'static, 'static>,
    rewritten: Option<Rewritten>,
    /// The names of a path such as `a.b.c`, which is looked up without the interpreter; empty for any other expression.
    path: Vec<Arc<str>>,
    level: u32,
}

/// The reason that an expression cannot be compiled or evaluated.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) code: &'static str,
    pub(super) message: String,
    pub(super) hint: Option<String>,
    /// The affected bytes of the file.
    pub(super) range: Range<usize>,
}

impl Expression {
    /// Compiles the expression between the braces or after the keyword, which starts at the byte `offset`.
    pub(super) fn compile(written: &str, offset: usize, level: u32) -> Result<Self, Failure> {
        let text = written.trim();
        let blanks = if text.is_empty() { 0 } else { written.len() - written.trim_start().len() };
        let offset = offset + blanks;
        let fail = |range: Range<usize>, message: String, hint: &str| Failure {
            code: "template-syntax",
            message,
            hint: Some(hint.to_owned()),
            range: offset + range.start..offset + range.end,
        };
        if text.is_empty() {
            let message = "an empty expression".to_owned();
            return Err(fail(
                0..written.len().max(1),
                message,
                "write the name of a value, such as `cluster.name`",
            ));
        }
        let words = tokens(text);
        check_size(&words, text).map_err(|message| {
            fail(0..text.len(), message.to_owned(), "bind parts of it to names with `#% set`")
        })?;
        check_words(&words, text).map_err(|(range, message, hint)| fail(range, message, &hint))?;
        let Some(language) = environment(level) else {
            let message = format!("template language level {level} is not known");
            return Err(fail(0..text.len(), message, "use a newer version of stackloom"));
        };
        let syntax = |error: &Error| {
            let range = error.range().map_or(0..text.len(), |range| within(&range, text));
            let message = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
            fail(range, format!("invalid expression: {message}"), "write expressions as in Jinja")
        };
        let rewritten = rewrite(text);
        let compiled = language.compile_expression_owned(text.to_owned()).map_err(|error| syntax(&error))?;
        let compiled = match &rewritten {
            Some(rewritten) => {
                language.compile_expression_owned(rewritten.text.clone()).map_err(|error| syntax(&error))?
            }
            None => compiled,
        };
        let path = path(&words, text);
        Ok(Self { text: text.into(), offset, compiled, rewritten, path, level })
    }

    /// The names of the context that the expression reads, each with the bytes of its first occurrence in the file.
    pub(super) fn names(&self) -> Vec<(String, Range<usize>)> {
        let words = tokens(&self.text);
        let mut names: Vec<_> = self
            .compiled
            .undeclared_variables(false)
            .into_iter()
            .filter(|name| !FUNCTIONS.contains(&name.as_str()))
            .map(|name| {
                let is_it = |(at, word): &(usize, &Token)| {
                    word.text(&self.text) == name && role(&words, *at, &self.text) == Role::Name
                };
                let range = words.iter().enumerate().find(is_it).map_or(0..1, |(_, word)| word.range.clone());
                (name, self.offset + range.start..self.offset + range.end)
            })
            .collect();
        names.sort_by(|a, b| a.0.cmp(&b.0));
        names
    }

    /// The bytes of the file that the expression spans.
    pub(super) fn range(&self) -> Range<usize> {
        self.offset..self.offset + self.text.len()
    }

    /// Evaluates the expression. An undefined result is a failure.
    pub(super) fn evaluate(&self, scope: &Scope) -> Result<Any, Failure> {
        if let Some(value) = self.follow(scope) {
            return Ok(value);
        }
        match self.compiled.eval(scope.value()) {
            Ok(value) if value.is_undefined() => Err(self.undefined(None, scope)),
            Ok(value) => Ok(value),
            Err(error) => Err(self.failure(&error, scope)),
        }
    }

    /// The value at the path; none if it is undefined, since the interpreter has the better error message.
    fn follow(&self, scope: &Scope) -> Option<Any> {
        let (first, rest) = self.path.split_first()?;
        let value = rest.iter().try_fold(scope.get(first)?, |value, name| value.get_attr(name).ok())?;
        (!value.is_undefined()).then_some(value)
    }

    fn failure(&self, error: &Error, scope: &Scope) -> Failure {
        match error.kind() {
            ErrorKind::UndefinedError => self.undefined(error.detail(), scope),
            ErrorKind::OutOfFuel => Failure {
                code: "template-limit",
                message: format!("the expression takes more than {FUEL} steps"),
                hint: None,
                range: self.range(),
            },
            kind => {
                let range = error.range().map_or(0..self.text.len(), |range| self.written(&range));
                let what = error.detail().map_or_else(|| kind.to_string(), str::to_owned);
                Failure {
                    code: "template-value",
                    message: format!("`{}` fails: {what}", self.text),
                    hint: Some(way_out(kind).to_owned()),
                    range: self.offset + range.start..self.offset + range.end,
                }
            }
        }
    }

    /// Maps bytes of the compiled expression to the expression as written.
    fn written(&self, range: &Range<usize>) -> Range<usize> {
        match &self.rewritten {
            Some(rewritten) => {
                let start = rewritten.original(range.start);
                within(&(start..rewritten.original(range.end)), &self.text)
            }
            None => within(range, &self.text),
        }
    }

    /// Reports the undefined name: the one in the error, or the first undefined path.
    pub(super) fn undefined(&self, detail: Option<&str>, scope: &Scope) -> Failure {
        let reported = detail.and_then(|detail| detail.split('`').nth(1)).and_then(|path| {
            let start = self.text.find(path)?;
            Some(start..start + path.len())
        });
        let Some(range) = reported.or_else(|| self.first_undefined(scope)) else {
            return self.missing_entry(scope).unwrap_or_else(|| Failure {
                code: "undefined-name",
                message: format!("`{}` is undefined", self.text),
                hint: Some("give it a value for this case: `… if … else …`, or `default(…)`".to_owned()),
                range: self.range(),
            });
        };
        let path = &self.text[range.clone()];
        Failure {
            code: "undefined-name",
            message: format!("`{path}` is undefined"),
            hint: self.hint(path, scope),
            range: self.offset + range.start..self.offset + range.end,
        }
    }

    fn first_undefined(&self, scope: &Scope) -> Option<Range<usize>> {
        let words = tokens(&self.text);
        let mut at = 0;
        while at < words.len() {
            let start = words[at].range.start;
            let mut is_path = words[at].kind == TokenKind::Word && role(&words, at, &self.text) == Role::Name;
            while is_path {
                let path = start..words[at].range.end;
                if self.look_up(&self.text[path.clone()], scope).is_some_and(|value| value.is_undefined()) {
                    return Some(path);
                }
                is_path = words.get(at + 1).is_some_and(|word| word.text(&self.text) == ".")
                    && words.get(at + 2).is_some_and(|word| word.kind == TokenKind::Word);
                at += if is_path { 2 } else { 0 };
            }
            at += 1;
        }
        None
    }

    /// The first requested list entry, such as `images[0]`, that does not exist.
    fn missing_entry(&self, scope: &Scope) -> Option<Failure> {
        let words = tokens(&self.text);
        words.iter().enumerate().filter(|(_, word)| word.text(&self.text) == "[").find_map(|(at, open)| {
            let in_path = |word: &&Token| word.kind == TokenKind::Word || word.text(&self.text) == ".";
            let start = words[..at].iter().rev().take_while(in_path).last()?.range.start;
            let end = words[at..].iter().find(|word| word.kind == TokenKind::Close)?.range.end;
            let entry = &self.text[start..end];
            self.look_up(entry, scope).filter(Any::is_undefined)?;
            Some(Failure {
                code: "undefined-name",
                message: format!("`{entry}` is undefined"),
                hint: Some(self.entry_hint(&self.text[start..open.range.start], scope)?),
                range: self.offset + start..self.offset + end,
            })
        })
    }

    /// A hint for a list without the requested entry.
    fn entry_hint(&self, list: &str, scope: &Scope) -> Option<String> {
        let value = self.look_up(list, scope)?;
        if value.kind() != minijinja::value::ValueKind::Seq {
            return None;
        }
        Some(match (list, value.len()?) {
            ("images", 0) => {
                "node-images.yaml has none for this Kubernetes version: add one, or check first with `#% if images`"
                    .to_owned()
            }
            (_, 0) => format!("`{list}` is empty here: check first with `#% if {list}`"),
            (_, 1) => format!("`{list}` has 1 entry here; entries are counted from 0"),
            (_, length) => format!("`{list}` has {length} entries here; entries are counted from 0"),
        })
    }

    fn look_up(&self, path: &str, scope: &Scope) -> Option<Any> {
        environment(self.level)?.compile_expression(path).ok()?.eval(scope.value()).ok()
    }

    /// A hint for an undefined path: the name that was probably meant.
    fn hint(&self, path: &str, scope: &Scope) -> Option<String> {
        if let Some((list, _)) = path.strip_suffix(']').and_then(|path| path.rsplit_once('[')) {
            return self.entry_hint(list, scope);
        }
        let (parent, name) = path.rsplit_once('.')?;
        let value = self.look_up(parent, scope)?;
        if value.is_none() {
            return Some(format!("`{parent}` is null here: check first with `#% if {parent}`"));
        }
        if value.kind() != minijinja::value::ValueKind::Map {
            return Some(format!("`{parent}` is not a map: it has no names"));
        }
        let keys: Vec<_> = value.try_iter().ok()?.map(|key| key.to_string()).collect();
        let known = keys.iter().map(String::as_str);
        Some(match similar(name, known) {
            Some(key) => format!("did you mean `{parent}.{key}`?"),
            None if keys.is_empty() => format!("`{parent}` is empty"),
            None => {
                let shown: Vec<_> = keys.iter().take(8).map(|key| format!("`{key}`")).collect();
                let more = if keys.len() > shown.len() { " …" } else { "" };
                format!("`{parent}` has {}{more}", shown.join(", "))
            }
        })
    }
}

/// A hint for an expression that fails.
fn way_out(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::InvalidOperation => {
            "check both sides of the operator, and the arguments: `explain CLUSTER` shows the values of a cluster"
        }
        ErrorKind::TooManyArguments | ErrorKind::MissingArgument => {
            "see docs/writing-a-stack.md for the arguments of filters and functions"
        }
        _ => {
            "the values that it reads do not fit: check first with `#% if`, or give another value with `default(…)`"
        }
    }
}

/// The name that was probably meant.
pub(super) fn similar<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .map(|known| (strsim::damerau_levenshtein(name, known), known))
        .filter(|(distance, known)| *distance <= 1 + name.len().max(known.len()) / 4)
        .min()
        .map(|(_, known)| known)
}

/// Adjusts a range to character boundaries and to a length of at least one.
fn within(range: &Range<usize>, text: &str) -> Range<usize> {
    let start = text.floor_char_boundary(range.start.min(text.len().saturating_sub(1)));
    let end = text.ceil_char_boundary(range.end.clamp(start + 1, text.len().max(start + 1)).min(text.len()));
    start..end
}

/// The names of an expression that consists only of names and points.
fn path(words: &[Token], text: &str) -> Vec<Arc<str>> {
    const LITERALS: [&str; 6] = ["true", "false", "none", "True", "False", "None"];
    let is_path = words.len() % 2 == 1
        && words.iter().enumerate().all(|(at, word)| match at % 2 {
            0 => word.kind == TokenKind::Word,
            _ => word.text(text) == ".",
        });
    let first = words.first().map_or("", |word| word.text(text));
    if !is_path || LITERALS.contains(&first) {
        return Vec::new();
    }
    words.iter().step_by(2).map(|word| word.text(text).into()).collect()
}

/// Refuses expressions that would make the compiler recurse deeply.
fn check_size(words: &[Token], text: &str) -> Result<(), &'static str> {
    let (mut depth, mut signs) = (0_usize, 0_usize);
    for word in words {
        match word.kind {
            TokenKind::Open => depth += 1,
            TokenKind::Close => depth = depth.saturating_sub(1),
            TokenKind::Word | TokenKind::Literal | TokenKind::Sign => {}
        }
        signs = if matches!(word.text(text), "-" | "not") { signs + 1 } else { 0 };
        if depth > MAX_NESTING || signs > MAX_SIGNS {
            return Err("the expression is nested too deeply");
        }
    }
    if words.len() > MAX_WORDS { Err("the expression is too long") } else { Ok(()) }
}

/// Refuses filters, tests and methods that are not part of the language.
fn check_words(words: &[Token], text: &str) -> Result<(), (Range<usize>, String, String)> {
    for (at, word) in words.iter().enumerate().filter(|(_, word)| word.kind == TokenKind::Word) {
        let name = word.text(text);
        let (what, known) = match role(words, at, text) {
            Role::Filter => ("filter", FILTERS),
            Role::Test if name != "not" => ("test", TESTS),
            Role::Method => {
                let hint = "use a filter, such as `x | lower`: values have no methods".to_owned();
                return Err((word.range.clone(), format!("`{name}` is called as a method"), hint));
            }
            _ => continue,
        };
        if !known.contains(&name) {
            let hint = match similar(name, known.iter().copied()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("there are: {}", known.join(", ")),
            };
            return Err((word.range.clone(), format!("there is no {what} `{name}`"), hint));
        }
    }
    Ok(())
}
