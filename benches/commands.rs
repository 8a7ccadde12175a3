//! Measures every command in a large fleet: CPU time, elapsed time and peak memory of the whole process.
//!
//! ```sh
//! cargo bench --bench commands                              # all commands, with 10,000 clusters
//! cargo bench --bench commands -- affects                   # those whose names contain this word
//! cargo bench --bench commands -- --clusters 1000
//! cargo bench --bench commands -- --write /tmp/fleet        # make the fleet, with its repository, and measure nothing
//! ```
//!
//! It exits with 1 if a command exceeds its limits. On a busy machine, look at the CPU time.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::exit,
    reason = "a benchmark makes its own fleet, starts the program, and prints what it found"
)]

#[path = "support/cost.rs"]
mod cost;
#[expect(dead_code, reason = "tests use the rest")]
#[path = "../tests/support/mod.rs"]
mod support;

use std::{
    fs,
    path::Path,
    process::{self, Command, Stdio},
};

/// The default limit of a command.
const LIMIT: Limit = Limit { seconds: 5.0, megabytes: 500.0 };
/// The limit of a comparison in which one cluster differs.
const ONE_DIFFERS: Limit = Limit { seconds: 3.0, megabytes: 400.0 };
/// The limit of a command that explains a large part of the tree. Each of its lines is looked up.
const EXPLAINS_MOST: Limit = Limit { seconds: 6.0, megabytes: 500.0 };
/// The limit of a command that writes a large part of the tree of 125,000 files.
const WHOLE_TREE: Limit = Limit { seconds: 15.0, megabytes: 700.0 };
/// The limit of a comparison in which most clusters differ.
const MANY_DIFFER: Limit = Limit { seconds: 10.0, megabytes: 600.0 };

/// The limits of a command: CPU or elapsed time in seconds, whichever is less, and memory.
#[derive(Clone, Copy)]
struct Limit {
    seconds: f64,
    megabytes: f64,
}

/// A command to measure.
struct Row {
    name: &'static str,
    arguments: &'static [&'static str],
    /// A file to change beforehand, the text to replace, and its replacement. For `watch`, the change that it sees.
    edit: Option<(&'static str, &'static str, &'static str)>,
    limit: Limit,
    environment: &'static [(&'static str, &'static str)],
}

