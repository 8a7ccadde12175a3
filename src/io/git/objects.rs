//! Writes new objects to the object database: a few as loose files, many as a pack.
//!
//! A pack is many times faster than the same number of files, and smaller. Objects that no reference reaches are garbage,
//! which git collects eventually.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    path::{Path, PathBuf},
};

use git2::{ObjectType, Oid};

use super::Repository;
use crate::note::Fault;

/// Up to this many objects are written as loose files.
const FEW: usize = 40;

/// The bytes of objects that are buffered before a pack is written.
const WAITING: usize = 32 * 1024 * 1024;

/// Objects that are not yet in the database.
pub(super) struct Objects {
    work_tree: PathBuf,
    folder: PathBuf,
    waiting: Vec<Object>,
    size: usize,
    seen: BTreeSet<Oid>,
}

struct Object {
    kind: ObjectType,
    id: Oid,
    /// The path in the tree: objects with similar names are compressed against each other.
    name: String,
    bytes: Vec<u8>,
}

impl Objects {
    /// Creates an empty buffer.
    pub(super) fn new(repository: &Repository) -> Self {
        Self {
            work_tree: repository.work_tree.clone(),
            folder: repository.inner.commondir().join("objects"),
            waiting: Vec::new(),
            size: 0,
            seen: BTreeSet::new(),
        }
    }

    /// Adds an object, once.
    pub(super) fn add(&mut self, kind: ObjectType, id: Oid, name: &str, bytes: Vec<u8>) -> Result<(), Fault> {
        if !self.seen.insert(id) {
            return Ok(());
        }
        self.size += bytes.len();
        self.waiting.push(Object { kind, id, name: name.to_owned(), bytes });
        if self.size > WAITING { self.flush() } else { Ok(()) }
    }

    /// Writes the buffered objects and syncs them: a reference must never point to an object that a power cut can destroy.
    pub(super) fn flush(&mut self) -> Result<(), Fault> {
        let waiting = std::mem::take(&mut self.waiting);
        self.size = 0;
        if waiting.is_empty() {
            return Ok(());
        }
        if waiting.len() <= FEW { self.loose(&waiting) } else { self.pack(&waiting) }
    }

    /// Syncs an object that was written on its own.
    pub(super) fn sync(&self, id: Oid) -> Result<(), Fault> {
        let id = id.to_string();
        let file = self.folder.join(&id[..2]).join(&id[2..]);
        // It may have been in a pack already.
        if file.exists() { sync(&file) } else { Ok(()) }
    }

    fn loose(&self, objects: &[Object]) -> Result<(), Fault> {
        let repository = git2::Repository::open(&self.work_tree).map_err(cannot_write)?;
        let odb = repository.odb().map_err(cannot_write)?;
        for object in objects {
            self.sync(odb.write(object.kind, &object.bytes).map_err(cannot_write)?)?;
        }
        Ok(())
    }

    fn pack(&self, objects: &[Object]) -> Result<(), Fault> {
        let folder = self.folder.join("pack");
        fs::create_dir_all(&folder).map_err(cannot_write)?;
        let name = self.write_pack(objects, &folder).map_err(cannot_write)?;
        ["pack", "idx"].into_iter().try_for_each(|kind| sync(&folder.join(format!("pack-{name}.{kind}"))))
    }

    /// Uses a separate repository handle: objects written to a handle with an in-memory backend stay there for good.
    fn write_pack(&self, objects: &[Object], folder: &Path) -> Result<String, git2::Error> {
        let repository = git2::Repository::open(&self.work_tree)?;
        let odb = repository.odb()?;
        let _memory = odb.add_new_mempack_backend(1000)?;
        let mut builder = repository.packbuilder()?;
        builder.set_threads(0);
        for object in objects {
            odb.write(object.kind, &object.bytes)?;
            builder.insert_object(object.id, Some(&object.name))?;
        }
        builder.write(folder, 0o444)?;
        Ok(builder.name()?.unwrap_or_default().to_owned())
    }
}

fn sync(file: &Path) -> Result<(), Fault> {
    File::open(file).and_then(|file| file.sync_all()).map_err(cannot_write)
}

fn cannot_write(error: impl std::error::Error + Send + Sync + 'static) -> Fault {
    Fault::because("cannot write to the object database", error)
        .hint("check that the disk is neither full nor read-only, and that you may write to the repository")
}
