//! What a reader should know about the commit that a change is compared with.

use std::collections::BTreeSet;

use crate::{
    generate::{self, Failure},
    io::git::{Base, Repository, Revision},
    model::Fleet,
    note::{Fault, Notes, Place},
    world::Input,
    yaml::Sources,
};

/// Warns about a base that has no generated files, that another version of the program wrote, or that has no commit in common
/// with the change: the report is right, and easily misread.
pub(super) fn note(
    before: &Revision,
    base: &Base,
    repository: &Repository,
    head: &str,
    notes: &mut Notes,
) -> Result<(), Fault> {
    let named = &base.why;
    if before.folder("generated")?.is_none() {
        notes
            .warning(
                "empty-base",
                None,
                format!("`{named}` has no `generated/`: every cluster counts as new"),
            )
            .hint("compare with a commit after the first `stackloom generate --commit`");
        return Ok(());
    }
    if !repository.is_related(&base.commit, head)? {
        notes
            .warning("unrelated-base", None, format!("`{named}` and {head} have no commit in common: the report compares two trees, and not what a merge does"))
            .hint("name a commit that the change began from");
    }
    let mut found = Notes::new();
    fleet_of(before, &mut found)?;
    if found.iter().any(|note| note.code == "wrong-program") {
        notes
            .warning(
                "other-version",
                Place::file("stackloom.yaml"),
                format!("another version of stackloom generated `{named}`: what this version writes differently is in the report, too"),
            )
            .hint("upgrade stackloom in a pull request of its own, so that its report shows nothing else");
    }
    Ok(())
}

/// The fleet of a commit, if this program can read it.
fn fleet_of(commit: &Revision, notes: &mut Notes) -> Result<Option<Fleet>, Fault> {
    let text = commit.file("stackloom.yaml")?.map(|text| ("stackloom.yaml".to_owned(), text));
    let input = Input { sources: Sources::new(text.into_iter().collect()), ..Input::default() };
    Ok(generate::fleet(&input, notes).ok())
}

/// The branches that engines read.
pub(super) fn branches(fleet: &Fleet) -> BTreeSet<String> {
    fleet.management_clusters.iter().filter_map(|one| one.branch().map(str::to_owned)).collect()
}

/// Refuses a base that the change itself chose, by naming another branch as the one that engines read. The base and the default
/// branch of the remote say which one they read now.
pub(super) fn refuse_changed_branch(
    before: &Revision,
    repository: &Repository,
    branches: &BTreeSet<String>,
    notes: &mut Notes,
) -> Result<(), Failure> {
    let default = repository.revision("refs/remotes/origin/HEAD").ok();
    for commit in default.iter().chain([before]) {
        let Some(fleet) = fleet_of(commit, &mut Notes::new())? else { continue };
        let published = self::branches(&fleet);
        if published.is_empty() || published == *branches {
            continue;
        }
        let list = |names: &BTreeSet<String>| {
            names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        };
        let message = format!(
            "this change makes engines read {} instead of {}, so it would choose its own base",
            list(branches),
            list(&published)
        );
        notes.error("changed-branch", Place::file("stackloom.yaml"), message).hint(
            "name the commit to compare with: `stackloom diff <BASE>`, such as `stackloom diff origin/main`",
        );
        return Err(Failure::Input);
    }
    Ok(())
}
