//! The objects that a release brings, with their kinds and the rights that some of them grant.
//!
//! Templates are read, not rendered: an object counts whether a cluster gets it or not. Charts are not inspected.

use crate::{
    template::Template,
    yaml::{FileId, RawKind, RawNode, Source, read_raw},
};

use super::Release;
use crate::note::Notes;

/// Kinds of Kubernetes' own groups that templates of namespaces and clusters may have: those that only configure things within
/// their namespace, and those that become Secrets.
pub const TEMPLATE_KINDS: [(&str, &str); 10] = [
    ("", "ConfigMap"),
    ("", "LimitRange"),
    ("", "ResourceQuota"),
    ("", "Secret"),
    ("networking.k8s.io", "NetworkPolicy"),
    ("policy", "PodDisruptionBudget"),
    ("bitnami.com", "SealedSecret"),
    ("external-secrets.io", "ExternalSecret"),
    ("external-secrets.io", "PushSecret"),
    ("external-secrets.io", "SecretStore"),
];

/// API groups, including the groups below them, in which every kind configures clusters and their machines.
pub const TEMPLATE_GROUPS: [&str; 3] = ["cluster.x-k8s.io", "openstack.k-orc.cloud", "metal3.io"];

/// The place where a template's objects are applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Where {
    /// In the management cluster, with the classes.
    Classes,
    /// In the management cluster, once per namespace.
    Namespace,
    /// In the management cluster, once per cluster.
    Cluster,
    /// In workload clusters.
    Workload,
}

/// An object that a release brings.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProvidedObject {
    /// The place where it is applied.
    pub place: Where,
    /// The API group, empty for the core group.
    pub group: String,
    /// The kind, or an expression if the template computes it.
    pub kind: String,
    /// The name in the template.
    pub name: String,
    /// The path of the template in the stack.
    pub path: String,
    /// The reason why it grants rights, if it does.
    pub grants: Option<&'static str>,
}

impl ProvidedObject {
    /// Kind and group in the notation of `kubectl`.
    pub fn full_kind(&self) -> String {
        full_kind(&self.kind, &self.group)
    }
}

/// Kind and group in the notation of `kubectl`.
pub fn full_kind(kind: &str, group: &str) -> String {
    if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") }
}

pub fn group_of(api_version: &str) -> &str {
    api_version.rsplit_once('/').map_or("", |(group, _)| group)
}

/// Lists the objects of the class and the templates of a release.
pub fn brought(release: &Release) -> Vec<ProvidedObject> {
    let own = [(Where::Namespace, &release.namespace), (Where::Cluster, &release.cluster)];
    let own = own.into_iter().flat_map(|(place, list)| list.iter().map(move |one| (place, one)));
    let addons = release.addons.iter().flat_map(|addon| &addon.manifests).map(|one| (Where::Workload, one));
    let mut all: Vec<_> =
        own.chain(addons).flat_map(|(place, one)| of_template(place, &one.path, &one.template)).collect();
    all.extend(release.nameless().iter().flat_map(|object| {
        let mut text = String::new();
        crate::yaml::emit(object, &mut text);
        of_text(Where::Classes, "cluster-class", &text)
    }));
    all.sort();
    all.dedup();
    all
}

fn of_template(place: Where, path: &str, template: &Template) -> Vec<ProvidedObject> {
    of_text(place, path, &template.canonical())
}

fn of_text(place: Where, path: &str, text: &str) -> Vec<ProvidedObject> {
    let source = Source::new(FileId(u32::MAX), path, text);
    let documents = read_raw(&source, &mut Notes::new()).unwrap_or_default();
    documents.iter().map(|document| of_object(place, path, &document.root)).collect()
}

fn of_object(place: Where, path: &str, object: &RawNode) -> ProvidedObject {
    let word = |path: &[&str]| at(object, path).map(str::to_owned).unwrap_or_default();
    let (version, kind) = (word(&["apiVersion"]), word(&["kind"]));
    let group = group_of(&version).to_owned();
    let grants = grants(object, &group, &kind);
    ProvidedObject { place, group, kind, name: word(&["metadata", "name"]), path: path.to_owned(), grants }
}

/// The reason why an object grants rights, or gives something access to other objects.
fn grants(object: &RawNode, group: &str, kind: &str) -> Option<&'static str> {
    match (group, kind) {
        _ if kind.contains("${{") || group.contains("${{") => Some("its kind is an expression"),
        ("rbac.authorization.k8s.io", _) => Some("RBAC"),
        ("admissionregistration.k8s.io", _) => Some("a webhook or policy that acts on other objects"),
        ("apiextensions.k8s.io", _) => Some("defines new kinds"),
        ("apiregistration.k8s.io", _) => Some("registers an API"),
        ("certificates.k8s.io", _) => Some("a certificate"),
        ("", "Secret") => (at(object, &["type"])? == "kubernetes.io/service-account-token")
            .then_some("a token that never expires"),
        ("", "ServiceAccount") => Some("an identity"),
        ("", "Namespace") => {
            let level = at(object, &["metadata", "labels", "pod-security.kubernetes.io/enforce"])?;
            (level == "privileged" || level.contains("${{")).then_some("a namespace for privileged Pods")
        }
        _ => None,
    }
}

fn at<'a>(object: &'a RawNode, path: &[&str]) -> Option<&'a str> {
    let mut node = object;
    for step in path {
        let RawKind::Mapping(entries) = &node.kind else { return None };
        let named = |(key, _): &&(RawNode, RawNode)| matches!(&key.kind, RawKind::Scalar { text, .. } if text == step);
        node = &entries.iter().find(named)?.1;
    }
    match &node.kind {
        RawKind::Scalar { text, .. } => Some(text),
        RawKind::Sequence(_) | RawKind::Mapping(_) => None,
    }
}
