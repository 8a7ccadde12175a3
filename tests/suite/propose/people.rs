//! What people do to a request and around it: drafts, words, commits, branches, and clusters that cannot go along.

use std::fs;

use stackloom::model::ForgeKind;

use super::{
    BRANCH, Bench, git,
    server::{Accident, Stored, TOKEN},
};
use crate::{
    cli::{ran, stackloom},
    sandbox,
};

/// Edits the request as a person does.
fn edit(bench: &Bench, edit: impl FnOnce(&mut Stored)) {
    bench.forge.with(|state| edit(&mut state.requests[0]));
}

/// Writes a cluster beside `blue/one`, with more lines in its `spec`.
fn cluster(bench: &Bench, name: &str, more: &str) {
    let one = fs::read_to_string(bench.root.join("clusters/blue/one.yaml")).unwrap();
    let text =
        one.replace("name: one", &format!("name: {name}")).replace("spec:\n", &format!("spec:\n{more}"));
    sandbox::write(&bench.root.join(format!("clusters/blue/{name}.yaml")), text);
}

#[test]
fn a_draft_and_words_of_a_person_stay() {
    for kind in [ForgeKind::GitLab, ForgeKind::Forgejo] {
        let bench = Bench::new(kind);
        bench.done();
        let own = bench.requests().remove(0);
        edit(&bench, |one| {
            one.title = format!("[WIP] {}", one.title);
            one.body.push_str("\nAda: not before ticket 7\n");
        });
        let theirs = bench.requests().remove(0);
        assert!(bench.done().contains("is up to date"), "{kind:?}");
        assert_eq!(bench.requests().remove(0), theirs, "{kind:?}");
        let file = bench.root.join("clusters/blue/one.yaml");
        let before = fs::read_to_string(&file).unwrap();
        sandbox::write(
            &file,
            before.replace("spec:\n", "spec:\n  upgrades:\n    hold: { reason: <b>a fair</b> @team }\n"),
        );
        bench.publish("a hold");
        bench.done();
        let waiting = bench.requests().remove(0);
        let mark = if kind == ForgeKind::Forgejo { "" } else { kind.draft() };
        assert_eq!(waiting.title, format!("{mark}{}", theirs.title), "{kind:?}");
        assert!(waiting.body.contains("&lt;b&gt;a fair&lt;/b&gt; &#64;team"), "{kind:?}: {}", waiting.body);
        sandbox::write(&file, before);
        bench.publish("the hold is over");
        bench.done();
        let again = bench.requests().remove(0);
        assert_eq!(again.title, theirs.title, "{kind:?}: the draft is the person's");
        assert!(!again.body.contains("Do not merge this now"), "{kind:?}: {}", again.body);
        edit(&bench, |one| one.title.clone_from(&own.title));
        bench.done();
        assert_eq!(bench.requests().remove(0).title, own.title, "{kind:?}");
    }
}

#[test]
fn a_request_with_commits_of_a_person_says_when_its_step_must_wait() {
    let bench = Bench::new(ForgeKind::GitLab);
    bench.done();
    bench.interfere();
    bench.done();
    let file = bench.root.join("clusters/blue/one.yaml");
    let before = fs::read_to_string(&file).unwrap();
    sandbox::write(&file, before.replace("spec:\n", "spec:\n  upgrades:\n    hold: { reason: a fair }\n"));
    bench.publish("a hold");
    bench.done();
    let waiting = bench.requests().remove(0);
    assert!(waiting.title.starts_with("Draft: ") && waiting.body.contains("a fair"), "{}", waiting.body);
    assert_eq!(waiting.comments.len(), 1, "{:?}", waiting.comments);
    edit(&bench, |one| one.body = format!("Ada: see ticket 7\n\n{}", one.body));
    sandbox::write(&file, before);
    bench.publish("the hold is over");
    bench.done();
    let again = bench.requests().remove(0);
    assert!(!again.title.starts_with("Draft: ") && !again.body.contains("a fair"), "{}", again.body);
    assert!(again.body.starts_with("Ada: see ticket 7"), "{}", again.body);
    assert_eq!(again.comments.len(), 1, "{:?}", again.comments);
}

