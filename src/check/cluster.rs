//! Validates a Cluster like the API server and Cluster API's webhooks.

use super::{Check, Finder, Rule};
use crate::{
    compare::gates,
    note::At,
    plan::ClusterPlan,
    topology::{ErrorType, FieldError, Stage, admission, apply_problems, schema_faults},
    yaml::{Node, to_json, trail},
};

pub(super) static RULE: Rule = Rule {
    name: "cluster",
    docs: "The API server or a webhook of Cluster API would refuse the Cluster: an unknown field, a value that the \
           schema of the kind rejects, or a health check that the class cannot have. No change to the cluster would \
           take effect until this is fixed.",
    check: Check::Cluster(check),
};

fn check(plan: &ClusterPlan, cluster: &Node, finder: &mut Finder<'_>) {
    let json = to_json(cluster);
    let mut errors = apply_problems(&json);
    if errors.is_empty() {
        errors = schema_faults(&json, Stage::Cluster).into_iter().map(|fault| fault.error).collect();
    }
    let class = finder.classes.object(&plan.release.name);
    let management = &plan.cluster.management;
    for error in admission::cluster::validate(&json, None, class, gates(management)) {
        // If the feature gate of taints is not specified, the rule `cluster-api` warns about it.
        let is_unknown = management.gate("MachineTaintPropagation").is_none();
        let gate = is_unknown && error.kind == ErrorType::Forbidden && error.field.ends_with(".taints");
        if !gate && errors.iter().all(|other| other.field != error.field) {
            errors.push(error);
        }
    }
    for error in errors {
        report(plan, cluster, &error, finder);
    }
}

fn report(plan: &ClusterPlan, cluster: &Node, error: &FieldError, finder: &mut Finder<'_>) {
    let origin = finder.origin_on(&trail(cluster, error.path()));
    let place = origin.written().map_or_else(|| finder.place(cluster, &plan.cluster.file), At::Word);
    let field = error.field.trim_start_matches('.');
    let detail = error.detail.strip_prefix(&format!("{field} in body ")).unwrap_or(&error.detail);
    let message = format!("the Cluster's `{field}` is refused: {detail}");
    let hint = if error.kind == ErrorType::Forbidden && error.field.ends_with(".taints") {
        "turn the feature gate on in the management cluster, and add `MachineTaintPropagation: true` to its `featureGates` in stackloom.yaml"
    } else if error.kind == ErrorType::Undeclared {
        "remove it, or check its name in Cluster API's reference: server-side apply rejects unknown fields"
    } else {
        "see Cluster API's reference for this field: the API server or its webhook refuses the whole Cluster"
    };
    finder.notes.error("cluster", place, message).hint(hint);
}
