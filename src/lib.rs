//! Stackloom weaves versioned stack and cluster definitions into one GitOps tree.
//!
//! ```text
//! files ─World→ Input ─parse→ Definitions ─lower→ Model ─resolve→ Resolution ─freeze, read→ Releases ─plan→ Plan
//!       (text)        (as written)       (as meant)      (exact)                   (made or read)    (no choices left)
//!       ─draw→ objects ─check→ parts ─Sink→ tree
//! ```
//!
//! [`generate::generate`] implements this flow. The modules below are listed in reading order: each uses only those above
//! it.
//!
//! | a user sees | read by | written by |
//! |---|---|---|
//! | `stackloom.yaml`, `stacks/`, `clusters/` | [`io::disk::Workspace`], then [`definition::parse`] | [`cli`] (`init`, `new`) |
//! | `generated/releases/` | [`release::read`] | [`release::write`]; numbered: [`release::cut()`], [`io::git::ReleaseRun`] |
//! | `generated/management/` | comparisons and guards only ([`compare::GeneratedTree`], [`render`]); no stage, for it depends on the sources alone | [`render::draw`], through a [`tree::Sink`] |
//! | a commit of `generated/` | the engine | [`io::git::CommitSink`] with [`commit_message::generated`] |
//! | answers of `explain` and `affects` | [`explain`], which renders a part again and looks up origins | |
//! | messages on classes and variables | [`check`], through [`topology`], which models Cluster API's behavior | |
//! | `stackloom.lock` | [`definition::read_lock`] | [`lock::write()`], by [`cli`] (`update`) with [`io::net`] |
//! | `schemas/` | editors | [`cli`] (`schema`), from [`definition::DefinitionKind`] |

#![expect(
    missing_docs,
    reason = "only the program uses this library, and a comment that repeats a name says nothing"
)]

pub use capi_topology as topology;
pub mod note;
pub mod yaml;
pub mod tree;
pub mod model;
pub mod knowledge;
pub mod world;
pub mod template;
pub mod definition;
pub mod edit;
pub mod resolve;
pub mod release;
pub mod lock;
pub mod plan;
pub mod rollout;
pub mod render;
pub mod compare;
pub mod remove;
pub mod check;
pub mod rebase;
pub mod commit_message;
pub mod partial;
pub mod generate;
pub mod migrate;
pub mod rename;
pub mod report;
pub mod upgrade;
pub mod pull_request;
pub mod explain;
pub mod watch;
pub mod io;
pub mod cli;
