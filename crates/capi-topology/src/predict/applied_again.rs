//! The next apply of the same Cluster: GitOps engines apply again and again, and it may change something else.

use std::sync::Arc;

use super::Settings;
use super::admit::admit;
use super::apply::has_empty;
use super::before_after::{After, Before};
use super::change::{Change, Effect, converge, objects};
use crate::class::Catalog;
use crate::refusal::Opaque;
use crate::role::Role;
use k8s_schema::value::{get, set};

const TOPOLOGY: &[&str] = &["spec", "topology"];

/// Predicts what the next apply of the same Cluster would change. A GitOps engine applies repeatedly. Applying `{}` over
/// the `null` of a map that lost its last key results in `{}`, which a patch may read differently.
pub(super) fn applied_again(
    before: &Before,
    after: After<'_>,
    first: &Change,
    catalog: &Catalog,
    settings: &Settings,
) -> Vec<Opaque> {
    let Some(cluster) = after.cluster.filter(|cluster| has_empty(cluster)) else { return Vec::new() };
    let (Some(admitted), Some(end)) = (&first.admitted, &first.running) else { return Vec::new() };
    let unknown = |role, what: &str| {
        let reason =
            format!("a map of the Cluster loses its last key, so that the first apply leaves `null`: {what}");
        Opaque::new(role, reason)
    };
    let state = Before { written: cluster.clone(), ..before.clone() };
    let Ok((again, _)) = admit(&state, admitted, cluster, after.writing, catalog) else {
        return vec![unknown(Role::Cluster, "the next apply is refused")];
    };
    let Some(topology) = get(&again, TOPOLOGY).filter(|again| get(admitted, TOPOLOGY) != Some(again)) else {
        return Vec::new();
    };
    let mut running = end.clone();
    set(Arc::make_mut(&mut running.cluster), TOPOLOGY, topology.clone());
    let next = converge(running, before.set_by_others.clone(), catalog, settings);
    let rotated = next.all_rotated();
    let changes = next.running.iter().flat_map(|running| objects(end, running, &rotated));
    let changed = changes.filter(|one| one.effect != Effect::Same && one.role != Role::Cluster);
    let mut found: Vec<_> = changed
        .map(|one| unknown(one.role, "the next apply writes `{}` and changes the part again"))
        .collect();
    if !next.faults.is_empty() {
        found.push(unknown(Role::Cluster, "the next apply writes `{}`, and the controller stops at it"));
    }
    found
}
