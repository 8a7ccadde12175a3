//! Groups clusters with the same steps for display.

use std::collections::BTreeMap;

use crate::{
    cli::printer::counted,
    model::ClusterId,
    note::{Notes, Place, Severity},
    report::Machines,
    upgrade::{
        Blocking, Constraint, IndexedSituation, PlanResult, Remedy, Solved, StepDescription, StepEffect,
        describe,
    },
    world::Input,
};

/// A group of clusters that are shown together.
#[derive(Debug)]
pub(in crate::cli) struct Shown {
    pub(super) clusters: Vec<ClusterId>,
    /// The number of suspended clusters.
    pub(super) suspended: usize,
    /// The current release and Kubernetes version; None if the release has errors.
    pub(super) from: Option<(String, String)>,
    pub(super) state: State,
}

/// The state of a group's clusters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum State {
    /// There is no plan; these constraints rule it out.
    Blocked(Vec<Reason>),
    /// Planning failed, for this reason.
    Failed(String),
    /// There are steps to take.
    Plan(Vec<StepShown>),
    /// There is nothing to do.
    Done,
    /// The clusters already have a later Kubernetes minor.
    Ahead,
    /// The clusters are held, for this reason.
    Held(String),
    /// The clusters are being removed.
    Leaving,
}

impl State {
    /// The name of the state in documents.
    pub(super) fn as_str(&self) -> &'static str {
        match self {
            Self::Blocked(_) => "blocked",
            Self::Failed(_) => "failed",
            Self::Plan(_) => "plan",
            Self::Done => "done",
            Self::Ahead => "ahead",
            Self::Held(_) => "held",
            Self::Leaving => "leaving",
        }
    }
}

/// A constraint that rules a plan out.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Reason {
    pub(super) kind: &'static str,
    pub(super) text: String,
    pub(super) file: Option<(String, usize, usize)>,
    pub(super) lift: String,
    pub(super) is_enough: Option<bool>,
}

/// A step of a group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct StepShown {
    pub(super) description: StepDescription,
    pub(super) reason: String,
    /// The rollouts that the step causes, each with its clusters. Empty until all clusters are in the group.
    pub(super) rollouts: Vec<RolloutShown>,
    /// Whether the rollouts are forecast. `upgrade next` forecasts only the step that it takes.
    pub(super) is_forecast: bool,
}

/// The rollout of a step for some clusters of a group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RolloutShown {
    pub(super) means: String,
    pub(super) refused: Option<String>,
    pub(super) is_unknown: bool,
    pub(super) leaves_pools: bool,
    pub(super) needs_someone: bool,
    pub(super) remedy: Option<Remedy>,
    pub(super) clusters: Vec<ClusterId>,
    pub(super) machines: Machines,
}

impl StepShown {
    pub(super) fn leaves_pools(&self) -> bool {
        self.rollouts.iter().any(|one| one.leaves_pools)
    }

    pub(super) fn needs_someone(&self) -> bool {
        self.rollouts.iter().any(|one| one.needs_someone)
    }

    pub(super) fn machines(&self) -> Machines {
        self.rollouts.iter().map(|one| one.machines).fold(Machines::default(), Machines::and)
    }
}

