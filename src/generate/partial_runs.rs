//! Runs that generate a part of the tree: the clusters in scope, or those without errors. Everything else stays unchanged.
//!
//! Each attempt passes its parts to the sink while they are drawn. If a part has errors, the sink starts again without it.

use std::collections::BTreeSet;

use super::{
    Failure, Generation, Planned, Progress, Understood,
    draw_parts::{Baseline, Checks, definitions_of, draw_parts, draw_some_parts},
    place, stages,
};
use crate::{
    check, commit_message,
    model::{Cluster, ClusterId, Label},
    note::{Fault, Notes, Severity},
    partial::{self, Faulty, Scope, SkippedDefinition},
    plan::{self, Plan},
    render::{self, PartSubject},
    tree::{Changes, File, NullSink, Part, PartId, Sink, TreePath},
    world::{Input, World},
};

/// Generates a part of the tree: the clusters in scope, or those without errors. Everything else stays unchanged.
pub fn generate_some(
    world: &dyn World,
    scope: &Scope,
    sink: &mut dyn Sink,
    progress: Progress<'_>,
    notes: &mut Notes,
) -> Result<Generation, Failure> {
    generate_changed(world, scope, &(), sink, progress, notes)
}

/// Like [`generate_some`], but does not check the clusters that `baseline` contains.
pub fn generate_changed(
    world: &dyn World,
    scope: &Scope,
    baseline: &dyn Baseline,
    sink: &mut dyn Sink,
    progress: Progress<'_>,
    notes: &mut Notes,
) -> Result<Generation, Failure> {
    let mut read = Notes::new();
    let input = world.read(&mut read)?;
    let mut obstructed: Vec<Faulty> = Vec::new();
    loop {
        let mut found = Notes::new();
        let mut outlet = Outlet { sink: &mut *sink, notes: Notes::new(), fault: None, is_partial: false };
        let attempt = |planned: &Planned, is_partial: bool, notes: &mut Notes| {
            outlet.open(&planned.plan, is_partial);
            faulty(planned, baseline, &mut outlet, progress, notes)
        };
        let settled = attempts(&input, scope, read.clone(), &obstructed, &mut found, attempt);
        let Some((planned, left)) = settled else {
            notes.append(found);
            return Err(Failure::Input);
        };
        let plan = planned.plan;
        if let Some(lost) = lost(scope, &plan) {
            notes.append(found);
            if notes.errors() == 0 {
                notes
                    .error("not-generated", None, format!("{lost} has errors, and must not be left out"))
                    .hint("run `stackloom check` to see them");
            }
            return Err(Failure::Input);
        }
        let mut last = Notes::new();
        let made = outlet.close(&mut last);
        let more = if scope.keep_going { obstructed_by(&last, &plan) } else { Vec::new() };
        notes.append(last);
        if made.is_err() && !more.is_empty() {
            obstructed.extend(more);
            continue;
        }
        notes.append(found);
        super::place(notes, &input);
        let mut changes = made?;
        if !scope.only.is_empty() {
            // Everything else was left unchanged on purpose.
            changes.left.clear();
        }
        return Ok(Generation { plan, changes, left });
    }
}

/// A cluster that must be generated, but is not in the plan.
fn lost<'a>(scope: &'a Scope, plan: &Plan) -> Option<&'a ClusterId> {
    let made: BTreeSet<ClusterId> = plan.clusters.iter().map(|plan| plan.cluster.id()).collect();
    scope.required.iter().find(|cluster| !made.contains(cluster))
}

/// Checks everything without errors, and discards the result.
pub(super) fn settle(input: &Input, scope: &Scope, read: Notes, notes: &mut Notes) {
    attempts(input, scope, read, &[], notes, |planned, _, notes| {
        faulty(planned, &(), &mut NullSink, &|_, _| {}, notes)
    });
}

