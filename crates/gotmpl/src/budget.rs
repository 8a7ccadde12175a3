//! What one rendering may spend, and what it made and must release.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::error::{Outcome, limit};
use super::regexp::Patterns;
use super::value::{Elem, Map, Str, Value};

/// Steps of one rendering; a large template takes some thousands.
const FUEL: u64 = 4_000_000;
/// Bytes that all strings and lists made by one rendering may take together.
const MEMORY: u64 = 64 << 20;
/// A step pays for this many bytes, so that long strings cost time too.
const BYTES_PER_STEP: u64 = 64;
/// What an item of a list or a map is taken to weigh.
const ITEM_BYTES: u64 = 48;

/// The state that functions share during one rendering.
pub(super) struct Context<'a> {
    fuel: u64,
    memory: u64,
    /// Every map, so that maps which hold themselves are taken apart in the end.
    maps: Vec<Rc<Map<'a>>>,
    /// Compiled regular expressions of the template.
    pub(super) patterns: &'a Patterns,
}

impl<'a> Context<'a> {
    pub(super) fn new(patterns: &'a Patterns) -> Context<'a> {
        Context { fuel: FUEL, memory: MEMORY, maps: Vec::new(), patterns }
    }

    /// Pays for steps of work.
    pub(super) fn spend(&mut self, steps: u64) -> Outcome<()> {
        match self.fuel.checked_sub(steps) {
            Some(rest) => {
                self.fuel = rest;
                Ok(())
            }
            None => Err(limit("the template takes too many steps")),
        }
    }

    /// Pays for bytes that are about to be made.
    pub(super) fn charge(&mut self, bytes: u64) -> Outcome<()> {
        match self.memory.checked_sub(bytes) {
            Some(rest) => self.memory = rest,
            None => return Err(limit("the template takes too much memory")),
        }
        self.spend(1 + bytes / BYTES_PER_STEP)
    }

    /// Pays for a list or map of so many items.
    pub(super) fn charge_items(&mut self, count: usize) -> Outcome<()> {
        self.charge((count as u64).saturating_mul(ITEM_BYTES))
    }

    /// Pays for reading text without making any.
    pub(super) fn read(&mut self, bytes: usize) -> Outcome<()> {
        self.spend(1 + bytes as u64 / BYTES_PER_STEP)
    }

    /// Room for a list of so many items.
    pub(super) fn vec<T>(&mut self, count: usize) -> Outcome<Vec<T>> {
        self.charge_items(count)?;
        Ok(Vec::with_capacity(count))
    }

    /// A string that was just made.
    pub(super) fn text(&mut self, text: impl Into<Vec<u8>>) -> Outcome<Value<'a>> {
        let bytes = text.into();
        self.charge(bytes.len() as u64)?;
        Ok(Value::Str(Str::from(bytes)))
    }

    /// A map that was just made.
    pub(super) fn map(&mut self, elem: Elem, entries: BTreeMap<Str<'a>, Value<'a>>) -> Value<'a> {
        let map = Rc::new(Map { elem, nil: false, entries: entries.into() });
        self.maps.push(Rc::clone(&map));
        Value::Map(map)
    }
}

impl Drop for Context<'_> {
    fn drop(&mut self) {
        for map in &self.maps {
            map.entries.take();
        }
    }
}
