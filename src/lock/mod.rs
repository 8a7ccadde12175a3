//! `stackloom.lock`: the digests of everything that comes from elsewhere, so that the same name and version has the same
//! content for everyone.
//!
//! [`wanted()`] lists what stacks need from elsewhere, [`merge()`] puts lookup results into the lock, and [`write()`] writes
//! it in its canonical form. Deliberately absent: network access. Callers look things up and pass in the results.

mod index;
mod merge;
pub mod values;
mod wanted;
mod write;

pub use index::{IMAGES, IndexEntry, annotated_images, index};
pub use merge::{FoundChart, LockChange, LookupResults, MergedLock, merge, newer};
pub use wanted::{Wanted, wanted};
pub use write::write;
