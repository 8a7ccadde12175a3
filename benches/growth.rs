//! Checks that the time for long input grows no faster than its length. Each row is checked at one length and at twice that
//! length.
//!
//! ```sh
//! cargo bench --bench growth                # all
//! cargo bench --bench growth -- pools       # those whose names contain this word
//! ```
//!
//! It exits with 1 if a row takes more than three times as long at twice the length, or exceeds the limits of time and memory.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::exit,
    reason = "a benchmark makes its own fleet, starts the program, and prints what it found"
)]

#[expect(dead_code, reason = "another benchmark uses the rest")]
#[path = "support/cost.rs"]
mod cost;

use std::{
    fs,
    path::{Path, PathBuf},
    process,
};

/// The limit of CPU time for one file, in seconds.
const SECONDS: f64 = 2.0;
/// The limit of memory for one file, in megabytes.
const MEGABYTES: f64 = 500.0;
/// The largest ratio of the times for twice the input, including noise.
const GROWTH: f64 = 3.0;
/// The shortest time in seconds for which the ratio is meaningful.
const NOISE: f64 = 0.3;

const STACK: &str = "stacks/dev/inmemory";
const VALUES: &str = "stacks/dev/inmemory/addons/demo/values.yaml";
const CLUSTER: &str = "clusters/blue/one.yaml";
const CLASS: &str = "stacks/dev/inmemory/cluster-class/cluster-class.yaml";

/// A kind of content that a file repeats.
struct Row {
    name: &'static str,
    count: usize,
    write: fn(&Fleet, usize),
    command: &'static [&'static str],
    /// The content that is committed and generated before; the command compares with it.
    before: Option<fn(&Fleet, usize)>,
}

const fn row(name: &'static str, count: usize, write: fn(&Fleet, usize)) -> Row {
    Row { name, count, write, command: &["check"], before: None }
}

/// A row whose change is compared with a commit.
const fn changed(
    name: &'static str,
    count: usize,
    before: fn(&Fleet, usize),
    write: fn(&Fleet, usize),
) -> Row {
    Row { name, count, write, command: &["diff", "HEAD"], before: Some(before) }
}

