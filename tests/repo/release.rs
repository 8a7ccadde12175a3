//! `stackloom release` in real repositories: bumped versions, the contents of commits, races, tags.

use std::{
    fs,
    path::Path,
    process::{Command, Output, Stdio},
};

use crate::sandbox::Sandbox;

pub(crate) const STACK: &str = "stacks/test/tiny";

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// A committed fleet with one small stack for two minors.
pub(crate) fn fleet() -> Sandbox {
    fleet_of("tests/cases/_base")
}

/// A committed copy of a folder in this package.
pub(crate) fn fleet_of(folder: &str) -> Sandbox {
    let sandbox = Sandbox::repository();
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &sandbox.root);
    commit(&sandbox, "sources");
    sandbox
}

pub(crate) fn commit(sandbox: &Sandbox, message: &str) {
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "-qm", message]);
}

pub(crate) fn stackloom(sandbox: &Sandbox, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stackloom"));
    command.current_dir(&sandbox.root).args(arguments);
    command
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("NO_COLOR", "1")
        .env("STACKLOOM_TODAY", "2026-11-23");
    command.output().unwrap()
}

pub(crate) fn output_of(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

/// Runs the program, checks its exit code, and returns its output.
pub(crate) fn ends(sandbox: &Sandbox, arguments: &[&str], code: i32) -> String {
    let output = stackloom(sandbox, arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}\n{}", output_of(&output));
    output_of(&output)
}

pub(crate) fn edit(sandbox: &Sandbox, file: &str, old: &str, new: &str) {
    let path = format!("{STACK}/{file}");
    let text = sandbox.read(&path).unwrap();
    assert!(text.contains(old), "{file} has no {old}");
    sandbox.write(&path, text.replace(old, new));
}

/// The versions of the stack, the addons and the images in `metadata.yaml`.
pub(crate) fn versions(sandbox: &Sandbox, release: &str) -> [String; 3] {
    let text = sandbox.read(&format!("generated/releases/{release}/metadata.yaml")).unwrap();
    let of = |key: &str| {
        let line = text.lines().find_map(|line| line.trim().strip_prefix(&format!("{key}: ")));
        line.unwrap().to_owned()
    };
    [of("clusterStack"), of("clusterAddon"), of("nodeImage")]
}

pub(crate) fn releases(sandbox: &Sandbox) -> Vec<String> {
    let listed = sandbox.git(&["ls-tree", "--name-only", "HEAD", "generated/releases/"]);
    listed.lines().map(|line| line.rsplit('/').next().unwrap().to_owned()).collect()
}

pub(crate) fn tags(sandbox: &Sandbox) -> Vec<String> {
    sandbox.git(&["tag", "--list"]).lines().map(str::to_owned).collect()
}

pub(crate) const ONE_MINOR: [&str; 4] = ["release", "test/tiny", "--kubernetes", "1.35"];

/// An edit, with the resulting versions of stack, addons and images; none if it does not change the content.
type Edit = (&'static str, &'static str, &'static str, Option<[&'static str; 3]>);

/// The second, third and fourth are the example in the documentation of cluster stacks: when the node image changes, v3, v2
/// and v1 become v4, v2 and v2.
/// and v2 when the node image changes.
const EDITS: [Edit; 10] = [
    ("addons/net/values.yaml", "replicas: 2", "replicas: 3", Some(["v2", "v2", "v1"])),
    ("cluster-class/class.yaml", "default: 20", "default: 30", Some(["v3", "v2", "v1"])),
    ("node-images.yaml", "aaaa\n", "aaab\n", Some(["v4", "v2", "v2"])),
    ("addons/notes/manifests/notes.yaml", "namespace: default", "namespace: other", Some(["v5", "v3", "v2"])),
    ("addons/net/addon.yaml", "\">=1.34 <1.37\"", "\">=1.33 <1.37\"", Some(["v6", "v4", "v2"])),
    (
        "cluster-class/templates.yaml",
        "kind: KubeadmConfigTemplate",
        "# words\nkind:  KubeadmConfigTemplate",
        None,
    ),
    (
        "node-images.yaml",
        "      kubernetes: 1.35.10\n      os: ubuntu-24.04",
        "      os: ubuntu-24.04\n      kubernetes: 1.35.10",
        None,
    ),
    ("stack.yaml", "upgradeTo: 1.1.0", "upgradeTo: 1.1.1", Some(["v7", "v4", "v2"])),
    ("addons/net/addon.yaml", "\">=1.33 <1.37\"", "\">= 1.33,  <1.37\"", None),
    ("stack.yaml", "endOfLife: '2027-02-28'", "endOfLife: '2027-03-31'", None),
];

