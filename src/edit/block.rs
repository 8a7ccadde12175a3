//! Edits of entries on separate lines.

use super::{
    Edit, Obstacle, lines,
    place::{Ancestor, end, is_empty},
};
use crate::yaml::{Node, RawKind, RawNode, Style};

/// The byte after a key's colon.
pub(super) fn behind_colon(text: &str, key: &RawNode) -> Result<usize, Obstacle> {
    let blanks = text[key.end..].len() - text[key.end..].trim_start_matches([' ', '\t']).len();
    let colon = key.end + blanks;
    if text[colon..].starts_with(':') {
        Ok(colon + 1)
    } else {
        Err(Obstacle::new(key.start, "its key is written in a form that stackloom cannot edit"))
    }
}

pub(super) fn replace(text: &str, at: Ancestor<'_>, value: &Node) -> Result<Edit, Obstacle> {
    let key = at.key().ok_or_else(|| Obstacle::new(at.parent.start, "it has no key"))?;
    let (old, colon) = (at.value(), behind_colon(text, key)?);
    let old_end = end(text, old, colon)?;
    // The reader's position of a block scalar is that of its text, not of the indicator after the key.
    let block = matches!(old.kind, RawKind::Scalar { style: Style::Block, .. });
    let mark = colon + text[colon..].len() - text[colon..].trim_start_matches(' ').len();
    let old_start = if block { mark } else { old.start };
    let same_line = lines::start_of(text, old_start) == lines::start_of(text, key.start);
    let inline = is_empty(old) || same_line;
    let indent = lines::column(text, key.start) + 2;
    let own_lines = lines::needs_lines(value);
    if block && let Some(edit) = replace_line(text, mark, old_end, value) {
        return Ok(edit);
    }
    let break_ = lines::line_break(text, old_end);
    let is_scalar = matches!(old.kind, RawKind::Scalar { .. });
    if !own_lines && (inline || is_scalar && !block) {
        return Ok(if is_empty(old) {
            Edit { range: colon..colon, text: format!(" {}", lines::inline(value)) }
        } else {
            Edit { range: old_start..old_end, text: lines::like(text, old, value) }
        });
    }
    if is_scalar && !inline && text[lines::end_of(text, colon)..old_start].contains('#') {
        return Err(Obstacle::new(old_start, "there is a comment between its key and its value"));
    }
    // A comment after the value stays on the key's line. So does one after the key if the value has lines of its own.
    let (comment, range) = if inline {
        let line = lines::end_of(text, old_end);
        (text[old_end..line].trim_end(), colon..line)
    } else {
        (text[colon..lines::end_of(text, colon)].trim_end(), colon..old_end)
    };
    let text = if own_lines {
        format!("{comment}{}", lines::below(value, indent, break_))
    } else {
        format!(" {}{comment}", lines::inline(value))
    };
    Ok(Edit { range, text })
}

/// Replaces the text of a block scalar that has one line and no line break at its end. It stays a block scalar.
fn replace_line(text: &str, mark: usize, end: usize, value: &Node) -> Option<Edit> {
    let header = text[mark..lines::end_of(text, mark)].split_whitespace().next()?;
    let line = lines::next_of(text, mark);
    let body = text.get(line..end)?;
    let start = line + body.len() - body.trim_start_matches(' ').len();
    let is_line = |text: &str| !text.is_empty() && text.trim() == text && !text.contains(lines::is_break);
    let new = value.as_str().filter(|new| is_line(new))?;
    let is_kept = matches!(header, "|-" | ">-") && is_line(text.get(start..end)?);
    is_kept.then(|| Edit { range: start..end, text: new.to_owned() })
}

/// Adds an entry after the existing ones and the comments that belong to them.
pub(super) fn insert(text: &str, mapping: &RawNode, key: &str, value: &Node) -> Result<Edit, Obstacle> {
    let RawKind::Mapping(entries) = &mapping.kind else {
        return Err(Obstacle::new(mapping.start, "this is not a map"));
    };
    let Some((last_key, last)) = entries.last() else {
        return Err(Obstacle::new(mapping.start, "the map has no entry"));
    };
    let indent = lines::column(text, entries[0].0.start);
    let last_end = end(text, last, behind_colon(text, last_key)?)?;
    let line = lines::behind_comments(text, lines::end_of(text, last_end), indent);
    let break_ = lines::line_break(text, line);
    let mut entry = format!("{break_}{}{}:", " ".repeat(indent), lines::key(key));
    if lines::needs_lines(value) {
        entry += &lines::below(value, indent + 2, break_);
    } else {
        entry.extend([" ", &lines::inline(value)]);
    }
    Ok(Edit { range: line..line, text: entry })
}