const ROWS: &[Row] = &[
    row("keys of values", 50_000, |fleet, n| {
        fleet.put(VALUES, &many(n, |i| format!("k{i}: v{i}\n")));
    }),
    row("templates in one value", 100_000, |fleet, n| {
        fleet.put(VALUES, &format!("t: '{}'\n", "{{ x }} ".repeat(n)));
    }),
    row("maps in a list of values", 50_000, |fleet, n| {
        fleet.put(VALUES, &format!("l:\n{}", many(n, |i| format!("  - name: v{i}\n"))));
    }),
    row("keys in one line", 50_000, |fleet, n| {
        fleet.put(VALUES, &format!("m: {{{}}}\n", many(n, |i| format!("k{i}: v{i}, "))));
    }),
    row("unknown keys", 50_000, |fleet, n| {
        fleet.insert(CLUSTER, "      replicas: 2\n", &many(n, |i| format!("  k{i}: v{i}\n")));
    }),
    row("duplicate keys", 50_000, |fleet, n| {
        fleet.put(VALUES, &many(n, |i| format!("k: v{i}\n")));
    }),
    row("expressions", 10_000, |fleet, n| {
        fleet.put(VALUES, &many(n, |i| format!("m{i}: ${{{{ cluster.name }}}}\n")));
    }),
    row("expressions that are wrong", 10_000, |fleet, n| {
        fleet.put(VALUES, &format!("m: \"{}\"\n", "${{ cluster.nope }}".repeat(n)));
    }),
    row("statements", 5_000, |fleet, n| {
        fleet.put(VALUES, &many(n, |i| format!("#% if cluster.name\nm{i}: a\n#% endif\n")));
    }),
    row("turns of a loop", 50_000, |fleet, n| {
        fleet.put(VALUES, &format!("#% for i in range({n})\nk${{{{ i }}}}: a\n#% endfor\n"));
    }),
    row("lines of a text", 300_000, |fleet, n| {
        fleet.put(VALUES, &format!("m: |\n{}", "  abcdefgh\n".repeat(n)));
    }),
    row("comments", 90_000, |fleet, n| {
        fleet.put(VALUES, &format!("{}m: a\n", "# abcdefgh\n".repeat(n)));
    }),
    row("scalars that readers disagree about", 50_000, |fleet, n| {
        fleet.put(VALUES, &many(n, |i| format!("k{i}: yes\n")));
    }),
    row("what looks like a secret", 20_000, |fleet, n| {
        fleet.put(VALUES, &many(n, |i| format!("password{i}: aB3dE5fG7hI9jK1lM{i}\n")));
    }),
    row("private keys in a text", 20_000, |fleet, n| {
        fleet.put(VALUES, &format!("m: |\n{}", "  -----BEGIN PRIVATE KEY-----\n".repeat(n)));
    }),
    row("assignments in a line", 20_000, |fleet, n| {
        fleet.put(VALUES, &format!("m: \"{}\"\n", "://a:b".repeat(n)));
    }),
    row("documents of an addon", 5_000, |fleet, n| {
        let object = |i| {
            format!("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{ name: c{i}, namespace: notes }}\n")
        };
        fleet.put(&format!("{STACK}/addons/notes/manifests/notes.yaml"), &many(n, object));
    }),
    row("files of an addon", 5_000, |fleet, n| {
        for i in 0..n {
            let object =
                format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{ name: c{i}, namespace: notes }}\n");
            fleet.put(&format!("{STACK}/addons/notes/manifests/f{i}.yaml"), &object);
        }
    }),
    row("files beside a cluster", 5_000, |fleet, n| {
        for i in 0..n {
            let object =
                format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{ name: c{i}, namespace: blue }}\n");
            fleet.put(&format!("clusters/blue/one.d/f{i}.yaml"), &object);
        }
    }),
    row("entries of an object beside a cluster", 30_000, |fleet, n| {
        let object = "apiVersion: v1\nkind: ServiceAccount\nmetadata: { name: a, namespace: blue }\n";
        let secrets = many(n, |i| format!("- name: s{i}\n- nme: s{i}\n"));
        fleet.put("clusters/blue/one.d/a.yaml", &format!("{object}secrets:\n{secrets}"));
    }),
    row("addons that depend on one another", 100, |fleet, n| {
        for i in 0..n {
            let after =
                i.checked_sub(1).map(|before| format!("  dependsOn: [a{before}]\n")).unwrap_or_default();
            fleet.put(&format!("{STACK}/addons/a{i}/addon.yaml"), &addon(i, &after));
        }
    }),
    row("node pools", 1_000, |fleet, n| {
        fleet.insert(CLUSTER, "      replicas: 2\n", &many(n, pool));
    }),
    Row {
        command: &["topology", "one"],
        ..row("node pools, their topology", 1_000, |fleet, n| {
            fleet.insert(CLUSTER, "      replicas: 2\n", &many(n, pool));
        })
    },
    row("variables of a class", 500, |fleet, n| {
        fleet.prepend(CLASS, "    - name: motd\n", &many(n, variable));
    }),
    row("values of a variable", 10_000, |fleet, n| {
        let values = many(n, |i| format!("a{i}, "));
        fleet.insert(CLUSTER, "      replicas: 2\n", &format!("  variables:\n    certSANs: [{values}]\n"));
    }),
    row("clusters", 1_000, |fleet, n| {
        let text = fleet.read(CLUSTER);
        for i in 0..n {
            fleet
                .put(&format!("clusters/blue/c{i}.yaml"), &text.replace("name: one", &format!("name: c{i}")));
        }
    }),
    row("clusters with the same fault", 1_000, |fleet, n| {
        let text = format!("{}  variables: {{ nope: 1 }}\n", fleet.read(CLUSTER));
        for i in 0..n {
            fleet
                .put(&format!("clusters/blue/c{i}.yaml"), &text.replace("name: one", &format!("name: c{i}")));
        }
    }),
    changed(
        "values that change",
        30_000,
        |fleet, n| values_of(fleet, n, "v"),
        |fleet, n| values_of(fleet, n, "w"),
    ),
    changed(
        "items of a list that change",
        30_000,
        |fleet, n| {
            fleet.put(VALUES, &format!("l:\n{}", many(n, |i| format!("  - name: n{i}\n    v: {i}\n"))));
        },
        |fleet, n| {
            fleet.put(VALUES, &format!("l:\n{}", many(n, |i| format!("  - name: n{i}\n    w: {i}\n"))));
        },
    ),
    changed(
        "definitions that change",
        50,
        |fleet, n| definitions(fleet, n, "v"),
        |fleet, n| definitions(fleet, n, "w"),
    ),
    changed("definitions that are new", 50, |_, _| {}, |fleet, n| definitions(fleet, n, "v")),
    changed(
        "a text that changes",
        100_000,
        |fleet, n| fleet.put(VALUES, &format!("m: |\n{}", "  abcdefgh\n".repeat(n))),
        |fleet, n| fleet.put(VALUES, &format!("m: |\n{}", "  ijklmnop\n".repeat(n))),
    ),
];

fn values_of(fleet: &Fleet, count: usize, value: &str) {
    fleet.put(VALUES, &many(count, |i| format!("k{i}: {value}{i}\n")));
}

