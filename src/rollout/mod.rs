//! Rollouts: an upgrade of many clusters in waves, with soak times, maintenance windows, freezes and limits.
//!
//! All that decides is in git: the rollout's file, the definitions, and the commits of the branch that the engine reads. What the
//! time is, and whether clusters are healthy, comes in as a value. Absent on purpose: the steps themselves, which `upgrade` plans.

mod calendar;
mod decide;
mod waves;

pub use calendar::{Closed, closed};
pub use decide::{Decision, Next, Phase, Seen, SeenCluster, WaveSeen, WaveState, decide};
pub use waves::{Wave, waves};
