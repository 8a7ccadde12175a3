//! Rollouts: an upgrade of many clusters in waves, with soak times, maintenance windows, freezes and limits.
//!
//! All decisions are based on git: the rollout's file, the definitions, and the commits of the branch that the engine reads.
//! The time and the health of clusters are passed in. Deliberately absent: the steps themselves, which `upgrade` plans.

mod decide;
mod health;
mod target;
mod waves;
mod windows;

pub use decide::{
    ClusterHealth, Decision, Next, Obstacle, RolloutFacts, RolloutPhase, SeenCluster, WaveSeen, WaveState,
    decide,
};
pub use health::{CommitState, CommitStatus, health};
pub use target::note_missing_targets;
pub use waves::{Wave, waves};
pub use windows::note_closed_windows;
