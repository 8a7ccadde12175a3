//! Changes made public: what a commit says of them.

mod message;
mod release;

pub use message::message;
pub use release::{Pulled, releases_added, releases_pulled, releases_removed};
