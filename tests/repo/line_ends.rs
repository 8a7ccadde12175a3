//! Releases in repositories where git converts line endings on checkout.

use std::{fs, path::Path};

use crate::{
    release::{commit, ends, fleet},
    sandbox::{Sandbox, git_in},
    share::{NAME, address, pin, publisher},
};

/// A clone in which git converts line endings as on Windows.
fn clone_with_crlf(of: &Sandbox) -> Sandbox {
    let clone = Sandbox::new();
    fs::remove_dir(&clone.root).unwrap();
    let status = git_in(Path::new("/"))
        .args(["clone", "-q", "-c", "core.autocrlf=true"])
        .arg(&of.root)
        .arg(&clone.root)
        .status();
    assert!(status.unwrap().success());
    for (key, value) in [("user.name", "Test"), ("user.email", "test@example.org")] {
        clone.git(&["config", key, value]);
    }
    clone
}

#[test]
fn a_release_is_the_same_where_git_changes_line_ends() {
    let from = publisher();
    pin(&from);
    let clone = clone_with_crlf(&from);
    assert!(clone.read("stackloom.yaml").unwrap().contains("\r\n"));
    ends(&clone, &["generate", "--check"], 0);

    // A repository that pulled a release but has not generated yet.
    let to = fleet();
    ends(&to, &["pull", &address(&from, NAME)], 0);
    assert_eq!(to.git(&["status", "--porcelain"]), "");
    assert_eq!(to.git(&["ls-files", "generated/.gitattributes"]), "generated/.gitattributes\n");
    let clone = clone_with_crlf(&to);
    let told = ends(&clone, &["check"], 0);
    assert!(!told.contains("release-changed"), "{told}");
}

#[test]
fn attributes_that_lie_there_are_kept_or_refused() {
    let sandbox = fleet();
    ends(&sandbox, &["generate"], 0);
    ends(&sandbox, &["release", "--kubernetes", "1.35"], 0);
    assert_eq!(sandbox.git(&["diff", "HEAD", "--", "generated/.gitattributes"]), "");

    let sandbox = fleet();
    sandbox.write("generated/.gitattributes", "* text\n");
    let told = ends(&sandbox, &["release"], 4);
    assert!(told.contains("`generated/.gitattributes` was not written by stackloom"), "{told}");
    assert!(sandbox.git(&["tag"]).is_empty() && !sandbox.has("generated/releases"));
    assert_eq!(sandbox.read("generated/.gitattributes").unwrap(), "* text\n");
}

#[test]
fn what_differs_in_line_ends_alone_is_told_as_that_and_put_back_as_told() {
    let from = publisher();
    pin(&from);
    from.git(&["rm", "-q", "generated/.gitattributes"]);
    commit(&from, "as it was before releases brought attributes");
    let clone = clone_with_crlf(&from);
    let told = ends(&clone, &["generate"], 1);
    let of_v1 =
        told.split("\n\n").filter(|note| note.contains("has CRLF line endings") && note.contains(NAME));
    assert_eq!(of_v1.count(), 1, "{told}");
    assert!(told.contains("release-refused") && !told.contains("is not what the tag"), "{told}");
    // The other release is unused, but reported anyway.
    for name in [NAME, "test-tiny-1-36-v1"] {
        for command in [
            format!("rm -r -q --cached generated/releases/{name}"),
            format!("-c core.autocrlf=false checkout {name} -- generated/releases/{name}"),
        ] {
            assert!(told.contains(&format!("`git {command}`")), "{command}\n{told}");
            clone.git(&command.split(' ').collect::<Vec<_>>());
        }
    }
    ends(&clone, &["generate", "--commit"], 0);
    assert_eq!(clone.git(&["status", "--porcelain"]), "");
    assert!(clone.has("generated/.gitattributes"));

    // Copied by hand, without git.
    let copied = clone_with_crlf(&from);
    fs::remove_dir_all(copied.root.join(".git")).unwrap();
    let told = ends(&copied, &["check"], 1);
    assert!(told.contains("has CRLF line endings") && told.contains("release-refused"), "{told}");
}
