//! Objects of files are written one by one: where some are refused, the others are taken.

use super::Settings;
use super::forecast::{Forecast, Side, of_change};
use crate::topology::class::Catalog;
use crate::topology::fault::{Fault, Stage};

const CLUSTER_STAYS: &str = "the Cluster is refused and stays as it is; its class is written all the same, and this is what that makes of it: \
                             objects are written one by one";
const OTHERS_ARE_TAKEN: &str =
    "objects are written one by one: what else there is among the new files is taken, and not told here";

/// What becomes of a Cluster that runs when each object of the files is written for itself.
///
/// Source: `kubectl apply` and Argo CD go on with the next object; Flux writes classes in a stage of their own, before the
/// Clusters (`fluxcd/pkg/ssa`, `manager_apply.go`, `ApplyAllStaged`).
pub fn of_files(before: &Side, after: &Side, settings: &Settings) -> Result<Forecast, Vec<Fault>> {
    let mut forecast = of_change(before, after, settings)?;
    let is_refused = forecast.change.as_ref().is_some_and(|change| !change.accepted);
    let changed = changed(before, after);
    if !is_refused || changed.is_empty() {
        return Ok(forecast);
    }
    let of_cluster = |fault: &Fault| fault.stage == Stage::Cluster;
    if !forecast.faults.iter().all(of_cluster) {
        if changed.len() > 1 || after.written && before.cluster != after.cluster {
            forecast.notes.push(OTHERS_ARE_TAKEN.to_owned());
        }
        return Ok(forecast);
    }
    let there = Side { cluster: before.cluster.clone(), written: false, ..after.clone() };
    let mut alone = of_change(before, &there, settings)?;
    alone.faults.splice(0..0, forecast.faults);
    alone.notes.insert(0, CLUSTER_STAYS.to_owned());
    Ok(alone)
}

/// The classes and templates that were there and are written otherwise.
fn changed<'a>(before: &Side, after: &'a Side) -> Vec<&'a serde_json::Value> {
    let there = Catalog::new(before.class.objects.iter().cloned());
    let is_changed =
        |object: &&serde_json::Value| there.same_object(object).is_some_and(|old| old != *object);
    after.class.objects.iter().filter(is_changed).collect()
}
