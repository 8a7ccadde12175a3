//! How objects are written to the API server.

/// How a Cluster is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writing {
    /// Server-side apply with one field manager, as `GitOps` engines do: defaulted values stay.
    Apply,
    /// Client-side apply: a merge patch, in which lists are one value.
    Merge,
    /// As a whole: what is not written is gone.
    Replace,
}
