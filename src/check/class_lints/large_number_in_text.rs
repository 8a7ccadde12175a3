//! Finds numbers of a million or more that are printed into text.

use serde_json::json;

use super::{
    Lint, LintFinding,
    class::View,
    probe::{Fill, data, leaves, spelled, texts, with},
};

pub(super) static LINT: Lint = Lint {
    name: "large-number-in-text",
    docs: "Templates see numbers of variables as float64, and Go prints those from a million on as `1.2345678e+07`. \
           Alone in a YAML value, that is still the number. Inside a longer text, in quotes or in a file, it is not.",
    find,
};

const LARGE: i64 = 12_345_678;
const PRINTED: &str = "1.2345678e+07";

fn find(view: &View<'_>, found: &mut Vec<LintFinding>) {
    let base = data(view, Fill::All);
    for (path, _) in leaves(view, &["integer", "number"]) {
        let Some(data) = with(view, &base, &path, json!(LARGE)) else { continue };
        for operation in view.operations.iter().filter(|one| one.reads(&path)) {
            let Some(made) = operation.made(&data) else { continue };
            let mut seen = false;
            texts(&made, operation.path, &mut |_, text| seen |= text.contains(PRINTED));
            if seen {
                let name = spelled(&path);
                found.push(LintFinding {
                    lint: LINT.name,
                    origin: operation.origin,
                    message: format!(
                        "the patch `{}` prints `{name}`, which becomes `{PRINTED}` for {LARGE}",
                        operation.patch
                    ),
                    hint: format!(
                        "write `{{{{ int64 .{name} }}}}`, or give the variable a maximum below 1000000"
                    ),
                });
            }
        }
    }
}
