//! Finds the next step.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use super::{
    group::{self, State},
    plan::{self, Planning},
    plan_text, pools_behind,
    preconditions::Preconditions,
    selection::Selection,
};
use crate::{
    cli::{printer::counted, today::Now},
    generate::{self, Failure, Understood},
    io::{disk::Workspace, git::Repository},
    model::{Cluster, ClusterId},
    note::{Diagnostic, Notes, Place, Severity},
    partial::{LeftOut, Scope},
    pull_request::Proposal,
    tree::NullSink,
    upgrade::{
        self, ClusterStep, DescribedChange, Edited, Edits, PlanResult, PlannedCluster, PlanningFleet, Solved,
        after,
    },
    world::{Snapshot, definitions_of},
};

/// What to do with a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Mode {
    /// Show it.
    DryRun,
    /// Write it to the work tree.
    WorkTree,
    /// Commit it to the current branch.
    Commit,
    /// Commit it in a separate work tree.
    Propose,
}

/// The step that was found.
pub(in crate::cli) struct FoundStep {
    pub(in crate::cli) outcome: Planning,
    pub(in crate::cli) edits: Edits,
    /// Whether a step that was only tried may not be taken now, because the one before is not committed or pushed.
    pub(in crate::cli) is_stopped: bool,
    /// The fleet after the edits.
    pub(in crate::cli) edited: Snapshot,
    /// Suspended clusters, which take no step.
    pub(in crate::cli) suspended: BTreeSet<ClusterId>,
    /// The clusters named in the arguments.
    pub(in crate::cli) named: BTreeSet<ClusterId>,
    /// The rollout that the step belongs to.
    pub(in crate::cli) of: Option<OfRollout>,
    /// The reason that there is no step; None if the plans give it.
    pub(in crate::cli) idle: Option<Proposal>,
    /// The progress of the rollout, for documents.
    pub(in crate::cli) progress: Option<Json>,
    /// The clusters of the rollout's wave that take no step now, by reason.
    pub(in crate::cli) left_out: BTreeMap<String, Vec<ClusterId>>,
}

/// The rollout that a step belongs to.
pub(in crate::cli) struct OfRollout {
    pub(in crate::cli) name: String,
    /// The wave; none if the step only ends the rollout.
    pub(in crate::cli) wave: Option<String>,
    pub(in crate::cli) reason: String,
}

impl OfRollout {
    fn words(&self) -> String {
        let Self { name, wave, .. } = self;
        wave.as_ref().map_or_else(|| name.clone(), |wave| format!("{name}, wave {wave}"))
    }
}

/// Finds the first step of each plan, as edits.
pub(super) fn find(
    (selection, now): (&Selection, Now),
    mode: Mode,
    world: &Workspace,
    notes: &mut Notes,
) -> Result<FoundStep, Failure> {
    let snapshot = Snapshot::read(world)?;
    let (understood, left) = generate::understand_sound(&snapshot, notes)?;
    left.refuse_rollouts(notes)?;
    left.warn(notes);
    let errors = notes.errors();
    let solved = selection.solve(&understood, &left, Some(now), notes)?;
    let named = selection.named(&understood);
    let also = Vec::new();
    let needs_commits = mode == Mode::Commit;
    take(
        Solution { snapshot, understood: &understood, left, solved, named, also, errors, needs_commits },
        mode,
        world,
        notes,
    )
}

/// The solved plans, and their context.
pub(in crate::cli) struct Solution<'a> {
    /// The input.
    pub(in crate::cli) snapshot: Snapshot,
    /// The understood input.
    pub(in crate::cli) understood: &'a Understood,
    /// Definitions with errors, which were left out.
    pub(in crate::cli) left: LeftOut,
    /// The solutions for the clusters.
    pub(in crate::cli) solved: Vec<Solved<'a>>,
    /// The clusters named in the arguments.
    pub(in crate::cli) named: BTreeSet<ClusterId>,
    /// Additional edits that belong to the step.
    pub(in crate::cli) also: Vec<Edited>,
    /// The number of errors found before.
    pub(in crate::cli) errors: usize,
    /// Whether everything must be committed before the step.
    pub(in crate::cli) needs_commits: bool,
}

