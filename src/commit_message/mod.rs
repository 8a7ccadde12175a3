//! What a commit says: a subject, lists for people, and trailers for programs. Text alone, no git.

mod generated;
mod release;

pub use generated::generated;
pub use release::{Pulled, releases_added, releases_pulled, releases_removed};
