//! `stackloom diff` and `check --against`: the commit to compare with, and the exit code.

use std::{fs, path::Path};

use serde_json::Value as Json;
use stackloom::{
    compare::{Archive as _, Outline},
    io::git::Repository,
};

use crate::{
    release::{ends, stackloom},
    sandbox::{Sandbox, git_in},
};

/// The small fleet, generated, committed and published as `origin/main`.
pub(crate) fn fleet() -> Sandbox {
    let sandbox = Sandbox::repository();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fleets/inmemory");
    for entry in walkdir::WalkDir::new(&from) {
        let entry = entry.unwrap();
        if entry.file_type().is_file() {
            let path = entry.path().strip_prefix(&from).unwrap().to_str().unwrap();
            sandbox.write(path, fs::read(entry.path()).unwrap());
        }
    }
    ends(&sandbox, &["generate"], 0);
    save(&sandbox, "base");
    sandbox.git(&["remote", "add", "origin", "https://git.example.org/fleet.git"]);
    sandbox.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    sandbox
}

pub(crate) fn save(sandbox: &Sandbox, message: &str) {
    sandbox.git(&["add", "--all"]);
    sandbox.git(&["commit", "--quiet", "--message", message]);
}

/// Generates without the guards: they know nothing of what was there if there is neither a tree nor a repository.
pub(crate) fn generate_unguarded(sandbox: &Sandbox) {
    let (here, aside) = (sandbox.root.join(".git"), sandbox.outside().join("aside"));
    fs::rename(&here, &aside).unwrap();
    fs::remove_dir_all(sandbox.root.join("generated")).unwrap();
    ends(sandbox, &["generate"], 0);
    fs::rename(&aside, &here).unwrap();
}

pub(crate) fn replace(sandbox: &Sandbox, path: &str, from: &str, to: &str) {
    let text = sandbox.read(path).unwrap();
    assert!(text.contains(from), "{text}");
    sandbox.write(path, text.replace(from, to));
}

pub(crate) const ONE: &str = "clusters/blue/one.yaml";
pub(crate) const THREE: &str = "clusters/green/three.yaml";

#[track_caller]
pub(crate) fn says(sandbox: &Sandbox, arguments: &[&str], exit: i32, words: &str) {
    let printed = ends(sandbox, arguments, exit);
    assert!(printed.contains(words), "{arguments:?}: {printed}");
}

#[test]
fn the_folder_of_a_cluster_has_the_id_that_git_gives_it() {
    let sandbox = fleet();
    let one = "generated/management/mgmt/clusters/blue/one";
    // In git's order, `a` is behind `a.b` as a folder, and before it as a file.
    for path in ["a/x.yaml", "a.b/x.yaml", "a-b.yaml", "c", "c.yaml", "c0/d/e.yaml"] {
        sandbox.write(&format!("{one}/{path}"), path);
    }
    save(&sandbox, "more files");
    let revision = Repository::discover(&sandbox.workspace()).unwrap().revision("HEAD").unwrap();
    let outline = revision.outline().unwrap();
    assert_eq!(outline.clusters.len(), 3, "{outline:?}");
    assert_eq!(outline, Outline::of(&revision.list("generated").unwrap()));
}

#[test]
fn a_cluster_that_a_commit_changes_and_the_work_tree_restores_is_the_same() {
    let sandbox = fleet();
    replace(&sandbox, ONE, "replicas: 2", "replicas: 4");
    ends(&sandbox, &["generate"], 0);
    save(&sandbox, "more replicas");
    let four = "clusters/blue/four.yaml";
    let text = sandbox.read(ONE).unwrap().replace("name: one", "name: four");
    sandbox.write(four, text);
    ends(&sandbox, &["generate"], 0);
    save(&sandbox, "another cluster");
    says(&sandbox, &["diff"], 0, "2 of 4 clusters change");
    replace(&sandbox, ONE, "replicas: 4", "replicas: 2");
    says(&sandbox, &["diff"], 0, "1 of 4 clusters changes: 1 new");
    sandbox.git(&["rm", "--quiet", four]);
    let printed = ends(&sandbox, &["diff"], 0);
    assert!(printed.contains("None of the 3 clusters change"), "{printed}");
}

#[test]
fn a_change_is_compared_with_where_it_left_the_branch_that_the_engine_reads() {
    let sandbox = fleet();
    says(&sandbox, &["diff", "--exit-code"], 0, "None of the 3 clusters change");
    sandbox.git(&["checkout", "--quiet", "-b", "topic"]);
    replace(&sandbox, ONE, "replicas: 2", "replicas: 4");
    says(&sandbox, &["diff"], 0, "merge base with origin/main");
    says(&sandbox, &["diff", "--exit-code"], 3, "1 of 3 clusters changes: 1 adds 2 pool machines");
    // A committed change still counts, although HEAD contains it.
    ends(&sandbox, &["generate"], 0);
    save(&sandbox, "topic");
    says(&sandbox, &["diff", "--exit-code"], 3, "1 of 3 clusters changes: 1 adds 2 pool machines");
    says(&sandbox, &["diff", "HEAD", "--exit-code"], 0, "None of the 3");
    says(&sandbox, &["diff", "topic", "topic", "--exit-code"], 0, "None of the 3");
    says(
        &sandbox,
        &["diff", "origin/main", "topic", "--exit-code"],
        3,
        "1 of 3 clusters changes: 1 adds 2 pool machines",
    );
    says(&sandbox, &["diff", "--fail-on", "deletes,refused"], 0, "1 adds 2 pool machines");
    says(&sandbox, &["diff", "--fail-on", "deletes,in-place"], 1, "1 adds 2 pool machines");
    says(&sandbox, &["diff", "--fail-on", "everything"], 2, "unannounced-deletes");
    // The checkout of a pull request in CI: a merge commit without a branch.
    sandbox.git(&["update-ref", "-d", "refs/remotes/origin/main"]);
    sandbox.git(&["checkout", "--quiet", "--detach", "main"]);
    sandbox.git(&["merge", "--quiet", "--no-ff", "--message", "merge", "topic"]);
    says(&sandbox, &["diff", "--exit-code"], 3, "first parent of the merge commit");
}

