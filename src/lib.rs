//! Stackloom weaves versioned stack and cluster definitions into one GitOps tree.
pub mod note;
pub mod template;
pub mod tree;
pub mod world;
pub mod yaml;
