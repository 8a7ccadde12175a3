//! `watch`, run as a program, while definitions are saved in all the ways that editors and git do it.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, channel},
    },
    time::{Duration, Instant},
};

use serde_json::Value as Json;

use crate::sandbox::Sandbox;

/// Longer than it takes to detect any save here, even on a busy machine.
const SOON: Duration = Duration::from_mins(1);

/// Long enough to notice an unexpected run.
const QUIET: Duration = Duration::from_millis(1200);

const ONE: &str = "clusters/dev/dev-1.yaml";

fn stackloom(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stackloom"));
    for (key, _) in std::env::vars_os() {
        if key.to_string_lossy().starts_with("GIT_") {
            command.env_remove(key);
        }
    }
    command.current_dir(folder).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    command
}

/// A program that watches, with its output. It ends with the test.
struct Watching {
    child: Child,
    records: Receiver<Json>,
    /// Everything printed to standard error.
    talk: Arc<Mutex<String>>,
}

impl Watching {
    fn begin(sandbox: &Sandbox, options: &[&str]) -> Self {
        let mut command = stackloom(&sandbox.root);
        command.arg("watch").args(options).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (send, records) = channel();
        let out = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for record in
                out.lines().map_while(Result::ok).filter_map(|line| serde_json::from_str(&line).ok())
            {
                send.send(record).ok();
            }
        });
        let talk = Arc::new(Mutex::new(String::new()));
        let (err, heard) = (BufReader::new(child.stderr.take().unwrap()), Arc::clone(&talk));
        std::thread::spawn(move || {
            for line in err.lines().map_while(Result::ok) {
                heard.lock().unwrap().extend([line.as_str(), "\n"]);
            }
        });
        Self { child, records, talk }
    }

    /// The same, printing one object for each run.
    fn begin_json(sandbox: &Sandbox, options: &[&str]) -> Self {
        Self::begin(sandbox, &[&["--format", "json"], options].concat())
    }

    /// The number of times that a text was printed to standard error.
    fn count(&self, what: &str) -> usize {
        self.talk.lock().unwrap().matches(what).count()
    }

    /// The next record.
    fn next(&self) -> Json {
        self.records.recv_timeout(SOON).expect("it says something soon")
    }

    /// The records until a condition holds.
    fn until(&self, holds: impl Fn() -> bool, what: &str) -> Vec<Json> {
        let (end, mut printed) = (Instant::now() + SOON, Vec::new());
        while !holds() {
            assert!(Instant::now() < end, "{what}: {printed:#?}");
            printed.extend(self.records.recv_timeout(Duration::from_millis(20)).ok());
        }
        printed
    }

    /// The records until no more arrive.
    fn rest(&self) -> Vec<Json> {
        std::iter::from_fn(|| self.records.recv_timeout(QUIET).ok()).collect()
    }

    /// Checks that no more records arrive.
    fn is_quiet(&self) {
        let more = self.rest();
        assert!(more.is_empty(), "runs that nobody asked for: {more:#?}");
    }

    /// Ends the program with a signal.
    fn end(mut self, signal: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([&format!("-{signal}"), &id]).status().unwrap().success());
        let status = self.child.wait().unwrap();
        assert_eq!(status.code(), Some(0), "{status}");
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// A fleet in a repository, with its sources committed.
fn fleet() -> Sandbox {
    let sandbox = Sandbox::repository();
    let made = stackloom(&sandbox.root).args(["init", "--name", "demo"]).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "-qm", "begin"]);
    sandbox
}

/// A definition with a mark that identifies it.
fn definition(name: &str, mark: &str) -> String {
    format!(
        "apiVersion: stackloom.dev/v1alpha1\nkind: ClusterDefinition\nmetadata:\n  name: {name}\n  labels: {{ mark: {mark} }}\n\
         spec:\n  controlPlane: {{ replicas: 1 }}\n  nodePools:\n    - {{ name: md-0, class: default-worker, replicas: 1 }}\n"
    )
}

/// The generated Cluster in HEAD.
fn committed(sandbox: &Sandbox, name: &str) -> String {
    let path = format!("HEAD:generated/management/mgmt/clusters/team-a/{name}/cluster/cluster.yaml");
    String::from_utf8(sandbox.try_git(&["show", &path]).stdout).unwrap()
}

