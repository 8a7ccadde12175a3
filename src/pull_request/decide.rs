//! Decides what to do about a proposal, given the state of git and the forge.

use std::collections::BTreeSet;

use sha2::{Digest as _, Sha256};

use super::{
    claim::{has_claim, is_claimed},
    draft,
    reviews_and_labels::{ReviewsAndLabels, plain},
    text::prose,
};
use crate::model::hex;

/// A commit on the base or on a branch for a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    pub id: String,
    /// The ID of its tree.
    pub tree: String,
    /// The IDs of its parents.
    pub parents: Vec<String>,
    /// The whole message, with its trailers.
    pub message: String,
    /// Who wrote it first.
    pub author: String,
    /// Who wrote it in its present form.
    pub committer: String,
}

impl Commit {
    /// Whether the program made the commit and nobody has changed it since.
    pub fn is_own(&self) -> bool {
        self.parents.len() == 1 && is_claimed(&self.message, &self.tree)
    }

    /// Who made it, or changed a commit of the program.
    fn person(&self) -> &str {
        if has_claim(&self.message) { &self.committer } else { &self.author }
    }
}

/// A branch of the remote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// The ID of its newest commit.
    pub tip: String,
    /// Its commits that are not in the base, newest first.
    pub commits: Vec<Commit>,
}

/// Whether a request can still be merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestState {
    /// It waits for a review or for its merge.
    Open,
    /// It was merged.
    Merged,
    /// It was closed without merging.
    Closed,
}

/// A merge request for the branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The number by which the forge calls it.
    pub number: u64,
    /// Whether it can still be merged.
    pub state: RequestState,
    /// The target branch.
    pub base: String,
    pub title: String,
    /// Its text.
    pub body: String,
    /// The URL of its page.
    pub page: String,
}

impl Request {
    /// Whether the program opened it.
    pub fn is_own(&self) -> bool {
        [STEP, TEXT].iter().any(|mark| self.body.contains(mark)) || self.body.trim_end() == DOUBLE.trim_end()
    }
}

/// The state of git and the forge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestFacts {
    /// The newest commit of the base.
    pub base: String,
    /// The branch, if it exists on the remote.
    pub branch: Option<Branch>,
    /// The requests from this branch into the base, newest first; none without a forge.
    pub requests: Option<Vec<Request>>,
    /// The comments on [`RequestFacts::discussed`].
    pub comments: Vec<String>,
    /// What precedes the title of a request that must not be merged yet.
    pub draft: &'static str,
}

impl RequestFacts {
    /// The open request. Of several, the oldest: runs that open one at the same moment then agree.
    pub fn open(&self) -> Option<&Request> {
        self.requests
            .iter()
            .flatten()
            .filter(|one| one.state == RequestState::Open)
            .min_by_key(|one| one.number)
    }

    /// The request whose comments count: the open one, or the newest one if it was closed and the branch is gone.
    pub fn discussed(&self) -> Option<&Request> {
        let newest = self.requests.iter().flatten().find(|one| one.body.trim_end() != DOUBLE.trim_end());
        let is_closed = |one: &&Request| one.state == RequestState::Closed && self.branch.is_none();
        self.open().or(newest.filter(is_closed))
    }
}

/// What should be proposed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proposal {
    Step(Box<Proposed>),
    /// Nothing, for this reason. An existing proposal is no longer needed.
    Nothing(String),
    /// Nothing for now, for this reason. An existing proposal must not be merged until the step may be taken.
    Later(String),
    /// Undecided, for this reason. An existing proposal stays.
    Unsure(String),
}

/// A step, as a commit and a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposed {
    /// The commit, which no branch points to yet.
    pub commit: Commit,
    /// The title of the request.
    pub title: String,
    /// Its text.
    pub body: String,
    /// Identifies the step. A request that a person closed is not opened again for the same step.
    pub step: String,
    pub asks: ReviewsAndLabels,
}

/// An action on git or the forge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Points the branch to a commit, or deletes it, if it has not moved since.
    Push {
        /// The commit that the branch must still point to; none if it must not exist.
        old: Option<String>,
        /// The new commit; none to delete the branch.
        new: Option<String>,
    },
    /// Opens a request.
    Create {
        title: String,
        /// Its text.
        body: String,
    },
    /// Replaces the title and text of a request.
    Update {
        /// The number by which the forge calls it.
        number: u64,
        title: String,
        /// Its text.
        body: String,
    },
    /// Asks for reviews, and changes labels. Then records this in the text of the request.
    Ask {
        /// Its number; none if it was opened just now.
        number: Option<u64>,
        /// What is to be asked.
        new: ReviewsAndLabels,
        /// Labels that no longer apply.
        old: Vec<String>,
        /// The title of the request.
        title: String,
        /// Its text with the record.
        body: String,
    },
    /// Comments on a request.
    Comment {
        /// The number by which the forge calls it.
        number: u64,
        /// The comment.
        text: String,
    },
    /// Closes a request.
    Close {
        /// The number by which the forge calls it.
        number: u64,
    },
}

