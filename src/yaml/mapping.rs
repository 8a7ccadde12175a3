//! Maps that keep the written order. Long maps have an index, so the time to read a map grows only with its length, even
//! with a hundred thousand keys.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{Arc, OnceLock},
};

use super::{Node, Origin};

/// The most entries for which a linear search is as fast as an index.
const SHORT: usize = 32;

/// The key of an entry.
#[derive(Clone, Debug)]
pub struct Key {
    /// Its text.
    pub name: Arc<str>,
    /// Where it is written.
    pub origin: Origin,
}

/// One entry of a map.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key, which no other entry of the map has.
    pub key: Key,
    /// What is written behind it.
    pub value: Node,
}

/// A map in its written order, without duplicate keys.
#[derive(Clone, Default)]
pub struct Mapping {
    entries: Vec<Entry>,
    /// The position of each key; built on the first lookup in a long map.
    index: OnceLock<BTreeMap<Arc<str>, usize>>,
}

impl fmt::Debug for Mapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter().map(|entry| (&entry.key.name, &entry.value))).finish()
    }
}

impl PartialEq for Mapping {
    /// Ignores the order of keys.
    fn eq(&self, other: &Self) -> bool {
        self.entries.len() == other.entries.len()
            && self.iter().all(|entry| other.get(&entry.key.name) == Some(&entry.value))
    }
}

impl Mapping {
    /// Creates an empty map.
    pub fn new() -> Self {
        Self::default()
    }

    /// The position of a key among the entries.
    fn position(&self, name: &str) -> Option<usize> {
        if self.entries.len() <= SHORT {
            return self.entries.iter().position(|entry| &*entry.key.name == name);
        }
        let made = || {
            let keys = self.entries.iter().enumerate();
            keys.map(|(at, entry)| (entry.key.name.clone(), at)).collect()
        };
        self.index.get_or_init(made).get(name).copied()
    }

    /// The value of a key.
    pub fn get(&self, name: &str) -> Option<&Node> {
        self.entry(name).map(|entry| &entry.value)
    }

    /// The entry of a key.
    pub fn entry(&self, name: &str) -> Option<&Entry> {
        self.position(name).map(|at| &self.entries[at])
    }

    /// The value of a key, for changing.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Node> {
        self.position(name).map(|at| &mut self.entries[at].value)
    }

    /// Sets a key. An existing key keeps its position.
    pub fn insert(&mut self, key: Key, value: Node) {
        if let Some(at) = self.position(&key.name) {
            self.entries[at] = Entry { key, value };
            return;
        }
        if let Some(index) = self.index.get_mut() {
            index.insert(key.name.clone(), self.entries.len());
        }
        self.entries.push(Entry { key, value });
    }

    /// Sets a key that the program itself makes.
    pub fn set(&mut self, name: &str, value: impl Into<Node>) {
        let value = value.into();
        self.insert(Key { name: name.into(), origin: value.origin }, value);
    }

    /// Sets a key if there is a value.
    pub fn set_some(&mut self, name: &str, value: Option<impl Into<Node>>) {
        if let Some(value) = value {
            self.set(name, value);
        }
    }

    /// Sets a key unless the value is an empty map or list: webhooks reject empty ones in composed objects.
    pub fn set_filled(&mut self, name: &str, value: impl Into<Node>) {
        let value = value.into();
        if !value.is_empty_collection() {
            self.set(name, value);
        }
    }

    /// Removes a key and moves the following entries up. To remove many keys at once, use [`Self::remove_all`].
    pub fn remove(&mut self, name: &str) -> Option<Node> {
        let at = self.position(name)?;
        self.index.take();
        Some(self.entries.remove(at).value)
    }

    /// Removes several keys in one pass.
    pub fn remove_all(&mut self, names: &BTreeSet<Arc<str>>) {
        if !names.is_empty() {
            self.index.take();
            self.entries.retain(|entry| !names.contains(&entry.key.name));
        }
    }

    /// The entries in order.
    pub fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    /// The last entry that starts at or before a byte of the file. All entries must come from that one file.
    pub fn entry_before(&self, offset: u32) -> Option<&Entry> {
        let at = self.entries.partition_point(|entry| entry.key.origin.offset <= offset);
        self.entries[..at].last()
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Reports whether the map is empty.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl FromIterator<Entry> for Mapping {
    fn from_iter<T: IntoIterator<Item = Entry>>(iter: T) -> Self {
        Self { entries: iter.into_iter().collect(), index: OnceLock::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Short and long maps behave alike after any changes, and keep their order.
    #[test]
    fn long_maps_answer_as_short_ones_do() {
        for count in [0, 1, SHORT - 1, SHORT, SHORT + 1, 4 * SHORT] {
            let count_node = |number: usize| Node::from(i64::try_from(number).unwrap());
            let mut map = Mapping::new();
            (0..count).for_each(|at| map.set(&format!("k{at}"), count_node(at)));
            for at in 0..count {
                assert_eq!(map.get(&format!("k{at}")), Some(&count_node(at)), "{at} of {count}");
            }
            assert_eq!(map.get("none"), None);
            map.set("k0", count_node(7));
            assert_eq!(map.get("k0"), Some(&count_node(7)));
            if count > 2 {
                assert_eq!(map.remove("k1"), Some(count_node(1)));
                assert_eq!(map.get("k1"), None);
                assert_eq!(map.get("k2"), Some(&count_node(2)));
                map.set("k1", count_node(9));
                assert_eq!(map.iter().last().map(|entry| &*entry.key.name), Some("k1"));
            }
            let every_other: BTreeSet<Arc<str>> =
                map.iter().step_by(2).map(|entry| entry.key.name.clone()).collect();
            let before = map.len();
            map.remove_all(&every_other);
            assert_eq!(map.len(), before - every_other.len());
            assert!(map.iter().all(|entry| map.get(&entry.key.name) == Some(&entry.value)));
            assert!(every_other.iter().all(|name| map.get(name).is_none()));
        }
    }
}
