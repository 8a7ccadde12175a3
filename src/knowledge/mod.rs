//! Public knowledge about versions: the end of patch support of Kubernetes minors, and compatible versions.
//!
//! The knowledge is data (`data/*.yaml`). Every row names a public source and the date of the lookup. Anything without such
//! a source is left out, and nothing is concluded from that. A fleet can override the rows for versions of a component
//! (`compatibility` in `stackloom.yaml`).

mod built_in;

use std::sync::LazyLock;

use crate::model::{Assumption, Chart, Date, KubernetesVersion, Minor, VersionRange};

/// A component of a cluster or a management cluster.
#[derive(Clone, Debug)]
pub struct KnownComponent {
    /// Its name in `stackloom.yaml`.
    pub name: String,
    /// Its display name.
    pub title: String,
    /// What its documentation claims about the listed Kubernetes versions, for example that they are tested or supported.
    pub claim: String,
    /// The charts that install it. Their repositories have no trailing slash.
    charts: Vec<Chart>,
    /// The known versions, oldest first.
    rows: Vec<Row>,
}

/// What is known about some versions of a component.
#[derive(Clone, Debug)]
pub struct Row {
    pub versions: VersionRange,
    /// The Kubernetes versions that they support.
    pub kubernetes: VersionRange,
    /// Kubernetes minors that are only supported from a later patch version on.
    pub since: Vec<(Minor, semver::Version)>,
    pub found: FactSource,
}

#[derive(Clone, Debug)]
pub struct FactSource {
    /// Its URL.
    pub source: String,
    /// The date of the lookup.
    pub looked_up: Date,
}

impl std::fmt::Display for FactSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, looked up on {}", self.source, self.looked_up)
    }
}

/// The end of the patch support of a Kubernetes minor.
#[derive(Clone, Debug)]
struct EndOfLife {
    minor: Minor,
    date: Date,
}

/// The maximum skew between components of Kubernetes.
#[derive(Clone, Debug)]
struct Skew {
    name: String,
    minors: u64,
}

#[derive(Clone, Debug)]
struct Knowledge {
    minors: Vec<EndOfLife>,
    components: Vec<KnownComponent>,
    skews: Vec<Skew>,
}

static KNOWLEDGE: LazyLock<Knowledge> = LazyLock::new(built_in::read);

/// Whether a version of a component is compatible with a Kubernetes version.
#[derive(Clone, Debug)]
pub enum Fit<'a> {
    /// No known problem.
    Fits,
    /// The fleet excludes it.
    Assumed(&'a Assumption),
    /// The documentation lists only other Kubernetes versions.
    Unlisted(&'static Row),
    /// The documentation lists this Kubernetes version only from a later patch version on.
    Since(&'static Row, &'static semver::Version),
}

/// The end of patch support of a Kubernetes minor, if known.
pub fn end_of_life(minor: Minor) -> Option<Date> {
    KNOWLEDGE.minors.iter().find(|known| known.minor == minor).map(|known| known.date)
}

/// The number of minors that a control plane can be upgraded at a time.
pub fn control_plane_step() -> u64 {
    let skew = KNOWLEDGE.skews.iter().find(|skew| skew.name == "control-plane-upgrade");
    skew.expect("the data has it, and a test ensures it").minors
}

/// All known components, ordered by name.
pub fn components() -> &'static [KnownComponent] {
    &KNOWLEDGE.components
}

/// Looks up a component by name.
pub fn component(name: &str) -> Option<&'static KnownComponent> {
    components().iter().find(|component| component.name == name)
}

/// The component that a chart installs. Charts are identified by repository and name.
pub fn installed_by(chart: &Chart) -> Option<&'static KnownComponent> {
    components().iter().find(|component| component.charts.contains(chart))
}

/// Cluster API itself.
pub fn cluster_api() -> &'static KnownComponent {
    component("cluster-api").expect("the data has it, and a test ensures it")
}

impl Fit<'_> {
    /// Says what is wrong, if anything is.
    pub fn doubt(&self, component: &KnownComponent, version: &str, minor: Minor) -> Option<String> {
        let KnownComponent { title, claim, .. } = component;
        match self {
            Self::Fits => None,
            Self::Assumed(said) => Some(format!(
                "{title} {version} is not for Kubernetes {minor}, but for {}: {}",
                said.kubernetes, said.reason
            )),
            Self::Unlisted(row) => Some(format!(
                "{title} {version} {claim} Kubernetes {}, not with {minor} ({})",
                row.kubernetes, row.found
            )),
            Self::Since(row, since) => {
                Some(format!("{title} {claim} Kubernetes {minor} from version {since} on ({})", row.found))
            }
        }
    }
}

impl KnownComponent {
    /// Checks a version against a Kubernetes version. `exact` says whether the patch version is known.
    pub fn fit<'a>(
        &'static self,
        version: &semver::Version,
        exact: bool,
        kubernetes: &KubernetesVersion,
        assumptions: &'a [Assumption],
    ) -> Fit<'a> {
        let is_meant = |one: &&Assumption| *one.component == self.name && one.versions.contains(version);
        let mut meant = assumptions.iter().filter(is_meant).peekable();
        if let Some(first) = meant.peek().copied() {
            let fits = meant.any(|one| one.kubernetes.contains(kubernetes.as_semver()));
            return if fits { Fit::Fits } else { Fit::Assumed(first) };
        }
        let Some(row) = self.rows.iter().find(|row| row.versions.contains(version)) else { return Fit::Fits };
        if !row.kubernetes.contains(kubernetes.as_semver()) {
            return Fit::Unlisted(row);
        }
        let since = row.since.iter().find(|(minor, _)| *minor == kubernetes.minor());
        match since {
            Some((_, since)) if exact && version < since => Fit::Since(row, since),
            _ => Fit::Fits,
        }
    }
}
