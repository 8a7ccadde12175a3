//! Reports the objects of a cluster that Cluster API does not create: addons, the stack's objects next to the Cluster, and
//! the Cluster object as written.

use super::{
    Background,
    change::{Change, Effect, Revert, Subject},
    risk::Risk,
};
use crate::{
    compare::{
        AddonChange, Address, ClusterChange, FieldChange, FieldPath, ObjectChange, ObjectChangeKind,
        PathSegment, Section,
    },
    model::ClusterId,
    render,
};

/// The API group of objects that grant permissions.
const RIGHTS: &str = "rbac.authorization.k8s.io";

/// Adds the changes of these objects.
pub(super) fn add(found: &ClusterChange, background: &Background, changes: &mut Vec<Change>) {
    for addon in &found.addons {
        changes.push(of_addon(addon, found, background));
    }
    for object in &found.objects {
        if object.address.is_cluster() && object.section == Section::Cluster {
            changes.extend(of_cluster(object));
        } else if is_marker(object, &found.cluster) {
            let subject = Subject::Object(object.section.clone(), object.address.clone());
            let effect = match &object.kind {
                ObjectChangeKind::Added => Effect::Added,
                ObjectChangeKind::Removed => Effect::Removed,
                ObjectChangeKind::Changed(_) => Effect::Changed,
            };
            changes.push(Change::new(subject, effect, Risk::Metadata, Revert::Undoes));
        } else if !is_reported(object, found) {
            changes.push(of_object(object));
        }
    }
}

/// Whether an object only keeps the folder of a cluster from being empty, while its Cluster object is deleted.
pub(super) fn is_marker(object: &ObjectChange, cluster: &ClusterId) -> bool {
    object.section == Section::Cluster
        && object.address.kind == "ConfigMap"
        && object.address.name == format!("{}.cluster", cluster.name)
}

/// Whether the change of an addon already covers the change of an object.
fn is_reported(object: &ObjectChange, found: &ClusterChange) -> bool {
    if object.is_list_of_addons(&found.cluster) {
        return !found.addons.is_empty();
    }
    let Some(name) = object.addon(&found.cluster) else { return false };
    let addon = found.addons.iter().find(|addon| addon.name == name);
    match object.section {
        // Permissions added or removed along with an addon are shown anyway.
        Section::Manifests(_) => {
            addon.is_some_and(|addon| addon.before.is_none() || addon.after.is_none())
                && object.address.group != RIGHTS
        }
        _ => addon.is_some(),
    }
}

/// Adds the Secrets that the cluster did not refer to before.
pub(super) fn add_secrets(found: &ClusterChange, changes: &mut Vec<Change>) {
    for ((namespace, name), who) in &found.secrets {
        let (namespace, name) = (namespace.clone(), name.clone());
        let address = Address { group: String::new(), kind: "Secret".to_owned(), namespace, name };
        let subject = Subject::Object(Section::Cluster, address);
        let mut change = Change::new(subject, Effect::Needed, Risk::InPlace, Revert::Undoes);
        change.reasons.extend(who.iter().map(|who| format!("{who} refers to it")));
        changes.push(change);
    }
}

fn of_addon(addon: &AddonChange, found: &ClusterChange, background: &Background) -> Change {
    let is_own = |object: &&ObjectChange| object.addon(&found.cluster).as_deref() == Some(&*addon.name);
    let own: Vec<&ObjectChange> = found.objects.iter().filter(is_own).collect();
    let [before, after] =
        [&found.before, &found.after].map(|side| side.as_ref().and_then(|facts| facts.release.as_deref()));
    // The release of the side that has the addon tells.
    let releases = if addon.after.is_none() { [before, after] } else { [after, before] };
    let needed = releases.into_iter().flatten().find_map(|release| background.needed(release, &addon.name));
    let (risk, revert) = match (&addon.before, &addon.after) {
        (None, _) if needed == Some(false) => (Risk::InPlace, Revert::Undoes),
        (None, _) => (Risk::InPlace, Revert::NeedsRemoval),
        (_, None) => (Risk::Deletes, Revert::CreatesNew),
        (before, after) if before != after => (Risk::Restarts, Revert::Unknown),
        _ if !own.is_empty() && addon.values.is_empty() && own.iter().all(|object| is_suspension(object)) => {
            (Risk::InPlace, Revert::Undoes)
        }
        _ if own.iter().all(|object| is_metadata(object)) && addon.values.is_empty() => {
            (Risk::Metadata, Revert::Undoes)
        }
        _ => (Risk::Restarts, Revert::Restarts),
    };
    let mut change = Change::new(
        Subject::Addon(addon.name.clone()),
        Effect::Addon { before: addon.before.clone(), after: addon.after.clone(), needed },
        risk,
        revert,
    );
    let mut differ: Vec<_> = addon.values.iter().map(|field| below("values", field)).collect();
    for object in own.iter().filter(|object| object.section == Section::Installers) {
        if let ObjectChangeKind::Changed(fields) = &object.kind {
            let is_value =
                |field: &&FieldChange| render::addon_values_at().any(|values| field.path.is_below(values));
            differ.extend(fields.iter().filter(|field| !is_value(field)).cloned());
        }
    }
    change.fields = differ.into();
    change.content = own.iter().map(|object| &*object.content).collect();
    let has_values =
        |field: &FieldChange| render::addon_values_at().any(|values| field.path.is_above(values));
    if addon.values.is_empty() && change.fields.iter().any(has_values) {
        change.reasons.push("its values are unchanged, but kept in another place".to_owned());
    }
    if addon.after.is_none() && own.iter().any(|object| matches!(object.section, Section::Values(_))) {
        change.reasons.push(HOOKS.to_owned());
    }
    // The addons of a cluster in removal rest, so nothing is uninstalled from it.
    let leaves = found.after.as_ref().is_some_and(|facts| facts.removal.is_some());
    if !leaves && own.iter().any(|object| loses_protection(object)) {
        change.reasons.push(UNPROTECTED.to_owned());
    }
    change
}

