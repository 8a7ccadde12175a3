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
    check,
    definition::{self, Definitions, Model},
    model::Lock,
    note::{Fault, Halted, Notes, Severity},
    partial::{self, Left, LeftOut, Scope},
    plan::{self, ClusterPlan, Plan},
    publish, rebase,
    release::{self, Release, Releases},
    render, resolve,
    tree::{Changes, Nowhere, Part, Sink, TreePath},
    world::{Input, LOCK, World},
    yaml::Source,
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
    /// What was left as it was, because it is at fault.
    pub left: Vec<Left>,
}

/// A fleet up to its releases: what is written, as meant, and what clusters can be made from.
#[derive(Debug)]
pub struct Understood {
    /// What was read.
    pub input: Input,
    /// As written.
    pub definitions: Definitions,
    /// As meant.
    pub model: Model,
    /// What clusters can be made from.
    pub releases: Releases,
}

impl Understood {
    fn plan(&self, notes: &mut Notes) -> Result<Plan, Halted> {
        plan::plan(&self.model, &self.releases, &self.input, notes)
    }

    /// Looks at the values of variables where other variables are unknown.
    fn values(&self, notes: &mut Notes) {
        let model = plan::without_unknown(&self.model, &self.releases, &self.input);
        if let Ok(plan) = plan::plan(&model, &self.releases, &self.input, &mut Notes::new()) {
            weave(&self.input, &plan, &mut Nowhere, &|_, _| {}, notes).ok();
        }
    }
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
    let (input, plan) = prepare_all(world, notes)?;
    sink.begin(notes)?;
    weave(&input, &plan, sink, progress, notes)?;
    notes.halt(())?;
    let changes = sink.commit(notes, &publish::message)?;
    notes.halt(())?;
    Ok(Generation { plan, changes, left: Vec::new() })
}

/// The stages up to the releases; `narrow` may take clusters from what was read.
fn lay_out(
    input: Input,
    notes: &mut Notes,
    narrow: impl FnOnce(&mut Definitions, &mut Notes),
) -> Result<Understood, Halted> {
    let unread = notes.errors() > 0;
    let mut definitions = definition::parse(&input, notes);
    if unread {
        // What stands in a file that cannot be read is not known, and would be missed everywhere.
        return Err(notes.halted());
    }
    narrow(&mut definitions, notes);
    let model = definition::lower(&definitions, &input, &program_version(), notes)?;
    let resolution = resolve::resolve(&model, notes)?;
    let releases = release::releases(&resolution, &input, notes)?;
    Ok(Understood { input, definitions, model, releases })
}

/// Parts that are drawn at a time: enough for every core, few enough for the memory of a laptop.
const AT_A_TIME: usize = 256;

/// Draws, checks and hands over every part; each is dropped before the next ones are drawn. Which ones are at fault.
fn weave<'a>(
    input: &Input,
    plan: &'a Plan,
    sink: &mut dyn Sink,
    progress: Progress<'_>,
    notes: &mut Notes,
) -> Result<Vec<render::Subject<'a>>, Failure> {
    let mut faulty = Vec::new();
    let subjects = render::subjects(plan);
    let classes = check::Classes::read(plan);
    let mut index = check::Index::default();
    for (batch, chunk) in subjects.chunks(AT_A_TIME).enumerate() {
        let drawn: Vec<_> = chunk.par_iter().map(|subject| draw(*subject, &classes, input)).collect();
        for (subject, (drawn, found)) in chunk.iter().zip(&drawn) {
            let before = notes.errors();
            notes.append(concerning(*subject, plan, found.clone()));
            index.add(drawn, input, notes);
            faulty.extend((notes.errors() > before).then_some(*subject));
        }
        // What is at fault is not written, but everything is looked at, so that all faults are told at once.
        if notes.errors() == 0 {
            let parts: Vec<Part> = drawn.into_par_iter().map(|(drawn, _)| drawn.into_part()).collect();
            parts.into_iter().try_for_each(|part| sink.part(part))?;
        }
        progress((batch * AT_A_TIME + chunk.len()).min(subjects.len()), subjects.len());
    }
    Ok(faulty)
}

/// Messages about a part, with the clusters that are made from it.
fn concerning(subject: render::Subject<'_>, plan: &Plan, mut notes: Notes) -> Notes {
    if notes.is_empty() {
        return notes;
    }
    match subject {
        render::Subject::Root | render::Subject::Management(..) => {}
        render::Subject::Cluster(one) => notes.concern(&one.cluster.full_name()),
        render::Subject::Release(_) | render::Subject::Namespace(_) => {
            let made = plan.clusters.iter().filter(|one| is_made_from(one, subject));
            made.for_each(|one| notes.concern(&one.cluster.full_name()));
        }
    }
    notes
}

