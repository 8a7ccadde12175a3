//! Runs that generate a part of the tree: the clusters in scope, or those without errors. Everything else stays unchanged.
//!
//! Each attempt is a plan without what had errors before. A cluster is drawn once: its part goes to the sink as soon as neither
//! it nor what it is made from has errors, and later attempts leave it there. The parts that clusters share are checked in
//! each attempt, and go to the sink once it is known which clusters remain.

use std::collections::BTreeSet;

use super::{
    Failure, Generation, Planned, Progress, Understood,
    draw_parts::{
        AllOrNothing, Baseline, CheckedPart, Checks, Receiver, definitions_of, draw_checked, draw_some_parts,
    },
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
        let mut outlet = Outlet::new(&mut *sink, baseline, progress);
        let settled = attempts(&input, scope, read.clone(), &obstructed, &mut found, &mut outlet);
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
        let made = outlet.close(&plan, &mut last);
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
    attempts(input, scope, read, &[], notes, &mut Outlet::new(&mut NullSink, &(), &|_, _| {}));
}

/// Plans and draws everything without errors, until no drawn part has errors. Also returns what was left out.
fn attempts(
    input: &Input,
    scope: &Scope,
    read: Notes,
    obstructed: &[Faulty],
    notes: &mut Notes,
    outlet: &mut Outlet<'_>,
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
        outlet.is_partial = !scope.only.is_empty() || !excluded.is_empty();
        let faulty = outlet.draw(&planned, found);
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

/// Draws the parts of attempts into a sink.
struct Outlet<'s> {
    sink: &'s mut dyn Sink,
    baseline: &'s dyn Baseline,
    progress: Progress<'s>,
    is_open: bool,
    /// The clusters whose parts the sink has.
    taken: BTreeSet<ClusterId>,
    /// The objects of the parts so far.
    index: check::Index,
    /// Obstacles at the destination. They are reported only when it is known that the attempt is the last one.
    notes: Notes,
    fault: Option<Fault>,
    /// Whether clusters are left out, so that it is unknown what they need.
    is_partial: bool,
}

impl<'s> Outlet<'s> {
    fn new(sink: &'s mut dyn Sink, baseline: &'s dyn Baseline, progress: Progress<'s>) -> Self {
        Self {
            sink,
            baseline,
            progress,
            is_open: false,
            taken: BTreeSet::new(),
            index: check::Index::default(),
            notes: Notes::new(),
            fault: None,
            is_partial: false,
        }
    }

    /// Draws and checks all parts, except those of clusters that the sink has. Returns the definitions whose parts have errors.
    ///
    /// What is left out takes all that depends on it along, so the other clusters are planned as before.
    fn draw(&mut self, planned: &Planned, notes: &mut Notes) -> Vec<Faulty> {
        let Planned { fleet, plan } = planned;
        let made: BTreeSet<ClusterId> = plan.clusters.iter().map(|plan| plan.cluster.id()).collect();
        if !self.is_open || !self.taken.is_subset(&made) {
            self.open();
        }
        self.index.forget_shared();
        let is_missing = |subject: &PartSubject<'_>| match subject {
            PartSubject::Cluster(plan) => !self.taken.contains(&plan.cluster.id()),
            _ => true,
        };
        let subjects: Vec<_> = render::subjects(plan).into_iter().filter(is_missing).collect();
        let classes = check::Classes::read(plan);
        let checks = Checks { classes: &classes, baseline: self.baseline };
        let (mut index, progress) = (std::mem::take(&mut self.index), self.progress);
        let mut attempt = Attempt { outlet: self, plan, faulty: Vec::new() };
        // The attempt keeps the faults of the sink for later.
        draw_some_parts(planned, &subjects, checks, &mut index, &mut attempt, progress, notes).ok();
        let faulty = attempt.faulty;
        self.index = index;
        check::check_rest(plan, &fleet.model.lock, &classes, (&fleet.input).into(), notes);
        fleet.locate(notes);
        faulty
    }

    /// Starts the sink, and discards the parts that it has.
    fn open(&mut self) {
        self.is_open = true;
        self.taken.clear();
        self.index = check::Index::default();
        self.notes = Notes::new();
        self.fault = self.sink.begin(&mut self.notes).err();
        self.sink.keep(TreePath::root());
    }

    /// Passes parts to the sink, unless it cannot write them anyway.
    fn hand_over(&mut self, parts: Vec<Part>) {
        if self.fault.is_none() && self.notes.errors() == 0 {
            self.fault = self.sink.parts(parts).err();
        }
    }

    /// Passes the parts that clusters share to the sink.
    fn hand_over_shared(&mut self, plan: &Plan) {
        let mut subjects = render::subjects(plan);
        subjects.retain(|subject| !matches!(subject, PartSubject::Cluster(_)));
        let drawn = draw_checked(&subjects, |mut parts| {
            if self.is_partial {
                self.merge_shared(&mut parts)?;
            }
            self.hand_over(parts);
            Ok(())
        });
        self.fault = self.fault.take().or(drawn.err());
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
    fn close(mut self, plan: &Plan, notes: &mut Notes) -> Result<Changes, Failure> {
        if self.fault.is_none() && self.notes.errors() == 0 {
            self.hand_over_shared(plan);
        }
        notes.append(self.notes);
        if let Some(fault) = self.fault {
            return Err(Failure::World(fault));
        }
        notes.halt(())?;
        let changes = self.sink.commit(notes, &commit_message::generated)?;
        Ok(notes.halt(changes)?)
    }
}

/// Receives the parts of one attempt, those that clusters share first.
struct Attempt<'a, 'o, 's> {
    outlet: &'o mut Outlet<'s>,
    plan: &'a Plan,
    /// The definitions whose parts have errors.
    faulty: Vec<Faulty>,
}

impl<'a> Receiver<'a> for Attempt<'a, '_, '_> {
    fn receive(&mut self, checked: Vec<CheckedPart<'a>>, notes: &Notes) -> Result<(), Fault> {
        for one in checked.iter().filter(|one| one.has_errors) {
            self.faulty.extend(definitions_of(one.subject, self.plan));
        }
        // Errors of shared parts may be about a single definition.
        let named = notes.iter().filter(|note| note.severity == Severity::Error);
        let named = named.filter_map(|note| Some(note.place.as_ref()?.file.as_str()));
        let faulty: BTreeSet<&str> = self.faulty.iter().map(|(file, _)| file.as_str()).chain(named).collect();
        let mut parts = Vec::with_capacity(checked.len());
        for one in checked {
            let PartSubject::Cluster(plan) = one.subject else { continue };
            if !faulty.contains(&*plan.cluster.file) {
                self.outlet.taken.insert(plan.cluster.id());
                for folder in render::cluster_folders(plan) {
                    self.outlet.sink.sweep(folder);
                }
                parts.push(one.part);
            }
        }
        self.outlet.hand_over(parts);
        Ok(())
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
    let checks = Checks { classes: &classes, baseline: &() };
    let (mut index, mut receiver) = (check::Index::default(), AllOrNothing::new(sink));
    draw_some_parts(&planned, &near, checks, &mut index, &mut receiver, &|_, _| {}, notes)?;
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
