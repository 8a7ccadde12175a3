//! What a reader should know about the commit that a change is compared with.

use crate::{
    generate,
    io::git::{Base, Repository, Revision},
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
    let fleet = before.file("stackloom.yaml")?.map(|text| ("stackloom.yaml".to_owned(), text));
    let input = Input { sources: Sources::new(fleet.into_iter().collect()), ..Input::default() };
    let mut found = Notes::new();
    generate::fleet(&input, &mut found).ok();
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