#[test]
fn clusters_that_cannot_go_along_stop_nobody_and_are_named() {
    let bench = Bench::new(ForgeKind::GitHub);
    cluster(&bench, "alias", "  addons: { notes: &n {}, net: *n }\n");
    cluster(&bench, "idle", "  suspend: storage is being looked at\n");
    assert_eq!(ran(&bench.root, &["generate"]).code, 0);
    bench.publish_at("more clusters", Some("2026-01-02T13:00:00Z"));
    sandbox::write(&bench.root.join("clusters/blue/two.yaml"), "kind: nonsense\n");
    bench.publish("a definition with an error");
    let ended = bench.next(&[]);
    assert!(ended.out.contains("opened a"), "{}{}", ended.out, ended.err);
    let body = bench.requests().remove(0).body;
    for words in ["blue/idle", "suspended", "clusters/blue/two.yaml", "blue/alias", "written as an alias"] {
        let lines: Vec<&str> = body.lines().filter(|line| line.contains(words)).collect();
        assert!(!lines.is_empty(), "{words}: {body}");
        assert!(!lines[0].contains("blue/one"), "{words}: {body}");
    }
}

/// The request of a rollout names the clusters of its wave that take no step.
#[test]
fn a_wave_names_the_clusters_that_it_leaves_out() {
    let bench = Bench::new(ForgeKind::GitHub);
    cluster(&bench, "held", "  upgrades: { hold: { reason: a fair } }\n");
    cluster(&bench, "idle", "  suspend: storage is being looked at\n");
    let rollout = "apiVersion: stackloom.dev/v1alpha1\nkind: Rollout\nmetadata: { name: k135 }\nspec:\n  \
        reason: it is time\n  target: { kubernetes: \"1.35\" }\n  waves: [{ name: all }]\n";
    sandbox::write(&bench.root.join("rollouts/k135.yaml"), rollout);
    assert_eq!(ran(&bench.root, &["generate"]).code, 0);
    bench.publish_at("more clusters", Some("2026-01-02T13:00:00Z"));
    let mut command = stackloom(&bench.root);
    let output =
        command.args(["rollout", "next", "--pr"]).env("STACKLOOM_FORGE_TOKEN", TOKEN).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let body = bench.requests().remove(0).body;
    for words in
        ["**Not in this request: blue/held**", "a fair", "**Not in this request: blue/idle**", "storage"]
    {
        assert!(body.contains(words), "{words}: {body}");
    }
}

#[test]
fn branches_of_others_are_neither_replaced_nor_deleted() {
    let bench = Bench::new(ForgeKind::GitHub);
    git(&bench.root, &["push", "--quiet", "origin", "main:release-2026"]);
    let (main, theirs) = (bench.tip("main"), bench.tip("release-2026"));
    for (branch, words) in [
        ("main", "is the branch that proposals are merged into"),
        ("release-2026", "`release-2026` exists in `origin`, and stackloom did not make it"),
        ("a..b", "is not a valid branch name"),
        ("-x", "is not a valid branch name"),
    ] {
        let ended = bench.next(&[&format!("--branch={branch}")]);
        assert!(ended.code != 0 && ended.err.contains(words), "{branch}: {}{}", ended.out, ended.err);
    }
    assert_eq!(
        (bench.tip("main"), bench.tip("release-2026"), bench.requests().len()),
        (main, theirs.clone(), 0)
    );
    // A request of a person, now merged, came from that branch, too.
    let of_person = Stored {
        number: 1,
        state: "merged",
        title: "Release 2026".to_owned(),
        body: "see the ticket".to_owned(),
        head: "release-2026".to_owned(),
        base: "main".to_owned(),
        ..Stored::default()
    };
    bench.forge.with(|state| state.requests.push(of_person));
    let ended = bench.next(&["--branch", "release-2026"]);
    assert!(ended.code != 0 && ended.err.contains("stackloom did not make it"), "{}{}", ended.out, ended.err);
    assert_eq!(bench.tip("release-2026"), theirs);
    bench.forge.with(|state| state.requests.clear());
    let ended = bench.next(&["--branch", "bot/x"]);
    assert!(ended.out.contains("opened a"), "{}{}", ended.out, ended.err);
    assert!(bench.requests().remove(0).body.contains("--branch bot/x"), "the told command names the branch");
    assert!(bench.next(&["--branch", "bot/x"]).out.contains("is up to date"));
    assert_eq!(bench.tip(BRANCH), None);
}

