//! Edits within braces and brackets, and of single-line values.

use super::{
    Edit, Obstacle, lines,
    place::{Ancestor, count, end, is_empty},
};
use crate::yaml::{Node, RawKind, RawNode};

/// Replaces a value that is on one line.
pub(super) fn replace(text: &str, at: Ancestor<'_>, value: &Node) -> Result<Edit, Obstacle> {
    let old = at.value();
    if is_empty(old) {
        return Err(Obstacle::new(at.start(at.index), "there is no text where the value goes"));
    }
    let range = old.start..end(text, old, old.start)?;
    Ok(Edit { range, text: lines::like(text, old, value) })
}

/// Adds an entry after the existing ones.
pub(super) fn insert(text: &str, mapping: &RawNode, key: &str, value: &Node) -> Result<Edit, Obstacle> {
    let entry = format!("{}: {}", lines::key(key), lines::inline(value));
    let RawKind::Mapping(entries) = &mapping.kind else {
        return Err(Obstacle::new(mapping.start, "this is not a map"));
    };
    let Some((last_key, last)) = entries.last() else {
        let edit = Edit { range: mapping.start..mapping.end, text: format!("{{ {entry} }}") };
        return Ok(edit);
    };
    let last_end = if is_empty(last) { last_key.end } else { end(text, last, last_key.end)? };
    let closing = mapping.end - 1;
    let between = &text[last_end..closing];
    if is_empty(last) || between.contains('#') {
        return Err(Obstacle::new(last_end, "the map in braces ends in a comment or in an empty value"));
    }
    Ok(match between.find(',') {
        Some(comma) => Edit { range: last_end + comma + 1..last_end + comma + 1, text: format!(" {entry}") },
        None => Edit { range: last_end..last_end, text: format!(", {entry}") },
    })
}

/// Removes an entry together with one adjacent comma.
pub(super) fn remove(text: &str, at: Ancestor<'_>) -> Result<Edit, Obstacle> {
    let (start, last) = (at.start(at.index), at.index + 1 == count(at.parent));
    let own_end = end(text, at.value(), at.key().map_or(start, |key| key.end))?;
    let range = if !last {
        start..at.start(at.index + 1)
    } else if at.index > 0 {
        let before = Ancestor { index: at.index - 1, ..at };
        let floor = before.key().map_or_else(|| before.start(before.index), |key| key.end);
        end(text, before.value(), floor)?..own_end
    } else {
        let inside = at.parent.start + 1..at.parent.end - 1;
        let only = text[inside.start..start].trim().is_empty() && text[own_end..inside.end].trim().is_empty();
        if !only {
            return Err(Obstacle::new(start, "there is a comment or a comma next to the only entry"));
        }
        return Ok(Edit { range: inside, text: String::new() });
    };
    let beside = if last { &text[range.start..start] } else { &text[own_end..range.end] };
    if beside.contains('#') {
        return Err(Obstacle::new(start, "there is a comment between this entry and the next"));
    }
    Ok(Edit { range, text: String::new() })
}
