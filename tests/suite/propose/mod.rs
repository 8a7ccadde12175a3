//! `stackloom upgrade next --pr`, with a real remote and a local server that behaves like each of the real forges.

mod branches;
pub(super) mod call;
mod health;
mod law;
mod people;
mod reviews;
pub(super) mod server;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    thread,
    time::Duration,
};

use rayon::prelude::*;
use stackloom::model::ForgeKind;

use super::{
    cli::{Ran, environment, stackloom},
    overlay, sandbox, support,
};
use server::{Accident, Server, Stored, TOKEN};

const KINDS: [ForgeKind; 3] = [ForgeKind::GitHub, ForgeKind::GitLab, ForgeKind::Forgejo];
const BRANCH: &str = "stackloom/upgrade/all-to-1.36";
const NEXT: [&str; 5] = ["upgrade", "next", "--to-kubernetes", "1.36", "--pr"];

/// A fleet with a remote and a forge.
struct Bench {
    _folder: tempfile::TempDir,
    root: PathBuf,
    remote: PathBuf,
    forge: Server,
}

fn git(root: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    environment(command.current_dir(root).args(arguments));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{arguments:?} {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

impl Bench {
    fn new(kind: ForgeKind) -> Self {
        let forge = Server::start(kind);
        let folder = sandbox::folder();
        let tests = support::package().join("tests");
        let (root, remote) = (folder.path().join("fleet"), folder.path().join("remote.git"));
        overlay::apply(&tests.join("cases/_base"), &tests.join("upgrade/_base"), &root).unwrap();
        fs::remove_file(root.join("remove.txt")).ok();
        let word = kind.name().to_lowercase();
        let at = format!("  forge:\n    kind: {word}\n    url: {}\n    project: platform/fleet\n", forge.url);
        let text = fs::read_to_string(root.join("stackloom.yaml")).unwrap();
        fs::write(root.join("stackloom.yaml"), text.replace("  clusterApi:", &format!("{at}  clusterApi:")))
            .unwrap();
        git(&root, &["init", "--quiet", "--initial-branch", "main"]);
        git(&root, &["init", "--quiet", "--bare", "--initial-branch", "main", remote.to_str().unwrap()]);
        git(&root, &["remote", "add", "origin", remote.to_str().unwrap()]);
        forge.with(|state| state.remote = Some(remote.clone()));
        let bench = Self { _folder: folder, root, remote, forge };
        let made = stackloom(&bench.root).args(["generate"]).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        // Clusters that were made just now would still be in progress.
        bench.publish_at("the fleet", Some("2026-01-02T12:00:00Z"));
        bench
    }

    /// Commits everything and pushes it to the base.
    fn publish(&self, message: &str) {
        self.publish_at(message, None);
    }

    fn publish_at(&self, message: &str, time: Option<&str>) {
        git(&self.root, &["add", "--all"]);
        let mut command = Command::new("git");
        environment(command.current_dir(&self.root).args(["commit", "--quiet", "--message", message]));
        for name in ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"] {
            command.envs(time.map(|time| (name, time)));
        }
        assert!(command.status().unwrap().success());
        git(&self.root, &["push", "--quiet", "origin", "main"]);
    }

    fn command(&self, more: &[&str]) -> Command {
        let mut command = stackloom(&self.root);
        command.args(NEXT).args(more).env("STACKLOOM_FORGE_TOKEN", TOKEN);
        for name in ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"] {
            command.env_remove(name);
        }
        command
    }

    fn next(&self, more: &[&str]) -> Ran {
        let Output { status, stdout, stderr } = self.command(more).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let ran = Ran { code: status.code().unwrap(), out: text(stdout), err: text(stderr) };
        assert!(!ran.out.contains(TOKEN) && !ran.err.contains(TOKEN), "{}{}", ran.out, ran.err);
        assert_eq!(git(&self.root, &["status", "--porcelain"]), "", "the work tree changed");
        assert_eq!(git(&self.root, &["worktree", "list"]).lines().count(), 1, "a work tree was left");
        ran
    }

    fn done(&self) -> String {
        let ran = self.next(&[]);
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        ran.out
    }

    /// The commit of a branch on the remote.
    fn tip(&self, branch: &str) -> Option<String> {
        let listed =
            git(&self.remote, &["for-each-ref", "--format=%(objectname)", &format!("refs/heads/{branch}")]);
        (!listed.is_empty()).then_some(listed)
    }

    fn requests(&self) -> Vec<Stored> {
        self.forge.with(|state| state.requests.clone())
    }

    /// Merges the branch, as a person does on the forge.
    fn merge(&self, number: usize) {
        git(&self.root, &["fetch", "--quiet", "origin"]);
        git(&self.root, &["merge", "--quiet", "--no-ff", "--message", "merge", &format!("origin/{BRANCH}")]);
        git(&self.root, &["push", "--quiet", "origin", "main", &format!(":{BRANCH}")]);
        git(&self.root, &["fetch", "--quiet", "--prune", "origin"]);
        self.forge.with(|state| state.requests[number].state = "merged");
    }

    /// Adds a person's commit to the branch.
    fn interfere(&self) {
        git(&self.root, &["fetch", "--quiet", "origin"]);
        git(&self.root, &["checkout", "--quiet", "-b", "mine", &format!("origin/{BRANCH}")]);
        sandbox::write(&self.root.join("NOTES.md"), "look at this first\n");
        git(&self.root, &["add", "NOTES.md"]);
        git(&self.root, &["commit", "--quiet", "--author", "Ada <ada@example.org>", "--message", "notes"]);
        git(&self.root, &["push", "--quiet", "origin", &format!("mine:{BRANCH}")]);
        git(&self.root, &["checkout", "--quiet", "main"]);
        git(&self.root, &["branch", "--quiet", "-D", "mine"]);
    }
}

