//! The functions of rules: those of `cel` and `kube-cel`, replaced by ours if theirs differ from Kubernetes'.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use gotmpl::{Error, ErrorKind, regexp};
use kube_cel::KubeCelExt as _;
use kube_cel::cel::extractors::{Arguments, This};
use kube_cel::cel::{Context, ExecutionError, Value};
use regex::Regex;

use super::{conversions, folds, quantity, urls};

/// The result of a function.
pub(super) type Outcome = Result<Value, ExecutionError>;

thread_local! {
    /// Shared because registering the functions takes longer than running most rules.
    static FUNCTIONS: Context<'static> = functions();
    /// The reason that the result of the current evaluation is unknown, if it is.
    static NOT_KNOWN: RefCell<Option<String>> = const { RefCell::new(None) };
    /// The compiled regular expressions.
    static PATTERNS: RefCell<BTreeMap<String, Result<Regex, Error>>> = const { RefCell::new(BTreeMap::new()) };
}

/// The most compiled regular expressions that are kept.
const MAX_KEPT: usize = 256;

/// Runs a closure with the context that contains all functions.
pub(crate) fn with_functions<T>(run: impl FnOnce(&Context<'static>) -> T) -> T {
    FUNCTIONS.with(run)
}

/// Takes the reason that the last evaluation met something unknown.
pub(crate) fn take_not_known() -> Option<String> {
    NOT_KNOWN.with(RefCell::take)
}

/// Reports that only Kubernetes knows the result of a function.
pub(super) fn not_known(reason: &str) -> ExecutionError {
    NOT_KNOWN.with(|known| *known.borrow_mut() = Some(reason.to_owned()));
    ExecutionError::function_error("", reason)
}

/// Reports a function error that Kubernetes would report as well.
pub(super) fn failed(name: &str, what: impl Into<String>) -> ExecutionError {
    ExecutionError::function_error(name, what.into())
}

pub(super) fn string(text: impl Into<String>) -> Value {
    Value::String(Arc::new(text.into()))
}

fn functions() -> Context<'static> {
    let mut context = Context::default().with_all();
    add_functions!(context, {
        "size" => size,
        "matches" => matches,
        "find" => find,
        "findAll" => find_all,
        "split" => split,
        "sum" => sum,
        "type" => type_of,
        "@equal" => |one: Value, other: Value| one == other,
        "@contains" => contains,
        "@dyn" => Outcome::Ok as fn(Value) -> Outcome,
        "@notKnown" => || Err::<Value, _>(not_known("an unsupported construct")),
    });
    for name in TYPES {
        context.add_variable_from_value(name, string(marker(name)));
    }
    conversions::register(&mut context);
    folds::register(&mut context);
    quantity::register(&mut context);
    urls::register(&mut context);
    context
}

const TYPES: [&str; 9] = ["int", "uint", "double", "string", "bytes", "bool", "list", "map", "null_type"];

/// A placeholder for a type in comparisons. No string of a value looks like it.
fn marker(name: &str) -> String {
    format!("\u{0}type {name}")
}

fn type_of(This(value): This<Value>) -> Outcome {
    Ok(string(marker(match value {
        Value::Int(_) => "int",
        Value::UInt(_) => "uint",
        Value::Float(_) => "double",
        Value::String(text) if !text.starts_with('\0') => "string",
        Value::Bytes(_) => "bytes",
        Value::Bool(_) => "bool",
        Value::List(_) => "list",
        Value::Map(_) => "map",
        Value::Null => "null_type",
        _ => return Err(not_known("the type of a time, an address or a similar value")),
    })))
}

/// Whether a list has an element, or a map a key. Numbers of different types are equal if their values are.
#[expect(clippy::needless_pass_by_value, reason = "the form that functions must have")]
fn contains(one: Value, container: Value) -> Outcome {
    match &container {
        Value::List(items) => Ok(Value::Bool(items.contains(&one))),
        Value::Map(map) => Ok(Value::Bool(map.map.keys().any(|key| folds::value_of(key) == one))),
        _ => Err(failed("in", "no such overload")),
    }
}

fn number(count: usize) -> Value {
    Value::Int(i64::try_from(count).unwrap_or(i64::MAX))
}