#[test]
fn without_a_commit_to_compare_with_the_way_out_is_named() {
    let sandbox = fleet();
    sandbox.git(&["update-ref", "-d", "refs/remotes/origin/main"]);
    says(&sandbox, &["diff"], 4, "git fetch origin main:refs/remotes/origin/main");
    says(&sandbox, &["diff"], 4, "stackloom diff <BASE>");
    says(&sandbox, &["diff", "nowhere"], 1, "error[unknown-revision]: `nowhere`: git knows no such commit");
    says(&sandbox, &["diff", "HEAD", "nowhere"], 1, "error[unknown-revision]: `nowhere`");
    says(&sandbox, &["check", "--against", "nowhere"], 1, "error[unknown-revision]: `--against nowhere`");
    // An unrelated history.
    sandbox.git(&["checkout", "--quiet", "--orphan", "other"]);
    sandbox.git(&["commit", "--quiet", "--message", "other"]);
    sandbox.git(&["update-ref", "refs/remotes/origin/main", "main"]);
    says(&sandbox, &["diff"], 4, "no commit in common");
    let clone = Sandbox::new();
    fs::remove_dir(&clone.root).unwrap();
    let url = format!("file://{}", sandbox.root.display());
    sandbox.git(&["checkout", "--quiet", "main"]);
    replace(&sandbox, ONE, "replicas: 2", "replicas: 4");
    save(&sandbox, "more");
    let into = clone.root.to_str().unwrap();
    let cloned = git_in(&clone.outside())
        .args(["clone", "--quiet", "--depth", "1", "--no-single-branch", &url, into])
        .status()
        .unwrap();
    assert!(cloned.success());
    clone.git(&["checkout", "--quiet", "other"]);
    says(&clone, &["diff"], 4, "git fetch --unshallow");
}

#[test]
fn changes_that_generate_would_refuse_are_refused_against_a_base() {
    let sandbox = fleet();
    replace(&sandbox, THREE, "kubernetes: \"1.36\"", "kubernetes: \"1.35\"");
    says(&sandbox, &["check"], 1, "error[replaced]");
    // A tree that does not exist hides nothing: the last commit has it.
    fs::remove_dir_all(sandbox.root.join("generated/management")).unwrap();
    says(&sandbox, &["check"], 1, "error[replaced]");
    says(&sandbox, &["check", "--against", "HEAD"], 1, "error[replaced]");
    says(&sandbox, &["diff"], 1, "1 of 3 clusters changes: 1 refused");
    says(&sandbox, &["diff", "--format", "markdown"], 1, "| Refused or stuck | 1 |");
    says(&sandbox, &["check", "--format", "markdown"], 2, "stackloom diff");
    says(&sandbox, &["check", "--format", "html"], 2, "stackloom diff");
    sandbox.git(&["checkout", "--quiet", "."]);
    says(&sandbox, &["check", "--against", "HEAD"], 0, "no errors found");
}

/// The fleet with a cluster that would be downgraded.
fn downgraded() -> Sandbox {
    let sandbox = fleet();
    replace(&sandbox, THREE, "kubernetes: \"1.36\"", "kubernetes: \"1.35\"");
    sandbox
}

const WRITE: [&str; 9] = [
    "diff",
    "--write",
    "html=out/page.html",
    "--write",
    "markdown=out/comment.md",
    "--write",
    "json=out/report.json",
    "--write",
    "sarif=out/found.sarif",
];

fn written(sandbox: &Sandbox) -> [String; 4] {
    ["page.html", "comment.md", "report.json", "found.sarif"]
        .map(|name| sandbox.read(&format!("out/{name}")).unwrap())
}

#[test]
fn one_run_writes_the_report_in_every_format() {
    let sandbox = downgraded();
    let printed = ends(&sandbox, &WRITE, 1);
    assert!(printed.contains("1 of 3 clusters changes: 1 refused"), "{printed}");
    let [page, comment, report, sarif] = written(&sandbox);
    assert!(
        page.contains(
            "<h1>1 of 3 clusters changes: 1 refused (if merged anyway, addons of 1 cluster change)</h1>"
        ),
        "{page}"
    );
    assert!(comment.contains("| Refused or stuck | 1 |"), "{comment}");
    let digest =
        comment.lines().last().unwrap().trim_start_matches("<!-- stackloom-diff ").trim_end_matches(" -->");
    assert!(page.contains(&format!("content=\"{digest}\"")), "{page}");
    // Each file equals the output in the format of the same name.
    for (format, text) in [("html", &page), ("markdown", &comment), ("json", &report), ("sarif", &sarif)] {
        let printed = stackloom(&sandbox, &["diff", "--format", format]);
        assert_eq!(String::from_utf8_lossy(&printed.stdout), *text, "{format}");
    }
    let [report, sarif] = [&report, &sarif].map(|text| serde_json::from_str::<Json>(text).unwrap());
    let changes = report["clusters"][0]["changes"].as_array().unwrap();
    // The refusals by Cluster API and by a guard count as one.
    let refused: Vec<_> = changes
        .iter()
        .filter(|one| one["risk"] == "refused")
        .map(|one| one["id"].as_str().unwrap())
        .collect();
    assert_eq!(refused.len(), 1, "{report:#}");
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    // Only once, and not again for the generated file.
    let errors: Vec<_> = results.iter().filter(|one| one["level"] == "error").collect();
    assert_eq!(errors.len(), 1, "{sarif:#}");
    let text = sandbox.read(THREE).unwrap();
    for result in errors {
        assert_eq!(result["ruleId"], "diff-refused");
        let id = result["partialFingerprints"]["stackloomChange/v1"].as_str().unwrap();
        assert!(refused.contains(&id), "{id}");
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], THREE);
        let line = usize::try_from(place["region"]["startLine"].as_u64().unwrap()).unwrap();
        assert!(text.lines().nth(line - 1).unwrap().contains("kubernetes:"), "{line}");
    }
}

