//! Paths of generated files.

use std::fmt;

/// The folder that the program owns.
const ROOT: &str = "generated";

/// A path relative to the root of the fleet, below `generated/`. Its parts are joined by `/`. No part is empty, `.` or `..`,
/// or contains a separator.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreePath(String);

impl TreePath {
    pub fn root() -> Self {
        Self(ROOT.to_owned())
    }

    /// Appends a part. Panics on a part that could lead elsewhere, because names are validated earlier.
    #[must_use]
    pub fn join(&self, part: &str) -> Self {
        assert!(
            !part.is_empty() && part != "." && part != ".." && !part.contains(['/', '\\', '\0']),
            "`{part}` is not a file name"
        );
        Self(format!("{}/{part}", self.0))
    }

    /// Parses a path as a repository lists it; none if it is not below `generated/`.
    pub fn parse(path: &str) -> Option<Self> {
        let mut parts = path.split('/');
        let below = parts.next() == Some(ROOT);
        let sound = parts.all(|part| !matches!(part, "" | "." | "..") && !part.contains(['\\', '\0']));
        (below && sound).then(|| Self(path.to_owned()))
    }

    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The folders that contain this path, outermost first.
    pub fn folders(&self) -> impl Iterator<Item = &str> {
        self.0.match_indices('/').map(|(at, _)| &self.0[..at])
    }

    /// Reports whether this path is `folder` or below it.
    pub fn is_within(&self, folder: &Self) -> bool {
        self.0.strip_prefix(&folder.0).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

impl fmt::Display for TreePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
