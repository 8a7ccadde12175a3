//! Completion scripts and man pages.

use std::process::Command;

use clap::CommandFactory as _;

use super::{cli, sandbox, support};

/// The output of a command.
fn printed(arguments: &[&str]) -> String {
    let output = cli::stackloom(&support::package()).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_shell_has_a_script_that_asks_the_program() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = printed(&["completions", shell]);
        assert!(script.contains("STACKLOOM_COMPLETE"), "{shell}: {script}");
        assert!(script.contains("stackloom"), "{shell}: {script}");
    }
}

/// Completes like bash when tab is pressed: with the function registered by the script.
#[test]
fn bash_completes_names_of_the_fleet() {
    let lines = [
        (&["wat"][..], "watch"),
        (&["generate", "--ch"], "--check"),
        (&["completions", "po"], "powershell"),
        (&["new", "addon", "d"], "docker/scs"),
        (&["new", "cluster", "x", "--stack", "o"], "openstack/scs"),
        (&["new", "cluster", "x", "--kubernetes", "1.3"], "1.34 1.35 1.36"),
        (&["new", "cluster", "x", "--management-cluster", ""], "lab mgmt"),
        (&["new", "cluster", "x", "--namespace", ""], "lab team-a team-b"),
        (&["remove", "dev-"], "dev-a-1 dev-a-2 dev-b-1"),
        (&["remove", "dev-a-1", "--addon", "me"], "metrics-server"),
        (&["generate", "--only", "dev-b"], "dev-b-1"),
        (&["generate", "--only", "clusters/prod"], "clusters/prod clusters/prod/eu-1 clusters/prod/eu-2"),
        (&["new", "cluster", "x", "--release", "h"], "head"),
        (&["new", "pool", "dev-a-1", "x", "--class", "d"], "default-worker"),
        (&["diff", "--fail-on", "un"], "unknown unannounced-deletes"),
        (&["topology", "staging-a"], "staging-a-1"),
        (&["affects", "clu"], "clusters/"),
        (&["affects", "generated/"], "generated/releases/"),
        (&["explain", "dev-a-1", "spec.controlP"], "spec.controlPlane.replicas"),
        (&["explain", "dev-a-1", "controlP"], "controlPlane.replicas"),
        (&["explain", "generated/rel"], "generated/releases/"),
        (&["-C", "stacks", "new", "cluster", "x", "--stack", "o"], "openstack/scs"),
    ];
    let mut script = "source <(stackloom completions bash)\n\
        ask() {\n\
        COMP_WORDS=(stackloom \"$@\"); COMP_CWORD=$#; COMP_TYPE=9; COMPREPLY=()\n\
        $(complete -p stackloom | sed 's/.* -F \\([^ ]*\\) .*/\\1/') stackloom \"${@: -1}\" \"${@: -2:1}\"\n\
        echo \"${COMPREPLY[*]}\"\n}\n"
        .to_owned();
    for (words, _) in &lines {
        let quoted: Vec<_> = words.iter().map(|word| format!("'{word}'")).collect();
        script.extend(["ask ", &quoted.join(" "), "\n"]);
    }
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_stackloom")).parent().unwrap().to_str().unwrap();
    let mut bash = Command::new("bash");
    cli::environment(&mut bash);
    bash.args(["--norc", "-c", &script]).current_dir(support::package());
    let output = bash.env("PATH", format!("{program}:{}", std::env::var("PATH").unwrap())).output().unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    let found = String::from_utf8(output.stdout).unwrap();
    let found: Vec<_> = found.lines().collect();
    assert_eq!(found, lines.map(|(_, expected)| expected), "{lines:?}");
}

/// The names of the man pages of a command and its subcommands.
fn names(command: &clap::Command, above: &str) -> Vec<String> {
    let name = format!("{above}{}", command.get_name());
    let below = command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help");
    let mut all: Vec<_> = below.flat_map(|below| names(below, &format!("{name}-"))).collect();
    all.push(name);
    all
}

#[test]
fn every_command_has_a_man_page() {
    let folder = sandbox::folder();
    let man = folder.path().join("man1");
    printed(&["man", "--out", man.to_str().unwrap()]);
    let pages = sandbox::snapshot(&man);
    let mut expected: Vec<_> =
        names(&stackloom::cli::Args::command(), "").into_iter().map(|name| format!("{name}.1")).collect();
    expected.sort();
    assert_eq!(pages.keys().cloned().collect::<Vec<_>>(), expected);
    assert!(expected.len() > 10);
    for (page, text) in pages {
        let text = String::from_utf8(text).unwrap();
        assert!(text.contains(".TH ") && text.contains(".SH SYNOPSIS"), "{page}: {text}");
    }
}
