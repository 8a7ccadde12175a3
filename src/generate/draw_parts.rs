//! From the plan to parts: draws every part, checks it, and passes it to a sink.

use rayon::prelude::*;

use super::{Failure, Planned};
use crate::{
    check,
    note::{Fault, Notes},
    partial,
    plan::{ClusterPlan, Plan},
    render,
    tree::{Part, Sink},
    world::Input,
};

/// Receives the progress of a run: the number of finished parts, and of all parts.
pub type Progress<'a> = &'a (dyn Fn(usize, usize) + Sync);

/// The number of parts drawn at a time: enough for every core, but few enough for the memory of a laptop.
const AT_A_TIME: usize = 64;

/// A state that was generated before. The checks would find of its clusters what they found then, so they leave them out.
pub trait Baseline: Sync {
    /// Whether the state contains the part of a cluster, made from the same sources.
    fn contains(&self, plan: &ClusterPlan, part: &Part) -> bool;
}

/// The state before everything: all clusters are checked.
impl Baseline for () {
    fn contains(&self, _plan: &ClusterPlan, _part: &Part) -> bool {
        false
    }
}

/// What the checks of parts need.
#[derive(Clone, Copy)]
pub(super) struct Checks<'a> {
    /// The classes that clusters use.
    pub(super) classes: &'a check::Classes,
    /// The state whose clusters are not checked again.
    pub(super) baseline: &'a dyn Baseline,
}

/// A part that was drawn and checked.
pub(super) struct CheckedPart<'a> {
    pub(super) subject: render::PartSubject<'a>,
    pub(super) part: Part,
    pub(super) has_errors: bool,
}

/// Receives checked parts in order, a batch at a time, with all messages so far.
pub(super) trait Receiver<'a> {
    fn receive(&mut self, checked: Vec<CheckedPart<'a>>, notes: &Notes) -> Result<(), Fault>;
}

/// Passes parts to a sink until one has errors: then nothing is written, but all parts are checked, so that one run reports all
/// errors.
pub(super) struct AllOrNothing<'s> {
    sink: &'s mut dyn Sink,
    has_errors: bool,
}

impl<'s> AllOrNothing<'s> {
    pub(super) fn new(sink: &'s mut dyn Sink) -> Self {
        Self { sink, has_errors: false }
    }
}

impl<'a> Receiver<'a> for AllOrNothing<'_> {
    fn receive(&mut self, checked: Vec<CheckedPart<'a>>, _notes: &Notes) -> Result<(), Fault> {
        self.has_errors |= checked.iter().any(|one| one.has_errors);
        if self.has_errors {
            return Ok(());
        }
        self.sink.parts(checked.into_iter().map(|one| one.part).collect())
    }
}

/// Draws, checks and passes on all parts, a batch at a time, dropping each batch.
pub(super) fn draw_parts(
    planned: &Planned,
    sink: &mut dyn Sink,
    progress: Progress<'_>,
    notes: &mut Notes,
) -> Result<(), Failure> {
    let Planned { fleet, plan } = planned;
    let classes = check::Classes::read(plan);
    let checks = Checks { classes: &classes, baseline: &() };
    let (mut index, mut receiver) = (check::Index::default(), AllOrNothing::new(sink));
    draw_some_parts(planned, &render::subjects(plan), checks, &mut index, &mut receiver, progress, notes)?;
    check::check_rest(plan, &fleet.model.lock, &classes, (&fleet.input).into(), notes);
    fleet.locate(notes);
    Ok(())
}

/// Like [`draw_parts`], for some parts. Their objects are added to `index`.
pub(super) fn draw_some_parts<'a>(
    planned: &'a Planned,
    subjects: &[render::PartSubject<'a>],
    checks: Checks<'_>,
    index: &mut check::Index,
    receiver: &mut dyn Receiver<'a>,
    progress: Progress<'_>,
    notes: &mut Notes,
) -> Result<(), Fault> {
    let input = &planned.fleet.input;
    let draw_all = |chunk: &[render::PartSubject<'a>]| -> Vec<DrawnPart> {
        let one = |subject: &render::PartSubject<'a>| {
            let mut notes = Notes::new();
            let drawn = render::draw(*subject, &mut notes);
            let part = drawn.to_part();
            if !matches!(subject, render::PartSubject::Cluster(plan) if checks.baseline.contains(plan, &part))
            {
                check_part(*subject, &drawn, checks.classes, input, &mut notes);
                if let render::PartSubject::Cluster(plan) = subject {
                    check::check_sizes(plan, &drawn, &part, &mut notes);
                }
            }
            notes.locate(|origin| input.sources.place(origin));
            DrawnPart { identities: check::Identities::of(&drawn), part, notes }
        };
        chunk.par_iter().map(one).collect()
    };
    let mut taker = Taker { planned, index, receiver, notes };
    let mut chunks = subjects.chunks(AT_A_TIME);
    let mut next = chunks.next().map(|chunk| (chunk, draw_all(chunk)));
    let mut done = 0;
    while let Some((chunk, drawn)) = next.take() {
        let following = chunks.next();
        // Taking parts uses one thread; the others draw the next batch meanwhile.
        rayon::in_place_scope(|scope| {
            if let Some(following) = following {
                scope.spawn(|_| next = Some((following, draw_all(following))));
            }
            taker.take(chunk, drawn)
        })?;
        done += chunk.len();
        progress(done, subjects.len());
    }
    Ok(())
}

