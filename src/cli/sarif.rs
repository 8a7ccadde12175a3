//! Messages as SARIF 2.1.0, the format in which code scanners report findings to forges.
//!
//! Names and requirements are those of the standard (OASIS, Static Analysis Results Interchange Format Version 2.1.0). Our
//! columns count characters, which it calls `unicodeCodePoints`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use serde_json::{Value as Json, json};
use sha2::{Digest as _, Sha256};

use super::{annotate::in_repository, visible::visible};
use crate::{
    check::{RULES, class_lints::LINTS, without_secrets},
    model::ClusterId,
    note::{Diagnostic, Notes, Place, Severity},
    report::{FOUND, Finding, Risk},
};

/// The base of relative paths: the top of the repository.
const ROOT: &str = "%SRCROOT%";

/// The name and version of our fingerprints. A change of the algorithm requires a new name.
const FINGERPRINT: &str = "stackloomMessage/v1";

/// The name of the fingerprints of changes: each is the ID of a change in the report of `diff`.
const CHANGE: &str = "stackloomChange/v1";

/// The maximum number of results in a document: GitHub rejects larger ones.
const MOST: usize = 25_000;

/// The maximum number of reasons in a result.
const REASONS: usize = 20;

/// The maximum number of characters of a result's text. GitHub takes at most 10 MB, compressed.
const TEXT: usize = 2_000;

/// The document for a run. Paths are relative to the repository, in which `folder` contains the fleet.
pub(super) fn document(exit: u8, notes: &Notes, folder: &str) -> Json {
    of(exit, notes, None, folder)
}

/// The document for a run of `diff`, with the findings of its report.
pub(super) fn report(exit: u8, notes: &Notes, findings: &[Finding], folder: &str) -> Json {
    of(exit, notes, Some(findings), folder)
}

fn of(exit: u8, notes: &Notes, findings: Option<&[Finding]>, folder: &str) -> Json {
    let found = without_secrets(notes).sorted();
    let mut rules = rules(&found);
    if findings.is_some() {
        rules.extend(FOUND.map(|risk| (code(risk), Some(meaning(risk)))));
    }
    let index: BTreeMap<&str, usize> = rules.iter().enumerate().map(|(at, (name, _))| (*name, at)).collect();
    let mut seen = BTreeMap::new();
    let mut results: Vec<Json> = found
        .iter()
        .map(|note| {
            let fingerprint = fingerprint(note, &mut seen);
            result(note, index.get(note.code).copied(), &fingerprint, folder)
        })
        .collect();
    let findings = findings.unwrap_or_default();
    let room = MOST.saturating_sub(results.len());
    results.extend(
        findings.iter().take(room).map(|one| finding(one, index.get(code(one.risk)).copied(), folder)),
    );
    let rules: Vec<Json> = rules.into_iter().map(|(name, docs)| rule(name, docs)).collect();
    let mut invocation = json!({ "executionSuccessful": true, "exitCode": exit });
    if findings.len() > room {
        let left = findings.len() - room;
        let text = format!(
            "{left} more changes, none worse than these, are left out: a document holds {MOST} results"
        );
        invocation["toolExecutionNotifications"] =
            json!([{ "level": "warning", "message": { "text": text } }]);
    }
    run(&rules, &results, &invocation)
}

/// The rule ID for a class of changes.
pub(super) fn code(risk: Risk) -> &'static str {
    match risk {
        Risk::Refused => "diff-refused",
        Risk::Deletes => "diff-deletes",
        _ => "diff-unknown",
    }
}

fn meaning(risk: Risk) -> &'static str {
    match risk {
        Risk::Refused => {
            "The API server, Cluster API or a guard of `generate` refuses the change, or it gets stuck half-way."
        }
        Risk::Deletes => {
            "A cluster, a pool, an addon or another object is deleted, or nothing manages it any more. It is an error if no \
             step of `stackloom remove` announced it."
        }
        _ => "Nobody can know offline what the change does. Unknown is never safe.",
    }
}

fn short(text: &str) -> String {
    let mut chars = text.chars();
    let mut out: String = chars.by_ref().take(TEXT).collect();
    if chars.next().is_some() {
        out.push('…');
    }
    out
}

/// A finding's text with its first reasons.
pub(super) fn whole(finding: &Finding) -> String {
    let mut text = finding.text.clone();
    for reason in finding.reasons.iter().take(REASONS) {
        write!(text, "\n{reason}").ok();
    }
    if finding.reasons.len() > REASONS {
        write!(text, "\n… and {} more", finding.reasons.len() - REASONS).ok();
    }
    text
}

