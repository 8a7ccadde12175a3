//! Results that were computed before: in a fleet, most clusters of a class differ in few values.
//!
//! A result is kept by all that it was computed from, written as bytes.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

use serde_json::Value;

/// Bytes that one memo may take; what comes after that is computed each time.
const MAX_BYTES: usize = 1 << 20;
/// Longer keys are not worth keeping.
const MAX_KEY: usize = 16 << 10;

/// What a result is computed from, as bytes.
#[derive(Debug, Default, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(Vec<u8>);

impl Key {
    /// Adds a mark, which tells apart what follows it.
    pub fn mark(&mut self, mark: u8) {
        self.0.push(mark);
    }

    /// Adds a number.
    pub fn number(&mut self, number: usize) {
        self.0.extend_from_slice(&(number as u64).to_le_bytes());
    }

    /// Adds a value, in a form that no other one has.
    pub fn value(&mut self, value: &Value) {
        if self.0.len() > MAX_KEY {
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
                self.0.extend_from_slice(&bits);
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
        self.0.extend_from_slice(text.as_bytes());
    }

    /// The key, unless it is too long to be kept; then not all was written.
    pub fn short(self) -> Option<Self> {
        (self.0.len() <= MAX_KEY).then_some(self)
    }
}

/// Results by what they were computed from.
#[derive(Debug)]
pub struct Memo<T> {
    kept: RwLock<Kept<T>>,
}

#[derive(Debug)]
struct Kept<T> {
    results: BTreeMap<Key, T>,
    bytes: usize,
    /// Something was too large for what is left of the room.
    full: bool,
}

impl<T> Default for Memo<T> {
    fn default() -> Self {
        Self { kept: RwLock::new(Kept { results: BTreeMap::new(), bytes: 0, full: false }) }
    }
}

impl<T: Clone> Memo<T> {
    /// The result for a key, computed if it is new, together with its size; without a key it is computed each time.
    /// Failures are not kept.
    pub fn get<E>(&self, key: Option<Key>, compute: impl FnOnce() -> Result<(T, usize), E>) -> Result<T, E> {
        let Some(key) = key else { return compute().map(|(made, _)| made) };
        if let Some(known) = self.known(&key) {
            return Ok(known);
        }
        let (made, size) = compute()?;
        self.keep(key, made.clone(), size);
        Ok(made)
    }

    /// The result that is kept for a key.
    pub fn known(&self, key: &Key) -> Option<T> {
        self.kept.read().unwrap_or_else(PoisonError::into_inner).results.get(key).cloned()
    }

    /// Whether there may be room for more.
    pub fn has_room(&self) -> bool {
        !self.kept.read().unwrap_or_else(PoisonError::into_inner).full
    }

    /// Keeps a result of a size.
    pub fn keep(&self, key: Key, made: T, size: usize) {
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        let size = size + key.0.len() + size_of::<T>();
        kept.full |= kept.bytes + size > MAX_BYTES;
        if kept.bytes + size <= MAX_BYTES && kept.results.insert(key, made).is_none() {
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
            key.short().map(|key| key.0)
        };
        let mut keys: Vec<_> = values.iter().map(|value| key(value).unwrap()).collect();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), values.len());
        assert_eq!(key(&json!("x".repeat(20_000))), None);
    }

    #[test]
    fn a_result_is_computed_once_and_failures_and_large_ones_each_time() {
        let memo = Memo::default();
        let mut computed = 0;
        let mut ask = |key: &[u8], answer: Result<usize, ()>| {
            let size = answer.unwrap_or_default();
            memo.get(Some(Key(key.to_vec())), || {
                computed += 1;
                answer.map(|answer| (answer, size))
            })
        };
        assert_eq!([ask(b"a", Ok(1)), ask(b"a", Ok(2)), ask(b"b", Ok(3))], [Ok(1), Ok(1), Ok(3)]);
        assert_eq!([ask(b"c", Err(())), ask(b"c", Ok(4)), ask(b"c", Err(()))], [Err(()), Ok(4), Ok(4)]);
        let large = MAX_BYTES + 1;
        assert_eq!([ask(b"d", Ok(large)), ask(b"d", Ok(5)), ask(b"d", Ok(6))], [Ok(large), Ok(5), Ok(5)]);
        assert_eq!(computed, 6);
    }
}