const fn row(name: &'static str, arguments: &'static [&'static str]) -> Row {
    Row { name, arguments, edit: None, limit: LIMIT, environment: &[] }
}

/// How the script for bash asks the program to complete the word at an index.
const fn bash(index: &'static str) -> [(&'static str, &'static str); 5] {
    [
        ("STACKLOOM_COMPLETE", "bash"),
        ("_CLAP_COMPLETE_INDEX", index),
        ("_CLAP_COMPLETE_COMP_TYPE", "9"),
        ("_CLAP_COMPLETE_SPACE", "true"),
        ("_CLAP_IFS", "\n"),
    ]
}

const ROLLOUT: &str = "\
apiVersion: stackloom.dev/v1alpha1
kind: Rollout
metadata: { name: k136 }
spec:
  reason: a benchmark
  target: { kubernetes: \"1.36\" }
  waves:
    - { name: staging, selector: env=staging, soak: 1d }
    - { name: rest }
  maxClusters: 100
";

const CILIUM: &str = "stacks/openstack/scs/addons/cilium/values.yaml";
const EDIT: Option<(&str, &str, &str)> = Some((CILIUM, "tunnelProtocol: vxlan", "tunnelProtocol: geneve"));
const ONE: Option<(&str, &str, &str)> = Some((DEFINITION, "replicas: 6", "replicas: 7"));
const DEFINITION: &str = "clusters/prod/eu-1/1.35/c-00005.yaml";
const CLUSTER: &str = "generated/management/mgmt/clusters/team-00/c-00005/cluster/cluster.yaml";

const ROWS: &[Row] = &[
    row("check", &["check"]),
    row("check one file", &["check", DEFINITION]),
    Row { limit: MANY_DIFFER, ..row("check --against HEAD", &["check", "--against", "HEAD"]) },
    row("generate, nothing changed", &["generate"]),
    Row { edit: EDIT, limit: WHOLE_TREE, ..row("generate, a value of every cluster", &["generate"]) },
    row("generate --check", &["generate", "--check"]),
    Row {
        edit: EDIT,
        limit: WHOLE_TREE,
        ..row("generate --commit, a value of every cluster", &["generate", "--commit"])
    },
    Row { edit: ONE, ..row("generate --only, one cluster", &["generate", "--only", "c-00005"]) },
    Row { edit: ONE, ..row("watch, one cluster", &["watch"]) },
    Row { edit: EDIT, limit: MANY_DIFFER, ..row("diff, a value of every cluster", &["diff", "HEAD"]) },
    Row {
        edit: EDIT,
        limit: MANY_DIFFER,
        ..row("diff as Markdown", &["diff", "HEAD", "--format", "markdown"])
    },
    Row { edit: EDIT, limit: MANY_DIFFER, ..row("diff as SARIF", &["diff", "HEAD", "--format", "sarif"]) },
    Row {
        edit: EDIT,
        limit: MANY_DIFFER,
        ..row("diff as HTML", &["diff", "HEAD", "--write", "html=.git/diff.html"])
    },
    Row { edit: ONE, limit: ONE_DIFFERS, ..row("diff, one cluster", &["diff", "HEAD"]) },
    Row { limit: ONE_DIFFERS, ..row("diff of two commits", &["diff", "HEAD", "HEAD"]) },
    row(
        "affects, a line of an addon's values",
        &["affects", "stacks/openstack/scs/addons/cilium/values.yaml:4"],
    ),
    row("affects, a file of an addon's values", &["affects", CILIUM]),
    row("affects, a line of a definition", &["affects", "clusters/prod/eu-1/1.35/c-00005.yaml:4"]),
    Row {
        limit: EXPLAINS_MOST,
        ..row("affects, a line of the first defaults", &["affects", "clusters/_defaults.yaml:9"])
    },
    row("affects, a line of a folder's defaults", &["affects", "clusters/prod/_defaults.yaml:9"]),
    row(
        "affects, a patch of a class",
        &["affects", "stacks/openstack/scs/cluster-class/cluster-class.yaml:500"],
    ),
    Row { limit: EXPLAINS_MOST, ..row("affects, stackloom.yaml", &["affects", "stackloom.yaml"]) },
    Row {
        limit: EXPLAINS_MOST,
        ..row("affects, a line of stackloom.yaml", &["affects", "stackloom.yaml:12"])
    },
    row("explain, a generated file", &["explain", CLUSTER]),
    row("explain, a value", &["explain", "c-00005", "controlPlane.replicas"]),
    row("explain, a cluster", &["explain", "c-00005"]),
    row("topology", &["topology", "c-00005"]),
    row("topology --against HEAD", &["topology", "c-00005", "--against", "HEAD"]),
    row("clusters", &["clusters", "--today", "2026-06-01"]),
    row("matrix", &["matrix", "--today", "2026-06-01"]),
    row("matrix of a stack", &["matrix", "openstack/scs"]),
    row("upgrade plan", &["upgrade", "plan", "--to-kubernetes", "1.36"]),
    row("rollout status", &["rollout", "status", "k136"]),
    Row {
        environment: &bash("2"),
        ..row("completion of a cluster", &["--", "stackloom", "explain", "c-0000"])
    },
    Row {
        environment: &bash("5"),
        ..row("completion of a namespace", &["--", "stackloom", "new", "cluster", "a", "--namespace", ""])
    },
    row("releases", &["releases"]),
    row("secrets", &["secrets"]),
    row("secrets of a cluster", &["secrets", "c-00005"]),
    row("variables", &["variables", "c-00005"]),
    row(
        "new cluster",
        &["new", "cluster", "added", "--folder", "clusters/prod/eu-1/1.35", "--namespace", "team-00"],
    ),
    row("new pool", &["new", "pool", "c-00005", "added"]),
    row("rename", &["rename", "c-00005", "c-renamed"]),
    row("migrate", &["migrate"]),
    row("remove", &["remove", "c-00005", "--reason", "a benchmark"]),
    row("release --dry-run", &["release", "--dry-run"]),
    row("release prune --dry-run", &["release", "prune", "--dry-run"]),
    row("schema --stacks", &["schema", "--stacks", "--write", "schemas/stacks"]),
];

fn main() {
    cost::measure_if_asked();
    let mut arguments: Vec<String> = std::env::args().skip(1).filter(|one| one != "--bench").collect();
    let clusters = take(&mut arguments, "--clusters").map_or(10_000, |count| count.parse().unwrap());
    if let Some(folder) = take(&mut arguments, "--write") {
        write(Path::new(&folder), clusters);
        return;
    }
    let made = take(&mut arguments, "--in");
    let scratch = tempfile::tempdir().unwrap();
    let folder = made.as_ref().map_or(scratch.path(), Path::new);
    if made.is_none() {
        write(folder, clusters);
    }
    let rows = ROWS
        .iter()
        .filter(|row| arguments.is_empty() || arguments.iter().any(|word| row.name.contains(word.as_str())));
    println!("{clusters} clusters{:>41}  {:>8}  {:>8}", "cores", "clock", "memory");
    let mut over = 0;
    for row in rows {
        let [cores, clock, memory] = run(folder, row);
        let is_over = cores.min(clock) > row.limit.seconds || memory > row.limit.megabytes;
        over += usize::from(is_over);
        let mark = if is_over { "  over the limit" } else { "" };
        println!("{:<48}{cores:>6.2} s  {clock:>6.2} s  {memory:>5.0} MB{mark}", row.name);
    }
    process::exit(i32::from(over > 0));
}

/// Removes an option from the arguments and returns its value.
fn take(arguments: &mut Vec<String>, name: &str) -> Option<String> {
    let at = arguments.iter().position(|one| one == name)?;
    arguments.remove(at);
    Some(arguments.remove(at))
}

/// Creates the fleet in a git repository. Development clusters follow the stacks; all others use numbered releases.
fn write(root: &Path, clusters: usize) {
    for (path, text) in support::large::large(clusters).0 {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    fs::create_dir_all(root.join("rollouts")).unwrap();
    fs::write(root.join("rollouts/k136.yaml"), ROLLOUT).unwrap();
    git(root, &["init", "--quiet", "--initial-branch", "main"]);
    for (name, value) in [("user.name", "Bench"), ("user.email", "bench@example.org"), ("gc.auto", "0")] {
        git(root, &["config", name, value]);
    }
    git(root, &["add", "--all"]);
    git(root, &["commit", "--quiet", "--message", "The fleet"]);
    stackloom(root, &["release", "--no-tag"]);
    for (folder, minor) in [("staging", "1.36"), ("prod/eu-1", "1.36"), ("prod/eu-2", "1.35")] {
        let text = format!(
            "apiVersion: stackloom.dev/v1alpha1\nkind: ClusterDefaults\nspec:\n  release: openstack-scs-{}-v1\n",
            minor.replace('.', "-")
        );
        fs::write(root.join(format!("clusters/{folder}/{minor}/_defaults.yaml")), text).unwrap();
    }
    git(root, &["commit", "--quiet", "--all", "--message", "Numbered releases for production"]);
    stackloom(root, &["generate", "--commit"]);
}

fn git(root: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    let done = command.current_dir(root).args(arguments).stdin(Stdio::null()).status().unwrap();
    assert!(done.success(), "git {arguments:?} failed");
}

fn stackloom(root: &Path, arguments: &[&str]) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stackloom"));
    let done = command.current_dir(root).args(arguments).stdout(Stdio::null()).status().unwrap();
    assert!(done.success(), "stackloom {arguments:?} failed");
}

/// Returns CPU seconds, elapsed seconds and megabytes. Restores the fleet afterwards.
fn run(root: &Path, row: &Row) -> [f64; 3] {
    // Makes git look at every file, so that no row pays for the changes of the previous one.
    git(root, &["status", "--short", "--untracked-files=all"]);
    let is_watch = row.arguments == ["watch"];
    if let Some((file, from, to)) = row.edit.filter(|_| !is_watch) {
        let text = fs::read_to_string(root.join(file)).unwrap();
        assert!(text.contains(from), "{file} has no `{from}`");
        fs::write(root.join(file), text.replace(from, to)).unwrap();
    }
    let head = Command::new("git").current_dir(root).args(["rev-parse", "HEAD"]).output().unwrap().stdout;
    let cost = match row.edit.filter(|_| is_watch) {
        Some(edit) => cost::of_watch(root, edit),
        None => cost::of(root, row.arguments, &[0, 3], row.environment),
    };
    git(root, &["reset", "--quiet", "--hard", String::from_utf8(head).unwrap().trim()]);
    git(root, &["clean", "--quiet", "-d", "--force"]);
    [cost.cores, cost.clock, cost.memory]
}