#[test]
fn each_change_bumps_what_it_should_and_nothing_else() {
    let sandbox = fleet();
    ends(&sandbox, &ONE_MINOR, 0);
    assert_eq!(versions(&sandbox, "test-tiny-1-35-v1"), ["v1", "v1", "v1"]);
    let mut count = 1;
    for (file, old, new, expected) in EDITS {
        edit(&sandbox, file, old, new);
        commit(&sandbox, "an edit");
        let printed = ends(&sandbox, &ONE_MINOR, 0);
        if let Some(expected) = expected {
            count += 1;
            assert_eq!(versions(&sandbox, &format!("test-tiny-1-35-v{count}")), expected, "{file}: {new}");
        } else {
            assert!(printed.contains("nothing to release"), "{file}: {new}: {printed}");
        }
        assert_eq!(releases(&sandbox).len(), count, "{file}: {new}");
    }
    fs::rename(
        sandbox.root.join(STACK).join("cluster-class/templates.yaml"),
        sandbox.root.join(STACK).join("cluster-class/a.yaml"),
    )
    .unwrap();
    commit(&sandbox, "a renamed file");
    assert!(ends(&sandbox, &ONE_MINOR, 0).contains("nothing to release"));
    assert_eq!(tags(&sandbox), releases(&sandbox));
    ends(&sandbox, &["check"], 0);
}

#[test]
fn reasons_are_shown_by_field_before_anything_is_written() {
    let sandbox = fleet();
    ends(&sandbox, &ONE_MINOR, 0);
    edit(&sandbox, "node-images.yaml", "aaaa\n", "aaab\n");
    edit(&sandbox, "addons/net/values.yaml", "replicas: 2", "replicas: 3");
    let before = sandbox.git(&["rev-parse", "HEAD"]);
    let printed = ends(&sandbox, &["release", "--dry-run", "--kubernetes", "1.35"], 0);
    assert!(printed.contains("clusterAddon: values of net: relay.replicas: 2 → 3"), "{printed}");
    assert!(printed.contains("nodeImage: images: [node-v1.35.10].checksum: sha256:a"), "{printed}");
    assert!(printed.contains("addons change: values of net"), "{printed}");
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), before);
    assert!(!sandbox.has(".git/index.lock") && releases(&sandbox).len() == 1);
}

#[test]
fn the_only_release_is_suggested_once() {
    let sandbox = fleet();
    ends(&sandbox, &["release", "--kubernetes", "1.35"], 0);
    let one = sandbox.read("clusters/blue/one.yaml").unwrap();
    sandbox.write("clusters/blue/one.yaml", one.replace("spec:", "spec:\n  release: test-tiny-1-35-v2"));
    let printed = ends(&sandbox, &["check"], 1);
    assert!(printed.contains("help: did you mean `test-tiny-1-35-v1`?\n"), "{printed}");
}

#[test]
fn a_commit_contains_only_the_release() {
    let sandbox = fleet();
    sandbox.write("clusters/edited.yaml", "not looked at: [\n");
    fs::remove_file(sandbox.root.join("clusters/edited.yaml")).unwrap();
    sandbox.write("README.md", "words\n");
    sandbox.git(&["add", "README.md"]);
    sandbox.write("notes.txt", "mine\n");
    let before = sandbox.git(&["status", "--porcelain"]);
    ends(&sandbox, &["release"], 0);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), before);
    let touched = sandbox.git(&["show", "--format=", "--name-only", "HEAD"]);
    let is_own = |path: &str| {
        path.starts_with("generated/releases/test-tiny-1-3") || path == "generated/.gitattributes"
    };
    assert!(touched.lines().all(is_own), "{touched}");
    let printed =
        sandbox.git(&["log", "-1", "--format=%s|%(trailers:key=Stackloom-Release,valueonly,separator=%x2c)"]);
    assert_eq!(
        printed.trim(),
        "release: test-tiny-1-35-v1, test-tiny-1-36-v1|test-tiny-1-35-v1,test-tiny-1-36-v1"
    );
    for name in ["test-tiny-1-35-v1", "test-tiny-1-36-v1"] {
        assert_eq!(sandbox.git(&["cat-file", "-t", name]).trim(), "tag");
        let message = sandbox.git(&["for-each-ref", "--format=%(contents)", &format!("refs/tags/{name}")]);
        let notes = sandbox.read(&format!("generated/releases/{name}/NOTES.md")).unwrap();
        assert_eq!(message.trim(), notes.split_once("-->\n# ").unwrap().1.trim());
    }
    sandbox.git(&["fsck", "--strict"]);
}

