//! Addon deliveries: the tools that install addons into workload clusters, their names, and the engines that they work with.
//!
//! A delivery is one line in the list below, and one file of that name below `render/delivery`. The line holds what definitions
//! need to know of it. The file says what it writes, and which settings of addons it supports.

use std::fmt;

use super::Engine;

/// Makes the list: the name of a delivery is that of its file, with dashes.
macro_rules! deliveries {
    ($($module:ident: $listed:expr,)*) => {
        static LIST: &[Listed] = &[$(Listed { name: name!($module), ..$listed }),*];

        /// Passes the names of the files of all deliveries, in the order of the list, to a macro.
        macro_rules! for_each_delivery {
            ($call:ident) => { $call! { $($module)* } };
        }
        pub(crate) use for_each_delivery;
    };
}

/// The name of a delivery, given that of its file.
macro_rules! name {
    ($module:ident) => {{
        const FILE: &str = stringify!($module);
        const NAME: [u8; FILE.len()] = dashed(FILE);
        match std::str::from_utf8(&NAME) {
            Ok(name) => name,
            Err(_) => panic!("names of files are ASCII"),
        }
    }};
}

deliveries! {
    flux_helm_release: of(Engine::Flux, "A HelmRelease of Flux, in the management cluster; Argo CD can apply it, too."),
    argocd_application: only_with(Engine::ArgoCd, "An Application of Argo CD, which must have the workload cluster registered."),
    argocd_multi_source_application: only_with(Engine::ArgoCd, "The same, with the values of charts in files of the fleet's repository: of any size."),
    helm_chart_proxy: of_others("A HelmChartProxy of Cluster API's addon provider for Helm, and a ClusterResourceSet for manifests."),
    cluster_resource_set: of_others("A ClusterResourceSet of Cluster API itself; for addons of manifests only."),
    sveltos_profile: of_others("A Profile of Sveltos."),
    azimuth_helm_release: of_others("A HelmRelease or Manifests of the addon provider of Azimuth (StackHPC)."),
}

const fn dashed<const LENGTH: usize>(file: &str) -> [u8; LENGTH] {
    let (from, mut to, mut at) = (file.as_bytes(), [b'-'; LENGTH], 0);
    while at < LENGTH {
        if from[at] != b'_' {
            to[at] = from[at];
        }
        at += 1;
    }
    to
}

/// What the list says about a delivery.
struct Listed {
    /// The name in `addonDelivery`.
    name: &'static str,
    /// The description that editors show.
    about: &'static str,
    /// The engine whose own objects it writes.
    engine: Option<Engine>,
    /// Whether that engine must also apply the tree.
    needs_engine: bool,
}

/// A delivery with objects of an engine, which works under other engines, too.
const fn of(engine: Engine, about: &'static str) -> Listed {
    Listed { name: "", about, engine: Some(engine), needs_engine: false }
}

/// A delivery with objects of an engine that must also apply the tree.
const fn only_with(engine: Engine, about: &'static str) -> Listed {
    Listed { name: "", about, engine: Some(engine), needs_engine: true }
}

/// A delivery with objects of another controller.
const fn of_others(about: &'static str) -> Listed {
    Listed { name: "", about, engine: None, needs_engine: false }
}

/// A tool that installs addons into workload clusters, by its place in the list.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct AddonDelivery(usize);

impl AddonDelivery {
    /// Iterates over all deliveries.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..LIST.len()).map(Self)
    }

    /// Iterates over the names accepted in `addonDelivery`, each with the description that editors show.
    pub fn words() -> impl Iterator<Item = (&'static str, &'static str)> {
        LIST.iter().map(|listed| (listed.name, listed.about))
    }

    /// Looks up the delivery with this name.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::all().find(|one| one.as_str() == word)
    }

    /// The name in `addonDelivery`.
    pub fn as_str(self) -> &'static str {
        self.listed().name
    }

    /// The default delivery of an engine: the first in the list with its objects.
    pub fn of(engine: Engine) -> Self {
        let is_of = |one: &Self| one.engine() == Some(engine);
        Self::all().find(is_of).expect("a test ensures that each engine has one")
    }

    /// The engine whose own objects it writes; none if they are those of another controller.
    pub fn engine(self) -> Option<Engine> {
        self.listed().engine
    }

    /// The engine that the delivery requires to apply the tree; none if any engine works.
    pub fn needs(self) -> Option<Engine> {
        self.engine().filter(|_| self.listed().needs_engine)
    }

    /// Its place in the list.
    pub(crate) fn place(self) -> usize {
        self.0
    }

    fn listed(self) -> &'static Listed {
        &LIST[self.0]
    }
}

impl fmt::Debug for AddonDelivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_and_every_engine_has_a_default() {
        for delivery in AddonDelivery::all() {
            assert_eq!(AddonDelivery::of_word(delivery.as_str()), Some(delivery));
            assert!(!delivery.as_str().contains('_'), "{delivery:?}");
        }
        for engine in Engine::ALL {
            assert_eq!(AddonDelivery::of(engine).engine(), Some(engine));
        }
    }
}
