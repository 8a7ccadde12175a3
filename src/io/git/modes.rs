//! File modes of releases: besides content, git records only whether a file is executable.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use git2::{ErrorCode, Oid};

use super::{
    Repository,
    folders::files_in,
    trees::{RELEASES, RUNNABLE},
};
use crate::note::Fault;

impl Repository {
    /// The files of a release whose executable bit differs from a tree: in HEAD's copy of the release, or in the work tree.
    pub(super) fn other_modes(
        &self,
        name: &str,
        tree: Oid,
        head: Option<Oid>,
    ) -> Result<BTreeSet<String>, Fault> {
        let files = |tree| {
            let tree = self.inner.find_tree(tree)?;
            files_in(&self.inner, &tree, "")
        };
        let failed = |error| Fault::because(format!("cannot read the release `{name}`"), error);
        let recorded = files(tree).map_err(failed)?;
        let committed = match head {
            Some(head) if head != tree => files(head).map_err(failed)?,
            _ => BTreeMap::new(),
        };
        let looks = self.trusts_modes().map_err(failed)?;
        let folder = self.work_tree.join(format!("{}{RELEASES}/{name}", self.prefix));
        let mut found = BTreeSet::new();
        for (path, (id, mode)) in recorded {
            let is_other = committed.get(&path).is_some_and(|(same, other)| *same == id && *other != mode);
            let is_runnable = if looks { is_runnable(&folder.join(&path))? } else { None };
            if is_other || is_runnable.is_some_and(|is_runnable| is_runnable != (mode == RUNNABLE)) {
                found.insert(path);
            }
        }
        Ok(found)
    }

    /// Whether git trusts the file modes: on some file systems, either every file is executable or none.
    pub(super) fn trusts_modes(&self) -> Result<bool, git2::Error> {
        match self.inner.config()?.get_bool("core.filemode") {
            Err(error) if error.code() == ErrorCode::NotFound => Ok(true),
            found => found,
        }
    }
}

/// Whether a file is executable by its owner, the bit that git records; None if it is not a plain file.
#[cfg(unix)]
pub(super) fn is_runnable(path: &Path) -> Result<Option<bool>, Fault> {
    use std::os::unix::fs::PermissionsExt as _;

    match fs::symlink_metadata(path) {
        Ok(found) => Ok(found.is_file().then(|| found.permissions().mode() & 0o100 != 0)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Fault::because(format!("cannot access `{}`", path.display()), error)),
    }
}

/// This platform has no executable bit.
#[cfg(not(unix))]
pub(super) fn is_runnable(_path: &Path) -> Result<Option<bool>, Fault> {
    Ok(None)
}
