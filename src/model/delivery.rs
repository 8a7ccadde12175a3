//! Addon deliveries: the tools that install addons into workload clusters, their names, and the engine they need.
//!
//! The output of each delivery, and the addon settings that it supports, are defined in its file below `render/delivery`.

use super::Engine;

/// A tool that installs addons into workload clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AddonDelivery {
    /// `HelmReleases` of Flux, in the management cluster.
    FluxHelmRelease,
    /// Applications of Argo CD. The workload clusters must be registered there.
    ArgoCdApplication,
    /// `HelmChartProxies` of Cluster API's Helm addon provider, and `ClusterResourceSets` for manifests.
    HelmChartProxy,
    /// `ClusterResourceSets` of Cluster API itself: manifests only.
    ClusterResourceSet,
    /// Profiles of Sveltos.
    SveltosProfile,
    /// `HelmReleases` and Manifests of the addon provider of Azimuth (`StackHPC`).
    AzimuthHelmRelease,
}

/// Each delivery with its name in `addonDelivery` and the description that editors show.
const WORDS: [(AddonDelivery, &str, &str); 6] = [
    (
        AddonDelivery::FluxHelmRelease,
        "flux-helm-release",
        "A HelmRelease of Flux, in the management cluster; Argo CD can apply it, too.",
    ),
    (
        AddonDelivery::ArgoCdApplication,
        "argocd-application",
        "An Application of Argo CD, which must have the workload cluster registered.",
    ),
    (
        AddonDelivery::HelmChartProxy,
        "helm-chart-proxy",
        "A HelmChartProxy of Cluster API's addon provider for Helm, and a ClusterResourceSet for manifests.",
    ),
    (
        AddonDelivery::ClusterResourceSet,
        "cluster-resource-set",
        "A ClusterResourceSet of Cluster API itself; for addons of manifests only.",
    ),
    (AddonDelivery::SveltosProfile, "sveltos-profile", "A Profile of Sveltos."),
    (
        AddonDelivery::AzimuthHelmRelease,
        "azimuth-helm-release",
        "A HelmRelease or Manifests of the addon provider of Azimuth (StackHPC).",
    ),
];

impl AddonDelivery {
    /// Iterates over all deliveries.
    pub fn all() -> impl Iterator<Item = Self> {
        WORDS.iter().map(|(delivery, ..)| *delivery)
    }

    /// Iterates over the names accepted in `addonDelivery`, each with the description that editors show.
    pub fn words() -> impl Iterator<Item = (&'static str, &'static str)> {
        WORDS.iter().map(|(_, word, about)| (*word, *about))
    }

    /// Looks up the delivery with this name.
    pub fn of_word(word: &str) -> Option<Self> {
        WORDS.iter().find(|(_, known, _)| *known == word).map(|(delivery, ..)| *delivery)
    }

    /// The name in `addonDelivery`.
    pub fn as_str(self) -> &'static str {
        let found = WORDS.iter().find(|(delivery, ..)| *delivery == self);
        found.map(|(_, word, _)| *word).expect("a test ensures that each has a word")
    }

    /// The default delivery of an engine.
    pub fn of(engine: Engine) -> Self {
        match engine {
            Engine::Flux => Self::FluxHelmRelease,
            Engine::ArgoCd => Self::ArgoCdApplication,
        }
    }

    /// The engine that the delivery requires to apply the tree; none if any engine works.
    pub fn needs(self) -> Option<Engine> {
        (self == Self::ArgoCdApplication).then_some(Engine::ArgoCd)
    }
}
