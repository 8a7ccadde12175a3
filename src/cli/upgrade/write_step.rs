//! Writes a step: the definitions, then the tree.

use std::collections::BTreeSet;

use super::next_step::{FoundStep, Mode, NAMED_AT_MOST, message};
use crate::{
    cli::{Printer, printer::counted, progress::Progress},
    generate::{self, Failure, Generation},
    io::{
        disk::{self, CheckSink, DiskSink, Workspace},
        git::{CommitSink, RecordedEdit, Repository, StepRecord},
    },
    model::ClusterId,
    note::{Fault, Notes},
    partial::Scope,
    render,
    tree::{Changes, FileChange, NullSink, PartId, Sink},
    upgrade,
    world::{Input, Snapshot},
};

/// Writes the definitions, then the tree. If that fails, the definitions are restored; after a kill, by the next run.
pub(super) fn write(
    mode: Mode,
    world: &Workspace,
    found: &FoundStep,
    printer: &Printer,
    notes: &mut Notes,
) -> Result<Generation, Failure> {
    let all = |text: fn(&upgrade::Edited) -> &str| -> Result<(), Fault> {
        found.edits.files.iter().try_for_each(|one| disk::replace(&world.root().join(&one.file), text(one)))
    };
    refuse_not_generated(world, found, notes)?;
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
            Mode::WorkTree | Mode::DryRun => Box::new(DiskSink::new(world)),
            Mode::Commit => Box::new(commit()?),
            Mode::Propose => Box::new(commit()?.with_claim()),
        };
        generated_into(sink, found, printer, notes)
    });
    if done.is_err()
        && let Err(fault) = all(|one| &one.before)
    {
        let what = format!("definitions keep the edits of the step, which was not taken: {fault}");
        notes.error("not-restored", None, what).hint("run the command again: it restores them first");
        return done;
    }
    record.map(StepRecord::end).transpose()?;
    done
}

/// Tries what [`write()`] does, and writes nothing: finds what would stop it, such as a foreign file in `generated/`.
pub(super) fn rehearse(
    world: &Workspace,
    found: &FoundStep,
    printer: &Printer,
    notes: &mut Notes,
) -> Result<(), Failure> {
    refuse_not_generated(world, found, notes)?;
    generated_into(Box::new(CheckSink::new(world)), found, printer, notes).map(drop)
}

/// Records the edits, if the fleet is in a repository.
fn recorded(world: &Workspace, found: &FoundStep) -> Result<Option<StepRecord>, Fault> {
    let Some(repository) = Repository::find(world)? else { return Ok(None) };
    let files = &found.edits.files;
    let edit = |one: &upgrade::Edited| RecordedEdit {
        path: one.file.clone(),
        before: one.before.clone(),
        after: one.after.clone(),
    };
    repository.record_step(files.iter().map(edit)).map(Some)
}

/// Generates the tree. Clusters with errors of their own that take no step do not stop the step of others.
fn generated_into(
    mut sink: Box<dyn Sink>,
    found: &FoundStep,
    printer: &Printer,
    notes: &mut Notes,
) -> Result<Generation, Failure> {
    let progress = Progress::new(printer, "Generating");
    let tell = |done, all| progress.at(done, all);
    let mut own = Notes::new();
    let mut done = Err(Failure::Input);
    let mut has_errors = found.outcome.left.has_definitions();
    if !has_errors {
        done = generate::generate(&found.edited, sink.as_mut(), &tell, &mut own);
        has_errors = matches!(done, Err(Failure::Input)) && !is_sound(&found.edited);
    }
    if has_errors {
        own = Notes::new();
        done = required(found, &mut own).and_then(|required| {
            let scope = Scope { keep_going: true, required, ..Scope::default() };
            generate::generate_some(&found.edited, &scope, sink.as_mut(), &tell, &mut own)
        });
        if done.is_ok() {
            notes.append_as_warnings(std::mem::take(&mut own));
        }
    }
    progress.end();
    notes.append(own);
    done
}

/// Whether the definitions have no errors. A run that fails nevertheless fails because of what it finds in `generated/`.
fn is_sound(world: &Snapshot) -> bool {
    generate::check(world, &|_, _| {}, &mut Notes::new()).is_ok()
}

