//! What comes from elsewhere, and which bytes it was when someone looked.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use super::{AddonVersion, Chart};
use crate::yaml::Origin;

/// `sha256:` and 64 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(Arc<str>);

impl Digest {
    /// Takes a text if it is one.
    pub fn new(text: &str) -> Option<Self> {
        const DIGITS: usize = 64;
        let hex = text.strip_prefix("sha256:")?;
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        (hex.len() == DIGITS && hex.bytes().all(is_digit)).then(|| Self(text.into()))
    }

    /// The digest as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An exact version of a chart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChartVersion {
    /// The chart.
    pub chart: Chart,
    /// Its version.
    pub version: AddonVersion,
}

impl fmt::Display for ChartVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} of {}", self.chart.name, self.version, self.chart.repository)
    }
}

/// What is locked. Empty where there is no `stackloom.lock`; then no digest is compared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lock {
    /// Charts.
    pub charts: BTreeMap<ChartVersion, LockedChart>,
    /// The digests of images that stacks name themselves.
    pub images: BTreeMap<String, Digest>,
    /// Releases that were taken from elsewhere, by name.
    pub releases: BTreeMap<String, LockedRelease>,
}

impl Lock {
    /// Whether it holds nothing at all.
    pub fn is_empty(&self) -> bool {
        self.charts.is_empty() && self.images.is_empty() && self.releases.is_empty()
    }
}

/// What is locked of a chart.
#[derive(Clone, Debug)]
pub struct LockedChart {
    /// Of its archive, or of its manifest in a registry.
    pub digest: Digest,
    /// What it was before; releases of that time may stay in use.
    pub replaces: BTreeSet<Digest>,
    /// The images that the chart says it uses.
    pub images: BTreeMap<String, Digest>,
    /// Of the file that says which values it takes.
    pub values: Option<Digest>,
    /// Where its digest stands.
    pub origin: Origin,
}

impl PartialEq for LockedChart {
    /// Where it stands is no content.
    fn eq(&self, other: &Self) -> bool {
        let Self { digest, replaces, images, values, origin: _ } = other;
        (&self.digest, &self.replaces, &self.images, &self.values) == (digest, replaces, images, values)
    }
}

/// What is locked of a release that was taken from elsewhere.
#[derive(Clone, Debug)]
pub struct LockedRelease {
    /// `oci://…@sha256:…` or `git+https://…#tag`.
    pub source: String,
    /// Of its content.
    pub digest: Digest,
    /// The public key for its signature, as a path from the root of the fleet.
    pub key: Option<String>,
    /// Where it stands.
    pub origin: Origin,
}

impl PartialEq for LockedRelease {
    /// Where it stands is no content.
    fn eq(&self, other: &Self) -> bool {
        let Self { source, digest, key, origin: _ } = other;
        (&self.source, &self.digest, &self.key) == (source, digest, key)
    }
}
