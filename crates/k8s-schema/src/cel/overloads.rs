//! The known functions with their parameter and result types.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::types::{Size, Type, Typed};

/// The table in text form.
const TABLE: &str = include_str!("overloads.txt");

static OVERLOADS: LazyLock<BTreeMap<&'static str, Vec<Overload>>> = LazyLock::new(|| {
    let rows = TABLE.lines().filter(|line| !line.starts_with('#'));
    rows.filter_map(|line| line.split_once(": "))
        .map(|(name, forms)| (name, forms.split("; ").filter_map(Overload::read).collect()))
        .collect()
});

#[derive(Debug)]
struct Overload {
    receiver: Option<Pattern>,
    arguments: Vec<Pattern>,
    result: Pattern,
}

/// A pattern for types.
#[derive(Debug, PartialEq)]
enum Pattern {
    Any,
    List(Box<Pattern>),
    Is(&'static str),
}

impl Overload {
    fn read(text: &'static str) -> Option<Self> {
        let (head, rest) = text.split_once('(')?;
        let (arguments, result) = rest.split_once(") ")?;
        Some(Self {
            receiver: head.strip_suffix('.').map(Pattern::read),
            arguments: arguments.split(", ").filter(|name| !name.is_empty()).map(Pattern::read).collect(),
            result: Pattern::read(result),
        })
    }

    fn takes(&self, receiver: Option<&Typed>, arguments: &[&Typed]) -> bool {
        let subject = match (&self.receiver, receiver) {
            (Some(pattern), Some(typed)) => pattern.fits(&typed.kind),
            (None, None) => true,
            _ => false,
        };
        let count = self.arguments.len() == arguments.len();
        subject && count && self.arguments.iter().zip(arguments).all(|(pattern, one)| pattern.fits(&one.kind))
    }
}

impl Pattern {
    fn read(text: &'static str) -> Self {
        match text.strip_prefix("list<").and_then(|inner| inner.strip_suffix('>')) {
            Some(inner) => Self::List(Box::new(Self::read(inner))),
            None if text == "any" => Self::Any,
            None => Self::Is(text),
        }
    }

    fn fits(&self, kind: &Type) -> bool {
        match (self, kind) {
            (_, Type::Dyn) | (Self::Any, _) => true,
            (Self::List(pattern), Type::List(inner)) => pattern.fits(&inner.kind),
            (Self::Is(name), Type::Null) => matches!(*name, "timestamp" | "duration"),
            (Self::Is(name), kind) => kind.name() == Some(name),
            (Self::List(_), _) => false,
        }
    }

    /// The type of a result. Its size is unknown.
    fn typed(&self) -> Typed {
        let kind = match self {
            Self::Is("bool") => Type::Bool,
            Self::Is("int") => Type::Int,
            Self::Is("uint") => Type::Uint,
            Self::Is("double") => Type::Double,
            Self::Is("string") => return Typed::sized(Type::Text, Size::up_to(0)),
            Self::Is("bytes") => return Typed::sized(Type::Bytes, Size::up_to(0)),
            Self::Is("map" | "optional") | Self::Any | Self::List(_) => return Typed::anything(),
            Self::Is(name) => Type::Named(name),
        };
        Typed::scalar(kind)
    }
}

/// Whether a function with this name exists in any form.
pub(super) fn exists(name: &str) -> bool {
    OVERLOADS.contains_key(name)
}

/// The result type of a call. It is an error if no form of the function accepts these types.
pub(super) fn result(name: &str, receiver: Option<&Typed>, arguments: &[&Typed]) -> Result<Typed, String> {
    let Some(forms) = OVERLOADS.get(name) else {
        return Err(format!("undeclared reference to '{name}'"));
    };
    let mut fitting = forms.iter().filter(|form| form.takes(receiver, arguments));
    let Some(first) = fitting.next() else {
        return Err(format!("found no matching overload for '{name}'"));
    };
    let alike = fitting.all(|form| form.result == first.result);
    Ok(if alike { first.result.typed() } else { Typed::anything() })
}
