//! Holding a release against what git recorded of it.

use crate::{
    note::{Notes, Place},
    world::{Drift, Input, Record},
};

/// Whether a release is not as git recorded it.
pub(super) fn is_drifted(name: &str, input: &Input) -> bool {
    let recorded = input.recorded.get(name);
    recorded.is_some_and(|recorded| recorded.drift.as_ref().is_none_or(|drift| !drift.is_empty()))
}

/// Says what is not as it was recorded, file by file, and how to put it back.
pub(super) fn check(name: &str, input: &Input, notes: &mut Notes) {
    let Some(recorded) = input.recorded.get(name) else { return };
    let folder = format!("generated/releases/{name}");
    let Some(drift) = &recorded.drift else {
        notes
            .error("release-tag", Place::file(folder), format!("the tag `{name}` names something that does not have this release"))
            .hint(format!("if the tag was moved here, take it back from where it was published: `git fetch --force origin tag {name}`"))
            .hint(format!("if it was never right: `git tag --delete {name}`, then `stackloom release tag`"));
        return;
    };
    let (source, reference) = match recorded.by {
        Record::Tag => (format!("what the tag `{name}` has"), name),
        Record::Head => ("what HEAD has".to_owned(), "HEAD"),
    };
    for (path, drift) in drift {
        let path = format!("{folder}/{path}");
        let (what, hint) = match drift {
            Drift::Changed => ("is not", format!("`git checkout {reference} -- {path}` puts it back")),
            Drift::Missing => {
                ("is missing: it is not", format!("`git checkout {reference} -- {path}` puts it back"))
            }
            Drift::Added => ("was added: it is not", "move the file elsewhere".to_owned()),
        };
        notes
            .error(
                "release-changed",
                Place::file(path),
                format!("this file of the release `{name}` {what} {source}"),
            )
            .hint(format!("a release never changes: {hint}; a change is a new release"));
    }
}
