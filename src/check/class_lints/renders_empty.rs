//! Finds templates that render nothing.

use super::{
    Lint, LintFinding,
    class::View,
    probe::{Fill, data},
};

pub(super) static LINT: Lint = Lint {
    name: "renders-empty",
    docs: "A template that renders to nothing gives `null`. The patch then sets the field to null: the old value is \
           lost, or the API server refuses the object.",
    find,
};

fn find(view: &View<'_>, found: &mut Vec<LintFinding>) {
    for (fill, when) in [(Fill::Least, "that are not set"), (Fill::Empty, "that are empty")] {
        let data = data(view, fill);
        for operation in &view.operations {
            let empty = operation.rendered(&data).is_some_and(|text| text.trim().is_empty());
            if empty && !found.iter().any(|one| one.lint == LINT.name && one.origin == operation.origin) {
                found.push(LintFinding {
                    lint: LINT.name,
                    origin: operation.origin,
                    message: format!(
                        "the patch `{}` sets {} to null for variables {when}",
                        operation.patch, operation.path
                    ),
                    hint: "add an `enabledIf` that is true only when the patch has something to set"
                        .to_owned(),
                });
            }
        }
    }
}
