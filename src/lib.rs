//! Stackloom weaves versioned stack and cluster definitions into one GitOps tree.
pub mod note;
pub mod template;
pub mod tree;
pub mod model;
pub mod world;
pub mod template;
pub mod definition;
pub mod resolve;
pub mod release;
pub mod plan;
pub mod render;
pub mod check;
pub mod publish;
pub mod generate;
pub mod yaml;
