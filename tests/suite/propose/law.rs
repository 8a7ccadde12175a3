//! Properties of the decision over random histories: the base moves, people commit, close and merge, steps change, and runs
//! end after any action.

use stackloom::pull_request::{
    Action, Branch, Commit, Proposal, ProposalDecision, ProposalOutcome, Proposed, Request, RequestFacts,
    RequestState, ReviewsAndLabels, decide, with_claim,
};

use crate::support::random::Random;

const CASES: u64 = 400;
const EVENTS: usize = 40;
const DRAFT: &str = "Draft: ";

/// A remote and a forge in memory.
struct World {
    made: usize,
    base: String,
    branch: Option<Branch>,
    requests: Vec<Request>,
    comments: Vec<Vec<String>>,
    /// What each request was asked for, in order.
    asked: Vec<Vec<ReviewsAndLabels>>,
    /// The next step.
    step: usize,
    /// Whether it must wait.
    is_late: bool,
}

impl World {
    fn commit(&mut self, is_own: bool, tree: String, parent: String) -> Commit {
        self.made += 1;
        let message = if is_own { with_claim("upgrade\n", &tree) } else { with_claim("mine\n", "another") };
        let author = if is_own { "bot" } else { "Ada" }.to_owned();
        let committer = author.clone();
        Commit { id: format!("c{}", self.made), tree, parents: vec![parent], message, author, committer }
    }

    fn seen(&self) -> RequestFacts {
        let open = self.requests.iter().position(|one| one.state == RequestState::Open);
        let comments = open.map(|at| self.comments[at].clone()).unwrap_or_default();
        let requests = self.requests.iter().rev().cloned().collect();
        let (base, branch) = (self.base.clone(), self.branch.clone());
        RequestFacts { base, branch, requests: Some(requests), comments, draft: DRAFT }
    }

    fn wish(&mut self) -> Proposal {
        if self.step.is_multiple_of(5) {
            return Proposal::Nothing("done".to_owned());
        }
        if self.is_late {
            return Proposal::Later("outside of the windows".to_owned());
        }
        let (tree, parent) = (format!("t{}-{}", self.step, self.base), self.base.clone());
        let commit = self.commit(true, tree, parent);
        let step = format!("s{}", self.step);
        let body = format!("text of {step} on {}\n<!-- stackloom-step {step} -->\n", self.base);
        let set = |words: &[String]| words.iter().cloned().collect();
        let reviewers = set(&["@ada".to_owned(), format!("@team/s{}", self.step % 3)]);
        let asks = ReviewsAndLabels { reviewers, labels: set(&[format!("risk-{}", self.step % 2)]) };
        Proposal::Step(Box::new(Proposed { commit, title: step.clone(), body, step, asks }))
    }

    fn perform(&mut self, action: &Action, wish: &Proposal) {
        let at = |number: &u64| usize::try_from(*number).unwrap() - 1;
        match action {
            Action::Push { old, new } => {
                let tip = self.branch.as_ref().map(|branch| branch.tip.clone());
                assert_eq!(&tip, old, "a push names what it replaces");
                let foreign =
                    self.branch.iter().flat_map(|branch| &branch.commits).filter(|one| !one.is_own());
                assert_eq!(foreign.count(), 0, "commits of people were pushed over");
                self.branch = new.as_ref().map(|new| {
                    let Proposal::Step(step) = wish else { panic!("nothing was to be pushed") };
                    Branch { tip: new.clone(), commits: vec![step.commit.clone()] }
                });
            }
            Action::Create { title, body } => {
                assert!(self.branch.is_some(), "a request needs a branch");
                assert!(self.requests.iter().all(|one| one.state != RequestState::Open), "a second request");
                let number = self.requests.len() as u64 + 1;
                self.requests.push(Request {
                    number,
                    state: RequestState::Open,
                    base: "main".to_owned(),
                    title: title.clone(),
                    body: body.clone(),
                    page: String::new(),
                });
                self.comments.push(Vec::new());
                self.asked.push(Vec::new());
            }
            Action::Ask { number, new, old: _, title, body } => {
                let number = number.unwrap_or(self.requests.len() as u64);
                self.asked[at(&number)].push(new.clone());
                let one = &mut self.requests[at(&number)];
                (one.title, one.body) = (title.clone(), body.clone());
            }
            Action::Update { number, title, body } => {
                let one = &mut self.requests[at(number)];
                (one.title, one.body) = (title.clone(), body.clone());
            }
            Action::Comment { number, text } => self.comments[at(number)].push(text.clone()),
            Action::Close { number } => self.requests[at(number)].state = RequestState::Closed,
        }
    }