#[test]
fn a_step_becomes_one_request_that_is_kept_up_to_date() {
    for kind in KINDS {
        let bench = Bench::new(kind);
        let reported = bench.done();
        assert!(
            reported.contains(&format!("pushed {BRANCH} to origin"))
                && reported.contains("/platform/fleet/1"),
            "{reported}"
        );
        let first = bench.tip(BRANCH).unwrap();
        let opened = bench.requests().remove(0);
        assert_eq!((opened.head.as_str(), opened.base.as_str()), (BRANCH, "main"));
        assert!(opened.title.starts_with("Upgrade blue/one to test-tiny-1-35-v0"), "{}", opened.title);
        for part in [
            "replaces 3 machines",
            "- [ ] **This request:** release test-tiny-1-35",
            "- [ ] Step 2: addon net",
            "which cannot be downgraded: Cluster API refuses a revert",
        ] {
            assert!(opened.body.contains(part), "{part}: {}", opened.body);
        }

        bench.forge.with(|state| state.calls.clear());
        assert!(bench.done().contains("is up to date"));
        let writes = |calls: &Vec<String>| calls.iter().filter(|call| !call.starts_with("GET")).count();
        assert_eq!(bench.forge.with(|state| writes(&state.calls)), 0, "{kind:?}");
        assert_eq!(bench.tip(BRANCH).unwrap(), first);

        sandbox::write(&bench.root.join("README.md"), "a fleet\n");
        bench.publish("a readme");
        assert!(bench.done().contains("in place of what it had"));
        let parent = git(&bench.remote, &["rev-parse", &format!("{BRANCH}^")]);
        assert_eq!(
            (bench.requests().len(), parent),
            (1, bench.tip("main").unwrap()),
            "rebuilt on the base that moved"
        );

        bench.merge(0);
        bench.done();
        let second = bench.requests().remove(1);
        assert!(second.title.starts_with("Upgrade net to 1.1.0 in blue/one"), "{}", second.title);
        assert!(second.body.contains("- [x] release test-tiny-1-35"), "{}", second.body);
        bench.merge(1);
        bench.done();
        let third = bench.requests().remove(2);
        assert_eq!(third.body.matches("- [x] ").count(), 2, "{}", third.body);
        bench.merge(2);
        assert!(bench.done().contains("nothing to propose: 1 cluster: 1 already there"));
        assert_eq!(bench.requests().len(), 3);
        assert!(!bench.forge.with(|state| state.was_denied));
    }
}

