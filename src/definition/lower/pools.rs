//! Lowers node pools, and the settings that they share with the control plane.

use std::collections::BTreeMap;

use super::{Lowering, label, removal};
use crate::{
    definition::{self as written, Autoscale},
    model::{
        AUTOSCALER_MAX, AUTOSCALER_MIN, NodePool, PoolKind, RemovalStep, Size, is_label_key, is_label_value,
    },
    note::Notes,
    yaml::{Mapping, Node, Origin},
};

/// Settings that are passed to the topology unchanged.
const SETTINGS: [&str; 8] = [
    "failureDomain",
    "failureDomains",
    "taints",
    "deletion",
    "rollout",
    "minReadySeconds",
    "readinessGates",
    "healthCheck",
];

pub(super) fn settings(context: &Lowering<'_>, node: &Node, notes: &mut Notes) -> Mapping {
    let mut settings = Mapping::new();
    for entry in node.as_mapping().into_iter().flat_map(Mapping::iter) {
        if SETTINGS.contains(&&*entry.key.name) {
            check_filled(context, &entry.key.name, &entry.value, notes);
            settings.insert(entry.key.clone(), entry.value.clone());
        }
    }
    settings
}

/// Rejects empty lists and maps. The API server doesn't accept them, and omitting them would apply the settings of the class
/// instead.
pub(super) fn check_filled(context: &Lowering<'_>, name: &str, value: &Node, notes: &mut Notes) {
    if value.is_empty_collection() {
        notes
            .error("empty-value", context.place(value.origin), format!("`{name}` is {} without entries", value.kind()))
            .hint("remove it, or write `null` to remove what a folder's defaults set: the API server rejects an empty one");
    }
}

pub(super) fn lower_all(
    context: &Lowering<'_>,
    written: &[written::NodePool],
    node: Option<&Node>,
    notes: &mut Notes,
) -> Option<Vec<NodePool>> {
    let mut pools: Vec<NodePool> = Vec::new();
    let mut names: BTreeMap<String, Origin> = BTreeMap::new();
    let mut sound = true;
    for (written, node) in written.iter().zip(node.and_then(Node::as_sequence).unwrap_or_default()) {
        let Some(pool) = lower(context, written, node, notes) else {
            sound = false;
            continue;
        };
        if let Some(first) = names.insert(pool.name.to_string(), pool.origin) {
            let note = notes.error(
                "duplicate",
                context.place(pool.origin),
                format!("there are two node pools `{}`", pool.name),
            );
            note.hint("give one of them another name: machines are named after their pool");
            if let Some(place) = context.place(first) {
                note.related("the other one", place);
            }
        }
        match removal::lower(context, written.removal.as_ref(), node, notes) {
            None => pools.push(pool),
            // The machines are drained and deleted one by one first; until then, the removal can be reverted.
            Some(found) if found.step == RemovalStep::Detach => {
                let none = Node::from(0_i64).with_origin(found.origin);
                pools.push(NodePool { size: Size::Fixed(none), ..pool });
            }
            Some(_) => {}
        }
    }
    sound.then_some(pools)
}

fn lower(
    context: &Lowering<'_>,
    written: &written::NodePool,
    node: &Node,
    notes: &mut Notes,
) -> Option<NodePool> {
    let (name, class) = (node.get("name")?, node.get("class")?);
    let place = context.place(name.origin);
    let kind = match written.kind {
        Some(written::PoolKind::MachinePool) => PoolKind::MachinePool,
        Some(written::PoolKind::MachineDeployment) | None => PoolKind::MachineDeployment,
    };
    let label = label(&written.name, "the node pool", place, notes);
    let size = size(context, written, node, notes);
    check_kind(context, node, kind, notes);
    let labels = metadata(context, node.get("labels"), true, notes);
    let annotations = metadata(context, node.get("annotations"), false, notes);
    if written.autoscale.is_some() {
        check_bounds(context, node.get("annotations"), notes);
    }
    Some(NodePool {
        name: label?,
        origin: name.origin,
        class: written.class.clone(),
        class_origin: class.origin,
        kind,
        size: size?,
        labels: labels?,
        annotations: annotations?,
        variables: node.get("variables").and_then(Node::as_mapping).cloned().unwrap_or_default(),
        settings: settings(context, node, notes),
    })
}