/// Adds an item after the existing ones of a list and the comments that belong to them.
pub(super) fn append(text: &str, list: &RawNode, items: &[RawNode], item: &Node) -> Result<Edit, Obstacle> {
    let (Some(first), Some(_)) = (items.first(), items.last()) else {
        return Err(Obstacle::new(list.start, "the list has no item"));
    };
    let line = lines::start_of(text, first.start);
    let indent = text[line..first.start]
        .find('-')
        .ok_or_else(|| Obstacle::new(first.start, "its items do not begin with a dash on their own line"))?;
    let last_end = end(text, list, list.start)?;
    let line = lines::behind_comments(text, lines::end_of(text, last_end), indent);
    let break_ = lines::line_break(text, line);
    let body = lines::below(item, indent + 2, break_);
    // The first line of the item follows the dash.
    let body = body.trim_start_matches(break_).trim_start_matches(' ');
    Ok(Edit { range: line..line, text: format!("{break_}{}- {body}", " ".repeat(indent)) })
}

/// Removes the lines of an entry together with its inner comments.
pub(super) fn remove(text: &str, at: Ancestor<'_>) -> Result<Edit, Obstacle> {
    let (start, range) = extent(text, at)?;
    if lines::leads_its_line(text, start) {
        let from = lines::start_of(text, start);
        let to = lines::next_of(text, range.end);
        if to == text.len() && !text.ends_with('\n') && from > 0 {
            // The last line has no line break, so the preceding one is removed.
            let before = lines::end_of(text, lines::start_of(text, from - 1));
            return Ok(Edit { range: before..to, text: String::new() });
        }
        return Ok(Edit { range: from..to, text: String::new() });
    }
    // This is the first entry after a dash; the next one takes its place.
    let next = at.index + 1;
    if at.index > 0 || next == at.count() || at.key().is_none() {
        return Err(Obstacle::new(start, "it does not begin a line"));
    }
    let next = at.start(next);
    if !text[range.end..next].trim().is_empty() {
        return Err(Obstacle::new(start, "there is a comment between this entry and the next"));
    }
    Ok(Edit { range: range.start..next, text: String::new() })
}

/// Removes an entry. The comments beside and below it stay, on separate lines.
pub(super) fn remove_keeping_comments(text: &str, at: Ancestor<'_>) -> Result<Edit, Obstacle> {
    let (start, range) = extent(text, at)?;
    let beside = match at.key() {
        Some(key) => text[end(text, at.value(), behind_colon(text, key)?)?..range.end].trim(),
        None => "",
    };
    if beside.is_empty() {
        return remove(text, at);
    }
    if !lines::leads_its_line(text, start) {
        return Err(Obstacle::new(
            start,
            "there is a comment beside this entry, which does not begin a line",
        ));
    }
    Ok(Edit { range, text: beside.to_owned() })
}

/// Removes the only entry of a collection and leaves the collection empty. The comments above the entry stay, and if
/// `keeps_beside`, so do those beside and inside it, on separate lines.
pub(super) fn empty(
    text: &str,
    outer: Ancestor<'_>,
    at: Ancestor<'_>,
    keeps_beside: bool,
) -> Result<Edit, Obstacle> {
    let key =
        outer.key().ok_or_else(|| Obstacle::new(outer.parent.start, "it is the only content of its item"))?;
    let colon = behind_colon(text, key)?;
    let (start, range) = extent(text, at)?;
    let from = lines::start_of(text, start);
    if from <= colon {
        return Err(Obstacle::new(start, "it does not begin a line"));
    }
    let brackets = if at.key().is_some() { " {}" } else { " []" };
    let mut kept = text[colon..from].trim_end_matches(['\n', '\r']).to_owned();
    if keeps_beside && let Some(key) = at.key() {
        let beside = text[end(text, at.value(), behind_colon(text, key)?)?..range.end].trim();
        if !beside.is_empty() {
            kept.extend([lines::line_break(text, from), &text[from..start], beside]);
        }
    }
    Ok(Edit { range: colon..range.end, text: format!("{brackets}{kept}") })
}

/// The start of an entry (for an item, its dash), and its byte range up to the end of its last line.
fn extent(text: &str, at: Ancestor<'_>) -> Result<(usize, std::ops::Range<usize>), Obstacle> {
    let start = match at.key() {
        Some(key) => key.start,
        None => dash(text, at)?,
    };
    let floor = at.key().map_or(Ok(start), |key| behind_colon(text, key))?;
    let last = end(text, at.value(), floor)?;
    let line = lines::end_of(text, last);
    let line = lines::behind_comments(text, line, lines::column(text, start) + 1);
    Ok((start, start..line))
}

/// The position of an item's dash, on the same line or above it.
fn dash(text: &str, at: Ancestor<'_>) -> Result<usize, Obstacle> {
    let item = at.value().start;
    let floor = if at.index == 0 { at.parent.start } else { at.start(at.index - 1) };
    let mut line = lines::start_of(text, item);
    let before = text[line..item].trim_end();
    if before.ends_with('-') {
        return Ok(line + before.len() - 1);
    }
    while line > floor {
        line = lines::start_of(text, line - 1);
        let body = text[line..].trim_start_matches(' ');
        if body.starts_with("- ") || body.starts_with("-\n") || body.starts_with("-\r") {
            return Ok(text.len() - body.len());
        }
    }
    Err(Obstacle::new(item, "its dash was not found"))
}
