//! The program as used by people and machines.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use serde_json::Value as Json;

use super::{sandbox, support};

const COMMANDS: &[&[&str]] = &[
    &[],
    &["init"],
    &["new"],
    &["new", "stack"],
    &["new", "addon"],
    &["new", "folder"],
    &["new", "cluster"],
    &["new", "pool"],
    &["clusters"],
    &["matrix"],
    &["variables"],
    &["secrets"],
    &["check"],
    &["generate"],
    &["release"],
    &["release", "prune"],
    &["release", "tag"],
    &["releases"],
    &["explain"],
    &["affects"],
    &["remove"],
    &["watch"],
    &["schema"],
    &["topology"],
    &["diff"],
    &["upgrade", "plan"],
    &["upgrade", "next"],
    &["rollout", "status"],
    &["rollout", "next"],
    &["rollout", "pause"],
    &["rollout", "resume"],
    &["rollout", "abort"],
    &["argocd", "health"],
    &["completions"],
    &["man"],
];

/// The program, run in a folder, isolated from this machine's git and terminal settings.
pub(super) fn stackloom(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stackloom"));
    command.current_dir(folder);
    environment(&mut command);
    command
}

/// An environment in which git knows the committer and nothing else.
pub(super) fn environment(command: &mut Command) {
    for name in ["NO_COLOR", "CLICOLOR_FORCE", "STACKLOOM_LOG", "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"]
    {
        command.env_remove(name);
    }
    let known = [
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_AUTHOR_NAME", "Test"),
        ("GIT_AUTHOR_EMAIL", "test@example.org"),
        ("GIT_COMMITTER_NAME", "Test"),
        ("GIT_COMMITTER_EMAIL", "test@example.org"),
        ("COLUMNS", "110"),
        ("LC_ALL", "C"),
        ("STACKLOOM_TODAY", "2026-11-23"),
    ];
    command.envs(known);
}

pub(super) struct Ran {
    pub(super) code: i32,
    pub(super) out: String,
    pub(super) err: String,
}

pub(super) fn ran(folder: &Path, arguments: &[&str]) -> Ran {
    let Output { status, stdout, stderr } = stackloom(folder).args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: status.code().unwrap(), out: text(stdout), err: text(stderr) }
}

/// Runs the program and checks its exit code.
pub(super) fn ends(folder: &Path, arguments: &[&str], code: i32) -> Ran {
    let ran = ran(folder, arguments);
    assert_eq!(ran.code, code, "{arguments:?}\n{}{}", ran.out, ran.err);
    ran
}

pub(super) fn json(folder: &Path, arguments: &[&str], code: i32) -> Json {
    let arguments: Vec<_> = arguments.iter().copied().chain(["--format", "json"]).collect();
    let ran = ends(folder, &arguments, code);
    let document: Json =
        serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {}", ran.out));
    assert_eq!(document["exit"], code, "{document:#}");
    document
}

pub(super) fn fleet() -> tempfile::TempDir {
    let root = sandbox::folder();
    ends(root.path(), &["init", "--name", "demo"], 0);
    root
}

#[test]
fn a_fleet_begins_in_an_empty_folder() {
    let root = sandbox::folder();
    let begun = ends(root.path(), &["init", "demo"], 0);
    assert!(begun.out.contains("files written"), "{}", begun.out);
    assert!(begun.err.contains("stackloom generate --commit"), "{}", begun.err);
    let demo = root.path().join("demo");
    ends(&demo, &["check"], 0);
    ends(&demo, &["generate", "--check"], 3);
    assert!(!demo.join("generated").exists(), "--check wrote something");
    let generated = ends(&demo, &["generate"], 0);
    assert!(generated.out.starts_with("1 cluster: "), "{}", generated.out);
    ends(&demo, &["generate", "--check"], 0);
    let before = sandbox::snapshot(&demo);
    let again = ends(&demo, &["init"], 1);
    assert!(again.err.contains("this folder already holds a fleet"), "{}", again.err);
    assert!(before == sandbox::snapshot(&demo), "a second init changed something");
}

