//! A journal of what a run that adds or removes releases is about to do. It is written before the branch moves, so that the
//! next run can complete a killed one: tags, the work tree and the index follow the branch.

use std::{fs, io::Write as _, path::PathBuf};

use git2::Oid;

use super::Repository;
use crate::{io::disk::read_plain, note::Fault};

/// The planned steps of a run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Journal {
    /// The commit that the branch will point to.
    pub(super) commit: Option<Oid>,
    /// The branch that will point to it; None if HEAD is detached.
    pub(super) branch: Option<String>,
    /// Releases that the commit adds.
    pub(super) added: Vec<String>,
    /// Releases that the commit removes.
    pub(super) removed: Vec<String>,
    /// The tags to create, each with its object.
    pub(super) tags: Vec<(String, Oid)>,
    /// Whether the commit changes `stackloom.lock`.
    pub(super) lock: bool,
    /// Whether the commit adds `generated/.gitattributes`.
    pub(super) attributes: bool,
}

impl Journal {
    fn path(repository: &Repository) -> PathBuf {
        repository.inner.path().join("stackloom-release")
    }

    /// Whether a killed run has left a journal, complete or not.
    pub(super) fn is_left(repository: &Repository) -> bool {
        Self::path(repository).exists()
    }

    /// Reads the journal of a killed run; None if there is none, or if it is incomplete.
    pub(super) fn read(repository: &Repository) -> Option<Self> {
        let text = String::from_utf8(read_plain(&Self::path(repository)).ok()?).ok()?;
        // The last line shows that the journal is complete.
        let body = text.strip_suffix("end\n")?;
        let mut journal = Self::default();
        for line in body.lines() {
            let words: Vec<_> = line.split(' ').collect();
            match *words.as_slice() {
                ["commit", id] => journal.commit = Some(Oid::from_str(id).ok()?),
                ["branch", name] => journal.branch = Some(name.to_owned()),
                ["add", name] => journal.added.push(name.to_owned()),
                ["remove", name] => journal.removed.push(name.to_owned()),
                ["lock"] => journal.lock = true,
                ["attributes"] => journal.attributes = true,
                ["tag", name, id] => journal.tags.push((name.to_owned(), Oid::from_str(id).ok()?)),
                _ => return None,
            }
        }
        Some(journal)
    }

    /// Writes the journal and syncs it.
    pub(super) fn write(&self, repository: &Repository) -> Result<(), Fault> {
        let mut text = String::new();
        text.extend(self.commit.iter().map(|id| format!("commit {id}\n")));
        text.extend(self.branch.iter().map(|name| format!("branch {name}\n")));
        text.extend(self.added.iter().map(|name| format!("add {name}\n")));
        text.extend(self.removed.iter().map(|name| format!("remove {name}\n")));
        text.extend(self.tags.iter().map(|(name, id)| format!("tag {name} {id}\n")));
        text.push_str(if self.lock { "lock\n" } else { "" });
        text.push_str(if self.attributes { "attributes\n" } else { "" });
        text.push_str("end\n");
        let path = Self::path(repository);
        fs::File::create(&path)
            .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
            .map_err(|error| Fault::because(format!("cannot write `{}`", path.display()), error))
    }

    pub(super) fn remove(repository: &Repository) {
        // If it stays, the next run finds that everything is done.
        fs::remove_file(Self::path(repository)).ok();
    }
}