#[test]
fn commits_of_people_stop_a_run_and_are_kept() {
    for kind in KINDS {
        let bench = Bench::new(kind);
        bench.done();
        bench.interfere();
        let theirs = bench.tip(BRANCH);
        for _ in 0..2 {
            assert!(bench.done().contains("commits by Ada"), "{kind:?}");
            assert_eq!(bench.tip(BRANCH), theirs);
        }
        let request = bench.requests().remove(0);
        assert_eq!((request.comments.len(), request.state), (1, "open"));
        assert!(request.comments[0].contains("commits by Ada"), "{}", request.comments[0]);
    }
}

#[test]
fn unneeded_requests_are_closed_and_those_closed_by_a_person_stay_closed() {
    for kind in KINDS {
        let bench = Bench::new(kind);
        bench.done();
        bench.forge.with(|state| state.requests[0].state = "closed");
        assert!(bench.done().contains("a person closed"), "{kind:?}");
        assert_eq!(bench.requests().len(), 1);
        bench.forge.with(|state| state.requests[0].state = "open");

        for _ in 0..3 {
            let by_hand = ["upgrade", "next", "--to-kubernetes", "1.36", "--commit"];
            let made = stackloom(&bench.root).args(by_hand).output().unwrap();
            assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
            git(&bench.root, &["push", "--quiet", "origin", "main"]);
        }
        // A cluster with errors might still need a step.
        let broken = bench.root.join("clusters/blue/broken.yaml");
        sandbox::write(&broken, "kind: ClusterDefinition\n");
        bench.publish("broken");
        let kept = bench.next(&[]);
        assert!(kept.out.contains("nothing to propose"), "{}{}", kept.out, kept.err);
        assert_eq!((bench.requests()[0].state, bench.tip(BRANCH).is_some()), ("open", true));
        fs::remove_file(&broken).unwrap();
        bench.publish("mended");
        let reported = bench.done();
        assert!(reported.contains("closed") && reported.contains("deleted"), "{reported}");
        let request = bench.requests().remove(0);
        assert_eq!((request.state, request.comments.len(), bench.tip(BRANCH)), ("closed", 1, None));
    }
}

