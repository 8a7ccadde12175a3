//! All functions that a template may call: Go's builtins and sprig's hermetic functions.

#![expect(
    clippy::unnecessary_wraps,
    reason = "the functions of the table share one signature, whether they fail or not"
)]

mod args;
mod builtin;
mod casing;
mod cast;
mod dates;
mod decimals;
mod deep;
mod defaults;
mod dicts;
mod encoding;
mod json;
mod lists;
mod numbers;
mod paths;
mod regexes;
mod shaping;
mod splitting;
mod strings;
mod unknown;
mod urls;
mod versions;
mod words;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::budget::Context;
use super::error::Outcome;
use super::value::Value;

pub(super) use dates::{METHODS as TIME_METHODS, OTHER_METHODS as OTHER_TIME_METHODS};
pub(super) use encoding::base64_decode;
pub(super) use versions::{METHODS as VERSION_METHODS, POINTER_METHODS};

/// The type of a parameter. Arguments are checked against it before the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    /// `interface {}`: anything, including nil.
    Any,
    /// `reflect.Value`: anything; nil and a missing value remain distinct.
    Reflect,
    Bool,
    Int,
    Uint32,
    Float,
    /// `string`
    Text,
    /// `map[string]interface {}`
    Dict,
    /// `[]interface {}`
    AnyList,
    /// `time.Time`
    Time,
    /// `*semver.Version`
    Version,
}

/// The implementation of a function, called with checked arguments.
pub(super) type Body = for<'a> fn(&mut Context<'a>, &[Value<'a>]) -> Outcome<Value<'a>>;

/// Functions that do not evaluate all their arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lazy {
    /// `and`: up to the first false argument.
    And,
    /// `or`: up to the first true argument.
    Or,
}

/// A function with its signature.
#[derive(Debug)]
pub(super) struct Function {
    pub(super) name: &'static str,
    pub(super) params: &'static [Type],
    /// The type of any number of further arguments.
    pub(super) rest: Option<Type>,
    pub(super) lazy: Option<Lazy>,
    /// Whether it changes a map argument.
    pub(super) changes_data: bool,
    pub(super) body: Body,
}

impl Function {
    const fn new(name: &'static str, params: &'static [Type], body: Body) -> Function {
        Function { name, params, rest: None, lazy: None, changes_data: false, body }
    }

    /// The same function with any number of further arguments.
    const fn rest(mut self, rest: Type) -> Function {
        self.rest = Some(rest);
        self
    }

    const fn lazy(mut self, lazy: Lazy) -> Function {
        self.lazy = Some(lazy);
        self
    }

    const fn changing(mut self) -> Function {
        self.changes_data = true;
        self
    }
}

static TABLE: LazyLock<BTreeMap<&'static str, &'static Function>> = LazyLock::new(|| {
    // sprig comes last because its `slice` replaces the builtin one.
    let groups = [
        builtin::FUNCTIONS,
        casing::FUNCTIONS,
        dates::FUNCTIONS,
        decimals::FUNCTIONS,
        deep::FUNCTIONS,
        defaults::FUNCTIONS,
        dicts::FUNCTIONS,
        encoding::FUNCTIONS,
        json::FUNCTIONS,
        lists::FUNCTIONS,
        numbers::FUNCTIONS,
        paths::FUNCTIONS,
        regexes::FUNCTIONS,
        shaping::FUNCTIONS,
        splitting::FUNCTIONS,
        strings::FUNCTIONS,
        unknown::FUNCTIONS,
        urls::FUNCTIONS,
        versions::FUNCTIONS,
    ];
    groups.into_iter().flatten().map(|function| (function.name, function)).collect()
});

/// Finds a function if only those of `text/template` itself are available.
pub(super) fn find_builtin(name: &str) -> Option<&'static Function> {
    builtin::FUNCTIONS.iter().chain([&builtin::SLICE]).find(|function| function.name == name)
}

/// Finds a function, including sprig's.
pub(super) fn find(name: &str) -> Option<&'static Function> {
    TABLE.get(name).copied()
}
