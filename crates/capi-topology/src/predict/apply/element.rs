//! Steps of the paths of fields.

/// One step of a path; keys and items as JSON with sorted names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Element {
    Field(String),
    Key(String),
    Item(String),
}
