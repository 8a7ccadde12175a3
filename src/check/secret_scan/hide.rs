//! Hides secrets in messages about other faults: in the lines that they show, and in their text.

use std::collections::BTreeSet;

use super::{by_form, in_comment, keys, lines, literal, patterns, report};
use crate::note::{Diagnostic, Notes, Place};

/// The codes of messages about secrets. Their lines are masked already, and other messages about the same line may not show it.
const CODES: [&str; 4] = ["plaintext-secret", "undecrypted-secret", "unencrypted-secret", "secret"];
/// What is shown instead of a secret in a text.
const HIDDEN: &str = "***";
/// What surrounds a word in a line or in a message.
const AROUND: &str = "\"'`,;{}[]()";

/// A copy of the messages without the secrets that they would repeat.
#[must_use]
pub fn without_secrets(notes: &Notes) -> Notes {
    let is_about_secret = |note: &&Diagnostic| CODES.contains(&note.code);
    let places = notes.iter().filter(is_about_secret).filter_map(|note| note.place.as_ref());
    let known: BTreeSet<_> = places.map(|place| (place.file.clone(), place.line)).collect();
    let mut hidden = notes.clone();
    hidden.change(|note| {
        let is_known = |place: &Place| place.line > 0 && known.contains(&(place.file.clone(), place.line));
        if !CODES.contains(&note.code) {
            hide(note, &is_known);
        }
    });
    hidden
}

/// A message without the secrets that it would repeat.
#[must_use]
pub fn without_secret(note: &Diagnostic) -> Diagnostic {
    let mut hidden = note.clone();
    if !CODES.contains(&note.code) {
        hide(&mut hidden, &|_| false);
    }
    hidden
}

fn hide(note: &mut Diagnostic, is_known: &impl Fn(&Place) -> bool) {
    let mut secrets = BTreeSet::new();
    let related = note.related.iter_mut().map(|(_, place)| place);
    for place in note.place.iter_mut().chain(related).filter(|place| !place.source.is_empty()) {
        let is_secret = is_known(place) || has_secret(&place.file, &place.source);
        if is_secret {
            secrets.extend(secrets_of(&place.source));
            place.source = report::masked_line(&place.source, is_plain_key);
        }
    }
    let related = note.related.iter_mut().map(|(what, _)| what);
    for text in std::iter::once(&mut note.message).chain(related).chain(&mut note.hints) {
        secrets.extend(words(text).filter(|word| !in_comment("", word).is_empty()).map(str::to_owned));
        // The longest first: one may be a part of another.
        let mut longest: Vec<&String> = secrets.iter().collect();
        longest.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        for secret in longest {
            replace(text, secret);
        }
    }
}

fn has_secret(path: &str, line: &str) -> bool {
    !in_comment(path, line).is_empty() || lines::assigns(line)
}

/// Whether a text before a value is a key, and not a secret itself.
fn is_plain_key(key: &str) -> bool {
    by_form(key).is_none() && in_comment("", key).is_empty()
}

/// The parts of a line that are secrets.
fn secrets_of(line: &str) -> BTreeSet<String> {
    let of_form = words(line).filter(|word| !in_comment("", word).is_empty());
    let of_rule = patterns::scan("", line).into_iter().filter_map(|hit| line.get(hit.start..hit.end));
    let is_credential =
        |(key, value): &(&str, &str)| literal::is_literal(value) && keys::is_credential(key, value);
    let of_key = lines::pieces(line).filter(is_credential).map(|(_, value)| value);
    // A passphrase with spaces ends with its line.
    let whole = line.split_once([':', '=']).filter(|(key, value)| {
        let key = key.trim().trim_start_matches("- ").trim_matches(['"', '\'']);
        keys::is_credential(key, value.trim())
    });
    let whole = whole.map(|(_, value)| value.trim().trim_matches(['"', '\'']));
    of_form.chain(of_rule).chain(of_key).chain(whole).map(str::to_owned).collect()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || AROUND.contains(c)).filter(|word| word.len() >= super::SHORT)
}

/// Replaces a secret in a text wherever it is not a part of a longer word.
fn replace(text: &mut String, secret: &str) {
    let is_of_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut from = 0;
    while let Some(found) = text[from..].find(secret).filter(|_| !secret.is_empty()) {
        let (start, end) = (from + found, from + found + secret.len());
        let is_part = text[..start].ends_with(is_of_word) || text[end..].starts_with(is_of_word);
        if is_part {
            from = end;
        } else {
            text.replace_range(start..end, HIDDEN);
            from = start + HIDDEN.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

    fn hidden(line: &str, message: &str) -> (String, String) {
        let mut notes = Notes::new();
        let place = Place { source: line.to_owned(), line: 1, column: 3, ..Place::file("clusters/a.yaml") };
        notes.error("unknown-key", place, message);
        let mut hidden = without_secrets(&notes).sorted();
        let note = hidden.remove(0);
        (note.place.map(|place| place.source).unwrap_or_default(), note.message)
    }

    #[test]
    fn lines_with_a_secret_show_only_their_key() {
        for (line, shown) in [
            (format!("    reason: token {TOKEN}"), format!("    reason: ***** {}", "*".repeat(40))),
            ("  adminPassword: Zq8gPw2kLm".to_owned(), "  adminPassword: **********".to_owned()),
            ("  password: abc".to_owned(), "  password: ***".to_owned()),
            (format!("  {TOKEN}: on"), format!("  {} **", "*".repeat(41))),
            ("  owner: {token: Zq8gPw2kLmX4}".to_owned(), "  owner: ******* *************".to_owned()),
            ("  motd: hello # and more".to_owned(), "  motd: hello # and more".to_owned()),
            ("  password: ${{ variables.x }}".to_owned(), "  password: ${{ variables.x }}".to_owned()),
        ] {
            assert_eq!(hidden(&line, "x").0, shown);
        }
    }

    #[test]
    fn the_text_of_a_message_names_the_key_and_not_the_secret() {
        for (line, message, said) in [
            (
                "  adminPassword: Zq8gPw2kLm",
                "`adminPassword: Zq8gPw2kLm` is wrong",
                "`adminPassword: ***` is wrong",
            ),
            ("  password: one two three four", "not `one two three four`", "not `***`"),
            ("  password: abc", "`abcde` is not `abc`", "`abcde` is not `***`"),
            ("  a: b", &format!("`x`, not `{TOKEN}`"), "`x`, not `***`"),
        ] {
            assert_eq!(hidden(line, message).1, said);
        }
    }

    #[test]
    fn a_line_with_a_known_secret_is_not_shown_by_other_messages() {
        let mut notes = Notes::new();
        let place =
            |source: &str| Place { source: source.to_owned(), line: 4, column: 3, ..Place::file("a") };
        notes.error("unencrypted-secret", place("  x: *******"), "a secret");
        notes.error("wrong-type", place("  x: hunter2"), "wrong");
        assert!(without_secrets(&notes).iter().all(|note| note.place == Some(place("  x: *******"))));
    }
}
