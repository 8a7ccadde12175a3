//! The branch of a proposal: deleted, of a fork, or in a shallow clone.

use std::{fs, path::Path, process::Command};

use stackloom::model::ForgeKind;

use super::{
    BRANCH, Bench, KINDS, git,
    server::{Accident, Stored, TOKEN},
};
use crate::{
    cli::{environment, stackloom},
    sandbox,
};

#[test]
fn once_the_branch_is_deleted_as_asked_the_step_is_proposed_again() {
    for kind in KINDS {
        let bench = Bench::new(kind);
        bench.done();
        bench.interfere();
        assert!(bench.done().contains("commits by Ada"), "{kind:?}");
        git(&bench.root, &["push", "--quiet", "origin", &format!(":{BRANCH}")]);
        let reported = bench.done();
        assert!(reported.contains(&format!("pushed {BRANCH} to origin")), "{kind:?}: {reported}");
        let open = bench.requests().into_iter().filter(|one| one.state == "open").count();
        assert_eq!(open, 1, "{kind:?}");
        assert!(bench.done().contains("is up to date"), "{kind:?}");
    }
}

#[test]
fn a_request_of_a_fork_is_left_alone() {
    for kind in KINDS {
        let bench = Bench::new(kind);
        let theirs = Stored {
            number: 1,
            state: "open",
            title: "mine".to_owned(),
            head: BRANCH.to_owned(),
            base: "main".to_owned(),
            is_fork: true,
            ..Stored::default()
        };
        bench.forge.with(|state| state.requests.push(theirs.clone()));
        assert!(bench.done().contains("opened a"), "{kind:?}");
        let requests = bench.requests();
        assert_eq!((requests.len(), &requests[0]), (2, &theirs), "{kind:?}");
    }
}

#[test]
fn of_two_requests_opened_at_once_the_older_stays() {
    for is_killed in [false, true] {
        let bench = Bench::new(ForgeKind::Forgejo);
        bench.done();
        let theirs = bench.requests().remove(0);
        bench.forge.with(|state| {
            state.requests.clear();
            state.rival = Some(theirs.clone());
        });
        if is_killed {
            // The run ends right after it opened the request: the call after that one is refused.
            let refused = Accident::Answer(401, Vec::new(), "{}");
            let accidents = std::iter::repeat_n(Accident::None, 3).chain([refused]);
            bench.forge.with(|state| state.accidents.extend(accidents));
            assert_eq!(bench.next(&[]).code, 4);
            assert_eq!(bench.requests().iter().filter(|one| one.state == "open").count(), 2);
        }
        bench.done();
        let [one, other] = <[Stored; 2]>::try_from(bench.requests()).unwrap();
        assert_eq!((&one, other.state), (&theirs, "closed"), "killed: {is_killed}");
        assert!(other.body.starts_with("Closed: another run opened a request"), "{}", other.body);
        assert!(bench.done().contains("is up to date"));
    }
}

/// Runs the program in a new shallow clone. Gives the exit code and all output.
fn shallow(bench: &Bench, name: &str, depth: &str, arguments: &[&str]) -> (i32, String) {
    let folder = bench.root.parent().unwrap().join(name);
    let remote = format!("file://{}", bench.remote.display());
    git(&bench.root, &["clone", "--quiet", "--depth", depth, &remote, folder.to_str().unwrap()]);
    run(&folder, arguments)
}

fn run(folder: &Path, arguments: &[&str]) -> (i32, String) {
    let mut command = stackloom(folder);
    command.args(arguments).env("STACKLOOM_FORGE_TOKEN", TOKEN).env("STACKLOOM_NOW", "2026-11-23T10:00:00Z");
    let output = command.output().unwrap();
    let all = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8(all).unwrap())
}

#[test]
fn in_a_shallow_clone_the_commits_of_the_base_are_not_those_of_people() {
    let bench = Bench::new(ForgeKind::Forgejo);
    let (code, told) = shallow(&bench, "first", "1", &super::NEXT);
    assert!(code == 0 && told.contains("opened a pull request"), "{code} {told}");
    let (code, told) = shallow(&bench, "same", "1", &super::NEXT);
    assert!(code == 0 && told.contains("is up to date"), "{code} {told}");
    for text in ["one", "two"] {
        sandbox::write(&bench.root.join("README.md"), text);
        bench.publish("a person's change");
    }
    let (code, told) = shallow(&bench, "moved", "1", &super::NEXT);
    assert!(code == 4 && told.contains("this clone is shallow"), "{code} {told}");
    assert!(told.contains(BRANCH) && told.contains("`git fetch --unshallow`"), "{told}");
    assert!(bench.requests()[0].comments.is_empty());
    let (code, told) = shallow(&bench, "deep", "3", &super::NEXT);
    assert!(code == 0 && told.contains("in place of what it had"), "{code} {told}");
}

#[test]
fn a_wave_is_not_proposed_from_a_shallow_clone() {
    let bench = Bench::new(ForgeKind::Forgejo);
    let rollout = "apiVersion: stackloom.dev/v1alpha1\nkind: Rollout\nmetadata: { name: k135 }\nspec:\n  reason: it is time\n  \
        target: { kubernetes: \"1.35\" }\n  waves: [{ name: all }]\nstatus:\n  waves: [{ name: all, clusters: [mgmt/blue/one] }]\n";
    sandbox::write(&bench.root.join("rollouts/k135.yaml"), rollout);
    for text in ["one", "two", "three", "four"] {
        sandbox::write(&bench.root.join("README.md"), text);
        bench.publish("a change");
    }
    let next = ["rollout", "next", "--pr"];
    for depth in ["1", "3"] {
        let (code, told) = shallow(&bench, depth, depth, &next);
        let missing = "this clone is shallow, and lacks the beginning of a rollout";
        assert!(code == 4 && told.contains(missing), "{depth}: {code} {told}");
        assert!(told.contains("`git fetch --unshallow`") && bench.requests().is_empty(), "{told}");
        let folder = bench.root.parent().unwrap().join(depth);
        git(&folder, &["fetch", "--quiet", "--unshallow"]);
    }
    let (code, told) = run(&bench.root.parent().unwrap().join("1"), &next);
    assert!(code == 0 && told.contains("pushed stackloom/rollout/k135 to origin"), "{code} {told}");
}

