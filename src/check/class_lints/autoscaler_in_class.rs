//! Finds autoscaler annotations in the class.

use super::{
    Lint, LintFinding,
    class::{View, items},
};
use crate::yaml::{Mapping, Node};

pub(super) static LINT: Lint = Lint {
    name: "autoscaler-in-class",
    docs: "If the class has the autoscaler's annotations, the autoscaler owns every pool of the class. A pool that sets \
           `replicas` then has two masters: Cluster API resets the number each time the autoscaler changes it.",
    find,
};

const PREFIX: &str = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-";

fn find(view: &View<'_>, found: &mut Vec<LintFinding>) {
    for kind in ["machineDeployments", "machinePools"] {
        for worker in items(view.class, &["spec", "workers", kind]) {
            let annotations = worker.at(&["metadata", "annotations"]).and_then(Node::as_mapping);
            let own = |entry: &&crate::yaml::Entry| entry.key.name.starts_with(PREFIX);
            let Some(entry) = annotations.into_iter().flat_map(Mapping::iter).find(own) else { continue };
            let name = worker.get("class").and_then(Node::as_str).unwrap_or_default();
            found.push(LintFinding {
                lint: LINT.name,
                origin: entry.key.origin,
                message: format!("the worker class `{name}` has the autoscaler's annotations"),
                hint: "set the range in node pools instead: `autoscale: { min: …, max: … }`".to_owned(),
            });
        }
    }
}
