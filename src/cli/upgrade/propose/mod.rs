//! `stackloom upgrade next --pr`: proposes the step as a branch and a request to merge it.

mod output;

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::{
    group::{Reason, RolloutShown, Shown, State, StepShown},
    next_step::{self, FoundStep, Mode},
    next_step_output, plan, plan_text, reviews_and_labels,
    selection::Selection,
    write_step,
};
use crate::{
    cli::{
        Done, Exit, Global, Printer,
        printer::{counted, shell_word},
        today::Now,
    },
    generate::{self, Failure, Generation},
    io::{
        disk::Workspace,
        forge::{self, ForgeRepository},
        git::{PushEnd, Remote, Repository},
    },
    note::{Fault, Notes},
    pull_request::{
        self, Action, Commit, Limits, PlanOf, Proposal, ProposalDecision, ProposalOutcome, Proposed,
        ProposedPlan, ProposedStep, RepositoryAddress, Request, RequestFacts, RolloutOf,
    },
    report,
    upgrade::DescribedChange,
    world::Snapshot,
};

/// The maximum number of attempts if someone else changes the branch in the meantime.
const TRIES: usize = 3;

/// The room for the record of reviews and labels in the text of a request, in bytes.
const RECORD: usize = 3_000;

/// The options of a proposal.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Propose {
    /// Propose the step: commit it on its own branch, push the branch, and open a pull request or update the
    /// open one. The work tree stays as it is
    #[arg(long, conflicts_with = "commit")]
    pub(in crate::cli) pr: bool,
    /// The branch that the pull request targets; by default the one that the engine reads
    #[arg(long, value_name = "BRANCH", requires = "pr")]
    base: Option<String>,
    /// The branch to push; by default named after the clusters and the target, or after the rollout
    #[arg(long, value_name = "BRANCH", requires = "pr")]
    branch: Option<String>,
    /// Push the branch, but open no pull request
    #[arg(long, requires = "pr")]
    no_forge: bool,
}

/// The subject of a proposal.
pub(in crate::cli) trait Subject {
    /// Finds the step in a fleet.
    fn find(&self, mode: Mode, world: &Workspace, notes: &mut Notes) -> Result<FoundStep, Failure>;
    /// The branch of the proposal. It is the same for each run with the same options.
    fn branch(&self, found: &FoundStep) -> String;
    /// The command that proposes the step after this one.
    fn command(&self, found: &FoundStep) -> String;
    /// The options of the request, for documents.
    fn asked(&self) -> Json;
}

impl Subject for (&Selection, Now) {
    fn find(&self, mode: Mode, world: &Workspace, notes: &mut Notes) -> Result<FoundStep, Failure> {
        next_step::find(*self, mode, world, notes)
    }

    fn branch(&self, found: &FoundStep) -> String {
        self.0.branch(&found.named)
    }

    fn command(&self, _found: &FoundStep) -> String {
        self.0.command()
    }

    fn asked(&self) -> Json {
        self.0.asked()
    }
}

/// The target of a proposal.
struct Target<'a> {
    args: &'a Propose,
    subject: &'a dyn Subject,
    repository: &'a Repository,
    remote: Remote,
    base: String,
    address: Option<RepositoryAddress>,
    forge: Option<ForgeRepository<'a>>,
    is_dry: bool,
}

/// The result of a run.
struct Ended {
    found: FoundStep,
    generation: Option<Generation>,
    branch: String,
    commit: Option<String>,
    wish: Proposal,
    decision: ProposalDecision,
    request: Option<Request>,
    /// Whether the branch existed when the run began.
    has_branch: bool,
}

pub(in crate::cli) fn run(
    args: &Propose,
    subject: &dyn Subject,
    is_dry: bool,
    global: &Global,
    printer: &Printer,
) -> Done {
    let world = crate::cli::fleet(global, printer)?;
    let repository = Repository::discover(&world)?;
    let mut notes = Notes::new();
    let target = match target(args, subject, is_dry, &world, &repository, printer, &mut notes) {
        Ok(target) => target,
        Err(failure) => return next_step_output::failed(failure, &notes, printer),
    };
    for _ in 0..TRIES {
        let mut notes = Notes::new();
        match target.once(printer, &mut notes) {
            Ok(Some(ended)) => return Ok(target.tell(&ended, &notes, printer)),
            Ok(None) => printer.talk("the branch changed in the meantime; trying again"),
            Err(failure) => return next_step_output::failed(failure, &notes, printer),
        }
    }
    Err(Fault::new(format!("the branch changed {TRIES} times while it was being pushed"))
        .hint("another run is probably active: wait for it, then run this command again"))
}

