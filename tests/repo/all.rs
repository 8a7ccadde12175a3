//! `generate --commit --all`: the sources and the tree as one commit, and nothing else.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
};

use stackloom::{
    commit_message::generated as message,
    io::{disk::Milestone, git::CommitSink},
    note::{Fault, Notes},
    tree::{Changes, Sink as _},
    world::World as _,
};

use crate::{
    release::{ends, fleet, stackloom},
    sandbox::{Sandbox, base, cluster, codes, git_in, is_killed, to_be_killed},
};

const ALL: [&str; 3] = ["generate", "--commit", "--all"];
const ONE: &str = "clusters/blue/one.yaml";

/// Commits the whole fleet, so that only the changes of a test remain.
fn settled() -> Sandbox {
    let sandbox = fleet();
    ends(&sandbox, &["generate", "--commit"], 0);
    sandbox
}

fn add(sandbox: &Sandbox, path: &str, line: &str) {
    sandbox.write(path, sandbox.read(path).unwrap_or_default() + line);
}

fn touched(sandbox: &Sandbox) -> Vec<String> {
    let shown = sandbox.git(&["show", "--format=", "--name-status", "--no-renames", "HEAD"]);
    shown.lines().map(|line| line.replace('\t', " ")).filter(|line| !line.contains("generated/")).collect()
}

fn status(sandbox: &Sandbox) -> String {
    sandbox.git(&["status", "--porcelain", "-uall"])
}

#[test]
fn sources_and_tree_are_one_commit_and_nothing_else_is_in_it() {
    let sandbox = settled();
    sandbox.write("README.md", "words\n");
    sandbox.write("notes/kept.txt", "a\n");
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "-qm", "others"]);
    sandbox.write("README.md", "staged\n");
    sandbox.git(&["add", "README.md"]);
    sandbox.write("README.md", "staged, and more\n");
    sandbox.write("notes/kept.txt", "b\n");
    sandbox.write("clusters/blue/words.txt", "no source\n");
    sandbox.write("stacks/test/tiny/.hidden", "no source\n");
    let before = status(&sandbox);
    let shown = sandbox.read(ONE).unwrap();
    sandbox.write("clusters/blue/three.yaml", shown.replace("name: one", "name: three"));
    sandbox.git(&["rm", "-q", "clusters/green/two.yaml"]);
    fs::remove_file(sandbox.root.join("stacks/test/tiny/namespace/limits.yaml")).unwrap();
    add(&sandbox, ONE, "# words\n");
    let printed = ends(&sandbox, &[&ALL[..], &["--message", "three: a third cluster"]].concat(), 0);
    assert!(printed.contains("; with 4 sources; committed as "), "{printed}");
    assert_eq!(
        touched(&sandbox),
        [
            "M clusters/blue/one.yaml",
            "A clusters/blue/three.yaml",
            "D clusters/green/two.yaml",
            "D stacks/test/tiny/namespace/limits.yaml"
        ]
    );
    assert_eq!(status(&sandbox), before);
    assert_eq!(sandbox.git(&["show", ":README.md"]), "staged\n");
    let text = sandbox.git(&["log", "-1", "--format=%B"]);
    assert!(text.starts_with("three: a third cluster\n\nClusters added:\n- blue/three\n"), "{text}");
    assert!(text.contains("- clusters/green/two.yaml\n- stacks/test/tiny/namespace/limits.yaml\n"), "{text}");
    sandbox.git(&["fsck", "--strict"]);
    ends(&sandbox, &["generate", "--check"], 0);
    let printed = ends(&sandbox, &ALL, 0);
    assert!(printed.contains("nothing to commit"), "{printed}");
    add(&sandbox, ONE, "# more words\n");
    ends(&sandbox, &ALL, 0);
    assert_eq!(sandbox.git(&["log", "-1", "--format=%s"]), format!("generate: {ONE} changed\n"));
    assert_eq!(status(&sandbox), before);
}

#[test]
fn the_first_commit_of_a_fleet_in_a_sub_folder() {
    let sandbox = Sandbox::below("platform/eu");
    Sandbox::init(&sandbox.outside());
    let from = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/_base");
    crate::release::copy(&from, &sandbox.root);
    let text = sandbox.read("stackloom.yaml").unwrap();
    sandbox.write("stackloom.yaml", text.replace("  source:\n", "  source:\n    path: platform/eu\n"));
    fs::write(sandbox.outside().join("stackloom.yaml"), "someone else's\n").unwrap();
    ends(&sandbox, &ALL, 0);
    assert_eq!(sandbox.git(&["status", "--porcelain", "-uall", ":/"]), "?? stackloom.yaml\n");
    let files = sandbox.files_of("HEAD");
    assert!(files.iter().all(|path| path.starts_with("platform/eu/")), "{files:?}");
    assert!(files.contains(&format!("platform/eu/{ONE}")));
    ends(&sandbox, &["generate", "--check"], 0);
}