/// Whether a cluster needs what is drawn for a release or a namespace.
fn is_made_from(one: &ClusterPlan, subject: render::Subject<'_>) -> bool {
    match subject {
        render::Subject::Root | render::Subject::Management(..) => false,
        render::Subject::Release(release) => one.release.name == release.name,
        render::Subject::Namespace(namespace) => {
            let cluster = &one.cluster;
            cluster.namespace == namespace.name && cluster.management.name == namespace.management.name
        }
        render::Subject::Cluster(plan) => std::ptr::eq(one, plan),
    }
}

fn draw(subject: render::Subject<'_>, classes: &check::Classes, input: &Input) -> (render::Drawn, Notes) {
    let mut notes = Notes::new();
    let drawn = render::draw(subject, input, &mut notes);
    match subject {
        render::Subject::Release(release) => check::release(release, classes, input, &mut notes),
        render::Subject::Cluster(plan) => check::cluster(plan, &drawn, classes, input, &mut notes),
        render::Subject::Root => check::shared(input, &mut notes),
        render::Subject::Management(..) | render::Subject::Namespace(_) => {}
    }
    check::objects(&drawn, input, &mut notes);
    (drawn, notes)
}

/// Does everything but write, and gives what would have been made. There is no tree that it would replace.
pub fn check(world: &dyn World, progress: Progress<'_>, notes: &mut Notes) -> Result<Plan, Failure> {
    check_against(world, &mut Nowhere, progress, notes)
}

/// The same, with what a sink that only compares refuses to replace or remove.
pub fn check_against(
    world: &dyn World,
    sink: &mut dyn Sink,
    progress: Progress<'_>,
    notes: &mut Notes,
) -> Result<Plan, Failure> {
    let (input, plan) = prepare_all(world, notes)?;
    sink.begin(notes)?;
    weave(&input, &plan, sink, progress, notes)?;
    check_spare(&input, &plan, notes);
    let plan = notes.halt(plan)?;
    sink.commit(notes, &publish::message)?;
    Ok(notes.halt(plan)?)
}

/// What no cluster uses yet may be used, or released, tomorrow.
fn check_spare(input: &Input, plan: &Plan, notes: &mut Notes) {
    let (spare, used) = (plan.spare.iter().map(AsRef::as_ref), plan.heads.iter().map(AsRef::as_ref));
    let classes = check::Classes::unused(spare, used, &plan.allowed);
    let found: Vec<Notes> =
        plan.spare.par_iter().map(|head| draw(render::Subject::Release(head), &classes, input).1).collect();
    for found in found {
        notes.append(found);
    }
}

/// Everything up to the plan.
pub fn prepare(world: &dyn World, notes: &mut Notes) -> Result<(Input, Plan), Failure> {
    let understood = understand(world, notes)?;
    let plan = understood.plan(notes)?;
    Ok((understood.input, plan))
}

/// Everything up to the releases.
pub fn understand(world: &dyn World, notes: &mut Notes) -> Result<Understood, Failure> {
    let input = world.read(notes)?;
    Ok(lay_out(input, notes, |_, _| {})?)
}

/// The same for commands that need only a part of the fleet: it skips everything with errors.
pub fn understand_sound(world: &dyn World, notes: &mut Notes) -> Result<(Understood, LeftOut), Failure> {
    let ((understood, ()), left) = sound(world, notes, |_, _| Ok(()))?;
    Ok((understood, left))
}

/// Everything up to the plan; skips what has errors.
pub fn prepare_sound(world: &dyn World, notes: &mut Notes) -> Result<(Understood, Plan, LeftOut), Failure> {
    let ((understood, plan), left) = sound(world, notes, Understood::plan)?;
    Ok((understood, plan, left))
}

/// The stages up to the releases and one more; skips what has errors.
fn sound<T>(
    world: &dyn World,
    notes: &mut Notes,
    next: impl Fn(&Understood, &mut Notes) -> Result<T, Halted>,
) -> Result<((Understood, T), LeftOut), Failure> {
    let mut read = Notes::new();
    let input = world.read(&mut read)?;
    let (mut found, scope) = (Notes::new(), Scope { only: Vec::new(), keep_going: true });
    let settled = partial::settle(&input, &scope, read, &[], &mut found, |input, excluded, notes| {
        let understood = lay_out(input, notes, |definitions, notes| {
            partial::narrow(definitions, &scope, excluded, notes);
        });
        let made = understood.and_then(|understood| {
            let more = next(&understood, notes)?;
            Ok((understood, more))
        });
        (made.ok(), Vec::new())
    });
    match settled {
        Some((made, left)) => Ok((made, LeftOut::new(left, &found, notes))),
        None => {
            notes.append(found);
            Err(Failure::Input)
        }
    }
}