#[test]
fn init_writes_our_own_stacks_and_schemas() {
    let root = fleet();
    ends(root.path(), &["new", "stack", "openstack/scs"], 0);
    for folder in ["stacks", "schemas"] {
        let own = sandbox::snapshot(&support::package().join(folder));
        let made = sandbox::snapshot(&root.path().join(folder));
        assert_eq!(made.keys().collect::<Vec<_>>(), own.keys().collect::<Vec<_>>());
        for (path, bytes) in &made {
            assert!(own[path] == *bytes, "{folder}/{path} is another than ours");
        }
    }
}

#[test]
fn a_new_cluster_adds_exactly_its_files() {
    let root = fleet();
    ends(root.path(), &["generate"], 0);
    let before = sandbox::snapshot(&root.path().join("generated"));
    let made = ends(root.path(), &["new", "cluster", "dev-2"], 0);
    assert!(made.out.contains("clusters/dev/dev-2.yaml"), "{}", made.out);
    ends(root.path(), &["generate"], 0);
    let after = sandbox::snapshot(&root.path().join("generated"));
    for (path, bytes) in &after {
        let own = path.contains("/team-a/dev-2");
        assert!(own || before.get(path) == Some(bytes), "{path} is not of the new cluster");
    }
    assert!(before.keys().all(|path| after.contains_key(path)), "something went");
    assert!(after.len() > before.len());
    ends(root.path(), &["new", "cluster", "dev-2"], 1);
    ends(root.path(), &["new", "cluster", "Dev_3"], 1);
    ends(root.path(), &["new", "cluster", "dev-3", "--folder", "elsewhere"], 1);
    ends(root.path(), &["new", "cluster", "dev-3", "--folder", "clusters/../../out"], 1);
}

#[test]
fn new_stacks_and_addons_are_sound_as_they_are() {
    let root = fleet();
    ends(root.path(), &["new", "stack", "hetzner/base"], 0);
    ends(root.path(), &["new", "stack", "openstack/other"], 0);
    ends(root.path(), &["new", "stack", "my-cloud/base"], 1);
    ends(root.path(), &["new", "stack", "docker/scs"], 1);
    let chart = ["--chart", "oci://quay.io/jetstack/charts/cert-manager", "--chart-version", "v1.19.1"];
    ends(root.path(), &[&["new", "addon", "docker/scs", "cert-manager"], chart.as_slice()].concat(), 0);
    ends(root.path(), &["new", "addon", "docker/scs", "priorities"], 0);
    ends(root.path(), &["new", "addon", "docker/unknown", "priorities"], 1);
    let hetzner = ["--stack", "hetzner/base", "--kubernetes", "1.35", "--namespace", "team-h"];
    ends(
        root.path(),
        &[&["new", "cluster", "h-1", "--folder", "clusters/hetzner"], hetzner.as_slice()].concat(),
        0,
    );
    ends(root.path(), &["check"], 0);
    ends(root.path(), &["generate"], 0);
}

#[test]
fn a_new_addon_fits_every_minor_of_its_stack() {
    let root = fleet();
    ends(root.path(), &["new", "stack", "hetzner/base"], 0);
    let stack = root.path().join("stacks/hetzner/base/stack.yaml");
    let text = fs::read_to_string(&stack).unwrap();
    let wider = text.replace("1.35.10", "1.36.6\n      maturity: supported\n    - version: 1.33.12");
    assert_ne!(text, wider);
    fs::write(&stack, wider).unwrap();
    let chart = ["--chart", "https://charts.example.org/dns", "--chart-version", "1.2.3"];
    ends(root.path(), &[&["new", "addon", "hetzner/base", "dns"], chart.as_slice()].concat(), 0);
    let addon = fs::read_to_string(root.path().join("stacks/hetzner/base/addons/dns/addon.yaml")).unwrap();
    assert!(addon.contains(">=1.33 <1.37"), "{addon}");
}

