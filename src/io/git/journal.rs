//! What a run that adds or removes releases is about to do, written down before the branch moves, so that the next run
//! finishes what a killed one has begun: tags, the work tree and the index follow the branch.

use std::{fs, io::Write as _, path::PathBuf};

use git2::Oid;

use super::Repository;
use crate::{io::disk::read_plain, note::Fault};

/// What a run is about to do.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Journal {
    /// The commit that the branch is going to name.
    pub(super) commit: Option<Oid>,
    /// The branch that is going to name it; none for a HEAD without one.
    pub(super) branch: Option<String>,
    /// Releases that the commit adds.
    pub(super) added: Vec<String>,
    /// Releases that it removes.
    pub(super) removed: Vec<String>,
    /// Tags, each with its object.
    pub(super) tags: Vec<(String, Oid)>,
    /// Whether the commit has another `stackloom.lock`.
    pub(super) lock: bool,
    /// Whether the commit brings `generated/.gitattributes`.
    pub(super) attributes: bool,
}

impl Journal {
    fn path(repository: &Repository) -> PathBuf {
        repository.inner.path().join("stackloom-release")
    }

    /// Whether a killed run has left one, whole or not.
    pub(super) fn is_left(repository: &Repository) -> bool {
        Self::path(repository).exists()
    }

    /// What a killed run has left; none if no run was.
    pub(super) fn read(repository: &Repository) -> Option<Self> {
        let text = String::from_utf8(read_plain(&Self::path(repository)).ok()?).ok()?;
        // The last line is the last thing that was written.
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

    /// Writes it down, on the medium.
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

    /// Forgets it.
    pub(super) fn remove(repository: &Repository) {
        // What stays is found to be done by the next run.
        fs::remove_file(Self::path(repository)).ok();
    }
}
