//! A cache of computed results: in a fleet, most clusters of a class differ in only a few values.
//!
//! The key of a result is everything it was computed from, encoded as bytes. If results are hardly ever reused, the cache
//! stops keeping them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock};

use gotmpl::{Found, Reads};
use serde_json::Value;

/// Size limit in bytes of a cache of small results; a full cache is cleared.
pub(crate) const SMALL: usize = 256 << 10;
/// Size limit in bytes of a cache of large results.
pub(crate) const LARGE: usize = 1 << 20;
/// Maximum length of a key: results with longer keys are not cached.
const MAX_KEY: usize = 16 << 10;
/// A full cache stays in use only if it had at least one hit per this many cached results.
const WORTH: usize = 8;

/// The input of a computation, encoded as bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    /// Hash of the bytes, compared first: keys often share a prefix, and their bytes are stored elsewhere in memory.
    hash: u64,
    bytes: Vec<u8>,
}

impl Default for Key {
    fn default() -> Self {
        // Enough for most keys.
        Self { hash: 0, bytes: Vec::with_capacity(512) }
    }
}

impl Key {
    /// Encodes everything that a template reads from its data; none if that is too long. `data` looks up a field of the
    /// data.
    pub(crate) fn of<'d>(reads: &Reads, data: impl Fn(&str) -> Option<&'d Value>) -> Option<Self> {
        let mut key = Self::default();
        for found in reads.look_up(data) {
            match found {
                Found::Value(value) => {
                    key.mark(b'+');
                    key.value(value);
                }
                Found::Missing { depth } => {
                    key.mark(b'-');
                    key.number(depth);
                }
                Found::Blocked { depth, value } => {
                    key.mark(b'!');
                    key.number(depth);
                    key.value(value);
                }
            }
        }
        key.short()
    }

    /// Adds a mark that tells how to read the following bytes.
    pub(crate) fn mark(&mut self, mark: u8) {
        self.bytes.push(mark);
    }

    pub(crate) fn number(&mut self, number: usize) {
        self.bytes.extend_from_slice(&(number as u64).to_le_bytes());
    }

    /// Adds a value; different values have different encodings.
    pub(crate) fn value(&mut self, value: &Value) {
        if self.bytes.len() > MAX_KEY {
            return;
        }
        match value {
            Value::Null => self.mark(b'0'),
            Value::Bool(flag) => self.mark(if *flag { b't' } else { b'f' }),
            Value::Number(number) => {
                let (mark, bits) = match (number.as_i64(), number.as_u64()) {
                    (Some(whole), _) => (b'i', whole.to_le_bytes()),
                    (None, Some(whole)) => (b'u', whole.to_le_bytes()),
                    (None, None) => (b'd', number.as_f64().unwrap_or(f64::NAN).to_bits().to_le_bytes()),
                };
                self.mark(mark);
                self.bytes.extend_from_slice(&bits);
            }
            Value::String(text) => {
                self.mark(b's');
                self.text(text);
            }
            Value::Array(items) => {
                self.mark(b'[');
                self.number(items.len());
                for item in items {
                    self.value(item);
                }
            }
            Value::Object(fields) => {
                self.mark(b'{');
                self.number(fields.len());
                for (name, value) in fields {
                    self.text(name);
                    self.value(value);
                }
            }
        }
    }

    fn text(&mut self, text: &str) {
        self.number(text.len());
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// Finishes the key; none if it is too long to be cached and therefore incomplete.
    pub(crate) fn short(mut self) -> Option<Self> {
        self.hash = hash(&self.bytes);
        (self.bytes.len() <= MAX_KEY).then_some(self)
    }
}

/// A fast hash that need not resist attacks: if hashes are equal, the bytes decide.
fn hash(bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let (words, rest) = bytes.as_chunks();
    let mut last = [0; 8];
    last.iter_mut().zip(rest).for_each(|(to, byte)| *to = *byte);
    let mix =
        |hash: u64, word: &[u8; 8]| (hash.rotate_left(23) ^ u64::from_le_bytes(*word)).wrapping_mul(FACTOR);
    words.iter().chain([&last]).fold(bytes.len() as u64, mix)
}

/// Cached results, by key.
#[derive(Debug)]
pub(crate) struct Memo<T> {
    room: usize,
    kept: RwLock<Kept<T>>,
    /// Number of hits since the cache was last cleared.
    hits: AtomicUsize,
    /// Whether caching is off because hardly any result was reused.
    idle: AtomicBool,
}

#[derive(Debug)]
struct Kept<T> {
    results: BTreeMap<Key, T>,
    bytes: usize,
}

impl<T: Clone> Memo<T> {
    /// Creates a cache with this size limit in bytes.
    pub(crate) fn new(room: usize) -> Self {
        let kept = RwLock::new(Kept { results: BTreeMap::new(), bytes: 0 });
        Self { room, kept, hits: AtomicUsize::default(), idle: AtomicBool::default() }
    }

