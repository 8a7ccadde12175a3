//! Commands known from other programs, and their equivalents here.

use std::borrow::Cow;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::render;

/// Words that people type, and the advice for them. `ENGINES` stands for the commands of the engines.
const MEANT: [(&[&str], &str); 19] = [
    (
        &["plan", "preview", "what-if"],
        "`stackloom diff` says what a change does to all clusters; `stackloom generate --check` lists the files that would change",
    ),
    (
        &["pin", "unpin"],
        "`release: RELEASE` in a definition, or in the `_defaults.yaml` of its folder, pins clusters; `stackloom releases` lists what to pin, `stackloom release PROVIDER/STACK` makes a release",
    ),
    (
        &["show", "describe"],
        "`stackloom explain CLUSTER` shows the values of a cluster; `stackloom variables CLUSTER` and `stackloom topology CLUSTER` show what it can set and what it becomes",
    ),
    (
        &["rollback", "undo", "revert", "downgrade"],
        "to go back, write the former `release` into the definition or its folder's defaults, or `git revert` the commit; `stackloom topology CLUSTER --against HEAD` shows what that does, `stackloom generate --commit --all` commits it (docs/second-day.md)",
    ),
    (
        &["recover", "restore", "undelete", "repair"],
        "`stackloom generate` writes lost files of generated/ again; `git checkout COMMIT -- FILE` restores a definition or a release, and `git log --diff-filter=D -- clusters` finds the commit (docs/second-day.md)",
    ),
    (
        &["set", "edit", "patch", "config"],
        "edit the definition below clusters/, or its folder's `_defaults.yaml`: `stackloom explain CLUSTER` shows which line sets a value, and `stackloom variables CLUSTER` what can be set",
    ),
    (
        &["rebase"],
        "to move a cluster to another release: `stackloom upgrade plan` shows the steps, and `stackloom upgrade next` takes the first one",
    ),
    (
        &["mv", "move"],
        "`stackloom rename CLUSTER NEW` says why a cluster keeps its name, and moves its definition to another file or folder",
    ),
    (
        &["add", "create", "make"],
        "`stackloom new cluster NAME` adds a cluster; `stackloom new --help` lists what else there is to add",
    ),
    (
        &["list", "ls", "get"],
        "`stackloom clusters` lists clusters, `stackloom releases` lists releases; `stackloom explain CLUSTER` lists the values of a cluster",
    ),
    (
        &["status"],
        "`stackloom generate --check` shows whether generated/ is up to date; for the live state, ask the engine: ENGINES",
    ),
    (
        &["apply", "deploy", "sync", "install"],
        "`stackloom generate --commit`, then `git push`: the engine applies the branch",
    ),
    (&["delete", "rm", "destroy"], "`stackloom remove CLUSTER --reason WHY` deletes a cluster step by step"),
    (&["lint", "validate", "test", "verify"], "`stackloom check` looks for errors and writes nothing"),
    (
        &["version"],
        "`stackloom --version` prints the version of the program; `stackloom releases` lists the releases of stacks",
    ),
    (
        &["history", "log"],
        "`git log -- clusters` shows the commits that changed definitions; `stackloom diff COMMIT COMMIT` shows what changed between two of them, and `stackloom releases` lists releases",
    ),
    (
        &["fmt", "format"],
        "there is nothing to format: stackloom ignores the layout of definitions, and keeps it when it edits them; `stackloom check` finds errors",
    ),
    (
        &["kubeconfig", "connect"],
        "stackloom talks to no cluster: `clusterctl get kubeconfig CLUSTER --namespace NAMESPACE` prints the kubeconfig of a cluster, with access to its management cluster",
    ),
    (&["build", "render", "template"], "`stackloom generate` writes generated/"),
];

/// The advice for a message about the command line. If an unknown command has its own advice, clap's suggestion is removed
/// from the message.
pub(super) fn advice(error: &mut clap::Error) -> Option<Cow<'static, str>> {
    if error.kind() == ErrorKind::MissingRequiredArgument {
        let usage = error.to_string();
        return MISSING
            .iter()
            .find(|(command, _)| usage.contains(command))
            .map(|(_, advice)| Cow::Borrowed(*advice));
    }
    if error.kind() != ErrorKind::InvalidSubcommand {
        return None;
    }
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    let usage = error.get(ContextKind::Usage).map(ToString::to_string).unwrap_or_default();
    if usage.contains("stackloom new ")
        && let Some((_, advice)) = NEW.iter().find(|(words, _)| words.contains(&typed.as_str()))
    {
        error.remove(ContextKind::SuggestedSubcommand);
        error.remove(ContextKind::Suggested);
        return Some(Cow::Borrowed(advice));
    }
    if let Some((_, advice)) = GROUPS.iter().find(|(group, _)| usage.contains(group)) {
        return Some(Cow::Borrowed(advice));
    }
    let advice =
        MEANT.iter().find(|(words, _)| words.contains(&typed.as_str())).map(|(_, advice)| *advice)?;
    error.remove(ContextKind::SuggestedSubcommand);
    error.remove(ContextKind::Suggested);
    let commands: Vec<_> = render::list_commands().map(|command| format!("`{command}`")).collect();
    Some(Cow::Owned(advice.replace("ENGINES", &commands.join(" or "))))
}

/// Usages of commands that have commands of their own, and the advice for those who name a cluster or a stack instead.
const GROUPS: [(&str, &str); 3] = [
    (
        "stackloom upgrade ",
        "`stackloom upgrade plan CLUSTER` shows the steps, and `stackloom upgrade next CLUSTER` takes the first one",
    ),
    (
        "stackloom rollout ",
        "`stackloom rollout status ROLLOUT` shows where a rollout is, and `stackloom rollout next ROLLOUT` takes its next step",
    ),
    (
        "stackloom new ",
        "`stackloom new cluster NAME` adds a cluster; `stackloom new --help` lists what else there is to add",
    ),
];

/// What people ask `stackloom new` for, and the advice for them.
const NEW: [(&[&str], &str); 3] = [
    (
        &["release"],
        "`stackloom release PROVIDER/STACK` cuts a release; `--dry-run` shows what it would contain",
    ),
    (
        &["secret", "secrets"],
        "stackloom writes no Secrets: put an encrypted one into the `.d` folder beside the definition; `stackloom secrets` lists those that clusters need",
    ),
    (&["fleet", "repo", "repository", "project"], "`stackloom init` creates a fleet"),
];

/// Usages of commands that lack their arguments, and the advice for them.
const MISSING: [(&str, &str); 2] = [
    (
        "stackloom topology ",
        "`stackloom clusters` lists clusters; without a fleet, give files: `stackloom topology --from cluster.yaml class.yaml`",
    ),
    (
        "stackloom schema ",
        "`stackloom schema --help` lists the kinds; `stackloom schema --write schemas` writes the schemas of all of them",
    ),
];

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
