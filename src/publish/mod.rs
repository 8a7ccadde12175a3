//! Changes made public: what a commit says of them.

mod message;
mod release;

pub use message::message;
pub use release::{releases_added, releases_removed};