/// Rejects annotations for the limits of the autoscaler, which `autoscale` would overwrite.
fn check_bounds(context: &Lowering<'_>, annotations: Option<&Node>, notes: &mut Notes) {
    for entry in annotations.and_then(Node::as_mapping).into_iter().flat_map(Mapping::iter) {
        if matches!(&*entry.key.name, AUTOSCALER_MIN | AUTOSCALER_MAX) {
            notes
                .error(
                    "replicas",
                    context.place(entry.key.origin),
                    format!("`autoscale` writes the annotation `{}`", entry.key.name),
                )
                .hint("remove the annotation: `min` and `max` set it");
        }
    }
}

fn size(context: &Lowering<'_>, written: &written::NodePool, node: &Node, notes: &mut Notes) -> Option<Size> {
    let origin = node.get("autoscale").map_or(node.origin, |autoscale| autoscale.origin);
    match (node.get("replicas"), written.autoscale) {
        (Some(_), Some(_)) => {
            notes
                .error("replicas", context.place(origin), "a pool has either `replicas` or `autoscale`")
                .hint("Cluster API refuses both: the autoscaler and git would fight over the number");
            None
        }
        (None, Some(Autoscale { min, max })) => {
            if min > max {
                notes
                    .error(
                        "replicas",
                        context.place(origin),
                        format!("the pool has a minimum of {min} but a maximum of {max} machines"),
                    )
                    .hint("`max` must not be less than `min`");
                return None;
            }
            Some(Size::Autoscaled { min, max, origin })
        }
        (Some(replicas), None) => Some(Size::Fixed(replicas.clone())),
        (None, None) => Some(Size::Unset),
    }
}

/// Rejects settings that Cluster API's topology doesn't support for this kind of pool.
fn check_kind(context: &Lowering<'_>, node: &Node, kind: PoolKind, notes: &mut Notes) {
    let (words, unknown): (_, &[&[&str]]) = match kind {
        PoolKind::MachineDeployment => ("machine deployment", &[&["failureDomains"]]),
        PoolKind::MachinePool => (
            "machine pool",
            &[
                &["failureDomain"],
                &["healthCheck"],
                &["readinessGates"],
                &["rollout"],
                &["deletion", "order"],
            ],
        ),
    };
    for path in unknown {
        if let Some(found) = node.at(path) {
            let note = notes.error(
                "pool-kind",
                context.place(found.origin),
                format!("a {words} has no `{}`", path.join(".")),
            );
            match path[0] {
                "failureDomains" => {
                    note.hint("a machine deployment has one `failureDomain`: define a pool for each domain")
                }
                "failureDomain" => note.hint("a machine pool has `failureDomains`, a list"),
                _ => note.hint("remove it: Cluster API's topology does not support it for machine pools"),
            };
        }
    }
}

/// Validates labels or annotations by the rules of the API server.
pub(super) fn metadata(
    context: &Lowering<'_>,
    node: Option<&Node>,
    labels: bool,
    notes: &mut Notes,
) -> Option<Mapping> {
    let Some(mapping) = node.and_then(Node::as_mapping) else { return Some(Mapping::new()) };
    let mut sound = true;
    for entry in mapping.iter() {
        if !is_label_key(&entry.key.name) {
            sound = false;
            notes
                .error("wrong-label", context.place(entry.key.origin), format!("`{}` is not a valid key for a label or annotation", entry.key.name))
                .hint("write it as `name` or `prefix.example.org/name`; the name has at most 63 letters, digits, `-`, `_` and `.`");
        }
        let value = entry.value.as_str().unwrap_or_default();
        if labels && !is_label_value(value) {
            sound = false;
            notes
                .error("wrong-label", context.place(entry.value.origin), format!("`{value}` is not a valid label value"))
                .hint("it has at most 63 letters, digits, `-`, `_` and `.`, and begins and ends with a letter or digit; annotations take any text");
        }
    }
    sound.then(|| mapping.clone())
}