#[test]
fn findings_are_annotations_at_the_line_that_causes_them() {
    let sandbox = downgraded();
    let printed = ends(&sandbox, &["diff", "--format", "github"], 1);
    let errors: Vec<_> = printed.lines().filter(|line| line.starts_with("::error ")).collect();
    for line in &errors {
        assert!(line.starts_with(&format!("::error file={THREE},line=")), "{printed}");
        let refused = "title=Refused or stuck::green/three: cluster: is refused: `stackloom generate` does not write this change, and the API server would refuse it as well; no machine is touched%0A";
        assert!(line.contains(refused), "{printed}");
    }
    // Cluster API and a guard both refuse it.
    assert_eq!(errors.len(), 1, "{printed}");
    assert!(printed.contains("1 of 3 clusters changes: 1 refused"), "{printed}");
}

#[test]
fn a_run_that_compares_nothing_says_so_in_its_files() {
    let sandbox = downgraded();
    ends(&sandbox, &WRITE, 1);
    sandbox.git(&["update-ref", "-d", "refs/remotes/origin/main"]);
    ends(&sandbox, &WRITE, 4);
    let [page, comment, report, sarif] = written(&sandbox);
    assert!(
        page.contains("<h1>Nothing was compared</h1>") && page.contains("git fetch origin main"),
        "{page}"
    );
    assert!(comment.starts_with("### Nothing was compared"), "{comment}");
    assert!(comment.contains("git fetch origin main"), "{comment}");
    for (format, head) in
        [("markdown", "### Nothing was compared"), ("html", "<h1>Nothing was compared</h1>")]
    {
        let printed = String::from_utf8(stackloom(&sandbox, &["diff", "--format", format]).stdout).unwrap();
        assert!(printed.contains(head) && printed.contains("git fetch origin main"), "{printed}");
    }
    assert!(comment.lines().last().unwrap().starts_with("<!-- stackloom-diff sha256:"), "{comment}");
    assert!(report.contains("\"exit\": 4") && sarif.contains("\"executionSuccessful\": false"));
    // Errors of the fleet as a whole.
    sandbox.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    sandbox.write("stackloom.yaml", "kind: Fleet\n");
    ends(&sandbox, &WRITE, 1);
    let [page, comment, report, sarif] = written(&sandbox);
    assert!(page.contains("<h1>Nothing was compared</h1>") && page.contains("stackloom.yaml"), "{page}");
    assert!(comment.contains("stackloom.yaml"), "{comment}");
    assert!(report.contains("\"exit\": 1") && sarif.contains("\"uri\": \"stackloom.yaml\""));
    says(&sandbox, &["diff", "--write", "page.html"], 2, "FORMAT=FILE");
    says(&sandbox, &["diff", "--write", "pdf=page.pdf"], 2, "there is no format `pdf`");
    says(&sandbox, &["diff", "--write", "html=x", "--write", "json=x"], 2, "names `x` twice");
}

/// The reporting command of an example, and the files that it keeps.
fn example(path: &str, command: &[&str], files: &[&str]) -> (String, Vec<String>) {
    let text =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/review").join(path)).unwrap();
    let document: Json = serde_yaml::from_str(&text).unwrap();
    let at = |keys: &[&str]| {
        keys.iter()
            .fold(&document, |value, key| key.parse::<usize>().map_or(&value[*key], |index| &value[index]))
    };
    let kept = at(files);
    let kept = kept.as_array().map_or_else(|| vec![kept.clone()], Clone::clone);
    let kept = kept.iter().map(|path| path.as_str().unwrap().to_owned()).collect();
    (at(command).as_str().unwrap().to_owned(), kept)
}

#[test]
fn the_examples_for_reviews_write_what_they_keep() {
    let github = example(
        "diff.yml",
        &["jobs", "diff", "steps", "3", "run"],
        &["jobs", "diff", "steps", "4", "with", "path"],
    );
    assert_eq!(github.1, ["report/"]);
    let job = "stackloom-diff";
    let gitlab = example("gitlab-ci.yml", &[job, "script", "0"], &[job, "artifacts", "paths"]);
    let programs = Path::new(env!("CARGO_BIN_EXE_stackloom")).parent().unwrap().to_owned();
    let own = std::env::split_paths(&std::env::var_os("PATH").unwrap()).collect::<Vec<_>>();
    let path = std::env::join_paths(std::iter::once(programs).chain(own)).unwrap();
    for (command, _) in [github, gitlab.clone()] {
        let sandbox = fleet();
        sandbox.git(&["checkout", "--quiet", "-b", "topic"]);
        replace(&sandbox, THREE, "kubernetes: \"1.36\"", "kubernetes: \"1.35\"");
        save(&sandbox, "topic");
        sandbox.git(&["update-ref", "-d", "refs/remotes/origin/main"]);
        sandbox.git(&["checkout", "--quiet", "--detach", "main"]);
        sandbox.git(&["merge", "--quiet", "--no-ff", "--message", "merge", "topic"]);
        let output = std::process::Command::new("bash")
            .args(["--noprofile", "--norc", "-eo", "pipefail", "-c", &command])
            .current_dir(&sandbox.root)
            .env("PATH", &path)
            .env("CI_MERGE_REQUEST_DIFF_BASE_SHA", sandbox.git(&["rev-parse", "main"]).trim())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(1), "{printed}{}", String::from_utf8_lossy(&output.stderr));
        for file in &gitlab.1 {
            assert!(sandbox.has(file), "{file}: {printed}");
        }
        let comment = sandbox.read("report/comment.md").unwrap();
        assert!(comment.contains("| Refused or stuck | 1 |"), "{comment}");
    }
}

