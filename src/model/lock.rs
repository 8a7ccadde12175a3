//! External inputs, with the digests that they had when they were locked.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use super::{AddonVersion, Chart};
use crate::yaml::Origin;

/// A digest: `sha256:` and 64 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(Arc<str>);

impl Digest {
    /// Validates a text as a digest.
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
    pub chart: Chart,
    pub version: AddonVersion,
}

impl fmt::Display for ChartVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} of {}", self.chart.name, self.version, self.chart.repository)
    }
}

/// The content of `stackloom.lock`. It is empty if there is no such file; then no digest is compared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lock {
    pub charts: BTreeMap<ChartVersion, LockedChart>,
    /// The digests of images that stacks name directly.
    pub images: BTreeMap<String, Digest>,
    /// Releases from other repositories, by name.
    pub releases: BTreeMap<String, LockedRelease>,
}

impl Lock {
    /// Reports whether the lock has no entries.
    pub fn is_empty(&self) -> bool {
        self.charts.is_empty() && self.images.is_empty() && self.releases.is_empty()
    }
}

#[derive(Clone, Debug)]
pub struct LockedChart {
    /// The digest of its archive, or of its manifest in a registry.
    pub digest: Digest,
    /// Earlier digests. Releases from that time may stay in use.
    pub replaces: BTreeSet<Digest>,
    /// The images that the chart uses, according to the chart.
    pub images: BTreeMap<String, Digest>,
    /// The digest of the file that describes the chart's values.
    pub values: Option<Digest>,
    /// The origin of the digest.
    pub origin: Origin,
}

impl PartialEq for LockedChart {
    /// Ignores the origin.
    fn eq(&self, other: &Self) -> bool {
        let Self { digest, replaces, images, values, origin: _ } = other;
        (&self.digest, &self.replaces, &self.images, &self.values) == (digest, replaces, images, values)
    }
}

/// A locked release from another repository.
#[derive(Clone, Debug)]
pub struct LockedRelease {
    /// The source: `oci://…@sha256:…` or `git+https://…#tag`.
    pub source: String,
    /// The digest of its content.
    pub digest: Digest,
    /// The public key for its signature, as a path relative to the root of the fleet.
    pub key: Option<String>,
    /// The origin of the entry.
    pub origin: Origin,
}

impl PartialEq for LockedRelease {
    /// Ignores the origin.
    fn eq(&self, other: &Self) -> bool {
        let Self { source, digest, key, origin: _ } = other;
        (&self.source, &self.digest, &self.key) == (source, digest, key)
    }
}
