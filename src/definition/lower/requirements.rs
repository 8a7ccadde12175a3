//! Lowers the requirements of stacks and releases on management clusters, and the capabilities of management clusters.

use std::collections::{BTreeMap, BTreeSet};

use super::{addon::origin_at, place_at, range};
use crate::{
    definition::{self as written, parse::Written},
    model::{Minor, Provided, Requirements},
    note::{Notes, Place},
};

/// The name of Cluster API itself in the list of providers.
const CORE: &str = "cluster-api";

/// Lowers the requirements of a stack or a frozen release.
pub(super) fn lower<T>(
    providers: Option<&BTreeMap<String, String>>,
    gates: impl Iterator<Item = String>,
    written: &Written<T>,
    notes: &mut Notes,
) -> Requirements {
    let of = |(name, text): (&String, &String)| {
        let place = place_at(written, &["spec", "requires", "providers", name]);
        Some((name.clone(), range(text, place, notes)?.canonical()))
    };
    let providers = providers.into_iter().flatten().filter_map(of).collect();
    Requirements { providers, feature_gates: gates.collect() }
}

/// Lowers the capabilities of a management cluster. `place` returns the place of one of its keys.
pub(super) fn provided(
    management: &written::ManagementCluster,
    written: &Written<written::Fleet>,
    at: &str,
    cluster_api: Option<Minor>,
    notes: &mut Notes,
) -> Option<Provided> {
    let base = ["spec", "managementClusters", at];
    let place = |path: &[&str]| place_at(written, &[&base[..], path].concat());
    let origin = |path: &[&str]| origin_at(written, &[&base[..], path].concat());
    let before = notes.errors();
    let mut providers = BTreeMap::new();
    for (name, text) in management.providers.iter().flatten() {
        let path = ["providers", name.as_str()];
        match semver::Version::parse(text.strip_prefix('v').unwrap_or(text)) {
            Ok(version) => {
                providers.insert(name.clone(), (version, origin(&path)));
            }
            Err(_) => {
                notes
                    .error(
                        "wrong-version",
                        place(&path),
                        format!("`{text}` is not the exact version of a provider"),
                    )
                    .hint("write it as <major>.<minor>.<patch>, in quotes, such as '0.14.7'");
            }
        }
    }
    check_core(&providers, cluster_api, &place, notes);
    let apis = management.api_versions.iter().flatten().map(|(group, versions)| {
        let versions: BTreeSet<String> = versions.iter().cloned().collect();
        (group.clone(), (versions, origin(&["apiVersions", group])))
    });
    let of_minor = || match &management.cluster_api {
        Some(_) => origin(&["clusterApi"]),
        None => origin_at(written, &["spec", "clusterApi"]),
    };
    let of_gates = if management.feature_gates.is_some() { "featureGates" } else { "name" };
    let provided = Provided {
        cluster_api_origin: providers.get(CORE).map_or_else(of_minor, |(_, origin)| *origin),
        providers,
        feature_gates: management.feature_gates.as_ref().map(written::FeatureGates::set),
        feature_gates_origin: origin(&[of_gates]),
        api_versions: apis.collect(),
        origin: origin(&["name"]),
    };
    (notes.errors() == before).then_some(provided)
}

/// Checks that the exact version of Cluster API belongs to the minor in `clusterApi`.
fn check_core(
    providers: &BTreeMap<String, (semver::Version, crate::yaml::Origin)>,
    cluster_api: Option<Minor>,
    place: &dyn Fn(&[&str]) -> Place,
    notes: &mut Notes,
) {
    let (Some((version, _)), Some(minor)) = (providers.get(CORE), cluster_api) else { return };
    if (version.major, version.minor) != (minor.major, minor.minor) {
        notes
            .error(
                "cluster-api",
                place(&["providers", CORE]),
                format!("Cluster API {version} does not belong to the minor {minor} that `clusterApi` names"),
            )
            .hint("use the same minor in both");
    }
}
