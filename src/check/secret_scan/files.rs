//! Finds secrets in a file: in its values and comments, in its lines if it is not YAML, and by its name.

use super::{At, Found, Tree, embedded::Objects, in_comment, in_object, in_text, literal, patterns, report};
use crate::{
    note::{Notes, Place},
    yaml::{Document, RawNode, Source, read_raw},
};

/// Extensions of binary key files.
const EXTENSIONS: [&str; 6] = [".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk"];

/// Names of files that contain nothing but a key or passwords.
const NAMES: [&str; 8] =
    [".git-credentials", ".netrc", ".pgpass", ".vault-token", "id_dsa", "id_ecdsa", "id_ed25519", "id_rsa"];

/// A finding in a file.
#[derive(Debug)]
pub(in crate::check) struct Spot {
    pub(in crate::check) place: Place,
    /// The finding.
    pub(in crate::check) found: Found,
}

/// Finds text in a file that looks like a secret. Messages of the YAML reader go to `notes`.
pub(in crate::check) fn in_file(source: &Source, notes: &mut Notes) -> Vec<Spot> {
    let mut spots = Vec::new();
    let key_file =
        || Spot { place: Place::file(&*source.path), found: Found::new("key-file", "a key file", 0) };
    if is_binary_key(&source.path.to_ascii_lowercase()) {
        return vec![key_file()];
    }
    // A YAML reader takes a file of assignments or plain text for one or more long scalars.
    let documents = read_raw(source, notes).filter(|all| all.iter().any(|one| is_collection(&one.root)));
    match documents {
        Some(documents) => documents.iter().for_each(|one| in_document(source, one, &mut spots)),
        None => in_lines(source, &mut spots),
    }
    if spots.is_empty() && is_key_file(&source.path) && literal::is_open(source.text.trim()) {
        spots.push(key_file());
    }
    spots
}

/// Whether the name of a file says that it contains a key or passwords.
pub(super) fn is_key_file(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    NAMES.contains(&path.rsplit('/').next().unwrap_or_default()) || is_binary_key(&path)
}

fn is_binary_key(path: &str) -> bool {
    patterns::by_path(path).is_some() || EXTENSIONS.iter().any(|end| path.ends_with(end))
}

pub(super) fn is_collection(node: &RawNode) -> bool {
    node.entries().next().is_some() || !node.items().is_empty()
}

fn in_document(source: &Source, document: &Document, spots: &mut Vec<Spot>) {
    for (node, found) in in_object(&source.path, &document.root, &report::is_allowed) {
        let text = node.text().unwrap_or_default();
        let kind = node.child("kind").filter(|_| found.name == super::OBJECT);
        let start = kind.map_or(node.start, |kind| kind.start);
        spots.push(Spot { place: report::at(source, start, &text, found.line), found });
    }
    for comment in &document.comments {
        let text = comment.text.trim();
        for found in in_comment(&source.path, text) {
            spots.push(Spot { place: source.place(comment.start, text.chars().count() + 2), found });
        }
    }
}

/// Searches files in other formats line by line.
fn in_lines(source: &Source, spots: &mut Vec<Spot>) {
    let says = |line: &str, key: &str| {
        let rest = line.trim().trim_start_matches(['{', '"']).strip_prefix(key);
        rest.is_some_and(|rest| rest.trim_start_matches('"').starts_with(':'))
    };
    let is_secret = |line: &str| line.trim_end().trim_end_matches(['}', ',', '"']).ends_with("Secret");
    let lines = || source.text.lines();
    let secret = lines().any(|line| says(line, "kind") && is_secret(line));
    let sealed = lines().any(|line| says(line, "sops") || says(line, "encryptedData"));
    let at = At { path: &source.path, parent: "", key: "" };
    let mut found = if sealed { Vec::new() } else { in_text(at, &source.text, Objects::Unchecked, 0) };
    if secret && !sealed {
        let data = |line: &&str| ["data", "stringData"].iter().any(|key| says(line, key));
        found.extend(
            lines()
                .enumerate()
                .filter(|(_, line)| data(line))
                .map(|(line, _)| Found::new(super::OBJECT, "a Secret with plain content", line)),
        );
    }
    found.sort_by_key(|one| one.line);
    let mut starts = vec![0];
    starts.extend(source.text.match_indices('\n').map(|(at, _)| at + 1));
    for one in found {
        let start = starts.get(one.line).copied().unwrap_or_default();
        let line = source.text[start..].lines().next().unwrap_or_default();
        spots.push(Spot { place: source.place(start, line.trim_end().chars().count().max(1)), found: one });
    }
}