/// Generates and commits, and returns the short commit ID used in messages.
pub(crate) fn step(sandbox: &Sandbox, message: &str) -> String {
    ends(sandbox, &["generate", "--commit", "--all"], 0);
    sandbox.git(&["commit", "--quiet", "--amend", "--message", message]);
    sandbox.git(&["rev-parse", "HEAD"]).trim()[..10].to_owned()
}

/// Takes two steps of a cluster's removal on a new branch `topic`, and returns their commits.
pub(crate) fn remove_in_steps(sandbox: &Sandbox) -> [String; 2] {
    sandbox.git(&["checkout", "--quiet", "-b", "topic"]);
    let text = sandbox.read(ONE).unwrap();
    ["detach", "delete"].map(|one| {
        sandbox.write(ONE, format!("{text}  removal: {{ reason: over, step: {one} }}\n"));
        step(sandbox, one)
    })
}

const GUARDED: [&[&str]; 2] = [
    &["check", "--against", "origin/main"],
    &["diff", "origin/main", "--fail-on", "refused,unannounced-deletes"],
];

#[test]
fn a_removal_with_all_its_steps_in_one_change_is_announced() {
    let sandbox = fleet();
    let text = sandbox.read(ONE).unwrap();
    let [first, _] = remove_in_steps(&sandbox);
    fs::remove_file(sandbox.root.join(ONE)).unwrap();
    // The last step is not committed yet.
    for arguments in GUARDED {
        says(&sandbox, arguments, 0, "warning[announced]");
        says(&sandbox, arguments, 0, &first);
        says(&sandbox, arguments, 0, ONE);
    }
    says(
        &sandbox,
        GUARDED[1],
        0,
        "is deleted with 3 machines (control plane: 1, pool md-0: 2), as the `removal` in its definition announced",
    );
    step(&sandbox, "gone");
    says(&sandbox, GUARDED[0], 0, "warning[announced]");
    says(&sandbox, &["diff", "main", "topic", "--fail-on", "unannounced-deletes"], 0, "warning[announced]");
    says(
        &sandbox,
        &["diff", "main", "topic", "--format", "markdown"],
        0,
        "**Warning:** the cluster `blue/one` is removed in steps, and this change contains all of them; merge and apply the commits one by one",
    );
    // The checkout in CI, with a new commit on the branch in the meantime.
    sandbox.git(&["checkout", "--quiet", "--detach", "main"]);
    sandbox.git(&["commit", "--quiet", "--allow-empty", "--message", "meanwhile"]);
    sandbox.git(&["merge", "--quiet", "--no-ff", "--message", "merge", "topic"]);
    says(&sandbox, &["diff", "--fail-on", "unannounced-deletes"], 0, "warning[announced]");
    // The same changes in one commit are not announced.
    sandbox.git(&["checkout", "--quiet", "-b", "squashed", "main"]);
    sandbox.git(&["merge", "--quiet", "--squash", "topic"]);
    sandbox.git(&["commit", "--quiet", "--message", "squashed"]);
    says(&sandbox, GUARDED[1], 1, "abandoned");
    // Neither are they if a step is skipped.
    sandbox.git(&["checkout", "--quiet", "-b", "jump", "main"]);
    sandbox.write(ONE, format!("{text}  removal: {{ reason: over, step: detach }}\n"));
    step(&sandbox, "detach");
    fs::remove_file(sandbox.root.join(ONE)).unwrap();
    fs::remove_dir_all(sandbox.root.join("generated/management/mgmt/clusters/blue/one")).unwrap();
    says(&sandbox, GUARDED[1], 1, "abandoned");
}

/// A definition that is deleted by mistake and restored later. The cluster kept running.
#[test]
fn a_lost_cluster_that_comes_back_is_not_a_new_one() {
    let sandbox = fleet();
    let text = sandbox.read(ONE).unwrap();
    fs::remove_file(sandbox.root.join(ONE)).unwrap();
    let lost = step(&sandbox, "lost");
    sandbox.git(&["commit", "--quiet", "--allow-empty", "--message", "meanwhile"]);
    sandbox.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    sandbox.git(&["checkout", "--quiet", "-b", "topic"]);
    sandbox.write(ONE, &text);
    let same = format!(
        "is defined again, as it was before {lost} removed its files: if it still runs, nothing changes"
    );
    says(&sandbox, &["diff"], 0, &same);
    says(&sandbox, &["diff", "--fail-on", "unknown"], 0, "in place");
    sandbox.write(ONE, text.replace("replicas: 2", "replicas: 3"));
    says(&sandbox, &["diff"], 0, &format!("is defined again, but differs from what {lost} removed"));
    says(&sandbox, &["diff", "--fail-on", "unknown"], 1, "1 unknown");
    // Without its history, a cluster is new.
    sandbox.git(&["checkout", "--quiet", "--orphan", "fresh"]);
    sandbox.git(&["commit", "--quiet", "--message", "fresh"]);
    says(&sandbox, &["diff", "HEAD"], 0, "is created with 4 machines");
}

