//! A folder for each test, and common actions in it.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use stackloom::{
    commit_message::generated as message,
    io::{
        disk::{CheckSink, DiskSink, Milestone, Workspace},
        git::CommitSink,
    },
    note::{Fault, Notes},
    render::GITATTRIBUTES,
    tree::{Changes, File, Part, PartId, Sink, TreePath},
};

/// Writes a script that can be run at once.
///
/// Another process writes the file. If this process did, a child started by another test at the same moment could hold the
/// file open for writing, and the system would refuse to run it ("text file busy").
pub(crate) fn program(path: &Path, script: &str) {
    install("cat >\"$1\"", path, script.as_bytes());
}

/// Copies a program so that it can be run at once, like [`program`].
pub(crate) fn copy_program(from: &Path, to: &Path) {
    install(&format!("cp '{}' \"$1\"", from.display()), to, b"");
}

fn install(how: &str, path: &Path, input: &[u8]) {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{how} && chmod 755 \"$1\""), "sh"]).arg(path).stdin(Stdio::piped());
    let mut child = shell.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    assert!(child.wait().unwrap().success(), "{}", path.display());
}

/// A folder that is deleted after the test.
pub(crate) struct Sandbox {
    folder: tempfile::TempDir,
    /// The root of the fleet.
    pub(crate) root: PathBuf,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        Self::below("fleet")
    }

    /// A sandbox with the fleet in a subfolder.
    pub(crate) fn below(path: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join(path);
        fs::create_dir_all(&root).unwrap();
        Self { folder, root }
    }

    /// The folder that contains the fleet.
    pub(crate) fn outside(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    pub(crate) fn workspace(&self) -> Workspace {
        Workspace::open(&self.root).unwrap()
    }

    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let file = self.root.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.root.join(path)).ok()
    }

    pub(crate) fn has(&self, path: &str) -> bool {
        self.root.join(path).symlink_metadata().is_ok()
    }

    /// Everything below `generated/`. Folders end with a slash.
    pub(crate) fn tree(&self) -> Vec<String> {
        let top = self.root.join("generated");
        let mut all: Vec<String> = walkdir::WalkDir::new(&top)
            .min_depth(1)
            .into_iter()
            .filter_map(Result::ok)
            .map(|entry| {
                let path = entry.path().strip_prefix(&top).unwrap().display().to_string();
                if entry.file_type().is_dir() { path + "/" } else { path }
            })
            .collect();
        all.sort();
        all
    }

    pub(crate) fn generate(&self, parts: Vec<Part>) -> Result<Changes, Fault> {
        clean(run(&mut DiskSink::new(&self.workspace()), parts))
    }

    pub(crate) fn check(&self, parts: Vec<Part>) -> Changes {
        clean(run(&mut CheckSink::new(&self.workspace()), parts)).unwrap()
    }

    /// A sandbox with a repository and an identity, in the fleet's folder.
    pub(crate) fn repository() -> Self {
        let sandbox = Self::new();
        Self::init(&sandbox.root);
        sandbox
    }

    /// Makes a folder a repository.
    pub(crate) fn init(folder: &Path) {
        let git = |arguments: &[&str]| assert!(git_in(folder).args(arguments).status().unwrap().success());
        git(&["init", "-q", "-b", "main"]);
        git(&["config", "user.name", "Test"]);
        git(&["config", "user.email", "test@example.org"]);
        git(&["config", "commit.gpgsign", "false"]);
    }

    /// Commits with the program, and checks what must hold after every commit.
    pub(crate) fn commit(&self, parts: Vec<Part>) -> Result<Changes, Fault> {
        let changes = clean(run(&mut CommitSink::open(&self.workspace())?, parts.clone()))?;
        assert_eq!(self.git(&["status", "--porcelain", "generated"]), "");
        self.git(&["fsck", "--strict"]);
        for file in parts.iter().flat_map(|part| &part.files) {
            let spec = format!("HEAD:./{}", file.path);
            assert_eq!(self.try_git(&["cat-file", "blob", &spec]).stdout, file.bytes(), "{spec}");
        }
        assert!(self.check(parts).is_empty());
        Ok(changes)
    }

    /// The paths in a commit.
    pub(crate) fn files_of(&self, commit: &str) -> Vec<String> {
        let listed = self.git(&["ls-tree", "-r", "--name-only", "--full-tree", commit]);
        listed.lines().map(str::to_owned).collect()
    }

    /// Runs `git` in the root of the fleet, isolated from the user's settings.
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let output = self.try_git(arguments);
        let [printed, reported] =
            [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
        assert!(output.status.success(), "git {arguments:?}: {}: {printed}{reported}", output.status);
        printed
    }

    /// Makes git sign with a new ssh key, which it trusts.
    pub(crate) fn sign_with_ssh(&self) {
        let [key, allowed] = ["key", "allowed"].map(|name| self.outside().join(name));
        let make = ["-q", "-t", "ed25519", "-N", "", "-C", "test", "-f"];
        assert!(Command::new("ssh-keygen").args(make).arg(&key).status().unwrap().success());
        let public = key.with_extension("pub");
        fs::write(&allowed, format!("test@example.org {}", fs::read_to_string(&public).unwrap())).unwrap();
        for (name, value) in [
            ("commit.gpgsign", "true"),
            ("gpg.format", "ssh"),
            ("user.signingkey", public.to_str().unwrap()),
            ("gpg.ssh.allowedSignersFile", allowed.to_str().unwrap()),
        ] {
            self.git(&["config", name, value]);
        }
    }

    pub(crate) fn try_git(&self, arguments: &[&str]) -> Output {
        git_in(&self.root).args(arguments).output().unwrap()
    }
}