#[test]
fn uncommitted_stacks_are_not_released() {
    let sandbox = fleet();
    edit(&sandbox, "addons/net/values.yaml", "replicas: 2", "replicas: 3");
    let printed = ends(&sandbox, &["release"], 1);
    assert!(printed.contains("not-committed") && printed.contains("addons/net/values.yaml"), "{printed}");
    assert!(tags(&sandbox).is_empty() && !sandbox.has("generated/releases"));
    // Files ignored by git are read like any others.
    sandbox.git(&["checkout", "-q", "stacks"]);
    sandbox.write(".gitignore", "secrets.*\n");
    commit(&sandbox, "ignore");
    sandbox.write("stacks/test/tiny/cluster-class/secrets.txt", "no source\n");
    ends(&sandbox, &["release", "--dry-run"], 0);
    let path = "stacks/test/tiny/addons/net/manifests/secrets.yaml";
    sandbox.write(path, "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: extra }\n");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    let printed = ends(&sandbox, &["release"], 1);
    assert!(printed.contains("not-committed") && printed.contains(path), "{printed}");
    assert!(tags(&sandbox).is_empty() && !sandbox.has("generated/releases"));
}

#[test]
fn channels_count_separately_and_names_are_never_used_twice() {
    let sandbox = fleet();
    ends(&sandbox, &ONE_MINOR, 0);
    let beta: Vec<_> = ONE_MINOR.into_iter().chain(["--channel", "beta"]).collect();
    ends(&sandbox, &beta, 0);
    assert!(ends(&sandbox, &beta, 0).contains("nothing changed since test-tiny-1-35-v0-beta.1"));
    edit(&sandbox, "addons/net/values.yaml", "replicas: 2", "replicas: 3");
    commit(&sandbox, "an edit");
    sandbox.git(&["tag", "test-tiny-1-35-v2"]);
    ends(&sandbox, &ONE_MINOR, 0);
    assert_eq!(versions(&sandbox, "test-tiny-1-35-v3"), ["v3", "v2", "v1"]);
    for name in ["head", "hash"] {
        let printed = ends(&sandbox, &["release", "--channel", name], 1);
        assert!(printed.contains("release: head") && printed.contains("the channel `head`"), "{printed}");
    }
    assert!(ends(&sandbox, &["release", "test/tinny"], 1).contains("did you mean `test/tiny`?"));
    assert!(
        ends(&sandbox, &["release", "--kubernetes", "1.20"], 1).contains("no stack supports Kubernetes 1.20")
    );
}

#[test]
fn semantic_versions_are_chosen_by_impact() {
    let sandbox = fleet();
    edit(&sandbox, "stack.yaml", "  compatibility:", "  versioning: semver\n  compatibility:");
    let steps = [
        ("stack.yaml", "provider: test", "provider: test", "v1.0.0"),
        ("addons/net/addon.yaml", "\">=1.34 <1.37\"", "\">=1.33 <1.37\"", "v1.0.1"),
        ("addons/net/values.yaml", "replicas: 2", "replicas: 3", "v1.1.0"),
        // A value whose name begins like the upgrade limits in `addon.yaml`.
        ("addons/net/values.yaml", "relay:", "upgradeMode: fast\nrelay:", "v1.2.0"),
        ("cluster-class/templates.yaml", "images[0].name }}", "images[0].name }}-hardened", "v2.0.0"),
    ];
    for (file, old, new, version) in steps {
        edit(&sandbox, file, old, new);
        sandbox.git(&["add", "."]);
        sandbox.git(&["commit", "-q", "--allow-empty", "-m", "an edit"]);
        ends(&sandbox, &ONE_MINOR, 0);
        assert_eq!(versions(&sandbox, &format!("test-tiny-1-35-{version}"))[0], version, "{file}");
    }
}

