//! Statements of a fleet that override the built-in compatibility data.

use std::sync::Arc;

use super::{addon::origin_at, place_at, range};
use crate::{
    definition::{self as written, closest, parse::Written},
    knowledge,
    model::Assumption,
    note::Notes,
};

/// Lowers the entries of `compatibility`; none if one has errors.
pub(super) fn lower(written: &Written<written::Fleet>, notes: &mut Notes) -> Option<Arc<[Assumption]>> {
    let all = written.value.spec.compatibility.as_deref().unwrap_or_default();
    let before = notes.errors();
    let lowered: Vec<_> =
        all.iter().enumerate().filter_map(|(at, one)| lower_one(at, one, written, notes)).collect();
    (notes.errors() == before).then(|| lowered.into())
}

fn lower_one(
    at: usize,
    one: &written::Assumption,
    written: &Written<written::Fleet>,
    notes: &mut Notes,
) -> Option<Assumption> {
    let index = at.to_string();
    let place = |key: &str| place_at(written, &["spec", "compatibility", &index, key]);
    let component = one.component.as_str();
    if knowledge::component(component).is_none() {
        let known = || knowledge::components().iter().map(|one| one.name.as_str());
        let message = format!("there is no built-in data about `{component}` to replace");
        let note = notes.error("unknown-component", place("component"), message);
        match closest(component, known()) {
            Some(similar) => note.hint(format!("did you mean `{similar}`?")),
            None => note.hint(format!("use one of {}", known().collect::<Vec<_>>().join(", "))),
        };
    }
    if one.reason.trim().is_empty() {
        notes
            .error("no-reason", place("reason"), "an entry of `compatibility` has an empty `reason`")
            .hint("explain how this is known: messages show it, and reviewers rely on it");
    }
    let versions = range(&one.versions, place("versions"), notes);
    let kubernetes = range(&one.kubernetes, place("kubernetes"), notes);
    Some(Assumption {
        component: component.into(),
        versions: versions?,
        kubernetes: kubernetes?,
        reason: one.reason.as_str().into(),
        origin: origin_at(written, &["spec", "compatibility", &index, "component"]),
    })
}
