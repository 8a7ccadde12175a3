//! `stackloom.lock`: which bytes came from elsewhere when someone looked, so that the same name and version is the same
//! content for everyone.
//!
//! [`wanted()`] says what stacks need from elsewhere, [`merge()`] puts what was found into the lock, [`write()`] gives its one
//! form. Absent on purpose: the network. What was found there is handed in.

mod index;
mod merge;
pub mod values;
mod wanted;
mod write;

pub use index::{IMAGES, IndexEntry, annotated_images, index};
pub use merge::{Change, Found, FoundChart, Merged, merge, newer};
pub use wanted::{Wanted, wanted};
pub use write::write;
