//! What installs addons into workload clusters: its names, and the engine that it needs.
//!
//! What a delivery writes, and what it can keep of what an addon asks for, is in its file below `render/delivery`.

use super::Engine;

/// What installs addons into workload clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AddonDelivery {
    /// `HelmReleases` of Flux, in the management cluster.
    FluxHelmRelease,
    /// Applications of Argo CD, which reach workload clusters as they are registered there.
    ArgoCdApplication,
    /// `HelmChartProxies` of Cluster API's addon provider for Helm, and `ClusterResourceSets` for manifests.
    HelmChartProxy,
    /// `ClusterResourceSets` of Cluster API itself: manifests only.
    ClusterResourceSet,
    /// Profiles of Sveltos.
    SveltosProfile,
    /// `HelmReleases` and Manifests of the addon provider of Azimuth (`StackHPC`).
    AzimuthHelmRelease,
}

/// Each with the word that stands for it in `addonDelivery`, and what editors say of it.
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
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        WORDS.iter().map(|(delivery, ..)| *delivery)
    }

    /// The words for all of them, as `addonDelivery` takes them, and what editors say of each.
    pub fn words() -> impl Iterator<Item = (&'static str, &'static str)> {
        WORDS.iter().map(|(_, word, about)| (*word, *about))
    }

    /// The one that a word stands for.
    pub fn of_word(word: &str) -> Option<Self> {
        WORDS.iter().find(|(_, known, _)| *known == word).map(|(delivery, ..)| *delivery)
    }

    /// Its name, as it is written in `addonDelivery`.
    pub fn as_str(self) -> &'static str {
        let found = WORDS.iter().find(|(delivery, ..)| *delivery == self);
        found.map(|(_, word, _)| *word).expect("a test holds that each has a word")
    }

    /// What goes with an engine where nothing else is said.
    pub fn of(engine: Engine) -> Self {
        match engine {
            Engine::Flux => Self::FluxHelmRelease,
            Engine::ArgoCd => Self::ArgoCdApplication,
        }
    }

    /// The engine that must apply the tree for it; none if any may.
    pub fn needs(self) -> Option<Engine> {
        (self == Self::ArgoCdApplication).then_some(Engine::ArgoCd)
    }
}
