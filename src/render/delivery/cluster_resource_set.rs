//! Cluster API itself: `ClusterResourceSets` for the manifests of addons.

use super::{
    super::Drawn,
    Delivery, addon,
    capabilities::{Capabilities, Order},
    resource_set,
};
use crate::{note::Notes, plan::ClusterPlan, tree::TreePath};

/// Delivery as `ClusterResourceSets` of Cluster API.
pub(super) static DELIVERY: Delivery = Delivery {
    capabilities: Capabilities {
        actor: "Cluster API",
        object: "a ClusterResourceSet",
        charts: false,
        manifests: true,
        values_from: false,
        registries: false,
        digests: false,
        order: Order::None,
        release: true,
        manifests_stay: true,
        largest_values: None,
    },
    draw,
    installer: |plan, addon| (plan.cluster.namespace.to_string(), resource_set::of_manifests(plan, addon)),
    list: |plan| resource_set::list("clusterresourcesets.addons.cluster.x-k8s.io", plan),
    apis: &["addons.cluster.x-k8s.io/v1beta2"],
    kinds: &[("addons.cluster.x-k8s.io", "ClusterResourceSet"), ("", "ConfigMap")],
    uninstalls: "",
    installs: "",
    sign: "",
    values: |_| None,
    values_at: &[],
    provenance: resource_set::fields,
    limits: |_| Vec::new(),
    registration: |_| None,
};

fn draw(plan: &ClusterPlan, part: &TreePath, drawn: &mut Drawn, notes: &mut Notes) {
    for addon in addon::all(plan, drawn) {
        resource_set::manifests(&addon, part, drawn, notes);
    }
}
