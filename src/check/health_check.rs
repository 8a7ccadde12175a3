//! Finds health checks that count what healthy nodes and machines report as unhealthy.

use super::{Check, Finder, Rule, class_lints::items};
use crate::{
    plan::ClusterPlan,
    release::{Release, group_of},
    render::Drawn,
    topology::healthy::{machine_status, node_status},
    yaml::Node,
};

pub(super) static RULE: Rule = Rule {
    name: "health-check",
    docs: "A health check counts a status that all healthy nodes or machines report as unhealthy, such as Ready=True. \
           Cluster API would replace all these machines, and then their successors.",
    check: Check::Cluster(check),
};

/// The same rule for the class of a stack.
pub(super) static OF_STACK: Rule = Rule { check: Check::Release(check_class), ..RULE };
/// The same rule for objects of the kind `MachineHealthCheck`.
pub(super) static OF_OBJECTS: Rule = Rule { check: Check::Objects(check_objects), ..RULE };

pub(super) const HINT: &str =
    "name the opposite status: such as `False` and `Unknown` for Ready, `True` for MemoryPressure";

/// Lists of conditions in a health check, and whether they are those of nodes. `unhealthyConditions` is that of v1beta1.
const LISTS: [(&[&str], bool); 3] = [
    (&["checks", "unhealthyNodeConditions"], true),
    (&["checks", "unhealthyMachineConditions"], false),
    (&["unhealthyConditions"], true),
];

/// A condition that all healthy nodes or machines meet.
pub(super) struct HealthyCondition<'a> {
    name: &'a str,
    pub(super) status: &'a Node,
    of_node: bool,
}

impl HealthyCondition<'_> {
    pub(super) fn message(&self, check: &str) -> String {
        let all = if self.of_node { "nodes" } else { "machines" };
        let status = self.status.as_str().unwrap_or_default();
        format!("{check} replaces healthy machines: `{}` is `{status}` on all healthy {all}", self.name)
    }
}

/// Finds such conditions in a health check; none if it never acts.
fn met(check: &Node) -> Vec<HealthyCondition<'_>> {
    let mut found = Vec::new();
    for (path, of_node) in LISTS.into_iter().filter(|_| acts(check)) {
        for condition in items(check, path) {
            let Some(name) = condition.get("type").and_then(Node::as_str) else { continue };
            let healthy = if of_node { node_status(name) } else { machine_status(name) };
            let status =
                condition.get("status").filter(|status| healthy.is_some() && status.as_str() == healthy);
            found.extend(status.map(|status| HealthyCondition { name, status, of_node }));
        }
    }
    found
}

fn acts(check: &Node) -> bool {
    let is_off = check.get("enabled").and_then(Node::as_bool) == Some(false);
    let when = |field| check.at(&["remediation", "triggerIf", field]);
    let most = when("unhealthyLessThanOrEqualTo").or_else(|| check.get("maxUnhealthy"));
    let is_none = |node: &Node| node.as_int() == Some(0) || matches!(node.as_str(), Some("0" | "0%"));
    let is_never = most.is_some_and(is_none)
        || when("unhealthyInRange").and_then(Node::as_str).is_some_and(|range| range.ends_with("-0]"));
    !is_off && !is_never
}

/// A part of a class or of a topology that can have a health check.
struct Part<'a> {
    /// Its name, in words.
    owner: String,
    /// The class of its workers; none if it is the control plane.
    class: Option<&'a str>,
    /// Its own health check.
    check: Option<&'a Node>,
}

/// The parts of a class or of a topology. `name` is the key that names workers there.
fn parts<'a>(node: &'a Node, name: &str) -> Vec<Part<'a>> {
    let text = |worker: &'a Node, key: &str| worker.get(key).and_then(Node::as_str);
    let check = |part: &'a Node| part.get("healthCheck").or_else(|| part.get("machineHealthCheck"));
    let control_plane = node.get("controlPlane").map(|part| Part {
        owner: "the control plane".to_owned(),
        class: None,
        check: check(part),
    });
    let workers = items(node, &["workers", "machineDeployments"]).iter().map(|worker| {
        let word = if name == "name" { "pool" } else { "workers of class" };
        Part {
            owner: format!("{word} `{}`", text(worker, name).unwrap_or_default()),
            class: text(worker, "class"),
            check: check(worker),
        }
    });
    control_plane.into_iter().chain(workers).collect()
}

/// The parts of the class of a release.
fn parts_of_class(release: &Release) -> Vec<Part<'_>> {
    let is_class = |object: &&Node| object.get("kind").and_then(Node::as_str) == Some("ClusterClass");
    let class = release.objects.iter().find(is_class).and_then(|class| class.get("spec"));
    class.map(|class| parts(class, "class")).unwrap_or_default()
}

fn check_class(release: &Release, finder: &mut Finder<'_>) {
    for part in parts_of_class(release) {
        for met in part.check.into_iter().flat_map(met) {
            let message = met.message(&format!("the health check of {}", part.owner));
            finder.notes.warning("health-check", met.status.origin, message).hint(HINT);
        }
    }
}

fn check(plan: &ClusterPlan, cluster: &Node, finder: &mut Finder<'_>) {
    let Some(topology) = cluster.at(&["spec", "topology"]) else { return };
    for part in parts(topology, "name") {
        let is_off =
            part.check.is_some_and(|check| check.get("enabled").and_then(Node::as_bool) == Some(false));
        // Without these, that of the class is in effect.
        let is_own = |check: &&Node| check.get("checks").or_else(|| check.get("remediation")).is_some();
        if let Some(check) = part.check.filter(is_own) {
            for met in met(check) {
                let message = met.message(&format!("the health check of {}", part.owner));
                let at = finder.place(met.status, &plan.cluster.file);
                finder.notes.warning("health-check", at, message).hint(HINT);
            }
        } else if !is_off && !plan.release.is_head() {
            check_frozen(plan, &part, finder);
        }
    }
}

/// Checks a part that has the health check of a numbered release, which can no longer change. Those of head releases are
/// reported with their classes.
fn check_frozen(plan: &ClusterPlan, part: &Part<'_>, finder: &mut Finder<'_>) {
    let release = &plan.release;
    let of_class = parts_of_class(release).into_iter().find(|one| one.class == part.class);
    for met in of_class.and_then(|one| one.check).into_iter().flat_map(met) {
        let message = met.message(&format!("the health check that `{}` gives {}", release.name, part.owner));
        finder
            .notes
            .warning("health-check", plan.cluster.release_origin, message)
            .hint("set another `healthCheck` for it, or move to a release with another one");
    }
}

fn check_objects(drawn: &Drawn, finder: &mut Finder<'_>) {
    for object in &drawn.objects {
        let (owner, found) = of_object(&object.node);
        for met in found {
            let at = finder.place(met.status, object.path.as_str());
            finder.notes.warning("health-check", at, met.message(&owner)).hint(HINT);
        }
    }
}

/// The name of a `MachineHealthCheck`, in words, and what is found in it; nothing if an object is of another kind.
pub(super) fn of_object(object: &Node) -> (String, Vec<HealthyCondition<'_>>) {
    let text = |path: &[&str]| object.at(path).and_then(Node::as_str).unwrap_or_default();
    if text(&["kind"]) != "MachineHealthCheck" || group_of(text(&["apiVersion"])) != "cluster.x-k8s.io" {
        return (String::new(), Vec::new());
    }
    let owner = format!("the MachineHealthCheck `{}`", text(&["metadata", "name"]));
    (owner, object.get("spec").map(met).unwrap_or_default())
}