    /// Something that other people do.
    fn event(&mut self, random: &mut Random) {
        let open = self.requests.iter().position(|one| one.state == RequestState::Open);
        match random.below(7) {
            0 => {
                self.made += 1;
                self.base = format!("b{}", self.made);
            }
            1 => self.step += 1,
            2 if self.branch.is_some() => {
                let tip = self.branch.as_ref().unwrap().tip.clone();
                let commit = self.commit(false, "theirs".to_owned(), tip);
                let branch = self.branch.as_mut().unwrap();
                branch.tip.clone_from(&commit.id);
                branch.commits.insert(0, commit);
            }
            3 => {
                if let Some(open) = open {
                    self.requests[open].state = RequestState::Closed;
                }
            }
            4 => {
                if let (Some(open), Some(branch)) = (open, self.branch.take()) {
                    self.requests[open].state = RequestState::Merged;
                    self.base = branch.tip;
                    self.step += 1;
                }
            }
            5 => self.is_late = !self.is_late,
            _ => self.branch = None,
        }
    }
}

#[test]
fn a_decision_loses_nothing_of_people_and_comes_to_rest() {
    let (mut ends, mut again_asked, mut deferred) = ([0; 4], 0, 0);
    for seed in 0..CASES {
        let mut random = Random::new(seed);
        let mut world = World {
            made: 0,
            base: "b0".to_owned(),
            branch: None,
            requests: Vec::new(),
            comments: Vec::new(),
            asked: Vec::new(),
            step: 1,
            is_late: false,
        };
        for _ in 0..EVENTS {
            world.event(&mut random);
            // A run that is killed after some of its actions, and then one that is not.
            let wish = world.wish();
            let decision = decide(&world.seen(), &wish);
            let cut = random.below(decision.actions.len() + 1);
            for action in &decision.actions[..cut] {
                world.perform(action, &wish);
            }
            let wish = world.wish();
            let ProposalDecision { actions, outcome } = decide(&world.seen(), &wish);
            for action in &actions {
                world.perform(action, &wish);
            }
            let again = decide(&world.seen(), &world.wish());
            assert_eq!(
                again,
                ProposalDecision { actions: Vec::new(), outcome: outcome.clone() },
                "seed {seed}: it comes to rest"
            );
            let open = world.requests.iter().filter(|one| one.state == RequestState::Open).count();
            match outcome {
                ProposalOutcome::Proposed => {
                    assert_eq!(open, 1, "seed {seed}");
                    let at = world.requests.iter().position(|one| one.state == RequestState::Open).unwrap();
                    let Proposal::Step(step) = &wish else { panic!("nothing was to be proposed") };
                    let all = |reviewer: &str| {
                        world.asked[at].iter().filter(|one| one.reviewers.contains(reviewer)).count()
                    };
                    // A person is asked again only if a run was killed before it wrote down that it had asked.
                    assert!(
                        step.asks.reviewers.iter().all(|one| all(one) >= 1),
                        "seed {seed}: all are asked"
                    );
                    assert_eq!(world.requests[at].title, step.title, "seed {seed}: it may be merged");
                    again_asked += u64::from(all("@ada") > 1);
                    ends[0] += 1;
                }
                ProposalOutcome::Nothing(_) if matches!(wish, Proposal::Later(_)) => {
                    for one in world.requests.iter().filter(|one| one.state == RequestState::Open) {
                        assert!(one.title.starts_with(DRAFT), "seed {seed}: it must not be merged");
                        assert_eq!(one.body.matches("Do not merge").count(), 1, "seed {seed}");
                        deferred += 1;
                    }
                }
                ProposalOutcome::Nothing(_) => {
                    assert_eq!((open, world.branch.is_some()), (0, false), "seed {seed}");
                    ends[1] += 1;
                }
                ProposalOutcome::Declined(_) => ends[2] += 1,
                ProposalOutcome::Stopped(_) => ends[3] += 1,
            }
        }
    }
    assert_eq!(again_asked, 0, "an action that is done writes down what it asked");
    assert!(deferred > 100, "requests wait: {deferred}");
    assert!(ends.iter().all(|count| *count > 100), "each end is reached: {ends:?}");
}
