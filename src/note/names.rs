//! Names in messages: those of clusters, and lists of names.

use std::collections::BTreeSet;

use serde::{Serialize, Serializer};

use super::Diagnostic;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Identity<'a> {
    management_cluster: &'a str,
    namespace: &'a str,
    name: &'a str,
}

/// Writes full names, `<management cluster>/<namespace>/<name>`.
pub(super) fn write<S: Serializer>(clusters: &BTreeSet<String>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(clusters.iter().map(|full| {
        let (management_cluster, rest) = full.split_once('/').unwrap_or_default();
        let (namespace, name) = rest.split_once('/').unwrap_or_default();
        Identity { management_cluster, namespace, name }
    }))
}

/// An abbreviated commit ID, as messages have it.
pub fn short_commit(commit: &str) -> String {
    commit.chars().take(10).collect()
}

/// Lists items in a sentence: `a, b and c`, with `and` or another conjunction.
pub fn in_words(items: &[String], conjunction: &str) -> String {
    match items.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} {conjunction} {last}", rest.join(", ")),
        None => String::new(),
    }
}

/// The only cluster that a message is about, with its full name: the affected one, or the one whose generated file it names.
pub(super) fn subject(note: &Diagnostic) -> Option<String> {
    if !note.clusters.is_empty() {
        return note.clusters.first().filter(|_| note.clusters.len() == 1).cloned();
    }
    let places = note.place.iter().chain(note.related.iter().map(|(_, place)| place));
    places.into_iter().find_map(|place| {
        let mut parts = place.file.strip_prefix("generated/management/")?.split('/');
        let (management, folder, namespace, name) =
            (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        (folder == "clusters").then(|| format!("{management}/{namespace}/{name}"))
    })
}

/// A text without the name of a cluster where it is quoted, so that what happens to every cluster is one message.
pub(super) fn neutral(text: &str, full: &str) -> String {
    let (_, id) = full.split_once('/').unwrap_or_default();
    let (_, name) = id.split_once('/').unwrap_or_default();
    // A definition can have an empty name, which is an error of its own.
    if name.is_empty() {
        return text.to_owned();
    }
    let quoted = text.split('`').enumerate();
    let parts = quoted.map(
        |(at, part)| {
            if at % 2 == 1 { without(&without(part, id), name) } else { part.to_owned() }
        },
    );
    parts.collect::<Vec<_>>().join("`")
}

/// A text with a placeholder for each occurrence of a name as a whole word.
fn without(text: &str, name: &str) -> String {
    let is_apart = |c: Option<char>| c.is_none_or(|c| !c.is_ascii_alphanumeric());
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(name) {
        let (before, after) = (&rest[..at], &rest[at + name.len()..]);
        let before_it = before.chars().next_back().or_else(|| out.chars().next_back());
        let is_word = is_apart(before_it) && is_apart(after.chars().next());
        out.push_str(before);
        out.push_str(if is_word { "\0" } else { name });
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::note::Notes;

    #[test]
    fn only_whole_names_in_quotes_are_left_out() {
        let neutral = |text| neutral(text, "mgmt/team-a/dev-1");
        assert_eq!(neutral("ConfigMap `dev-1-facts` is wrong"), "ConfigMap `\0-facts` is wrong");
        assert_eq!(neutral("`a.dev-1` and `dev-10` and dev-1"), "`a.\0` and `dev-10` and dev-1");
        assert_eq!(neutral("`adev-1`, `dev-1dev-1`, `team-a/dev-1`"), "`adev-1`, `dev-1dev-1`, `\0`");
        assert_eq!(super::neutral("`a`", "mgmt/team-a/"), "`a`");
    }

    #[test]
    fn a_message_names_clusters_as_every_document_does() {
        let mut notes = Notes::new();
        notes.error("x", None, "it is wrong").hint("mend it");
        notes.concern("mgmt/team-a/dev-1");
        let note = json!(notes.iter().next().unwrap());
        let name = json!({ "managementCluster": "mgmt", "namespace": "team-a", "name": "dev-1" });
        assert_eq!(note["clusters"], json!([name]));
    }
}
