//! Builds the contexts of templates.

use crate::{
    model::{Label, Network, NodePool, Size},
    plan::{AddonPlan, ClusterPlan},
    release::Release,
    template::{Context, Recorder},
    yaml::{Mapping, Node, Value},
};

/// The context for templates of a release that are rendered once per namespace.
pub(super) fn of_namespace(
    release: &Release,
    namespace: &Label,
    fleet: &Label,
    recorder: Option<&Recorder>,
) -> Context {
    let mut context = Context::recorded(recorder.cloned());
    for entry in release.context().iter() {
        context.set(&entry.key.name, entry.value.clone());
    }
    context.set("namespace", named(namespace.as_str()));
    context.set("fleet", named(fleet.as_str()));
    context
}

/// The context for templates of a release that are rendered once per cluster.
pub(crate) fn of_cluster(plan: &ClusterPlan, recorder: Option<&Recorder>) -> Context {
    let mut context = of_namespace(&plan.release, &plan.cluster.namespace, &plan.fleet, recorder);
    context.set("cluster", cluster(plan));
    context
}

/// The context for the templates of an addon.
pub(crate) fn of_addon(cluster: &Context, addon: &AddonPlan) -> Context {
    let mut context = cluster.clone();
    let mut mapping = Mapping::new();
    mapping.set("name", addon.frozen.addon.name.as_str());
    mapping.set("version", version(addon));
    context.set("addon", mapping);
    context
}

fn named(name: &str) -> Node {
    let mut mapping = Mapping::new();
    mapping.set("name", name);
    mapping.into()
}

fn null() -> Node {
    Node::from(Value::Null)
}

fn version(addon: &AddonPlan) -> Node {
    addon.version.as_ref().map_or_else(null, |version| Node::from(version.as_semver().to_string()))
}

fn cluster(plan: &ClusterPlan) -> Node {
    let cluster = &plan.cluster;
    let mut control_plane = Mapping::new();
    control_plane.set("replicas", cluster.control_plane.replicas.map_or_else(null, Node::from));
    let mut variables = Mapping::new();
    for (name, value) in &plan.variables {
        variables.set(name, value.clone().unwrap_or_else(null));
    }
    let mut addons = Mapping::new();
    for addon in &plan.addons {
        let mut mapping = Mapping::new();
        mapping.set("version", version(addon));
        mapping.set("values", addon.values.clone().unwrap_or_else(|| Mapping::new().into()));
        addons.set(addon.frozen.addon.name.as_str(), mapping);
    }
    let mut mapping = Mapping::new();
    mapping.set("name", cluster.name.as_str());
    mapping.set("namespace", cluster.namespace.as_str());
    mapping.set("labels", cluster.labels.clone());
    mapping.set("annotations", cluster.annotations.clone());
    mapping.set("managementCluster", cluster.management.name.as_str());
    mapping.set("controlPlane", control_plane);
    mapping.set("nodePools", cluster.node_pools.iter().map(pool).collect::<Vec<_>>());
    mapping.set("network", network(&cluster.network));
    mapping.set("variables", variables);
    mapping.set("addons", addons);
    Node::from(mapping).with_origin(cluster.origin)
}

fn pool(pool: &NodePool) -> Node {
    let (replicas, autoscale) = match &pool.size {
        Size::Fixed(replicas) => (replicas.clone(), null()),
        Size::Autoscaled { min, max, origin } => {
            let mut bounds = Mapping::new();
            bounds.set("min", *min);
            bounds.set("max", *max);
            (null(), Node::from(bounds).with_origin(*origin))
        }
        Size::Unset => (null(), null()),
    };
    let mut mapping = Mapping::new();
    mapping.set("name", pool.name.as_str());
    mapping.set("class", pool.class.as_str());
    mapping.set("replicas", replicas);
    mapping.set("autoscale", autoscale);
    Node::from(mapping).with_origin(pool.origin)
}

fn network(network: &Network) -> Node {
    let blocks = |blocks: &Option<Node>| blocks.clone().unwrap_or_else(|| Node::from(Vec::<Node>::new()));
    let mut mapping = Mapping::new();
    mapping.set("pods", blocks(&network.pods));
    mapping.set("services", blocks(&network.services));
    mapping.set("serviceDomain", network.service_domain.clone().unwrap_or_else(null));
    mapping.into()
}