#[test]
fn staged_sources_are_committed_as_they_are_on_disk() {
    let sandbox = settled();
    add(&sandbox, ONE, "# staged\n");
    sandbox.git(&["add", ONE]);
    add(&sandbox, ONE, "# and more\n");
    sandbox
        .write("clusters/blue/_defaults.yaml", "apiVersion: stackloom.dev/v1alpha1\nkind: ClusterDefaults\n");
    sandbox.git(&["add", "-N", "clusters/blue/_defaults.yaml"]);
    ends(&sandbox, &ALL, 0);
    assert_eq!(status(&sandbox), "");
    assert!(sandbox.git(&["show", &format!("HEAD:{ONE}")]).ends_with("# staged\n# and more\n"));
}

/// Reads the fleet, lets `edit` change it, and commits what was read.
fn edited_meanwhile(sandbox: &Sandbox, edit: impl FnOnce()) -> (Result<Changes, Fault>, Notes) {
    let workspace = sandbox.workspace();
    let mut notes = Notes::new();
    let input = workspace.read(&mut notes).unwrap();
    let mut sink = CommitSink::open(&workspace).unwrap().with_sources(&input);
    let changes = (|| {
        sink.begin(&mut notes)?;
        sink.parts(vec![base()])?;
        sink.parts(vec![cluster("one", "a")])?;
        edit();
        sink.commit(&mut notes, &message)
    })();
    (changes, notes)
}

#[test]
fn the_commit_contains_what_was_read_whatever_is_saved_meanwhile() {
    let sandbox = fleet();
    let two = "clusters/green/two.yaml";
    add(&sandbox, ONE, "# read\n");
    add(&sandbox, two, "# read\n");
    let (changes, notes) = edited_meanwhile(&sandbox, || {
        let text = sandbox.read(ONE).unwrap();
        // The same length, so that only the content differs.
        sandbox.write(ONE, text.replace("# read\n", "# late\n"));
        fs::remove_file(sandbox.root.join(two)).unwrap();
        sandbox.write("clusters/blue/late.yaml", "a: 1\n");
    });
    assert!(notes.is_empty() && changes.unwrap().commit.is_some(), "{notes:?}");
    for path in [ONE, two] {
        assert!(sandbox.git(&["show", &format!("HEAD:{path}")]).ends_with("# read\n"));
    }
    assert_eq!(status(&sandbox), format!(" M {ONE}\n D {two}\n?? clusters/blue/late.yaml\n"));
    assert!(sandbox.read(ONE).unwrap().ends_with("# late\n"));
}

#[test]
fn a_deleted_source_that_comes_back_meanwhile_stops_the_commit() {
    let sandbox = fleet();
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    fs::remove_file(sandbox.root.join(ONE)).unwrap();
    let (changes, _) = edited_meanwhile(&sandbox, || sandbox.write(ONE, "a: 1\n"));
    let fault = changes.unwrap_err().to_string();
    assert!(fault.contains("`clusters/blue/one.yaml` changed while this ran"), "{fault}");
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), head);
    assert!(!sandbox.has(".git/index.lock"));
}

#[test]
fn ignored_sources_are_refused() {
    let sandbox = settled();
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.write(".git/info/exclude", "three.yaml\n*.local\n");
    let shown = sandbox.read(ONE).unwrap();
    sandbox.write("clusters/blue/three.yaml", shown.replace("name: one", "name: three"));
    sandbox.write("clusters/blue/one.d/words.local", "what nobody applies\n");
    sandbox.write("clusters/blue/one.d/more.txt", "what git takes\n");
    let printed = ends(&sandbox, &ALL, 1);
    assert!(
        printed.contains("ignored-source") && printed.contains("git add --force clusters/blue/three.yaml"),
        "{printed}"
    );
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), head);
    sandbox.git(&["add", "--force", "clusters/blue/three.yaml"]);
    ends(&sandbox, &ALL, 0);
    assert_eq!(touched(&sandbox), ["A clusters/blue/one.d/more.txt", "A clusters/blue/three.yaml"]);
    assert_eq!(status(&sandbox), "");
}

