//! What git knows of the files in a folder, whatever lies there now: asked before anything is compared or overwritten.

mod published;
mod tracked;

pub(super) use published::Published;
pub(super) use tracked::{refuse_hidden_sources, tracked};