/// Converts the first steps of plans to edits.
pub(in crate::cli) fn take(
    Solution { snapshot, understood, left, solved, named, also, errors, needs_commits }: Solution<'_>,
    mode: Mode,
    world: &Workspace,
    notes: &mut Notes,
) -> Result<FoundStep, Failure> {
    refuse_unreadable(&snapshot, notes)?;
    let behind = pools_behind::find(understood, Repository::find(world)?.as_ref())?;
    let fleet = PlanningFleet::new(understood, false).with_pools_behind(behind);
    let mut planned = Vec::new();
    for one in &solved {
        if let PlanResult::Plan { open, plan, .. } = &one.answer {
            // A request shows the rollouts of the whole plan.
            let shown = if mode == Mode::Propose { plan.steps.len() } else { 1 };
            let steps = plan.steps.get(..shown).unwrap_or_default();
            let clusters = one.clusters.iter().copied();
            planned.extend(clusters.map(|cluster| PlannedCluster { cluster, open, steps }));
        }
    }
    let mut rollouts = fleet.rollouts(&planned);
    let mut groups = group::groups(&solved, &rollouts, &understood.input);
    group::note_faults(&groups, 1, notes);
    let mut suspended = BTreeSet::new();
    let mut taken = Vec::new();
    for one in &planned {
        let cluster = one.cluster.id();
        let Some(step) = one.steps.first() else { continue };
        if one.cluster.suspend.is_some() {
            suspended.insert(cluster);
        } else if rollouts.get(&cluster).and_then(|all| all.first()).is_none_or(|one| one.refused.is_none()) {
            taken.push(ClusterStep { before: one.cluster, after: after(one.cluster, one, step, &fleet) });
        }
    }
    let Step { mut edits, failed, is_stopped } =
        edited((mode, needs_commits), world, (understood, &snapshot), taken, notes)?;
    if !failed.is_empty() {
        for (cluster, why) in failed {
            if let Some(first) = rollouts.get_mut(&cluster).and_then(|all| all.first_mut()) {
                *first = first.clone().refused(why);
            }
        }
        groups = group::groups(&solved, &rollouts, &understood.input);
    }
    let exit = plan::exit(notes.errors() > errors, &groups, &left, !named.is_empty());
    edits.files.extend(also);
    let edited = with_edits(&snapshot, &edits);
    Ok(FoundStep {
        outcome: Planning { groups, left, exit },
        edits,
        is_stopped,
        edited,
        suspended,
        named,
        of: None,
        idle: None,
        progress: None,
        left_out: BTreeMap::new(),
    })
}

/// Why a cluster's definition cannot be edited.
pub(in crate::cli) fn not_editable(cluster: &Cluster, notes: &Notes) -> String {
    let own = |note: &&Diagnostic| note.code == "edit" && concerns(note, cluster);
    let note = notes.iter().find(own).or_else(|| notes.iter().find(|note| note.code == "edit"));
    let Some(note) = note else { return "stackloom cannot edit its definition".to_owned() };
    format!("stackloom cannot edit its definition: {}", with_place(note))
}

/// Refuses a step while a file in `clusters/` cannot be read as text: what it inherits from the defaults of its folder is
/// unknown, and the step may change them.
fn refuse_unreadable(snapshot: &Snapshot, notes: &mut Notes) -> Result<(), Failure> {
    let is_unread = |note: &Diagnostic| {
        note.severity == Severity::Error
            && note.place.as_ref().is_some_and(|place| place.file.starts_with("clusters/"))
    };
    let before = notes.errors();
    notes.append_if(snapshot.notes.clone(), is_unread);
    if notes.errors() > before { Err(Failure::Input) } else { Ok(()) }
}

