//! Finds patches of labels and annotations in machine templates.

use super::{
    Lint, LintFinding,
    class::{Value, View},
};

pub(super) static LINT: Lint = Lint {
    name: "metadata-patch-rolls",
    docs: "Labels and annotations under `spec.template.metadata` of a machine or bootstrap template are part of its \
           spec. If a variable changes them, the template is rotated and all machines are replaced. Labels and \
           annotations of the topology change in place.",
    find,
};

fn find(view: &View<'_>, found: &mut Vec<LintFinding>) {
    for operation in &view.operations {
        let rotated = operation.of_machines && !operation.kind.ends_with("ControlPlaneTemplate");
        let moves = matches!(operation.value, Value::Template(..) | Value::Variable(_));
        if rotated && moves && operation.path.starts_with("/spec/template/metadata") {
            found.push(LintFinding {
                lint: LINT.name,
                origin: operation.origin,
                message: format!(
                    "the patch `{}` writes {} of {} from variables: a change replaces all machines",
                    operation.patch, operation.path, operation.kind
                ),
                hint: "labels of node pools (`labels` in the definition) change in place".to_owned(),
            });
        }
    }
}
