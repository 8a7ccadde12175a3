//! The input of the search: the current state of a cluster, its target, and what it could use on the way. Everything is a
//! table of numbers, so that the search only compares numbers.

use std::collections::BTreeMap;

use crate::{
    model::{AddonVersion, KubernetesVersion, Minor},
    yaml::Origin,
};

/// The current state of a cluster, its target, and what it could use on the way.
#[derive(Clone, Debug)]
pub struct Situation {
    /// The releases that it could use.
    pub releases: Vec<Candidate>,
    /// The addons that it has or would get.
    pub addons: Vec<Track>,
    /// The constraints that a plan must satisfy.
    pub constraints: Vec<Constraint>,
    /// Why combinations are untested, in words.
    pub doubts: Vec<String>,
    /// Its current release.
    pub start: usize,
    /// Its target.
    pub goal: Goal,
    /// The possible moves between releases, each with the constraints that it would break.
    pub moves: BTreeMap<(usize, usize), Vec<usize>>,
}

/// The target of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Goal {
    /// This release. Addons that follow the release must have at least its versions.
    Release(usize),
    /// Any release of this Kubernetes minor.
    Minor(Minor),
}

/// A release that a cluster could use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its name, by which steps and messages call it.
    pub name: String,
    pub kubernetes: KubernetesVersion,
    /// The number of newer releases of its minor.
    pub age: u64,
}

/// An addon along the upgrade.
#[derive(Clone, Debug)]
pub struct Track {
    /// Its name, by which steps and messages call it.
    pub name: String,
    /// Whether the cluster pins it, so that releases do not change its version.
    pub held: bool,
    /// Its current version; none if the cluster does not have it yet.
    pub start: Option<usize>,
    /// All versions that it could have.
    pub versions: Vec<Version>,
    /// Its entry in each release; none if the release does not have it.
    pub listings: Vec<Option<Listing>>,
    /// The addons that it depends on.
    pub after: Vec<usize>,
    /// The constraint `maxMinorStep`.
    pub step: usize,
    /// The constraint against downgrades.
    pub back: usize,
}

/// A version that an addon could have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    pub version: AddonVersion,
    /// Whether only the cluster's own definition allows it. Plans can leave such a version, but not move to it.
    pub is_special: bool,
}

/// The entry of an addon in a release.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The version that the release pins.
    pub own: usize,
    /// The maximum number of minors that the addon may move at a time.
    pub limit: Option<u64>,
    /// For each version, the constraints that it would break on this release.
    pub broken: Vec<Vec<usize>>,
    /// For each version, the doubt about it on this release, if its documentation does not list the Kubernetes version.
    pub doubts: Vec<Option<usize>>,
}

/// A constraint that a plan must satisfy.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraint {
    /// What it limits.
    pub kind: ConstraintKind,
    /// What it says, for messages.
    pub text: String,
    /// The place that defines it.
    pub origin: Option<Origin>,
    /// Who can lift it, and how.
    pub lift: String,
}

/// What a constraint limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConstraintKind {
    /// A Kubernetes minor cannot be skipped.
    Minor,
    /// A Kubernetes minor that cannot be skipped has no release.
    MissingRelease,
    /// A Kubernetes minor must not be passed through because of its maturity.
    Maturity,
    /// A cluster must not go back to an older release or Kubernetes version.
    OlderRelease,
    /// A version of an addon supports only some Kubernetes versions.
    Range,
    /// Releases do not list a version of an addon.
    Unlisted,
    /// A chart excludes Kubernetes versions by its own `kubeVersion`.
    Chart,
    /// A release needs something that the management cluster lacks.
    Requirement,
    /// A rule of the stack.
    Rule,
    /// The `maxMinorStep` of an addon.
    MinorStep,
    /// An addon must not be downgraded.
    Downgrade,
}

impl ConstraintKind {
    /// The word for machine-readable output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Minor => "minor-by-minor",
            Self::MissingRelease => "missing-release",
            Self::Maturity => "maturity",
            Self::OlderRelease => "older-release",
            Self::Range => "kubernetes-range",
            Self::Unlisted => "unlisted",
            Self::Chart => "chart-kube-version",
            Self::Requirement => "requirement",
            Self::Rule => "rule",
            Self::MinorStep => "max-minor-step",
            Self::Downgrade => "downgrade",
        }
    }
}

/// The constraints in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept(pub Vec<bool>);

impl Kept {
    /// Whether something remains possible although it breaks these constraints.
    pub(super) fn allows(&self, broken: &[usize]) -> bool {
        broken.iter().all(|one| !self.0[*one])
    }
}

impl Listing {
    /// Counts a version as one if it is untested on this release, otherwise as nothing.
    pub(super) fn untested(&self, version: usize) -> u64 {
        u64::from(self.doubts.get(version).is_some_and(Option::is_some))
    }
}

impl Situation {
    /// Keeps all constraints.
    pub fn all(&self) -> Kept {
        Kept(vec![true; self.constraints.len()])
    }

    /// Keeps only some constraints.
    pub fn only(&self, some: &[usize]) -> Kept {
        Kept((0..self.constraints.len()).map(|one| some.contains(&one)).collect())
    }

    pub(super) fn minor(&self, release: usize) -> Minor {
        self.releases[release].kubernetes.minor()
    }

    /// Whether a release reaches the goal, regardless of addons.
    pub(super) fn is_goal(&self, release: usize) -> bool {
        match self.goal {
            Goal::Release(goal) => goal == release,
            Goal::Minor(minor) => self.minor(release) == minor,
        }
    }
}

impl Track {
    /// The constraints broken by moving the addon between two versions on a release; none if that is no step at all.
    pub(super) fn broken_by(&self, listing: &Listing, from: usize, to: usize) -> Option<Vec<usize>> {
        let (old, new) = (&self.versions[from], &self.versions[to]);
        if from == to || new.is_special {
            return None;
        }
        let mut broken = listing.broken[to].clone();
        if new.version.as_semver() < old.version.as_semver() {
            broken.push(self.back);
        }
        if listing.limit.is_some_and(|limit| distance(&old.version, &new.version) > limit) {
            broken.push(self.step);
        }
        Some(broken)
    }

    /// The number of newer versions of the same minor.
    pub(super) fn age(&self, version: usize) -> u64 {
        let own = self.versions[version].version.as_semver();
        let is_newer = |one: &&Version| {
            let other = one.version.as_semver();
            !one.is_special && (other.major, other.minor) == (own.major, own.minor) && other > own
        };
        self.versions.iter().filter(is_newer).count() as u64
    }
}

/// The number of minors between two versions. A major counts as one, plus the minors of the newer major.
pub fn distance(from: &AddonVersion, to: &AddonVersion) -> u64 {
    let (low, high) = (from.as_semver().min(to.as_semver()), from.as_semver().max(to.as_semver()));
    match high.major - low.major {
        0 => high.minor - low.minor,
        majors => majors + high.minor,
    }
}

impl ConstraintKind {
    /// Whether it cannot be lifted.
    pub fn is_law(self) -> bool {
        matches!(self, Self::Minor | Self::OlderRelease)
    }

    /// Whether it is about the Kubernetes versions that an addon supports.
    pub(super) fn is_about_range(self) -> bool {
        matches!(self, Self::Range | Self::Unlisted)
    }
}
