//! Disk and git, in folders and repositories of their own. `git` itself is the oracle.

mod commit;
mod disk;
mod hostile;
mod identity;
mod sandbox;
mod sources;