/// Determines the target of the proposal.
fn target<'a>(
    args: &'a Propose,
    subject: &'a dyn Subject,
    is_dry: bool,
    world: &Workspace,
    repository: &'a Repository,
    printer: &'a Printer,
    notes: &mut Notes,
) -> Result<Target<'a>, Failure> {
    let snapshot = Snapshot::read(world)?;
    let mut own = snapshot.notes.clone();
    let fleet = generate::fleet(&snapshot.input, &mut own).inspect_err(|_| notes.append(own))?;
    let read: BTreeSet<&str> = fleet.management_clusters.iter().filter_map(|one| one.branch()).collect();
    let base = match (&args.base, read.into_iter().collect::<Vec<_>>().as_slice()) {
        (Some(base), _) => base.clone(),
        (None, [only]) => (*only).to_owned(),
        (None, _) => {
            return Err(Fault::new("cannot tell which branch the engines read")
                .hint("name the base branch of requests: `--base main`")
                .into());
        }
    };
    let remote = repository.remote()?;
    if let Some(branch) = &args.branch {
        let is_read = fleet.management_clusters.iter().any(|one| one.branch() == Some(branch.as_str()));
        refuse_branch(branch, is_read || *branch == base, repository, &remote)?;
    }
    // Without a forge, the address is only for a link, so a remote that has none is no error.
    let address = match pull_request::address(&remote.url, fleet.forge.as_ref()) {
        Err(_) if args.no_forge => None,
        address => address.map_err(|why| {
            Fault::new(why).hint("set `forge` in stackloom.yaml to where pull requests are opened")
        })?,
    };
    let open = |address: &RepositoryAddress| ForgeRepository::open(address, |words| printer.talk(words));
    let forge = address.as_ref().filter(|_| !args.no_forge).map(open).transpose()?;
    Ok(Target { args, subject, repository, remote, base, address, forge, is_dry })
}

/// Refuses branches that no proposal may have.
fn refuse_branch(branch: &str, is_base: bool, repository: &Repository, remote: &Remote) -> Result<(), Fault> {
    let wrong = if is_base {
        "is the branch that proposals are merged into"
    } else if repository.default_branch(remote)?.is_some_and(|default| default == branch) {
        "is the default branch of the remote"
    } else if branch.starts_with("refs/") {
        "is the full name of a ref, not of a branch"
    } else if !Repository::is_branch_name(branch) {
        "is not a valid branch name"
    } else {
        return Ok(());
    };
    Err(Fault::new(format!("`--branch {branch}` {wrong}"))
        .hint("choose a branch that only this proposal uses, or omit the option"))
}

