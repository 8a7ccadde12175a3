//! The names that are visible to the templates of each folder of a stack.

/// A template folder of a stack, ordered by what its templates see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visible {
    /// `cluster-class/`: rendered once per release.
    ClusterClass,
    /// `namespace/`: rendered once per namespace.
    Namespace,
    /// `cluster/`: rendered once per cluster.
    Cluster,
    /// `addons/`: rendered once per cluster and addon.
    Addon,
}

/// Every name of the context with the first folder that sees it. Each folder also sees the names of the folders before it.
const NAMES: [(&str, Visible); 8] = [
    ("stack", Visible::ClusterClass),
    ("release", Visible::ClusterClass),
    ("kubernetes", Visible::ClusterClass),
    ("images", Visible::ClusterClass),
    ("namespace", Visible::Namespace),
    ("fleet", Visible::Namespace),
    ("cluster", Visible::Cluster),
    ("addon", Visible::Addon),
];

impl Visible {
    /// The names that templates of this folder see.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        NAMES.iter().filter(move |(_, first)| *first as u8 <= self as u8).map(|(name, _)| *name)
    }

    /// The folders that see a name of the context, in words; none if the name does not exist.
    pub(super) fn seen_in(name: &str) -> Option<&'static str> {
        let (_, first) = NAMES.iter().find(|(known, _)| *known == name)?;
        Some(match first {
            Self::ClusterClass => "every folder",
            Self::Namespace => "`namespace/`, `cluster/` and `addons/`",
            Self::Cluster => "`cluster/` and `addons/`",
            Self::Addon => "`addons/`",
        })
    }

    /// The folder as written.
    pub(super) fn folder(self) -> &'static str {
        match self {
            Self::ClusterClass => "cluster-class/",
            Self::Namespace => "namespace/",
            Self::Cluster => "cluster/",
            Self::Addon => "addons/",
        }
    }
}