#[test]
fn new_refuses_what_is_wrong_before_it_writes() {
    let root = fleet();
    ends(root.path(), &["new", "stack", "hetzner/base"], 0);
    let before = sandbox::snapshot(root.path());
    let cluster = ["new", "cluster", "dev-9"];
    let faults: [&[&str]; 8] = [
        &["--management-cluster", "mgnt"],
        &["--namespace", "Team_A"],
        &["--kubernetes", "1.20", "--stack", "docker/scs"],
        &["--stack", "docker/unknown", "--kubernetes", "1.35"],
        &["--stack", "no-stack"],
        &["--stack", "docker/other"],
        &["--stack", "docker/scs", "--kubernetes", "1.35.1"],
        &["--folder", "clusters/dev/dev-1.yaml"],
    ];
    for fault in faults {
        let refused = ends(root.path(), &[&cluster, fault].concat(), 1);
        assert!(refused.err.contains("error["), "{fault:?}\n{}", refused.err);
        assert!(refused.err.contains("nothing was written"), "{}", refused.err);
    }
    // A cluster with this name already exists in another folder.
    ends(root.path(), &["new", "cluster", "dev-1", "--folder", "clusters/prod", "--namespace", "team-a"], 1);
    ends(root.path(), &["new", "addon", "docker/scs", "cilium"], 1);
    let chart = ["--chart", "https://charts.example.org/x", "--chart-version", "new"];
    ends(root.path(), &[&["new", "addon", "docker/scs", "x"], chart.as_slice()].concat(), 1);
    let taken = ends(root.path(), &["new", "stack", "docker/scs"], 1);
    assert_eq!(taken.err.matches("error[").count(), 1, "{}", taken.err);
    assert!(before == sandbox::snapshot(root.path()), "something was written");
    // Errors elsewhere are reported, but do not block the command.
    fs::write(root.path().join("clusters/dev/dev-3.yaml"), "kind: [").unwrap();
    let made = ends(root.path(), &["new", "addon", "docker/scs", "priorities"], 0);
    assert!(made.err.contains("`clusters/dev/dev-3.yaml`"), "{}", made.err);
    assert!(root.path().join("stacks/docker/scs/addons/priorities/addon.yaml").is_file());
}

#[test]
fn init_refuses_a_source_that_flux_cannot_read() {
    let root = sandbox::folder();
    for source in ["git@example.org:a/b.git", "https://user:secret@example.org/a.git", "a: b #"] {
        ends(root.path(), &["init", "demo", "--source", source], 1);
        assert!(!root.path().join("demo").exists(), "{source}");
    }
}

#[test]
fn a_fleet_in_a_larger_repository_says_where_it_lies() {
    let root = sandbox::folder();
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        environment(&mut command);
        assert!(command.args(arguments).current_dir(root.path()).status().unwrap().success());
    };
    git(&["init", "--quiet"]);
    ends(root.path(), &["init", "fleets/demo"], 0);
    let fleet = root.path().join("fleets/demo");
    assert!(!fleet.join(".git").exists(), "a repository in the repository");
    let file = fleet.join("stackloom.yaml");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("\n    path: fleets/demo\n"), "{text}");
    ends(&fleet, &["generate", "--commit"], 0);
    let entry = fs::read_to_string(fleet.join("generated/management/mgmt/flux/entry.yaml")).unwrap();
    assert!(entry.contains("path: ./fleets/demo/generated/management/mgmt/flux\n"), "{entry}");
    for (wrong, reported) in
        [("", "the top of the repository"), ("    path: fleets/other\n", "`fleets/other`")]
    {
        fs::write(&file, text.replace("    path: fleets/demo\n", wrong)).unwrap();
        for command in [&["check"][..], &["generate"], &["generate", "--commit"], &["generate", "--check"]] {
            let refused = ends(&fleet, command, 1);
            assert!(refused.err.contains("error[source-path]"), "{}", refused.err);
            assert!(
                refused.err.contains(reported) && refused.err.contains("path: fleets/demo"),
                "{}",
                refused.err
            );
        }
    }
    let source = "    ref: { kind: OCIRepository, name: fleet }\n";
    let (start, rest) = text.split_once("    url:").unwrap();
    let rest = &rest[rest.find("  clusterApi").unwrap()..];
    fs::write(&file, format!("{start}{source}{rest}")).unwrap();
    let warned = ends(&fleet, &["check"], 0);
    assert!(warned.err.contains("warning[source-path]"), "{}", warned.err);
}

