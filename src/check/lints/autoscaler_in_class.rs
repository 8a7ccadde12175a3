//! The autoscaler's range in the class.

use super::{
    Found, Lint,
    class::{View, items},
};
use crate::yaml::{Mapping, Node};

pub(super) static LINT: Lint = Lint {
    name: "autoscaler-in-class",
    docs: "With the autoscaler's annotations in the class, every pool of it is the autoscaler's, and a pool that says \
           `replicas` has two masters: Cluster API puts the number back as often as the autoscaler changes it.",
    find,
};

const PREFIX: &str = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-";

fn find(view: &View<'_>, found: &mut Vec<Found>) {
    for kind in ["machineDeployments", "machinePools"] {
        for worker in items(view.class, &["spec", "workers", kind]) {
            let annotations = worker.at(&["metadata", "annotations"]).and_then(Node::as_mapping);
            let own = |entry: &&crate::yaml::Entry| entry.key.name.starts_with(PREFIX);
            let Some(entry) = annotations.into_iter().flat_map(Mapping::iter).find(own) else { continue };
            let name = worker.get("class").and_then(Node::as_str).unwrap_or_default();
            found.push(Found {
                lint: LINT.name,
                origin: entry.key.origin,
                message: format!("the class of workers `{name}` carries the autoscaler's annotations"),
                hint: "leave the range to clusters: `autoscale: { min: …, max: … }` of a node pool"
                    .to_owned(),
            });
        }
    }
}
