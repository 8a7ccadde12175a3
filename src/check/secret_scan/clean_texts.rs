//! A cache of texts without findings. The clusters of a fleet share most of their texts.
//!
//! Only clean texts are cached, with everything that decided the result as the key. An answer therefore never depends on
//! earlier requests.

#![expect(clippy::disallowed_types, reason = "maps that are only looked up, never iterated")]

use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
};

use ahash::RandomState;

use super::{At, embedded::Objects, patterns};

/// The maximum number of texts cached per thread.
const TEXTS: usize = 1 << 16;
/// The maximum length of a cached text, in bytes.
const LONGEST: usize = 1 << 10;
/// The maximum number of paths cached per thread. The objects of a cluster come from a few files, in turns.
const PATHS: usize = 1 << 8;

#[derive(Default)]
struct Clean {
    texts: HashSet<Box<[u8]>, RandomState>,
    paths: Paths,
    /// The key of a request, kept to avoid an allocation for each.
    key: Vec<u8>,
}

/// Numbers paths by how the rules treat them: equal numbers mean equal findings in the same text.
#[derive(Default)]
struct Paths {
    /// The numbers of recent paths. The rules have a hundred patterns for paths.
    recent: HashMap<Box<str>, u32, RandomState>,
    numbers: HashMap<Vec<u8>, u32, RandomState>,
}

impl Paths {
    fn number(&mut self, path: &str) -> u32 {
        if let Some(number) = self.recent.get(path) {
            return *number;
        }
        let next = u32::try_from(self.numbers.len()).expect("fewer kinds of paths than 2^32");
        let number = *self.numbers.entry(patterns::of_path(path)).or_insert(next);
        if self.recent.len() >= PATHS {
            self.recent.clear();
        }
        self.recent.insert(path.into(), number);
        number
    }
}

thread_local! {
    static CLEAN: RefCell<Clean> = RefCell::default();
}

/// Whether a text is known to be clean.
pub(super) fn is_known(at: At<'_>, text: &str, objects: Objects) -> bool {
    text.len() <= LONGEST
        && CLEAN.with_borrow_mut(|clean| {
            clean.ask(at, text, objects);
            clean.texts.contains(&*clean.key)
        })
}

/// Records that a text is clean.
pub(super) fn learn(at: At<'_>, text: &str, objects: Objects) {
    if text.len() <= LONGEST {
        CLEAN.with_borrow_mut(|clean| {
            if clean.texts.len() >= TEXTS {
                clean.texts.clear();
            }
            clean.ask(at, text, objects);
            clean.texts.insert(clean.key.as_slice().into());
        });
    }
}

impl Clean {
    /// Builds the key from everything that [`in_text`](super::in_text) depends on.
    fn ask(&mut self, at: At<'_>, text: &str, objects: Objects) {
        self.key.clear();
        self.key.push(u8::from(objects == Objects::Checked));
        self.key.extend_from_slice(&self.paths.number(at.path).to_le_bytes());
        // The length prefix separates adjacent parts, whatever they contain.
        for part in [at.parent.as_bytes(), at.key.as_bytes()] {
            self.key.extend_from_slice(&part.len().to_le_bytes());
            self.key.extend_from_slice(part);
        }
        self.key.extend_from_slice(text.as_bytes());
    }
}
