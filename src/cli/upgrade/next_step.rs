//! Finds and writes the next step.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use super::{
    group::{self, State},
    plan::Outcome,
    plan_text, pools_behind,
    preconditions::Preconditions,
    selection::Selection,
};
use crate::{
    cli::{Exit, Printer, printer::counted, progress::Progress, today::Now},
    generate::{self, Failure, Generation, Understood},
    io::{
        disk::{self, DiskSink, Workspace},
        git::{CommitSink, RecordedEdit, Repository, StepRecord},
    },
    model::{Cluster, ClusterId},
    note::{Diagnostic, Fault, Notes},
    partial::{LeftOut, Scope},
    pull_request::Wish,
    tree::{Changes, Nowhere, PartId, Sink},
    upgrade::{self, Answer, DescribedChange, Edited, Edits, Fleet, Planned, Solved, Taken, after},
    world::{AlreadyRead, Held},
};

/// What to do with a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
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
pub(super) struct Found {
    pub(super) outcome: Outcome,
    pub(super) edits: Edits,
    /// The fleet after the edits.
    pub(super) edited: Held,
    /// Suspended clusters, which take no step.
    pub(super) suspended: BTreeSet<ClusterId>,
    /// The clusters named in the arguments.
    pub(super) named: BTreeSet<ClusterId>,
    /// The rollout and wave of the step.
    pub(super) of: Option<String>,
    /// The reason for the rollout.
    pub(super) why: Option<String>,
    /// The reason that there is no step; None if the plans give it.
    pub(super) idle: Option<Wish>,
    /// The progress of the rollout, for documents.
    pub(super) progress: Option<Json>,
    /// The clusters of the rollout's wave that take no step now, by reason.
    pub(super) left_out: BTreeMap<String, Vec<ClusterId>>,
}

/// Finds the first step of each plan, as edits.
pub(super) fn find(
    (selection, now): (&Selection, Now),
    mode: Mode,
    world: &Workspace,
    notes: &mut Notes,
) -> Result<Found, Failure> {
    let held = Held::read(world)?;
    let (understood, left) = generate::understand_sound(&held, notes)?;
    left.warn(notes);
    let errors = notes.errors();
    let solved = selection.solve(&understood, &left, Some(now), notes)?;
    let named = selection.named(&understood);
    let also = Vec::new();
    let needs_commits = mode == Mode::Commit;
    take(
        Solution { held, understood: &understood, left, solved, named, also, errors, needs_commits },
        mode,
        world,
        notes,
    )
}

/// The solved plans, and their context.
pub(super) struct Solution<'a> {
    /// The input.
    pub(super) held: Held,
    /// The understood input.
    pub(super) understood: &'a Understood,
    /// Definitions with errors, which were left out.
    pub(super) left: LeftOut,
    /// The solutions for the clusters.
    pub(super) solved: Vec<Solved<'a>>,
    /// The clusters named in the arguments.
    pub(super) named: BTreeSet<ClusterId>,
    /// Additional edits that belong to the step.
    pub(super) also: Vec<Edited>,
    /// The number of errors found before.
    pub(super) errors: usize,
    /// Whether everything must be committed before the step.
    pub(super) needs_commits: bool,
}

/// Converts the first steps of plans to edits.
pub(super) fn take(
    Solution { held, understood, left, solved, named, also, errors, needs_commits }: Solution<'_>,
    mode: Mode,
    world: &Workspace,
    notes: &mut Notes,
) -> Result<Found, Failure> {
    let behind = pools_behind::find(understood, Repository::find(world)?.as_ref())?;
    let fleet = Fleet::new(understood, false).with_pools_behind(behind);
    let mut planned = Vec::new();
    for one in &solved {
        if let Answer::Plan { open, plan, .. } = &one.answer {
            // A request shows the rollouts of the whole plan.
            let shown = if mode == Mode::Propose { plan.steps.len() } else { 1 };
            let steps = plan.steps.get(..shown).unwrap_or_default();
            let clusters = one.clusters.iter().copied();
            planned.extend(clusters.map(|cluster| Planned { cluster, open, steps }));
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
            taken.push(Taken { before: one.cluster, after: after(one.cluster, one, step, &fleet) });
        }
    }
    let (mut edits, failed) = edited((mode, needs_commits), world, (understood, &held), taken, notes)?;
    if !failed.is_empty() {
        for one in planned.iter().filter(|one| failed.contains(&one.cluster.id())) {
            if let Some(first) = rollouts.get_mut(&one.cluster.id()).and_then(|all| all.first_mut()) {
                first.refused = Some(not_editable(one.cluster, notes));
            }
        }
        groups = group::groups(&solved, &rollouts, &understood.input);
    }
    let exit = if notes.errors() > errors { Exit::Input } else { Exit::Done };
    edits.files.extend(also);
    let edited = Held { input: upgrade::with_edits(&held.input, &edits), notes: held.notes.clone() };
    Ok(Found {
        outcome: Outcome { groups, left, exit },
        edits,
        edited,
        suspended,
        named,
        of: None,
        why: None,
        idle: None,
        progress: None,
        left_out: BTreeMap::new(),
    })
}