/// A move that was merged by mistake, and its revert. The cluster that was left behind kept running.
#[test]
fn a_cluster_that_moves_back_is_not_built_anew() {
    let sandbox = fleet();
    let text = sandbox.read(ONE).unwrap();
    sandbox.write(ONE, text.replace("namespace: blue", "namespace: red"));
    generate_unguarded(&sandbox);
    save(&sandbox, "moved");
    let lost = sandbox.git(&["rev-parse", "HEAD"]).trim()[..10].to_owned();
    sandbox.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    sandbox.write(ONE, &text);
    let same = format!(
        "is defined again, as it was before {lost} removed its files: if it still runs, nothing changes"
    );
    says(&sandbox, &["diff"], 1, &same);
    says(&sandbox, &["diff"], 1, "red/one\n    cluster: is abandoned: its files leave git");
}

#[test]
fn a_shallow_clone_says_which_history_it_lacks() {
    let sandbox = fleet();
    remove_in_steps(&sandbox);
    let lost = sandbox.git(&["rev-parse", "HEAD~1"]).trim()[..10].to_owned();
    let clone = Sandbox::new();
    fs::remove_dir(&clone.root).unwrap();
    let url = format!("file://{}", sandbox.root.display());
    let into = clone.root.to_str().unwrap();
    let depth = ["clone", "--quiet", "--depth", "1", "--no-single-branch", "--branch", "topic", &url, into];
    assert!(git_in(&clone.outside()).args(depth).status().unwrap().success());
    let check = ["check", "--against", "origin/main"];
    says(&clone, &check, 1, &format!("the commit {lost}, parent of"));
    says(&clone, &check, 1, "git fetch --unshallow");
    clone.git(&["fetch", "--quiet", "--unshallow"]);
    says(&clone, &check, 0, "warning[announced]");
}

#[test]
fn a_refusal_that_a_later_commit_undoes_is_a_warning_and_others_are_errors() {
    let sandbox = fleet();
    sandbox.git(&["checkout", "--quiet", "-b", "topic"]);
    let commit = |from: &str, to: &str, message: &str| {
        replace(&sandbox, THREE, from, to);
        generate_unguarded(&sandbox);
        save(&sandbox, message);
    };
    commit("kubernetes: \"1.36\"", "kubernetes: \"1.35\"", "down");
    says(&sandbox, &["check", "--against", "origin/main"], 1, "error[replaced]");
    says(&sandbox, &["check", "--against", "origin/main"], 1, &format!("--> {THREE}:"));
    commit("kubernetes: \"1.35\"", "kubernetes: \"1.36\"", "up");
    for arguments in GUARDED {
        says(&sandbox, arguments, 0, "warning[replaced]");
        says(&sandbox, arguments, 0, "(down): ");
        says(&sandbox, arguments, 0, "squash the commits");
    }
    says(&sandbox, &["diff", "--format", "markdown"], 0, "\n**Warning:** in the commit ");
}

#[test]
fn a_revert_is_not_said_to_be_undone_by_a_later_commit() {
    let sandbox = fleet();
    sandbox.git(&["checkout", "--quiet", "-b", "topic"]);
    for (from, to, message) in [("1.35", "1.36", "up"), ("1.36", "1.35", "back")] {
        let quoted = |version: &str| format!("kubernetes: \"{version}\"");
        replace(&sandbox, ONE, &quoted(from), &quoted(to));
        generate_unguarded(&sandbox);
        save(&sandbox, message);
    }
    for arguments in GUARDED {
        says(&sandbox, arguments, 0, "(back): ");
        says(&sandbox, arguments, 0, "it undoes an earlier commit of this change");
        assert!(!ends(&sandbox, arguments, 0).contains("a later commit"));
    }
}