pub(crate) fn git_in(folder: &Path) -> Command {
    let mut git = Command::new("git");
    git.current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("HOME", folder)
        .env_remove("XDG_CONFIG_HOME");
    git
}

/// Runs a single test of this program in a process that is killed after `stop` steps. Returns whether it was killed.
pub(crate) fn is_killed(test: &str, sandbox: &Sandbox, stop: usize) -> bool {
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test])
        .env("STACKLOOM_TEST_ROOT", &sandbox.root)
        .env("STACKLOOM_TEST_STOP", stop.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    !status.success()
}

/// In a process of [`is_killed`]: the fleet, and a callback that ends the process at its last step.
pub(crate) fn to_be_killed()
-> Option<(Workspace, impl FnMut(Milestone) -> Result<(), Fault> + Send + 'static)> {
    let root = std::env::var("STACKLOOM_TEST_ROOT").ok()?;
    let stop: usize = std::env::var("STACKLOOM_TEST_STOP").unwrap().parse().unwrap();
    let mut seen = 0;
    let end = move |_| {
        seen += 1;
        if seen == stop {
            std::process::abort();
        }
        Ok(())
    };
    Some((Workspace::open(root.as_ref()).unwrap(), end))
}

/// Passes the parts to a sink, like `generate`.
pub(crate) fn run(sink: &mut dyn Sink, parts: Vec<Part>) -> (Result<Changes, Fault>, Notes) {
    let mut notes = Notes::new();
    let result = (|| {
        sink.begin(&mut notes)?;
        for part in parts {
            sink.parts(vec![part])?;
        }
        sink.commit(&mut notes, &message)
    })();
    (result, notes)
}

fn clean((result, notes): (Result<Changes, Fault>, Notes)) -> Result<Changes, Fault> {
    assert!(notes.is_empty(), "{notes:?}");
    result
}

pub(crate) fn path(path: &str) -> TreePath {
    TreePath::parse(path).unwrap()
}

/// A generated file.
pub(crate) fn yaml(at: &str, text: &str) -> File {
    File::new(path(at), body(text))
}

/// The text of a generated file.
pub(crate) fn body(text: &str) -> String {
    format!("# Generated by stackloom from clusters/a.yaml; do not edit\n{text}\n")
}

/// The root part of the tree.
pub(crate) fn base() -> Part {
    let file = File::new(path("generated/.gitattributes"), GITATTRIBUTES);
    Part { id: PartId::Root, files: vec![file] }
}

/// A cluster in the namespace `team-a`, with two files that contain `text`.
pub(crate) fn cluster(name: &str, text: &str) -> Part {
    let (management, namespace) = ("mgmt".to_owned(), "team-a".to_owned());
    let folder = format!("generated/management/mgmt/clusters/team-a/{name}");
    Part {
        id: PartId::Cluster { management, namespace, cluster: name.to_owned() },
        files: vec![
            yaml(&format!("{folder}/cilium.yaml"), text),
            yaml(&format!("{folder}/cluster.yaml"), &format!("kind: Cluster # {text}")),
        ],
    }
}

/// The codes of the messages, with their places.
pub(crate) fn codes(notes: &Notes) -> Vec<String> {
    let show = |note: &stackloom::note::Diagnostic| {
        assert!(!note.hints.is_empty(), "{note:?} says no next step");
        format!("{} {}", note.code, note.place.as_ref().unwrap())
    };
    notes.sorted().iter().map(show).collect()
}
