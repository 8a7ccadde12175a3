//! What is publicly known of versions: until when a Kubernetes minor is patched, and which versions fit which.
//!
//! It is data (`data/*.yaml`): every row names a public source and the day on which somebody looked there. What was found in
//! no such source is not there, and nothing is concluded from that. A fleet may know better (`compatibility` in
//! `stackloom.yaml`): what it says of a component's versions holds instead of the rows here.

mod data;

use std::sync::LazyLock;

use crate::model::{Assumption, Chart, Date, KubernetesVersion, Minor, VersionRange};

/// A component of a cluster or a management cluster.
#[derive(Clone, Debug)]
pub struct Component {
    /// Its name in `stackloom.yaml`.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// What its documentation says of the Kubernetes versions in a row: that it is tested with them, supports them.
    pub claim: String,
    /// Whether other Kubernetes versions are refused.
    pub is_strict: bool,
    /// The charts that install it, with repositories without a slash at their ends.
    charts: Vec<Chart>,
    /// What is known, from the oldest version to the newest.
    rows: Vec<Row>,
}

/// What is known of some versions of a component.
#[derive(Clone, Debug)]
pub struct Row {
    /// The versions.
    pub versions: VersionRange,
    /// The Kubernetes versions that they are made for.
    pub kubernetes: VersionRange,
    /// Kubernetes minors that only later patch versions are made for.
    pub since: Vec<(Minor, semver::Version)>,
    /// Where that was found, and when.
    pub found: Found,
}

/// Where something was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// The address.
    pub source: String,
    /// The day on which somebody looked.
    pub looked_up: Date,
}

impl std::fmt::Display for Found {
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

/// How far components of Kubernetes may be apart.
#[derive(Clone, Debug)]
struct Skew {
    name: String,
    minors: u64,
}

/// All that is known.
#[derive(Clone, Debug)]
struct Knowledge {
    minors: Vec<EndOfLife>,
    components: Vec<Component>,
    skews: Vec<Skew>,
}

static KNOWLEDGE: LazyLock<Knowledge> = LazyLock::new(data::read);

/// Whether a version of a component fits a version of Kubernetes.
#[derive(Clone, Debug)]
pub enum Fit<'a> {
    /// As far as anybody knows.
    Fits,
    /// The fleet says that it does not.
    Assumed(&'a Assumption),
    /// Its documentation names other Kubernetes versions.
    Unlisted(&'static Row),
    /// Its documentation names this Kubernetes version for a later patch version.
    Since(&'static Row, &'static semver::Version),
}

/// When the patch support of a Kubernetes minor ends.
pub fn end_of_life(minor: Minor) -> Option<Date> {
    KNOWLEDGE.minors.iter().find(|known| known.minor == minor).map(|known| known.date)
}

/// How many minors the control plane of a cluster moves at a time.
pub fn control_plane_step() -> u64 {
    let skew = KNOWLEDGE.skews.iter().find(|skew| skew.name == "control-plane-upgrade");
    skew.expect("the data has it, and a test holds that").minors
}

/// Every component of which something is known, by name.
pub fn components() -> &'static [Component] {
    &KNOWLEDGE.components
}

/// A component by name.
pub fn component(name: &str) -> Option<&'static Component> {
    components().iter().find(|component| component.name == name)
}

/// The component that a chart installs. A chart of another repository is another chart, whatever it is called.
pub fn installed_by(chart: &Chart) -> Option<&'static Component> {
    components().iter().find(|component| component.charts.contains(chart))
}

/// Cluster API itself.
pub fn cluster_api() -> &'static Component {
    component("cluster-api").expect("the data has it, and a test holds that")
}

impl Component {
    /// Whether a version fits a version of Kubernetes; `exact` says whether the patch version is known.
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
