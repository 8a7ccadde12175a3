//! Renders one change on the page: what happens, and below it the reasons.

use maud::{Markup, html};

use super::{Detail, prose, tone};
use crate::{
    compare::FieldChange,
    report::{OutsideChange, group::GroupChange, outside_words, words},
    tree::FileChange,
};

/// The maximum number of reasons shown without expanding anything.
const FEW: usize = 3;

/// Renders a change of a group.
pub(super) fn change(found: &GroupChange, clusters: usize, detail: Detail) -> Markup {
    let change = &found.change;
    let causes = words::causes(change);
    html! {
        li class=(tone(change.risk)) {
            p {
                strong { (change.subject.words()) } ": " (prose(&words::change(found, clusters))) ". "
                span.badge { "[" (change.risk.title()) "]" }
            }
            (reasons(&words::reasons(change), detail))
            (fields(&change.fields, detail))
            @if !causes.is_empty() && detail.fields > 0 {
                details {
                    summary { "Caused by " (words::count(causes.len(), "field")) " of the objects that Cluster API makes" }
                    ul { @for (field, entries) in causes.iter().take(detail.fields) { li { code { (field) } (prose(entries)) } } }
                    (more(causes.len(), detail))
                }
            }
        }
    }
}

fn reasons(reasons: &[String], detail: Detail) -> Markup {
    let list = html! {
        ul { @for reason in reasons.iter().take(detail.reasons) { li.text { (prose(reason)) } } }
        (more_than(reasons.len(), detail.reasons))
    };
    html! {
        @if !reasons.is_empty() {
            @if reasons.len() <= FEW { (list) }
            @else { details { summary { (words::count(reasons.len(), "reason")) } (list) } }
        }
    }
}

fn fields(fields: &[FieldChange], detail: Detail) -> Markup {
    let count = words::count(fields.len(), "field");
    html! {
        @if !fields.is_empty() && detail.fields == 0 { p { (count) " differ" } }
        @else if !fields.is_empty() {
            details {
                summary { (count) @if fields.len() == 1 { " differs" } @else { " differ" } }
                div.scroll role="region" aria-label="Fields" tabindex="0" {
                    table.fields {
                        thead { tr { th scope="col" { "Field" } th scope="col" { "Before" } th scope="col" { "After" } } }
                        tbody { @for field in fields.iter().take(detail.fields) { (row(field, detail)) } }
                    }
                }
                (more(fields.len(), detail))
            }
        }
    }
}

fn row(field: &FieldChange, detail: Detail) -> Markup {
    let (path, [before, after]) = words::field_parts(field, detail.value);
    html! {
        tr { th scope="row" { code { (path) } } td { code { (before) } } td { code { (after) } } }
    }
}

fn more(count: usize, detail: Detail) -> Markup {
    more_than(count, detail.fields)
}

fn more_than(count: usize, most: usize) -> Markup {
    html! { @if count > most { p { "… and " (count - most) " more" } } }
}

/// Renders a change outside clusters.
pub(super) fn beside(change: &OutsideChange, detail: Detail) -> Markup {
    let files = change.files.iter().take(detail.fields);
    html! {
        article {
            p { (prose(&outside_words::one(change))) }
            @if detail.fields > 0 {
                details {
                    summary { (words::count(change.files.len(), "file")) }
                    ul { @for (path, kind) in files { li { code { (path) } " " (file(*kind)) } } }
                    (more(change.files.len(), detail))
                }
            }
        }
    }
}

fn file(kind: FileChange) -> &'static str {
    match kind {
        FileChange::Added => "(added)",
        FileChange::Changed => "(changed)",
        FileChange::Removed => "(removed)",
        FileChange::Unchanged => "",
    }
}