fn finding(one: &Finding, rule: Option<usize>, folder: &str) -> Json {
    let clusters: Vec<String> = one.clusters.iter().map(ClusterId::whole).collect();
    let mut result = json!({
        "ruleId": code(one.risk),
        "level": if one.is_error { "error" } else { "warning" },
        "message": { "text": visible(&short(&whole(one))) },
        "locations": [{ "physicalLocation": location(&one.place, folder) }],
        "partialFingerprints": { CHANGE: one.id },
        "properties": { "risk": one.risk.as_str(), "clusters": clusters },
    });
    if let Some(rule) = rule {
        result["ruleIndex"] = json!(rule);
    }
    result
}

/// The document for a run that ended with a fault of an operation.
pub(super) fn fault(exit: u8, text: &str) -> Json {
    let notification = json!({ "level": "error", "message": { "text": text } });
    let invocation = json!({
        "executionSuccessful": false,
        "exitCode": exit,
        "toolExecutionNotifications": [notification],
    });
    run(&[], &[], &invocation)
}

fn run(rules: &[Json], results: &[Json], invocation: &Json) -> Json {
    let version = env!("CARGO_PKG_VERSION");
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "stackloom", "version": version, "semanticVersion": version, "rules": rules } },
            "invocations": [invocation],
            "originalUriBaseIds": { ROOT: { "description": { "text": "The top of the git repository." } } },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

/// All rules and lints, and all other codes of messages, by name; with documentation if there is any.
fn rules(found: &[Diagnostic]) -> BTreeMap<&'static str, Option<&'static str>> {
    let mut rules: BTreeMap<_, _> = found.iter().map(|note| (note.code, None)).collect();
    rules.extend(LINTS.iter().map(|lint| (lint.name, Some(lint.docs))));
    let mut named = BTreeSet::new();
    // Several rules may share a name if they check different objects; the first one has the documentation.
    let first = RULES.iter().filter(|rule| named.insert(rule.name));
    rules.extend(first.map(|rule| (rule.name, Some(rule.docs))));
    rules
}

fn rule(name: &str, docs: Option<&str>) -> Json {
    let mut rule = json!({ "id": name });
    if let Some(docs) = docs {
        let docs = docs.split_whitespace().collect::<Vec<_>>().join(" ");
        rule["fullDescription"] = json!({ "text": docs });
    }
    rule
}

fn result(note: &Diagnostic, rule: Option<usize>, fingerprint: &str, folder: &str) -> Json {
    let mut text = note.message.clone();
    for hint in &note.hints {
        // Writing to a string cannot fail.
        write!(text, "\nhelp: {hint}").ok();
    }
    let mut result = json!({
        "ruleId": note.code,
        "level": match note.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        },
        "message": { "text": visible(&text) },
        "partialFingerprints": { FINGERPRINT: fingerprint },
    });
    if let Some(rule) = rule {
        result["ruleIndex"] = json!(rule);
    }
    if let Some(place) = &note.place {
        result["locations"] = json!([{ "physicalLocation": location(place, folder) }]);
    }
    if !note.related.is_empty() {
        let related = note.related.iter().enumerate().map(|(at, (what, place))| {
            json!({ "id": at + 1, "message": { "text": visible(what) }, "physicalLocation": location(place, folder) })
        });
        result["relatedLocations"] = related.collect();
    }
    if !note.clusters.is_empty() {
        result["properties"] = json!({ "clusters": json!(note)["clusters"] });
    }
    result
}

fn location(place: &Place, folder: &str) -> Json {
    let uri = uri(&in_repository(folder, &place.file));
    let mut location = json!({ "artifactLocation": { "uri": uri, "uriBaseId": ROOT } });
    if place.line > 0 {
        let mut region = json!({ "startLine": place.line });
        if place.column > 0 {
            region["startColumn"] = json!(place.column);
            region["endColumn"] = json!(place.column + place.length);
        }
        if !place.source.is_empty() {
            region["snippet"] = json!({ "text": visible(&place.source) });
        }
        location["region"] = region;
    }
    location
}

/// A path as a relative reference. Characters that RFC 3986 does not allow in a path are percent-encoded. So are colons: one
/// before the first slash would end a scheme.
fn uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/!$&'()*+,;=@".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            write!(uri, "%{byte:02X}").ok();
        }
    }
    uri
}

