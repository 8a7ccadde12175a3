//! What a report on a change knows about a message beyond its text.

/// How much of a change a message is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extent {
    /// The change as a whole.
    #[default]
    Whole,
    /// One of its commits.
    Commit,
}

/// A commit missing from a shallow clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingCommit {
    /// The missing commit's ID.
    pub commit: String,
    /// The ID of its child.
    pub child: String,
}

/// Identifies a message among those that a report repeats, so that it is not shown twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RepeatedId {
    /// An error in a definition.
    Definition(usize),
    /// A message of a guard.
    Guard(usize),
}
