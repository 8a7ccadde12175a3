//! Changes made public: what a commit says of them.

mod message;

pub use message::message;
