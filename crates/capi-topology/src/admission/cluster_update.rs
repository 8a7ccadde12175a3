//! Checks of the Cluster webhook when a Cluster changes: its version and its class.
//!
//! Source: `validateTopology` and `validateTopologyVersionUpdate` of
//! `core/webhooks/admission/cluster.go`.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::compatibility;
use crate::class::{Catalog, class_key};
use crate::contract::Contract;
use crate::refusal::{ErrorType, FieldError};
use crate::role::{PoolKind, TopologyPart};
use crate::state::{Desired, Worker};
use crate::upgrade::tracker::{is_provisioning, is_upgrading};
use crate::upgrade::version::Version;
use k8s_schema::value::{get, list, map, present, text};

const VERSION: &str = "spec.topology.version";
const CLASS: &str = "spec.topology.class";
/// The annotation with which Cluster API takes any version of a Cluster.
pub const UNSAFE_VERSION: &str = "unsafe.topology.cluster.x-k8s.io/disable-update-version-check";
/// The annotation with the hooks that still have to be called, or that are still blocking.
pub(crate) const PENDING_HOOKS: &str = "runtime.cluster.x-k8s.io/pending-hooks";
const AFTER_UPGRADE: &str = "AfterClusterUpgrade";
/// The annotation that allows a Cluster without a class to get one.
pub(crate) const UNSAFE_CLASS: &str = "unsafe.topology.cluster.x-k8s.io/disable-update-class-name-check";

/// Refuses to remove a Cluster from its class.
pub(crate) fn released(new: &Value) -> Option<FieldError> {
    let detail = "cannot be removed from an existing Cluster";
    present(new, &["spec", "topology"]).is_none().then(|| FieldError::forbidden("spec.topology", detail))
}

/// Refuses to give an existing Cluster its first class.
pub(crate) fn adopted(new: &Value) -> Option<FieldError> {
    let detail = "classRef cannot be set on an existing Cluster";
    (!has_annotation(new, UNSAFE_CLASS)).then(|| FieldError::forbidden(CLASS, detail))
}

fn has_annotation(cluster: &Value, name: &str) -> bool {
    map(cluster, &["metadata", "annotations"]).is_some_and(|all| all.contains_key(name))
}

/// Checks an update of a Cluster against the running objects, and against parts that still have machines at another
/// version.
pub(crate) fn validate(
    new: &Value,
    old: &Value,
    running: (&Desired, &BTreeSet<TopologyPart>),
    catalog: &Catalog,
) -> Vec<FieldError> {
    let Some(class) = catalog.class_of(new) else {
        let detail = format!("ClusterClass {} not found", class_key(new).1);
        return vec![FieldError::new(ErrorType::Internal, CLASS, detail)];
    };
    if get(old, &["spec", "topology"]).is_none() {
        return adopted(new).into_iter().collect();
    }
    let mut errors = Vec::new();
    if !has_annotation(new, UNSAFE_VERSION) {
        errors.extend(validate_version(new, old, running, class));
    }
    if class_key(old) != class_key(new) {
        if let Some(before) = catalog.class_of(old) {
            errors.extend(compatibility::classes(before, class));
        } else {
            let name = class_key(old).1;
            let detail = format!("valid ClusterClass with name {name:?} could not be retrieved");
            errors.push(FieldError::forbidden(CLASS, detail));
        }
    }
    errors
}

/// Why the Cluster webhook refuses another version, whatever runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionRefusal {
    /// The version is older.
    Decreased,
    /// The version skips a minor version, and the class does not plan upgrades.
    SkipsMinor,
}

/// Judges a change of `spec.topology.version` of a Cluster without [`UNSAFE_VERSION`], as far as the result does not depend on
/// running objects. None if it is not refused, or if a version is invalid. `planned` is whether its class plans upgrades.
pub fn version_refusal(before: &str, after: &str, planned: bool) -> Option<VersionRefusal> {
    refused_version(&Version::tolerant(before)?, &Version::tolerant(after)?, planned)
}

fn refused_version(current: &Version, wanted: &Version, planned: bool) -> Option<VersionRefusal> {
    let bare = wanted.without_pre_release();
    if bare.compare(&current.without_pre_release()) == Ordering::Less {
        return Some(VersionRefusal::Decreased);
    }
    let skips = !planned && bare.compare(&current.ceiling()) != Ordering::Less;
    skips.then_some(VersionRefusal::SkipsMinor)
}

/// Whether a class plans upgrades over several minor versions.
pub fn plans_upgrades(class: &Value) -> bool {
    !list(class, &["spec", "kubernetesVersions"]).is_empty()
        || !text(class, &["spec", "upgrade", "external", "generateUpgradePlanExtension"]).is_empty()
}

fn validate_version(
    new: &Value,
    old: &Value,
    running: (&Desired, &BTreeSet<TopologyPart>),
    class: &Value,
) -> Vec<FieldError> {
    let path = ["spec", "topology", "version"];
    let wrong = |detail: &str| FieldError::invalid(VERSION, detail);
    let (Some(wanted), Some(current)) =
        (Version::tolerant(text(new, &path)), Version::tolerant(text(old, &path)))
    else {
        return vec![wrong("version must be a valid semantic version")];
    };
    if wanted.to_string() == current.to_string() {
        return Vec::new();
    }
    match refused_version(&current, &wanted, plans_upgrades(class)) {
        Some(VersionRefusal::Decreased) => {
            return vec![wrong(&format!("version cannot be decreased from \"{current}\" to \"{wanted}\""))];
        }
        Some(VersionRefusal::SkipsMinor) => {
            return vec![wrong(&format!("version cannot be increased from \"{current}\" to \"{wanted}\""))];
        }
        None => {}
    }
    let hooks = text(new, &["metadata", "annotations", PENDING_HOOKS]);
    if hooks.split(',').any(|hook| hook == AFTER_UPGRADE) {
        let detail = format!("version cannot be changed when the {AFTER_UPGRADE:?} hook is still blocking");
        return vec![wrong(&detail)];
    }
    let blocking = unstable(running, &current);
    if blocking.is_empty() {
        Vec::new()
    } else {
        vec![wrong(&format!("version cannot be changed: {}", blocking.join(", ")))]
    }
}

/// Lists the parts that have not reached the previous version yet.
fn unstable((running, upgrading): (&Desired, &BTreeSet<TopologyPart>), version: &Version) -> Vec<String> {
    let at = |text: &str| Version::tolerant(text).is_some_and(|one| one.to_string() == version.to_string());
    let mut reasons = Vec::new();
    let control_plane = &running.control_plane;
    if !at(text(control_plane, Contract::VERSION)) {
        reasons.push("the version was not propagated to control plane yet".to_owned());
    } else if is_provisioning(control_plane) {
        reasons.push("control plane is currently provisioning".to_owned());
    } else if is_upgrading(control_plane) || upgrading.contains(&TopologyPart::ControlPlane) {
        reasons.push("control plane is still completing a previous upgrade".to_owned());
    }
    for kind in PoolKind::ALL {
        let is_late = |one: &&Arc<Worker>| {
            !at(text(&one.object, &["spec", "template", "spec", "version"]))
                || upgrading.contains(&TopologyPart::pool(kind, &one.name))
        };
        let late = running.workers(kind).iter().filter(is_late);
        let late: Vec<&str> = late.map(|one| text(&one.object, &["metadata", "name"])).collect();
        if !late.is_empty() {
            reasons.push(format!(
                "there are still {}s completing a previous upgrade: [{}]",
                kind.as_str(),
                late.join(", ")
            ));
        }
    }
    reasons
}
