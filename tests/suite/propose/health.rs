//! Whether clusters are healthy, from commit statuses and from an address.

use stackloom::model::ForgeKind;

use super::{Bench, KINDS, git, sandbox, server::TOKEN, stackloom};

const ROLLOUT: &str = "apiVersion: stackloom.dev/v1alpha1\nkind: Rollout\nmetadata: { name: k135 }\nspec:\n  reason: it is time\n  \
    target: { kubernetes: \"1.35\" }\n  waves: [{ name: all }]\n  requireHealth: true\n";
const GATE: &str = "cluster.blue.one.ready";

impl Bench {
    /// A rollout whose first step was merged; the commit of the step.
    fn with_a_step(kind: ForgeKind) -> (Self, String) {
        let bench = Self::new(kind);
        sandbox::write(&bench.root.join("rollouts/k135.yaml"), ROLLOUT);
        bench.publish("a rollout");
        let made = stackloom(&bench.root).args(["rollout", "next", "--commit"]).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        git(&bench.root, &["push", "--quiet", "origin", "main"]);
        let commit = bench.pushed();
        (bench, commit)
    }

    /// The newest commit, which the forge has now.
    fn pushed(&self) -> String {
        let commit = git(&self.root, &["rev-parse", "HEAD"]);
        self.forge.with(|state| {
            state.commits.entry(commit.clone()).or_default();
        });
        commit
    }

    fn report(&self, commit: &str, context: &str, state: &'static str) {
        self.forge.with(|all| all.commits.get_mut(commit).unwrap().push((context.to_owned(), state)));
    }

    /// What `rollout status` prints, and whether it ended well.
    fn status(&self, source: &str, token: Option<&str>) -> (bool, String) {
        // A step times out after some days, so the time is the one that its commit has, whatever that is.
        let now = git(&self.root, &["show", "--no-patch", "--format=%cI", "HEAD"]);
        let mut command = stackloom(&self.root);
        command
            .args(["rollout", "status", "--verbose", "--health", source, "--now", &now])
            .env("STACKLOOM_FORGE_TOKEN", TOKEN);
        if let Some(token) = token {
            command.env("STACKLOOM_HEALTH_TOKEN", token);
        }
        let output = command.output().unwrap();
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
        assert!(!text.contains(TOKEN), "{text}");
        (output.status.success(), text)
    }

    fn phase(&self, source: &str) -> String {
        let (is_done, text) = self.status(source, Some(TOKEN));
        assert!(is_done, "{text}");
        text
    }
}

#[test]
fn commit_statuses_say_that_a_cluster_is_healthy() {
    for kind in KINDS {
        let (bench, step) = Bench::with_a_step(kind);
        let of_gate = format!("kustomization/{GATE}/4f8e589a");
        let unknown = "no report says that it is healthy";
        assert!(bench.phase("commit-statuses").contains(unknown), "{kind:?}");
        bench.report(&step, "kustomization/cluster.blue.one/4f8e589a", "success");
        bench.report(&step, "build", "success");
        assert!(bench.phase("commit-statuses").contains(unknown), "{kind:?}");
        bench.report(&step, &of_gate, "failure");
        assert!(
            bench.phase("commit-statuses").contains("reported as not healthy"),
            "{kind:?}\n{}",
            bench.phase("commit-statuses")
        );
        // Flux reports at the commit that it applies.
        git(&bench.root, &["commit", "--quiet", "--allow-empty", "--message", "something else"]);
        git(&bench.root, &["push", "--quiet", "origin", "main"]);
        let later = bench.pushed();
        bench.report(&later, &of_gate, "success");
        let reported = bench.phase("commit-statuses");
        assert!(reported.contains("all clusters have reached the target"), "{kind:?}\n{reported}");
    }
}

#[test]
fn a_status_from_before_the_step_counts_nothing() {
    let (bench, step) = Bench::with_a_step(ForgeKind::GitHub);
    let before = git(&bench.root, &["rev-parse", &format!("{step}~1")]);
    bench.forge.with(|state| state.commits.insert(before.clone(), Vec::new()));
    bench.report(&before, &format!("kustomization/{GATE}/4f8e589a"), "success");
    assert!(bench.phase("commit-statuses").contains("no report says that it is healthy"));
}

#[test]
fn a_forge_that_has_none_of_the_commits_is_an_error() {
    let (bench, _) = Bench::with_a_step(ForgeKind::GitHub);
    bench.forge.with(|state| state.commits.clear());
    let (is_done, reported) = bench.status("commit-statuses", None);
    assert!(!is_done && reported.contains("does not have the commits of this branch"), "{reported}");
}

#[test]
fn a_report_comes_from_an_address() {
    let (bench, step) = Bench::with_a_step(ForgeKind::GitLab);
    let address = format!("{}/health.json", bench.forge.url);
    let report = serde_json::json!({ "clusters": [{ "name": "blue/one", "healthy": true, "revision": format!("main@sha1:{step}") }] });
    bench.forge.with(|state| state.report = Some(report.to_string()));
    let reported = bench.phase(&address);
    assert!(reported.contains("all clusters have reached the target"), "{reported}");
    let (is_done, reported) = bench.status(&address, None);
    assert!(!is_done && reported.contains("STACKLOOM_HEALTH_TOKEN"), "{reported}");
    let (is_done, reported) = bench.status("http://example.invalid/health.json", Some(TOKEN));
    assert!(!is_done && reported.contains("is not encrypted"), "{reported}");
    let (is_done, reported) = bench.status("https://ada:secret@example.invalid/health.json", None);
    assert!(
        !is_done && reported.contains("contains a user or a password") && !reported.contains("secret"),
        "{reported}"
    );
}

/// A commit that is merged by fast-forward keeps the time at which the step was proposed.
#[test]
fn a_step_counts_from_its_merge() {
    for kind in KINDS {
        let bench = Bench::new(kind);
        let rollout = ROLLOUT.replace("requireHealth: true", "settle: 2h");
        sandbox::write(&bench.root.join("rollouts/k135.yaml"), rollout);
        bench.publish("a rollout");
        let mut command = stackloom(&bench.root);
        command.args(["rollout", "next", "--pr"]).env("STACKLOOM_FORGE_TOKEN", TOKEN);
        let proposed = "2026-11-23T08:00:00Z";
        for name in ["STACKLOOM_NOW", "GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"] {
            command.env(name, proposed);
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{kind:?}: {}", String::from_utf8_lossy(&output.stderr));
        git(&bench.root, &["fetch", "--quiet", "origin"]);
        git(&bench.root, &["merge", "--quiet", "--ff-only", "origin/stackloom/rollout/k135"]);
        git(&bench.root, &["push", "--quiet", "origin", "main"]);
        let step = bench.pushed();
        let status = || {
            let mut command = stackloom(&bench.root);
            command.args(["rollout", "status", "--verbose", "--now", "2026-11-25T09:00:00Z"]);
            let output = command.env("STACKLOOM_FORGE_TOKEN", TOKEN).output().unwrap();
            let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
            assert!(output.status.success(), "{kind:?}: {text}");
            text
        };
        let unknown = status();
        assert!(unknown.contains("warning[merge-time]"), "{kind:?}: {unknown}");
        assert!(unknown.contains("done, by a commit of Mon 2026-11-23"), "{kind:?}: {unknown}");
        bench.forge.with(|state| state.merges.insert(step, "2026-11-25T08:30:00.000Z"));
        let known = status();
        assert!(!known.contains("merge-time"), "{kind:?}: {known}");
        assert!(known.contains("in progress until Wed 2026-11-25 10:30"), "{kind:?}: {known}");
    }
}
