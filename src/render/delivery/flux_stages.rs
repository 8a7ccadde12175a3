//! Stages of addons that Flux does not keep. HelmReleases wait for HelmReleases only, and Kustomizations for Kustomizations only.

use super::{
    super::{Limit, drawn::Object},
    capabilities::{list, listed},
};
use crate::{
    note::{Notes, Severity},
    plan::{AddonContent, AddonPlan, ClusterPlan, contents_before},
    release::group_of,
    yaml::Node,
};

const HINT: &str = "see \"Stages with Flux\" in docs/deliveries.md";

/// Reports charts that are installed without waiting for manifests of an earlier stage.
pub(super) fn of_charts(plan: &ClusterPlan) -> impl Iterator<Item = Limit> {
    plan.addons.iter().filter(|addon| addon.helm.is_some()).filter_map(|addon| {
        let name = addon.frozen.addon.name.as_str();
        let before = contents_before(&plan.addons, AddonContent::Chart(name)).into_iter();
        let manifests = before.filter(|part| matches!(part, AddonContent::Manifests(_)));
        let others: Vec<_> = manifests.map(AddonContent::addon).collect();
        (!others.is_empty()).then(|| Limit {
            severity: Severity::Warning,
            origin: listed(plan, addon),
            message: format!(
                "Flux installs the chart of `{name}` without waiting for the manifests of {}",
                list(&others)
            ),
            hints: vec![HINT.to_owned()],
        })
    })
}

/// Reports manifests that are applied without waiting for charts of an earlier stage, if that can make a difference.
pub(super) fn check_manifests(plan: &ClusterPlan, addon: &str, objects: &[Object], notes: &mut Notes) {
    let before = contents_before(&plan.addons, AddonContent::Manifests(addon)).into_iter();
    let charts: Vec<_> =
        before.filter(|part| matches!(part, AddonContent::Chart(_))).map(AddonContent::addon).collect();
    if charts.is_empty() {
        return;
    }
    let is_earlier = |one: &&AddonPlan| charts.contains(&one.frozen.addon.name.as_str());
    let earlier = plan.addons.iter().filter(is_earlier);
    let namespaces: Vec<_> = earlier.map(|one| one.frozen.addon.release_namespace.as_str()).collect();
    let name = |object: &&Object| object.node.at(&["metadata", "name"]).and_then(Node::as_str).is_some();
    let mut others = objects.iter().filter(|object| !is_inert(&object.node, &namespaces));
    let Some(object) = others.find(name) else { return };
    let text = |path: &[&str]| object.node.at(path).and_then(Node::as_str).unwrap_or_default();
    let message = format!(
        "Flux applies the manifests of `{addon}`, among them {} `{}`, without waiting until {} {} installed",
        text(&["kind"]),
        text(&["metadata", "name"]),
        list(&charts),
        if charts.len() == 1 { "is" } else { "are" }
    );
    notes.warning("delivery", object.node.origin, message).hint(HINT);
}

/// Built-in kinds whose objects neither run anything nor admit or change other objects.
const INERT: [(&str, &[&str]); 8] = [
    ("", &["ConfigMap", "PersistentVolumeClaim", "Service", "ServiceAccount"]),
    ("apiextensions.k8s.io", &["CustomResourceDefinition"]),
    ("networking.k8s.io", &["Ingress", "IngressClass"]),
    ("node.k8s.io", &["RuntimeClass"]),
    ("policy", &["PodDisruptionBudget"]),
    ("rbac.authorization.k8s.io", &["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"]),
    ("scheduling.k8s.io", &["PriorityClass"]),
    ("storage.k8s.io", &["StorageClass", "VolumeAttributesClass"]),
];

/// Built-in kinds whose objects change or refuse pods of their namespace only.
const INERT_ELSEWHERE: [(&str, &[&str]); 2] =
    [("", &["LimitRange", "Namespace", "ResourceQuota"]), ("networking.k8s.io", &["NetworkPolicy"])];

/// Whether an object makes no difference to charts in these namespaces, and needs nothing from them.
fn is_inert(object: &Node, namespaces: &[&str]) -> bool {
    let text = |path: &[&str]| object.at(path).and_then(Node::as_str).unwrap_or_default();
    let (group, kind) = (group_of(text(&["apiVersion"])), text(&["kind"]));
    let is_in = |table: &[(&str, &[&str])]| {
        table.iter().any(|(known, kinds)| *known == group && kinds.contains(&kind))
    };
    let namespace =
        if kind == "Namespace" { text(&["metadata", "name"]) } else { text(&["metadata", "namespace"]) };
    let is_global = object.get("globalDefault").and_then(Node::as_bool) == Some(true);
    (is_in(&INERT) && !is_global) || (is_in(&INERT_ELSEWHERE) && !namespaces.contains(&namespace))
}