/// What it means for a chart that its values leave git together with the object that installs it.
const HOOKS: &str = "its values leave git in the same commit, so deletion hooks of its chart, if any, do not run: see docs/deliveries.md";

/// What it means that an engine no longer keeps an object that installs an addon.
const UNPROTECTED: &str =
    "nothing protects it from deletion any more: as soon as it leaves git, it is uninstalled";

/// Whether the engine kept an object that left git, and does not any more.
fn loses_protection(object: &ObjectChange) -> bool {
    let ObjectChangeKind::Changed(fields) = &object.kind else { return false };
    let is_kept = |field: &FieldChange, value: &Option<serde_json::Value>| match value {
        Some(serde_json::Value::Object(all)) => {
            all.iter().any(|(name, value)| render::is_protection(name, value.as_str().unwrap_or_default()))
        }
        Some(serde_json::Value::String(value)) => match field.path.0.last() {
            Some(PathSegment::Key(name)) => render::is_protection(name, value),
            _ => false,
        },
        _ => false,
    };
    let mut annotations = fields.iter().filter(|field| field.path.is_below(&["metadata", "annotations"]));
    object.section == Section::Installers
        && annotations.any(|field| is_kept(field, &field.before) && !is_kept(field, &field.after))
}

fn below(key: &str, field: &FieldChange) -> FieldChange {
    let steps = [PathSegment::Key(key.to_owned())].into_iter().chain(field.path.0.iter().cloned());
    FieldChange { path: FieldPath(steps.collect()), ..field.clone() }
}

/// Whether an engine stops looking at what an object installs, and nothing else changes.
fn is_suspension(object: &ObjectChange) -> bool {
    let ObjectChangeKind::Changed(fields) = &object.kind else { return false };
    let suspends =
        |field: &FieldChange| render::is_suspension(|path| field.path.is_below(path), field.after.as_ref());
    object.section == Section::Installers
        && fields.iter().any(suspends)
        && fields.iter().all(|field| suspends(field) || is_upkeep(object, field))
}

fn is_metadata(object: &ObjectChange) -> bool {
    match &object.kind {
        ObjectChangeKind::Changed(fields) => fields.iter().all(|field| is_upkeep(object, field)),
        ObjectChangeKind::Added | ObjectChangeKind::Removed => false,
    }
}

/// Whether a field of an object says nothing about what it is, or installs.
fn is_upkeep(object: &ObjectChange, field: &FieldChange) -> bool {
    let is_about_deletion = || render::is_about_deletion(|path| field.path.is_below(path));
    is_label(field) || object.section == Section::Installers && is_about_deletion()
}

/// Whether a field is one of the object's own labels or annotations.
fn is_label(field: &FieldChange) -> bool {
    field.path.is_below(&["metadata", "labels"]) || field.path.is_below(&["metadata", "annotations"])
}

