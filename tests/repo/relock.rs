//! The lock's entries for pulled releases: compared with earlier entries, and restored.

use std::fs;

use serde_json::Value as Json;

use crate::{
    release::{commit, ends, fleet},
    sandbox::Sandbox,
    share::{NAME, address, json, other_publisher, pin, pruned, publisher, taken},
};

/// Edits only the release's entry in the lock.
fn edit_lock(to: &Sandbox, change: impl Fn(&str) -> String) {
    let lock = to.read("stackloom.lock").unwrap();
    let (before, entry) = lock.split_once("    - name:").unwrap();
    to.write("stackloom.lock", format!("{before}    - name:{}", change(entry)));
}

#[test]
fn the_source_of_a_release_comes_from_history() {
    let to = taken();
    let added = to.git(&["log", "-1", "--format=%H", "--", "stackloom.lock"]);
    let put_back = format!("`git show {}:./stackloom.lock`", &added[..12]);
    edit_lock(&to, |entry| entry.replace("git+file:///", "git+file:///elsewhere/"));
    for committed in [false, true] {
        if committed {
            commit(&to, "another source");
        }
        let printed = ends(&to, &["check"], 1);
        assert!(
            printed.contains("release-lock") && printed.contains("but the lock names `git+file"),
            "{printed}"
        );
        assert!(printed.contains("stackloom.lock:7") && printed.contains(&put_back), "{printed}");
        assert!(
            printed.contains("release-refused") && printed.contains("clusters/blue/one.yaml"),
            "{printed}"
        );
    }
    to.git(&["checkout", "-q", added.trim(), "--", "stackloom.lock"]);
    ends(&to, &["check"], 0);

    // A key can be required later. Pulling the release again then keeps requiring it.
    let (from, to) = (publisher(), fleet());
    ends(&to, &["pull", &address(&from, NAME)], 0);
    edit_lock(&to, |entry| format!("{}\n      key: keys/releases.pub\n", entry.trim_end()));
    commit(&to, "asks for a key");
    ends(&to, &["check"], 0);
    to.git(&["rm", "-rq", &format!("generated/releases/{NAME}")]);
    commit(&to, "gone");
    let printed = ends(&to, &["pull", &address(&from, NAME)], 1);
    assert!(printed.contains("wrong-key") && printed.contains("keys/releases.pub"), "{printed}");
}

#[test]
fn a_lost_lock_entry_comes_back_with_a_pull() {
    let (from, to) = (publisher(), fleet());
    ends(&to, &["pull", &address(&from, NAME)], 0);
    pin(&to);
    let lock = to.read("stackloom.lock").unwrap();
    to.git(&["rm", "-q", "stackloom.lock"]);
    commit(&to, "out of the lock");
    let pull = format!("`stackloom pull {}` to restore its entry", address(&from, NAME));
    let printed = ends(&to, &["check"], 1);
    assert!(printed.contains(&pull), "{printed}");

    let before = to.git(&["rev-parse", "HEAD"]);
    let printed = ends(&to, &["pull", "--dry-run", &address(&from, NAME)], 0);
    assert!(printed.contains("added to stackloom.lock"), "{printed}");
    assert_eq!((to.git(&["rev-parse", "HEAD"]), to.has("stackloom.lock")), (before, false));
    let (code, printed) = json(&to, &["pull", &address(&from, NAME)]);
    assert_eq!((code, &printed["releases"][0]["relocked"]), (Some(0), &Json::Bool(true)), "{printed}");
    assert_eq!(to.read("stackloom.lock").unwrap(), lock);
    assert_eq!(to.git(&["status", "--porcelain"]), "");
    let message = to.git(&["log", "-1", "--format=%B"]);
    assert!(
        message.contains(&format!("pull: {NAME}"))
            && message.contains("was already here; added to stackloom.lock"),
        "{message}"
    );
    ends(&to, &["check"], 0);
    let printed = ends(&to, &["pull", &address(&from, NAME)], 0);
    assert!(printed.contains("nothing to pull"), "{printed}");

    // A release that differs from the one pulled cannot be vouched for again.
    to.git(&["rm", "-q", "stackloom.lock"]);
    for sandbox in [&from, &to] {
        sandbox.write(&format!("generated/releases/{NAME}/NOTES.md"), "other words\n");
        commit(sandbox, "tampered with, here and there");
    }
    from.git(&["tag", "-f", "-am", "moved", NAME]);
    let printed = ends(&to, &["pull", &address(&from, NAME)], 1);
    assert!(printed.contains("release-changed") && !to.has("stackloom.lock"), "{printed}");
}

#[test]
fn a_pruned_release_may_be_pulled_from_another_source() {
    let (from, to) = pruned();
    from.git(&["clone", "-q", "--bare", ".", "../mirror.git"]);
    let mirror = address(&from, NAME).replace("/fleet#", "/mirror.git#");
    ends(&to, &["pull", &mirror], 0);
    pin(&to);
    ends(&to, &["check"], 0);
    // Both entries count.
    edit_lock(&to, |entry| {
        assert!(entry.contains(&mirror), "{entry}");
        entry.replace(&mirror, &address(&from, NAME))
    });
    ends(&to, &["check"], 0);
    edit_lock(&to, |entry| entry.replace("git+file:///", "git+file:///elsewhere/"));
    assert!(ends(&to, &["check"], 1).contains("release-lock"));
}

