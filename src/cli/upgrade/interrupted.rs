//! Finishes or takes back the step of a run that was killed.

use crate::{
    cli::printer::Printer,
    generate,
    io::{
        disk::Workspace,
        git::{CommitSink, InterruptedStep, Repository},
    },
    note::{Fault, Notes},
    tree::Changes,
    world::Snapshot,
};

/// Finishes a step that was committed, and takes back the edits of one that was not.
pub(in crate::cli) fn end_step(world: &Workspace, printer: &Printer) -> Result<(), Fault> {
    let Some(repository) = Repository::find(world)? else { return Ok(()) };
    match repository.end_interrupted_step()? {
        None => {}
        Some(InterruptedStep::TakenBack { restored, left }) => {
            let mut message =
                "an earlier run was interrupted before its commit; its edits were undone".to_owned();
            if !restored.is_empty() {
                message = format!("{message}: {}", restored.join(", "));
            }
            printer.talk(&message);
            if !left.is_empty() {
                printer.talk(&format!("changed since, and left as they are: {}", left.join(", ")));
            }
        }
        Some(InterruptedStep::Committed) => printer.talk(if follow(world)? {
            "an earlier run was interrupted after its commit; the work tree and the index now match that commit"
        } else {
            "an earlier run was interrupted after its commit; `stackloom generate --commit` updates the work tree and the index"
        }),
    }
    Ok(())
}

/// Updates the work tree and the index to match HEAD. Returns false if definitions with errors or other changes keep HEAD from
/// being what the definitions mean.
fn follow(world: &Workspace) -> Result<bool, Fault> {
    let snapshot = Snapshot::read(world)?;
    let sink = CommitSink::open(world)?.with_sources(&snapshot.input);
    let is_head = |changes: &Changes| changes.is_empty() && changes.sources.is_empty();
    let mut sink = sink.with_guard(move |changes, _| is_head(changes));
    match generate::generate(&snapshot, &mut sink, &|_, _| {}, &mut Notes::new()) {
        Ok(made) => Ok(is_head(&made.changes)),
        Err(generate::Failure::Input) => Ok(false),
        Err(generate::Failure::World(fault)) => Err(fault),
    }
}