#[test]
fn exit_codes_say_whose_fault_it_is() {
    let root = fleet();
    ends(root.path(), &["generate"], 0);
    ends(root.path(), &["generate", "--chek"], 2);
    ends(root.path(), &["generate", "--check", "--commit"], 2);
    ends(root.path(), &["schema"], 2);
    ends(root.path(), &[], 2);
    ends(root.path(), &["-C", "nowhere", "check"], 4);
    fs::write(root.path().join("clusters/dev/dev-2.yaml"), "kind: [").unwrap();
    let faulty = ends(root.path(), &["generate"], 1);
    assert!(faulty.err.contains("clusters/dev/dev-2.yaml:1:7"), "{}", faulty.err);
    assert!(faulty.err.contains("nothing was written"), "{}", faulty.err);
    ends(root.path(), &["check"], 1);
    ends(root.path(), &["generate", "--check"], 1);
    ends(sandbox::folder().path(), &["check"], 1);
}

#[test]
fn json_is_json_however_it_ends() {
    let root = sandbox::folder();
    let begun = json(root.path(), &["init", "--name", "demo"], 0);
    assert!(begun["files"].as_array().unwrap().len() > 10);
    let generated = json(root.path(), &["generate"], 0);
    let name = serde_json::json!({ "managementCluster": "mgmt", "namespace": "team-a", "name": "dev-1" });
    assert_eq!(generated["clusters"], serde_json::json!([name]));
    assert_eq!(generated["summary"]["added"], generated["files"].as_object().unwrap().len());
    assert_eq!(json(root.path(), &["check"], 0)["diagnostics"], Json::Array(Vec::new()));
    json(root.path(), &["new", "cluster", "dev-2"], 0);
    let changes = json(root.path(), &["generate", "--check"], 3);
    assert!(changes["files"].as_object().unwrap().values().all(|change| change == "added"));
    json(root.path(), &["new", "cluster", "dev-2"], 1);
    json(root.path(), &["init"], 1);
    json(root.path(), &["schema", "--write", "schemas"], 0);
    let fault = json(root.path(), &["-C", "nowhere", "check"], 4);
    assert!(fault["fault"].as_str().unwrap().contains("nowhere"));
    fs::write(root.path().join("clusters/dev/dev-2.yaml"), "kind: Cluster\n").unwrap();
    for command in ["check", "generate"] {
        let wrong = json(root.path(), &[command], 1);
        let first = &wrong["diagnostics"][0];
        assert_eq!(first["code"], "wrong-kind");
        assert_eq!(first["place"]["file"], "clusters/dev/dev-2.yaml");
        assert_eq!((&first["place"]["line"], &first["place"]["column"]), (&1.into(), &7.into()));
        assert_eq!(first["place"]["text"], "kind: Cluster");
    }
}

