//! Disk and git, in folders and repositories of their own. `git` itself is the oracle.

mod disk;
mod sandbox;
mod sources;
