//! Generated files, and the IDs by which git knows their content.

use std::sync::{Arc, OnceLock};

use sha1::{Digest as _, Sha1};

use super::TreePath;

/// A generated file.
#[derive(Clone, Debug)]
pub struct File {
    pub path: TreePath,
    text: Arc<str>,
    id: OnceLock<BlobId>,
}

impl File {
    pub fn new(path: TreePath, text: impl Into<Arc<str>>) -> Self {
        Self { path, text: text.into(), id: OnceLock::new() }
    }

    /// The content of the file. A copy shares it.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// The content of the file as bytes.
    pub fn bytes(&self) -> &[u8] {
        self.text.as_bytes()
    }

    /// The ID of its content. Several steps of a comparison need it, so it is computed once.
    pub fn id(&self) -> BlobId {
        *self.id.get_or_init(|| BlobId::of(self.bytes()))
    }
}

impl PartialEq for File {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path && self.text == other.text
    }
}

impl Eq for File {}

/// Git's object ID of a file's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BlobId(pub [u8; 20]);

impl BlobId {
    /// Computes the ID of some content.
    pub fn of(bytes: &[u8]) -> Self {
        let mut hash = Sha1::new();
        hash.update(format!("blob {}\0", bytes.len()));
        hash.update(bytes);
        Self(hash.finalize().into())
    }
}
