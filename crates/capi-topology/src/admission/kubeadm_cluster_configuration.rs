//! The webhook checks of `clusterConfiguration`: images of `CoreDNS` and etcd, and whether etcd is local or external.
//!
//! Source: `validateClusterConfiguration` and `validateCoreDNSVersion` of
//! `controlplane/kubeadm/webhooks/admission/kubeadmcontrolplane.go`, and `github.com/coredns/corefile-migration` v1.0.35,
//! which Cluster API 1.14 uses.

use std::cmp::Ordering;

use serde_json::Value;

use super::kubeadm_types::is_defined;
use crate::refusal::FieldError;
use crate::upgrade::version::Version;
use k8s_schema::value::{get, map, text};

const DNS_TAG: [&str; 2] = ["dns", "imageTag"];
const SKIP_CORE_DNS: &str = "controlplane.cluster.x-k8s.io/skip-coredns";

/// Versions of `CoreDNS` whose configuration can be migrated to every later one.
const CORE_DNS: [&str; 58] = [
    "1.1.3", "1.1.4", "1.2.0", "1.2.1", "1.2.2", "1.2.3", "1.2.4", "1.2.5", "1.2.6", "1.3.0", "1.3.1",
    "1.4.0", "1.5.0", "1.5.1", "1.5.2", "1.6.0", "1.6.1", "1.6.2", "1.6.3", "1.6.4", "1.6.5", "1.6.6",
    "1.6.7", "1.6.9", "1.7.0", "1.7.1", "1.8.0", "1.8.3", "1.8.4", "1.8.5", "1.8.6", "1.8.7", "1.9.0",
    "1.9.1", "1.9.2", "1.9.3", "1.9.4", "1.10.0", "1.10.1", "1.11.0", "1.11.1", "1.11.3", "1.11.4", "1.12.0",
    "1.12.1", "1.12.2", "1.12.3", "1.12.4", "1.13.0", "1.13.1", "1.13.2", "1.14.0", "1.14.1", "1.14.2",
    "1.14.3", "1.14.4", "1.14.6", "1.14.7",
];

/// Errors in a cluster configuration at this `path`; `before` is its state before.
pub(crate) fn validate(configuration: &Value, before: Option<&Value>, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let tag = text(configuration, &DNS_TAG);
    if !is_tag(tag) {
        errors.push(FieldError::forbidden(format!("{path}.dns.imageTag"), format!("tag {tag} is invalid")));
    }
    if !tag.is_empty() && tolerant_tag(tag).is_none() {
        // Upstream omits the path of the configuration.
        errors.push(FieldError::invalid(
            "dns.imageTag",
            format!("the version of CoreDNS cannot be read from {tag:?}"),
        ));
    }
    let external = |configuration| is_defined(configuration, &["etcd", "external"]);
    if is_defined(configuration, &["etcd", "local"]) {
        let tag = text(configuration, &["etcd", "local", "imageTag"]);
        if !is_tag(tag) {
            let detail = format!("tag {tag} is invalid");
            errors.push(FieldError::forbidden(format!("{path}.etcd.local.imageTag"), detail));
        }
        if external(configuration) {
            let detail = "cannot have both external and local etcd";
            errors.push(FieldError::forbidden(format!("{path}.etcd.local"), detail));
        }
    }
    if before.is_some_and(|before| external(before) != external(configuration)) {
        let detail = "cannot change between external and local etcd";
        errors.push(FieldError::forbidden(format!("{path}.etcd.external"), detail));
    }
    errors
}

/// Errors in a change of the `CoreDNS` version; both arguments are control planes.
pub(crate) fn validate_core_dns(new: &Value, old: &Value) -> Option<FieldError> {
    let path = ["spec", "kubeadmConfigSpec", "clusterConfiguration", "dns", "imageTag"];
    let field = path.join(".");
    let (from, to) = (text(old, &path), text(new, &path));
    if from.is_empty() || to.is_empty() {
        return None;
    }
    let unread =
        |tag| FieldError::invalid(&field, format!("the version of CoreDNS cannot be read from {tag:?}"));
    let Some(before) = tolerant_tag(from) else { return Some(unread(from)) };
    let Some(after) = tolerant_tag(to) else { return Some(unread(to)) };
    let same = after.without_pre_release().compare(&before.without_pre_release()) == Ordering::Equal;
    let skipped = map(new, &["metadata", "annotations"]).is_some_and(|all| all.contains_key(SKIP_CORE_DNS));
    if same || skipped || can_migrate(&before, &after) {
        return None;
    }
    let detail = match known(&before) {
        Some(_) => format!("cannot migrate CoreDNS up to '{after}' from '{before}'"),
        None => format!("cannot migrate CoreDNS up to '{after}': version '{before}' is not supported"),
    };
    Some(FieldError::forbidden(field, detail))
}

fn can_migrate(from: &Version, to: &Version) -> bool {
    known(from).zip(known(to)).is_some_and(|(from, to)| from < to)
}

fn known(version: &Version) -> Option<usize> {
    let bare = format!("{}.{}.{}", version.major, version.minor, version.patch);
    CORE_DNS.iter().position(|one| *one == bare)
}

/// Reports whether a text contains only characters that image tags allow.
///
/// Source: `ImageTagIsValid` of `util/container/image.go`.
fn is_tag(tag: &str) -> bool {
    tag.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

/// Parses the version in a tag, which has `_` in place of `+`.
///
/// Source: `ParseTolerantImageTag` of `util/version/version.go`.
fn tolerant_tag(tag: &str) -> Option<Version> {
    Version::tolerant(&tag.replace('_', "+"))
}

/// The cluster configuration below a path; null if there is none.
pub(crate) fn of<'a>(object: &'a Value, path: &[&str]) -> &'a Value {
    let owner = get(object, path).unwrap_or(&Value::Null);
    get(owner, &["kubeadmConfigSpec", "clusterConfiguration"]).unwrap_or(&Value::Null)
}