impl Action {
    /// Removes people and teams whose review the forge did not ask for.
    pub fn leave_out(&mut self, refused: &BTreeSet<String>) {
        if let Self::Ask { new, .. } = self {
            new.reviewers.retain(|reviewer| !refused.contains(reviewer));
        }
    }
}

/// The outcome of a run, once its actions are done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProposalOutcome {
    /// The step is proposed.
    Proposed,
    /// There is nothing to propose, for this reason.
    Nothing(String),
    /// A person closed the request for this step.
    Declined(u64),
    /// The branch has commits by these people.
    Stopped(Vec<String>),
}

/// What to do, and the outcome of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProposalDecision {
    /// The actions, in order.
    pub actions: Vec<Action>,
    /// The outcome of the run.
    pub outcome: ProposalOutcome,
}

/// The text of a request that is closed because another run opened one for the same branch at the same moment. It names no
/// step, so it does not count as one that a person closed.
pub const DOUBLE: &str = "Closed: another run opened a request for this branch at the same moment.\n";

/// Precedes the step that a request is for.
pub(super) const STEP: &str = "<!-- stackloom-step ";
/// Precedes the digest of the text of a request.
const TEXT: &str = "<!-- stackloom-text ";

/// The mark of a comment that asks to delete the branch.
const STOPPED: &str = "stackloom-stopped";

/// Decides what to do. Never overwrites commits of people, and never closes or deletes their work.
pub fn decide(seen: &RequestFacts, wish: &Proposal) -> ProposalDecision {
    let (open, authors) = (seen.open(), authors(seen));
    match (wish, &seen.branch) {
        (Proposal::Unsure(why), _) => {
            ProposalDecision { actions: Vec::new(), outcome: ProposalOutcome::Nothing(why.clone()) }
        }
        (_, Some(branch)) if !authors.is_empty() => {
            let actions = open.map(|open| stop(open, branch, wish, &authors, seen)).unwrap_or_default();
            ProposalDecision { actions, outcome: ProposalOutcome::Stopped(authors) }
        }
        (Proposal::Nothing(why), _) => ProposalDecision {
            actions: retire(seen, open, why),
            outcome: ProposalOutcome::Nothing(why.clone()),
        },
        (Proposal::Later(why), _) => {
            let mut actions = without_doubles(seen, open);
            actions.extend(open.and_then(|open| defer(seen.draft, open, why)));
            ProposalDecision { actions, outcome: ProposalOutcome::Nothing(why.clone()) }
        }
        (Proposal::Step(step), _) => propose(seen, open, step),
    }
}

/// The people with commits on the branch.
fn authors(seen: &RequestFacts) -> Vec<String> {
    let mut authors = Vec::new();
    for commit in seen.branch.iter().flat_map(|branch| &branch.commits) {
        let person = commit.person().to_owned();
        if !commit.is_own() && !authors.contains(&person) {
            authors.push(person);
        }
    }
    authors
}

/// What to do with a request whose branch has commits of people: says once per state of the branch that it is not updated, and
/// whether it may be merged.
fn stop(
    open: &Request,
    branch: &Branch,
    wish: &Proposal,
    authors: &[String],
    seen: &RequestFacts,
) -> Vec<Action> {
    let (what, marker) = match wish {
        Proposal::Later(_) | Proposal::Step(_) => {
            ("This request is no longer updated".to_owned(), branch.tip.clone())
        }
        Proposal::Nothing(why) => (
            format!("This step is no longer needed ({}). The request stays open", prose(why)),
            format!("{} not needed", branch.tip),
        ),
        Proposal::Unsure(_) => return Vec::new(),
    };
    let mut actions = Vec::new();
    if let Proposal::Later(why) = wish {
        actions.extend(defer(seen.draft, open, why));
    }
    let (title, body) = (draft::ready_again(open), draft::without_reason(&open.body));
    if matches!(wish, Proposal::Step(_)) && (title != open.title || body != open.body) {
        actions.push(Action::Update { number: open.number, title, body });
    }
    let marker = format!("<!-- {STOPPED} {marker} -->");
    if !seen.comments.iter().any(|comment| comment.contains(&marker)) {
        let text = format!(
            "{what}, because the branch contains commits by {}, which stackloom does not overwrite.\n\n\
             To let stackloom continue, move these commits to another branch and delete this one.\n\n{marker}\n",
            authors.join(", ")
        );
        actions.push(Action::Comment { number: open.number, text });
    }
    actions
}

/// Says in an open request that it must not be merged now.
fn defer(draft: &str, open: &Request, why: &str) -> Option<Action> {
    let (title, body) = draft::deferred(draft, open, why);
    let is_said = title == open.title && is_same(&open.body, &body);
    (!is_said).then_some(Action::Update { number: open.number, title, body })
}

