//! The stages up to the plan. Every command uses their combined result.

use std::collections::BTreeSet;

use crate::{
    definition::{self, Definitions, Model},
    model::{Cluster, Fleet},
    note::{Fault, Halted, Notes, Severity},
    partial::{self, LeftOut, Scope},
    plan::{self, Plan},
    release::{self, Releases},
    resolve::{self, Resolution},
    rollout,
    template::Recorder,
    world::{Input, World},
    yaml::Sources,
};

use super::partial_runs::settle;

/// Why a run ended without a result.
#[derive(Debug)]
pub enum Failure {
    /// The input has errors; the notes contain them.
    Input,
    /// Access to the outside world failed.
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

/// A fleet up to its releases: its definitions, their meaning, and the releases that clusters can use.
#[derive(Debug)]
pub struct Understood {
    pub input: Input,
    /// The definitions as written.
    pub definitions: Definitions,
    /// The meaning of the definitions.
    pub model: Model,
    /// The exact versions that its stacks have.
    pub resolution: Resolution,
    /// The releases that clusters can use.
    pub releases: Releases,
}

/// A fleet up to its plan.
#[derive(Debug)]
pub struct Planned {
    /// The results of the earlier stages.
    pub fleet: Understood,
    /// All parts to make.
    pub plan: Plan,
}

impl Understood {
    /// Runs the stages up to the releases, with definitions that were already parsed from an input.
    pub fn of(input: Input, definitions: Definitions, notes: &mut Notes) -> Result<Self, Halted> {
        let model = definition::lower(&definitions, &input, &program_version(), notes)?;
        let made = resolve::resolve(&model, notes).and_then(|resolution| {
            let releases = release::releases(&model, &resolution, &input, notes)?;
            Ok((resolution, releases))
        });
        notes.locate(|origin| input.sources.place(origin));
        let (resolution, releases) = made?;
        Ok(Self { input, definitions, model, resolution, releases })
    }

    /// Parses an input and runs the stages up to the releases; `narrow` may remove clusters.
    pub(super) fn narrowed(
        input: Input,
        notes: &mut Notes,
        narrow: impl FnOnce(&mut Definitions, &mut Notes),
    ) -> Result<Self, Halted> {
        let is_unread = notes.errors() > 0;
        let mut definitions = definition::parse(&input, notes);
        if is_unread {
            // The content of an unreadable file is unknown, and everything that refers to it would be reported as missing.
            return Err(notes.halted());
        }
        narrow(&mut definitions, notes);
        Self::of(input, definitions, notes)
    }

    /// Plans a single cluster, which may be a modified one. The plan of shared parts covers this cluster only.
    pub fn planned_alone(&self, cluster: Cluster, notes: &mut Notes) -> Result<Plan, Halted> {
        let alone = Model { clusters: vec![cluster], ..self.model.clone() };
        let plan = plan::plan(&alone, &self.releases, notes);
        self.locate(notes);
        plan
    }

    /// Warns of numbered releases that differ from their records: used or not, such a release is unknown to a command that does
    /// not plan. The plan makes errors of those that clusters use.
    fn warn_of_changed_releases(&self, notes: &mut Notes) {
        notes.append_as_warnings(self.releases.refused_and_unused(&BTreeSet::new()));
    }

    /// Adds places to the messages of a later stage.
    pub fn locate(&self, notes: &mut Notes) {
        notes.locate(|origin| self.input.sources.place(origin));
    }

    /// Plans everything.
    pub(super) fn plan(&self, notes: &mut Notes) -> Result<Plan, Halted> {
        let plan = plan::plan(&self.model, &self.releases, notes);
        self.locate(notes);
        let mut plan = plan?;
        let used = plan.clusters.iter().map(|one| &one.release);
        plan.lifecycles = release::lifecycles(&self.definitions, used);
        rollout::note_missing_targets(&self.model.rollouts, &self.releases, notes);
        rollout::note_closed_windows(&self.model.rollouts, &self.model.clusters, notes);
        Ok(plan)
    }

    /// Runs the next stage, the plan.
    pub fn planned(self, notes: &mut Notes) -> Result<Planned, Halted> {
        let plan = self.plan(notes)?;
        Ok(Planned { fleet: self, plan })
    }
}

impl Planned {
    /// Drops what only the stages up to the plan need: the plan has the clusters as they are drawn. In a large fleet, that is a
    /// third of the memory.
    pub(super) fn for_drawing(mut self) -> Self {
        self.fleet.definitions.clusters = Vec::new();
        self.fleet.model.clusters = Vec::new();
        self
    }

