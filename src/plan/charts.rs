//! Chart sources: one per addon version and management cluster, shared by all of its clusters.

use std::cmp::Ordering;

use sha2::{Digest as _, Sha256};

use crate::{
    model::{AddonVersion, Chart, Digest, ManagementCluster, hex, shortened},
    yaml::Origin,
};

/// A chart version, at the address that a management cluster uses.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChartSource {
    /// The address of the repository, with mirrors applied.
    pub repository: String,
    pub chart: String,
    pub version: AddonVersion,
    /// The required digest in the registry, if it is known.
    pub digest: Option<Pin>,
}

/// The digest of a chart in a registry.
#[derive(Clone, Debug)]
pub struct Pin {
    /// The digest of its manifest.
    pub digest: Digest,
    /// Whether different content has been published under the same version since.
    pub replaced: bool,
    /// The origin of the digest.
    pub origin: Origin,
}

impl Ord for Pin {
    /// Ignores the origin, because releases and the lock may contain the same digest.
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChartHost {
    /// A classic repository, with an index.
    Repository,
    /// A registry for OCI artifacts.
    Registry,
}

impl ChartSource {
    /// The chart of an addon at the address that a management cluster uses. Charts from a mirror are not compared with a
    /// digest, because copying may have rewritten the manifest.
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

    pub fn host(&self) -> ChartHost {
        if self.repository.starts_with("oci://") { ChartHost::Registry } else { ChartHost::Repository }
    }

    /// The name of the source object. It is readable, and differs from that of the same chart in another repository.
    pub fn name(&self) -> String {
        let version = self.version.to_string().replace('+', "-").to_ascii_lowercase();
        let chart = self.chart.replace(['/', '_'], "-").to_ascii_lowercase();
        // Releases from before and after an accepted change may be in use at once, so they need separate sources.
        let replaced = self.digest.iter().filter(|pin| pin.replaced).map(|pin| format!(" {}", pin.digest));
        let whole = format!("{} {}{}", self.repository, self.chart, replaced.collect::<String>());
        shortened(&format!("{chart}-{version}-{}", short_hash(&whole)))
    }

    /// The name of the object for its classic repository.
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
