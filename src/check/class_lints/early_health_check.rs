//! Finds health checks that time out before a node can be ready.

use super::{
    Lint, LintFinding,
    class::{View, items},
};
use crate::yaml::Node;

pub(super) static LINT: Lint = Lint {
    name: "early-health-check",
    docs: "A new node is not Ready until the CNI runs on it. The CNI is an addon, and is installed after the control \
           plane. A health check that waits for less than five minutes replaces the machines of a new cluster again and \
           again.",
    find,
};

const ENOUGH: i64 = 300;

fn find(view: &View<'_>, found: &mut Vec<LintFinding>) {
    let mut owners: Vec<(String, &Node)> = Vec::new();
    owners
        .extend(view.class.at(&["spec", "controlPlane"]).map(|node| ("the control plane".to_owned(), node)));
    for worker in items(view.class, &["spec", "workers", "machineDeployments"]) {
        let name = worker.get("class").and_then(Node::as_str).unwrap_or_default();
        owners.push((format!("workers of class `{name}`"), worker));
    }
    for (owner, node) in owners {
        let checks = ["healthCheck", "checks"];
        let startup = node.at(&[&checks[..], &["nodeStartupTimeoutSeconds"]].concat());
        let mut early = Vec::new();
        // Zero disables the check.
        early.extend(startup.filter(|node| node.as_int().is_some_and(|value| value > 0 && value < ENOUGH)));
        for condition in items(node, &[&checks[..], &["unhealthyNodeConditions"]].concat()) {
            let ready = condition.get("type").and_then(Node::as_str) == Some("Ready");
            let timeout = condition.get("timeoutSeconds");
            let short = timeout.filter(|node| node.as_int().is_some_and(|value| value < ENOUGH));
            early.extend(short.filter(|_| ready));
        }
        for node in early {
            found.push(LintFinding {
                lint: LINT.name,
                origin: node.origin,
                message: format!("the health check of {owner} waits {} s", node.as_int().unwrap_or_default()),
                hint: format!("wait for at least {ENOUGH} s: no node is ready before the CNI runs"),
            });
        }
    }
}