    /// Repeats the stages from the releases on, with a recorder of the values that the templates of classes read. Messages are
    /// not repeated.
    pub fn recorded(self, recorder: &Recorder) -> Result<Self, Halted> {
        let mut quiet = Notes::new();
        let Self { fleet: Understood { input, definitions, model, resolution, releases }, plan } = self;
        // The plan of a large fleet needs much memory, and a new one is made below.
        drop((releases, plan));
        let releases = release::releases_recorded(&model, &resolution, &input, Some(recorder), &mut quiet)?;
        Understood { input, definitions, model, resolution, releases }.planned(&mut quiet)
    }
}

/// Reads only the fleet and its management clusters, without stacks and clusters.
pub fn fleet(input: &Input, notes: &mut Notes) -> Result<Fleet, Halted> {
    let own = |path: &str| path == "stackloom.yaml";
    let sources = input.sources.iter().filter(|source| own(&source.path));
    let sources = sources.map(|source| (source.path.to_string(), source.text.to_string())).collect();
    let alone = Input { sources: Sources::new(sources), folder: input.folder.clone(), ..Input::default() };
    let definitions = definition::parse(&alone, notes);
    Ok(definition::lower(&definitions, &alone, &program_version(), notes)?.fleet)
}

/// Runs the stages up to the releases.
pub fn understand(world: &dyn World, notes: &mut Notes) -> Result<Understood, Failure> {
    let input = world.read(notes)?;
    let understood = Understood::narrowed(input, notes, |_, _| {})?;
    understood.warn_of_changed_releases(notes);
    Ok(understood)
}

/// Runs the stages up to the plan.
pub fn prepare(world: &dyn World, notes: &mut Notes) -> Result<Planned, Failure> {
    let input = world.read(notes)?;
    Ok(Understood::narrowed(input, notes, |_, _| {})?.planned(notes)?)
}

/// Like [`understand`], but skips everything with errors; for commands that need only a part of the fleet.
pub fn understand_sound(world: &dyn World, notes: &mut Notes) -> Result<(Understood, LeftOut), Failure> {
    let (understood, left) = sound(world, notes, |understood, _| Ok(understood))?;
    understood.warn_of_changed_releases(notes);
    Ok((understood, left))
}

/// Like [`prepare`], but skips everything with errors.
pub fn prepare_sound(world: &dyn World, notes: &mut Notes) -> Result<(Planned, LeftOut), Failure> {
    sound(world, notes, Understood::planned)
}

/// Runs the stages up to the releases and one more, and skips everything with errors.
fn sound<T>(
    world: &dyn World,
    notes: &mut Notes,
    next: impl Fn(Understood, &mut Notes) -> Result<T, Halted>,
) -> Result<(T, LeftOut), Failure> {
    let mut read = Notes::new();
    let input = world.read(&mut read)?;
    let (mut found, scope) = (Notes::new(), everything_sound());
    let settled = partial::settle(&input, &scope, read, &[], &mut found, |input, excluded, notes| {
        let narrow =
            |definitions: &mut _, notes: &mut _| partial::narrow(definitions, &scope, excluded, notes);
        let understood = Understood::narrowed(input, notes, narrow);
        (understood.and_then(|understood| next(understood, notes)).ok(), Vec::new())
    });
    match settled {
        Some((made, left)) => Ok((made, LeftOut::new(left, &found, notes))),
        None => {
            notes.append(found);
            Err(Failure::Input)
        }
    }
}

fn everything_sound() -> Scope {
    Scope { keep_going: true, ..Scope::default() }
}

/// Runs the stages up to the plan. If a stage halts, the remaining stages process everything without errors, so that one run
/// reports all errors of all files.
pub(super) fn prepare_all(world: &dyn World, notes: &mut Notes) -> Result<Planned, Failure> {
    let mut read = Notes::new();
    let input = world.read(&mut read)?;
    let mut found = read.clone();
    let planned = Understood::narrowed(input.clone(), &mut found, |_, _| {});
    let planned = planned.and_then(|understood| understood.planned(&mut found));
    if planned.is_err() {
        let mut all = Notes::new();
        settle(&input, &everything_sound(), read, &mut all);
        // The second run repeats the first one's errors. Its warnings about the remaining parts may not apply to the whole,
        // so they are dropped.
        let of = |notes: &Notes, severity| {
            notes.iter().filter(|note| note.severity == severity).cloned().collect::<Vec<_>>()
        };
        let reported = [of(&all, Severity::Error), of(&found, Severity::Warning)].concat();
        found = Notes::new();
        for note in reported {
            found.push(note);
        }
    }
    notes.append(found);
    Ok(planned?.for_drawing())
}

pub fn program_version() -> semver::Version {
    semver::Version::parse(env!("CARGO_PKG_VERSION")).expect("Cargo accepts no other version of a package")
}
