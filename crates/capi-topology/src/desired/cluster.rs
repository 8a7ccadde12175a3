//! The infrastructure cluster, and the Cluster with its references.

use serde_json::{Value, json};

use super::Input;
use super::templates::{Copy, object, reference};
use crate::contract::{CLUSTER_NAME, OWNED, UPGRADE_STEP};
use crate::names::{Named, from_template};
use crate::state::Desired;
use crate::upgrade::tracker::Tracker;
use k8s_schema::value::{map, remove, set, text};

/// The infrastructure cluster.
pub(crate) fn infrastructure(input: &Input<'_>) -> Result<Value, String> {
    let naming = text(&input.blueprint.class, &["spec", "infrastructure", "naming", "template"]);
    let current = text(&input.cluster, &["spec", "infrastructureRef", "name"]);
    let cluster_name = text(&input.cluster, &["metadata", "name"]);
    let name = match current {
        "" => from_template(naming, cluster_name, Named::Cluster, input.draw)?,
        current => current.to_owned(),
    };
    Ok(object(&input.blueprint.infrastructure, Copy::new(&input.cluster, name)))
}

/// Turns the admitted Cluster into the desired one.
pub(crate) fn complete(cluster: &mut Value, desired: &Desired, tracker: &Tracker) {
    remove(cluster, &["status"]);
    let name = text(cluster, &["metadata", "name"]).to_owned();
    set(cluster, &["metadata", "labels", CLUSTER_NAME], json!(name));
    set(cluster, &["metadata", "labels", OWNED], json!(""));
    set(cluster, &["spec", "infrastructureRef"], reference(&desired.infrastructure));
    set(cluster, &["spec", "controlPlaneRef"], reference(&desired.control_plane));
    if tracker.is_upgrading() {
        let version = text(&desired.control_plane, &["spec", "version"]);
        set(cluster, &["metadata", "annotations", UPGRADE_STEP], json!(version));
    } else {
        remove(cluster, &["metadata", "annotations", UPGRADE_STEP]);
    }
    if map(cluster, &["metadata", "annotations"]).is_some_and(serde_json::Map::is_empty) {
        remove(cluster, &["metadata", "annotations"]);
    }
}