/// A request: number, state, title, text, comments.
type StepDescription = (u64, &'static str, String, String, usize);

/// The final state, which must not depend on interruptions.
fn end(bench: &Bench) -> (Option<String>, Vec<StepDescription>) {
    let tree = bench.tip(BRANCH).map(|tip| git(&bench.remote, &["rev-parse", &format!("{tip}:clusters")]));
    let is_same =
        |line: &&str| !line.starts_with("Compared with") && !line.starts_with("<!-- stackloom-text");
    let body = |text: &str| text.lines().filter(is_same).collect();
    let all = bench.requests().into_iter();
    (tree, all.map(|one| (one.number, one.state, one.title, body(&one.body), one.comments.len())).collect())
}

#[test]
fn a_run_that_is_killed_anywhere_leaves_nothing_that_the_next_does_not_finish() {
    for kind in KINDS {
        let owned = || {
            let bench = Bench::new(kind);
            let defaults = bench.root.join("clusters/_defaults.yaml");
            let text = fs::read_to_string(&defaults).unwrap();
            fs::write(&defaults, text.replace("spec:\n", "spec:\n  owner: ['@ada', '@platform/network']\n"))
                .unwrap();
            bench.publish("owners");
            bench.forge.with(|state| (state.people, state.labels) = (vec!["ada"], vec!["stackloom/upgrade"]));
            bench
        };
        let whole = owned();
        whole.next(&[]);
        let calls = whole.forge.with(|state| state.calls.len());
        // One forge is enough to test the order of actions; for the others, only the last call is tested.
        let first = if kind == ForgeKind::GitHub { 0 } else { calls - 1 };
        let cuts: Vec<_> = (first..calls).flat_map(|cut| [(cut, false), (cut, true)]).collect();
        cuts.into_par_iter().for_each(|(cut, is_done)| {
            let bench = owned();
            let stalled = std::iter::once(Accident::Stalled(is_done));
            let accidents = std::iter::repeat_n(Accident::None, cut).chain(stalled);
            bench.forge.with(|state| state.accidents = accidents.collect());
            let mut run = bench.command(&[]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            while !bench.forge.with(|state| state.is_stalled) {
                assert!(run.try_wait().unwrap().is_none(), "{kind:?}: the run ended before call {cut}");
                thread::sleep(Duration::from_millis(5));
            }
            run.kill().unwrap();
            run.wait().unwrap();
            bench.done();
            assert_eq!(end(&bench), end(&whole), "{kind:?}, killed at call {cut}");
            let asked = |bench: &Bench| {
                let one = bench.requests().remove(0);
                (one.reviewers, one.labels.into_iter().collect::<BTreeSet<_>>())
            };
            assert_eq!(asked(&bench), asked(&whole), "{kind:?}, killed at call {cut}");
        });
    }
}

/// A filter of git kills its process group, with the program in it, while git fills the separate work tree; a `git` in front of the
/// real one does so before.
#[cfg(unix)]
#[test]
fn the_work_tree_of_a_killed_run_is_removed_by_the_next() {
    use std::os::unix::{fs::PermissionsExt as _, process::CommandExt as _};

    for is_begun in [false, true] {
        let bench = Bench::new(ForgeKind::GitHub);
        let own = bench.root.parent().unwrap();
        let (temporary, programs) = (own.join("temporary"), own.join("programs"));
        fs::create_dir(&temporary).unwrap();
        let mut command = bench.command(&[]);
        if is_begun {
            sandbox::write(&bench.root.join(".git/info/attributes"), "* filter=stop\n");
            git(&bench.root, &["config", "filter.stop.smudge", "kill -9 0"]);
        } else {
            let path = std::env::var("PATH").unwrap();
            let script = "#!/bin/sh\n[ \"$1\" != worktree ] || [ \"$2\" != add ] || kill -9 0\nPATH=$REST exec git \"$@\"\n";
            sandbox::write(&programs.join("git"), script);
            fs::set_permissions(programs.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
            command.env("PATH", format!("{}:{path}", programs.display())).env("REST", path);
        }
        let killed = command.env("TMPDIR", &temporary).process_group(0).output().unwrap();
        assert_eq!(killed.status.code(), None, "{}", String::from_utf8_lossy(&killed.stderr));
        let left = || fs::read_dir(&temporary).unwrap().count();
        let entries = || fs::read_dir(bench.root.join(".git/worktrees")).map_or(0, Iterator::count);
        assert_eq!((left(), entries()), (1, usize::from(is_begun)));
        fs::remove_file(bench.root.join(".git/info/attributes")).ok();
        bench.done();
        assert_eq!((left(), entries()), (0, 0), "begun: {is_begun}");
        let records = fs::read_dir(bench.root.join(".git")).unwrap();
        let names = records.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        assert_eq!(names.filter(|name| name.starts_with("stackloom-")).collect::<Vec<_>>(), [""; 0]);
    }
}

#[test]
fn a_request_that_was_opened_without_an_answer_is_found() {
    let bench = Bench::new(ForgeKind::GitHub);
    bench.forge.with(|state| state.accidents.extend([Accident::None, Accident::Deaf]));
    assert!(bench.done().contains("/platform/fleet/1"));
    assert_eq!(bench.requests().len(), 1);
}

#[test]
fn two_runs_at_once_make_one_request() {
    for kind in KINDS {
        let bench = Bench::new(kind);
        let other = bench.root.parent().unwrap().join("other");
        git(&bench.root, &["clone", "--quiet", bench.remote.to_str().unwrap(), other.to_str().unwrap()]);
        let start = |folder: &Path| {
            let mut command = bench.command(&[]);
            command.current_dir(folder).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let both = [start(&bench.root), start(&other)];
        for one in both {
            let output = one.wait_with_output().unwrap();
            assert!(output.status.success(), "{kind:?}: {}", String::from_utf8_lossy(&output.stderr));
        }
        assert_eq!(bench.requests().len(), 1, "{kind:?}");
        bench.done();
        assert_eq!(bench.requests().len(), 1, "{kind:?}");
    }
}

#[test]
fn limits_and_accidents_of_a_forge() {
    let bench = Bench::new(ForgeKind::GitHub);
    let header = |name: &'static str, value: &str| vec![(name, value.to_owned())];
    let soon = || vec![("x-ratelimit-remaining", "0".to_owned()), ("x-ratelimit-reset", "1".to_owned())];
    bench.forge.with(|state| {
        state.accidents.extend([
            Accident::Answer(403, header("Retry-After", "0"), r#"{"message":"secondary rate limit"}"#),
            Accident::Answer(500, Vec::new(), ""),
            Accident::Answer(429, soon(), ""),
            Accident::None,
            Accident::Answer(403, header("Retry-After", "1"), "{}"),
        ]);
    });
    let ran = bench.next(&[]);
    assert_eq!((ran.code, bench.requests().len()), (0, 1), "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("asks to wait for 1 s"), "{}", ran.err);

    let refused = |accident: Accident, words: &[&str]| {
        bench.forge.with(|state| state.accidents.extend([accident]));
        let ran = bench.next(&[]);
        assert!(ran.code == 4 && words.iter().all(|word| ran.err.contains(word)), "{words:?}: {}", ran.err);
        bench.forge.with(|state| state.accidents.clear());
    };
    refused(
        Accident::Answer(401, Vec::new(), "{}"),
        &["401", "`STACKLOOM_FORGE_TOKEN` is wrong or has expired"],
    );
    refused(
        Accident::Answer(403, Vec::new(), r#"{"message":"Resource not accessible"}"#),
        &["Resource not accessible", "read and write pull requests"],
    );
    refused(Accident::Answer(404, Vec::new(), "{}"), &["`platform/fleet` is right"]);
    refused(
        Accident::Answer(429, header("Retry-After", "3600"), "{}"),
        &["no more requests for 60 minutes", "continues where this run ended"],
    );
    refused(Accident::Answer(200, Vec::new(), "<html>"), &["unexpected answer from"]);
    let elsewhere = Server::start(ForgeKind::GitHub);
    refused(
        Accident::Answer(
            301,
            header("Location", &format!("{}/api/v3/repos/platform/fleet/pulls", elsewhere.url)),
            "",
        ),
        &["redirects to 127.0.0.1", "may have moved"],
    );
    assert!(elsewhere.with(|state| state.calls.is_empty()), "the token went to another host");
}

#[test]
fn a_wave_of_a_rollout_is_one_request() {
    let bench = Bench::new(ForgeKind::Forgejo);
    let rollout = "apiVersion: stackloom.dev/v1alpha1\nkind: Rollout\nmetadata: { name: k135 }\nspec:\n  reason: it is time\n  \
        target: { kubernetes: \"1.35\" }\n  waves: [{ name: all }]\n  windows: [{ days: [mon], from: \"09:00\", to: \"12:00\" }]\n";
    sandbox::write(&bench.root.join("rollouts/k135.yaml"), rollout);
    bench.publish("a rollout");
    let run = |now: &str| {
        let mut command = stackloom(&bench.root);
        command
            .args(["rollout", "next", "--pr"])
            .env("STACKLOOM_FORGE_TOKEN", TOKEN)
            .env("STACKLOOM_NOW", now);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(run("2026-11-22T10:00:00Z").contains("wait until Mon 2026-11-23 09:00 UTC"));
    assert!(bench.requests().is_empty());
    assert!(run("2026-11-23T10:00:00Z").contains("pushed stackloom/rollout/k135 to origin"));
    let request = bench.requests().remove(0);
    assert!(request.title.starts_with("k135, wave all: upgrade blue/one to"), "{}", request.title);
    let frozen = git(&bench.remote, &["show", "stackloom/rollout/k135:rollouts/k135.yaml"]);
    assert!(frozen.contains("- mgmt/blue/one"), "{frozen}");
    assert!(run("2026-11-23T11:00:00Z").contains("is up to date"));
    // Outside the window, the request stays as it is.
    assert!(run("2026-11-23T13:00:00Z").contains("outside of the maintenance windows"));
    assert_eq!(bench.requests().remove(0).state, "open");
}

/// The commands in the documentation, which users copy.
#[test]
fn the_documented_jobs_propose_a_step() {
    for (kind, file) in [(ForgeKind::GitHub, "next.yml"), (ForgeKind::GitLab, "gitlab-ci.yml")] {
        let text = fs::read_to_string(support::package().join("docs/upgrades").join(file)).unwrap();
        let line = text
            .lines()
            .find_map(|line| line.trim().trim_start_matches("- ").strip_prefix("stackloom "))
            .unwrap();
        let words: Vec<&str> =
            line.split(' ').map(|word| if word == "\"$SELECTOR\"" { "env=test" } else { word }).collect();
        let bench = Bench::new(kind);
        let defaults = bench.root.join("clusters/_defaults.yaml");
        let text = fs::read_to_string(&defaults).unwrap();
        fs::write(&defaults, text.replace("spec:\n", "spec:\n  upgrades: { policy: minor }\n")).unwrap();
        bench.publish("follow newer minors");
        let output = stackloom(&bench.root).args(words).env("STACKLOOM_FORGE_TOKEN", TOKEN).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(bench.requests().len(), 1, "{file}");
    }
}

#[test]
fn without_a_forge_the_branch_is_pushed_and_the_output_says_so() {
    let bench = Bench::new(ForgeKind::GitHub);
    let ran = bench.next(&["--dry-run"]);
    assert!(ran.out.contains("would push") && ran.out.contains("### The plan"), "{}", ran.out);
    assert_eq!((bench.tip(BRANCH), bench.requests().len()), (None, 0));
    let reported = bench.next(&["--no-forge", "--branch", "mine"]).out;
    assert!(
        reported.contains("pushed mine to origin") && reported.contains("open the pull request"),
        "{reported}"
    );
    assert!(bench.tip("mine").is_some() && bench.requests().is_empty());
    let mut command = bench.command(&[]);
    let output = command
        .env_remove("STACKLOOM_FORGE_TOKEN")
        .env_remove("GITHUB_TOKEN")
        .env_remove("GH_TOKEN")
        .output();
    let reported = String::from_utf8(output.unwrap().stderr).unwrap();
    assert!(reported.contains("none of `STACKLOOM_FORGE_TOKEN`, `GITHUB_TOKEN`, `GH_TOKEN`"), "{reported}");
    let document = bench.next(&["--format", "json"]).out;
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["request"]["outcome"], "proposed", "{document:#}");
    assert_eq!(document["request"]["actions"], serde_json::json!(["push", "open"]));
    assert_eq!(document["request"]["number"], 1);
}
