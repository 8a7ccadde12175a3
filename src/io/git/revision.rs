//! Files as a revision has them.

use std::collections::BTreeMap;

use git2::{ErrorCode, ObjectType};

use super::{
    Repository,
    trees::{FILE, RUNNABLE},
};
use crate::note::Fault;

impl Repository {
    /// Whether a text names a commit.
    pub fn knows(&self, revision: &str) -> bool {
        self.inner.revparse_single(revision).and_then(|found| found.peel_to_commit()).is_ok()
    }

    /// The text of the plain files below a folder of the fleet, by their paths from the fleet's root, as a commit, tag or
    /// branch has them. A folder that is not there holds none.
    pub fn files_at(&self, revision: &str, folder: &str) -> Result<BTreeMap<String, String>, Fault> {
        let unknown = |error: git2::Error| {
            Fault::because(format!("git knows no revision `{revision}`"), error).hint(
                "give a commit, branch or tag, such as `HEAD~1` or `origin/main`; a shallow clone has few of them",
            )
        };
        let commit =
            self.inner.revparse_single(revision).and_then(|found| found.peel_to_commit()).map_err(unknown)?;
        let mut files = BTreeMap::new();
        let failed = |error: git2::Error| {
            Fault::because(format!("cannot read the files of `{revision}`"), error)
                .hint("in a partial clone they may be missing: `git fetch --refetch`")
        };
        let tree = commit.tree().map_err(failed)?;
        let top = format!("{}{folder}", self.prefix);
        let entry = match tree.get_path(top.as_ref()) {
            Ok(entry) => entry,
            Err(error) if error.code() == ErrorCode::NotFound => return Ok(files),
            Err(error) => return Err(failed(error)),
        };
        self.collect(entry.id(), folder, &mut files).map_err(failed)?;
        Ok(files)
    }

    fn collect(
        &self,
        tree: git2::Oid,
        path: &str,
        files: &mut BTreeMap<String, String>,
    ) -> Result<(), git2::Error> {
        for entry in &self.inner.find_tree(tree)? {
            let path = format!("{path}/{}", String::from_utf8_lossy(entry.name_bytes()));
            match (entry.kind(), entry.filemode()) {
                (Some(ObjectType::Tree), _) => self.collect(entry.id(), &path, files)?,
                (Some(ObjectType::Blob), FILE | RUNNABLE) => {
                    let blob = self.inner.find_blob(entry.id())?;
                    files.insert(path, String::from_utf8_lossy(blob.content()).into_owned());
                }
                // Links and submodules are none of the program's.
                _ => {}
            }
        }
        Ok(())
    }
}
