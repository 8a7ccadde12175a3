//! Which names the templates of each folder of a stack see.

/// A folder of a stack, by what its templates see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visible {
    /// `cluster-class/`: made once per release.
    ClusterClass,
    /// `namespace/`: made once per namespace.
    Namespace,
    /// `cluster/`: made once per cluster.
    Cluster,
    /// `addons/`: made once per cluster and addon.
    Addon,
}

/// Every name of the context and the first folder that sees it; each folder sees what those before it see.
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

    /// The folders that see a name of the context, in words; none where no folder does.
    pub(super) fn seen_in(name: &str) -> Option<&'static str> {
        let (_, first) = NAMES.iter().find(|(known, _)| *known == name)?;
        Some(match first {
            Self::ClusterClass => "every folder",
            Self::Namespace => "`namespace/`, `cluster/` and `addons/`",
            Self::Cluster => "`cluster/` and `addons/`",
            Self::Addon => "`addons/`",
        })
    }

    /// The folder, as it is written.
    pub(super) fn folder(self) -> &'static str {
        match self {
            Self::ClusterClass => "cluster-class/",
            Self::Namespace => "namespace/",
            Self::Cluster => "cluster/",
            Self::Addon => "addons/",
        }
    }
}
