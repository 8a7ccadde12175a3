//! Stackloom weaves versioned stack and cluster definitions into one `GitOps` tree.
pub mod io;
pub mod note;
pub mod publish;
pub mod tree;
pub mod world;
pub mod yaml;
