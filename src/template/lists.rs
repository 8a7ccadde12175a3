//! Filters on lists, maps and numbers. Our own filters refuse input that minijinja's silently ignore: undefined and null
//! values, missing attributes, and comparisons of values without an order.

#![expect(clippy::needless_pass_by_value, reason = "arguments come as minijinja hands them over")]

use std::{cmp::Ordering, collections::BTreeSet};

use minijinja::{
    Error, ErrorKind, State, Value as Any,
    value::{Kwargs, Rest, ValueKind},
};

fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidOperation, message.into())
}

fn items(value: &Any) -> Result<Vec<Any>, Error> {
    match value.kind() {
        ValueKind::Seq | ValueKind::Iterable | ValueKind::Map => Ok(value.try_iter()?.collect()),
        ValueKind::Undefined => Err(Error::from(ErrorKind::UndefinedError)),
        other => Err(invalid(format!("{other} where a list or a map is expected"))),
    }
}

/// Replaces null as well as undefined values, since unset values of a definition are null here.
pub(super) fn default(value: &Any, other: Any, also_false: Option<bool>) -> Any {
    let unset = value.is_undefined() || value.is_none() || (also_false == Some(true) && !value.is_true());
    if unset { other } else { value.clone() }
}

pub(super) fn truth(value: &Any) -> Result<bool, Error> {
    if value.is_undefined() {
        return Err(Error::from(ErrorKind::UndefinedError));
    }
    Ok(value.is_true())
}

/// The number of items of a list or map, or of characters of a text.
pub(super) fn length(value: &Any) -> Result<usize, Error> {
    match value.as_str() {
        Some(text) => Ok(text.chars().count()),
        None => items(value).map(|items| items.len()),
    }
}

pub(super) fn first(value: &Any) -> Result<Any, Error> {
    Ok(items(value)?.into_iter().next().unwrap_or_default())
}

pub(super) fn last(value: &Any) -> Result<Any, Error> {
    Ok(items(value)?.pop().unwrap_or_default())
}

/// The entries of a map as `[key, value]` lists.
pub(super) fn pairs(value: &Any) -> Result<Vec<Any>, Error> {
    if !matches!(value.kind(), ValueKind::Map | ValueKind::Undefined) {
        return Err(invalid(format!("{} where a map is expected", value.kind())));
    }
    items(value)?.into_iter().map(|key| Ok(Any::from(vec![key.clone(), value.get_item(&key)?]))).collect()
}

pub(super) fn list(value: &Any) -> Result<Vec<Any>, Error> {
    items(value)
}

/// Reverses a list. (A map has no order of its own.)
pub(super) fn reverse(value: &Any) -> Result<Vec<Any>, Error> {
    let mut items = items(value)?;
    items.reverse();
    Ok(items)
}

fn attribute(item: &Any, path: &str) -> Result<Any, Error> {
    let mut value = item.clone();
    for name in path.split('.') {
        value = value.get_attr(name)?;
        if value.is_undefined() {
            return Err(invalid(format!("an item has no `{path}`")));
        }
    }
    Ok(value)
}

/// The items for which a test holds. The test is applied to the item itself or to one of its attributes.
fn pick(
    state: &mut State<'_, '_>,
    value: &Any,
    path: Option<&str>,
    test: Option<&str>,
    arguments: &[Any],
    wanted: bool,
) -> Result<Vec<Any>, Error> {
    let mut picked = Vec::new();
    for item in items(value)? {
        let tested = match path {
            Some(path) => attribute(&item, path)?,
            None => item.clone(),
        };
        let holds = match test {
            Some(test) => {
                let values: Vec<_> = std::iter::once(tested).chain(arguments.iter().cloned()).collect();
                state.perform_test(test, &values)?
            }
            None => tested.is_true(),
        };
        if holds == wanted {
            picked.push(item);
        }
    }
    Ok(picked)
}

pub(super) fn select(
    state: &mut State<'_, '_>,
    value: &Any,
    test: Option<&str>,
    arguments: Rest<Any>,
) -> Result<Vec<Any>, Error> {
    pick(state, value, None, test, &arguments, true)
}

pub(super) fn reject(
    state: &mut State<'_, '_>,
    value: &Any,
    test: Option<&str>,
    arguments: Rest<Any>,
) -> Result<Vec<Any>, Error> {
    pick(state, value, None, test, &arguments, false)
}

pub(super) fn selectattr(
    state: &mut State<'_, '_>,
    value: &Any,
    path: &str,
    test: Option<&str>,
    arguments: Rest<Any>,
) -> Result<Vec<Any>, Error> {
    pick(state, value, Some(path), test, &arguments, true)
}

