//! Tests of disk and git, in separate folders and repositories. `git` itself is the oracle.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests own their sandbox and may panic")]

mod acceptances;
mod all;
mod assets;
mod behind;
mod bumps;
mod clones;
mod commit;
mod cutting;
mod diff;
mod diff_guards;
mod disk;
mod edited;
#[path = "../support/environment.rs"]
mod environment;
mod histories;
mod hostile;
mod identity;
mod killed;
mod line_ends;
mod lines;
mod lock;
mod lost;
mod prune;
mod registry;
mod relock;
mod release;
mod released;
mod released_histories;
mod sandbox;
mod share;
mod sources;
mod special;
mod taken_back;
mod update;
mod update_assets;
mod watch;
mod workflows;
