//! Finds machine templates that depend on metadata which changes with every rebase or upgrade.

use super::{
    Lint, LintFinding,
    class::{Value, View},
};

pub(super) static LINT: Lint = Lint {
    name: "cluster-metadata-in-values",
    docs: "Labels or annotations of the Cluster, or the name of its class, are in templates of machines. An \
           annotation that Cluster API itself sets during an upgrade then rotates the templates twice. A label that \
           someone adds replaces all machines, and so does every rebase.",
    find,
};

const CHANGING: [&str; 3] =
    ["builtin.cluster.metadata", "builtin.cluster.topology.class", "builtin.cluster.topology.classRef"];

fn find(view: &View<'_>, found: &mut Vec<LintFinding>) {
    for operation in view.operations.iter().filter(|operation| operation.of_machines) {
        let source = match &operation.value {
            Value::Template(source, _) | Value::Variable(source) => source,
            Value::Given(_) | Value::None => continue,
        };
        if let Some(name) = CHANGING.iter().find(|name| source.contains(*name)) {
            found.push(LintFinding {
                lint: LINT.name,
                origin: operation.origin,
                message: format!("the patch `{}` puts `{name}` into templates of machines", operation.patch),
                hint: "use a variable of the class for values that machines need".to_owned(),
            });
        }
    }
}
