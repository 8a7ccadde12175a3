//! Addons that a cluster uses from another release of the same stack and minor: chart, matrix, values and manifests. This is
//! for emergencies in which a rebase of the whole cluster would be too much.

use std::sync::Arc;

use super::Suppliers;
use crate::{
    model::Cluster,
    note::Notes,
    release::{Release, Releases},
};

/// Replaces these addons in the release. The compatibility rules of both releases apply. Also returns the releases that supply
/// them, by addon.
pub(super) fn with_borrowed(
    cluster: &Cluster,
    release: &Arc<Release>,
    releases: &Releases,
    notes: &mut Notes,
) -> Option<(Arc<Release>, Suppliers)> {
    let before = notes.errors();
    let (mut whole, mut suppliers) = (release.clone(), Suppliers::new());
    for (name, choice) in &cluster.addons {
        let Some((wanted, origin)) = &choice.release else { continue };
        let Some(other) = releases.named(wanted, *origin, notes) else { continue };
        let place = *origin;
        if other.stack != release.stack || other.kubernetes.minor() != release.kubernetes.minor() {
            notes
                .error(
                    "addon-release",
                    place,
                    format!(
                        "`{wanted}` is a release of {} for Kubernetes {}, but the cluster's release is one of {} for {}",
                        other.stack,
                        other.kubernetes.minor(),
                        release.stack,
                        release.kubernetes.minor()
                    ),
                )
                .hint("use a release of the same stack and minor: addons can only come from one of these");
            continue;
        }
        let Some(addon) = other.addon(name) else {
            let known: Vec<_> = other.addons.iter().map(|addon| addon.addon.name.as_str()).collect();
            notes
                .error("unknown-addon", place, format!("the release `{wanted}` has no addon `{name}`"))
                .hint(format!("it has {}", known.join(", ")));
            continue;
        };
        let whole = Arc::make_mut(&mut whole);
        whole.addons.retain(|own| own.addon.name.as_str() != name);
        whole.addons.push(addon.clone());
        whole.addons.sort_by(|a, b| a.addon.name.cmp(&b.addon.name));
        for rule in &other.compatibility {
            if rule.addon.as_str() == name && !whole.compatibility.contains(rule) {
                whole.compatibility.push(rule.clone());
            }
        }
        suppliers.insert(name.clone(), other);
    }
    (notes.errors() == before).then_some((whole, suppliers))
}