#[test]
fn two_lines_may_take_the_same_release_from_two_places() {
    let (from, to) = (publisher(), fleet());
    from.git(&["clone", "-q", "--bare", ".", "../mirror.git"]);
    let mirror = address(&from, NAME).replace("/fleet#", "/mirror.git#");
    to.git(&["checkout", "-qb", "other"]);
    ends(&to, &["pull", &mirror], 0);
    to.git(&["checkout", "-q", "main"]);
    ends(&to, &["pull", &address(&from, NAME)], 0);
    pin(&to);
    // Whichever entry a merge keeps, and on either side.
    to.git(&["checkout", "-q", "other"]);
    to.try_git(&["merge", "-q", "main"]);
    to.git(&["checkout", "-q", "--theirs", "stackloom.lock"]);
    commit(&to, "merged");
    ends(&to, &["check"], 0);
    to.git(&["checkout", "-q", "main", "--", "stackloom.lock"]);
    to.git(&["checkout", "-q", "main"]);
    to.git(&["merge", "-q", "--no-ff", "-m", "merged back", "other"]);
    edit_lock(&to, |entry| {
        assert!(entry.contains(&address(&from, NAME)), "{entry}");
        entry.replace(&address(&from, NAME), &mirror)
    });
    ends(&to, &["check"], 0);
}

#[test]
fn a_key_that_one_line_asked_for_stays() {
    let (from, to) = (publisher(), fleet());
    to.git(&["checkout", "-qb", "other"]);
    ends(&to, &["pull", &address(&from, NAME)], 0);
    to.git(&["checkout", "-q", "main"]);
    to.write("README.md", "words\n");
    commit(&to, "words");
    ends(&to, &["pull", &address(&from, NAME)], 0);
    edit_lock(&to, |entry| format!("{}\n      key: keys/releases.pub\n", entry.trim_end()));
    to.git(&["commit", "-qa", "--amend", "-m", "pulled with a key"]);
    pin(&to);
    to.git(&["merge", "-q", "-m", "merged", "-X", "ours", "other"]);
    ends(&to, &["check"], 0);
    edit_lock(&to, |entry| entry.replace("      key: keys/releases.pub\n", ""));
    let printed = ends(&to, &["check"], 1);
    assert!(printed.contains("with a signature for the key `keys/releases.pub`"), "{printed}");
    assert!(
        printed.contains("but the lock names none") && printed.contains("restore its entry"),
        "{printed}"
    );
    // Pulling the release again without the key makes this known.
    to.git(&["checkout", "-q", "--", "stackloom.lock"]);
    to.git(&["rm", "-rq", &format!("generated/releases/{NAME}"), "stackloom.lock"]);
    commit(&to, "gone");
    ends(&to, &["pull", &address(&from, NAME)], 0);
    ends(&to, &["check"], 0);
}

#[test]
fn a_release_that_a_squash_merged_without_its_entry_gets_one() {
    let (from, to) = (fleet(), fleet());
    // Otherwise both repositories might have the same first commit within one second, and the release would be cut from it.
    from.write("README.md", "words of its own\n");
    commit(&from, "words");
    ends(&from, &["release"], 0);
    ends(&to, &["pull", &address(&from, NAME)], 0);
    let lock = to.read("stackloom.lock").unwrap();
    to.git(&["reset", "-q", "--soft", "HEAD~1"]);
    to.git(&["rm", "-qf", "stackloom.lock"]);
    commit(&to, "the release, without its entry");
    ends(&to, &["check"], 0);
    let printed = ends(&to, &["pull", &address(&from, NAME)], 0);
    assert!(printed.contains("added to stackloom.lock"), "{printed}");
    assert_eq!(to.read("stackloom.lock").unwrap(), lock);
    ends(&to, &["check"], 0);
    // A release that was cut here needs no entry.
    let printed = ends(&from, &["pull", &address(&from, NAME)], 0);
    assert!(printed.contains("nothing to pull") && !from.has("stackloom.lock"), "{printed}");
}

#[test]
fn a_release_that_differs_from_an_earlier_one_is_refused() {
    let (from, to) = (publisher(), fleet());
    ends(&to, &["pull", &address(&from, NAME)], 0);
    let added = to.git(&["rev-parse", "HEAD"]);
    ends(&to, &["pull", &address(&from, "test-tiny-1-36-v1")], 0);
    to.git(&["rm", "-rq", "generated/releases", "stackloom.lock"]);
    to.git(&["commit", "-qm", "gone"]);
    let printed = ends(&to, &["pull", &address(&other_publisher(), NAME)], 1);
    let added = format!("the commit {} added a release", &added[..12]);
    assert!(printed.contains("release-exists") && printed.contains(&added), "{printed}");
    ends(&to, &["pull", &address(&from, NAME)], 0);
}

#[test]
fn a_clone_without_old_files_says_that_it_cannot_verify_the_lock() {
    let (from, to) = (publisher(), fleet());
    ends(&to, &["pull", &address(&from, NAME)], 0);
    pin(&to);
    edit_lock(&to, |entry| entry.replace("git+file:///", "git+file:///elsewhere/"));
    commit(&to, "another source");
    to.git(&["config", "uploadpack.allowFilter", "true"]);
    let clone = Sandbox::new();
    fs::remove_dir(&clone.root).unwrap();
    let url = format!("file://{}", to.root.display());
    to.git(&["clone", "-q", "--filter=blob:none", &url, clone.root.to_str().unwrap()]);
    let printed = ends(&clone, &["check"], 0);
    assert!(
        printed.contains("warning[release-lock]") && printed.contains("partial clone lacks"),
        "{printed}"
    );
    clone.git(&["fetch", "-q", "--refetch", "--no-filter"]);
    let printed = ends(&clone, &["check"], 1);
    assert!(printed.contains("error[release-lock") && !printed.contains("partial clone"), "{printed}");
}
