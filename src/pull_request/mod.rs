//! Proposals: a step of an upgrade as a branch and a merge request.
//!
//! [`decide()`] decides what to do from the state of git and the forge; `cli` carries it out. Each action leaves a state
//! from which the next run can continue. A run may therefore stop at any time, and two may run at once. This module uses no
//! network, git or clock.

mod address;
mod claim;
mod decide;
mod draft;
mod reviews_and_labels;
mod text;

pub use address::{RepositoryAddress, address};
pub use claim::{is_claimed, with_claim};
pub use decide::{
    Action, Branch, Commit, DOUBLE, Proposal, ProposalDecision, ProposalOutcome, Proposed, Request,
    RequestFacts, RequestState, decide,
};
pub use reviews_and_labels::{ReviewsAndLabels, handles};
pub use text::{
    Limits, PlanOf, ProposedPlan, ProposedStep, RequestText, RolloutOf, branch_name, capital, text,
};
