//! How and by whom a Cluster is written over the live one.

use serde_json::{Value, json};

use super::apply::server_side_apply;
use super::client_side::client_side_apply;
use super::dropped::dropped;
use super::evidence::{Evidence, On};
use super::meaning::MeaningKind;
use super::rules::Rule;
use super::side::Side;
use super::verdict::Verdict;
use super::writing::Writing;
use crate::admission::cluster_update;
use crate::import::{Applied, Applier, Claim};
use crate::refusal::Opaque;
use crate::role::TopologyPart;
use k8s_schema::value::{get, list, remove, set, text};

const ANNOTATIONS: [&str; 2] = ["metadata", "annotations"];

/// How a Cluster is written over the live one.
pub(super) struct Overwrite {
    /// The manifest applied before.
    pub written: Value,
    /// Fields of the Cluster that others set.
    pub others: Value,
    pub writing: Writing,
    /// What is unknown about this.
    pub doubts: Vec<Opaque>,
    pub note: Option<String>,
}

pub(super) fn overwrite(before: &Side, after: &Side) -> Overwrite {
    let (written, others, writing) = (before.cluster.clone(), Value::Null, Writing::Apply);
    let whole = Overwrite { written, others, writing, doubts: Vec::new(), note: None };
    match (&before.applied, &after.applied) {
        (Applied::File, _) => whole,
        // Whoever edits an export writes it as a whole.
        (_, Applied::Known(_) | Applied::Unknown) => Overwrite { writing: Writing::Replace, ..whole },
        (Applied::Known(claims), Applied::File) => match claims.first() {
            Some(claim) => Overwrite {
                written: claim.part.clone(),
                others: claim.others.clone(),
                writing: writing_of(&claim.by),
                note: after.written.then(|| taken(claim, before, after)).flatten(),
                ..whole
            },
            None => whole,
        },
        (Applied::Unknown, Applied::File) => {
            let reason = "values of the live Cluster that the new one does not have may stay or go: without its managed fields, who set \
                          them is not known";
            let doubts = dropped(&before.cluster, &after.cluster);
            let doubts = doubts.into_iter().map(|part| Opaque::new(part.own(), reason.to_owned())).collect();
            // References and hooks belong to the controller, whoever wrote the rest.
            let mut written = before.cluster.clone();
            for reference in ["controlPlaneRef", "infrastructureRef", "controlPlaneEndpoint"] {
                remove(&mut written, &["spec", reference]);
            }
            remove(&mut written, &["metadata", "annotations", cluster_update::PENDING_HOOKS]);
            // An empty map would count as applied, so the apply would remove the controller's annotations.
            if get(&written, &ANNOTATIONS).and_then(Value::as_object).is_some_and(serde_json::Map::is_empty) {
                remove(&mut written, &ANNOTATIONS);
            }
            Overwrite { written, doubts, ..whole }
        }
    }
}

fn writing_of(by: &Applier) -> Writing {
    match by {
        Applier::ClientSide(_) => Writing::Merge,
        Applier::ServerSide(_) => Writing::Apply,
    }
}

/// The Cluster after one of its earlier appliers applies the new one.
pub(super) fn outcome(claim: &Claim, before: &Side, after: &Side) -> Value {
    let cluster = as_applied(&after.cluster, &before.cluster);
    match claim.by {
        Applier::ClientSide(_) => client_side_apply(&before.cluster, &claim.part, &cluster),
        Applier::ServerSide(_) => server_side_apply(&before.cluster, &claim.part, &claim.others, &cluster),
    }
}

/// The note on the assumed applier and the effects of its apply; none if the user named it and there are no effects.
fn taken(claim: &Claim, before: &Side, after: &Side) -> Option<String> {
    let by = &claim.by;
    let mut words = format!("applied by {}, {}", by.name(), by.manner());
    if !claim.by_user {
        words.push_str(", as the live Cluster was");
    }
    let mut effects = Vec::new();
    if matches!(by, Applier::ClientSide(_)) {
        effects.push(
            "lists that differ are replaced as a whole, including values that were filled in".to_owned(),
        );
    }
    if !claim.takes_over.is_empty() {
        effects.push(format!("fields set by {} count as its own", claim.takes_over.join(" and ")));
    }
    if keeps_others(claim, before, after) {
        let stays = "fields that others set (see `metadata.managedFields`) stay, even if the new Cluster does not have them";
        effects.push(stays.to_owned());
    }
    let is_plain = effects.is_empty() && claim.by_user;
    effects.insert(0, words);
    (!is_plain).then(|| effects.join("; "))
}

/// Adds a remark to deleted parts: they are deleted because their applier no longer has them, and stay if another applies
/// the Cluster.
pub(super) fn rests_on_applier(found: &[Verdict], before: &Side, after: &Side) -> Vec<Evidence> {
    let (Applied::Known(claims), Applied::File, true) = (&before.applied, &after.applied, after.written)
    else {
        return Vec::new();
    };
    let Some(claim) = claims.first().filter(|one| !one.by_user && writing_of(&one.by) == Writing::Apply)
    else {
        return Vec::new();
    };
    let applied = |part: &TopologyPart| {
        let Some(pool) = part.as_pool() else { return false };
        let pools = list(&claim.part, &["spec", "topology", "workers", pool.kind.list()]);
        pools.iter().any(|one| text(one, &["name"]) == pool.name)
    };
    let reason = format!(
        "{} applied it, and is assumed to apply the new Cluster, which does not have it; if another manager applies \
         the Cluster, it stays",
        claim.by.name()
    );
    let on = On::Only(&[MeaningKind::Delete]);
    let parts = found.iter().map(|one| &one.subject).filter(|part| applied(part));
    parts.map(|part| Evidence::remark(part.clone(), Rule::Applier, on).because(&reason)).collect()
}

/// Reports whether the topology keeps fields that others set and the new Cluster lacks.
fn keeps_others(claim: &Claim, before: &Side, after: &Side) -> bool {
    let mut alone = claim.clone();
    alone.others = Value::Null;
    let Some(topology) = get(&claim.others, &["spec", "topology"]) else { return false };
    let theirs = json!({ "spec": { "topology": topology } });
    let cluster = as_applied(&after.cluster, &before.cluster);
    let gone = server_side_apply(&outcome(&alone, before, after), &theirs, &Value::Null, &cluster);
    gone != outcome(claim, before, after)
}

/// Fills in the live namespace, which a file in git may leave to the deployment tool.
pub(super) fn as_applied(cluster: &Value, live: &Value) -> Value {
    let mut cluster = cluster.clone();
    let namespace = text(live, &["metadata", "namespace"]);
    if text(&cluster, &["metadata", "namespace"]).is_empty() && !namespace.is_empty() {
        set(&mut cluster, &["metadata", "namespace"], Value::String(namespace.to_owned()));
    }
    cluster
}
