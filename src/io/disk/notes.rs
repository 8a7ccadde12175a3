//! Messages about files that cannot be sources.

use crate::note::{Notes, Place};

/// The largest source file, in bytes: a hundred times what people write. A larger one is a mistake or an attack.
pub(super) const LIMIT: u64 = 4 * 1024 * 1024;

pub(super) fn note_special(notes: &mut Notes, path: &str) {
    notes
        .error("special-file", Place::file(path), "this is not a regular file or folder")
        .hint("remove it: stackloom does not read pipes, sockets or devices, and git does not store them");
}

/// Reports a link in a `<cluster>.d` folder, or in its place.
///
/// One engine leaves links out of the archive of a repository; another does not see that the target of a link changes, and
/// refuses a repository with an absolute link.
pub(super) fn note_link_beside(notes: &mut Notes, path: &str) {
    notes
        .error(
            "link-beside",
            Place::file(path),
            "this is a link, which an engine leaves out, or whose changes it misses",
        )
        .hint("copy the files here: engines apply only what the folder itself contains");
}

pub(super) fn note_loop(notes: &mut Notes, path: &str) {
    notes
        .error("link-loop", Place::file(path), "this link leads to a folder that contains it")
        .hint("remove the link");
}

pub(super) fn note_unreadable(notes: &mut Notes, path: &str, reason: &str) {
    notes
        .error("unreadable", Place::file(path), format!("cannot read this: {reason}"))
        .hint("make it readable, or move it out of the fleet's folders");
}

pub(super) fn note_large(notes: &mut Notes, path: &str, length: u64) {
    notes
        .error("too-large", Place::file(path), format!("this file has {length} bytes, the limit is {LIMIT}"))
        .hint("split it, or move it out of the fleet's folders");
}

/// Reports a link that has the path of this machine.
pub(super) fn note_absolute(notes: &mut Notes, path: &str) {
    notes
        .error("link-outside", Place::file(path), "this link has an absolute path")
        .hint("make it relative: elsewhere, the fleet has another path, and an engine refuses a whole repository with such a link");
}