/// A step as edits.
struct Step {
    edits: Edits,
    /// The clusters that are left out, and why.
    failed: BTreeMap<ClusterId, String>,
    is_stopped: bool,
}

/// Creates the edits for the steps. Checks that the step may start, that the edited definitions mean what it asks for, and that
/// they have no errors. The result includes the clusters that are left out, and why.
fn edited(
    (mode, needs_commits): (Mode, bool),
    world: &Workspace,
    (understood, snapshot): (&Understood, &Snapshot),
    mut taken: Vec<ClusterStep<'_>>,
    notes: &mut Notes,
) -> Result<Step, Failure> {
    let (mut left, mut is_stopped) = (BTreeMap::new(), false);
    let edits = loop {
        let failed = match checked(understood, snapshot, &taken, notes)? {
            Ok(edits) => match faulty(&with_edits(snapshot, &edits), &taken, notes)? {
                faulty if faulty.is_empty() => break edits,
                faulty => faulty,
            },
            Err(failed) => taken
                .iter()
                .filter(|one| failed.contains(&one.before.id()))
                .map(|one| (one.before.id(), not_editable(one.before, notes)))
                .collect(),
        };
        let before = taken.len();
        taken.retain(|one| !failed.contains_key(&one.before.id()));
        if taken.is_empty() || taken.len() == before {
            return Err(Failure::Input);
        }
        left.extend(failed);
    };
    if mode != Mode::Propose
        && let Some(repository) = Repository::find(world)?
    {
        let start = Preconditions {
            repository: &repository,
            input: &snapshot.input,
            edits: &edits,
            is_commit: needs_commits,
        };
        match start.refuse_uncommitted(notes).and_then(|()| start.refuse_unpushed(understood, notes)) {
            Err(Failure::Input) if mode == Mode::DryRun => is_stopped = true,
            other => other?,
        }
    }
    Ok(Step { edits, failed: left, is_stopped })
}