/// Everything up to the plan. Where a stage halts, the others look at what is sound without what is not, so that every
/// fault of every file is told in one run.
fn prepare_all(world: &dyn World, notes: &mut Notes) -> Result<(Input, Plan), Failure> {
    let mut read = Notes::new();
    let input = world.read(&mut read)?;
    let mut found = read.clone();
    let made = lay_out(input.clone(), &mut found, |_, _| {});
    let planned = made.and_then(|understood| {
        let plan = understood.plan(&mut found)?;
        Ok((understood.input, plan))
    });
    if planned.is_err() {
        let (mut all, scope) = (Notes::new(), Scope { only: Vec::new(), keep_going: true });
        settle(&input, &scope, read, &[], &mut all);
        // It begins with the same run; and a warning on what remains may be none on the whole.
        let of = |notes: &Notes, severity| {
            notes.iter().filter(|note| note.severity == severity).cloned().collect::<Vec<_>>()
        };
        let told = [of(&all, Severity::Error), of(&found, Severity::Warning)].concat();
        found = Notes::new();
        for note in told {
            found.push(note);
        }
    }
    notes.append(found);
    Ok(planned?)
}

/// Makes a part of the tree: what the scope names, or what is not at fault. Everything else stays as it is.
pub fn generate_some(
    world: &dyn World,
    scope: &Scope,
    sink: &mut dyn Sink,
    progress: Progress<'_>,
    notes: &mut Notes,
) -> Result<Generation, Failure> {
    let mut read = Notes::new();
    let input = world.read(&mut read)?;
    let mut obstructed = Vec::new();
    loop {
        let (mut found, mut last) = (Notes::new(), Notes::new());
        let settled = settle(&input, scope, read.clone(), &obstructed, &mut found);
        let Some(((input, plan), left)) = settled else {
            notes.append(found);
            return Err(Failure::Input);
        };
        let made = write_some(&input, &plan, sink, progress, &mut last);
        let more = if scope.keep_going { obstructed_by(&last, &plan) } else { Vec::new() };
        notes.append(last);
        if made.is_err() && !more.is_empty() {
            obstructed.extend(more);
            continue;
        }
        notes.append(found);
        let mut changes = made?;
        if !scope.only.is_empty() {
            // Everything else was left on purpose.
            changes.left.clear();
        }
        return Ok(Generation { plan, changes, left });
    }
}

/// Hands the parts of a plan to a sink, which keeps everything else.
fn write_some(
    input: &Input,
    plan: &Plan,
    sink: &mut dyn Sink,
    progress: Progress<'_>,
    notes: &mut Notes,
) -> Result<Changes, Failure> {
    sink.begin(notes)?;
    sink.keep(TreePath::root());
    plan.clusters.iter().flat_map(render::cluster_folders).for_each(|folder| sink.sweep(folder));
    weave(input, plan, sink, progress, notes)?;
    notes.halt(())?;
    let changes = sink.commit(notes, &publish::message)?;
    Ok(notes.halt(changes)?)
}

/// The clusters in whose folders something stands in the way of a sink; none where something stands elsewhere, too.
fn obstructed_by(notes: &Notes, plan: &Plan) -> Vec<partial::Faulty> {
    let mut errors = notes.iter().filter(|note| note.severity == Severity::Error).peekable();
    if errors.peek().is_none() {
        return Vec::new();
    }
    let folders: Vec<_> = plan
        .clusters
        .iter()
        .flat_map(|one| render::cluster_folders(one).map(|folder| (folder, one)))
        .collect();
    let blamed: Option<Vec<_>> = errors
        .map(|note| {
            let path = TreePath::parse(&note.place.as_ref()?.file)?;
            let (_, one) = folders.iter().find(|(folder, _)| path.is_within(folder))?;
            Some((one.cluster.file.to_string(), format!("`{path}` stands in its way")))
        })
        .collect();
    blamed.unwrap_or_default()
}

