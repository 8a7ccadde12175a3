//! Reviews and labels of requests.

use std::fs;

use stackloom::model::ForgeKind;

use super::{Bench, KINDS, git, server::Accident, stackloom};

#[test]
fn owners_are_asked_for_reviews_and_labels_that_exist_are_set() {
    for kind in KINDS {
        let bench = Bench::new(kind);
        let defaults = bench.root.join("clusters/_defaults.yaml");
        let text = fs::read_to_string(&defaults).unwrap();
        let owners = "spec:\n  owner: ['@ada', '@gone', '@platform/network', '@other/team', team-a]\n";
        fs::write(&defaults, text.replace("spec:\n", owners)).unwrap();
        bench.publish("owners");
        let own = ["bug", "stackloom/control-plane", "stackloom/restarts", "stackloom/upgrade"];
        bench.forge.with(|state| (state.people, state.labels) = (vec!["bob", "ada"], own.to_vec()));
        let ran = bench.next(&[]);
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        // GitLab asks no teams.
        let asked = if kind == ForgeKind::GitLab { "asked @ada" } else { "asked @ada, @platform/network" };
        assert!(ran.out.contains(&format!("{asked} for a review")), "{kind:?}: {}", ran.out);
        assert!(
            ran.err.contains("warning[not-asked]: `@gone` could not be asked for a review"),
            "{}",
            ran.err
        );
        assert!(ran.err.contains("`@other/team` could not be asked"), "{}", ran.err);
        let request = bench.requests().remove(0);
        let reviewers = if kind == ForgeKind::GitLab { vec!["ada"] } else { vec!["ada", "team network"] };
        assert_eq!(request.reviewers, reviewers, "{kind:?}");
        assert_eq!(request.labels, ["stackloom/control-plane", "stackloom/upgrade"], "{kind:?}");

        // What people change on the request stays, and nobody is asked twice.
        bench.forge.with(|state| {
            state.requests[0].reviewers.clear();
            state.requests[0].labels = vec!["bug".to_owned(), "stackloom/control-plane".to_owned()];
            state.calls.clear();
        });
        let ran = bench.next(&[]);
        assert!(
            ran.out.contains("is up to date") && !ran.err.contains("not-asked"),
            "{}{}",
            ran.out,
            ran.err
        );
        assert!(bench.forge.with(|state| state.calls.iter().all(|call| call.starts_with("GET"))), "{kind:?}");

        // A new owner is asked, and the label follows the step.
        let text = fs::read_to_string(&defaults).unwrap();
        fs::write(&defaults, text.replace("'@gone'", "'@bob'")).unwrap();
        let by_hand = ["upgrade", "next", "--to-kubernetes", "1.36", "--commit"];
        bench.publish("another owner");
        assert!(stackloom(&bench.root).args(by_hand).output().unwrap().status.success());
        git(&bench.root, &["push", "--quiet", "origin", "main"]);
        assert!(bench.done().contains("asked @bob for a review"), "{kind:?}");
        let request = bench.requests().remove(0);
        assert_eq!(request.reviewers, ["bob"], "{kind:?}");
        assert_eq!(request.labels, ["bug", "stackloom/restarts"], "{kind:?}");
    }
}

#[test]
fn a_forge_that_does_not_answer_is_asked_again() {
    let bench = Bench::new(ForgeKind::GitHub);
    let defaults = bench.root.join("clusters/_defaults.yaml");
    let text = fs::read_to_string(&defaults).unwrap();
    fs::write(&defaults, text.replace("spec:\n", "spec:\n  owner: '@ada'\n")).unwrap();
    bench.publish("an owner");
    bench.forge.with(|state| {
        state.people = vec!["ada"];
        // List the requests, list the labels, open one; then a pause that is too long.
        let wait = Accident::Answer(429, vec![("Retry-After", "3600".to_owned())], "{}");
        state.accidents.extend([Accident::None, Accident::None, Accident::None, wait]);
    });
    let ran = bench.next(&[]);
    assert!(ran.code == 0 && ran.err.contains("the next run asks again"), "{}{}", ran.out, ran.err);
    assert!(bench.requests().remove(0).reviewers.is_empty());
    bench.done();
    assert_eq!(bench.requests().remove(0).reviewers, ["ada"]);
}
