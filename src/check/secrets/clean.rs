//! Texts in which nothing was found before: the clusters of a fleet have most of theirs in common.
//!
//! Only what is clean is remembered, under everything that decided it, so an answer never depends on what was asked
//! before.

#![expect(clippy::disallowed_types, reason = "a set that is only asked, and never walked through")]

use std::{cell::RefCell, collections::HashSet};

use super::{At, rules};

/// How many texts each thread remembers at most.
const TEXTS: usize = 1 << 16;
/// The longest text that is remembered, in bytes.
const LONGEST: usize = 1 << 10;

#[derive(Default)]
struct Clean {
    texts: HashSet<Vec<u8>, ahash::RandomState>,
    /// The path that was asked about last, and what the rules make of it.
    path: (String, Vec<u8>),
    /// The key of a question: kept to spare an allocation for each.
    key: Vec<u8>,
}

thread_local! {
    static CLEAN: RefCell<Clean> = RefCell::default();
}

/// Whether a text is known to be clean.
pub(super) fn is_known(at: At<'_>, text: &str) -> bool {
    text.len() <= LONGEST
        && CLEAN.with_borrow_mut(|clean| {
            clean.ask(at, text);
            clean.texts.contains(&clean.key)
        })
}

/// Remembers that a text is clean.
pub(super) fn learn(at: At<'_>, text: &str) {
    if text.len() <= LONGEST {
        CLEAN.with_borrow_mut(|clean| {
            if clean.texts.len() >= TEXTS {
                clean.texts.clear();
            }
            clean.ask(at, text);
            clean.texts.insert(clean.key.clone());
        });
    }
}

impl Clean {
    /// Writes the key: whatever [`look`](super::look) goes by.
    fn ask(&mut self, at: At<'_>, text: &str) {
        if self.path.0 != at.path || self.path.1.is_empty() {
            self.path = (at.path.to_owned(), rules::of_path(at.path));
        }
        self.key.clear();
        // The length in front keeps neighbors apart, whatever they contain.
        for part in [&self.path.1, at.parent.as_bytes(), at.key.as_bytes()] {
            self.key.extend_from_slice(&part.len().to_le_bytes());
            self.key.extend_from_slice(part);
        }
        self.key.extend_from_slice(text.as_bytes());
    }
}
