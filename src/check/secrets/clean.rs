//! A cache of texts without findings. The clusters of a fleet share most of their texts.
//!
//! Only clean texts are cached, with everything that decided the result as the key. An answer therefore never depends on
//! earlier requests.

#![expect(clippy::disallowed_types, reason = "a set that is only asked, and never walked through")]

use std::{cell::RefCell, collections::HashSet};

use super::{At, rules};

/// The maximum number of texts cached per thread.
const TEXTS: usize = 1 << 16;
/// The maximum length of a cached text, in bytes.
const LONGEST: usize = 1 << 10;

#[derive(Default)]
struct Clean {
    texts: HashSet<Vec<u8>, ahash::RandomState>,
    /// The path of the last request, and the result of the rules for it.
    path: (String, Vec<u8>),
    /// The key of a request, kept to avoid an allocation for each.
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

/// Records that a text is clean.
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
    /// Builds the key from everything that [`look`](super::look) depends on.
    fn ask(&mut self, at: At<'_>, text: &str) {
        if self.path.0 != at.path || self.path.1.is_empty() {
            self.path = (at.path.to_owned(), rules::of_path(at.path));
        }
        self.key.clear();
        // The length prefix separates adjacent parts, whatever they contain.
        for part in [&self.path.1, at.parent.as_bytes(), at.key.as_bytes()] {
            self.key.extend_from_slice(&part.len().to_le_bytes());
            self.key.extend_from_slice(part);
        }
        self.key.extend_from_slice(text.as_bytes());
    }
}
