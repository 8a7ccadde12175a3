//! What the API server and Cluster API's webhooks say of a Cluster.

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
    docs: "The API server or a webhook of Cluster API would refuse the Cluster: an unknown field, a value that the schema of \
           the kind does not take, a health check that the class cannot have. Nothing of the cluster would be changed until \
           it is mended.",
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
        // Where nobody says whether the feature gate of taints is on, the rule `cluster-api` warns.
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
    let hint = if error.detail.contains("not declared") {
        "remove it, or compare its name with Cluster API's reference: server-side apply takes no field that it does not know"
    } else {
        "write what Cluster API's reference says of this field: the API server or its webhook refuses the whole Cluster"
    };
    finder.notes.error("cluster", place, message).hint(hint);
}