    /// Returns the cached result for a key, or computes it together with its size. Without a key, it is computed every
    /// time. Failures are not cached.
    pub(crate) fn get<E>(
        &self,
        key: Option<Key>,
        compute: impl FnOnce() -> Result<(T, usize), E>,
    ) -> Result<T, E> {
        let Some(key) = key else { return compute().map(|(made, _)| made) };
        if let Some(known) = self.known(&key) {
            return Ok(known);
        }
        let (made, size) = compute()?;
        self.keep(key, made.clone(), size);
        Ok(made)
    }

    pub(crate) fn known(&self, key: &Key) -> Option<T> {
        let known = self.kept.read().unwrap_or_else(PoisonError::into_inner).results.get(key).cloned();
        if known.is_some() {
            self.hits.fetch_add(1, Ordering::Relaxed);
        }
        known
    }

    /// Reports whether caching is off, so that callers need not build keys.
    pub(crate) fn is_idle(&self) -> bool {
        self.idle.load(Ordering::Relaxed)
    }

    /// Caches a result of this size in bytes.
    pub(crate) fn keep(&self, mut key: Key, made: T, size: usize) {
        let size = size + key.bytes.len() + size_of::<(Key, T)>();
        if self.is_idle() || size > self.room / 4 {
            return;
        }
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        if kept.bytes + size > self.room {
            let results = std::mem::take(&mut kept.results);
            kept.bytes = 0;
            if self.hits.swap(0, Ordering::Relaxed) * WORTH < results.len() {
                self.idle.store(true, Ordering::Relaxed);
                return;
            }
        }
        key.bytes.shrink_to_fit();
        if kept.results.insert(key, made).is_none() {
            kept.bytes += size;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn no_two_values_have_one_key() {
        let values = [
            json!(null),
            json!(false),
            json!(1),
            json!(1.0),
            json!("1"),
            json!([1]),
            json!([[1], 2]),
            json!([[1, 2]]),
            json!({ "a": 1 }),
            json!({ "a": null }),
            json!({ "a": { "b": 1 }, "c": 2 }),
            json!({ "a": { "b": 1, "c": 2 } }),
            json!(u64::MAX),
        ];
        let key = |value: &Value| {
            let mut key = Key::default();
            key.value(value);
            key.short().map(|key| key.bytes)
        };
        let mut keys: Vec<_> = values.iter().map(|value| key(value).unwrap()).collect();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), values.len());
        assert_eq!(key(&json!("x".repeat(20_000))), None);
    }

    #[test]
    fn values_that_a_template_does_not_read_are_not_in_its_key() {
        let template = gotmpl::Template::parse("{{ .a.b }}{{ .c }}").unwrap();
        let key = |data: &Value| Key::of(template.reads().unwrap(), |name| data.get(name));
        let data = [
            json!({}),
            json!({ "a": {} }),
            json!({ "a": null }),
            json!({ "a": "1" }),
            json!({ "a": { "b": null } }),
            json!({ "a": { "b": [["x"], "y"] } }),
            json!({ "a": { "b": [["x", "y"]] } }),
            json!({ "a": { "b": "x" }, "c": "y" }),
            json!({ "a": { "b": "xy" }, "c": "" }),
        ];
        let mut keys: Vec<_> = data.iter().map(|data| key(data).unwrap()).collect();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), data.len());
        assert_eq!(key(&json!({ "c": 2 })), key(&json!({ "c": 2, "d": 1 })));
        assert_eq!(key(&json!({ "c": "x".repeat(20_000) })), None);
    }

    fn key_of(text: &str) -> Option<Key> {
        let mut key = Key::default();
        key.text(text);
        key.short()
    }

    #[test]
    fn a_result_is_computed_once_and_failures_and_large_ones_each_time() {
        let memo = Memo::new(SMALL);
        let mut computed = 0;
        let mut ask = |key: &str, answer: Result<usize, ()>| {
            let size = answer.unwrap_or_default();
            memo.get(key_of(key), || {
                computed += 1;
                answer.map(|answer| (answer, size))
            })
        };
        assert_eq!([ask("a", Ok(1)), ask("a", Ok(2)), ask("b", Ok(3))], [Ok(1), Ok(1), Ok(3)]);
        assert_eq!([ask("c", Err(())), ask("c", Ok(4)), ask("c", Err(()))], [Err(()), Ok(4), Ok(4)]);
        let large = SMALL + 1;
        assert_eq!([ask("d", Ok(large)), ask("d", Ok(5)), ask("d", Ok(6))], [Ok(large), Ok(5), Ok(5)]);
        assert_eq!(computed, 6);
    }

    #[test]
    fn without_room_it_begins_anew_and_keeps_nothing_where_nothing_is_asked_for_again() {
        for (again, idle) in [(false, true), (true, false)] {
            let memo = Memo::new(SMALL);
            let ask = |number: usize| {
                let made = memo.get(key_of(&number.to_string()), || Ok::<_, ()>((number, SMALL / 100)));
                assert_eq!(made, Ok(number));
            };
            for number in 0..200 {
                ask(number);
                if again {
                    ask(number);
                }
            }
            assert_eq!(memo.is_idle(), idle);
            let known = |number: usize| memo.known(&key_of(&number.to_string()).unwrap());
            assert_eq!((known(1), known(199)), (None, (!idle).then_some(199)));
        }
    }
}
