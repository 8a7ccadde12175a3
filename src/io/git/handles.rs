//! Opens a repository for several threads.

use std::{
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use super::Repository;

/// Handles of one repository. A libgit2 handle serves one thread at a time; a thread takes one and puts it back.
pub(super) struct Handles {
    /// The repository's `.git` folder.
    folder: PathBuf,
    free: Mutex<Vec<git2::Repository>>,
}

impl Repository {
    /// Handles of this repository; none is open yet.
    pub(super) fn handles(&self) -> Handles {
        // Trees and files of a revision are read once, so the cache of each handle would only take memory. The setting is of the
        // whole process; history is walked without this cache, too.
        git2::opts::enable_caching(false);
        Handles { folder: self.inner.path().to_path_buf(), free: Mutex::default() }
    }
}

impl Handles {
    /// Lends a handle, and opens one if none is free.
    pub(super) fn with<T>(
        &self,
        use_it: impl FnOnce(&git2::Repository) -> Result<T, git2::Error>,
    ) -> Result<T, git2::Error> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let repository = match free {
            Some(repository) => repository,
            None => git2::Repository::open(&self.folder)?,
        };
        let used = use_it(&repository);
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push(repository);
        used
    }
}
