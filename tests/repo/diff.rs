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

#[test]
fn without_a_remote_the_last_commit_is_named_to_compare_with() {
    let sandbox = fleet();
    sandbox.git(&["remote", "remove", "origin"]);
    says(&sandbox, &["diff"], 4, "this repository has no remote");
    says(&sandbox, &["diff"], 4, "stackloom diff HEAD");
    says(&sandbox, &["diff", "HEAD"], 0, "None of the 3");
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