/// Plans and draws everything without errors, until no drawn part has errors. Also returns what was left out. `draw` also
/// gets whether anything is left out.
fn attempts(
    input: &Input,
    scope: &Scope,
    read: Notes,
    obstructed: &[Faulty],
    notes: &mut Notes,
    mut draw: impl FnMut(&Planned, bool, &mut Notes) -> Vec<Faulty>,
) -> Option<(Planned, Vec<SkippedDefinition>)> {
    partial::settle(input, scope, read, obstructed, notes, |input, excluded, found| {
        let narrow =
            |definitions: &mut _, notes: &mut _| partial::narrow(definitions, scope, excluded, notes);
        let understood = Understood::narrowed(input, found, narrow);
        let Ok(understood) = understood else { return (None, Vec::new()) };
        let planned = match understood.plan(found) {
            Ok(plan) => Planned { fleet: understood, plan }.for_drawing(),
            Err(_) => {
                values(&understood, found);
                return (None, Vec::new());
            }
        };
        let is_partial = !scope.only.is_empty() || !excluded.is_empty();
        let faulty = draw(&planned, is_partial, found);
        (Some(planned), faulty)
    })
}

/// Checks the values of variables of clusters that can't be planned, as far as their class is known.
fn values(fleet: &Understood, notes: &mut Notes) {
    let Understood { input, model, releases, .. } = fleet;
    let mut classes = check::Classes::default();
    for cluster in &model.clusters {
        let mut faults = Notes::new();
        plan::plan_cluster(cluster, model, releases, &mut faults);
        let release = releases.of(cluster, &mut Notes::new());
        let Some(release) = release.filter(|_| faults.errors() > 0) else { continue };
        classes.add(&release);
        let mut own = Notes::new();
        check::check_values(cluster, &release, &classes, input.into(), &mut own);
        fleet.locate(&mut own);
        own.concern(&cluster.full_name());
        notes.append(own);
    }
}

/// Draws all parts into a sink. Returns the definitions whose parts have errors.
fn faulty(
    planned: &Planned,
    baseline: &dyn Baseline,
    sink: &mut dyn Sink,
    progress: Progress<'_>,
    notes: &mut Notes,
) -> Vec<Faulty> {
    let found = draw_parts(planned, baseline, sink, progress, notes).unwrap_or_default();
    found.iter().flat_map(|subject| definitions_of(*subject, &planned.plan)).collect()
}

/// A sink for attempts. Obstacles at the destination are reported only when it is known that the attempt is the last one.
struct Outlet<'a> {
    sink: &'a mut dyn Sink,
    notes: Notes,
    fault: Option<Fault>,
    /// Whether clusters are left out, so that it is unknown what they need.
    is_partial: bool,
}

impl Outlet<'_> {
    /// Starts an attempt, and discards the parts of earlier ones.
    fn open(&mut self, plan: &Plan, is_partial: bool) {
        self.is_partial = is_partial;
        self.notes = Notes::new();
        self.fault = self.sink.begin(&mut self.notes).err();
        self.sink.keep(TreePath::root());
        plan.clusters.iter().flat_map(render::cluster_folders).for_each(|folder| self.sink.sweep(folder));
    }

    /// Keeps what the clusters that are left out need of the objects that they share with others of their namespace.
    fn merge_shared(&self, parts: &mut [Part]) -> Result<(), Fault> {
        let shared = parts.iter_mut().filter(|part| matches!(part.id, PartId::Namespace { .. }));
        for file in shared.flat_map(|part| &mut part.files) {
            if let Some(current) = self.sink.current(&file.path)?
                && let Some(merged) = render::merged(&current, file.text())
            {
                *file = File::new(file.path.clone(), merged);
            }
        }
        Ok(())
    }

    /// Makes the last attempt visible, unless there are obstacles.
    fn close(self, notes: &mut Notes) -> Result<Changes, Failure> {
        notes.append(self.notes);
        if let Some(fault) = self.fault {
            return Err(Failure::World(fault));
        }
        notes.halt(())?;
        let changes = self.sink.commit(notes, &commit_message::generated)?;
        Ok(notes.halt(changes)?)
    }
}

