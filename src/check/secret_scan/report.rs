//! Reports secrets without repeating them.

use super::{Found, Tree, allow, patterns};
use crate::{
    check::Finder,
    note::Place,
    yaml::{Node, Origin, Source},
};

/// The annotation that marks findings as false alarms, with a reason: on an object for itself, on a cluster for all its
/// files.
const ALLOW: &str = "stackloom.dev/allow-plaintext-secret";
/// The maximum length of a key shown next to a masked value.
const KEY: usize = 40;

/// Whether an object marks its findings as false alarms, with a reason.
pub(in crate::check) fn is_allowed<T: Tree>(object: &T) -> bool {
    let annotations = object.child("metadata").and_then(|metadata| metadata.child("annotations"));
    let reason = annotations.and_then(|annotations| annotations.word(ALLOW));
    reason.is_some_and(|reason| !reason.trim().is_empty())
}

/// Reports a finding in a generated object. `made_from` is the file to show if the node has no place of its own.
pub(in crate::check) fn tell_node(made_from: &str, node: &Node, found: &Found, finder: &mut Finder<'_>) {
    let sources = &finder.texts.sources;
    let node = node.get("kind").filter(|_| found.name == super::OBJECT).unwrap_or(node);
    let text = node.text().unwrap_or_default();
    let source = sources.get(node.origin.file);
    let place = match source {
        Some(source) => at(source, node.origin.offset as usize, &text, found.line),
        // Values inserted by the program itself are literal copies from the definition.
        None => searched(sources.at(made_from), &text).unwrap_or_else(|| Place::file(made_from)),
    };
    debug_assert!(source.is_some() || node.origin == Origin::NOWHERE || node.origin.trace().is_some());
    tell("plaintext-secret", place, found, finder);
}

fn searched(source: Option<&Source>, text: &str) -> Option<Place> {
    let source = source?;
    let line = text.lines().find(|line| !line.trim().is_empty())?;
    let at = source.text.find(line)?;
    let quoted = source.text[..at].ends_with(['"', '\'']);
    Some(source.word(at - usize::from(quoted)))
}

/// The place of a line within the scalar at a byte offset of a file.
pub(super) fn at(source: &Source, offset: usize, text: &str, line: usize) -> Place {
    let wanted = text.lines().nth(line).unwrap_or_default().trim();
    let exact = source.block_line(offset, line).filter(|_| !wanted.is_empty()).and_then(|start| {
        let rest = source.text[start..].lines().next().unwrap_or_default();
        let indent = rest.len() - rest.trim_start().len();
        // The block of a template has lines that are missing from its result.
        (rest.trim() == wanted).then(|| source.place(start + indent, wanted.chars().count()))
    });
    exact.unwrap_or_else(|| source.word(offset))
}

/// Reports a finding at a place, unless it is allowed there.
pub(in crate::check) fn tell(code: &'static str, place: Place, found: &Found, finder: &mut Finder<'_>) {
    let allowed = allow::of_file(finder, &place.file);
    if allowed.as_ref().is_some_and(|list| list.allows(&place.file, found.name)) {
        return;
    }
    let source = masked(&place);
    let place = Place { source, ..place };
    let hint = allowed.map(|list| list.hint("if it is not a secret", &place.file, found.name));
    let (who, instead) = if code == "plaintext-secret" {
        (
            "anyone who can read the repository can read it",
            "put it into a Secret that SOPS or External Secrets creates (for example in the cluster's `.d` folder), and refer to that Secret",
        )
    } else {
        (
            "git keeps it for anyone who can read the repository",
            "encrypt it with SOPS (README.md, “Credentials”), or use an ExternalSecret or a SealedSecret instead; if it was already pushed, rotate the credential",
        )
    };
    let message = format!("this looks like {}, and {who}", found.what);
    let released = place.file.starts_with("generated/releases/");
    // A numbered release cannot be changed, and only its patterns were checked when it was cut.
    let note = if released && super::is_of_rules_alone(found.name) {
        finder.notes.warning(code, place, message)
    } else {
        finder.notes.error(code, place, message)
    };
    note.hint(instead);
    if released {
        note.hint(format!("if it is not a secret, say so with the cluster's annotation `{ALLOW}: <reason>`"));
    }
    if let Some(hint) = hint {
        note.hint(hint);
    }
}

/// The line of a place with its value masked. Only a short key before it is shown.
fn masked(place: &Place) -> String {
    let line = &place.source;
    // The word `Secret` itself need not be masked.
    let at: String = line.chars().skip(place.column.saturating_sub(1)).collect();
    if at.trim_matches(|c: char| c.is_whitespace() || "\"',{}".contains(c)) == "Secret" {
        return line.clone();
    }
    let value = line.find([':', '=']).map_or(0, |at| line[..=at].chars().count());
    masked_line(line, |key| place.column > value && patterns::scan("", key).is_empty())
}

/// A line with its value masked. A short key before it is shown if `may_show` agrees.
pub(super) fn masked_line(line: &str, may_show: impl Fn(&str) -> bool) -> String {
    let shown = line.find([':', '=']).map_or(0, |at| at + 1);
    let key = line[..shown].trim().trim_start_matches("- ");
    let plain = !key.is_empty()
        && key.len() <= KEY
        && key[..key.len() - 1].chars().all(|c| c.is_ascii_alphanumeric() || " _-./\"'".contains(c))
        && may_show(key);
    let shown = if plain { shown } else { 0 };
    let hidden = line[shown..].chars().map(|c| if c.is_whitespace() { c } else { '*' });
    line[..shown].chars().chain(hidden).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_of_a_line_is_never_shown() {
        let masked = |line: &str, column: usize| {
            masked(&Place { source: line.to_owned(), column, line: 1, ..Place::file("a.yaml") })
        };
        assert_eq!(masked("  password: hunter2 # old: x", 13), "  password: ******* * **** *");
        assert_eq!(masked("  - token=abc", 11), "  - token=***");
        assert_eq!(masked("  {a: b, password: hunter2}", 20), "  *** ** ********* ********");
        assert_eq!(
            masked("ghp_x9Kd2mQ7zR4tB8vN1wY5cF3hJ6pL0sG2aE7u: on", 1),
            "******************************************".to_owned()[..41].to_owned() + " **"
        );
        assert_eq!(masked("just words", 1), "**** *****");
        assert_eq!(masked("kind: Secret", 7), "kind: Secret");
        assert_eq!(masked("kind: Secret # and more", 7), "kind: ****** * *** ****");
    }
}