/// Closes what is no longer needed: first the request, then the branch. The text of the request then names no step, so the
/// same step can be proposed again when it is needed again.
fn retire(seen: &RequestFacts, open: Option<&Request>, why: &str) -> Vec<Action> {
    let mut actions = without_doubles(seen, open);
    if let Some(Request { number, title, body, .. }) = open {
        const MARKER: &str = "<!-- stackloom-retired -->";
        if !seen.comments.iter().any(|comment| comment.contains(MARKER)) {
            let text = format!("Closed: {}.\n\n{MARKER}\n", prose(why));
            actions.push(Action::Comment { number: *number, text });
        }
        if body.contains(STEP) {
            let body = body.lines().filter(|line| !line.starts_with(STEP)).flat_map(|line| [line, "\n"]);
            let (title, body) = (title.clone(), body.collect());
            actions.push(Action::Update { number: *number, title, body });
        }
        actions.push(Action::Close { number: *number });
    }
    if let Some(branch) = &seen.branch {
        actions.push(Action::Push { old: Some(branch.tip.clone()), new: None });
    }
    actions
}

/// Closes requests that another run opened at the same moment.
fn without_doubles(seen: &RequestFacts, open: Option<&Request>) -> Vec<Action> {
    let Some(Request { number: kept, .. }) = open else { return Vec::new() };
    let is_double =
        |one: &&Request| one.state == RequestState::Open && one.number != *kept && one.body.contains(STEP);
    let doubles = seen.requests.iter().flatten().filter(is_double).map(|one| one.number);
    let title = open.map(|one| one.title.as_str()).unwrap_or_default();
    let rewrite = |number| Action::Update { number, title: title.to_owned(), body: DOUBLE.to_owned() };
    doubles.flat_map(|number| [rewrite(number), Action::Close { number }]).collect()
}

fn propose(seen: &RequestFacts, open: Option<&Request>, step: &Proposed) -> ProposalDecision {
    let newest = seen.requests.iter().flatten().find(|one| one.body.trim_end() != DOUBLE.trim_end());
    // Some forges close a request once its branch is deleted, which is what the comment asks for.
    let is_as_asked = seen.branch.is_none() && seen.comments.iter().any(|comment| comment.contains(STOPPED));
    let is_declined =
        |one: &&Request| one.state == RequestState::Closed && names(&one.body, &step.step) && !is_as_asked;
    if let Some(closed) = newest.filter(is_declined) {
        return ProposalDecision { actions: Vec::new(), outcome: ProposalOutcome::Declined(closed.number) };
    }
    let mut actions = without_doubles(seen, open);
    if !seen.branch.as_ref().is_some_and(|branch| is_there(branch, step)) {
        let old = seen.branch.as_ref().map(|branch| branch.tip.clone());
        actions.push(Action::Push { old, new: Some(step.commit.id.clone()) });
    }
    let asks = &step.asks;
    let asked = open.map(|open| ReviewsAndLabels::recorded(&open.body)).unwrap_or_default();
    let mark = mark_of_text(&step.body);
    // What people add to a text stays until the text changes.
    let body = match open.filter(|open| open.body.contains(&mark)) {
        Some(open) => plain(&draft::without_reason(&open.body)),
        None => format!("{}\n{mark}\n", step.body.trim_end()),
    };
    let title = open.map_or_else(|| step.title.clone(), |open| draft::ready(open, &step.title));
    match open {
        Some(open) if open.title == title && is_same(&plain(&open.body), &body) => {}
        Some(Request { number, .. }) => {
            let (title, body) = (title.clone(), asked.record(&body));
            actions.push(Action::Update { number: *number, title, body });
        }
        None if seen.requests.is_some() => {
            actions.push(Action::Create { title: title.clone(), body: body.clone() });
        }
        None => return ProposalDecision { actions, outcome: ProposalOutcome::Proposed },
    }
    let new = asks.without(&asked);
    let old: Vec<String> = asked.without(asks).labels.into_iter().collect();
    if !new.is_empty() || !old.is_empty() {
        let reviewers = &asked.reviewers | &asks.reviewers;
        let body = ReviewsAndLabels { reviewers, labels: asks.labels.clone() }.record(&body);
        actions.push(Action::Ask { number: open.map(|one| one.number), new, old, title, body });
    }
    ProposalDecision { actions, outcome: ProposalOutcome::Proposed }
}

/// The line by which a later run recognizes a text that it would write again.
fn mark_of_text(body: &str) -> String {
    // The base moves every day, whatever it changes.
    let lines: Vec<&str> = body.lines().filter(|line| !line.starts_with("Compared with ")).collect();
    format!("{TEXT}{} -->", hex(&Sha256::digest(lines.join("\n"))[..8]))
}

/// Whether the text of a request names a step.
fn names(body: &str, step: &str) -> bool {
    body.contains(&format!("{STEP}{step} -->"))
}

/// Compares texts, ignoring line endings and trailing whitespace, which forges may change.
fn is_same(one: &str, other: &str) -> bool {
    one.lines().map(str::trim_end).eq(other.trim_end().lines().map(str::trim_end))
        || one.replace('\r', "").trim_end() == other.trim_end()
}

/// Whether the branch already holds the step on the same base. Only the commit time may differ.
fn is_there(branch: &Branch, step: &Proposed) -> bool {
    let alike = |one: &Commit| {
        let Commit { tree, parents, message, .. } = &step.commit;
        (&one.tree, &one.parents, one.message.trim_end()) == (tree, parents, message.trim_end())
    };
    matches!(branch.commits.as_slice(), [one] if alike(one))
}
