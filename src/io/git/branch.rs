//! Writes a commit and moves the branch to it.

use std::{
    fs,
    path::{Path, PathBuf},
    thread::sleep,
    time::Duration,
};

use git2::{ErrorCode, ObjectType, Oid, Reference};

use super::{
    Repository, Tip,
    objects::Objects,
    sign::{Signed, sign},
};
use crate::note::Fault;

/// Writes the commit; no reference points to it yet.
pub(super) fn commit(
    repository: &Repository,
    tip: &Tip,
    objects: &Objects,
    tree: Oid,
    message: &str,
) -> Result<Oid, Fault> {
    let failed = |error| Fault::because("cannot write the commit", error);
    let inner = &repository.inner;
    let (author, committer) = repository.identity()?;
    let tree = inner.find_tree(tree).map_err(failed)?;
    let parent = tip.commit().map(|id| inner.find_commit(id)).transpose().map_err(failed)?;
    let parents: Vec<_> = parent.iter().collect();
    let buffer = inner.commit_create_buffer(&author, &committer, message, &tree, &parents).map_err(failed)?;
    let text = std::str::from_utf8(&buffer)
        .map_err(|error| Fault::because("the commit is not UTF-8; check `git config user.name`", error))?;
    let id = match sign(repository, Signed::Commit, &committer, text)? {
        Some(signature) => inner.commit_signed(text, &signature, None),
        None => inner.odb().and_then(|odb| odb.write(ObjectType::Commit, &buffer)),
    };
    let id = id.map_err(failed)?;
    objects.sync(id)?;
    Ok(id)
}

/// Points the branch to a commit, if it has not moved since the run began. The caller holds the lock of the index.
pub(super) fn move_reference(
    repository: &Repository,
    tip: &Tip,
    commit: Oid,
    subject: &str,
) -> Result<(), Fault> {
    // HEAD may have changed to another branch, even if the old branch did not move.
    if repository.tip()? != *tip {
        return Err(moved_meanwhile("HEAD"));
    }
    let (name, log) = match tip {
        Tip::Branch(name, None) => (name.as_str(), format!("commit (initial): {subject}")),
        Tip::Branch(name, Some(_)) => (name.as_str(), format!("commit: {subject}")),
        Tip::Detached(_) => ("HEAD", format!("commit: {subject}")),
    };
    release_lock(repository)?;
    let record = record_of(repository);
    fs::write(&record, format!("{name} {commit}\n"))
        .map_err(|error| Fault::because(format!("cannot write `{}`", record.display()), error))?;
    let moved = move_locked(repository, tip, name, commit, &log);
    // What is left of a record without a lock does no harm.
    fs::remove_file(&record).ok();
    moved?;
    // After a power cut, the reference must not be empty.
    fs::File::open(folder_of(repository, name).join(name))
        .and_then(|file| file.sync_all())
        .map_err(|error| Fault::because(format!("cannot sync `{name}`"), error))
}

fn move_locked(repository: &Repository, tip: &Tip, name: &str, commit: Oid, log: &str) -> Result<(), Fault> {
    let inner = &repository.inner;
    let mut waits = 20;
    loop {
        let moved = match tip.commit() {
            None => inner.reference(name, commit, false, log),
            Some(old) => inner.reference_matching(name, commit, true, old, log),
        };
        match moved {
            Ok(_) => return Ok(()),
            Err(error) if error.code() == ErrorCode::Locked && waits > 0 => {
                waits -= 1;
                sleep(Duration::from_millis(50));
            }
            Err(error) if matches!(error.code(), ErrorCode::Modified | ErrorCode::Exists) => {
                return Err(moved_meanwhile(name));
            }
            Err(error) if error.code() == ErrorCode::Locked => {
                let lock = lock_of(repository, name);
                return Err(Fault::because(format!("cannot move `{name}`"), error).hint(format!(
                    "another git command is running, or a killed one left its lock: if none is running, delete `{}`",
                    lock.display()
                )));
            }
            Err(error) => return Err(Fault::because(format!("cannot move `{name}`"), error)),
        }
    }
}

/// Removes the lock that a killed run left while it moved a reference. That run recorded the reference and the commit.
fn release_lock(repository: &Repository) -> Result<(), Fault> {
    let record = record_of(repository);
    let Ok(text) = fs::read_to_string(&record) else { return Ok(()) };
    let Some((name, commit)) = text.trim_end().split_once(' ') else { return Ok(()) };
    let lock = lock_of(repository, name);
    if !Reference::is_valid_name(name) || !is_leftover(&lock, commit) {
        return Ok(());
    }
    fs::remove_file(&lock).map_err(|error| {
        Fault::because(format!("cannot remove the leftover lock `{}`", lock.display()), error)
    })
}

/// A lock contains the new commit. It is empty for a moment after git creates it, but stays empty only if its owner was killed.
fn is_leftover(lock: &Path, commit: &str) -> bool {
    let read = || fs::read_to_string(lock).ok();
    let is_left = |text: Option<String>, empty: bool| {
        text.is_some_and(|text| text.trim_end() == commit || empty && text.is_empty())
    };
    is_left(read(), false)
        || read().is_some_and(|text| text.is_empty()) && {
            sleep(Duration::from_secs(1));
            is_left(read(), true)
        }
}

fn record_of(repository: &Repository) -> PathBuf {
    repository.inner.path().join("stackloom-move")
}

fn lock_of(repository: &Repository, name: &str) -> PathBuf {
    folder_of(repository, name).join(format!("{name}.lock"))
}

/// The folder of a reference: each work tree has a HEAD, and all share the branches.
fn folder_of<'a>(repository: &'a Repository, name: &str) -> &'a Path {
    if name == "HEAD" { repository.inner.path() } else { repository.inner.commondir() }
}

fn moved_meanwhile(name: &str) -> Fault {
    Fault::new(format!("`{name}` moved while this ran, so nothing was committed"))
        .hint("someone else committed or switched branches: run this again")
}

/// The fault if the commit exists but the work tree or the index could not be updated.
pub(super) fn left_behind(commit: Option<Oid>, fault: Fault) -> Fault {
    match commit {
        None => fault,
        Some(id) => {
            Fault::because(format!("{id} is committed, but the work tree or the index is behind it"), fault)
                .hint("run this again to bring them up to date")
        }
    }
}