impl Sink for Outlet<'_> {
    fn begin(&mut self, notes: &mut Notes) -> Result<(), Fault> {
        self.sink.begin(notes)
    }

    fn parts(&mut self, mut parts: Vec<Part>) -> Result<(), Fault> {
        if self.fault.is_none() && self.notes.errors() == 0 {
            let merged = if self.is_partial { self.merge_shared(&mut parts) } else { Ok(()) };
            self.fault = merged.and_then(|()| self.sink.parts(parts)).err();
        }
        Ok(())
    }

    fn keep(&mut self, folder: TreePath) {
        self.sink.keep(folder);
    }

    fn commit(&mut self, notes: &mut Notes, message: &dyn Fn(&Changes) -> String) -> Result<Changes, Fault> {
        self.sink.commit(notes, message)
    }
}

/// The clusters whose folders contain obstacles for a sink; none if there are other obstacles, too.
fn obstructed_by(notes: &Notes, plan: &Plan) -> Vec<Faulty> {
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
            Some((one.cluster.file.to_string(), format!("`{path}` blocks it")))
        })
        .collect();
    blamed.unwrap_or_default()
}

/// Like [`check_against`](super::check_against), for some clusters and everything that they share with others: their releases, their namespaces with
/// all clusters in them, and the parts of the whole fleet. The stages up to the plan process everything.
pub fn check_near(
    world: &dyn World,
    is_near: &dyn Fn(&Cluster) -> bool,
    sink: &mut dyn Sink,
    notes: &mut Notes,
) -> Result<Plan, Failure> {
    let planned = stages::prepare_all(world, notes)?;
    let clusters = || planned.plan.clusters.iter().filter(|plan| is_near(&plan.cluster));
    let places: BTreeSet<_> = clusters().map(|plan| home(&plan.cluster)).collect();
    let releases: BTreeSet<_> = clusters().map(|plan| plan.release.name.as_str()).collect();
    let is_near = |subject: &PartSubject<'_>| match subject {
        PartSubject::Root | PartSubject::Management(..) => true,
        PartSubject::Release(release) => releases.contains(release.name.as_str()),
        PartSubject::Namespace(one) => places.contains(&(&one.management.name, &one.name)),
        PartSubject::Cluster(one) => places.contains(&home(&one.cluster)),
    };
    let (near, others): (Vec<_>, Vec<_>) = render::subjects(&planned.plan).into_iter().partition(is_near);
    sink.begin(notes)?;
    for folder in others.into_iter().flat_map(places_of) {
        sink.keep(folder);
    }
    let classes = check::Classes::read(&planned.plan);
    draw_some_parts(&planned, &near, Checks { classes: &classes, baseline: &() }, sink, &|_, _| {}, notes)?;
    notes.halt(())?;
    sink.commit(notes, &commit_message::generated)?;
    place(notes, &planned.fleet.input);
    Ok(notes.halt(planned.plan)?)
}

/// The folders and files of a part that this run does not draw.
fn places_of(subject: PartSubject<'_>) -> Vec<TreePath> {
    match subject {
        PartSubject::Root | PartSubject::Management(..) => Vec::new(),
        PartSubject::Release(release) => vec![render::release_folder(&release.name)],
        PartSubject::Cluster(plan) => render::cluster_folders(plan).into(),
        PartSubject::Namespace(_) => {
            let drawn = render::draw(subject, &mut Notes::new());
            drawn.objects.into_iter().map(|object| object.path).collect()
        }
    }
}

/// The management cluster and namespace of a cluster.
fn home(cluster: &Cluster) -> (&Label, &Label) {
    (&cluster.management.name, &cluster.namespace)
}