#[test]
fn help_teaches_by_example() {
    let root = sandbox::folder();
    for &command in COMMANDS {
        let help = ends(root.path(), &[command, &["--help"]].concat(), 0);
        assert!(help.err.is_empty());
        assert!(help.out.contains("Usage: stackloom"), "{}", help.out);
        // `new` only lists its subcommands; each of those has examples.
        if command != ["new"] {
            assert!(help.out.contains("Examples:\n"), "{command:?}\n{}", help.out);
            assert!(help.out.contains(&format!("  stackloom {}", command.join(" "))), "{}", help.out);
        }
        assert!(help.out.lines().all(|line| line.chars().count() <= 120), "{}", help.out);
    }
    let version = ends(root.path(), &["--version"], 0);
    assert_eq!(version.out, format!("stackloom {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn colours_come_only_where_they_are_wanted() {
    let root = fleet();
    fs::write(root.path().join("clusters/dev/dev-2.yaml"), "kind: [").unwrap();
    let coloured = |arguments: &[&str], no_color: bool| {
        let mut command = stackloom(root.path());
        if no_color {
            command.env("NO_COLOR", "1");
        }
        let out = command.args(arguments).output().unwrap();
        out.stderr.contains(&0x1b) || out.stdout.contains(&0x1b)
    };
    assert!(!coloured(&["check"], false), "no terminal, no colours");
    assert!(!coloured(&["check"], true));
    assert!(!coloured(&["check", "--color", "never"], false));
    assert!(coloured(&["check", "--color", "always"], false));
    assert!(!coloured(&["check", "--help"], true));
}

#[test]
fn quiet_says_only_what_is_wrong() {
    let root = fleet();
    let quiet = ends(root.path(), &["-q", "generate"], 0);
    assert_eq!((quiet.out.as_str(), quiet.err.as_str()), ("", ""));
    let verbose = ends(root.path(), &["generate", "-v"], 0);
    assert!(verbose.out.contains("0 files written"), "{}", verbose.out);
    ends(root.path(), &["-q", "-v", "generate"], 2);
    fs::write(root.path().join("clusters/dev/dev-2.yaml"), "kind: [").unwrap();
    let wrong = ends(root.path(), &["-q", "generate"], 1);
    assert_eq!(wrong.out, "");
    assert!(wrong.err.contains("error[yaml-syntax]"), "{}", wrong.err);
}

/// `-C` makes the same tree from another folder, and paths in messages stay relative to the fleet.
#[test]
fn another_folder_makes_no_difference() {
    let root = fleet();
    let elsewhere = sandbox::folder();
    let path = root.path().to_str().unwrap();
    ends(elsewhere.path(), &["-C", path, "generate"], 0);
    let before = sandbox::snapshot(root.path());
    ends(root.path(), &["generate"], 0);
    ends(&root.path().join("clusters"), &["-C", "..", "generate", "--check"], 0);
    assert!(before == sandbox::snapshot(root.path()));
    fs::write(root.path().join("clusters/dev/dev-2.yaml"), "kind: [").unwrap();
    let wrong = ends(elsewhere.path(), &["-C", path, "check"], 1);
    assert!(wrong.err.contains("--> clusters/dev/dev-2.yaml:1:7"), "{}", wrong.err);
}

#[test]
fn words_that_people_type_lead_to_the_command_that_they_mean() {
    let root = fleet();
    for (arguments, tip) in [
        (&["rollback", "dev-1"][..], "write the former `release` into the definition"),
        (&["undo"], "or `git revert` the commit"),
        (&["restore", "dev-1"], "`git checkout COMMIT -- FILE` restores a definition"),
        (&["set", "dev-1", "replicas", "3"], "`stackloom explain CLUSTER` shows which line sets a value"),
    ] {
        let said = ends(root.path(), arguments, 2).err;
        assert!(said.contains(tip) && !said.contains("similar subcommand"), "{said}");
    }
    let short = ends(root.path(), &["upgrade", "plan", "--kubernetes", "1.36"], 0);
    assert_eq!(short.out, ends(root.path(), &["upgrade", "plan", "--to-kubernetes", "1.36"], 0).out);
}

#[test]
fn schemas_are_printed_and_written() {
    let root = sandbox::folder();
    ends(root.path(), &["schema", "--write", "all"], 0);
    for entry in fs::read_dir(root.path().join("all")).unwrap() {
        let path = entry.unwrap().path();
        let kind = sandbox::name(&path).strip_suffix(".schema.json").unwrap();
        assert_eq!(ends(root.path(), &["schema", kind], 0).out, fs::read_to_string(&path).unwrap());
    }
    ends(root.path(), &["schema", "cluster"], 2);
    let unfinished = ends(root.path(), &["schema", "--check"], 2).err;
    assert!(unfinished.contains("stackloom schema [OPTIONS] --write <DIR> [--check]"), "{unfinished}");
    assert!(unfinished.contains("--write <DIR>\n\nUsage:"), "a kind is asked for, too: {unfinished}");
}

#[test]
fn new_works_beside_definitions_with_errors() {
    let root = fleet();
    let broken = root.path().join("clusters/dev/dev-1.yaml");
    let text = fs::read_to_string(&broken).unwrap();
    fs::write(&broken, text.replace("replicas: 1", "replicsa: 1")).unwrap();
    let made = ends(root.path(), &["new", "cluster", "dev-2"], 0);
    assert!(made.err.contains("clusters/dev/dev-1.yaml"), "{}", made.err);
    assert!(root.path().join("clusters/dev/dev-2.yaml").exists());
    let defaults = root.path().join("clusters/dev/_defaults.yaml");
    let text = fs::read_to_string(&defaults).unwrap();
    fs::write(&defaults, text.replace("network:", "netwrok:")).unwrap();
    let refused = ends(root.path(), &["new", "cluster", "dev-3", "--folder", "clusters/dev"], 1);
    assert!(refused.err.contains("netwrok"), "{}", refused.err);
    assert!(!root.path().join("clusters/dev/dev-3.yaml").exists());
}

#[test]
fn a_chart_without_an_address_is_reported_once() {
    let root = fleet();
    let arguments =
        ["new", "addon", "docker/scs", "dns", "--chart", "cilium/cilium", "--chart-version", "1.18.0"];
    let refused = ends(root.path(), &arguments, 1);
    assert!(refused.err.contains("1 error\n") && refused.err.contains("helm repo list"), "{}", refused.err);
    assert!(refused.err.contains("`cilium/cilium` is not the address of a chart"), "{}", refused.err);
    assert!(!refused.err.contains("there is no stack"), "{}", refused.err);
}

#[test]
fn commands_of_other_programs_lead_to_ours() {
    let root = sandbox::folder();
    for (typed, ours) in [
        ("plan", "generate --check"),
        ("preview", "stackloom diff"),
        ("mv", "stackloom rename"),
        ("rebase", "upgrade plan"),
        ("list", "stackloom releases"),
        ("status", "generate --check"),
    ] {
        let refused = ends(root.path(), &[typed], 2);
        assert!(refused.err.contains(&format!("unrecognized subcommand '{typed}'")), "{}", refused.err);
        assert!(refused.err.contains(ours), "{}", refused.err);
    }
    let refused = ends(root.path(), &["a\u{202e}b"], 2);
    assert!(refused.err.contains("'a\\u{202e}b'") && !refused.err.contains('\u{202e}'), "{}", refused.err);
    let refused = ends(root.path(), &["frobnicate"], 2);
    assert!(!refused.err.contains("tip: `"), "{}", refused.err);
}

#[test]
fn init_takes_an_address_and_does_not_ask_for_it_again() {
    let address = "https://git.example.com/us/fleet.git";
    let root = sandbox::folder();
    let begun = ends(root.path(), &["init", "demo", "--source", address], 0);
    assert!(!begun.err.contains("set `source.url`"), "{}", begun.err);
    assert!(begun.err.contains(&format!("git remote add origin {address}")), "{}", begun.err);
    let fleet = fs::read_to_string(root.path().join("demo/stackloom.yaml")).unwrap();
    assert!(fleet.contains(&format!("url: {address}")), "{fleet}");
    let begun = ends(root.path(), &["init", "other"], 0);
    assert!(begun.err.contains("set `source.url`"), "{}", begun.err);
}

#[test]
fn explain_of_a_source_leads_to_affects() {
    let root = fleet();
    let refused = ends(root.path(), &["explain", "clusters/dev/dev-1.yaml:7"], 1);
    assert!(refused.err.contains("`stackloom affects clusters/dev/dev-1.yaml`"), "{}", refused.err);
}