impl Target<'_> {
    /// Makes one attempt; None if someone else has changed the branch in the meantime.
    fn once(&self, printer: &Printer, notes: &mut Notes) -> Result<Option<Ended>, Failure> {
        let Self { repository, remote, .. } = self;
        let base = repository.fetch_base(remote, &self.base)?;
        let tree = repository.work_tree_of(&base)?;
        let world = tree.workspace()?;
        let mut found = self.subject.find(Mode::Propose, &world, notes)?;
        let branch = self.args.branch.clone().unwrap_or_else(|| self.subject.branch(&found));
        let requests = self.forge.as_ref().map(|forge| forge.requests(&self.base, &branch)).transpose()?;
        let generation = if found.edits.files.is_empty() {
            None
        } else {
            Some(write_step::write(Mode::Propose, &world, &found, printer, notes)?)
        };
        let commit = generation.as_ref().and_then(|made| made.changes.commit.clone());
        let wish = match &commit {
            Some(commit) => {
                self.step(&base, commit, &found, requests.as_deref().unwrap_or_default(), notes)?
            }
            None => found.idle.clone().unwrap_or_else(|| nothing(&found)),
        };
        let seen = self.facts(base, &branch, requests)?;
        self.refuse_foreign(&branch, &seen)?;
        let mut decision = pull_request::decide(&seen, &wish);
        let mut request = seen.open().cloned();
        // A branch that was merged has no commits that the base lacks.
        let has_branch = seen.branch.as_ref().is_some_and(|branch| !branch.commits.is_empty());
        if !self.is_dry {
            for action in &mut decision.actions {
                let opened = request.as_ref().map(|one| one.number);
                match self.perform(action, &branch, opened, notes)? {
                    Performed::Moved => return Ok(None),
                    Performed::Opened(opened) => request = Some(opened),
                    Performed::Asked { refused } => action.leave_out(&refused),
                    Performed::Done => {}
                }
            }
        }
        if let (ProposalOutcome::Stopped(authors), Some(_), None) = (&decision.outcome, &self.forge, &request)
        {
            output::note_unseen(&branch, authors, notes);
            found.outcome.exit = Exit::Input;
        }
        Ok(Some(Ended { found, generation, branch, commit, wish, decision, request, has_branch }))
    }

    /// The command that proposes the step after this one.
    fn command(&self, found: &FoundStep) -> String {
        let mut command = self.subject.command(found);
        for (option, value) in [("--base", &self.args.base), ("--branch", &self.args.branch)] {
            command.extend(value.iter().map(|value| format!(" {option} {}", shell_word(value))));
        }
        command
    }

    /// Refuses to replace or delete a branch that somebody else made. Only `--branch` can name one.
    fn refuse_foreign(&self, branch: &str, seen: &RequestFacts) -> Result<(), Fault> {
        let (Some(_), Some(there)) = (&self.args.branch, &seen.branch) else { return Ok(()) };
        let mut requests = seen.requests.iter().flatten();
        if requests.any(Request::is_own) || there.commits.iter().any(Commit::is_own) {
            return Ok(());
        }
        let remote = &self.remote.name;
        Err(Fault::new(format!("`{branch}` exists in `{remote}`, and stackloom did not make it"))
            .hint("name another branch with `--branch`, or delete this one if it is left from a step that was merged"))
    }

    fn facts(&self, base: String, branch: &str, all: Option<Vec<Request>>) -> Result<RequestFacts, Fault> {
        let on_remote = self.repository.fetch_branch(&self.remote, &base, branch)?;
        let draft = self.kind().draft();
        let mut seen = RequestFacts { base, branch: on_remote, requests: all, comments: Vec::new(), draft };
        if let (Some(forge), Some(one)) = (&self.forge, seen.discussed()) {
            seen.comments = forge.comments(one.number)?;
        }
        Ok(seen)
    }

    /// Describes the step: its commit and the text of the request.
    fn step(
        &self,
        base: &str,
        commit: &str,
        found: &FoundStep,
        earlier: &[Request],
        notes: &mut Notes,
    ) -> Result<Proposal, Failure> {
        let before = self.repository.revision(base)?;
        let after = self.repository.revision(commit)?;
        let definitions = report::definitions(&after, after.file("stackloom.yaml")?)?;
        let since = self.repository.since(base, Some(commit))?;
        // Clusters without a step have errors in `notes`, and do not keep the others from theirs.
        let mut of_report = Notes::new();
        let made = report::committed(&before, &after, &definitions, Some(&since), &[], &mut of_report);
        notes.append(of_report);
        let made = made?;
        let compared = format!("{}/{}", self.remote.name, self.base);
        let subject = next_step::message(found).lines().next().unwrap_or_default().to_owned();
        let limit = self.address.as_ref().map_or(report::LIMIT, |one| forge::limits(one.kind).body);
        let limits = Limits { kind: self.kind(), body: limit.saturating_sub(RECORD) };
        let plans = plans(found);
        let rollout = found.of.as_ref().map(|of| RolloutOf {
            name: &of.name,
            wave: of.wave.as_deref(),
            reason: &of.reason,
        });
        let text = pull_request::text(
            &title(&subject, found),
            &plans,
            earlier,
            &self.command(found),
            rollout,
            limits,
            |room| report::markdown_within(&made, &compared, room),
        );
        let commit = self.repository.commit_of(commit)?;
        let forge = self.forge.as_ref();
        let asks = forge
            .map(|forge| reviews_and_labels::of(forge, &made, found.of.is_some(), notes))
            .unwrap_or_default();
        let (title, body, step) = (text.title, text.body, text.step);
        Ok(Proposal::Step(Box::new(Proposed { commit, title, body, step, asks })))
    }

    fn perform(
        &self,
        action: &Action,
        branch: &str,
        opened: Option<u64>,
        notes: &mut Notes,
    ) -> Result<Performed, Fault> {
        let forge = || self.forge.as_ref().ok_or_else(|| Fault::new("there is no forge to ask"));
        match action {
            Action::Push { old, new } => {
                let end =
                    self.repository.push_branch(&self.remote, branch, old.as_deref(), new.as_deref())?;
                return Ok(if end == PushEnd::Moved { Performed::Moved } else { Performed::Done });
            }
            Action::Create { title, body } => {
                let opened = forge()?.create(&self.base, branch, title, body)?;
                return Ok(opened.map_or(Performed::Moved, Performed::Opened));
            }
            Action::Update { number, title, body } => forge()?.update(*number, title, body)?,
            Action::Ask { number, new, old, title, body } => {
                if let Some(number) = number.or(opened) {
                    let asks = (new, old.as_slice());
                    let refused = reviews_and_labels::ask(forge()?, number, asks, (title, body), notes)?;
                    return Ok(Performed::Asked { refused });
                }
            }
            Action::Comment { number, text } => forge()?.comment(*number, text)?,
            Action::Close { number } => forge()?.close(*number)?,
        }
        Ok(Performed::Done)
    }
}

