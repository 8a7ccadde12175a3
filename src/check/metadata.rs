//! The API server's requirements for every object: its version, labels, annotations and owners.
//!
//! The rules come from apimachinery's `ValidateObjectMeta` and from the types `ObjectMeta` and `TypeMeta`.

use super::{served_kind, text_data};
use crate::{
    model::{Label, Subdomain, cluster_wide_kinds, is_cluster_wide, is_label_key, is_label_value},
    release::{group_of, namespaced_kinds},
    yaml::{Entry, Mapping, Node, Origin},
};

/// The maximum total size of an object's annotations in bytes, keys and values.
const ANNOTATIONS: usize = 256 * 1024;
/// Kinds that create other objects from a template with its own metadata.
const WITH_TEMPLATE: [&str; 7] =
    ["DaemonSet", "Deployment", "Job", "PodTemplate", "ReplicaSet", "ReplicationController", "StatefulSet"];

/// The fields of `ObjectMeta`. A server-side apply with any other field is refused.
const FIELDS: [&str; 15] = [
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "labels",
    "managedFields",
    "name",
    "namespace",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// Fields that only the API server writes. An apply that sets them fails, now or once the object has changed.
const SERVER_FIELDS: [(&str, &str); 3] = [
    ("managedFields", "remove `managedFields`: only the API server writes this field"),
    (
        "resourceVersion",
        "remove `resourceVersion`: only the API server writes this field, and refuses any other value",
    ),
    ("uid", "remove `uid`: only the API server writes this field, and refuses any other value"),
];

type Form = (&'static str, fn(&Node) -> bool, &'static str, &'static str);

/// The forms of other fields that objects copied from a cluster bring along.
const FORMS: [Form; 6] = [
    ("creationTimestamp", is_time, "a time such as `2026-01-01T10:00:00Z`", REMOVE),
    ("deletionGracePeriodSeconds", is_integer, "a number of seconds", REMOVE),
    ("deletionTimestamp", is_time, "a time such as `2026-01-01T10:00:00Z`", REMOVE),
    ("generateName", is_text, "text", "remove it: an object here has a `name`"),
    ("generation", is_integer, "a number", REMOVE),
    ("selfLink", is_text, "text", REMOVE),
];
const REMOVE: &str = "remove it: only the API server writes this field";
const OF_OWNERS: [&str; 4] = ["apiVersion", "kind", "name", "uid"];
const FLAGS_OF_OWNERS: [&str; 2] = ["controller", "blockOwnerDeletion"];

fn is_text(node: &Node) -> bool {
    node.as_str().is_some()
}

fn is_integer(node: &Node) -> bool {
    node.as_int().is_some()
}

fn is_time(node: &Node) -> bool {
    node.as_str().is_some_and(|text| chrono::DateTime::parse_from_rfc3339(text).is_ok())
}

/// Whether Kubernetes itself serves a group; the server checks finalizers of its objects more strictly.
fn is_built_in(group: &str) -> bool {
    const GROUPS: [&str; 5] = [
        "coordination.k8s.io",
        "networking.k8s.io",
        "rbac.authorization.k8s.io",
        "scheduling.k8s.io",
        "storage.k8s.io",
    ];
    !group.contains('.') || GROUPS.contains(&group)
}

pub(super) const A_LABEL_KEY: &str =
    "write `<name>` or `<domain>/<name>`; the name has at most 63 letters, digits, `-`, `_` and `.`";
pub(super) const A_LABEL_VALUE: &str = "use at most 63 letters, digits, `-`, `_` and `.`, starting and ending with a letter or digit; an annotation can hold any text";

/// The API group of kustomize's own objects.
pub(super) const KUSTOMIZE: &str = "kustomize.config.k8s.io";

/// A violation of the API server's requirements.
#[derive(Debug)]
pub(super) struct Violation {
    pub(super) origin: Origin,
    pub(super) message: String,
    pub(super) hint: &'static str,
}

/// Reports everything in an object that the API server refuses or that would bypass the checks.
pub(super) fn faults(object: &Node, kind: &str, name: &str) -> Vec<Violation> {
    let mut faults = Vec::new();
    let version = object.get("apiVersion").unwrap_or(object);
    if let Some(text) = version.as_str().filter(|text| !is_version(text)) {
        faults.push(Violation {
            origin: version.origin,
            message: format!("`{text}` is not an apiVersion"),
            hint: "write `<group>/<version>`, or `v1` for the core: apps/v1, cluster.x-k8s.io/v1beta2",
        });
    }
    let group = version.as_str().map(group_of).unwrap_or_default();
    if let Some(right) = right_spelling(group, kind) {
        faults.push(Violation {
            origin: object.get("kind").unwrap_or(object).origin,
            message: format!("`{kind}` is not a kind: it is written `{right}`"),
            hint: "correct it: the API server knows each kind in one spelling only",
        });
    } else if faults.is_empty() {
        faults.extend(served_kind::fault(object, kind));
    }
    let what = format!("{kind} `{name}`");
    if let Some(metadata) = object.get("metadata") {
        of_metadata(&what, metadata, is_built_in(group), &mut faults);
    }
    let namespace = object.at(&["metadata", "namespace"]);
    if let Some(namespace) = namespace.filter(|_| is_cluster_wide(group, kind)) {
        faults.push(Violation {
            origin: namespace.origin,
            message: format!("{what} has a namespace, but its kind is cluster-wide"),
            hint: "remove `namespace`: objects of this kind belong to the whole cluster",
        });
    }
    let makes_others = WITH_TEMPLATE.contains(&kind) || kind.ends_with("Template");
    if let Some(metadata) = object.at(&["spec", "template", "metadata"]).filter(|_| makes_others) {
        of_labels(&what, metadata, &mut faults);
    }
    faults.extend(text_data::faults(object, kind, name));
    faults
}

/// Recognizes lists of objects, and objects intended for kustomize rather than an API server.
pub(super) fn is_no_object(object: &Node) -> Option<(&'static str, &'static str)> {
    let text = |key| object.get(key).and_then(Node::as_str).unwrap_or_default();
    let (kind, group) = (text("kind"), group_of(text("apiVersion")));
    let of_kubernetes = !group.contains('.') || group.ends_with(".k8s.io");
    if kind == "List" || kind.ends_with("List") && (of_kubernetes || object.get("items").is_some()) {
        return Some((
            "a list of objects, which the checks cannot inspect",
            "write each object as a document of its own, with `---` between them",
        ));
    }
    (group == KUSTOMIZE).then_some((
        "an object for kustomize, which changes how the engine builds the whole folder",
        "remove it, or write out the objects that it would build",
    ))
}

/// The spelling of a known kind that differs only in its case.
fn right_spelling(group: &str, kind: &str) -> Option<&'static str> {
    let mut known = namespaced_kinds(group).chain(cluster_wide_kinds(group));
    known.find(|known| known.eq_ignore_ascii_case(kind) && *known != kind && is_kind(kind))
}

/// Whether a kind is one word of letters and digits that starts with a capital letter.
pub(super) fn is_kind(kind: &str) -> bool {
    kind.starts_with(|c: char| c.is_ascii_uppercase()) && kind.chars().all(|c| c.is_ascii_alphanumeric())
}

/// `<group>/<version>`, or a version of the core.
fn is_version(text: &str) -> bool {
    let (group, version) =
        text.split_once('/').map_or((None, text), |(group, version)| (Some(group), version));
    let group = group.is_none_or(|group| Subdomain::new(group).is_ok());
    group && Label::new(version).is_ok() && version.starts_with(|c: char| c.is_ascii_lowercase())
}

fn of_metadata(what: &str, metadata: &Node, built_in: bool, faults: &mut Vec<Violation>) {
    let Some(mapping) = metadata.as_mapping() else {
        let message = format!("the metadata of {what} is {}", metadata.kind());
        return faults.push(Violation { origin: metadata.origin, message, hint: "write a map" });
    };
    for entry in mapping.iter().filter(|entry| !FIELDS.contains(&entry.key.name.as_ref())) {
        faults.push(Violation {
            origin: entry.key.origin,
            message: format!("the metadata of {what} has no field `{}`", shortened(&entry.key.name)),
            hint: "set `name`, `namespace`, `labels` or `annotations` there",
        });
    }
    let mut wrong =
        |node: &Node, message: String, hint| faults.push(Violation { origin: node.origin, message, hint });
    if let Some(namespace) =
        mapping.get("namespace").filter(|node| node.as_str().is_none_or(|text| Label::new(text).is_err()))
    {
        wrong(
            namespace,
            format!("the namespace of {what} is not a name"),
            "write a DNS label; quote it if it looks like a number",
        );
    }
    for (field, hint) in SERVER_FIELDS {
        if let Some(value) = mapping.get(field).filter(|node| !node.is_null()) {
            wrong(value, format!("{what} sets `{field}`"), hint);
        }
    }
    for (field, is_right, expected, hint) in FORMS {
        if let Some(value) = mapping.get(field).filter(|node| !node.is_null() && !is_right(node)) {
            wrong(value, format!("`{field}` in the metadata of {what} must be {expected}"), hint);
        }
    }
    if let Some(owners) = mapping.get("ownerReferences").filter(|node| !node.is_null() && !are_owners(node)) {
        wrong(
            owners,
            format!(
                "the `ownerReferences` of {what} are not a list of owners, each with `apiVersion`, `kind`, `name` and `uid`"
            ),
            "remove them: only a controller knows the `uid` of an owner",
        );
    }
    if let Some(finalizers) = mapping.get("finalizers").filter(|node| !node.is_null()) {
        let is_finalizer = |one: &Node| one.as_str().is_some_and(|text| is_finalizer(text, built_in));
        if !finalizers.as_sequence().is_some_and(|list| list.iter().all(is_finalizer)) {
            wrong(
                finalizers,
                format!("the `finalizers` of {what} are not a list of `<domain>/<name>`"),
                "write a list of names such as `example.org/cleanup`",
            );
        }
    }
    of_labels(what, metadata, faults);
}

/// At most one owner may be the controller.
fn are_owners(owners: &Node) -> bool {
    let is_owner = |owner: &Node| {
        let word = |key| owner.get(key).and_then(Node::as_str).is_some_and(|text| !text.is_empty());
        let flag = |key| owner.get(key).is_none_or(|node| node.as_bool().is_some());
        let fields = OF_OWNERS.iter().chain(&FLAGS_OF_OWNERS);
        let known = owner.as_mapping().is_some_and(|map| {
            map.iter().all(|entry| fields.clone().any(|field| *field == &*entry.key.name))
        });
        known && OF_OWNERS.into_iter().all(word) && FLAGS_OF_OWNERS.into_iter().all(flag)
    };
    let controls = |owner: &&Node| owner.get("controller").and_then(Node::as_bool) == Some(true);
    owners
        .as_sequence()
        .is_some_and(|list| list.iter().all(is_owner) && list.iter().filter(controls).count() <= 1)
}

/// The API server takes a finalizer without a domain only if Kubernetes defines it, or on objects of a custom resource.
fn is_finalizer(name: &str, built_in: bool) -> bool {
    is_label_key(name)
        && (!built_in || name.contains('/') || matches!(name, "foregroundDeletion" | "kubernetes" | "orphan"))
}

fn of_labels(what: &str, metadata: &Node, faults: &mut Vec<Violation>) {
    for key in ["labels", "annotations"] {
        let Some(node) = metadata.get(key).filter(|node| !node.is_null()) else { continue };
        let Some(mapping) = node.as_mapping() else {
            faults.push(Violation {
                origin: node.origin,
                message: format!("the {key} of {what} are {}", node.kind()),
                hint: "write a map of strings",
            });
            continue;
        };
        mapping.iter().for_each(|entry| of_entry(what, key, entry, faults));
        let size = size(mapping);
        if key == "annotations" && size > ANNOTATIONS {
            faults.push(Violation {
                origin: node.origin,
                message: format!(
                    "the annotations of {what} have {size} bytes in total; at most {ANNOTATIONS} are allowed"
                ),
                hint: "put the text into a ConfigMap",
            });
        }
    }
}

fn of_entry(what: &str, key: &str, entry: &Entry, faults: &mut Vec<Violation>) {
    let name = &entry.key.name;
    let one = key.trim_end_matches('s');
    if !is_label_key(name) {
        faults.push(Violation {
            origin: entry.key.origin,
            message: format!(
                "the {one} `{}` of {what} has a key that no API server accepts",
                shortened(name)
            ),
            hint: A_LABEL_KEY,
        });
    }
    let Some(text) = entry.value.as_str() else {
        faults.push(Violation {
            origin: entry.value.origin,
            message: format!("the {one} `{}` of {what} is {}, not text", shortened(name), entry.value.kind()),
            hint: "write it in quotes",
        });
        return;
    };
    if key == "labels" && !is_label_value(text) {
        faults.push(Violation {
            origin: entry.value.origin,
            message: format!(
                "the label `{}` of {what} has a value that no API server accepts",
                shortened(name)
            ),
            hint: A_LABEL_VALUE,
        });
    }
}

pub(super) fn shortened(name: &str) -> String {
    let short: String = name.chars().take(80).collect();
    if short.len() < name.len() { format!("{short}…") } else { short }
}

fn size(mapping: &Mapping) -> usize {
    mapping.iter().map(|entry| entry.key.name.len() + entry.value.as_str().map_or(0, str::len)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_have_a_limit_together() {
        let metadata = |size: usize| {
            let mut annotations = Mapping::new();
            annotations.set("a", "x".repeat(size / 2).as_str());
            annotations.set("b", "x".repeat(size / 2).as_str());
            let mut metadata = Mapping::new();
            metadata.set("annotations", annotations);
            let mut object = Mapping::new();
            object.set("metadata", metadata);
            Node::from(object)
        };
        assert_eq!(faults(&metadata(ANNOTATIONS - 2), "ConfigMap", "a").len(), 0);
        let found = faults(&metadata(ANNOTATIONS), "ConfigMap", "a");
        assert_eq!(found.len(), 1);
        assert!(found[0].message.contains("262146 bytes in total"), "{}", found[0].message);
    }

    #[test]
    fn versions_keys_and_values_are_those_of_the_api_server() {
        for version in ["v1", "apps/v1", "cluster.x-k8s.io/v1beta2"] {
            assert!(is_version(version), "{version}");
        }
        for version in ["", "../x", "a/b/c", "apps/", "/v1", "apps/V1", "apps/1"] {
            assert!(!is_version(version), "{version}");
        }
        assert!(is_label_key("example.org/Some_Name.1") && is_label_key("app"));
        assert!(!is_label_key("a/b/c") && !is_label_key("/x") && !is_label_key("-x") && !is_label_key(""));
    }
}