/// Forms the groups, ordered: those that need a person first, then the largest.
pub(super) fn groups(
    solved: &[Solved<'_>],
    rollouts: &BTreeMap<ClusterId, Vec<StepEffect>>,
    input: &Input,
) -> Vec<Shown> {
    let mut found: BTreeMap<(State, Option<(String, String)>), Shown> = BTreeMap::new();
    for one in solved {
        let (state, from) = (state(&one.answer, input), from(&one.answer));
        let group = found.entry((state.clone(), from.clone())).or_insert_with(|| Shown {
            clusters: Vec::new(),
            suspended: 0,
            from,
            state,
        });
        group.clusters.extend(one.clusters.iter().map(|cluster| cluster.id()));
        group.suspended += one.clusters.iter().filter(|cluster| cluster.suspend.is_some()).count();
    }
    let mut groups: Vec<Shown> = found.into_values().collect();
    for group in &mut groups {
        group.clusters.sort();
        group.add(rollouts);
    }
    groups.sort_by_key(|group| (group.rank(), std::cmp::Reverse(group.clusters.len())));
    groups
}

impl Shown {
    /// The position in the output.
    fn rank(&self) -> u8 {
        match &self.state {
            State::Blocked(_) => 0,
            State::Failed(_) => 1,
            State::Plan(steps) => {
                3 - u8::from(steps.iter().any(|step| step.rollouts.iter().any(|one| one.refused.is_some())))
            }
            State::Held(_) => 4,
            State::Done | State::Ahead | State::Leaving => 5,
        }
    }

    fn add(&mut self, rollouts: &BTreeMap<ClusterId, Vec<StepEffect>>) {
        let State::Plan(steps) = &mut self.state else { return };
        for (at, step) in steps.iter_mut().enumerate() {
            let mut kinds: BTreeMap<(String, Option<String>, bool), RolloutShown> = BTreeMap::new();
            for all in self.clusters.iter().filter_map(|cluster| rollouts.get(cluster)) {
                step.is_forecast &= at < all.len();
            }
            for cluster in &self.clusters {
                let Some(rollout) = rollouts.get(cluster).and_then(|all| all.get(at)) else { continue };
                let StepEffect { means, machines, refused, is_unknown, leaves_pools, needs_someone, remedy } =
                    rollout.clone();
                let key = (means.clone(), refused.clone(), is_unknown);
                let empty = RolloutShown {
                    means,
                    refused,
                    is_unknown,
                    leaves_pools,
                    needs_someone,
                    remedy,
                    clusters: Vec::new(),
                    machines: Machines::default(),
                };
                let kind = kinds.entry(key).or_insert(empty);
                kind.clusters.push(cluster.clone());
                kind.machines = kind.machines.and(machines);
            }
            step.rollouts = kinds.into_values().collect();
            step.rollouts.sort_by_key(|one| (one.refused.is_none(), std::cmp::Reverse(one.clusters.len())));
        }
    }
}

fn state(answer: &PlanResult, input: &Input) -> State {
    let reason = |constraint: &Constraint, is_enough: Option<bool>| Reason {
        kind: constraint.kind.as_str(),
        text: constraint.text.clone(),
        file: constraint
            .origin
            .and_then(|origin| input.sources.place(origin))
            .map(|place: Place| (place.file, place.line, place.column)),
        lift: constraint.lift.clone(),
        is_enough,
    };
    match answer {
        PlanResult::Plan { plan, .. } if plan.steps.is_empty() => State::Done,
        PlanResult::Plan { open, plan, reasons } => {
            let described = describe(&open.situation, plan).into_iter();
            let step = |(description, reason): (StepDescription, &String)| StepShown {
                description,
                reason: reason.clone(),
                rollouts: Vec::new(),
                is_forecast: true,
            };
            State::Plan(described.zip(reasons).map(step).collect())
        }
        PlanResult::Blocked { open, conflict } => {
            let constraints = &open.situation.constraints;
            let one = |one: &Blocking| reason(&constraints[one.constraint], one.is_enough);
            State::Blocked(conflict.constraints.iter().map(one).collect())
        }
        PlanResult::NoTarget(constraint) => State::Blocked(vec![reason(constraint, None)]),
        PlanResult::TooMany => State::Failed(
            "too many releases and versions to search: choose a target with --to-release; if it is set, choose a nearer one"
                .to_owned(),
        ),
        PlanResult::Unknown(notes) => {
            let error = notes.iter().find(|note| note.severity == Severity::Error);
            State::Failed(error.map_or_else(|| "no reason was recorded: please report this".to_owned(), |note| note.message.clone()))
        }
        PlanResult::Ahead => State::Ahead,
        PlanResult::Held(why) => State::Held(why.clone()),
        PlanResult::Leaves => State::Leaving,
    }
}

/// The reason that there is no plan, in a few words.
pub(in crate::cli) fn why_not(answer: &PlanResult, input: &Input) -> String {
    match state(answer, input) {
        State::Blocked(reasons) => {
            let reasons: Vec<_> = reasons.into_iter().map(|reason| reason.text).collect();
            format!("no plan: {}", reasons.join("; "))
        }
        State::Failed(why) | State::Held(why) => why,
        State::Plan(_) | State::Done | State::Ahead | State::Leaving => String::new(),
    }
}

fn from(answer: &PlanResult) -> Option<(String, String)> {
    let (PlanResult::Plan { open, .. } | PlanResult::Blocked { open, .. }) = answer else { return None };
    let IndexedSituation { situation, .. } = &**open;
    let release = &situation.releases[situation.start];
    Some((release.name.clone(), release.kubernetes.to_string()))
}

/// Reports clusters without a plan, and which of the first `count` steps would be refused.
pub(super) fn note_faults(groups: &[Shown], count: usize, notes: &mut Notes) {
    for group in groups {
        let clusters = counted(group.clusters.len(), "cluster");
        match &group.state {
            State::Blocked(_) => {
                let who = match group.clusters.as_slice() {
                    [one] => one.to_string(),
                    several => format!("{clusters}, such as {}", several[0]),
                };
                notes
                    .error("no-plan", None, format!("there is no plan for {who}"))
                    .hint("the output says which constraints rule it out, and who can lift them");
            }
            State::Failed(why) => {
                notes.error("no-plan", None, format!("{clusters} could not be planned: {why}"));
            }
            State::Plan(steps) => {
                for (at, step) in steps.iter().enumerate().take(count) {
                    for one in step.rollouts.iter().filter(|one| one.refused.is_some()) {
                        let clusters = counted(one.clusters.len(), "cluster");
                        let why = one.refused.as_deref().unwrap_or_default();
                        let message = format!("step {} is refused for {clusters}: {why}", at + 1);
                        let note = notes.error("step-refused", None, message);
                        match &one.remedy {
                            Some(Remedy::Correct) => {
                                note.hint("correct the definition first: `stackloom check` shows what is wrong and where");
                            }
                            Some(Remedy::Together(count)) => {
                                note.hint(format!(
                                    "no single step corrects the definition: make the edits of steps 1 to {count} by hand in one commit, and run this command again"
                                ));
                            }
                            Some(Remedy::Migrate(release)) => {
                                note.hint(format!(
                                    "{release} renames variables, or changes their types: set it in the definition, and run `stackloom migrate`"
                                ));
                            }
                            Some(Remedy::CatchUp) | None => {}
                        }
                    }
                }
            }
            State::Done | State::Ahead | State::Held(_) | State::Leaving => {}
        }
    }
}
