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
    let printed = ends(&clone, &["check"], 0);
    assert!(!printed.contains("release-changed"), "{printed}");
}

#[test]
fn attributes_that_lie_there_are_kept_or_refused() {
    let sandbox = fleet();
    ends(&sandbox, &["generate"], 0);
    ends(&sandbox, &["release", "--kubernetes", "1.35"], 0);
    assert_eq!(sandbox.git(&["diff", "HEAD", "--", "generated/.gitattributes"]), "");

    let sandbox = fleet();
    sandbox.write("generated/.gitattributes", "* text\n");
    let printed = ends(&sandbox, &["release"], 4);
    assert!(printed.contains("`generated/.gitattributes` was not written by stackloom"), "{printed}");
    assert!(sandbox.git(&["tag"]).is_empty() && !sandbox.has("generated/releases"));
    assert_eq!(sandbox.read("generated/.gitattributes").unwrap(), "* text\n");
}

#[test]
fn changed_line_ends_are_reported_with_a_command_that_restores_them() {
    let from = publisher();
    pin(&from);
    from.git(&["rm", "-q", "generated/.gitattributes"]);
    commit(&from, "as it was before releases brought attributes");
    let clone = clone_with_crlf(&from);
    let printed = ends(&clone, &["generate"], 1);
    let of_v1 =
        printed.split("\n\n").filter(|note| note.contains("has CRLF line endings") && note.contains(NAME));
    assert_eq!(of_v1.count(), 1, "{printed}");
    assert!(printed.contains("release-refused") && !printed.contains("is not what the tag"), "{printed}");
    // The other release is unused, but reported anyway.
    for name in [NAME, "test-tiny-1-36-v1"] {
        for command in [
            format!("rm -r -q --cached generated/releases/{name}"),
            format!("-c core.autocrlf=false checkout {name} -- generated/releases/{name}"),
        ] {
            assert!(printed.contains(&format!("`git {command}`")), "{command}\n{printed}");
            clone.git(&command.split(' ').collect::<Vec<_>>());
        }
    }
    ends(&clone, &["generate", "--commit"], 0);
    assert_eq!(clone.git(&["status", "--porcelain"]), "");
    assert!(clone.has("generated/.gitattributes"));

    // Copied by hand, without git.
    let copied = clone_with_crlf(&from);
    fs::remove_dir_all(copied.root.join(".git")).unwrap();
    let printed = ends(&copied, &["check"], 1);
    assert!(printed.contains("has CRLF line endings") && printed.contains("release-refused"), "{printed}");
}