/// A fingerprint that survives moved lines: a hash of the code, the file and the line's text, or the message if there is no
/// line. Equal ones in a file are numbered.
fn fingerprint<'a>(note: &'a Diagnostic, seen: &mut BTreeMap<(&'a str, &'a str, &'a str), usize>) -> String {
    let (file, line) = match &note.place {
        Some(place) if !place.source.is_empty() => (place.file.as_str(), place.source.trim()),
        Some(place) => (place.file.as_str(), note.message.as_str()),
        None => ("", note.message.as_str()),
    };
    let count = seen.entry((note.code, file, line)).or_default();
    *count += 1;
    let digest = Sha256::digest(format!("{}\0{file}\0{line}", note.code));
    let mut hex = String::new();
    for byte in &digest[..16] {
        write!(hex, "{byte:02x}").ok();
    }
    format!("{hex}:{count}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(line: usize) -> Place {
        Place {
            line,
            column: 3,
            length: 5,
            source: "  naem: x".to_owned(),
            ..Place::file("clusters/a b:ü%.yaml")
        }
    }

    fn fingerprints(document: &Json) -> Vec<&str> {
        let results = document["runs"][0]["results"].as_array().into_iter().flatten();
        results.filter_map(|result| result["partialFingerprints"][FINGERPRINT].as_str()).collect()
    }

    #[test]
    fn paths_are_references_and_columns_are_characters() {
        let mut notes = Notes::new();
        notes
            .error("unknown-key", place(4), "unknown")
            .hint("name")
            .related("first", Place::file("stackloom.yaml"));
        let document = document(1, &notes, "fleets/eu");
        let result = &document["runs"][0]["results"][0];
        let at = &result["locations"][0]["physicalLocation"];
        assert_eq!(at["artifactLocation"]["uri"], "fleets/eu/clusters/a%20b%3A%C3%BC%25.yaml");
        assert_eq!(at["artifactLocation"]["uriBaseId"], ROOT);
        let region =
            json!({ "startLine": 4, "startColumn": 3, "endColumn": 8, "snippet": { "text": "  naem: x" } });
        assert_eq!(at["region"], region);
        assert_eq!(result["message"]["text"], "unknown\nhelp: name");
        assert_eq!(result["relatedLocations"][0]["physicalLocation"]["region"], Json::Null);
        let rule = result["ruleIndex"].as_u64().and_then(|at| usize::try_from(at).ok()).unwrap_or(usize::MAX);
        assert_eq!(document["runs"][0]["tool"]["driver"]["rules"][rule]["id"], "unknown-key");
    }

    #[test]
    fn fingerprints_stay_when_lines_move_and_differ_where_lines_are_equal() {
        let of = |lines: &[usize]| {
            let mut notes = Notes::new();
            for line in lines {
                notes.error("unknown-key", place(*line), format!("unknown on line {line}"));
            }
            notes.error("other", None, "all of it");
            document(1, &notes, "")
        };
        let (before, after) = (of(&[4, 9]), of(&[14, 29]));
        assert_eq!(fingerprints(&before), fingerprints(&after));
        let all: BTreeSet<_> = fingerprints(&before).into_iter().collect();
        assert_eq!(all.len(), 3);
    }

    /// As many findings as no fleet has, with as much text as there can be: what GitHub takes of it is written.
    #[test]
    fn a_large_document_is_within_the_limits_of_github() {
        let finding = |at: usize| Finding {
            id: format!("{at:016x}"),
            risk: Risk::Unknown,
            is_error: false,
            place: Place { line: at, column: 1, ..Place::file(format!("clusters/eu/{at}.yaml")) },
            text: format!("eu/{at}: cluster: the effect is not known"),
            reasons: (0..30)
                .map(|reason| format!("reason {reason} of {at}: {}", "words ".repeat(100)))
                .collect(),
            clusters: Vec::new(),
        };
        let all: Vec<Finding> = (0..26_000).map(finding).collect();
        let text = report(1, &Notes::new(), &all, "").to_string();
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        std::io::Write::write_all(&mut packed, text.as_bytes()).ok();
        let size = packed.finish().map_or(usize::MAX, |bytes| bytes.len());
        assert!(size < 10 << 20, "{size} bytes, packed");
        assert!(text.len() < 80 << 20, "{}", text.len());
        let document: Json = serde_json::from_str(&text).unwrap_or_default();
        let run = &document["runs"][0];
        assert_eq!(run["results"].as_array().map(Vec::len), Some(MOST));
        let told = run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"].as_str();
        assert!(told.unwrap_or_default().starts_with("1000 more changes"), "{told:?}");
    }
}
