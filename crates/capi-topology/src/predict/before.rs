//! What runs before a change: what the Cluster before asks for, or what was given of it where that asks for nothing that works.

use super::Settings;
use super::create;
use super::live;
use super::side::Side;
use crate::class::Catalog;
use crate::desired::state::Desired;
use crate::refusal::{Opaque, Refusal};
use k8s_schema::value::text;

/// What runs before a change.
pub(super) enum Baseline {
    /// What the Cluster before asks for, and what of that cannot be known.
    Computed(Desired, Vec<Opaque>),
    /// What was given of it, and why it was not computed.
    Given(Desired, String),
    /// It is not known, for these reasons.
    Unknown(Vec<Opaque>),
    /// The Cluster before, which is no live one, is at fault: nothing runs.
    Refusal(Vec<Refusal>),
}

/// Finds what runs before a change.
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
                "{reason}; so what runs is what there was before that, which is not known; the running objects would tell it"
            );
            Baseline::Unknown(vec![Opaque::of_all(reason)])
        }
        None => Baseline::Refusal(faults),
    }
}

/// What a side lacks of its class.
pub(super) fn missing(side: &Side, how: &str) -> Vec<Opaque> {
    let who = match side.class.objects.first() {
        Some(class) => format!("the class {}", text(class, &["metadata", "name"])),
        None => "the Cluster".to_owned(),
    };
    let reason = |name: &String| format!("{who} names {name}, {how}");
    side.class.missing.iter().map(reason).map(Opaque::of_all).collect()
}