/// Reports the Cluster object as written. Fields that Cluster API never acts on become a change of their own.
fn of_cluster(object: &ObjectChange) -> Vec<Change> {
    let ObjectChangeKind::Changed(fields) = &object.kind else { return Vec::new() };
    let is_ignored = |field: &&FieldChange| field.path.is_below(&["spec", "clusterNetwork"]);
    let (ignored, fields): (Vec<&FieldChange>, Vec<&FieldChange>) = fields.iter().partition(is_ignored);
    let change = |effect, risk, fields: Vec<&FieldChange>| Change {
        fields: fields.into_iter().cloned().collect(),
        ..Change::new(Subject::Cluster, effect, risk, Revert::Undoes)
    };
    let mut changes = Vec::new();
    if !fields.is_empty() {
        let is_plain = fields.iter().all(|field| is_label(field));
        // The verdicts say what the fields mean for machines.
        let risk = if is_plain { Risk::Metadata } else { Risk::InPlace };
        let moves = fields.iter().any(|field| field.path.is_below(&["spec", "controlPlaneEndpoint"]));
        let mut change = change(Effect::Changed, risk, fields);
        if moves {
            (change.risk, change.revert) = (Risk::Unknown, Revert::Unknown);
            change.reasons.push(ENDPOINT.to_owned());
        }
        changes.push(change);
    }
    if !ignored.is_empty() {
        let mut change = change(Effect::Ignored, Risk::Unknown, ignored);
        let reason = "Cluster API accepts a new cluster network and does not apply it to what runs; whether later machines \
                      still fit is not known";
        change.reasons.push(reason.to_owned());
        changes.push(change);
    }
    changes
}

/// What it means that the address of the API server changes.
///
/// Source: `bootstrap/kubeadm/reconcilers/kubeadmconfig/kubeadmconfig_controller.go`, which reads it for each machine that joins.
const ENDPOINT: &str = "machines that run keep the former address of the API server, and machines that join later use the new \
                        one; whether it leads to the same cluster is not known";

fn of_object(object: &ObjectChange) -> Change {
    let is_workload = matches!(object.section, Section::Manifests(_) | Section::Installers);
    let acts = acts_on_machines(object);
    let (effect, risk, revert) = match &object.kind {
        ObjectChangeKind::Added if acts => (Effect::Added, Risk::Unknown, Revert::Unknown),
        ObjectChangeKind::Added => (Effect::Added, Risk::InPlace, Revert::Undoes),
        ObjectChangeKind::Removed => (Effect::Removed, Risk::Deletes, Revert::CreatesNew),
        ObjectChangeKind::Changed(_) if is_metadata(object) => {
            (Effect::Changed, Risk::Metadata, Revert::Undoes)
        }
        ObjectChangeKind::Changed(_) if acts => (Effect::Changed, Risk::Unknown, Revert::Unknown),
        ObjectChangeKind::Changed(_) if is_workload => (Effect::Changed, Risk::Restarts, Revert::Restarts),
        ObjectChangeKind::Changed(_) => (Effect::Changed, Risk::InPlace, Revert::Undoes),
    };
    let subject = Subject::Object(object.section.clone(), object.address.clone());
    let mut change = Change::new(subject, effect, risk, revert);
    change.grants = grants(&object.address);
    if risk == Risk::Unknown {
        change.reasons.push(NOT_PREDICTED.to_owned());
    }
    change.content.clone_from(&object.content);
    if let ObjectChangeKind::Changed(fields) = &object.kind {
        change.fields = fields.as_slice().into();
    }
    change
}

const NOT_PREDICTED: &str = "Cluster API acts on it, and what that does to machines is not predicted";

/// Whether Cluster API or a provider may replace or delete machines because of an object next to the Cluster. A new template
/// does nothing until something refers to it.
fn acts_on_machines(object: &ObjectChange) -> bool {
    let is_template = object.address.kind.ends_with("Template") && object.kind == ObjectChangeKind::Added;
    object.section == Section::Cluster
        && !object.address.is_cluster()
        && !is_template
        && is_of_machines(&object.address.group)
}

/// Whether Cluster API's controllers, or those of a provider, manage machines by objects of an API group.
pub(super) fn is_of_machines(group: &str) -> bool {
    const GROUP: &str = "cluster.x-k8s.io";
    let kinds = ["infrastructure.", "bootstrap.", "controlplane."];
    group == GROUP || kinds.iter().any(|kind| group.strip_prefix(kind) == Some(GROUP))
}

/// Names the objects of a new cluster whose effect on its machines is not predicted.
pub(super) fn act(objects: &[ObjectChange], change: &mut Change) {
    let acting = objects.iter().filter(|object| acts_on_machines(object));
    let named: Vec<String> = acting.map(|object| object.address.to_string()).collect();
    if !named.is_empty() {
        change.risk = change.risk.max(Risk::Unknown);
        change.reasons.push(format!("{}: {NOT_PREDICTED}", named.join(", ")));
    }
}

/// Names the objects of a new cluster that grant permissions.
pub(super) fn grant(objects: &[ObjectChange], change: &mut Change) {
    let named: Vec<String> = objects
        .iter()
        .filter(|object| grants(&object.address))
        .map(|object| Subject::Object(object.section.clone(), object.address.clone()).words())
        .collect();
    if !named.is_empty() {
        change.grants = true;
        change.reasons.push(format!("these objects grant rights: {}", named.join(", ")));
    }
}

/// Whether an object grants permissions.
pub(super) fn grants(address: &Address) -> bool {
    address.group == RIGHTS || address.kind == "ServiceAccount" && address.group.is_empty()
}
