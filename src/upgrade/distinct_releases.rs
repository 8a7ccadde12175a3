//! The releases between which a plan chooses.

use std::{collections::BTreeSet, sync::Arc};

use crate::release::Release;

/// Of consecutive equal releases, keeps only the newest. The cluster's own minor and the goal are left as they are.
pub(super) fn distinct(line: Vec<Arc<Release>>, own: &Release, goal: Option<&str>) -> Vec<Arc<Release>> {
    let is_alike = |one: &Release, other: &Release| {
        one.kubernetes == other.kubernetes
            && one.channel == other.channel
            && one.compatibility == other.compatibility
            && one.requires == other.requires
            && api_versions(one) == api_versions(other)
            && one.addons.len() == other.addons.len()
            && one
                .addons
                .iter()
                .zip(&other.addons)
                .all(|(one, other)| one.version == other.version && one.addon == other.addon)
    };
    let mut kept: Vec<Arc<Release>> = Vec::new();
    for release in line {
        let is_named = |one: &Release| one.name == own.name || Some(one.name.as_str()) == goal;
        let is_own_minor = release.kubernetes.minor() == own.kubernetes.minor();
        if let Some(last) = kept.last_mut()
            && !is_own_minor
            && !is_named(last)
            && !is_named(&release)
            && is_alike(last, &release)
        {
            *last = release;
        } else {
            kept.push(release);
        }
    }
    kept
}

/// The API versions of the objects of a release, which a management cluster must serve.
fn api_versions(release: &Release) -> BTreeSet<(&str, &str)> {
    release
        .objects
        .iter()
        .filter_map(|object| Some((object.get("apiVersion")?.as_str()?, object.get("kind")?.as_str()?)))
        .collect()
}
