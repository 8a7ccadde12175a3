//! Requirements for every object before an engine applies it.

use super::{
    Check, Finder, Rule,
    metadata::{self, is_kind},
    object_schema, other_cluster, own_object, text_data,
};
use crate::{
    model::{Label, Subdomain, is_cluster_wide},
    note::At,
    release::group_of,
    render::{Drawn, Object, Target},
    tree::PartId,
    yaml::Node,
};

pub(super) static RULE: Rule = Rule {
    name: "object",
    docs: "An object that no API server accepts (its version, name, labels, annotations or owners), a list of objects, an \
           object for kustomize, or an object in the wrong namespace. The engine would refuse the whole folder, or change \
           objects that belong to other clusters.",
    check: Check::Objects(check),
};

pub(super) const COMPLETE: &str = "an object needs apiVersion, kind and metadata.name, all of them strings";
pub(super) const A_KIND: &str =
    "a kind is one word of letters and digits that starts with a capital letter, such as ConfigMap";
pub(super) const A_NAME: &str = "use at most 253 lower-case letters, digits, dashes and dots (a Namespace or Service: 63, without dots), starting and ending with a letter or digit";

/// The same rule for a cluster's `.d` folder.
pub(super) static OF_CLUSTER: Rule = Rule { check: Check::Cluster(own_object::check), ..RULE };

fn check(drawn: &Drawn, finder: &mut Finder<'_>) {
    for object in drawn.objects.iter().chain(&drawn.embedded) {
        let made_from = object.source.split(" of ").next().unwrap_or_default();
        let source = (object.path.as_str(), made_from);
        if let Some((kind, name)) = check_object(&object.node, source, finder) {
            check_namespace(drawn, object, kind, name, finder);
            check_cluster(drawn, object, kind, finder);
            check_schema(object, finder);
        }
    }
    for object in &drawn.frozen {
        check_object(object, ("cluster-class", "the cluster class"), finder);
    }
}

/// Checks an object by itself, and returns its kind and name if it has them.
fn check_object<'a>(
    node: &'a Node,
    (path, source): (&str, &str),
    finder: &mut Finder<'_>,
) -> Option<(&'a str, &'a str)> {
    let place = finder.place(node, path);
    if let Some((what, hint)) = metadata::is_no_object(node) {
        let place = node.get("kind").map_or(place, |kind| finder.place(kind, path));
        finder.notes.error("object", place, format!("{source} produces {what}")).hint(hint);
        return None;
    }
    let text = |path: &[&str]| node.at(path).and_then(Node::as_str);
    let (Some(_), Some(kind), Some(name)) =
        (text(&["apiVersion"]), text(&["kind"]), text(&["metadata", "name"]))
    else {
        finder
            .notes
            .error("object", place, format!("{source} produces something that is not a Kubernetes object"))
            .hint(COMPLETE);
        return None;
    };
    if !is_kind(kind) {
        let place = node.get("kind").map_or_else(|| place.clone(), |node| finder.place(node, path));
        finder.notes.error("object", place, format!("`{kind}` is not a valid kind")).hint(A_KIND);
        return None;
    }
    if !is_name(kind, name) {
        let at = node.at(&["metadata", "name"]).map_or(place, |name| finder.place(name, path));
        finder
            .notes
            .error("object", at, format!("{kind} `{name}` has a name that no API server accepts"))
            .hint(A_NAME);
    }
    for fault in metadata::faults(node, kind, name).into_iter().chain(text_data::lacking(node, kind, name)) {
        let place = fault.origin.written().map_or_else(|| finder.place(node, path), At::Word);
        finder.notes.error("object", place, fault.message).hint(fault.hint);
    }
    Some((kind, name))
}

/// An object of a cluster in the management cluster belongs to this cluster.
fn check_cluster(drawn: &Drawn, object: &Object, kind: &str, finder: &mut Finder<'_>) {
    let PartId::Cluster { cluster, .. } = &drawn.id else { return };
    if object.target == Target::Workload || object.engines {
        return;
    }
    let group = object.node.get("apiVersion").and_then(Node::as_str).map(group_of).unwrap_or_default();
    for fault in other_cluster::faults(&object.node, group, kind, cluster) {
        let place =
            fault.origin.written().map_or_else(|| finder.place(&object.node, object.path.as_str()), At::Word);
        finder
            .notes
            .error("object", place, fault.message)
            .hint("write `${{ cluster.name }}` into the template");
    }
}

/// An object of a template fits the schema of its kind.
fn check_schema(object: &Object, finder: &mut Finder<'_>) {
    if object.engines {
        return;
    }
    for fault in object_schema::faults(&object.node, true) {
        let place =
            fault.origin.written().map_or_else(|| finder.place(&object.node, object.path.as_str()), At::Word);
        finder.notes.error("object", place, fault.message).hint(fault.hint);
    }
}

fn check_namespace(drawn: &Drawn, object: &Object, kind: &str, name: &str, finder: &mut Finder<'_>) {
    let text = |path: &[&str]| object.node.at(path).and_then(Node::as_str);
    let group = text(&["apiVersion"]).map(group_of).unwrap_or_default();
    // Cluster-scoped kinds need no namespace. Another rule allows or refuses them.
    if is_cluster_wide(group, kind) {
        return;
    }
    let Some(expected) = expected_namespace(drawn, object) else { return };
    let found = text(&["metadata", "namespace"]);
    if found == Some(expected) {
        return;
    }
    let found = found.map_or_else(|| "no namespace".to_owned(), |found| format!("the namespace `{found}`"));
    let at = object.node.at(&["metadata", "namespace"]).or_else(|| object.node.get("metadata"));
    let place = finder.place(at.unwrap_or(&object.node), object.path.as_str());
    finder
        .notes
        .error("object", place, format!("{kind} `{name}` has {found}; it must have the namespace `{expected}`"))
        .hint("write `namespace: ${{ namespace.name }}` into the template's metadata; cluster-wide kinds do not belong here");
}

/// Roles and bindings may contain colons and capitals, and Namespaces and Services have labels of DNS for names; all other
/// names are DNS subdomains.
pub(super) fn is_name(kind: &str, name: &str) -> bool {
    if kind == "Namespace" || kind == "Service" {
        let is_started = kind == "Namespace" || name.starts_with(|c: char| c.is_ascii_lowercase());
        return is_started && Label::new(name).is_ok();
    }
    if is_lenient(kind) {
        return !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '%']);
    }
    Subdomain::new(name).is_ok()
}

/// Whether names of a kind may contain colons and capitals.
pub(super) fn is_lenient(kind: &str) -> bool {
    kind.ends_with("Role")
        || kind.ends_with("RoleBinding")
        || kind == "FlowSchema"
        || kind == "PriorityLevelConfiguration"
}

/// The namespace that an object of a stack must have: that of its part.
fn expected_namespace<'a>(drawn: &'a Drawn, object: &Object) -> Option<&'a str> {
    if object.target == Target::Workload || object.engines {
        return None;
    }
    match &drawn.id {
        PartId::Root | PartId::Release(_) | PartId::Management(_) => None,
        PartId::Namespace { namespace, .. } => {
            let is_namespace = object.node.get("kind").and_then(Node::as_str) == Some("Namespace");
            (!is_namespace).then_some(namespace)
        }
        PartId::Cluster { namespace, .. } => Some(namespace),
    }
}
