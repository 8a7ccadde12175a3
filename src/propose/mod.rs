//! Proposals: a step of an upgrade as a branch and a request to merge it.
//!
//! What is to be done is decided here, from what git and the forge say ([`decide()`]); `cli` does it. Each action leaves a state
//! from which the next run goes on, so that a run may end at any moment, and two may run at once. Knows no network, no git and no
//! clock.

mod address;
mod decide;
mod text;

pub use address::{Address, address};
pub use decide::{
    Action, Branch, Commit, Decision, Outcome, Proposed, Request, RequestState, Seen, TREE, Wish, decide,
};
pub use text::{Limits, Plan, PlanOf, ProposedStep, Text, branch_name, text};
