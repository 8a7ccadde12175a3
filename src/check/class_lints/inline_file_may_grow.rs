//! Finds files for machines that may exceed Cluster API's length limit.

use serde_json::json;

use super::{
    Lint, LintFinding,
    class::{Operation, View},
    probe::{Fill, data, leaves, spelled, texts, with},
};

pub(super) static LINT: Lint = Lint {
    name: "inline-file-may-grow",
    docs: "A file in a kubeadm configuration can have at most 10240 characters. The longest value that a variable's \
           schema allows makes this file longer, and then the topology of the cluster is stuck.",
    find,
};

/// The limit of `files[].content` in the schema of `KubeadmConfig`, in characters.
const LIMIT: usize = 10_240;

fn find(view: &View<'_>, found: &mut Vec<LintFinding>) {
    let base = data(view, Fill::All);
    for (path, schema) in leaves(view, &["string"]) {
        let Some(most) = schema["maxLength"].as_u64().and_then(|most| usize::try_from(most).ok()) else {
            continue;
        };
        // A value that alone just exceeds the limit is enough to tell whether the file can become too long.
        let Some(data) = with(view, &base, &path, json!("x".repeat(most.min(LIMIT + 1)))) else { continue };
        let may_grow = |one: &&Operation<'_>| one.kind.starts_with("Kubeadm") && one.reads(&path);
        for operation in view.operations.iter().filter(may_grow) {
            let Some(made) = operation.made(&data) else { continue };
            let mut longest = 0;
            texts(&made, operation.path, &mut |path, text| {
                if path.contains("/files") && path.ends_with("/content") {
                    longest = longest.max(text.chars().count());
                }
            });
            if longest > LIMIT
                && !found.iter().any(|one| one.lint == LINT.name && one.origin == operation.origin)
            {
                let name = spelled(&path);
                found.push(LintFinding {
                    lint: LINT.name,
                    origin: operation.origin,
                    message: format!(
                        "the patch `{}` makes a file of more than {LIMIT} characters if `{name}` has {most}",
                        operation.patch
                    ),
                    hint: format!("give `{name}` a smaller `maxLength`, or use `contentFrom` for the file"),
                });
            }
        }
    }
}
