//! The one door to the outside world: disk and git, registries, and the programs that sign and verify.
//!
//! [`disk`] reads the sources and keeps `generated/` as it is meant; [`git`] does the same for a commit; [`watch`] hears of
//! changes; [`oci`] is where releases travel, [`net`] looks up charts and images, [`forge`] opens pull requests, and [`cosign`] verifies signatures; [`clock`] knows which day is today; [`pager`] shows long text. Nothing here knows what the files mean: what comes in is text by path, and what goes out is bytes by [`crate::tree::TreePath`].
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
mod known;
mod program;
