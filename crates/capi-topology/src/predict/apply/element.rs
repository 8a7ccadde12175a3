//! Steps of field paths.

/// One step of a path. Keys and items are JSON with sorted names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Element {
    Field(String),
    Key(String),
    Item(String),
}
