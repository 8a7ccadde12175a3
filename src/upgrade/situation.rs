//! What a plan is made for: where a cluster is, where it should be, and what it could pass on the way. Tables of numbers,
//! so that the search compares nothing but numbers.

use std::collections::BTreeMap;

use crate::{
    model::{AddonVersion, KubernetesVersion, Minor},
    yaml::Origin,
};

/// Where a cluster is, where it should be, and what it could pass on the way.
#[derive(Clone, Debug)]
pub struct Situation {
    /// The releases that it could use.
    pub releases: Vec<Candidate>,
    /// The addons that it has or would get.
    pub addons: Vec<Track>,
    /// All that a plan must keep to.
    pub constraints: Vec<Constraint>,
    /// The release that it has.
    pub start: usize,
    /// Where it should be.
    pub goal: Goal,
    /// From which release it could move to which, each with the constraints that this would break.
    pub moves: BTreeMap<(usize, usize), Vec<usize>>,
}

/// Where a cluster should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Goal {
    /// On a release, and addons that follow the release are at its versions.
    Release(usize),
    /// On any release of a Kubernetes minor.
    Minor(Minor),
}

/// A release that a cluster could use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its name.
    pub name: String,
    /// Its Kubernetes version.
    pub kubernetes: KubernetesVersion,
    /// How many newer ones of its minor there are.
    pub age: u64,
}

/// An addon on its way.
#[derive(Clone, Debug)]
pub struct Track {
    /// Its name.
    pub name: String,
    /// Whether the cluster pins it: then no release moves it.
    pub held: bool,
    /// Its version now; none if the cluster does not have it yet.
    pub start: Option<usize>,
    /// All versions that it could have.
    pub versions: Vec<Version>,
    /// What each release says of it; none if the release does not have it.
    pub listings: Vec<Option<Listing>>,
    /// The addons that it depends on.
    pub after: Vec<usize>,
    /// The constraint `maxMinorStep`.
    pub step: usize,
    /// The constraint that it never goes back.
    pub back: usize,
}

/// A version that an addon could have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// The version.
    pub version: AddonVersion,
    /// Whether only the cluster's own definition allows it as it is: it can be left, and not be reached.
    pub is_special: bool,
}

/// What a release says of an addon.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The version that it pins.
    pub own: usize,
    /// How many minors the addon may move at a time.
    pub limit: Option<u64>,
    /// For each version, the constraints that it would break on this release.
    pub broken: Vec<Vec<usize>>,
}

/// Something that a plan must keep to.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraint {
    /// What kind it is.
    pub kind: ConstraintKind,
    /// What it says.
    pub text: String,
    /// Where it is written.
    pub origin: Option<Origin>,
    /// Who could lift it, and how.
    pub lift: String,
}

/// What kind of constraint it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConstraintKind {
    /// A Kubernetes minor cannot be skipped.
    Minor,
    /// There is no release of a Kubernetes minor, which cannot be skipped.
    MissingRelease,
    /// A Kubernetes minor is not passed because of its maturity.
    Maturity,
    /// A cluster does not go back to an older release or Kubernetes version.
    OlderRelease,
    /// A version of an addon works with some versions of Kubernetes only.
    Range,
    /// Releases do not list a version of an addon.
    Unlisted,
    /// A chart refuses versions of Kubernetes by its own `kubeVersion`.
    Chart,
    /// A release needs what the management cluster does not have.
    Requirement,
    /// A rule of the stack.
    Rule,
    /// `maxMinorStep` of an addon.
    MinorStep,
    /// An addon is not downgraded.
    Downgrade,
}

impl ConstraintKind {
    /// Its word in documents.
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

/// Which constraints are kept to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept(pub Vec<bool>);

impl Kept {
    /// Whether constraints that something breaks leave it possible.
    pub(super) fn allows(&self, broken: &[usize]) -> bool {
        broken.iter().all(|one| !self.0[*one])
    }
}

impl Situation {
    /// All constraints are kept to.
    pub fn all(&self) -> Kept {
        Kept(vec![true; self.constraints.len()])
    }

    /// Only some are.
    pub fn only(&self, some: &[usize]) -> Kept {
        Kept((0..self.constraints.len()).map(|one| some.contains(&one)).collect())
    }

    pub(super) fn minor(&self, release: usize) -> Minor {
        self.releases[release].kubernetes.minor()
    }

    /// Whether a cluster on a release is there, as far as the release goes.
    pub(super) fn is_goal(&self, release: usize) -> bool {
        match self.goal {
            Goal::Release(goal) => goal == release,
            Goal::Minor(minor) => self.minor(release) == minor,
        }
    }
}

impl Track {
    /// Constraints that a step of the addon from one version to another breaks on a release; none if there is no such step.
    pub(super) fn broken_by(&self, listing: &Listing, from: usize, to: usize) -> Option<Vec<usize>> {
        let (old, new) = (&self.versions[from], &self.versions[to]);
        if from == to || new.is_special {
            return None;
        }
        let mut broken = listing.broken[to].clone();
        if new.version.as_semver() < old.version.as_semver() {
            broken.push(self.back);
        } else if listing.limit.is_some_and(|limit| distance(&old.version, &new.version) > limit) {
            broken.push(self.step);
        }
        Some(broken)
    }

    /// How many newer versions there are of the same minor.
    pub(super) fn age(&self, version: usize) -> u64 {
        let own = self.versions[version].version.as_semver();
        let is_newer = |one: &&Version| {
            let other = one.version.as_semver();
            !one.is_special && (other.major, other.minor) == (own.major, own.minor) && other > own
        };
        self.versions.iter().filter(is_newer).count() as u64
    }
}

/// How many minors lie between two versions. A new major counts as one, and then its minors.
pub fn distance(from: &AddonVersion, to: &AddonVersion) -> u64 {
    let (low, high) = (from.as_semver().min(to.as_semver()), from.as_semver().max(to.as_semver()));
    match high.major - low.major {
        0 => high.minor - low.minor,
        majors => majors + high.minor,
    }
}

impl ConstraintKind {
    /// Whether it is about the Kubernetes versions that an addon works with.
    pub(super) fn is_about_range(self) -> bool {
        matches!(self, Self::Range | Self::Unlisted)
    }
}
