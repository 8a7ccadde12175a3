//! Text that makes an engine leave out a whole file.

use super::{Check, Finder, Rule};
use crate::{
    note::{At, Place},
    plan::{ManagementPlan, Plan},
    render::{Drawn, skipping_texts},
    yaml::{Mapping, Node, Origin},
};

pub(super) static RULE: Rule = Rule {
    name: "skipped-file",
    docs: "A generated file contains a text with which an engine leaves out the whole file, wherever the text is. Its object \
           would never be applied; if it already is, the engine would delete it.",
    check: Check::Objects(check),
};

/// The same rule for the numbered releases that a management cluster uses.
pub(super) static OF_NUMBERED: Rule = Rule { check: Check::Management(check_numbered), ..RULE };

fn check(drawn: &Drawn, finder: &mut Finder<'_>) {
    for text in skipping_texts() {
        for object in &drawn.objects {
            // The first line of the file names its source.
            let in_source = object.source.contains(text).then_some(Origin::NOWHERE);
            for origin in found(&object.node, text).into_iter().chain(in_source) {
                tell(text, origin, &object.source, finder);
            }
        }
    }
}

fn check_numbered(_: &Plan, plan: &ManagementPlan, finder: &mut Finder<'_>) {
    for release in plan.releases.iter().filter(|release| !release.is_head()) {
        for text in skipping_texts() {
            let file = format!("generated/releases/{}/release.yaml", release.name);
            for origin in release.objects.iter().flat_map(|object| found(object, text)) {
                tell(text, origin, &file, finder);
            }
        }
    }
}

/// The origins of the keys and values that contain a text.
fn found(node: &Node, text: &str) -> Vec<Origin> {
    if let Some(value) = node.as_str() {
        return value.contains(text).then_some(node.origin).into_iter().collect();
    }
    let entries = node.as_mapping().into_iter().flat_map(Mapping::iter);
    let in_entries = entries.flat_map(|entry| {
        let in_key = entry.key.name.contains(text).then_some(entry.key.origin);
        in_key.into_iter().chain(found(&entry.value, text)).collect::<Vec<_>>()
    });
    let items = node.as_sequence().unwrap_or_default().iter();
    in_entries.chain(items.flat_map(|item| found(item, text))).collect()
}

fn tell(text: &str, origin: Origin, source: &str, finder: &mut Finder<'_>) {
    let place = finder.texts.sources.place(origin);
    // A value of several lines begins before the text.
    let exact = place.as_ref().and_then(|place| {
        let source = finder.texts.sources.at(&place.file)?;
        let from = origin.offset as usize;
        Some(source.word(from + source.text.get(from..)?.find(text)?))
    });
    let place = exact.or(place).map_or_else(|| At::word_or(origin, || Place::file(source)), At::from);
    finder.notes.error(RULE.name, place, message(text)).hint(HINT);
}

pub(super) fn message(text: &str) -> String {
    format!("`{text}` in a file makes an engine leave out the whole file, and delete what it applied from it")
}

pub(super) const HINT: &str = "write it in another way: the engine looks for this text anywhere in the file";
