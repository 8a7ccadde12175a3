//! Finds text that changes its type when printed without quotes.

use serde_json::{Value as Json, json};

use super::{
    Lint, LintFinding,
    class::View,
    probe::{Fill, data, leaves, spelled, with},
};

pub(super) static LINT: Lint = Lint {
    name: "version-like-text",
    docs: "The output of a template is read as YAML again. Unless the template prints it in quotes, a text such as \
           `1.30` becomes the number 1.3, `012` becomes 10, and `on` becomes true.",
    find,
};

/// Strings that YAML reads as another type. The first that a schema accepts is used.
const LIKE_OTHERS: [&str; 4] = ["1.30", "012", "on", "null"];

fn find(view: &View<'_>, found: &mut Vec<LintFinding>) {
    let base = data(view, Fill::All);
    for (path, _) in leaves(view, &["string"]) {
        let probes =
            LIKE_OTHERS.iter().filter_map(|text| Some((text, with(view, &base, &path, json!(text))?)));
        let Some((probe, data)) = probes.into_iter().next() else { continue };
        for operation in view.operations.iter().filter(|one| one.reads(&path)) {
            let Some(text) = operation.rendered(&data) else { continue };
            let (Some(made), true) = (operation.made(&data), text.contains(probe)) else { continue };
            let read = gotmpl::yaml::parse(probe).unwrap_or_default();
            // Another string in its place shows whether the value would otherwise be a string.
            let Some(plain) =
                with(view, &base, &path, json!("sample")).and_then(|data| operation.made(&data))
            else {
                continue;
            };
            if turned(&plain, &made, &read) {
                let name = spelled(&path);
                found.push(LintFinding {
                    lint: LINT.name,
                    origin: operation.origin,
                    message: format!(
                        "the patch `{}` prints `{name}` without quotes: `{probe}` becomes {read}",
                        operation.patch
                    ),
                    hint: "pipe it through `quote`".to_owned(),
                });
            }
        }
    }
}

/// Whether a string in one value corresponds to this other value in the other.
fn turned(plain: &Json, made: &Json, read: &Json) -> bool {
    match (plain, made) {
        (Json::Object(one), Json::Object(other)) => {
            one.iter().any(|(key, value)| other.get(key).is_some_and(|made| turned(value, made, read)))
        }
        (Json::Array(one), Json::Array(other)) => {
            one.iter().zip(other).any(|(one, other)| turned(one, other, read))
        }
        (Json::String(text), made) => text == "sample" && made == read,
        _ => false,
    }
}