/// A request whose step must wait says so where it is merged, until the step may be taken again.
#[test]
fn a_request_that_must_wait_says_so() {
    for kind in [ForgeKind::GitLab, ForgeKind::Forgejo] {
        let bench = Bench::new(kind);
        bench.done();
        let opened = bench.requests().remove(0);
        let file = bench.root.join("clusters/blue/one.yaml");
        let before = fs::read_to_string(&file).unwrap();
        let hold = "  upgrades:\n    hold: { reason: a fair }\n";
        sandbox::write(&file, before.replace("spec:\n", &format!("spec:\n{hold}")));
        bench.publish("a hold");
        let reported = bench.done();
        assert!(reported.contains("it must not be merged now"), "{kind:?}: {reported}");
        let waiting = bench.requests().remove(0);
        assert_eq!(waiting.title, format!("{}{}", kind.draft(), opened.title), "{kind:?}");
        assert!(waiting.body.contains("**Do not merge this now:**"), "{kind:?}: {}", waiting.body);
        assert!(waiting.body.contains("a fair"), "{kind:?}: {}", waiting.body);
        assert_eq!(waiting.state, "open", "{kind:?}");
        assert!(!bench.done().contains("marked"), "{kind:?}: once is enough");
        sandbox::write(&file, before);
        bench.publish("the hold is over");
        bench.done();
        let again = bench.requests().remove(0);
        assert_eq!(again.title, opened.title, "{kind:?}");
        assert!(!again.body.contains("Do not merge this now"), "{kind:?}: {}", again.body);
    }
}

/// A step that was not needed for a while is proposed again once it is.
#[test]
fn a_step_is_proposed_again_after_it_was_not_needed() {
    for kind in [ForgeKind::GitHub, ForgeKind::Forgejo] {
        let bench = Bench::new(kind);
        let file = bench.root.join("rollouts/k135.yaml");
        let publish = |text: &str, message: &str| {
            sandbox::write(&file, text);
            bench.publish(message);
        };
        let next = || {
            let mut command = stackloom(&bench.root);
            let command = command.args(["rollout", "next", "--pr"]).env("STACKLOOM_FORGE_TOKEN", TOKEN);
            let output = command.output().unwrap();
            let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
            assert!(output.status.success(), "{kind:?}: {text}");
            text
        };
        let rollout = "apiVersion: stackloom.dev/v1alpha1\nkind: Rollout\nmetadata: { name: k135 }\nspec:\n  \
            reason: it is time\n  target: { kubernetes: \"1.35\" }\n  waves: [{ name: all }]\n";
        publish(rollout, "a rollout");
        assert!(next().contains("opened a"), "{kind:?}");
        publish(&format!("{rollout}  abort: {{ reason: not yet }}\n"), "aborted");
        assert!(next().contains("closed"), "{kind:?}");
        publish(rollout, "after all");
        let reported = next();
        assert!(reported.contains("opened a"), "{kind:?}: {reported}");
    }
}

#[test]
fn a_message_that_someone_reworded_is_kept() {
    let bench = Bench::new(ForgeKind::GitHub);
    bench.done();
    git(&bench.root, &["fetch", "--quiet", "origin"]);
    git(&bench.root, &["checkout", "--quiet", "-b", "mine", &format!("origin/{BRANCH}")]);
    let message = git(&bench.root, &["log", "-1", "--format=%B"]);
    // As if opened in an editor and saved: nothing changes.
    git(&bench.root, &["commit", "--quiet", "--amend", "--message", &message]);
    git(&bench.root, &["push", "--quiet", "--force", "origin", &format!("mine:{BRANCH}")]);
    fs::write(bench.root.join("NOTES.md"), "elsewhere\n").unwrap();
    git(&bench.root, &["checkout", "--quiet", "main"]);
    bench.publish("main moves");
    assert!(bench.done().contains(&format!("pushed {BRANCH} to origin")));

    git(&bench.root, &["fetch", "--quiet", "origin"]);
    git(&bench.root, &["checkout", "--quiet", "-B", "mine", &format!("origin/{BRANCH}")]);
    let message = git(&bench.root, &["log", "-1", "--format=%B"]);
    let message = message.replacen("\n\n", "\n\nAsk the database team first.\n\n", 1);
    let mut reword = Command::new("git");
    environment(reword.current_dir(&bench.root).args([
        "commit",
        "--quiet",
        "--amend",
        "--message",
        &message,
    ]));
    assert!(reword.env("GIT_COMMITTER_NAME", "Ada").status().unwrap().success());
    git(&bench.root, &["push", "--quiet", "--force", "origin", &format!("mine:{BRANCH}")]);
    git(&bench.root, &["checkout", "--quiet", "main"]);
    let theirs = bench.tip(BRANCH);
    fs::write(bench.root.join("NOTES.md"), "again\n").unwrap();
    bench.publish("main moves again");
    assert!(bench.done().contains("commits by Ada"));
    assert_eq!(bench.tip(BRANCH), theirs);
}
