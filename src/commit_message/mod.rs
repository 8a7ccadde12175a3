//! Texts for publishing changes: commit messages.

mod message;
mod release;

pub use message::message;
pub use release::{Pulled, releases_added, releases_pulled, releases_removed};