/// The result of an action.
enum Performed {
    Done,
    Opened(Request),
    /// The forge does not ask these people and teams.
    Asked {
        refused: BTreeSet<String>,
    },
    /// Someone else has changed the branch in the meantime.
    Moved,
}

/// The reason that there is no step. If a cluster is not settled, an earlier proposal must wait. If its definition may have
/// errors, that proposal stays as it is.
fn nothing(found: &FoundStep) -> Proposal {
    let plan::Planning { groups, left, .. } = &found.outcome;
    let why = match left.definitions().count() {
        broken if groups.is_empty() && broken > 0 => {
            format!("{} could not be read", counted(broken, "definition"))
        }
        _ => plan_text::summary(&found.outcome),
    };
    let is_settled = |group: &Shown| matches!(group.state, State::Done | State::Ahead | State::Leaving);
    let all_settled = groups.iter().all(is_settled);
    if groups.is_empty() || all_settled && left.has_definitions() {
        Proposal::Unsure(why)
    } else if all_settled {
        Proposal::Nothing(why)
    } else {
        let reasons = groups.iter().filter_map(|group| match (&group.state, plan(group, found)?.plan) {
            (State::Held(why), _) => Some(vec![why.clone()]),
            (_, ProposedPlan::LeftOut(reasons)) => Some(reasons),
            (_, ProposedPlan::Steps(_)) => None,
        });
        let reasons: BTreeSet<String> = reasons.flatten().collect();
        Proposal::Later(format!("{why}; {}", reasons.into_iter().collect::<Vec<_>>().join("; ")))
    }
}