/// Runs git as soon as the index is free; a run may be about to release it.
fn git(sandbox: &Sandbox, arguments: &[&str]) {
    let end = Instant::now() + SOON;
    loop {
        let output = sandbox.try_git(arguments);
        let printed = String::from_utf8_lossy(&output.stderr);
        if output.status.success() {
            return;
        }
        assert!(printed.contains("index.lock") && Instant::now() < end, "git {arguments:?}: {printed}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Checks that the tree matches the definitions, on disk and in HEAD.
fn is_right(sandbox: &Sandbox) {
    let checked = stackloom(&sandbox.root).args(["generate", "--check"]).output().unwrap();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
    assert_eq!(sandbox.git(&["status", "--porcelain", "-uall", "generated"]), "");
}

/// A way to save a file.
type Save = fn(&Sandbox, &Path, &str);

const WAYS: [(&str, Save); 6] = [
    ("written in place", |_, file, text| {
        let mut open = fs::OpenOptions::new().write(true).create(true).truncate(false).open(file).unwrap();
        std::io::Write::write_all(&mut open, text.as_bytes()).unwrap();
        open.set_len(text.len() as u64).unwrap();
    }),
    ("emptied and written", |_, file, text| {
        fs::write(file, "").unwrap();
        std::thread::sleep(Duration::from_millis(60));
        fs::write(file, text).unwrap();
    }),
    ("renamed over", |_, file, text| {
        let other = file.with_file_name("4913");
        fs::write(&other, text).unwrap();
        fs::rename(other, file).unwrap();
    }),
    ("backed up and created", |_, file, text| {
        let backup = file.with_extension("yaml~");
        fs::rename(file, &backup).ok();
        fs::write(file, text).unwrap();
        fs::remove_file(backup).ok();
    }),
    ("deleted and created", |_, file, text| {
        fs::remove_file(file).ok();
        std::thread::sleep(Duration::from_millis(60));
        fs::write(file, text).unwrap();
    }),
    ("in a folder that is moved away and back", |sandbox, file, text| {
        let (folder, away) = (file.parent().unwrap(), sandbox.root.join("away"));
        fs::rename(folder, &away).unwrap();
        fs::write(away.join(file.file_name().unwrap()), text).unwrap();
        fs::rename(away, folder).unwrap();
    }),
];

#[test]
fn every_way_of_saving_ends_in_the_right_tree() {
    let sandbox = fleet();
    let watching = Watching::begin_json(&sandbox, &["--commit"]);
    assert!(watching.next()["commit"].is_string());
    watching.is_quiet();
    let mut runs = Vec::new();
    let mut saves = 0;
    for (round, (way, save)) in WAYS.into_iter().enumerate() {
        // First a new file in folders created just before, then the same file again.
        let name = format!("c{round}");
        let file = sandbox.root.join(format!("clusters/dev/new-{round}/deep/er/{name}.yaml"));
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        for (file, name) in [(&file, name.as_str()), (&file, &name), (&sandbox.root.join(ONE), "dev-1")] {
            let mark = format!("m{saves}");
            save(&sandbox, file, &definition(name, &mark));
            let seen = || committed(&sandbox, name).contains(&format!("mark: {mark}"));
            runs.extend(watching.until(seen, &format!("save {saves}, {way}")));
            saves += 1;
        }
    }
    runs.extend(watching.rest());
    is_right(&sandbox);
    assert!(runs.iter().all(|run| run["exit"] == 0), "{runs:#?}");
    assert!(runs.iter().all(|run| run["commit"].is_string()), "a run that changed nothing: {runs:#?}");
    assert!(runs.len() <= saves, "{} runs for {saves} saves", runs.len());
    watching.end("TERM");
    assert!(!sandbox.has(".git/index.lock"));
}

#[test]
fn checkouts_stashes_and_moved_folders_are_followed() {
    let sandbox = fleet();
    let watching = Watching::begin_json(&sandbox, &["--commit"]);
    watching.next();
    git(&sandbox, &["checkout", "-qb", "side"]);
    sandbox.write(ONE, definition("dev-1", "side"));
    watching.until(|| committed(&sandbox, "dev-1").contains("mark: side"), "a save on a branch");
    git(&sandbox, &["commit", "-qam", "side"]);
    let side = sandbox.git(&["rev-parse", "side"]);
    watching.rest();
    git(&sandbox, &["checkout", "-q", "main"]);
    watching.rest();
    is_right(&sandbox);
    assert_eq!(sandbox.git(&["rev-parse", "side"]), side, "a branch that was left has moved");

    sandbox.write(ONE, definition("dev-1", "stashed"));
    watching.until(|| committed(&sandbox, "dev-1").contains("mark: stashed"), "a save on main");
    watching.rest();
    git(&sandbox, &["stash", "-q"]);
    watching.until(|| !committed(&sandbox, "dev-1").contains("mark:"), "a stash");
    watching.rest();
    git(&sandbox, &["stash", "pop", "-q"]);
    watching.until(|| committed(&sandbox, "dev-1").contains("mark: stashed"), "a stash that comes back");

    watching.rest();
    fs::rename(sandbox.root.join("clusters/dev"), sandbox.root.join("clusters/moved")).unwrap();
    watching.next();
    sandbox.write("clusters/moved/dev-1.yaml", definition("dev-1", "moved"));
    watching.until(|| committed(&sandbox, "dev-1").contains("mark: moved"), "a save in a moved folder");
    fs::remove_dir_all(sandbox.root.join("clusters/moved")).unwrap();
    watching.until(|| committed(&sandbox, "dev-1").is_empty(), "a folder that is gone");
    watching.rest();
    is_right(&sandbox);
}

#[test]
fn links_are_followed_to_where_they_lead() {
    let sandbox = fleet();
    sandbox.write("shared/one.yaml", definition("linked", "before"));
    let watching = Watching::begin_json(&sandbox, &[]);
    watching.next();
    symlink("../../shared/one.yaml", sandbox.root.join("clusters/dev/linked.yaml")).unwrap();
    let path = "generated/management/mgmt/clusters/team-a/linked/cluster/cluster.yaml";
    let has = |mark: &str| sandbox.read(path).is_some_and(|text| text.contains(&format!("mark: {mark}")));
    watching.until(|| has("before"), "a new link");
    sandbox.write("shared/one.yaml", definition("linked", "after"));
    watching.until(|| has("after"), "a save behind a link");
    assert_eq!(sandbox.git(&["rev-list", "--count", "HEAD"]).trim(), "1", "a commit that nobody asked for");
}

#[test]
fn errors_are_reported_once_and_do_not_end_the_watch() {
    let sandbox = fleet();
    let watching = Watching::begin(&sandbox, &[]);
    let one = || sandbox.read("generated/management/mgmt/clusters/team-a/dev-1/cluster/cluster.yaml");
    watching.until(|| one().is_some(), "the first run");
    let first = one();
    let (fault, again) = ("error[yaml-syntax]", "still the same 1 error; nothing was written");
    sandbox.write("clusters/dev/bad.yaml", "kind: [\n");
    watching.until(|| watching.count(fault) > 0, "a fault");
    sandbox.write(ONE, definition("dev-1", "later"));
    watching.until(|| watching.count(again) > 0, "the same fault");
    assert_eq!(one(), first, "written in spite of a fault");
    fs::remove_file(sandbox.root.join("clusters/dev/bad.yaml")).unwrap();
    watching.until(|| one().unwrap().contains("mark: later"), "the fault is gone");
    assert_eq!((watching.count(fault), watching.count(again)), (1, 1));
    watching.end("INT");
}

#[test]
fn a_locked_index_is_waited_for_and_then_reported() {
    let sandbox = fleet();
    let watching = Watching::begin_json(&sandbox, &["--commit"]);
    watching.next();
    let lock = sandbox.root.join(".git/index.lock");
    fs::write(&lock, "").unwrap();
    sandbox.write(ONE, definition("dev-1", "short"));
    std::thread::sleep(Duration::from_millis(600));
    fs::remove_file(&lock).unwrap();
    let run = watching.next();
    assert!(run["commit"].is_string(), "a short lock was printed: {run:#}");

    fs::write(&lock, "").unwrap();
    sandbox.write(ONE, definition("dev-1", "long"));
    let printed = watching.next();
    assert_eq!(printed["exit"], 4);
    assert!(printed["fault"].as_str().unwrap().contains("the index is locked"), "{printed:#}");
    fs::remove_file(&lock).unwrap();
    let run = watching.next();
    assert!(run["commit"].is_string(), "{run:#}");
    is_right(&sandbox);
}

#[test]
fn without_the_operating_system_it_looks_by_itself() {
    let sandbox = fleet();
    let watching = Watching::begin_json(&sandbox, &["--poll", "1"]);
    watching.next();
    sandbox.write("clusters/dev/a/b/two.yaml", definition("two", "polled"));
    let run = watching.next();
    assert!(run["summary"]["added"].as_u64().unwrap() > 3, "{run:#}");
    watching.is_quiet();
}

#[test]
fn a_folder_without_a_repository_cannot_be_committed_to() {
    let sandbox = Sandbox::new();
    sandbox.write("stackloom.yaml", "kind: Fleet\n");
    let output = stackloom(&sandbox.root).args(["watch", "--commit"]).output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&output.stderr).contains("is not in a git repository"));
    let unused: PathBuf = sandbox.root.join("generated");
    assert!(!unused.exists());
}
