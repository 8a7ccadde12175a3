//! Sources of charts: one per addon version and management cluster, shared by all of its clusters.

use std::cmp::Ordering;

use sha2::{Digest as _, Sha256};

use crate::{
    model::{AddonVersion, Chart, Digest, ManagementCluster, hex, shortened},
    yaml::Origin,
};

/// A version of a chart, where a management cluster takes it from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChartSource {
    /// The repository, mirrors applied.
    pub repository: String,
    /// The chart.
    pub chart: String,
    /// Its version.
    pub version: AddonVersion,
    /// What the registry must give, where that is known.
    pub digest: Option<Pin>,
}

/// The digest of a chart in a registry.
#[derive(Clone, Debug)]
pub struct Pin {
    /// The digest of its manifest.
    pub digest: Digest,
    /// Whether something else was published under the same version since.
    pub replaced: bool,
    /// Where it is said.
    pub origin: Origin,
}

impl Ord for Pin {
    /// Where it is said is no part of it: releases and the lock may say the same.
    fn cmp(&self, other: &Self) -> Ordering {
        (&self.digest, self.replaced).cmp(&(&other.digest, other.replaced))
    }
}

impl PartialOrd for Pin {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Pin {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Pin {}

/// What a `HelmRelease` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChartReference {
    /// A chart of a classic repository.
    HelmChart,
    /// A chart of a registry.
    OciRepository,
}

impl ChartSource {
    /// The chart of an addon as a management cluster takes it. What a mirror has is not held to a digest: whoever copied
    /// the chart may have written its manifest anew.
    pub fn new(
        chart: &Chart,
        version: &AddonVersion,
        pin: Option<Pin>,
        management: &ManagementCluster,
    ) -> Self {
        let repository = management.mirrored(&chart.repository);
        let own = repository == chart.repository && repository.starts_with("oci://");
        Self {
            digest: pin.filter(|_| own),
            repository: repository.trim_end_matches('/').to_owned(),
            chart: chart.name.clone(),
            version: version.clone(),
        }
    }

    /// What kind of source it is.
    pub fn kind(&self) -> ChartReference {
        if self.repository.starts_with("oci://") {
            ChartReference::OciRepository
        } else {
            ChartReference::HelmChart
        }
    }

    /// The source object's name: readable, and apart from the same chart of another repository.
    pub fn name(&self) -> String {
        let version = self.version.to_string().replace('+', "-").to_ascii_lowercase();
        let chart = self.chart.replace(['/', '_'], "-").to_ascii_lowercase();
        // Releases of before and after an accepted change may be in use at once: two sources then, not one.
        let replaced = self.digest.iter().filter(|pin| pin.replaced).map(|pin| format!(" {}", pin.digest));
        let whole = format!("{} {}{}", self.repository, self.chart, replaced.collect::<String>());
        shortened(&format!("{chart}-{version}-{}", short_hash(&whole)))
    }

    /// The name of the `HelmRepository` that a classic repository needs.
    pub fn repository_name(&self) -> String {
        let address = self.repository.split("://").nth(1).unwrap_or_default();
        let readable: String = address
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
            .collect();
        let readable: Vec<_> = readable.split('-').filter(|part| !part.is_empty()).collect();
        shortened(&format!("{}-{}", readable.join("-"), short_hash(&self.repository)))
    }
}

fn short_hash(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes())[..4])
}
