//! Rules out most texts of a fleet at once: short texts and names under keys without a meaning for the rules.
//!
//! A shortcut only. Whatever it rules out, the rules would not find either; a test compares the two.

#![expect(clippy::disallowed_types, reason = "maps that are only looked up, never iterated")]

use std::{cell::RefCell, collections::HashMap};

use ahash::RandomState;

use super::{At, HEADER_KEY, SHORT, SHORTEST_FORM, is_auth, is_name_like, keys, patterns, prefix};

/// The maximum number of parents, and of keys of one parent, remembered per thread.
const KEYS: usize = 1 << 10;

/// What the rules read from the key of a text.
#[derive(Clone, Copy)]
struct KeyMeaning {
    /// Whether some values of the key are credentials because of the key alone.
    is_sensitive: bool,
    /// Whether the key calls rules of the scanner that may apply to a name.
    calls_rules: bool,
}

type ByKey = HashMap<Box<str>, KeyMeaning, RandomState>;

thread_local! {
    static MEANINGS: RefCell<HashMap<Box<str>, ByKey, RandomState>> = RefCell::default();
}

/// Whether no rule can find anything in a text. False means that the rules must decide.
pub(super) fn is_ordinary(at: At<'_>, text: &str) -> bool {
    if text.len() >= SHORTEST_FORM || text.len() >= SHORT && !is_name_like(text) {
        return false;
    }
    let meaning = KeyMeaning::of(at);
    let is_quiet = || !meaning.calls_rules && !patterns::has_keyword(text);
    !meaning.is_sensitive && (text.len() < SHORT || is_quiet())
}

impl KeyMeaning {
    fn of(at: At<'_>) -> Self {
        MEANINGS.with_borrow_mut(|meanings| {
            if let Some(known) = meanings.get(at.parent).and_then(|by_key| by_key.get(at.key)) {
                return *known;
            }
            if meanings.len() >= KEYS {
                meanings.clear();
            }
            let by_key = meanings.entry(at.parent.into()).or_default();
            if by_key.len() >= KEYS {
                by_key.clear();
            }
            let meaning = Self::read(at);
            by_key.insert(at.key.into(), meaning);
            meaning
        })
    }

    fn read(at: At<'_>) -> Self {
        let is_header = at.key.to_ascii_lowercase().ends_with(HEADER_KEY);
        Self {
            is_sensitive: keys::may_name_credential(at.key)
                || at.key == "value" && keys::may_name_credential(at.parent)
                || is_auth(at.key)
                || is_header,
            calls_rules: patterns::called_by(&prefix(at).concat())
                .any(|rule| rule != patterns::GENERIC || !keys::is_reference(at.parent, at.key)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn the_rules_find_nothing_in_ordinary_texts(
            parent in "|labels|secretRef|auth|env|kubeConfig|discord|password",
            key in "|name|value|token|password|passwordRef|auth|Authorization|secretName|apiVersion|key|s|[a-z]{1,6}([A-Z][a-z]{2,5}){0,2}",
            text in "[ -~]{0,10}|[a-z0-9./-]{0,24}|(s\\.|hvb\\.|sg\\.|dp\\.pt\\.|glpat-|key-|token-)[a-z0-9./-]{0,16}|[A-Za-z0-9+/=:]{4,20}",
        ) {
            let at = At { path: "a.yaml", parent: &parent, key: &key };
            if is_ordinary(at, &text) {
                let mut found = Vec::new();
                super::super::look(at, &text, 0, &mut found);
                proptest::prop_assert_eq!(found, vec![]);
            }
        }
    }

    #[test]
    fn names_of_objects_are_ordinary() {
        let at = |parent, key| At { path: "a.yaml", parent, key };
        assert!(is_ordinary(at("metadata", "name"), "c-05358.cilium"));
        assert!(is_ordinary(at("chartRef", "name"), "cilium-1.20.2"));
        assert!(!is_ordinary(at("data", "token"), "c-05358-kubeconfig"));
        assert!(!is_ordinary(at("metadata", "name"), "hvb.0123456789"));
        assert!(!is_ordinary(at("spec", "text"), "user:x@host"));
    }
}