/// Draws parts that were already checked, a batch at a time.
pub(super) fn draw_checked(
    subjects: &[render::PartSubject<'_>],
    mut hand_over: impl FnMut(Vec<Part>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let one = |subject: &render::PartSubject<'_>| render::draw(*subject, &mut Notes::new()).to_part();
    subjects.chunks(AT_A_TIME).try_for_each(|chunk| hand_over(chunk.par_iter().map(one).collect()))
}

struct DrawnPart {
    identities: check::Identities,
    part: Part,
    notes: Notes,
}

/// Takes drawn parts in order: finds objects that occur twice, and passes the parts on.
struct Taker<'a, 's> {
    planned: &'a Planned,
    index: &'s mut check::Index,
    receiver: &'s mut dyn Receiver<'a>,
    notes: &'s mut Notes,
}

impl<'a> Taker<'a, '_> {
    fn take(&mut self, subjects: &[render::PartSubject<'a>], made: Vec<DrawnPart>) -> Result<(), Fault> {
        let mut checked = Vec::with_capacity(made.len());
        for (subject, DrawnPart { identities, part, notes }) in subjects.iter().zip(made) {
            let mut twice = Notes::new();
            self.index.add(identities, &mut twice);
            self.planned.fleet.locate(&mut twice);
            // An error that an earlier part has, too, is not counted again among all messages.
            let has_errors = notes.errors() + twice.errors() > 0;
            self.notes.append(concerning(*subject, &self.planned.plan, notes));
            self.notes.append(twice);
            checked.push(CheckedPart { subject: *subject, part, has_errors });
        }
        self.receiver.receive(checked, self.notes)
    }
}

/// Draws and checks a part, and keeps only the messages.
pub(super) fn draw_for_messages(
    subject: render::PartSubject<'_>,
    classes: &check::Classes,
    input: &Input,
) -> Notes {
    let mut notes = Notes::new();
    let drawn = render::draw(subject, &mut notes);
    check_part(subject, &drawn, classes, input, &mut notes);
    notes.locate(|origin| input.sources.place(origin));
    notes
}

fn check_part(
    subject: render::PartSubject<'_>,
    drawn: &render::Drawn,
    classes: &check::Classes,
    input: &Input,
    notes: &mut Notes,
) {
    let texts = check::Texts::from(input);
    match subject {
        render::PartSubject::Release(release) => check::release(release, classes, texts, notes),
        render::PartSubject::Cluster(plan) => check::cluster(plan, drawn, classes, texts, notes),
        render::PartSubject::Root => check::shared(texts, notes),
        render::PartSubject::Management(plan, one) => check::management(plan, one, texts, notes),
        render::PartSubject::Namespace(_) => {}
    }
    check::objects(drawn, texts, notes);
}

/// Adds the affected clusters to messages about a part.
fn concerning(subject: render::PartSubject<'_>, plan: &Plan, mut notes: Notes) -> Notes {
    if notes.is_empty() {
        return notes;
    }
    match subject {
        render::PartSubject::Root | render::PartSubject::Management(..) => {}
        render::PartSubject::Cluster(one) => notes.concern(&one.cluster.full_name()),
        render::PartSubject::Release(_) | render::PartSubject::Namespace(_) => {
            let made = plan.clusters.iter().filter(|one| is_made_from(one, subject));
            made.for_each(|one| notes.concern(&one.cluster.full_name()));
        }
    }
    notes
}

/// Reports whether a cluster needs the part of a release or a namespace.
fn is_made_from(one: &ClusterPlan, subject: render::PartSubject<'_>) -> bool {
    match subject {
        render::PartSubject::Root | render::PartSubject::Management(..) => false,
        render::PartSubject::Release(release) => one.release.name == release.name,
        render::PartSubject::Namespace(namespace) => {
            let cluster = &one.cluster;
            cluster.namespace == namespace.name && cluster.management.name == namespace.management.name
        }
        render::PartSubject::Cluster(plan) => std::ptr::eq(one, plan),
    }
}

/// The definitions behind a part, each with the reason to report if the part has errors.
pub(super) fn definitions_of(subject: render::PartSubject<'_>, plan: &Plan) -> Vec<partial::Faulty> {
    let why = match subject {
        render::PartSubject::Root | render::PartSubject::Management(..) => return Vec::new(),
        render::PartSubject::Release(release) => format!("its release `{}` has errors", release.name),
        render::PartSubject::Namespace(namespace) => format!("its namespace `{}` has errors", namespace.name),
        render::PartSubject::Cluster(_) => "the objects generated for it have errors".to_owned(),
    };
    let made = plan.clusters.iter().filter(|one| is_made_from(one, subject));
    made.map(|one| (one.cluster.file.to_string(), why.clone())).collect()
}
