//! Finds labels that are built from names and may become too long.

use super::{
    Lint, LintFinding,
    class::View,
    probe::{Fill, LONG, builtin, data, texts},
};

pub(super) static LINT: Lint = Lint {
    name: "label-may-grow",
    docs: "The value of a label can have at most 63 characters, and the name of a cluster or pool alone can be that \
           long. A label made of such a name and more text is refused for the first cluster with a long name.",
    find,
};

const LIMIT: usize = 63;

fn find(view: &View<'_>, found: &mut Vec<LintFinding>) {
    let mut data = data(view, Fill::All);
    data["builtin"] = builtin(LONG);
    for operation in &view.operations {
        let Some(made) = operation.made(&data) else { continue };
        let mut longest = 0;
        texts(&made, operation.path, &mut |path, text| {
            let is_label = path.to_ascii_lowercase().contains("labels/");
            if is_label && text.contains(LONG) {
                longest = longest.max(text.chars().count());
            }
        });
        if longest > LIMIT {
            found.push(LintFinding {
                lint: LINT.name,
                origin: operation.origin,
                message: format!(
                    "the patch `{}` makes a label of up to {longest} characters, but only {LIMIT} are allowed",
                    operation.patch
                ),
                hint: format!("shorten it: `| trunc {LIMIT} | trimSuffix \"-\"`"),
            });
        }
    }
}