pub(super) fn rejectattr(
    state: &mut State<'_, '_>,
    value: &Any,
    path: &str,
    test: Option<&str>,
    arguments: Rest<Any>,
) -> Result<Vec<Any>, Error> {
    pick(state, value, Some(path), test, &arguments, false)
}

/// An attribute of every item, or the result of a filter: `map(attribute="name")`, `map("lower")`.
pub(super) fn map(
    state: &mut State<'_, '_>,
    value: &Any,
    filter: Option<&str>,
    arguments: Rest<Any>,
    named: Kwargs,
) -> Result<Vec<Any>, Error> {
    let path: Option<&str> = named.get("attribute")?;
    named.assert_all_used()?;
    if path.is_some() == filter.is_some() {
        return Err(invalid("`map` takes a filter or an `attribute=`"));
    }
    let one = |item: Any| match (path, filter) {
        (Some(path), _) => attribute(&item, path),
        (None, Some(filter)) => {
            let values: Vec<_> = std::iter::once(item).chain(arguments.iter().cloned()).collect();
            state.apply_filter(filter, &values)
        }
        (None, None) => Ok(item),
    };
    items(value)?.into_iter().map(one).collect()
}

/// Compares texts by code points and numbers by size. Other values have no order.
fn order(a: &Any, b: &Any) -> Result<Ordering, Error> {
    match (a.kind(), b.kind()) {
        (ValueKind::String, ValueKind::String) | (ValueKind::Number, ValueKind::Number) => Ok(a.cmp(b)),
        (a, b) => Err(invalid(format!("{a} and {b} cannot be ordered: compare only texts, or only numbers"))),
    }
}

fn sorted(value: &Any, path: Option<&str>) -> Result<Vec<Any>, Error> {
    let mut keyed = Vec::new();
    for item in items(value)? {
        let key = match path {
            Some(path) => attribute(&item, path)?,
            None => item.clone(),
        };
        order(&key, keyed.first().map_or(&key, |(first, _)| first))?;
        keyed.push((key, item));
    }
    keyed.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(keyed.into_iter().map(|(_, item)| item).collect())
}

pub(super) fn sort(value: &Any, named: Kwargs) -> Result<Vec<Any>, Error> {
    let path: Option<&str> = named.get("attribute")?;
    let reverse: Option<bool> = named.get("reverse")?;
    named.assert_all_used()?;
    let mut items = sorted(value, path)?;
    if reverse == Some(true) {
        items.reverse();
    }
    Ok(items)
}

pub(super) fn min(value: &Any) -> Result<Any, Error> {
    sorted(value, None)?.first().cloned().ok_or_else(|| invalid("an empty list has no smallest item"))
}

pub(super) fn max(value: &Any) -> Result<Any, Error> {
    sorted(value, None)?.pop().ok_or_else(|| invalid("an empty list has no largest item"))
}

/// The items without duplicates.
pub(super) fn unique(value: &Any) -> Result<Vec<Any>, Error> {
    let mut seen = BTreeSet::new();
    let mut unique = items(value)?;
    for item in &unique {
        order(item, &unique[0])?;
    }
    unique.retain(|item| seen.insert(item.clone()));
    Ok(unique)
}

/// Formats a value for messages.
pub(super) fn shown(value: &Any) -> String {
    match value.kind() {
        ValueKind::None => "null".to_owned(),
        ValueKind::Bool => value.is_true().to_string(),
        ValueKind::String | ValueKind::Number => format!("`{value}`"),
        other => format!("a {other}"),
    }
}

/// Converts to a whole number, without the fraction.
pub(super) fn int(value: &Any) -> Result<i64, Error> {
    let wrong = || invalid(format!("{} is not a whole number of 64 bits", shown(value)));
    match value.kind() {
        ValueKind::Number if value.is_integer() => value.as_i64().ok_or_else(wrong),
        ValueKind::Number => {
            let whole = f64::try_from(value.clone())?.trunc();
            format!("{whole:.0}").parse().map_err(|_| wrong())
        }
        ValueKind::String => value.as_str().unwrap_or_default().trim().parse().map_err(|_| wrong()),
        ValueKind::Undefined => Err(Error::from(ErrorKind::UndefinedError)),
        _ => Err(wrong()),
    }
}

pub(super) fn float(value: &Any) -> Result<f64, Error> {
    let wrong = || invalid(format!("{} is not a number", shown(value)));
    let number: f64 = match value.kind() {
        ValueKind::Number => f64::try_from(value.clone())?,
        ValueKind::String => value.as_str().unwrap_or_default().trim().parse().map_err(|_| wrong())?,
        ValueKind::Undefined => return Err(Error::from(ErrorKind::UndefinedError)),
        _ => return Err(wrong()),
    };
    if number.is_finite() { Ok(number) } else { Err(wrong()) }
}
