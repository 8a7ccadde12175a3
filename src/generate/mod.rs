//! The flow.
//!
//! ```text
//! files ─World→ Input ─parse→ Definitions ─lower→ Model ─resolve→ Resolution ─freeze→ Releases ─plan→ Plan
//!       ─draw→ objects ─check→ parts ─Sink→ tree
//! ```
//!
//! Within a stage every fault is collected; between stages the flow stops if there was one. Nothing is visible before
//! the sink commits, so a fault anywhere leaves the tree as it was.
//!
//! [`stages`] are those up to the plan, and their results; [`weave`](mod@weave) is the rest. [`some`] makes a part of the tree,
//! and [`releases`] has what is cut and taken instead of generated.

mod releases;
mod some;
mod stages;
mod weave;

use std::collections::BTreeSet;

use rayon::prelude::*;

use crate::{
    check,
    model::{Cluster, Label},
    note::Notes,
    partial::Left,
    plan::Plan,
    publish,
    remove::{self, Defined},
    render::{self, Subject},
    tree::{Changes, Nowhere, Sink},
    world::{Input, World},
};

pub use releases::{cut, release_list, take};
pub use some::generate_some;
pub use stages::{
    Failure, Planned, Understood, fleet, prepare, prepare_sound, program_version, understand,
    understand_sound,
};
pub use weave::Progress;

use weave::{draw, weave, weave_some};

/// What a run made.
#[derive(Debug)]
pub struct Generation {
    /// What was to be made.
    pub plan: Plan,
    /// What became of the tree.
    pub changes: Changes,
    /// What was left as it was, because it is at fault.
    pub left: Vec<Left>,
}

/// Makes the tree of a world and hands it to a sink.
pub fn generate(
    world: &dyn World,
    sink: &mut dyn Sink,
    progress: Progress<'_>,
    notes: &mut Notes,
) -> Result<Generation, Failure> {
    let planned = stages::prepare_all(world, notes)?;
    sink.begin(notes)?;
    weave(&planned, sink, progress, notes)?;
    notes.halt(())?;
    let changes = sink.commit(notes, &publish::message)?;
    place(notes, &planned.fleet.input);
    notes.halt(())?;
    Ok(Generation { plan: planned.plan, changes, left: Vec::new() })
}

/// Does everything but write, and gives what would have been made. There is no tree that it would replace.
pub fn check(world: &dyn World, progress: Progress<'_>, notes: &mut Notes) -> Result<Plan, Failure> {
    check_against(world, &mut Nowhere, progress, notes)
}

/// The same, and what would have been made goes to a sink that compares it, and writes nothing.
pub fn check_against(
    world: &dyn World,
    sink: &mut dyn Sink,
    progress: Progress<'_>,
    notes: &mut Notes,
) -> Result<Plan, Failure> {
    let planned = stages::prepare_all(world, notes)?;
    sink.begin(notes)?;
    weave(&planned, sink, progress, notes)?;
    check_spare(&planned, notes);
    notes.halt(())?;
    sink.commit(notes, &publish::message)?;
    place(notes, &planned.fleet.input);
    Ok(notes.halt(planned.plan)?)
}

/// The same for the clusters of some definitions, with whatever they share with others: their releases, their namespaces
/// with all clusters in these, and what belongs to the whole fleet. The stages up to the plan look at everything.
pub fn check_near(world: &dyn World, files: &[&str], notes: &mut Notes) -> Result<(), Failure> {
    let planned = stages::prepare_all(world, notes)?;
    let clusters = || planned.plan.clusters.iter().filter(|plan| files.contains(&&*plan.cluster.file));
    let places: BTreeSet<_> = clusters().map(|plan| home(&plan.cluster)).collect();
    let releases: BTreeSet<_> = clusters().map(|plan| plan.release.name.as_str()).collect();
    let mut near = render::subjects(&planned.plan);
    near.retain(|subject| match subject {
        Subject::Root | Subject::Management(..) => true,
        Subject::Release(release) => releases.contains(release.name.as_str()),
        Subject::Namespace(one) => places.contains(&(&one.management.name, &one.name)),
        Subject::Cluster(one) => places.contains(&home(&one.cluster)),
    });
    let classes = check::Classes::read(&planned.plan);
    weave_some(&planned, &near, &classes, &mut Nowhere, &|_, _| {}, notes)?;
    Ok(notes.halt(())?)
}

/// The management cluster and the namespace of a cluster.
fn home(cluster: &Cluster) -> (&Label, &Label) {
    (&cluster.management.name, &cluster.namespace)
}

/// Has messages about generated files name the definition that decides.
fn place(notes: &mut Notes, input: &Input) {
    if notes.iter().any(remove::is_unplaced) {
        remove::place_in_definitions(notes, &Defined::read(input), None);
    }
}

/// Releases that no cluster uses yet may be used, or cut, tomorrow.
fn check_spare(planned: &Planned, notes: &mut Notes) {
    let plan = &planned.plan;
    let (spare, used) = (plan.spare.iter().map(AsRef::as_ref), plan.heads.iter().map(AsRef::as_ref));
    let classes = check::Classes::unused(spare, used, &plan.allowed, &planned.fleet.model.fleet);
    let input = &planned.fleet.input;
    let one = |head: &std::sync::Arc<_>| draw(Subject::Release(head), &classes, input).1;
    let found: Vec<Notes> = plan.spare.par_iter().map(one).collect();
    for found in found {
        notes.append(found);
    }
}
