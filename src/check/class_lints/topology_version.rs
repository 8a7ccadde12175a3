//! Finds machine templates that use the version of the Cluster's topology.

use super::{
    Lint, LintFinding,
    class::{Value, View},
};

pub(super) static LINT: Lint = Lint {
    name: "topology-version",
    docs: "`builtin.cluster.topology.version` is the version where an upgrade ends. In an upgrade over several minors, \
           machines pass through the versions in between, and workers follow after the control plane. Their templates \
           would carry a version that the machines do not have.",
    find,
};

const NAME: &str = "builtin.cluster.topology.version";

fn find(view: &View<'_>, found: &mut Vec<LintFinding>) {
    for operation in view.operations.iter().filter(|operation| operation.of_machines) {
        let in_condition = operation.condition.as_ref().filter(|condition| condition.source.contains(NAME));
        let origin = match &operation.value {
            Value::Template(source, _) | Value::Variable(source) if source.contains(NAME) => operation.origin,
            _ => match in_condition {
                Some(condition) => condition.origin,
                None => continue,
            },
        };
        let one = LintFinding {
            lint: LINT.name,
            origin,
            message: format!("the patch `{}` uses `{NAME}` in templates of machines", operation.patch),
            hint: "use `builtin.controlPlane.version`, `builtin.machineDeployment.version` or `builtin.machinePool.version`"
                .to_owned(),
        };
        if !found.contains(&one) {
            found.push(one);
        }
    }
}
