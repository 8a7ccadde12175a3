//! Writes a report as one self-contained HTML page: no script, no other file, no network.
//!
//! Every value goes through the template, which escapes it. A policy in the page's head forbids everything but the page's
//! own style. Colors only repeat what the text says. A large report drops values and fields first; risk classes, counts and
//! cluster names are always complete.

mod change;
mod tables;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest as _, Sha256};

use super::json::digest;
use crate::{
    note::{Cause, Notes, Severity},
    report::{
        Report, group::Group, owners::owners, reverts::reverts, risk::Risk, steps, summary::summary, words,
    },
};

/// The contents of a page.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// The report; none if nothing could be compared.
    pub report: Option<&'a Report>,
    /// What the change was compared with.
    pub compared: &'a str,
    /// The messages of the run.
    pub notes: &'a Notes,
}

/// Pages are shortened to stay below this size in bytes, which browsers open without delay.
const LIMIT: usize = 16 << 20;

/// How much detail is shown.
#[derive(Clone, Copy, Debug)]
struct Detail {
    /// The number of groups per risk class.
    groups: usize,
    /// The number of reasons of a change.
    reasons: usize,
    /// The number of fields, causes and reasons of a change, or of files of a change outside clusters.
    fields: usize,
    /// The number of characters of a value.
    value: usize,
}

/// From most to least detailed.
const DETAILS: [Detail; 6] = [
    Detail { groups: usize::MAX, reasons: 1_000, fields: 1_000, value: 2_000 },
    Detail { groups: usize::MAX, reasons: 100, fields: 100, value: 400 },
    Detail { groups: usize::MAX, reasons: 20, fields: 20, value: 100 },
    Detail { groups: usize::MAX, reasons: 5, fields: 5, value: 60 },
    Detail { groups: usize::MAX, reasons: 3, fields: 0, value: 0 },
    Detail { groups: 500, reasons: 3, fields: 0, value: 0 },
];

const STYLE: &str = include_str!("style.css");

/// The maximum number of messages shown; the rest is only counted.
const MESSAGES: usize = 500;

/// Renders a report as a page.
pub fn html(page: &Page<'_>) -> String {
    below(page, LIMIT)
}

fn below(page: &Page<'_>, limit: usize) -> String {
    let mut made = String::new();
    let digest = page.report.map(digest).unwrap_or_default();
    for detail in DETAILS {
        made = document(page, detail, &digest).into_string();
        if made.len() <= limit {
            break;
        }
    }
    made
}

fn document(page: &Page<'_>, detail: Detail, digest: &str) -> Markup {
    let title = page.report.map_or_else(|| "Nothing was compared".to_owned(), summary);
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        STANDARD.encode(Sha256::digest(STYLE))
    );
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="no-referrer";
                @if page.report.is_some() {
                    meta name="stackloom-diff" content={ "sha256:" (digest) };
                }
                title { (title) " – stackloom diff" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#report" { "Skip to the report" }
                header {
                    h1 { (title) }
                    @if page.report.is_some() { p.soft { "Compared with " (page.compared) "." } }
                    @for line in page.report.map(words::overview).unwrap_or_default() { p.soft { (line) } }
                    @for warning in page.report.into_iter().flat_map(Report::warnings) {
                        p { span.badge { "Warning" } " " (prose(warning)) "." }
                    }
                }
                @if let Some(report) = page.report { (contents(report, page.notes)) }
                main #report {
                    @if let Some(report) = page.report { (body(report, detail)) }
                    (messages(page.notes))
                }
                (footer(page, digest))
            }
        }
    }
}

fn footer(page: &Page<'_>, digest: &str) -> Markup {
    html! {
        footer {
            p { "Written by stackloom " (env!("CARGO_PKG_VERSION")) "." }
            @if page.report.is_some() {
                p { "Digest of the report, which is also the last line of the comment: " code { "sha256:" (digest) } }
            }
        }
    }
}

/// The text with a capital letter in front.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}

