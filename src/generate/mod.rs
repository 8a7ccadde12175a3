//! The flow.
//!
//! ```text
//! files ─World→ Input ─parse→ Definitions ─lower→ Model ─resolve→ Resolution ─freeze→ Releases ─plan→ Plan
//!       ─draw→ objects ─check→ parts ─Sink→ tree
//! ```
//!
//! Each stage collects all of its errors; the flow stops between stages if there are any. Nothing is visible before the sink
//! commits, so an error at any point leaves the tree unchanged.
//!
//! [`stages`] contains the stages up to the plan and their results; [`draw_parts`](mod@draw_parts) contains the others.
//! [`partial_runs`] generates a part of the tree. [`releases`] contains the operations on releases.

mod draw_parts;
mod partial_runs;
mod releases;
mod stages;

use rayon::prelude::*;

use crate::{
    check, commit_message,
    note::Notes,
    partial::SkippedDefinition,
    plan::Plan,
    remove::{self, Defined},
    render::PartSubject,
    tree::{Changes, NullSink, Sink},
    world::{Input, World},
};

pub use draw_parts::{Baseline, Progress};
pub use partial_runs::{check_near, generate_changed, generate_some};
pub use releases::{cut, release_list, take};
pub use stages::{
    Failure, Planned, Understood, fleet, prepare, prepare_sound, program_version, understand,
    understand_sound,
};

use draw_parts::{draw_for_messages, draw_parts};

/// The result of a run.
#[derive(Debug)]
pub struct Generation {
    /// The plan that was carried out.
    pub plan: Plan,
    /// The changes to the tree.
    pub changes: Changes,
    /// Definitions that were skipped because of errors.
    pub left: Vec<SkippedDefinition>,
}

/// Generates the tree of a world into a sink.
pub fn generate(
    world: &dyn World,
    sink: &mut dyn Sink,
    progress: Progress<'_>,
    notes: &mut Notes,
) -> Result<Generation, Failure> {
    let planned = stages::prepare_all(world, notes)?;
    sink.begin(notes)?;
    draw_parts(&planned, sink, progress, notes)?;
    notes.halt(())?;
    let changes = sink.commit(notes, &commit_message::generated)?;
    place(notes, &planned.fleet.input);
    notes.halt(())?;
    Ok(Generation { plan: planned.plan, changes, left: Vec::new() })
}

/// Does everything except writing, and returns the plan. The result isn't compared with an existing tree.
pub fn check(world: &dyn World, progress: Progress<'_>, notes: &mut Notes) -> Result<Plan, Failure> {
    check_against(world, &mut NullSink, progress, notes)
}

/// Like [`check`](fn@check), but passes the result to a sink that compares it without writing.
pub fn check_against(
    world: &dyn World,
    sink: &mut dyn Sink,
    progress: Progress<'_>,
    notes: &mut Notes,
) -> Result<Plan, Failure> {
    let planned = stages::prepare_all(world, notes)?;
    sink.begin(notes)?;
    draw_parts(&planned, sink, progress, notes)?;
    check_spare(&planned, notes);
    notes.halt(())?;
    sink.commit(notes, &commit_message::generated)?;
    place(notes, &planned.fleet.input);
    Ok(notes.halt(planned.plan)?)
}

/// Makes messages about generated files refer to the definition that causes them.
fn place(notes: &mut Notes, input: &Input) {
    if notes.iter().any(remove::is_unplaced) {
        remove::place_in_definitions(notes, &Defined::read(input), None);
    }
}

/// Checks the head releases that no cluster uses. They may be used or cut later.
fn check_spare(planned: &Planned, notes: &mut Notes) {
    let plan = &planned.plan;
    let (spare, used) = (plan.spare.iter().map(AsRef::as_ref), plan.heads.iter().map(AsRef::as_ref));
    let classes = check::Classes::unused(spare, used, &plan.allowed, &planned.fleet.model.fleet);
    let input = &planned.fleet.input;
    let one = |head: &std::sync::Arc<_>| draw_for_messages(PartSubject::Release(head), &classes, input);
    let found: Vec<Notes> = plan.spare.par_iter().map(one).collect();
    for found in found {
        notes.append(found);
    }
}
