//! Plans upgrades: the shortest sequence of steps from a cluster's current state to its target.
//!
//! ```text
//! definitions, releases ─situation→ Situation ─search→ ReleasePath ─steps→ UpgradePlan
//!                                                  └conflict→ Conflict
//! ```
//!
//! A step changes the release of a cluster or the version of one addon. After each step, every addon supports the cluster's
//! Kubernetes version, according to the matrix and the rules of its release. A step to another Kubernetes minor changes no
//! addon. Deliberately absent: how Cluster API acts on a step. That is forecast only for the steps of a finished plan.

mod addon;
mod addon_path;
mod charts;
mod check_edits;
mod conflict;
mod constraints;
mod describe;
mod distinct_releases;
mod edits;
mod forecast;
mod plan;
mod policy;
mod release_path;
mod requirements;
mod situation;
mod solve;
mod step_reasons;

pub use addon_path::Cost;
pub use charts::ChartRanges;
pub use check_edits::check as check_edits;
pub use conflict::{Blocking, Conflict, conflict};
pub use constraints::{IndexedSituation, PlanningFleet, PoolsBehind, Situated, SituationKey, UpgradeTarget};
pub use describe::{DescribedChange, StepDescription, describe};
pub use edits::{ClusterStep, Edited, Edits, edits, fold, with_edits};
pub use forecast::{PlannedCluster, Remedy, StepEffect, after};
pub use plan::{Step, StepChange, UpgradePlan, steps};
pub use policy::Asked;
pub use release_path::{NotFound, ReleasePath, ReplacedMachines, search};
pub use situation::{
    Candidate, Constraint, ConstraintKind, Goal, Kept, Listing, Situation, Track, Version, distance,
};
pub use solve::{PlanResult, Solved};
pub use step_reasons::reasons;