#[test]
fn a_changed_default_is_attributed_to_the_templates_that_read_it() {
    let sandbox = fleet();
    edit(
        &sandbox,
        "addons/net/values.yaml",
        "replicas: 2",
        "replicas: 2\nmotd: ${{ cluster.variables.motd }}",
    );
    commit(&sandbox, "an addon reads a variable");
    let cut = ["release", "--kubernetes", "1.35"];
    ends(&sandbox, &cut, 0);
    edit(&sandbox, "cluster-class/class.yaml", "default: hello", "default: hi");
    commit(&sandbox, "another default");
    let printed = ends(&sandbox, &cut, 0);
    let reads = "it reads the variable `motd`, whose default changes";
    for told_of in [format!("addons change: net: {reads}"), format!("cluster/facts.yaml: {reads}")] {
        assert!(printed.contains(&told_of), "{printed}");
    }
    edit(&sandbox, "cluster-class/class.yaml", "default: 20", "default: 21");
    commit(&sandbox, "a default that nothing reads");
    let printed = ends(&sandbox, &cut, 0);
    assert!(printed.contains("the default of the variable `disk`, which no patch reads"), "{printed}");
}

#[test]
fn tags_are_signed_as_git_is_configured() {
    let sandbox = fleet();
    sandbox.sign_with_ssh();
    sandbox.git(&["config", "tag.gpgsign", "true"]);
    ends(&sandbox, &ONE_MINOR, 0);
    for arguments in [["verify-commit", "HEAD"], ["verify-tag", "test-tiny-1-35-v1"]] {
        let verified = sandbox.try_git(&arguments);
        assert!(verified.status.success(), "{arguments:?}: {}", output_of(&verified));
    }
    sandbox.git(&["config", "user.signingkey", "/nowhere/key.pub"]);
    edit(&sandbox, "addons/net/values.yaml", "replicas: 2", "replicas: 3");
    sandbox.git(&["-c", "commit.gpgsign=false", "commit", "-qam", "an edit"]);
    ends(&sandbox, &ONE_MINOR, 4);
    assert_eq!((tags(&sandbox).len(), releases(&sandbox).len()), (1, 1));
}

#[test]
fn tags_are_made_after_a_squash_merge() {
    let sandbox = fleet();
    sandbox.git(&["checkout", "-qb", "pull-request"]);
    ends(&sandbox, &["release", "--no-tag"], 0);
    assert!(tags(&sandbox).is_empty());
    sandbox.git(&["checkout", "-q", "main"]);
    sandbox.git(&["merge", "-q", "--squash", "pull-request"]);
    commit(&sandbox, "squashed");
    let squashed = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.write("README.md", "later\n");
    commit(&sandbox, "later");
    let printed = ends(&sandbox, &["release", "tag", "--dry-run"], 0);
    assert!(printed.contains("test-tiny-1-35-v1 would be tagged") && tags(&sandbox).is_empty(), "{printed}");
    let printed = ends(&sandbox, &["release", "tag"], 0);
    assert!(printed.contains("test-tiny-1-35-v1 tagged"), "{printed}");
    assert_eq!(sandbox.git(&["rev-parse", "test-tiny-1-36-v1^{commit}"]), squashed);
    assert!(ends(&sandbox, &["release", "tag"], 0).contains("every release of HEAD has its tag"));
    sandbox.git(&["tag", "-d", "test-tiny-1-36-v1"]);
    std::fs::remove_dir_all(sandbox.root.join("generated/releases/test-tiny-1-36-v1")).unwrap();
    let printed = ends(&sandbox, &["release", "tag"], 1);
    assert!(printed.contains("HEAD has the release `test-tiny-1-36-v1`"), "{printed}");
    sandbox.git(&["checkout", "-q", "HEAD", "--", "generated"]);
    ends(&sandbox, &["release", "tag"], 0);
    sandbox.git(&["tag", "-f", "test-tiny-1-35-v1", "HEAD~2"]);
    let printed = ends(&sandbox, &["release", "tag"], 1);
    assert!(printed.contains("release-tag") && printed.contains("test-tiny-1-35-v1"), "{printed}");
}

