//! Stackloom weaves versioned stack and cluster definitions into one GitOps tree.
pub mod check;
pub mod cli;
pub mod definition;
pub mod generate;
pub mod io;
pub mod model;
pub mod note;
pub mod plan;
pub mod publish;
pub mod release;
pub mod render;
pub mod resolve;
pub mod template;
pub mod tree;
pub mod world;
pub mod yaml;