/// Definitions that set a thousand values each.
fn definitions(fleet: &Fleet, count: usize, value: &str) {
    let values = many(1_000, |i| format!("        k{i}: {value}{i}\n"));
    let text = format!("{}  addons:\n    demo:\n      values:\n{values}", fleet.read(CLUSTER));
    for i in 0..count {
        let text = text.replace("name: one", &format!("name: c{i}"));
        fleet.put(&format!("clusters/blue/c{i}.yaml"), &text);
    }
}

fn many(count: usize, one: impl Fn(usize) -> String) -> String {
    (0..count).map(one).collect()
}

fn pool(i: usize) -> String {
    format!("    - name: p{i}\n      class: default-worker\n      replicas: 1\n")
}

fn variable(i: usize) -> String {
    format!(
        "    - name: v{i}\n      required: false\n      schema:\n        openAPIV3Schema:\n          type: string\n          \
         description: a\n          default: d{i}\n"
    )
}

fn addon(i: usize, more: &str) -> String {
    format!(
        "apiVersion: stackloom.dev/v1alpha1\nkind: Addon\nmetadata:\n  name: a{i}\nspec:\n  chart:\n    repository: \
         http://127.0.0.1:8000/charts/\n    name: a{i}\n  versions:\n    - version: 1.0.0\n      kubernetes: \">=1.35 \
         <1.37\"\n  release:\n    name: a{i}\n    namespace: kube-system\n{more}"
    )
}

/// A fleet with a few clusters in its own folder.
struct Fleet(PathBuf);

impl Fleet {
    /// Makes a repository of the fleet, with its tree.
    fn commit(&self) {
        let run = |program: &str, arguments: &[&str]| {
            let mut command = process::Command::new(program);
            let done = command.current_dir(&self.0).args(arguments).output().unwrap();
            assert!(
                done.status.success(),
                "{program} {arguments:?}: {}",
                String::from_utf8_lossy(&done.stderr)
            );
        };
        run("git", &["init", "--quiet", "--initial-branch", "main"]);
        run("git", &["config", "user.name", "Bench"]);
        run("git", &["config", "user.email", "bench@example.org"]);
        run("git", &["add", "--all"]);
        run("git", &["commit", "--quiet", "--message", "The fleet"]);
        run(env!("CARGO_BIN_EXE_stackloom"), &["generate", "--commit"]);
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.0.join(path)).unwrap()
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Inserts a text after the first occurrence of another one.
    fn insert(&self, path: &str, behind: &str, text: &str) {
        let before = self.read(path);
        assert!(before.contains(behind), "{path} has no `{behind}`");
        self.put(path, &before.replacen(behind, &format!("{behind}{text}"), 1));
    }

    /// Inserts a text before the first occurrence of another one.
    fn prepend(&self, path: &str, front: &str, text: &str) {
        let before = self.read(path);
        assert!(before.contains(front), "{path} has no `{front}`");
        self.put(path, &before.replacen(front, &format!("{text}{front}"), 1));
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (from, to) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        if from.is_dir() {
            copy(&from, &to);
        } else {
            fs::copy(from, to).unwrap();
        }
    }
}

fn cost_of(row: &Row, count: usize) -> cost::Cost {
    let scratch = tempfile::tempdir().unwrap();
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fleets/inmemory"), scratch.path());
    let fleet = Fleet(scratch.path().to_owned());
    if let Some(before) = row.before {
        before(&fleet, count);
        fleet.commit();
    }
    (row.write)(&fleet, count);
    // Some rows are invalid on purpose.
    cost::of(scratch.path(), row.command, &[0, 1], &[])
}

fn main() {
    cost::measure_if_asked();
    let words: Vec<String> = std::env::args().skip(1).filter(|one| one != "--bench").collect();
    let is_meant = |row: &&Row| words.is_empty() || words.iter().any(|word| row.name.contains(word.as_str()));
    println!(
        "{:<40}{:>8}  {:>8}  {:>8}  {:>6}  {:>8}  {:>8}",
        "", "count", "half", "all", "ratio", "clock", "memory"
    );
    let mut over = 0;
    for row in ROWS.iter().filter(is_meant) {
        let [half, all] = [row.count / 2, row.count].map(|count| cost_of(row, count));
        let ratio = all.cores / half.cores.max(0.01);
        let is_over = ratio > GROWTH && all.cores > NOISE || all.cores > SECONDS || all.memory > MEGABYTES;
        over += usize::from(is_over);
        let mark = if is_over { "  over the limit" } else { "" };
        println!(
            "{:<40}{:>8}  {:>6.2} s  {:>6.2} s  {ratio:>6.1}  {:>6.2} s  {:>5.0} MB{mark}",
            row.name, row.count, half.cores, all.cores, all.clock, all.memory
        );
    }
    process::exit(i32::from(over > 0));
}