#[test]
fn two_simultaneous_runs_make_one_release() {
    for _ in 0..5 {
        let sandbox = fleet();
        let start = || {
            let mut command = Command::new(env!("CARGO_BIN_EXE_stackloom"));
            command.current_dir(&sandbox.root).arg("release").stdout(Stdio::null()).stderr(Stdio::null());
            command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").spawn().unwrap()
        };
        let codes: Vec<_> =
            [start(), start()].into_iter().map(|mut child| child.wait().unwrap().code().unwrap()).collect();
        assert!(codes.contains(&0) && codes.iter().all(|code| [0, 4].contains(code)), "{codes:?}");
        assert_eq!(releases(&sandbox), ["test-tiny-1-35-v1", "test-tiny-1-36-v1"]);
        assert_eq!(tags(&sandbox), releases(&sandbox));
        assert_eq!(sandbox.git(&["rev-list", "--count", "HEAD"]).trim(), "2");
    }
}

#[test]
fn the_notes_list_what_grants_rights() {
    let sandbox = fleet();
    let addon = format!("{STACK}/addons/reader");
    sandbox.write(
        &format!("{addon}/addon.yaml"),
        "apiVersion: stackloom.dev/v1alpha1\nkind: Addon\nmetadata: { name: reader }\nspec: { stage: default }\n",
    );
    let binding = |name: &str| {
        format!(
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {{ name: {name} }}\nroleRef: {{ apiGroup: \
             rbac.authorization.k8s.io, kind: ClusterRole, name: view }}\nsubjects: [{{ kind: Group, name: everyone, apiGroup: \
             rbac.authorization.k8s.io }}]\n"
        )
    };
    sandbox.write(&format!("{addon}/manifests/one.yaml"), binding("readers"));
    commit(&sandbox, "an addon that grants rights");
    let one = ["release", "--kubernetes", "1.35"];
    ends(&sandbox, &one, 0);
    let rights = |release: &str| -> Vec<String> {
        let notes = sandbox.read(&format!("generated/releases/{release}/NOTES.md")).unwrap();
        let (_, rest) = notes.split_once("## Rights\n").unwrap_or_else(|| panic!("{notes}"));
        rest.trim_start().lines().take_while(|line| line.starts_with("- ")).map(str::to_owned).collect()
    };
    let first = rights("test-tiny-1-35-v1");
    assert_eq!(first.len(), 1, "{first:?}");
    assert!(first[0].starts_with("- workload clusters: ") && first[0].contains("`readers`"), "{first:?}");
    assert!(!first[0].ends_with(", new"), "{first:?}");
    sandbox.write(&format!("{addon}/manifests/two.yaml"), binding("watchers"));
    commit(&sandbox, "more rights");
    ends(&sandbox, &one, 0);
    let second = rights("test-tiny-1-35-v2");
    let new: Vec<_> = second.iter().filter(|line| line.ends_with(", new")).collect();
    assert_eq!((second.len(), new.len()), (2, 1), "{second:?}");
    assert!(new[0].contains("`watchers`"), "{second:?}");
}

#[test]
fn a_fault_of_another_stack_does_not_stop_the_release_of_one() {
    let sandbox = fleet();
    copy(&sandbox.root.join(STACK), &sandbox.root.join("stacks/test/other"));
    let path = "stacks/test/other/stack.yaml";
    let text = sandbox.read(path).unwrap().replace("name: tiny", "name: other");
    sandbox.write(path, text.replace("kind: Stack", "kind: Stak"));
    commit(&sandbox, "another stack");
    assert!(ends(&sandbox, &["release"], 1).contains("error[wrong-kind]"));
    assert!(ends(&sandbox, &["release", "test/other"], 1).contains("error[wrong-kind]"));
    assert!(tags(&sandbox).is_empty());
    // A definition with errors may use any stack.
    let one = "clusters/blue/one.yaml";
    let sound = sandbox.read(one).unwrap();
    sandbox.write(one, "kind: [");
    assert!(ends(&sandbox, &["release", "test/tiny", "--dry-run"], 1).contains("error[yaml-syntax]"));
    sandbox.write(one, &sound);
    let printed = ends(&sandbox, &["release", "test/tiny", "--kubernetes", "1.35"], 0);
    assert!(printed.contains("warning[left-out]") && printed.contains(path), "{printed}");
    assert_eq!(tags(&sandbox), ["test-tiny-1-35-v1"]);
}