/// Why a cluster's definition cannot be edited.
pub(super) fn not_editable(cluster: &Cluster, notes: &Notes) -> String {
    let concerns = |note: &&Diagnostic| {
        note.code == "edit"
            && note.place.as_ref().is_some_and(|place| {
                let defaults = place.file.strip_suffix("_defaults.yaml");
                place.file == *cluster.file || defaults.is_some_and(|folder| cluster.file.starts_with(folder))
            })
    };
    let note = notes.iter().find(concerns).or_else(|| notes.iter().find(|note| note.code == "edit"));
    let Some(note) = note else { return "stackloom cannot edit its definition".to_owned() };
    let place = note.place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default();
    format!("stackloom cannot edit its definition: {place}{}", note.message)
}

/// Creates the edits for the steps. Checks that the step may start, and that the edited definitions mean what it asks for.
/// The result includes the clusters that are left out because their files cannot be edited.
fn edited(
    (mode, needs_commits): (Mode, bool),
    world: &Workspace,
    (understood, held): (&Understood, &Held),
    mut taken: Vec<Taken<'_>>,
    notes: &mut Notes,
) -> Result<(Edits, BTreeSet<ClusterId>), Failure> {
    let mut left = BTreeSet::new();
    let edits = loop {
        let failed = match checked(understood, held, &taken, notes)? {
            Ok(edits) => break edits,
            Err(failed) => failed,
        };
        let before = taken.len();
        taken.retain(|one| !failed.contains(&one.before.id()));
        if taken.is_empty() || taken.len() == before {
            return Err(Failure::Input);
        }
        left.extend(failed);
    };
    if matches!(mode, Mode::WorkTree | Mode::Commit)
        && let Some(repository) = Repository::find(world)?
    {
        let start = Preconditions {
            repository: &repository,
            input: &held.input,
            edits: &edits,
            is_commit: needs_commits,
        };
        start.refuse_uncommitted(notes)?;
        start.refuse_unpushed(understood, notes)?;
    }
    Ok((edits, left))
}