/// The clusters that must be generated: those that take the step, and all that have no errors without it.
fn required(found: &FoundStep, notes: &mut Notes) -> Result<BTreeSet<ClusterId>, Failure> {
    let scope = Scope { keep_going: true, ..Scope::default() };
    let before = Snapshot { input: before(found), notes: found.edited.notes.clone() };
    let mut own = Notes::new();
    let made = generate::generate_some(&before, &scope, &mut NullSink, &|_, _| {}, &mut own);
    if made.is_err() {
        notes.append(own);
    }
    let made = made?.plan.clusters;
    let sound = made.iter().map(|plan| plan.cluster.id());
    Ok(sound.chain(found.edits.files.iter().flat_map(|one| one.clusters.clone())).collect())
}

/// The input before the edits.
fn before(found: &FoundStep) -> Input {
    let mut edits = found.edits.clone();
    for file in &mut edits.files {
        std::mem::swap(&mut file.before, &mut file.after);
    }
    upgrade::with_edits(&found.edited.input, &edits)
}

/// Refuses a step of clusters whose definitions and generated files differ before it: the step would carry that change, too.
/// Clusters with errors have nothing to compare; the step may mend them.
fn refuse_not_generated(world: &Workspace, found: &FoundStep, notes: &mut Notes) -> Result<(), Failure> {
    let files = &found.edits.files;
    let clusters: BTreeSet<&ClusterId> = files.iter().flat_map(|one| &one.clusters).collect();
    if clusters.is_empty() {
        return Ok(());
    }
    let name = |id: &&ClusterId| format!("{}/{}/{}", id.management, id.namespace, id.name);
    let is_few = clusters.len() <= NAMED_AT_MOST;
    let only = if is_few { clusters.iter().map(name).collect() } else { Vec::new() };
    let scope = Scope { only, keep_going: true, ..Scope::default() };
    let before = Snapshot { input: before(found), notes: found.edited.notes.clone() };
    let mut sink = CheckSink::new(world);
    let Ok(made) = generate::generate_some(&before, &scope, &mut sink, &|_, _| {}, &mut Notes::new()) else {
        // Generating the step finds the same error, and reports it.
        return Ok(());
    };
    let made_now: BTreeSet<PartId> = made.changes.files.keys().filter_map(PartId::of_path).collect();
    let differ: Vec<_> = clusters.into_iter().filter(|id| made_now.contains(&part(id))).collect();
    let Some(first) = differ.first() else { return Ok(()) };
    let (who, their) = match differ.len() {
        1 => (first.to_string(), "its definition and generated/"),
        count => {
            (format!("{}, such as {first}", counted(count, "cluster")), "their definitions and generated/")
        }
    };
    notes
        .error("not-generated", None, format!("the step would also change {who}: {their} already differ"))
        .hint(GENERATE_FIRST);
    Err(Failure::Input)
}

const GENERATE_FIRST: &str = "run `stackloom generate --commit` first, as a change of its own, and see what it does with `stackloom diff`";

fn part(id: &ClusterId) -> PartId {
    PartId::Cluster {
        management: id.management.to_string(),
        namespace: id.namespace.to_string(),
        cluster: id.name.to_string(),
    }
}

/// Whether the changes concern only clusters that take the step and exist. Otherwise, others have changes that were not generated.
fn is_own(changes: &Changes, clusters: &BTreeSet<ClusterId>, notes: &mut Notes) -> bool {
    let own: BTreeSet<PartId> = clusters.iter().map(part).collect();
    let mut others = BTreeSet::new();
    for (path, change) in &changes.files {
        // A step never creates its cluster: that one was renamed, moved or never generated.
        let is_created = *change == FileChange::Added && render::is_cluster_file(path.as_str());
        if let Some(part @ PartId::Cluster { .. }) = PartId::of_path(path)
            && (is_created || !own.contains(&part))
        {
            others.insert(part);
        }
    }
    let Some(PartId::Cluster { namespace, cluster, .. }) = others.first() else { return true };
    let who = match others.len() {
        1 => format!("{namespace}/{cluster}, whose definition and generated/ already differ"),
        count => format!(
            "{}, such as {namespace}/{cluster}: their definitions and generated/ already differ",
            counted(count, "cluster")
        ),
    };
    notes.error("not-generated", None, format!("the commit would also change {who}")).hint(GENERATE_FIRST);
    false
}