/// Text in which literals are between backticks.
fn prose(text: &str) -> Markup {
    let parts: Vec<&str> = text.split('`').collect();
    // With an odd number of backticks, it is not clear which of them belong together.
    if parts.len().is_multiple_of(2) {
        return html! { (text) };
    }
    html! {
        @for (at, part) in parts.iter().enumerate() {
            @if at % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// The color of a risk class. The title says the same in words.
fn tone(risk: Risk) -> &'static str {
    match risk {
        Risk::Refused | Risk::Deletes => "high",
        Risk::Unknown => "unknown",
        Risk::ControlPlane | Risk::Pools | Risk::ScaleDown | Risk::Restarts => "mid",
        Risk::InPlace | Risk::Metadata | Risk::Nothing => "low",
    }
}

/// The risk classes that have sections in the report.
fn classes(report: &Report) -> impl Iterator<Item = Risk> {
    let has = |risk: &Risk| {
        report.groups.iter().any(|one| one.risk == *risk) || report.beside.iter().any(|one| one.risk == *risk)
    };
    Risk::ALL.into_iter().filter(has)
}

fn contents(report: &Report, notes: &Notes) -> Markup {
    let has_messages = notes.iter().next().is_some();
    html! {
        nav aria-label="Contents" {
            ul {
                @for risk in classes(report) {
                    li { a href={ "#" (risk.as_str()) } { (risk.title()) } }
                }
                @if !owners(report).is_empty() { li { a href="#owners" { "Owners" } } }
                @if !report.peaks.is_empty() { li { a href="#peaks" { "Extra machines" } } }
                @if !report.clusters.is_empty() { li { a href="#clusters" { "Clusters by name" } } }
                @if has_messages { li { a href="#messages" { "Messages" } } }
            }
        }
    }
}

fn body(report: &Report, detail: Detail) -> Markup {
    html! {
        (tables::classes(report))
        (tables::owners(report, detail))
        @for risk in classes(report) { (class(report, risk, detail)) }
        (tables::peaks(report))
        (tables::clusters(report, detail))
    }
}

/// Renders the groups of a risk class. Their numbers in the report name their sections.
fn class(report: &Report, risk: Risk, detail: Detail) -> Markup {
    let groups = report.groups.iter().enumerate().filter(|(_, group)| group.risk == risk);
    let clusters: usize = groups.clone().map(|(_, group)| group.clusters.len()).sum();
    let beside = report.beside.iter().filter(|one| one.risk == risk);
    html! {
        section aria-labelledby=(risk.as_str()) class=(tone(risk)) {
            h2 id=(risk.as_str()) {
                (risk.title())
                @if clusters > 0 { ": " (words::count(clusters, "cluster")) (words::no_machines(risk)) }
            }
            @for (number, group) in groups.clone().take(detail.groups) { (one(group, number, detail)) }
            @let more = groups.clone().skip(detail.groups).map(|(_, group)| group.clusters.len());
            @if more.clone().next().is_some() {
                p {
                    "… and " (words::count(more.clone().count(), "more change")) " of " (words::count(more.sum(), "cluster"))
                    ", which " a href="#clusters" { "the list of clusters" } " names"
                }
            }
            @for change in beside { (change::beside(change, detail)) }
        }
    }
}

fn one(group: &Group, number: usize, detail: Detail) -> Markup {
    let count = group.clusters.len();
    let name = format!("group-{}", number + 1);
    html! {
        article aria-labelledby=(name) {
            h3 id=(name) {
                @if count == 1 { (words::names_of_group(group, 1)) } @else { (count) " clusters, the same in each" }
            }
            @if let Some(versions) = words::versions(group) { p.soft { (versions) } }
            @if count > 1 {
                (names(group))
            }
            @if !group.steps.is_empty() {
                p { (capital(&steps::heading(group))) }
                ol { @for step in &group.steps { li { (step) } } }
            }
            ul.changes {
                @for change in &group.changes { (change::change(change, count, detail)) }
                @for (what, words) in reverts(group, usize::MAX) { li { p { strong { (what) } ": " (prose(words)) } } }
            }
            @for note in &group.notes { p { "Note: " (prose(note)) } }
        }
    }
}

/// Renders the names of a group's clusters; a long list starts collapsed.
fn names(group: &Group) -> Markup {
    /// The maximum number of names that are not collapsed.
    const FEW: usize = 6;
    let list = html! {
        ul.names { @for name in words::names_with_machines(group) { li { (name) } } }
    };
    html! {
        @if group.clusters.len() <= FEW { (list) }
        @else { details { summary { "Names of the " (group.clusters.len()) " clusters" } (list) } }
    }
}

fn messages(notes: &Notes) -> Markup {
    let causes = notes.causes();
    html! {
        @if !causes.is_empty() {
            section aria-labelledby="messages" {
                h2 id="messages" { "Messages: " (causes.len()) }
                ul.changes { @for cause in causes.iter().take(MESSAGES) { (message(cause)) } }
                @if causes.len() > MESSAGES { p { "… and " (causes.len() - MESSAGES) " more" } }
            }
        }
    }
}

fn message(cause: &Cause) -> Markup {
    let note = &cause.note;
    let (tone, word) = match note.severity {
        Severity::Error => ("high", "Error"),
        Severity::Warning => ("mid", "Warning"),
    };
    html! {
        li class=(tone) {
            p.text { span.badge { (word) } " " code { (note.code) } ": " (prose(&note.message)) }
            @if let Some(place) = &note.place { p { code { (place) } } }
            @if let Some(concerns) = cause.concerns(false) { p.text { (prose(&concerns)) } }
            @for hint in &note.hints { p.text { "Help: " (prose(hint)) } }
        }
    }
}

#[cfg(test)]
mod tests;