/// Creates the edits for the steps, and checks what the edited definitions mean. Fails with the clusters that cannot take
/// their step.
fn checked(
    understood: &Understood,
    held: &Held,
    taken: &[Taken<'_>],
    notes: &mut Notes,
) -> Result<Result<Edits, BTreeSet<ClusterId>>, Failure> {
    let edits = match upgrade::edits(understood, &held.input, taken, notes) {
        Ok(edits) => edits,
        Err(failed) => return Ok(Err(failed)),
    };
    let after = Held { input: upgrade::with_edits(&held.input, &edits), notes: held.notes.clone() };
    let (after, _) = generate::understand_sound(&after, &mut Notes::new())?;
    let before = notes.errors();
    let failed = upgrade::check_edits(understood, taken, &edits, &after, notes);
    Ok(if notes.errors() > before { Err(failed) } else { Ok(edits) })
}

/// Writes the definitions, then the tree. If that fails, the definitions are restored; after a kill, by the next run.
pub(super) fn write(
    mode: Mode,
    world: &Workspace,
    found: &Found,
    printer: &Printer,
    notes: &mut Notes,
) -> Result<Generation, Failure> {
    let all = |text: fn(&upgrade::Edited) -> &str| -> Result<(), Fault> {
        found.edits.files.iter().try_for_each(|one| disk::replace(&world.root().join(&one.file), text(one)))
    };
    let record = if mode == Mode::Propose { None } else { recorded(world, found)? };
    let done = all(|one| &one.after).map_err(Failure::from).and_then(|()| {
        let commit = || {
            let sink = CommitSink::open(world)?;
            let clusters: BTreeSet<ClusterId> =
                found.edits.files.iter().flat_map(|one| one.clusters.clone()).collect();
            let sink = sink.with_subject(&message(found)).with_sources(&found.edited.input);
            Ok::<_, Fault>(sink.with_guard(move |changes, notes| is_own(changes, &clusters, notes)))
        };
        let sink: Box<dyn Sink> = match mode {
            Mode::DryRun | Mode::WorkTree => Box::new(DiskSink::new(world)),
            Mode::Commit => Box::new(commit()?),
            Mode::Propose => Box::new(commit()?.with_claim()),
        };
        generated_into(sink, found, printer, notes)
    });
    if done.is_err() {
        all(|one| &one.before)?;
    }
    record.map(StepRecord::end).transpose()?;
    done
}

/// Records the edits, if the fleet is in a repository.
fn recorded(world: &Workspace, found: &Found) -> Result<Option<StepRecord>, Fault> {
    let Some(repository) = Repository::find(world)? else { return Ok(None) };
    let files = &found.edits.files;
    let edit = |one: &upgrade::Edited| RecordedEdit {
        path: one.file.clone(),
        before: one.before.clone(),
        after: one.after.clone(),
    };
    repository.record_step(files.iter().map(edit)).map(Some)
}

fn generated_into(
    mut sink: Box<dyn Sink>,
    found: &Found,
    printer: &Printer,
    notes: &mut Notes,
) -> Result<Generation, Failure> {
    let progress = Progress::new(printer, "Generating");
    let tell = |done, all| progress.at(done, all);
    let source = AlreadyRead::new(found.edited.input.clone(), found.edited.notes.clone());
    let mut own = Notes::new();
    let done = if found.outcome.left.has_definitions() {
        let scope = Scope { keep_going: true, ..Scope::default() };
        refuse_left_out(&scope, found, notes)?;
        let done = generate::generate_some(&source, &scope, sink.as_mut(), &tell, &mut own);
        if done.is_ok() {
            notes.append_as_warnings(std::mem::take(&mut own));
        }
        done
    } else {
        generate::generate(&source, sink.as_mut(), &tell, &mut own)
    };
    progress.end();
    notes.append(own);
    done
}

/// Refuses a step if a run that skips what has errors would skip one of its clusters: its definition would change, and its
/// part of the tree would not.
fn refuse_left_out(scope: &Scope, found: &Found, notes: &mut Notes) -> Result<(), Failure> {
    let mut own = Notes::new();
    let source = AlreadyRead::new(found.edited.input.clone(), found.edited.notes.clone());
    let made = generate::generate_some(&source, scope, &mut Nowhere, &|_, _| {}, &mut own)?;
    let made: BTreeSet<ClusterId> = made.plan.clusters.iter().map(|plan| plan.cluster.id()).collect();
    let mut clusters = found.edits.files.iter().flat_map(|one| &one.clusters);
    let Some(lost) = clusters.find(|cluster| !made.contains(cluster)) else { return Ok(()) };
    notes.append(own);
    notes
        .error("not-generated", None, format!("{lost} has errors after its step, so generate would skip it"))
        .hint("correct what is wrong with its definition, and run this command again");
    Err(Failure::Input)
}

/// Whether the changes concern only clusters that take the step. Otherwise, others have changes that were not generated.
fn is_own(changes: &Changes, clusters: &BTreeSet<ClusterId>, notes: &mut Notes) -> bool {
    let part = |id: &ClusterId| PartId::Cluster {
        management: id.management.to_string(),
        namespace: id.namespace.to_string(),
        cluster: id.name.to_string(),
    };
    let own: BTreeSet<PartId> = clusters.iter().map(part).collect();
    let mut others = BTreeSet::new();
    for path in changes.files.keys() {
        if let Some(part @ PartId::Cluster { .. }) = PartId::of_path(path)
            && !own.contains(&part)
        {
            others.insert(part);
        }
    }
    let Some(PartId::Cluster { namespace, cluster, .. }) = others.first() else { return true };
    let who = match others.len() {
        1 => format!("{namespace}/{cluster}, whose definition and generated/ differ already"),
        count => format!(
            "{}, such as {namespace}/{cluster}: their definitions and generated/ differ already",
            counted(count, "other cluster")
        ),
    };
    notes
        .error("not-generated", None, format!("the commit would also change {who}"))
        .hint("run `stackloom generate --commit` first, as a change of its own, and see what it does with `stackloom diff`");
    false
}

/// The message of a step's commit: what changes, and why.
pub(super) fn message(found: &Found) -> String {
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
        None => "all clusters are there".to_owned(),
        Some(one) if whats.len() == 1 => (*one).to_owned(),
        _ => format!("upgrade {who}, each by its next step"),
    };
    let subject = found.of.as_ref().map_or_else(|| subject.clone(), |of| format!("{of}: {subject}"));
    if whats.is_empty() && !clusters.is_empty() {
        let takes = if clusters.len() == 1 { "takes" } else { "take" };
        return format!("{subject}\n\n{who} {takes} the release and the addons from the folder again.\n");
    }
    let reasons: BTreeSet<&str> = steps.iter().map(|(_, why)| why.as_str()).collect();
    format!("{subject}\n\n{}\n", reasons.into_iter().collect::<Vec<_>>().join("\n"))
}
