//! The costs of functions and the sizes of their results. Source: see [`super::cost`].

use super::cost::CheckedCost;
use super::types::{Size, Type, Typed};

/// The length that upstream assumes for the pattern of a format such as `dns1123Label`: `MaxNameFormatRegexSize` of
/// `pkg/cel/format.go` in k8s.io/apiserver.
const NAMED_FORMAT: u64 = 128;

/// A tenth of a size, rounded up: the cost of traversing a text.
pub(super) fn tenth(size: u64) -> u64 {
    if size == u64::MAX { u64::MAX } else { size.div_ceil(10) }
}

fn scaled(size: u64, numerator: u64, denominator: u64) -> u64 {
    if size == u64::MAX {
        return u64::MAX;
    }
    size.saturating_mul(numerator).div_ceil(denominator)
}

/// The type of the elements of a list or map.
pub(super) fn element(container: &Typed) -> Typed {
    match &container.kind {
        Type::List(inner) | Type::Map(inner) => (**inner).clone(),
        _ => Typed::anything(),
    }
}

/// The result type of a function and its own cost.
pub(super) fn function(name: &str, target: Option<&CheckedCost>, arguments: &[CheckedCost]) -> (Typed, u64) {
    let first = arguments.first();
    let subject = target.or(first).map_or_else(Typed::anything, |one| one.typed.clone());
    let size = subject.size;
    let made = target.is_some_and(|target| target.made);
    let argument = |at: usize| arguments.get(at).map_or(0, |one| one.typed.size.max);
    let flag = Typed::scalar(Type::Bool);
    let words = |size: Size| Typed::sized(Type::Text, size);
    match name {
        "size" | "int" | "getDayOfMonth" | "compareTo" | "asInteger" | "prefixLength" => {
            (Typed::scalar(Type::Int), 1)
        }
        "double" | "asApproximateFloat" => (Typed::scalar(Type::Double), 1),
        "uint" => (Typed::scalar(Type::Uint), 1),
        "bool" | "isGreaterThan" | "isLessThan" | "isInteger" | "isLoopback" => (flag, 1),
        "string" => (printed(subject), 1),
        "startsWith" | "endsWith" => (flag, tenth(argument(0))),
        "contains" => (flag, tenth(size.max).saturating_mul(tenth(argument(0)))),
        "matches" => {
            let at = usize::from(target.is_none());
            let regex = scaled(argument(at), 1, 4);
            (flag, tenth(size.max.saturating_add(1)).saturating_mul(regex))
        }
        "find" | "findAll" => {
            let regex = scaled(argument(0), 1, 4);
            let cost = tenth(size.max.saturating_add(1)).saturating_mul(regex);
            let found = words(Size::up_to(size.max));
            if name == "find" {
                return (found, cost);
            }
            let list = Type::List(Box::new(words(Size::up_to(0))));
            (Typed::sized(list, Size::up_to(size.max)), cost)
        }
        "lowerAscii" | "upperAscii" | "substring" | "trim" => (words(size), tenth(size.max)),
        "split" => {
            let list = Type::List(Box::new(words(Size::up_to(0))));
            (Typed::sized(list, Size::up_to(size.max)), scaled(size.max, 1, 5))
        }
        "replace" => (Typed::anything(), scaled(size.max, 1, 5)),
        "isSorted" => (flag, elements_cost(&subject, made)),
        "sum" | "min" | "max" => (element(&subject), elements_cost(&subject, made)),
        "indexOf" | "lastIndexOf" => (Typed::scalar(Type::Int), elements_cost(&subject, made)),
        "isIP" | "isCIDR" | "isQuantity" | "isURL" | "isSemver" => (flag, tenth(size.max)),
        "ip" | "cidr" | "quantity" | "url" | "semver" => (Typed::anything(), tenth(size.max)),
        "getScheme" | "getHost" | "getHostname" | "getPort" | "getEscapedPath" => (words(Size::UNKNOWN), 1),
        "getQuery" => {
            let values = Typed::sized(Type::List(Box::new(words(Size::up_to(0)))), Size::up_to(0));
            (Typed::sized(Type::Map(Box::new(values)), Size::UNKNOWN), 1)
        }
        "validate" => (Typed::anything(), scaled(tenth(argument(0)), NAMED_FORMAT, 4)),
        "join" => join(target, arguments),
        "sets.contains" | "sets.intersects" => (flag, sets_cost(size.max, argument(1))),
        "sets.equivalent" => (flag, sets_cost(size.max, argument(1).saturating_mul(2))),
        "value" | "orValue" => match subject.kind {
            Type::Optional(value) => (*value, 1),
            _ => (Typed::anything(), 1),
        },
        "or" => (subject, 1),
        "optional.none" => {
            let absent = Type::Optional(Box::new(Typed::anything()));
            (Typed::sized(absent, Size::UNKNOWN), 1)
        }
        "optional.of" | "optional.ofNonZeroValue" => (Typed::optional(subject), 1),
        "first" | "last" if matches!(subject.kind, Type::List(_)) => (Typed::optional(element(&subject)), 1),
        _ => (Typed::anything(), 1),
    }
}

/// The text of a value. Upstream knows no limit for that of a scalar.
fn printed(value: Typed) -> Typed {
    let size = match value.kind {
        Type::Text => return value,
        Type::Int | Type::Uint | Type::Double | Type::Bool | Type::Named("duration" | "timestamp") => {
            Size::UNKNOWN
        }
        _ => Size::up_to(0),
    };
    Typed::sized(Type::Text, size)
}

/// The cost of comparing each element of one list with each of the other: `ext/sets.go` of cel-go, `estimateSetsCost`.
fn sets_cost(one: u64, other: u64) -> u64 {
    one.saturating_mul(other).saturating_add(1)
}

fn elements_cost(subject: &Typed, made: bool) -> u64 {
    match &subject.kind {
        Type::List(inner) => {
            let texts = matches!(inner.kind, Type::Text | Type::Bytes);
            let longest = if made { u64::MAX } else { inner.size.max };
            let each = if texts { tenth(longest).saturating_add(1) } else { 1 };
            subject.size.max.saturating_mul(each)
        }
        _ => tenth(subject.size.max),
    }
}

/// The size of a joined text is the sum of its parts and separators.
fn join(target: Option<&CheckedCost>, arguments: &[CheckedCost]) -> (Typed, u64) {
    let text = |size: u64| (Typed::sized(Type::Text, Size::up_to(size)), tenth(size));
    match target {
        Some(CheckedCost { typed: Typed { kind: Type::List(inner), size, .. }, made, .. }) => {
            let each = if *made { u64::MAX } else { inner.size.max };
            let between = arguments.first().map_or(0, |one| one.typed.size.max);
            let separators = between.saturating_mul(size.max.saturating_sub(1));
            text(size.max.saturating_mul(each).saturating_add(separators))
        }
        _ => text(0),
    }
}
