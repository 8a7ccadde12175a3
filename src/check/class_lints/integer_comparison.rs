//! Finds comparisons of numbers with integer literals.

use gotmpl::Template;

use super::{
    Lint, LintFinding,
    class::{Value, View},
    probe::{SchemaSegment, leaves},
};

use crate::yaml::Origin;

pub(super) static LINT: Lint = Lint {
    name: "integer-comparison",
    docs: "`eq .replicas 3` compares a float64 with an int, which Go refuses. The patch fails, and so does the topology \
           of every cluster that reaches the comparison.",
    find,
};

fn find(view: &View<'_>, found: &mut Vec<LintFinding>) {
    let numbers: Vec<Vec<String>> = leaves(view, &["integer", "number"])
        .into_iter()
        .map(|(path, _)| {
            let word = |step| match step {
                SchemaSegment::Key(name) => name,
                SchemaSegment::Item => "[]".to_owned(),
            };
            path.into_iter().map(word).collect()
        })
        .collect();
    let mut look = |patch: &str, template: Option<&Template>, origin: Origin| {
        for path in template.map(Template::compared_with_integers).unwrap_or_default() {
            let replicas = path.first().is_some_and(|name| name == "builtin")
                && path.ends_with(&["replicas".to_owned()]);
            if !numbers.contains(&path) && !replicas {
                continue;
            }
            let name = path.join(".").replace(".[]", "[]");
            let one = LintFinding {
                lint: LINT.name,
                origin,
                message: format!("the patch `{patch}` compares `{name}` with a whole number, which fails"),
                hint: format!(
                    "write `int .{name}`, or the number as `3.0`: templates see every number as float64"
                ),
            };
            if !found.contains(&one) {
                found.push(one);
            }
        }
    };
    for operation in &view.operations {
        if let Value::Template(_, template) = &operation.value {
            look(operation.patch, template.as_ref(), operation.origin);
        }
        if let Some(condition) = &operation.condition {
            look(operation.patch, condition.template.as_ref(), condition.origin);
        }
    }
}