/// The plans of all groups, and the clusters that the request leaves out.
fn plans(found: &FoundStep) -> Vec<PlanOf> {
    let mut plans = Vec::new();
    for group in &found.outcome.groups {
        let Some(mut whole) = plan(group, found) else { continue };
        let mut left_out = Vec::new();
        if matches!(whole.plan, ProposedPlan::Steps(_)) {
            left_out.extend(refused(group));
            let suspended = group.clusters.iter().filter(|one| found.suspended.contains(one));
            left_out.push((suspended.map(ToString::to_string).collect(), "suspended".to_owned()));
        }
        whole.clusters.retain(|one| left_out.iter().all(|(clusters, _)| !clusters.contains(one)));
        let from = whole.from.clone();
        plans.push(whole);
        let left_out = left_out.into_iter().filter(|(clusters, _)| !clusters.is_empty());
        plans.extend(left_out.map(|(clusters, why)| PlanOf {
            clusters,
            from: from.clone(),
            plan: ProposedPlan::LeftOut(vec![why]),
        }));
    }
    let of_wave = found.left_out.iter();
    plans.extend(of_wave.map(|(why, clusters)| PlanOf {
        clusters: clusters.iter().map(ToString::to_string).collect(),
        from: None,
        plan: ProposedPlan::LeftOut(vec![why.clone()]),
    }));
    let left = found.outcome.left.definitions();
    plans.extend(left.map(|(file, why)| PlanOf {
        clusters: vec![format!("`{file}`")],
        from: None,
        plan: ProposedPlan::LeftOut(vec![why.to_owned()]),
    }));
    plans
}

/// The plan of a group; None if there is nothing to do.
fn plan(group: &Shown, found: &FoundStep) -> Option<PlanOf> {
    let clusters = group.clusters.iter().map(ToString::to_string).collect();
    let from = group.from.as_ref().map(|(name, version)| format!("{name} (Kubernetes {version})"));
    let plan = match &group.state {
        State::Plan(steps) => {
            let is_taken = |one| found.edits.files.iter().any(|file| file.clusters.contains(one));
            let active = group.clusters.len() - group.suspended;
            match group.clusters.iter().any(is_taken) {
                true => ProposedPlan::Steps(
                    steps.iter().enumerate().map(|(at, step)| step_of(step, active, at == 0)).collect(),
                ),
                false if group.suspended > 0 => ProposedPlan::LeftOut(vec!["suspended".to_owned()]),
                false => ProposedPlan::LeftOut(refused(group).into_iter().map(|(_, why)| why).collect()),
            }
        }
        State::Blocked(reasons) => ProposedPlan::LeftOut(reasons.iter().map(blocking).collect()),
        State::Failed(why) => ProposedPlan::LeftOut(vec![why.clone()]),
        State::Held(why) => ProposedPlan::LeftOut(vec![format!("held: {why}")]),
        State::Done | State::Ahead | State::Leaving => return None,
    };
    Some(PlanOf { clusters, from, plan })
}

/// A step in words. Of the proposed one, refused rollouts are named with the clusters that the request leaves out.
fn step_of(step: &StepShown, clusters: usize, is_proposed: bool) -> ProposedStep {
    let rollout = |one: &RolloutShown| plan_text::rollout(one, clusters, false);
    ProposedStep {
        title: plan_text::title(&step.description.change),
        reason: step.reason.clone(),
        addons: plan_text::addons(&step.description),
        rollouts: step
            .rollouts
            .iter()
            .filter(|one| !is_proposed || one.refused.is_none())
            .map(rollout)
            .collect(),
        until: plan_text::waits(step),
        upgrades_kubernetes: matches!(
            &step.description.change,
            DescribedChange::Release { kubernetes_before, kubernetes_after, .. } if kubernetes_before != kubernetes_after
        ),
    }
}

/// The clusters of a group whose step would be refused, with the reasons.
fn refused(group: &Shown) -> Vec<(Vec<String>, String)> {
    let State::Plan(steps) = &group.state else { return Vec::new() };
    let first = steps.iter().take(1).flat_map(|step| &step.rollouts);
    let refused = first.filter_map(|one| Some((one, one.refused.as_ref()?)));
    refused
        .map(|(one, why)| {
            let clusters = one.clusters.iter().map(ToString::to_string).collect();
            (clusters, format!("the step would be refused: {why}"))
        })
        .collect()
}

fn blocking(reason: &Reason) -> String {
    let place = reason.file.as_ref().map(|(file, line, _)| format!(" (`{file}:{line}`)")).unwrap_or_default();
    format!("{}{place}; to lift it: {}", reason.text, reason.lift)
}

/// The subject as a title; a title that begins with a rollout's name keeps its case.
fn title(subject: &str, found: &FoundStep) -> String {
    if found.of.is_some() { subject.to_owned() } else { pull_request::capital(subject) }
}
