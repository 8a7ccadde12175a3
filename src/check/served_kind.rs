//! Recognizes kinds of Kubernetes' own groups that no API server has, or that it does not store.
//!
//! Groups, versions and kinds are those that Kubernetes 1.34 to 1.36 serve. A group that still grows may get kinds and versions that
//! this program does not know.
//!
//! Source: the files `register.go` of k8s.io/api 0.36.

use super::metadata::{Violation, is_kind};
use crate::{
    model::cluster_wide_kinds,
    release::{group_of, namespaced_kinds},
    yaml::Node,
};

/// Groups whose kinds are all known, with their versions.
const COMPLETE: [(&str, &[&str]); 11] = [
    ("", &["v1"]),
    ("apiextensions.k8s.io", &["v1"]),
    ("apiregistration.k8s.io", &["v1"]),
    ("apps", &["v1"]),
    ("autoscaling", &["v1", "v2"]),
    ("batch", &["v1"]),
    ("discovery.k8s.io", &["v1"]),
    ("events.k8s.io", &["v1"]),
    ("node.k8s.io", &["v1"]),
    ("policy", &["v1"]),
    ("rbac.authorization.k8s.io", &["v1"]),
];

/// Groups that get new kinds and versions. Their only stable version is `v1`.
const GROWING: [&str; 7] = [
    "admissionregistration.k8s.io",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "networking.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
];

/// Kinds that a client sends or gets, and that no API server stores. An empty kind stands for all kinds of the group.
const NOT_STORED: [(&str, &str); 17] = [
    ("", "APIGroup"),
    ("", "APIVersions"),
    ("", "Binding"),
    ("", "ComponentStatus"),
    ("", "DeleteOptions"),
    ("", "Eviction"),
    ("", "Scale"),
    ("", "SerializedReference"),
    ("", "Status"),
    ("", "TokenRequest"),
    ("", "WatchEvent"),
    ("authentication.k8s.io", ""),
    ("authorization.k8s.io", ""),
    ("autoscaling", "Scale"),
    ("meta.k8s.io", ""),
    ("metrics.k8s.io", ""),
    ("policy", "Eviction"),
];

/// What is wrong with the kind of an object.
pub(super) fn fault(object: &Node, kind: &str) -> Option<Violation> {
    let api_version = object.get("apiVersion")?;
    let text = api_version.as_str().filter(|_| is_kind(kind))?;
    let (group, version) = (group_of(text), text.rsplit('/').next().unwrap_or_default());
    let of_kind = object.get("kind").map_or(object.origin, |kind| kind.origin);
    let is_not_stored = |(own, name): &(&str, &str)| *own == group && (*name == kind || name.is_empty());
    if NOT_STORED.iter().any(is_not_stored) {
        return Some(Violation {
            origin: of_kind,
            message: format!("{kind} of `{text}` is not a kind that an API server stores"),
            hint: "remove it: an engine cannot apply such an object",
        });
    }
    let known = || namespaced_kinds(group).chain(cluster_wide_kinds(group));
    let complete = COMPLETE.iter().find(|(own, _)| *own == group);
    let is_growing = GROWING.contains(&group);
    let is_served = match complete {
        Some((_, versions)) => versions.contains(&version),
        None => !is_growing || version == "v1" || version.contains("alpha") || version.contains("beta"),
    };
    if !is_served {
        return Some(Violation {
            origin: api_version.origin,
            message: format!("Kubernetes has no `{text}`"),
            hint: "correct the version: the API server refuses the object",
        });
    }
    let is_unknown = complete.is_some() && known().all(|one| one != kind);
    let is_list = is_growing && known().any(|one| is_list_of(kind, one));
    if !(is_unknown || is_list) {
        return None;
    }
    let others = COMPLETE.iter().map(|(own, _)| *own).chain(GROWING).filter(|own| *own != group);
    let of_other = others
        .filter(|own| namespaced_kinds(own).chain(cluster_wide_kinds(own)).any(|one| one == kind))
        .find(|own| *own != "events.k8s.io");
    let instead = match of_other {
        Some("") => "; it is of `v1`".to_owned(),
        Some(own) => format!("; it is of the group `{own}`"),
        None => String::new(),
    };
    Some(Violation {
        origin: of_kind,
        message: format!("`{text}` has no kind `{kind}`{instead}"),
        hint: "correct the kind or its `apiVersion`: the API server refuses the object",
    })
}

/// Whether a kind is that of the list of another kind, whatever its spelling.
fn is_list_of(kind: &str, one: &str) -> bool {
    let parts = kind.split_at_checked(one.len());
    parts.is_some_and(|(start, end)| start.eq_ignore_ascii_case(one) && end.eq_ignore_ascii_case("list"))
}