/// The ID of a part's change in the JSON report.
pub(crate) fn id_of(sandbox: &Sandbox, part: &str, risk: &str) -> String {
    let output = stackloom(sandbox, &["diff", "origin/main", "--format", "json"]);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let changes = document["clusters"][0]["changes"].as_array().unwrap();
    let found = changes.iter().find(|one| one["part"] == part && one["risk"] == risk);
    found.unwrap_or_else(|| panic!("{document:#}"))["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_risk_that_is_accepted_passes_and_any_other_change_voids_that() {
    let sandbox = fleet();
    sandbox.git(&["checkout", "--quiet", "-b", "topic"]);
    replace(&sandbox, ONE, "name: md-0", "name: md-1");
    fs::remove_dir_all(sandbox.root.join("generated/management")).unwrap();
    let text = sandbox.read(ONE).unwrap();
    let check = ["check", "--against", "origin/main"];
    let diff = ["diff", "origin/main", "--fail-on", "refused,deletes,unannounced-deletes"];
    says(&sandbox, &check, 1, "error[removal]");
    says(&sandbox, &diff, 1, "error[removal]");
    let (refused, deletes) = (id_of(&sandbox, "cluster", "refused"), id_of(&sandbox, "md.md-0", "deletes"));
    let accept = |deletes: &str| {
        let both = format!(
            "  accept:\n    - {{ risk: refused, reason: it is empty, change: {refused} }}\n    - {{ risk: {deletes}, reason: it is empty, change: {} }}\n",
            id_of(&sandbox, "md.md-0", "deletes")
        );
        sandbox.write(ONE, format!("{text}{both}"));
    };
    accept("deletes");
    assert_eq!(id_of(&sandbox, "md.md-0", "deletes"), deletes);
    says(&sandbox, &check, 0, "this risk is accepted: it is empty");
    says(&sandbox, &diff, 0, "does not write this change; accepted: it is empty");
    says(&sandbox, &["diff", "origin/main", "--fail-on", "in-place"], 1, "accepted");
    // A different risk than that of the change.
    accept("pools");
    says(&sandbox, &diff, 1, "has the risk `deletes`, not `pools`");
    accept("deletes");
    // A different change of the cluster.
    let accepted = sandbox.read(ONE).unwrap();
    sandbox.write(ONE, accepted.replace("replicas: 2", "replicas: 3"));
    says(&sandbox, &diff, 1, "warning[unused-acceptance]");
    // Once it is in the base, the acceptance is no longer needed. Another cluster's definition cannot accept the change.
    sandbox.write(ONE, text.clone());
    let other = sandbox.read(THREE).unwrap();
    let own = format!("  accept: [{{ risk: refused, reason: it is empty, change: {refused} }}]\n");
    sandbox.write(THREE, format!("{other}{own}"));
    says(&sandbox, &check, 1, "this file cannot accept the change");
    sandbox.git(&["checkout", "--quiet", "."]);
    sandbox.write(THREE, format!("{other}{own}"));
    says(&sandbox, &check, 0, "nothing needs this acceptance");
}

/// The ID of a new cluster or of an upgrade stays while nothing about it changes, and only then.
#[test]
fn ids_of_new_clusters_and_upgrades_are_bound_to_all_that_is_new() {
    const FOUR: &str = "clusters/green/four.yaml";
    let sandbox = fleet();
    sandbox.git(&["checkout", "--quiet", "-b", "topic"]);
    let four = "apiVersion: stackloom.dev/v1alpha1\nkind: ClusterDefinition\nmetadata:\n  name: four\n  namespace: green\nspec:\n  kubernetes: \"1.36\"\n";
    sandbox.write(FOUR, four);
    let created = || id_of(&sandbox, "cluster", "in-place");
    let id = created();
    sandbox.write(
        FOUR,
        format!("# a comment\n{four}  accept: [{{ risk: in-place, reason: new, change: {id} }}]\n"),
    );
    assert_eq!(created(), id);
    says(&sandbox, &["diff", "origin/main"], 0, "accepted: new");
    for more in [
        "  addons: { extra: { values: { replicas: 9 } } }\n",
        "  addons: { extra: { enabled: false } }\n",
        "  controlPlane: { replicas: 3 }\n",
        "  variables: { motd: other }\n",
    ] {
        sandbox.write(FOUR, format!("{four}{more}"));
        assert_ne!(created(), id, "{more}");
    }
    fs::remove_file(sandbox.root.join(FOUR)).unwrap();
    replace(&sandbox, ONE, "kubernetes: \"1.35\"", "kubernetes: \"1.36\"");
    let upgraded = || {
        [("control-plane", "control-plane"), ("md.md-0", "pools")]
            .map(|(part, risk)| id_of(&sandbox, part, risk))
    };
    let ids = upgraded();
    let one = sandbox.read(ONE).unwrap();
    // Neither the other clusters nor the addons are part of it.
    sandbox.write(ONE, format!("{one}  addons: {{ extra: {{ values: {{ replicas: 9 }} }} }}\n"));
    replace(&sandbox, THREE, "spec:", "spec:\n  variables: { motd: other }");
    assert_eq!(upgraded(), ids);
    sandbox.write(ONE, one.replace("replicas: 2", "replicas: 3"));
    let [control_plane, pool] = upgraded();
    assert!(control_plane != ids[0] && pool != ids[1]);
    sandbox.write(ONE, one);
    let worker = "stacks/dev/inmemory/cluster-class/templates.yaml";
    replace(&sandbox, worker, "path: /etc/node-image", "path: /etc/image");
    let [control_plane, pool] = upgraded();
    assert!(control_plane != ids[0] && pool != ids[1]);
}

/// A release renames a variable: messages name the lines that no longer fit, and `migrate` changes them.
#[test]
fn migrate_mends_what_the_move_to_a_release_with_other_variables_breaks() {
    const TWO: &str = "clusters/blue/two.yaml";
    const STACK: &str = "stacks/dev/inmemory";
    let sandbox = fleet();
    ends(&sandbox, &["release", "--no-tag", "--kubernetes", "1.36"], 0);
    replace(&sandbox, TWO, "  kubernetes: \"1.36\"", "  release: dev-inmemory-1-36-v1");
    ends(&sandbox, &["generate"], 0);
    save(&sandbox, "v1");
    sandbox.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    sandbox.git(&["checkout", "--quiet", "-b", "topic"]);
    let class = format!("{STACK}/cluster-class/cluster-class.yaml");
    replace(&sandbox, &class, "- name: motd\n      required", "- name: banner\n      required");
    replace(&sandbox, &class, ".motd", ".banner");
    let notes = format!("{STACK}/addons/notes/manifests/notes.yaml");
    replace(&sandbox, &notes, "cluster.variables.motd", "cluster.variables.banner");
    let stack = sandbox.read(&format!("{STACK}/stack.yaml")).unwrap();
    let migrations = "  migrations:\n    - variable: motd\n      renameTo: banner\n";
    sandbox.write(&format!("{STACK}/stack.yaml"), stack + migrations);
    save(&sandbox, "banner");
    let released = ends(&sandbox, &["release", "--no-tag", "--kubernetes", "1.36"], 0);
    assert!(released.contains("the variable `motd` is called `banner`"), "{released}");
    replace(&sandbox, TWO, "1-36-v1", "1-36-v2");
    let why = "clusters/blue/two.yaml:18:11: the variable `motd` is called `banner` in dev-inmemory-1-36-v2: `stackloom migrate` changes it";
    says(&sandbox, &["diff"], 1, why);
    says(&sandbox, &["check"], 1, "it is called `banner` now: `stackloom migrate` renames it");
    let before = sandbox.read(TWO).unwrap();
    says(&sandbox, &["migrate", "two"], 0, "  -     motd: \"yes\"\n  +     banner: \"yes\"\n");
    says(&sandbox, &["migrate", "--selector", "env=prod"], 0, "no definition needs a change");
    assert_eq!(sandbox.read(TWO).unwrap(), before);
    ends(&sandbox, &["migrate", "--selector", "env!=prod", "--write"], 0);
    assert_eq!(sandbox.read(TWO).unwrap(), before.replace("motd:", "banner:"));
    says(&sandbox, &["diff"], 0, "the variable `motd` is called `banner` in dev-inmemory-1-36-v2");
    says(&sandbox, &["migrate"], 0, "no definition needs a change");
}

/// Pools and addons leave in steps of their own, all in one change or one after the other.
#[test]
fn removals_in_steps_are_announced() {
    let sandbox = fleet();
    let unannounced = GUARDED[1];
    let replaced = |from: &str, to: &str| replace(&sandbox, ONE, from, to);
    let publish = || drop(sandbox.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]));
    let pool = "    - name: md-1\n      class: default-worker\n      replicas: 1\n";
    replaced("  nodePools:\n", &format!("  addons: {{ extra: {{ enabled: false }} }}\n  nodePools:\n{pool}"));
    step(&sandbox, "another pool");
    publish();
    let text = sandbox.read(ONE).unwrap();
    sandbox.git(&["checkout", "--quiet", "-b", "topic"]);
    for (one, what, arguments) in [
        ("pool md-1", "the node pool `md-1` of `blue/one`", ["--pool", "md-1"]),
        ("addon demo", "the addon `demo` of `blue/one`", ["--addon", "demo"]),
    ] {
        sandbox.git(&["checkout", "--quiet", "-B", "topic", "origin/main"]);
        let remove = || {
            let reason = ["--reason", "over"];
            ends(&sandbox, &[&["remove", "one"], &arguments[..], &reason[..]].concat(), 0);
        };
        remove();
        step(&sandbox, "detach");
        remove();
        step(&sandbox, "delete");
        remove();
        step(&sandbox, "gone");
        says(&sandbox, unannounced, 0, "warning[announced]");
        says(&sandbox, unannounced, 0, what);
        says(&sandbox, unannounced, 0, one);
        // If the earlier steps were merged, the last ones alone are enough.
        let later = ["diff", "topic~2", "topic", "--fail-on", "refused,unannounced-deletes"];
        says(&sandbox, &later, 0, one);
        sandbox.git(&["checkout", "--quiet", "-B", "squashed", "origin/main"]);
        sandbox.git(&["merge", "--quiet", "--squash", "topic"]);
        sandbox.git(&["commit", "--quiet", "--message", "squashed"]);
        ends(&sandbox, unannounced, 1);
    }
    assert_eq!(sandbox.git(&["show", &format!("origin/main:{ONE}")]), text);
}

