//! Access to the outside world: disk, git, registries, forges, and the programs that sign and verify.
//!
//! - [`disk`] reads the sources and keeps `generated/` up to date; [`git`] does the same for a commit.
//! - [`watch`] reports changes of the sources.
//! - [`oci`] pushes and pulls releases, [`net`] looks up charts and images, and [`forge`] opens pull requests.
//! - [`cosign`] verifies signatures, [`clock`] gives the current day and time, and [`pager`] shows long text.
//!
//! Nothing here knows what the files mean: the input is text by path, the output is bytes by [`crate::tree::TreePath`].
#![expect(clippy::disallowed_methods, reason = "this module is the boundary")]

pub mod clock;
pub mod cosign;
pub mod disk;
pub mod forge;
pub mod git;
pub mod net;
pub mod oci;
pub mod pager;
pub mod watch;

mod fleet;
mod known_to_git;
mod program;