#[test]
fn files_that_git_looks_away_from_are_refused() {
    let sandbox = settled();
    sandbox.git(&["update-index", "--assume-unchanged", ONE]);
    ends(&sandbox, &ALL, 0);
    add(&sandbox, ONE, "# words\n");
    let printed = ends(&sandbox, &ALL, 1);
    assert!(printed.contains("unseen-source") && printed.contains("--no-assume-unchanged"), "{printed}");
    sandbox.git(&["update-index", "--no-assume-unchanged", ONE]);
    ends(&sandbox, &ALL, 0);
    assert_eq!(touched(&sandbox), [format!("M {ONE}")]);
}

#[test]
fn modes_links_and_line_ends_are_as_git_would_have_them() {
    let sandbox = settled();
    let mode = |path: &str| sandbox.git(&["ls-tree", "HEAD", path]).split(' ').next().map(str::to_owned);
    fs::set_permissions(sandbox.root.join(ONE), fs::Permissions::from_mode(0o755)).unwrap();
    let shown = sandbox.read(ONE).unwrap();
    sandbox.write("shared/three.yaml", shown.replace("name: one", "name: three"));
    sandbox.write("shared/more/four.yaml", shown.replace("name: one", "name: four").replace('\n', "\r\n"));
    sandbox.write("shared/more/no-source.txt", "a\n");
    symlink("../../shared/three.yaml", sandbox.root.join("clusters/blue/three.yaml")).unwrap();
    symlink("../../shared/more", sandbox.root.join("clusters/blue/more")).unwrap();
    sandbox.git(&["config", "core.autocrlf", "true"]);
    ends(&sandbox, &ALL, 0);
    assert_eq!(
        touched(&sandbox),
        [
            "A clusters/blue/more",
            "M clusters/blue/one.yaml",
            "A clusters/blue/three.yaml",
            "A shared/more/four.yaml",
            "A shared/three.yaml"
        ]
    );
    assert_eq!(status(&sandbox), "?? shared/more/no-source.txt\n");
    assert_eq!(mode(ONE).as_deref(), Some("100755"));
    assert_eq!(mode("clusters/blue/more").as_deref(), Some("120000"));
    assert!(!sandbox.git(&["show", "HEAD:shared/more/four.yaml"]).contains('\r'));
    // A folder instead of the link, and one file fewer behind it.
    fs::remove_file(sandbox.root.join("clusters/blue/more")).unwrap();
    sandbox.write("clusters/blue/more/four.yaml", sandbox.read("shared/more/four.yaml").unwrap());
    ends(&sandbox, &ALL, 0);
    assert_eq!(touched(&sandbox), ["D clusters/blue/more", "A clusters/blue/more/four.yaml"]);
    fs::remove_dir_all(sandbox.root.join("clusters/blue/more")).unwrap();
    symlink("../../shared/more", sandbox.root.join("clusters/blue/more")).unwrap();
    ends(&sandbox, &ALL, 0);
    assert_eq!(touched(&sandbox), ["A clusters/blue/more", "D clusters/blue/more/four.yaml"]);
    assert_eq!(status(&sandbox), "?? shared/more/no-source.txt\n");
    sandbox.git(&["fsck", "--strict"]);
}

#[test]
fn sources_with_a_filter_are_refused() {
    let sandbox = settled();
    sandbox.write(".gitattributes", "clusters/** filter=lock\n");
    sandbox.git(&["add", ".gitattributes"]);
    sandbox.git(&["commit", "-qm", "attributes"]);
    add(&sandbox, ONE, "# words\n");
    // Git ignores the filter as long as it is not configured.
    ends(&sandbox, &ALL, 0);
    sandbox.git(&["config", "filter.lock.clean", "tr a-z b-za"]);
    add(&sandbox, ONE, "# words\n");
    let printed = ends(&sandbox, &ALL, 1);
    assert!(printed.contains("filtered-source") && printed.contains("the filter `lock`"), "{printed}");
}

