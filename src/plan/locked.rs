//! Which bytes a chart must be: what its release recorded, else what the lock says; and that the two agree.

use std::collections::BTreeMap;

use super::{ClusterPlan, Pin};
use crate::{
    model::{AddonVersion, ChartVersion, Digest, Lock},
    note::{At, Notes, Place},
    release::ReleaseAddon,
    world::LOCK,
    yaml::Origin,
};

/// The digest that a version of an addon's chart must have; none where none was recorded.
pub(super) fn pin(addon: &ReleaseAddon, version: &AddonVersion, lock: &Lock) -> Option<Pin> {
    let locked = lock.charts.get(&key(addon, version)?);
    let said = addon.locked.get(version).or(locked)?;
    let replaced = locked.is_some_and(|locked| locked.digest != said.digest);
    Some(Pin { digest: said.digest.clone(), replaced, origin: said.origin })
}

/// The file that says which values a chart takes, and where the lock says so; none where the release was cut with other bytes.
pub fn described(addon: &ReleaseAddon, version: &AddonVersion, lock: &Lock) -> Option<(Digest, Origin)> {
    let locked = lock.charts.get(&key(addon, version)?)?;
    let is_same = addon.locked.get(version).is_none_or(|recorded| recorded.digest == locked.digest);
    Some((locked.values.clone().filter(|_| is_same)?, locked.origin))
}

/// Where the lock names a chart without saying which values it takes.
pub fn undescribed(addon: &ReleaseAddon, version: &AddonVersion, lock: &Lock) -> Option<Origin> {
    let locked = lock.charts.get(&key(addon, version)?)?;
    locked.values.is_none().then_some(locked.origin)
}

fn key(addon: &ReleaseAddon, version: &AddonVersion) -> Option<ChartVersion> {
    let chart = addon.addon.chart.clone()?;
    Some(ChartVersion { chart, version: version.clone() })
}

/// The code of a message on a lock that says another digest than a release that clusters use.
pub const CONTRADICTS: &str = "lock-contradicts";

/// Clusters by what they are made from that the lock contradicts: release, chart, and the digest that it recorded.
type Contradicted<'a> = BTreeMap<(&'a str, ChartVersion, &'a Digest), Vec<&'a ClusterPlan>>;

/// Refuses a lock that says another digest than a release that clusters use recorded, unless it says that this one came
/// in the place of that.
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
                    "{key} is locked as `{}`, and the release `{release}` was cut when it was `{recorded}`",
                    locked.digest
                ),
            )
            .hint(format!("the release is used by {}", names.join(", ")))
            .hint(format!(
                "put the lock back from git; if other bytes were published and are meant, `stackloom update --accept {}`",
                key.chart.name
            ));
    }
}
