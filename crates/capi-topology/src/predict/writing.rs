//! How objects are written to the API server.

/// How a Cluster is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writing {
    /// Server-side apply with one field manager, as `GitOps` engines do: defaulted fields stay.
    Apply,
    /// Client-side apply: a merge patch, which treats a list as a single value.
    Merge,
    /// Replacement of the whole object: fields that the manifest omits are removed.
    Replace,
}