#[test]
fn folder_defaults_accept_for_what_is_below_and_beside() {
    const DEFAULTS: &str = "clusters/_defaults.yaml";
    let sandbox = fleet();
    sandbox.git(&["checkout", "--quiet", "-b", "topic"]);
    replace(&sandbox, ONE, "name: md-0", "name: md-1");
    fs::remove_dir_all(sandbox.root.join("clusters/green/three.d")).unwrap();
    fs::remove_dir_all(sandbox.root.join("generated/management")).unwrap();
    let fails = ["diff", "origin/main", "--fail-on", "refused,deletes"];
    let output = stackloom(&sandbox, &["diff", "origin/main", "--format", "json"]);
    let document: Json = serde_json::from_slice(&output.stdout).unwrap();
    let own = document["beside"].as_array().unwrap().iter().find(|one| one["kind"] == "own").unwrap();
    assert_eq!(own["objects"][0]["effect"], "removed");
    let ids = [
        ("refused", id_of(&sandbox, "cluster", "refused")),
        ("deletes", id_of(&sandbox, "md.md-0", "deletes")),
        ("deletes", own["id"].as_str().unwrap().to_owned()),
    ];
    let defaults = sandbox.read(DEFAULTS).unwrap();
    let accepting = |ids: &[(&str, String)]| {
        let all = ids
            .iter()
            .map(|(risk, id)| format!("    - {{ risk: {risk}, reason: as agreed, change: {id} }}\n"));
        format!("  accept:\n{}", all.collect::<String>())
    };
    sandbox.write(DEFAULTS, defaults.clone() + &accepting(&ids[..2]));
    says(&sandbox, &fails, 1, "does not write this change; accepted: as agreed");
    sandbox.write(DEFAULTS, defaults.clone() + &accepting(&ids));
    says(
        &sandbox,
        &fails,
        0,
        "ConfigMap green/three-settings stays unmanaged (1 file is removed); accepted: as agreed",
    );
    says(&sandbox, &["check", "--against", "origin/main"], 0, "this risk is accepted: as agreed");
    // The definition of another cluster cannot accept changes of the folder.
    sandbox.write(DEFAULTS, defaults + &accepting(&ids[..2]));
    let one = sandbox.read(ONE).unwrap();
    sandbox.write(ONE, one + &accepting(&ids[2..]));
    says(&sandbox, &fails, 1, "this file cannot accept the change");
}

#[test]
fn without_a_remote_the_last_commit_is_named_to_compare_with() {
    let sandbox = fleet();
    sandbox.git(&["remote", "remove", "origin"]);
    says(&sandbox, &["diff"], 4, "this repository has no remote");
    says(&sandbox, &["diff"], 4, "stackloom diff HEAD");
    says(&sandbox, &["diff", "HEAD"], 0, "None of the 3");
}

