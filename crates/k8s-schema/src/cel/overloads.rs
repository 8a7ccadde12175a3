//! The known functions and operators with their parameter and result types.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use kube_cel::cel::common::ast::{CallExpr, Expr};

use super::unify::CelType;

/// The table in text form.
const TABLE: &str = include_str!("overloads.txt");

static OVERLOADS: LazyLock<BTreeMap<&'static str, Vec<Overload>>> = LazyLock::new(|| {
    let rows = TABLE.lines().filter(|line| !line.starts_with('#'));
    rows.filter_map(|line| line.split_once(": "))
        .map(|(name, forms)| (name, forms.split("; ").filter_map(Overload::read).collect()))
        .collect()
});

/// One form of a function.
#[derive(Debug)]
pub(super) struct Overload {
    member: bool,
    /// The types of its arguments, the receiver first.
    pub(super) parameters: Vec<CelType>,
    pub(super) result: CelType,
}

impl Overload {
    fn read(text: &'static str) -> Option<Self> {
        let (head, rest) = text.split_once('(')?;
        let (arguments, result) = rest.split_once(") ")?;
        let receiver = head.strip_suffix('.');
        let arguments = arguments.split(", ").filter(|name| !name.is_empty());
        Some(Self {
            member: receiver.is_some(),
            parameters: receiver.into_iter().chain(arguments).map(kind).collect(),
            result: kind(result),
        })
    }

    /// Whether it is called as a method.
    pub(super) fn is_member(&self) -> bool {
        self.member
    }
}

/// Reads a type of the table.
fn kind(text: &'static str) -> CelType {
    let letter = text.chars().next().filter(|first| text.len() == 1 && first.is_ascii_uppercase());
    if let Some(letter) = letter {
        return CelType::Letter(letter);
    }
    match text.split_once('<').and_then(|(name, inner)| Some((name, inner.strip_suffix('>')?))) {
        Some(("type", _)) => CelType::Type,
        Some((name, inner)) => CelType::Of(name, parameters(inner).into_iter().map(kind).collect()),
        None if text == "dyn" => CelType::Dyn,
        None => CelType::Named(text),
    }
}

/// Splits the parameters of a type at the commas outside of brackets.
fn parameters(text: &'static str) -> Vec<&'static str> {
    let mut depth = 0_usize;
    text.split(|c| {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
    .collect()
}

/// Whether a function with this name exists in any form.
pub(super) fn exists(name: &str) -> bool {
    OVERLOADS.contains_key(name)
}

/// The forms of a function.
pub(super) fn forms(name: &str) -> Option<&'static [Overload]> {
    OVERLOADS.get(name).map(Vec::as_slice)
}

/// The name of a function in a namespace, such as `sets.contains`, if the call may be one.
pub(super) fn qualified(call: &CallExpr) -> Option<String> {
    match &call.target.as_deref()?.expr {
        Expr::Ident(space) => Some(format!("{space}.{}", call.func_name)),
        _ => None,
    }
}
