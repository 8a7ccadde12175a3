//! The required digests of charts: those recorded by releases, or else those in the lock. Also checks that the two agree.

use std::collections::BTreeMap;

use super::{ClusterPlan, Pin};
use crate::{
    model::{AddonVersion, ChartVersion, Digest, Lock},
    note::{At, Notes, Place},
    release::ReleaseAddon,
    world::LOCK,
    yaml::Origin,
};

/// The digest that an addon's chart must have in this version; none if none was recorded.
pub(super) fn pin(addon: &ReleaseAddon, version: &AddonVersion, lock: &Lock) -> Option<Pin> {
    let locked = lock.charts.get(&key(addon, version)?);
    let required = addon.locked.get(version).or(locked)?;
    let replaced = locked.is_some_and(|locked| locked.digest != required.digest);
    Some(Pin { digest: required.digest.clone(), replaced, origin: required.origin })
}

/// The digest of the description of a chart's values, and its origin in the lock; none if the release was cut with different
/// content.
pub fn described(addon: &ReleaseAddon, version: &AddonVersion, lock: &Lock) -> Option<(Digest, Origin)> {
    let locked = lock.charts.get(&key(addon, version)?)?;
    let is_same = addon.locked.get(version).is_none_or(|recorded| recorded.digest == locked.digest);
    Some((locked.values.clone().filter(|_| is_same)?, locked.origin))
}

/// The origin of a chart's lock entry if the entry has no description of its values.
pub fn undescribed(addon: &ReleaseAddon, version: &AddonVersion, lock: &Lock) -> Option<Origin> {
    let locked = lock.charts.get(&key(addon, version)?)?;
    locked.values.is_none().then_some(locked.origin)
}

fn key(addon: &ReleaseAddon, version: &AddonVersion) -> Option<ChartVersion> {
    let chart = addon.addon.chart.clone()?;
    Some(ChartVersion { chart, version: version.clone() })
}

/// The code of messages about a lock whose digest differs from that of a release in use.
pub const CONTRADICTS: &str = "lock-contradicts";

/// Clusters by the contradicted record: the release, the chart, and the digest that the release recorded.
type Contradicted<'a> = BTreeMap<(&'a str, ChartVersion, &'a Digest), Vec<&'a ClusterPlan>>;

/// Rejects a lock whose digest differs from one recorded by a release in use, unless the lock says that it replaces that
/// digest.
pub(super) fn check(clusters: &[ClusterPlan], lock: &Lock, notes: &mut Notes) {
    let mut found = Contradicted::new();
    for plan in clusters {
        for addon in &plan.addons {
            let Some(version) = &addon.version else { continue };
            let Some(recorded) = addon.frozen.locked.get(version) else { continue };
            let Some(key) = key(&addon.frozen, version) else { continue };
            let Some(locked) = lock.charts.get(&key) else { continue };
            if locked.digest != recorded.digest && !locked.replaces.contains(&recorded.digest) {
                let choice = plan.cluster.addons.get(addon.frozen.addon.name.as_str());
                let borrowed = choice.and_then(|choice| choice.release.as_ref());
                let release = borrowed.map_or(plan.release.name.as_str(), |(name, _)| name.as_str());
                found.entry((release, key, &recorded.digest)).or_default().push(plan);
            }
        }
    }
    for ((release, key, recorded), clusters) in found {
        let Some(locked) = lock.charts.get(&key) else { continue };
        let place = At::word_or(locked.origin, || Place::file(LOCK));
        let names: Vec<_> = clusters.iter().map(|plan| plan.cluster.name.as_str()).collect();
        notes
            .error(
                CONTRADICTS,
                place,
                format!(
                    "{key} is locked as `{}`, but the release `{release}` was cut with `{recorded}`",
                    locked.digest
                ),
            )
            .hint(format!("the release is used by {}", names.join(", ")))
            .hint(format!(
                "restore the lock from git; if other content was published and is intended, `stackloom update --accept {}`",
                key.chart.name
            ));
    }
}
