//! Finds missing values that are printed into text.

use super::{
    Lint, LintFinding,
    class::View,
    probe::{Fill, data},
};

pub(super) static LINT: Lint = Lint {
    name: "missing-value-in-text",
    docs: "A template prints `<no value>` for a variable that is not set, without an error. The text ends up in a name, \
           a file or an argument.",
    find,
};

fn find(view: &View<'_>, found: &mut Vec<LintFinding>) {
    let data = data(view, Fill::Least);
    for operation in &view.operations {
        if operation.rendered(&data).is_some_and(|text| text.contains("<no value>")) {
            found.push(LintFinding {
                lint: LINT.name,
                origin: operation.origin,
                message: format!(
                    "the patch `{}` prints `<no value>` for a variable that is not set",
                    operation.patch
                ),
                hint: "give the variable a default, make it required, or guard it with `enabledIf` or `with`"
                    .to_owned(),
            });
        }
    }
}
