//! The flow.
//!
//! ```text
//! files ─World→ Sources ─parse→ Definitions ─lower→ Model ─resolve→ Resolution ─freeze→ Releases ─plan→ Plan
//!       ─draw→ objects ─check→ parts ─Sink→ tree
//! ```
//!
//! Within a stage every fault is collected; between stages the flow stops when there was one. Nothing is visible before
//! the sink commits, so a fault anywhere leaves the tree as it was.

use std::collections::BTreeSet;

use rayon::prelude::*;

use crate::{
    check, definition,
    note::{Fault, Halted, Notes},
    plan::{self, Plan},
    publish, release, render, resolve,
    tree::{Changes, Part, Sink, TreePath},
    world::{Input, World},
};

/// Why a run ended without a result.
#[derive(Debug)]
pub enum Failure {
    /// The input is at fault; the notes say where.
    Input,
    /// The world is at fault.
    World(Fault),
}

impl From<Halted> for Failure {
    fn from(_: Halted) -> Self {
        Self::Input
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self::World(fault)
    }
}

/// What a run made.
#[derive(Debug)]
pub struct Generation {
    /// What was to be made.
    pub plan: Plan,
    /// What became of the tree.
    pub changes: Changes,
}

/// Told how far a run is: parts done, of all.
pub type Progress<'a> = &'a (dyn Fn(usize, usize) + Sync);

/// Makes the tree of a world and hands it to a sink.
pub fn generate(
    world: &dyn World,
    sink: &mut dyn Sink,
    progress: Progress<'_>,
    notes: &mut Notes,
) -> Result<Generation, Failure> {
    let (input, plan) = prepare(world, notes)?;
    sink.begin(notes)?;
    weave(&input, &plan, sink, progress, notes)?;
    notes.halt(())?;
    let changes = sink.commit(notes, &publish::message)?;
    notes.halt(())?;
    Ok(Generation { plan, changes })
}

/// Does everything but write, and gives what would have been made.
pub fn check(world: &dyn World, progress: Progress<'_>, notes: &mut Notes) -> Result<Plan, Failure> {
    let (input, plan) = prepare(world, notes)?;
    weave(&input, &plan, &mut Nowhere, progress, notes)?;
    Ok(notes.halt(plan)?)
}

/// A sink that keeps nothing.
struct Nowhere;

impl Sink for Nowhere {
    fn begin(&mut self, _notes: &mut Notes) -> Result<(), Fault> {
        Ok(())
    }

    fn part(&mut self, _part: Part) -> Result<(), Fault> {
        Ok(())
    }

    fn keep(&mut self, _folder: TreePath) {}

    fn commit(
        &mut self,
        _notes: &mut Notes,
        _message: &dyn Fn(&Changes) -> String,
    ) -> Result<Changes, Fault> {
        Ok(Changes::default())
    }
}

/// Everything up to the plan.
pub fn prepare(world: &dyn World, notes: &mut Notes) -> Result<(Input, Plan), Failure> {
    let input = world.read(notes)?;
    let definitions = definition::parse(&input, notes)?;
    let model = definition::lower(&definitions, &input, &program_version(), notes)?;
    let resolution = resolve::resolve(&model, notes)?;
    let releases = release::releases(&resolution, &input, notes)?;
    let plan = plan::plan(&model, &releases, &input, notes)?;
    Ok((input, plan))
}

/// Every release of a world, and who uses it. Faults of what would be made of it are none here.
pub fn catalogue(world: &dyn World, notes: &mut Notes) -> Result<release::Catalogue, Failure> {
    let input = world.read(notes)?;
    let definitions = definition::parse(&input, notes)?;
    let model = definition::lower(&definitions, &input, &program_version(), notes)?;
    let resolution = resolve::resolve(&model, notes)?;
    let releases = release::releases(&resolution, &input, notes)?;
    releases.warn_unused(&BTreeSet::new(), notes);
    Ok(release::catalogue(&definitions, &model, &releases))
}

/// What is to be released of a world: every stack and minor that is asked for, and its next release if it has another
/// content than the last one. Releases are checked as those that clusters use.
pub fn cut(
    world: &dyn World,
    request: &release::Request,
    notes: &mut Notes,
) -> Result<Vec<release::Considered>, Failure> {
    let input = world.read(notes)?;
    let definitions = definition::parse(&input, notes)?;
    let model = definition::lower(&definitions, &input, &program_version(), notes)?;
    let resolution = resolve::resolve(&model, notes)?;
    let releases = release::releases(&resolution, &input, notes)?;
    let considered = release::cut(&resolution, &releases, request, &input, notes);
    let classes = check::Classes::default();
    for one in considered.iter().filter_map(|one| one.cut.as_ref()) {
        notes.append(draw(render::Subject::Release(&one.release), &classes, &input).1);
    }
    Ok(notes.halt(considered)?)
}

/// Parts that are drawn at a time: enough for every core, few enough for the memory of a laptop.
const AT_A_TIME: usize = 256;

/// Draws, checks and hands over every part; each is dropped before the next ones are drawn.
fn weave(
    input: &Input,
    plan: &Plan,
    sink: &mut dyn Sink,
    progress: Progress<'_>,
    notes: &mut Notes,
) -> Result<(), Failure> {
    let subjects = render::subjects(plan);
    let classes = check::Classes::read(plan);
    let mut index = check::Index::default();
    for (batch, chunk) in subjects.chunks(AT_A_TIME).enumerate() {
        let drawn: Vec<_> = chunk.par_iter().map(|subject| draw(*subject, &classes, input)).collect();
        for (drawn, found) in &drawn {
            notes.append(found.clone());
            index.add(drawn, input, notes);
        }
        // What is at fault is not written, but everything is looked at, so that all faults are told at once.
        if notes.errors() == 0 {
            let parts: Vec<Part> = drawn.into_par_iter().map(|(drawn, _)| drawn.into_part()).collect();
            parts.into_iter().try_for_each(|part| sink.part(part))?;
        }
        progress((batch * AT_A_TIME + chunk.len()).min(subjects.len()), subjects.len());
    }
    Ok(())
}

fn draw(subject: render::Subject<'_>, classes: &check::Classes, input: &Input) -> (render::Drawn, Notes) {
    let mut notes = Notes::new();
    match subject {
        render::Subject::Release(release) => check::release(release, classes, input, &mut notes),
        render::Subject::Cluster(plan) => check::cluster(plan, classes, input, &mut notes),
        render::Subject::Root | render::Subject::Management(..) | render::Subject::Namespace(_) => {}
    }
    let drawn = render::draw(subject, input, &mut notes);
    check::objects(&drawn, input, &mut notes);
    (drawn, notes)
}

/// The version of this program.
pub fn program_version() -> semver::Version {
    semver::Version::parse(env!("CARGO_PKG_VERSION")).expect("Cargo holds its version to be one")
}
