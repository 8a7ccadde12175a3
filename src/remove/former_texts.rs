//! The texts of files before a run, as the guards read them.

use std::cell::OnceCell;

use crate::{note::Fault, tree::TreePath};

/// Reads the former content of a file; none if there was no such file.
pub type ReadFormer<'a> = dyn Fn(&TreePath) -> Result<Option<Vec<u8>>, Fault> + 'a;

/// The texts of files before the run.
pub(super) struct FormerTexts<'a> {
    read: &'a ReadFormer<'a>,
    /// The first failure. Whatever was judged is void then.
    failed: OnceCell<Fault>,
}

impl<'a> FormerTexts<'a> {
    pub(super) fn new(read: &'a ReadFormer<'a>) -> Self {
        Self { read, failed: OnceCell::new() }
    }

    /// The text of a file; none if there was no such file.
    pub(super) fn text(&self, path: &TreePath) -> Option<String> {
        let bytes = (self.read)(path).unwrap_or_else(|fault| {
            self.failed.get_or_init(|| fault);
            None
        });
        bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Fails if a file could not be read.
    pub(super) fn end(self) -> Result<(), Fault> {
        self.failed.into_inner().map_or(Ok(()), Err)
    }
}