/// A cluster that leaves without any step, with its namespace and its own objects, and one whose name changes.
#[test]
fn a_lost_cluster_is_refused_and_can_be_accepted() {
    const DEFAULTS: &str = "clusters/_defaults.yaml";
    let sandbox = fleet();
    sandbox.git(&["checkout", "--quiet", "-b", "topic"]);
    let fails = ["diff", "origin/main", "--fail-on", "refused,deletes"];
    replace(&sandbox, THREE, "name: three", "name: drei");
    says(&sandbox, GUARDED[0], 1, "error[abandoned]");
    says(&sandbox, &["diff", "origin/main"], 1, "green/drei\n    cluster: was `mgmt/green/three` before");
    says(
        &sandbox,
        &["diff", "origin/main"],
        1,
        "1 of 3 clusters changes: 1 is abandoned and rebuilt as a new cluster",
    );
    sandbox.git(&["checkout", "--quiet", "."]);
    fs::remove_file(sandbox.root.join(THREE)).unwrap();
    fs::remove_dir_all(sandbox.root.join("clusters/green/three.d")).unwrap();
    says(&sandbox, GUARDED[0], 1, "error[abandoned]");
    // Said once, as a finding.
    let annotated = ends(&sandbox, &["diff", "origin/main", "--format", "github"], 1);
    assert_eq!(annotated.matches("::error file=clusters/green/three.yaml").count(), 1, "{annotated}");
    assert!(!annotated.contains("title=abandoned"), "{annotated}");
    says(
        &sandbox,
        &["diff", "origin/main"],
        1,
        "1 of 3 clusters changes: 1 is abandoned; changes outside clusters: 2 abandon objects",
    );
    let output = stackloom(&sandbox, &["diff", "origin/main", "--format", "json"]);
    let document: Json = serde_json::from_slice(&output.stdout).unwrap();
    let beside = document["beside"].as_array().unwrap().iter().filter(|one| one["risk"] == "deletes");
    let own = document["clusters"][0]["changes"].as_array().unwrap().iter();
    assert_eq!(own.len(), 1, "{document:#}");
    let accepts = own.chain(beside).map(|one| {
        format!("    - {{ risk: deletes, reason: as agreed, change: {} }}\n", one["id"].as_str().unwrap())
    });
    let accept = format!("  accept:\n{}", accepts.collect::<String>());
    let defaults = sandbox.read(DEFAULTS).unwrap();
    sandbox.write(DEFAULTS, defaults.clone() + &accept);
    says(&sandbox, GUARDED[0], 0, "this risk is accepted: as agreed");
    says(&sandbox, &fails, 0, "unmanaged; accepted: as agreed");
    says(
        &sandbox,
        &fails,
        0,
        "the namespace itself stays, unmanaged (3 files are removed); accepted: as agreed",
    );
    assert!(!ends(&sandbox, GUARDED[0], 0).contains("unused-acceptance"));
    says(&sandbox, &["explain", "two", "accept"], 0, "clusters/_defaults.yaml");
    // The defaults of another folder say nothing about this cluster.
    sandbox.write(DEFAULTS, defaults);
    let header = "apiVersion: stackloom.dev/v1alpha1\nkind: ClusterDefaults\nspec:\n";
    sandbox.write("clusters/blue/_defaults.yaml", format!("{header}{accept}"));
    says(&sandbox, &fails, 1, "this file cannot accept the change");
}

/// An addon that only applies manifests leaves in steps, too, whatever installs it.
#[test]
fn an_addon_of_manifests_leaves_in_steps_with_each_delivery() {
    for settings in ["engine: flux", "engine: argocd", "engine: flux\n  addonDelivery: sveltos-profile"] {
        let sandbox = fleet();
        replace(&sandbox, "stackloom.yaml", "engine: flux", settings);
        replace(
            &sandbox,
            "stacks/dev/inmemory/addons/notes/addon.yaml",
            "stage: default",
            "stage: bootstrap",
        );
        generate_unguarded(&sandbox);
        save(&sandbox, settings);
        sandbox.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
        sandbox.git(&["checkout", "--quiet", "-b", "topic"]);
        for message in ["detach", "delete", "gone"] {
            ends(&sandbox, &["remove", "one", "--addon", "notes", "--reason", "over"], 0);
            step(&sandbox, message);
        }
        says(&sandbox, GUARDED[1], 0, "warning[announced]");
        says(&sandbox, GUARDED[1], 0, "the addon `notes` of `blue/one` is removed in steps");
        // The earlier steps are merged already.
        says(
            &sandbox,
            &["diff", "topic~2", "topic", "--fail-on", "refused,unannounced-deletes"],
            0,
            "addon notes: is removed",
        );
        sandbox.git(&["checkout", "--quiet", "-b", "squashed", "origin/main"]);
        sandbox.git(&["merge", "--quiet", "--squash", "topic"]);
        sandbox.git(&["commit", "--quiet", "--message", "squashed"]);
        for guarded in GUARDED {
            let said = ends(&sandbox, guarded, 1);
            assert_eq!(said.matches("error[abandoned]").count(), 1, "{settings}: {said}");
            assert!(said.contains("nothing defines the addon `notes` of `blue/one` any more"), "{said}");
        }
        says(&sandbox, &["diff", "origin/main"], 1, "addon notes: is abandoned, version");
    }
}

#[test]
fn files_of_the_base_that_others_wrote_are_named() {
    let sandbox = fleet();
    let extra = "generated/management/mgmt/clusters/blue/one/cluster/extra.yaml";
    sandbox.write(extra, "hello: there\n");
    save(&sandbox, "extra");
    let printed = ends(&sandbox, &["diff", "HEAD"], 0);
    assert!(printed.contains("warning[foreign-file]"), "{printed}");
    assert!(printed.contains(&format!("--> {extra}")), "{printed}");
    assert!(printed.contains("an object without a kind: is removed"), "{printed}");
    assert_eq!(sandbox.read(extra).unwrap(), "hello: there\n");
    says(&sandbox, &["generate"], 1, "error[foreign-file]");
    says(
        &sandbox,
        &["diff", "HEAD", "--format", "markdown"],
        0,
        &format!("\n**Warning:** `{extra}`: stackloom did not"),
    );
    says(&sandbox, &["diff", "HEAD", "--format", "html"], 0, "stackloom did not write this file of the base");
}