/// The size of a value; strings are counted in characters.
fn size(This(value): This<Value>) -> Outcome {
    match value {
        Value::String(text) => Ok(number(text.chars().count())),
        Value::Bytes(bytes) => Ok(number(bytes.len())),
        Value::List(items) => Ok(number(items.len())),
        Value::Map(map) => Ok(number(map.map.len())),
        _ => Err(failed("size", "no such overload")),
    }
}

fn with_pattern<T>(name: &str, pattern: &str, run: impl FnOnce(&Regex) -> T) -> Result<T, ExecutionError> {
    PATTERNS.with(|kept| {
        let mut kept = kept.borrow_mut();
        if !kept.contains_key(pattern) {
            if kept.len() >= MAX_KEPT {
                kept.clear();
            }
            kept.insert(pattern.to_owned(), regexp::compile(pattern));
        }
        match kept.get(pattern) {
            Some(Ok(regex)) => Ok(run(regex)),
            Some(Err(error)) if error.kind == ErrorKind::Exec => Err(failed(name, error.message.clone())),
            Some(Err(error)) => Err(not_known(&error.message)),
            None => Err(not_known("a regular expression")),
        }
    })
}

#[expect(clippy::needless_pass_by_value, reason = "the form that functions must have")]
fn matches(This(text): This<Arc<String>>, pattern: Arc<String>) -> Outcome {
    with_pattern("matches", &pattern, |regex| Value::Bool(regex.is_match(&text)))
}

#[expect(clippy::needless_pass_by_value, reason = "the form that functions must have")]
fn find(This(text): This<Arc<String>>, pattern: Arc<String>) -> Outcome {
    with_pattern("find", &pattern, |regex| string(regex.find(&text).map_or("", |found| found.as_str())))
}

fn find_all(This(text): This<Arc<String>>, Arguments(arguments): Arguments) -> Outcome {
    let most = match arguments.get(1) {
        // A negative number means no limit.
        Some(Value::Int(most)) => usize::try_from(*most).unwrap_or(usize::MAX),
        _ => usize::MAX,
    };
    let Some(Value::String(pattern)) = arguments.first() else {
        return Err(failed("findAll", "no such overload"));
    };
    with_pattern("findAll", pattern, |regex| {
        let found = regex.find_iter(&text).take(most).map(|found| string(found.as_str()));
        Value::List(Arc::new(found.collect()))
    })
}

/// `strings.SplitN`
fn split(This(text): This<Arc<String>>, Arguments(arguments): Arguments) -> Outcome {
    let Some(Value::String(separator)) = arguments.first() else {
        return Err(failed("split", "no such overload"));
    };
    let most = match arguments.get(1) {
        Some(Value::Int(most)) => usize::try_from(*most).unwrap_or(usize::MAX),
        _ => usize::MAX,
    };
    let parts: Vec<Value> = if most == 0 {
        Vec::new()
    } else if separator.is_empty() {
        characters(&text, most)
    } else {
        text.splitn(most, separator.as_str()).map(string).collect()
    };
    Ok(Value::List(Arc::new(parts)))
}

/// Splits a text into characters; the last of `most` parts contains the rest.
fn characters(text: &str, most: usize) -> Vec<Value> {
    let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).take(most).collect();
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    starts.iter().zip(ends).map(|(start, end)| string(&text[*start..end])).collect()
}

/// Sums a list. An overflow is an error.
fn sum(This(items): This<Arc<Vec<Value>>>) -> Outcome {
    let overflow = || failed("sum", "integer overflow");
    let mut total: Option<Value> = None;
    for item in items.iter() {
        total = Some(match (total, item) {
            (None, item) => item.clone(),
            (Some(Value::Int(a)), Value::Int(b)) => Value::Int(a.checked_add(*b).ok_or_else(overflow)?),
            (Some(Value::UInt(a)), Value::UInt(b)) => Value::UInt(a.checked_add(*b).ok_or_else(overflow)?),
            (Some(Value::Float(a)), Value::Float(b)) => Value::Float(a + b),
            (Some(Value::Duration(a)), Value::Duration(b)) => {
                Value::Duration(a.checked_add(b).ok_or_else(overflow)?)
            }
            _ => return Err(failed("sum", "no such overload")),
        });
    }
    Ok(total.unwrap_or(Value::Int(0)))
}
