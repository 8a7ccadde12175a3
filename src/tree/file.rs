//! Generated files, and the IDs by which git knows their content.

use std::sync::OnceLock;

use sha1::{Digest as _, Sha1};

use super::TreePath;

/// A generated file.
#[derive(Clone, Debug)]
pub struct File {
    pub path: TreePath,
    bytes: Vec<u8>,
    id: OnceLock<BlobId>,
}

impl File {
    pub fn new(path: TreePath, bytes: Vec<u8>) -> Self {
        Self { path, bytes, id: OnceLock::new() }
    }

    /// The content of the file.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The ID of its content. Several steps of a comparison need it, so it is computed once.
    pub fn id(&self) -> BlobId {
        *self.id.get_or_init(|| BlobId::of(&self.bytes))
    }
}

impl PartialEq for File {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path && self.bytes == other.bytes
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
