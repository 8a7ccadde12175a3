//! What git knows about the files in a folder, whatever is there now. Checked before anything is compared or overwritten.

mod committed;
mod former;
mod lost;
mod published;
mod traces;
mod tracked;

pub(super) use committed::Committed;
pub(super) use former::former_definitions;
pub(super) use lost::LostClusters;
pub(super) use published::Published;
pub(super) use traces::{Now, Trace};
pub(super) use tracked::{refuse_hidden_sources, tracked};
