//! The running objects before a change: computed from the earlier Cluster or, if that is impossible, taken from the live
//! objects.

use super::Settings;
use super::create;
use super::live;
use super::side::Side;
use crate::class::Catalog;
use crate::refusal::{Opaque, Refusal};
use crate::state::Desired;
use k8s_schema::value::text;

/// The running objects before a change.
pub(super) enum Baseline {
    /// Computed from the earlier Cluster, with the parts that cannot be known.
    Computed(Desired, Vec<Opaque>),
    /// Taken from live objects, with the reason why they were not computed.
    Given(Desired, String),
    /// Unknown, for these reasons.
    Unknown(Vec<Opaque>),
    /// The earlier Cluster is not live and has errors: nothing runs.
    Refusal(Vec<Refusal>),
}

/// Determines the running objects before a change.
pub(super) fn baseline(before: &Side, catalog: &Catalog, settings: &Settings) -> Baseline {
    let missing = missing(before, "which was not given for the state before");
    let mut faults = Vec::new();
    if missing.is_empty() {
        let created = create::create(before.cluster.clone(), catalog, settings);
        match created.desired {
            Some(desired) if created.faults.is_empty() => {
                return Baseline::Computed(desired, created.opaque);
            }
            _ => faults = created.faults,
        }
    }
    let reason = match (missing.first(), faults.first()) {
        (Some(one), _) => one.reason.clone(),
        (None, Some(fault)) => format!("the state before the change has an error: {fault}"),
        (None, None) => return Baseline::Refusal(faults),
    };
    match live::given(&before.cluster, &before.observed) {
        Some(running) => Baseline::Given(
            running,
            format!("{reason}; the live objects were given, so the change is computed from them"),
        ),
        None if !missing.is_empty() => Baseline::Unknown(missing),
        None if before.applied.is_live() => {
            let reason = format!(
                "{reason}; so an unknown earlier state still runs; the running objects would show it"
            );
            Baseline::Unknown(vec![Opaque::of_all(reason)])
        }
        None => Baseline::Refusal(faults),
    }
}

/// Lists the objects that a side lacks of its class; `how` completes the message.
pub(super) fn missing(side: &Side, how: &str) -> Vec<Opaque> {
    let who = match side.class.objects.first() {
        Some(class) => format!("the class {}", text(class, &["metadata", "name"])),
        None => "the Cluster".to_owned(),
    };
    let reason = |name: &String| format!("{who} names {name}, {how}");
    side.class.missing.iter().map(reason).map(Opaque::of_all).collect()
}
