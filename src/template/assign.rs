//! Assigns each block to a collection: the one with the shallowest entries that start inside the block. A block must enclose
//! whole entries of one collection.

use std::collections::BTreeSet;

use super::{
    load::Loader,
    statement::{Group, StatementKind},
    tree::{Entry, Item, Key},
};
use crate::yaml::{RawKind, RawNode};

/// The blocks of a collection and of its entries.
pub(super) struct Assigned {
    /// The statements between its own entries.
    pub(super) owned: Vec<usize>,
    /// The blocks inside each entry.
    pub(super) deeper: Vec<Vec<Group>>,
    /// Whether every block was assigned.
    pub(super) sound: bool,
}

/// The byte at which the last part of a node starts; no other part starts later.
pub(super) fn last_start(node: &RawNode) -> usize {
    match &node.kind {
        RawKind::Scalar { .. } if node.start == node.end => 0,
        RawKind::Scalar { .. } => node.start,
        RawKind::Sequence(items) => {
            // An empty item has no text of its own. Its start is after its dash.
            let last = items.iter().map(|item| item.start.max(last_start(item))).max();
            last.unwrap_or(0).max(node.start)
        }
        RawKind::Mapping(entries) => {
            let last = entries.iter().map(|(key, value)| key.start.max(last_start(value))).max();
            last.unwrap_or(0).max(node.start)
        }
    }
}

impl Loader<'_> {
    /// Assigns blocks to a collection. Its entries start at `starts`, and their last parts start at `lasts`.
    pub(super) fn assign(&mut self, starts: &[usize], lasts: &[usize], groups: Vec<Group>) -> Assigned {
        let (mut owned, mut sound) = (Vec::new(), true);
        let mut deeper: Vec<Vec<Group>> = starts.iter().map(|_| Vec::new()).collect();
        let mut waiting: Vec<_> = groups.into_iter().map(|group| (group, usize::MAX)).collect();
        while let Some((group, until)) = waiting.pop() {
            let first = self.statement_offset(group.marks[0]);
            let end = group.marks.last().map_or(first, |last| self.statement_offset(*last));
            let next = starts.partition_point(|start| *start < first);
            let is_set = group.marks.len() == 1;
            let inside = match (lasts[..next].last(), starts.get(next)) {
                // A `set` in the middle of an entry binds inside that entry.
                (Some(last), _) if is_set && *last > first => false,
                (_, start) if is_set => start.is_some_and(|start| *start < until),
                (_, start) => start.is_some_and(|start| *start < end),
            };
            if inside {
                sound &= group.marks.iter().all(|mark| self.is_between_entries(*mark, starts, lasts));
                let bounds: Vec<_> = group.marks.iter().map(|mark| self.statement_offset(*mark)).collect();
                for inner in group.inner {
                    let at = self.statement_offset(inner.marks[0]);
                    let until = bounds.iter().copied().find(|bound| *bound > at).unwrap_or(until);
                    waiting.push((inner, until));
                }
                owned.extend(group.marks);
            } else if next > 0 && lasts[next - 1] > first {
                deeper[next - 1].push(group);
            } else {
                self.encloses_nothing(group.marks[0]);
                sound = false;
            }
        }
        Assigned { owned, deeper, sound }
    }

    /// Whether a statement is between whole entries of a collection.
    fn is_between_entries(&mut self, mark: usize, starts: &[usize], lasts: &[usize]) -> bool {
        let offset = self.statement_offset(mark);
        let before = starts.partition_point(|start| *start < offset);
        let Some(entry) = before.checked_sub(1).filter(|entry| lasts[*entry] > offset) else { return true };
        let place = self.source.word(starts[entry]);
        let range = self.statement_range(mark);
        self.error("template-block", range, "the block does not enclose whole entries of one map or list")
            .related("this entry continues after the statement", place)
            .hint("move the statement before or after the entry, or indent it like the entries that it encloses");
        false
    }

    pub(super) fn encloses_nothing(&mut self, mark: usize) {
        let range = self.statement_range(mark);
        let is_set = matches!(
            self.statements.get(mark).and_then(Option::as_ref),
            Some(statement) if matches!(statement.kind, StatementKind::Set(..))
        );
        if is_set {
            self.error("template-block", range, "no entry after this `set` can use its name")
                .hint("a name is bound for the entries that follow in the same collection and block");
        } else {
            self.error("template-block", range, "the block encloses no entry of a map or a list")
                .hint("statements enclose whole entries: `key: value` lines, or items with their `-`");
        }
    }

    /// Refuses a key that appears twice in the same map or branch, so that both would always be written.
    pub(super) fn refuse_duplicates(&mut self, items: &[Item<Entry>]) -> Option<()> {
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let mut sound = Some(());
        for item in items {
            match item {
                Item::Entry(Entry { key: Key::Name(name), origin, .. }) if !seen.insert(name) => {
                    let place = self.source.word(origin.offset as usize);
                    self.notes
                        .error("duplicate-key", place, format!("the key `{name}` appears twice in one map"))
                        .hint("keep one of them: YAML readers differ on which one counts");
                    sound = None;
                }
                Item::If(branches) => {
                    for branch in branches {
                        sound = self.refuse_duplicates(&branch.items).and(sound);
                    }
                }
                Item::For(turn) => sound = self.refuse_duplicates(&turn.items).and(sound),
                Item::Entry(_) | Item::Set(_) => {}
            }
        }
        sound
    }
}
