//! Finds conditions of patches that may be neither true nor false.

use gotmpl::yaml;
use serde_json::Value as Json;

use super::{
    Lint, LintFinding,
    class::View,
    probe::{Fill, data},
};

pub(super) static LINT: Lint = Lint {
    name: "condition-not-boolean",
    docs: "A patch runs only if its `enabledIf` renders to `true`. Any other result means no, without an error: a \
           condition that prints a name or a list skips the patch for exactly the clusters that need it.",
    find,
};

fn find(view: &View<'_>, found: &mut Vec<LintFinding>) {
    for fill in [Fill::All, Fill::Least, Fill::Empty] {
        let data = data(view, fill);
        for operation in &view.operations {
            let Some(condition) = &operation.condition else { continue };
            let text = condition.template.as_ref().and_then(|template| template.render(&data).ok());
            let Some(text) = text else { continue };
            // Conditions without an `else` render to nothing if they are false.
            let clear = yaml::parse(&text).is_ok_and(|value| matches!(value, Json::Bool(_) | Json::Null));
            if clear || found.iter().any(|one| one.lint == LINT.name && one.origin == condition.origin) {
                continue;
            }
            let shown: String = text.trim().chars().take(40).collect();
            found.push(LintFinding {
                lint: LINT.name,
                origin: condition.origin,
                message: format!(
                    "the condition of the patch `{}` can render to `{shown}`, which is neither true nor false",
                    operation.patch
                ),
                hint: "write `{{ if … }}true{{ end }}`, or a comparison".to_owned(),
            });
        }
    }
}