#[test]
fn a_submodule_has_to_be_as_committed() {
    let sandbox = settled();
    let other = Sandbox::repository();
    other.write("three.yaml", sandbox.read(ONE).unwrap().replace("name: one", "name: three"));
    other.git(&["add", "."]);
    other.git(&["commit", "-qm", "three"]);
    let url = other.root.to_str().unwrap();
    // First as a nested repository.
    sandbox.git(&["clone", "-q", url, "clusters/elsewhere"]);
    let printed = ends(&sandbox, &ALL, 1);
    assert!(printed.contains("nested-repository"), "{printed}");
    fs::remove_dir_all(sandbox.root.join("clusters/elsewhere")).unwrap();
    sandbox.git(&["-c", "protocol.file.allow=always", "submodule", "add", "-q", url, "clusters/elsewhere"]);
    sandbox.git(&["commit", "-qm", "submodule"]);
    ends(&sandbox, &ALL, 0);
    assert_eq!(touched(&sandbox), Vec::<String>::new());
    assert_eq!(status(&sandbox), "");
    add(&sandbox, "clusters/elsewhere/three.yaml", "# words\n");
    let printed = ends(&sandbox, &ALL, 1);
    assert!(printed.contains("changed-submodule"), "{printed}");
}

#[test]
fn a_release_that_is_not_committed_is_refused() {
    let sandbox = settled();
    ends(&sandbox, &["release", "--no-tag"], 0);
    sandbox.git(&["reset", "-q", "--soft", "HEAD~1"]);
    let printed = ends(&sandbox, &ALL, 1);
    assert!(printed.contains("uncommitted-release"), "{printed}");
}

#[test]
fn a_merge_under_way_is_refused_and_flags_belong_together() {
    let sandbox = settled();
    for flags in [
        &["--all"][..],
        &["--message", "x"],
        &["--commit", "--all", "--keep-going"],
        &["--commit", "--message", ""],
    ] {
        ends(&sandbox, &[&["generate"], flags].concat(), 2);
    }
    sandbox.git(&["checkout", "-q", "-b", "side"]);
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "side"]);
    sandbox.git(&["checkout", "-q", "main"]);
    sandbox.git(&["merge", "-q", "--no-ff", "--no-commit", "side"]);
    add(&sandbox, ONE, "# words\n");
    let printed = ends(&sandbox, &ALL, 4);
    assert!(printed.contains("a merge is in progress"), "{printed}");
    assert_eq!(stackloom(&sandbox, &["generate"]).status.code(), Some(0));
}

#[test]
fn hooks_are_not_run() {
    let sandbox = settled();
    sandbox.write(".git/hooks/pre-commit", "#!/bin/sh\nexit 1\n");
    fs::set_permissions(sandbox.root.join(".git/hooks/pre-commit"), fs::Permissions::from_mode(0o755))
        .unwrap();
    add(&sandbox, ONE, "# words\n");
    ends(&sandbox, &ALL, 0);
}

/// Not a test of its own: the process killed by [`a_killed_run_leaves_the_repository_whole`].
#[test]
fn the_commit_that_is_killed() {
    let Some((workspace, end)) = to_be_killed() else { return };
    let mut notes = Notes::new();
    let input = workspace.read(&mut notes).unwrap();
    let mut sink = CommitSink::open(&workspace).unwrap().with_sources(&input).on_milestone(end);
    sink.begin(&mut notes).unwrap();
    for part in [base(), cluster("one", "a")] {
        sink.parts(vec![part]).unwrap();
    }
    sink.commit(&mut notes, &message).unwrap();
    assert!(codes(&notes).is_empty());
}

#[test]
fn a_killed_run_leaves_the_repository_whole() {
    let mut stop = 1;
    loop {
        let sandbox = fleet();
        add(&sandbox, ONE, "# words\n");
        fs::remove_file(sandbox.root.join("clusters/green/two.yaml")).unwrap();
        let killed = is_killed("all::the_commit_that_is_killed", &sandbox, stop);
        let moved = sandbox.git(&["rev-list", "--count", "HEAD"]).trim() == "2";
        sandbox.git(&["fsck", "--strict"]);
        assert_eq!(sandbox.git(&["show", &format!("HEAD:{ONE}")]).ends_with("# words\n"), moved, "{stop}");
        assert!(sandbox.read(ONE).unwrap().ends_with("# words\n"), "{stop}");
        // The next run completes the rest.
        assert!(!is_killed("all::the_commit_that_is_killed", &sandbox, usize::MAX), "{stop}");
        assert_eq!(sandbox.git(&["status", "--porcelain", "--ignored"]), "", "{stop}");
        assert_eq!(sandbox.git(&["rev-list", "--count", "HEAD"]).trim(), "2", "{stop}");
        assert!(git_in(&sandbox.root).args(["diff", "--quiet", "HEAD"]).status().unwrap().success());
        if !killed {
            break;
        }
        stop += 1;
    }
    assert!(stop > Milestone::Reference as usize, "it was killed at {stop} steps only");
}
