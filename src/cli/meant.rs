//! Commands of other programs, and what does their work here.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// What people type, and what they want then.
const MEANT: [(&[&str], &str); 9] = [
    (
        &["plan", "diff", "preview"],
        "`stackloom generate --check` lists the files that would change; `stackloom topology CLUSTER --against REV` says which machines are replaced",
    ),
    (
        &["upgrade", "rebase", "rollback", "rollout"],
        "a cluster moves when `release` in its definition changes: `stackloom releases` lists releases, and `stackloom topology CLUSTER --release RELEASE` says what the move does",
    ),
    (
        &["rename", "mv", "move"],
        "a cluster with another name is another cluster: `stackloom new cluster NEW`, then `stackloom remove OLD --reason WHY`",
    ),
    (
        &["list", "ls", "get"],
        "`stackloom releases` lists releases with their clusters; `stackloom explain CLUSTER` lists the values of a cluster",
    ),
    (
        &["status"],
        "`stackloom generate --check` says whether generated/ is up to date; what runs is asked of the engine: `flux get kustomizations`",
    ),
    (
        &["apply", "deploy", "sync", "install"],
        "`stackloom generate --commit`, then `git push`: the engine applies what the branch has",
    ),
    (
        &["delete", "rm", "destroy"],
        "`stackloom remove CLUSTER --reason WHY` takes a cluster away step by step",
    ),
    (&["lint", "validate", "test", "verify"], "`stackloom check` looks for faults and writes nothing"),
    (&["build", "render", "template"], "`stackloom generate` writes generated/"),
];

/// What to say beside the message on an unknown command.
pub(super) fn advice(error: &clap::Error) -> Option<&'static str> {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return None;
    }
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    MEANT.iter().find(|(words, _)| words.contains(&typed.as_str())).map(|(_, advice)| *advice)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::MEANT;
    use crate::cli::Args;

    #[test]
    fn no_command_of_ours_is_among_them() {
        let command = Args::command();
        for word in MEANT.iter().flat_map(|(words, _)| words.iter()) {
            assert!(
                command.find_subcommand(word).is_none(),
                "`{word}` is a command now: take it from the list"
            );
        }
    }
}
