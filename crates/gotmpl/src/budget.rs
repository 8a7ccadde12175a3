//! The budget of a rendering, and the maps that it must release at the end.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::error::{Outcome, limit};
use super::regexp::Patterns;
use super::value::{Elem, Map, Str, Value};

/// The most steps of one rendering. A large template takes a few thousand.
const FUEL: u64 = 4_000_000;
/// The most bytes of all strings and lists made by one rendering.
const MEMORY: u64 = 64 << 20;
/// The number of bytes that one step pays for, so that long strings also cost time.
const BYTES_PER_STEP: u64 = 64;
/// The assumed size of a list or map item, in bytes.
const ITEM_BYTES: u64 = 48;

/// The state that functions share during one rendering.
pub(super) struct Context<'a> {
    fuel: u64,
    memory: u64,
    /// All maps, so that maps that contain themselves can be released at the end.
    maps: Vec<Rc<Map<'a>>>,
    /// The compiled regular expressions of the template.
    pub(super) patterns: &'a Patterns,
}

impl<'a> Context<'a> {
    pub(super) fn new(patterns: &'a Patterns) -> Context<'a> {
        Context { fuel: FUEL, memory: MEMORY, maps: Vec::new(), patterns }
    }

    /// Charges steps of work.
    pub(super) fn spend(&mut self, steps: u64) -> Outcome<()> {
        match self.fuel.checked_sub(steps) {
            Some(rest) => {
                self.fuel = rest;
                Ok(())
            }
            None => Err(limit("the template takes too many steps")),
        }
    }

    /// Charges bytes that are about to be allocated.
    pub(super) fn charge(&mut self, bytes: u64) -> Outcome<()> {
        match self.memory.checked_sub(bytes) {
            Some(rest) => self.memory = rest,
            None => return Err(limit("the template takes too much memory")),
        }
        self.spend(1 + bytes / BYTES_PER_STEP)
    }

    /// Charges a list or map of this many items.
    pub(super) fn charge_items(&mut self, count: usize) -> Outcome<()> {
        self.charge((count as u64).saturating_mul(ITEM_BYTES))
    }

    /// Charges for reading text without allocating any.
    pub(super) fn read(&mut self, bytes: usize) -> Outcome<()> {
        self.spend(1 + bytes as u64 / BYTES_PER_STEP)
    }

    /// Allocates a list with room for this many items.
    pub(super) fn vec<T>(&mut self, count: usize) -> Outcome<Vec<T>> {
        self.charge_items(count)?;
        Ok(Vec::with_capacity(count))
    }

    /// Creates a new string and charges for it.
    pub(super) fn text(&mut self, text: impl Into<Vec<u8>>) -> Outcome<Value<'a>> {
        let bytes = text.into();
        self.charge(bytes.len() as u64)?;
        Ok(Value::Str(Str::from(bytes)))
    }

    /// Creates a new map and registers it for release.
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