/// The plan of what is sound, and what was left out of it.
fn settle(
    input: &Input,
    scope: &Scope,
    read: Notes,
    obstructed: &[partial::Faulty],
    notes: &mut Notes,
) -> Option<((Input, Plan), Vec<Left>)> {
    partial::settle(input, scope, read, obstructed, notes, |input, excluded, found| {
        let made = lay_out(input, found, |definitions, notes| {
            partial::narrow(definitions, scope, excluded, notes);
        });
        let made = made.and_then(|understood| {
            let plan = understood.plan(found).inspect_err(|_| understood.values(found))?;
            Ok((understood.input, plan))
        });
        let Ok((input, plan)) = made else { return (None, Vec::new()) };
        // What is at fault when it is drawn is known before anything is handed to the sink.
        let faulty = match weave(&input, &plan, &mut Nowhere, &|_, _| {}, found) {
            Ok(faulty) => faulty.iter().flat_map(|subject| definitions_of(*subject, &plan)).collect(),
            Err(_) => Vec::new(),
        };
        (Some((input, plan)), faulty)
    })
}

/// The definitions that a part is made from, with the reason why they are at fault if the part is.
fn definitions_of(subject: render::Subject<'_>, plan: &Plan) -> Vec<partial::Faulty> {
    let why = match subject {
        render::Subject::Root | render::Subject::Management(..) => return Vec::new(),
        render::Subject::Release(release) => format!("its release `{}` has errors", release.name),
        render::Subject::Namespace(namespace) => format!("its namespace `{}` has errors", namespace.name),
        render::Subject::Cluster(_) => "the objects generated for it have errors".to_owned(),
    };
    let made = plan.clusters.iter().filter(|one| is_made_from(one, subject));
    made.map(|one| (one.cluster.file.to_string(), why.clone())).collect()
}

/// Every release of a world, and who uses it, as far as definitions are sound. Faults of what would be made of it are none
/// here.
pub fn catalogue(world: &dyn World, notes: &mut Notes) -> Result<(release::Catalogue, LeftOut), Failure> {
    let (understood, left) = understand_sound(world, notes)?;
    let Understood { input, definitions, model, releases } = &understood;
    notes.append_as_warnings(releases.refused_and_unused(&BTreeSet::new()));
    Ok((release::catalogue(definitions, model, releases, &input.sources), left))
}

/// What is to be released of a world: every stack and minor that is asked for, and its next release if it has another
/// content than the last one. Releases are checked as those that clusters use.
pub fn cut(
    world: &dyn World,
    request: &release::Request,
    notes: &mut Notes,
) -> Result<Vec<release::Considered>, Failure> {
    let (understood, left) = understand_sound(world, notes)?;
    left.only_other_stacks(request.stack.as_ref(), notes)?;
    let Understood { input, model, releases, .. } = understood;
    let resolution = resolve::resolve(&model, notes)?;
    let foretell = |from: &Release, to: &Release| rebase::rebases(&model, &releases, &input, from, to);
    // Clusters may wait for what is cut here, so that other faults of theirs are none; a lock that says other bytes than a
    // release did would go on into the next one.
    let mut planned = Notes::new();
    plan::plan(&model, &releases, &input, &mut planned).ok();
    planned.iter().filter(|note| note.code == plan::CONTRADICTS).for_each(|note| notes.push(note.clone()));
    let considered = release::cut(&resolution, &releases, request, &input, &foretell, notes);
    let cuts: Vec<&Release> = considered.iter().filter_map(|one| Some(&one.cut.as_ref()?.release)).collect();
    let is_cut = |head: &Release| {
        cuts.iter().any(|cut| (&cut.stack, &cut.kubernetes) == (&head.stack, &head.kubernetes))
    };
    let others = releases.shared_heads().map(AsRef::as_ref).filter(|head| !is_cut(head));
    let classes = check::Classes::unused(cuts.iter().copied(), others, &model.allowed());
    for release in cuts {
        notes.append(draw(render::Subject::Release(release), &classes, &input).1);
    }
    Ok(notes.halt(considered)?)
}

/// What came from elsewhere, held against all that a numbered release is held against. Clusters may be at fault: they may
/// well wait for what is taken here.
pub fn take(
    world: &dyn World,
    arrivals: &[release::Arrival],
    notes: &mut Notes,
) -> Result<(Vec<release::Taken>, Lock), Failure> {
    let mut input = world.read(notes)?;
    let read = |source: &Source| definition::read_lock(source, notes).ok_or_else(|| notes.halted());
    let lock = input.sources.at(LOCK).map(read).transpose()?.unwrap_or_default();
    let mut taken = Vec::new();
    for arrival in arrivals {
        taken.extend(release::take(arrival, &mut input, &lock, notes));
    }
    let classes = check::Classes::default();
    for one in &taken {
        if let release::Taken::New { release, .. } = one {
            notes.append(draw(render::Subject::Release(release), &classes, &input).1);
        }
    }
    Ok((notes.halt(taken)?, lock))
}

/// The version of this program.
pub fn program_version() -> semver::Version {
    semver::Version::parse(env!("CARGO_PKG_VERSION")).expect("Cargo holds its version to be one")
}