/// The clusters that generate would skip after the edits, and why: their definitions would change, and their part of the tree
/// would not.
fn faulty(
    edited: &Snapshot,
    taken: &[ClusterStep<'_>],
    notes: &mut Notes,
) -> Result<BTreeMap<ClusterId, String>, Failure> {
    if taken.is_empty() {
        return Ok(BTreeMap::new());
    }
    let mut only: Vec<String> = taken.iter().map(|one| one.before.full_name()).collect();
    if only.len() > NAMED_AT_MOST {
        only.clear();
    }
    let scope = Scope { only, keep_going: true, ..Scope::default() };
    let mut own = Notes::new();
    let done = generate::generate_some(edited, &scope, &mut NullSink, &|_, _| {}, &mut own);
    let made: BTreeSet<ClusterId> = match done {
        Ok(generation) => generation.plan.clusters.iter().map(|plan| plan.cluster.id()).collect(),
        Err(failure) => {
            notes.append(own);
            return Err(failure);
        }
    };
    let mut faulty = BTreeMap::new();
    for one in taken.iter().filter(|one| !made.contains(&one.before.id())) {
        let is_own = |note: &Diagnostic| note.severity == Severity::Error && concerns(note, one.before);
        let why = match own.iter().find(|note| is_own(note)) {
            Some(note) => format!("its definition has errors: {}", with_place(note)),
            None => {
                let place = Place::file(&*one.before.file);
                let what = format!("{} has errors, so generate would skip it", one.before.id());
                notes.error("not-generated", place, what).hint("run `stackloom check` to see them");
                "generate would skip it because of errors".to_owned()
            }
        };
        notes.append_if(own.clone(), is_own);
        faulty.insert(one.before.id(), why);
    }
    Ok(faulty)
}

/// Up to this number, clusters are checked alone; more of them with all others.
pub(super) const NAMED_AT_MOST: usize = 100;

/// Whether a message is about a cluster: its definition, the defaults above it, or its own objects.
fn concerns(note: &Diagnostic, cluster: &Cluster) -> bool {
    let is_in = |file: &str| {
        let defaults = file.strip_suffix("_defaults.yaml");
        defaults.is_some_and(|folder| cluster.file.starts_with(folder))
            || definitions_of(file).iter().any(|definition| *definition == *cluster.file)
    };
    note.clusters.contains(&cluster.full_name())
        || note.place.as_ref().is_some_and(|place| is_in(&place.file))
}

/// A message after its place.
fn with_place(note: &Diagnostic) -> String {
    let place = note.place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default();
    format!("{place}{}", note.message)
}

fn with_edits(snapshot: &Snapshot, edits: &Edits) -> Snapshot {
    Snapshot { input: upgrade::with_edits(&snapshot.input, edits), notes: snapshot.notes.clone() }
}

/// Creates the edits for the steps, and checks what the edited definitions mean. Fails with the clusters that cannot take
/// their step.
fn checked(
    understood: &Understood,
    snapshot: &Snapshot,
    taken: &[ClusterStep<'_>],
    notes: &mut Notes,
) -> Result<Result<Edits, BTreeSet<ClusterId>>, Failure> {
    let edits = match upgrade::edits(understood, &snapshot.input, taken, notes) {
        Ok(edits) => edits,
        Err(failed) => return Ok(Err(failed)),
    };
    let (after, _) = generate::understand_sound(&with_edits(snapshot, &edits), &mut Notes::new())?;
    let before = notes.errors();
    let failed = upgrade::check_edits(understood, taken, &edits, &after, notes);
    Ok(if notes.errors() > before { Err(failed) } else { Ok(edits) })
}

/// The message of a step's commit: what changes, and why.
pub(super) fn message(found: &FoundStep) -> String {
    let groups = &found.outcome.groups;
    let clusters: BTreeSet<&ClusterId> = found.edits.files.iter().flat_map(|one| &one.clusters).collect();
    let who = match clusters.first() {
        Some(one) if clusters.len() == 1 => one.to_string(),
        _ => counted(clusters.len(), "cluster"),
    };
    let mut steps = Vec::new();
    for group in groups {
        let State::Plan(all) = &group.state else { continue };
        let Some(step) = all.first().filter(|_| group.clusters.iter().any(|one| clusters.contains(one)))
        else {
            continue;
        };
        let what = match &step.description.change {
            DescribedChange::Release { after, .. } => format!("upgrade {who} to {after}"),
            DescribedChange::Addon { addon, before, after } if before.is_same(after) => {
                format!("take {addon} {after} from its own release again in {who}")
            }
            DescribedChange::Addon { addon, after, .. } => format!("upgrade {addon} to {after} in {who}"),
        };
        steps.push((what, format!("{}: {}", plan_text::title(&step.description.change), step.reason)));
    }
    let whats: BTreeSet<&str> = steps.iter().map(|(what, _)| what.as_str()).collect();
    let subject = match whats.first() {
        None => "all clusters have reached the target".to_owned(),
        Some(one) if whats.len() == 1 => (*one).to_owned(),
        _ => format!("upgrade {who}, each by its next step"),
    };
    let subject =
        found.of.as_ref().map_or_else(|| subject.clone(), |of| format!("{}: {subject}", of.words()));
    if whats.is_empty() && !clusters.is_empty() {
        let takes = if clusters.len() == 1 { "takes" } else { "take" };
        return format!("{subject}\n\n{who} {takes} the release and the addons from the folder again.\n");
    }
    let reasons: BTreeSet<&str> = steps.iter().map(|(_, why)| why.as_str()).collect();
    format!("{subject}\n\n{}\n", reasons.into_iter().collect::<Vec<_>>().join("\n"))
}