#[test]
fn a_token_that_a_forge_repeats_is_not_printed() {
    let bench = Bench::new(ForgeKind::GitLab);
    let message: &'static str = format!("{{\"message\":\"denied for token {TOKEN}\"}}").leak();
    bench.forge.with(|state| state.accidents.extend([Accident::Answer(403, Vec::new(), message)]));
    let ended = bench.next(&[]);
    assert!(ended.err.contains("denied for token <token>"), "{}", ended.err);
}

#[test]
fn commits_of_a_person_without_an_open_request_are_an_error() {
    let bench = Bench::new(ForgeKind::GitHub);
    bench.done();
    bench.interfere();
    edit(&bench, |one| one.state = "merged");
    let ended = bench.next(&[]);
    assert!(ended.code == 1 && ended.err.contains("no request is open for it"), "{}{}", ended.out, ended.err);
}

#[test]
fn ticks_of_a_person_do_not_change_what_is_done() {
    let bench = Bench::new(ForgeKind::Forgejo);
    bench.done();
    edit(&bench, |one| one.body = one.body.replace("- [ ] ", "- [x] "));
    bench.merge(0);
    bench.done();
    let body = bench.requests().remove(1).body;
    let ticked: Vec<&str> = body.lines().filter(|line| line.starts_with("- [x] ")).collect();
    let is_first = |line: &str| line.starts_with("- [x] release test-tiny-1-35") && line.ends_with("(#1)");
    assert!(matches!(ticked.as_slice(), [one] if is_first(one)), "{body}");
}

/// A step that must wait is marked so that the forge obeys, whatever a person wrote, and whoever takes that back.
#[test]
fn marks_are_those_that_the_forge_obeys() {
    let bench = Bench::new(ForgeKind::GitLab);
    bench.done();
    let own = bench.requests().remove(0).title;
    edit(&bench, |one| one.title = format!("WIP: {own}"));
    let file = bench.root.join("clusters/blue/one.yaml");
    let before = fs::read_to_string(&file).unwrap();
    let hold = |reason: &str| {
        let upgrades = format!("spec:\n  upgrades:\n    hold: {{ reason: {reason} }}\n");
        sandbox::write(&file, before.replace("spec:\n", &upgrades));
        bench.publish("a hold");
        bench.done();
        bench.requests().remove(0).title
    };
    assert_eq!(hold("a fair"), format!("Draft: WIP: {own}"));
    sandbox::write(&file, &before);
    bench.publish("the hold is over");
    bench.done();
    assert_eq!(bench.requests().remove(0).title, format!("WIP: {own}"));
    hold("another fair");
    edit(&bench, |one| one.title.clone_from(&own));
    assert_eq!(hold("a third fair"), format!("Draft: {own}"));
    sandbox::write(&file, &before);
    bench.publish("the hold is over");
    bench.done();
    assert_eq!(bench.requests().remove(0).title, own, "the person took the mark back");
}

#[test]
fn a_move_of_the_base_keeps_words_and_a_held_step_is_marked_beside_errors() {
    let bench = Bench::new(ForgeKind::GitHub);
    bench.done();
    edit(&bench, |one| one.body.push_str("\nAda: not before ticket 7\n"));
    sandbox::write(&bench.root.join("README.md"), "a fleet\n");
    bench.publish("a text");
    bench.done();
    assert!(bench.requests().remove(0).body.contains("Ada: not before ticket 7"));
    let file = bench.root.join("clusters/blue/one.yaml");
    let before = fs::read_to_string(&file).unwrap();
    sandbox::write(&file, before.replace("spec:\n", "spec:\n  upgrades:\n    hold: { reason: a fair }\n"));
    sandbox::write(&bench.root.join("clusters/blue/two.yaml"), "kind: nonsense\n");
    bench.publish("a hold, and a definition with an error");
    let ran = bench.next(&[]);
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    assert!(bench.requests().remove(0).title.starts_with("Draft: "));
}
