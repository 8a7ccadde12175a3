//! `stackloom rollout next`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value as Json, json};

use super::{
    Known,
    observe::{Context, Observed, pick},
    standing, status,
};
use crate::{
    cli::{
        Done, Exit, Global, Printer,
        printer::counted,
        upgrade::{
            next as single,
            next_step::{self, FoundStep, Mode, OfRollout, Solution},
            plan::Planning,
            preconditions::Preconditions,
            propose::{self, Propose, Subject},
        },
    },
    edit::{self, Locator},
    generate::{self, Failure, Understood},
    io::{disk::Workspace, git::Repository},
    model::{ClusterId, Rollout, RolloutTarget},
    note::{Notes, Place},
    partial::LeftOut,
    pull_request::Proposal,
    rollout::{Next, Wave, WaveState},
    upgrade::{self, Edited, Edits, PlanResult, Solved, StepChange},
    world::{Snapshot, release_line},
    yaml::{Origin, from_json},
};

/// Take the next step of a rollout: edit definitions, and generate
///
/// Takes the next step for clusters of the open wave, within the limits of the rollout. Works like `stackloom
/// upgrade next`. The first step also freezes the waves and the releases to move to: it writes them into the file of the
/// rollout. A cluster that gets a matching label later does not join, and a newer release is not used.
///
/// Takes no step outside the windows of the rollout, in a freeze, while the previous wave soaks, or while the rollout is
/// paused. Skips clusters that are held, suspended, or outside of their own windows; their wave waits for them.
///
/// Until the rollout is done, `upgrade next` and other rollouts leave its clusters alone. Once all clusters are there, one
/// more run records that.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  stackloom rollout next k136 --dry-run\n  stackloom rollout next k136 --pr --health health.json    # for a job that runs every hour\n\nExit codes: 0 done, or nothing to do yet; 1 a person has to act: a wave has failed, or a cluster cannot take its step"
)]
pub(super) struct Args {
    /// The rollout; required if there are several
    #[arg(value_name = "ROLLOUT")]
    name: Option<String>,
    #[command(flatten)]
    known: Known,
    /// Commit the definitions and generated/ in one commit; all other sources must be committed, and files that stackloom does not read stay as they are
    #[arg(long)]
    commit: bool,
    /// Show the edits, and write nothing; with --pr, also show the branch and the pull request
    #[arg(long, conflicts_with = "commit")]
    dry_run: bool,
    #[command(flatten)]
    propose: Propose,
}

pub(super) fn run(args: &Args, global: &Global, printer: &Printer) -> Done {
    let subject = Of { name: args.name.as_deref(), known: &args.known, printer };
    if args.propose.pr {
        return propose::run(&args.propose, &subject, args.dry_run, global, printer);
    }
    let world = crate::cli::fleet(global, printer)?;
    single::take(&subject, args.dry_run, args.commit, &world, printer)
}

/// The step of a rollout.
struct Of<'a> {
    name: Option<&'a str>,
    known: &'a Known,
    printer: &'a Printer,
}

impl Subject for Of<'_> {
    fn find(&self, mode: Mode, world: &Workspace, notes: &mut Notes) -> Result<FoundStep, Failure> {
        let snapshot = Snapshot::read(world)?;
        let (understood, left) = generate::understand_sound(&snapshot, notes)?;
        left.refuse_rollouts(notes)?;
        left.warn(notes);
        let rollout = pick(&understood, self.name, notes).ok_or(Failure::Input)?;
        let context = Context {
            fleet: &understood,
            has_errors: left.has_definitions(),
            world,
            mode: Some(mode),
            known: self.known,
            printer: self.printer,
        };
        let observed = context.observe(rollout, &snapshot.input, notes)?;
        let errors = notes.errors();
        note_faults(&observed, notes);
        let progress = status::document(&observed);
        let Next::Take(clusters) = &observed.decision.next else {
            let found = idle((&observed, errors), (&understood, &snapshot), left, world, notes)?;
            if matches!(mode, Mode::WorkTree | Mode::Commit) && !found.edits.files.is_empty() {
                refuse_early(&found.edits, &observed, (&understood, &snapshot), world, notes)?;
            }
            return Ok(FoundStep { progress: Some(progress), ..found });
        };
        let also = freeze(rollout, &observed, &snapshot, notes)?;
        let wave = observed
            .seen
            .waves
            .iter()
            .find(|wave| wave.clusters.iter().any(|one| clusters.contains(&one.id)));
        let of = of_rollout(rollout, wave.map(|wave| wave.name.clone()));
        let left_out = standing::left_out(&observed.seen, &observed.decision);
        let solved = only(observed.solved, clusters);
        let named = clusters.iter().cloned().collect();
        let solution = Solution {
            snapshot,
            understood: &understood,
            left,
            solved,
            named,
            also,
            errors,
            needs_commits: true,
        };
        let mut found = next_step::take(solution, mode, world, notes)?;
        (found.of, found.progress, found.left_out) = (Some(of), Some(progress), left_out);
        Ok(found)
    }

    fn branch(&self, found: &FoundStep) -> String {
        let name = found.of.as_ref().map(|of| of.name.as_str()).unwrap_or_default();
        format!("stackloom/rollout/{name}")
    }

    fn command(&self, found: &FoundStep) -> String {
        let name = found.of.as_ref().map(|of| format!(" {}", of.name)).unwrap_or_default();
        let health =
            self.known.health.as_ref().map(|source| format!(" --health {source}")).unwrap_or_default();
        format!("stackloom rollout next{name}{health} --pr")
    }

    fn asked(&self) -> Json {
        json!({ "rollout": self.name })
    }
}

fn of_rollout(rollout: &Rollout, wave: Option<String>) -> OfRollout {
    OfRollout { name: rollout.name.to_string(), wave, reason: rollout.reason.clone() }
}

/// A run without a step. If all clusters are there, it records that.
fn idle(
    (observed, errors): (&Observed<'_>, usize),
    (understood, snapshot): (&Understood, &Snapshot),
    left: LeftOut,
    world: &Workspace,
    notes: &mut Notes,
) -> Result<FoundStep, Failure> {
    let Observed { rollout, decision, .. } = observed;
    let zone = |at: &chrono::DateTime<chrono::Utc>| rollout.calendar.local(*at);
    let why = format!("{}: {}", rollout.name, status::next(&decision.next, &zone));
    let mut edits = Edits::default();
    let idle = match &decision.next {
        Next::Done | Next::Aborted(_) => Proposal::Nothing(why),
        Next::Close => {
            let mut own = Notes::new();
            match fold(observed, (understood, snapshot), world, &mut own) {
                Ok(folded) => edits = folded,
                // What a definition repeats does no harm, and the rollout must not stay open because of it.
                Err(_) => notes.append_as_warnings(own),
            }
            edits.files.push(close(rollout, snapshot, notes)?);
            Proposal::Nothing(why)
        }
        Next::Failed(why) | Next::Blocked(why) => {
            let note = notes.error("rollout-stopped", Place::file(rollout.file.as_str()), why.clone());
            if matches!(decision.next, Next::Failed(_)) {
                note.hint(format!(
                    "once these clusters are done, the rollout goes on; `stackloom rollout status {}` says what they lack",
                    rollout.name
                ));
            }
            match rollout.frozen {
                None => note.hint("the rollout has not begun, so you can still edit its definition"),
                Some(_) => note.hint(format!(
                    "if this rollout cannot go on, end it with `stackloom rollout abort {} --reason REASON`, and write another",
                    rollout.name
                )),
            };
            Proposal::Later(format!("{}: {why}", rollout.name))
        }
        Next::Take(_) | Next::Wait(..) | Next::Paused(_) => Proposal::Later(why),
    };
    let exit = if notes.errors() > errors { Exit::Input } else { Exit::Done };
    let edited =
        Snapshot { input: upgrade::with_edits(&snapshot.input, &edits), notes: snapshot.notes.clone() };
    let idle = Some(idle).filter(|_| edits.files.is_empty());
    let outcome = Planning { groups: Vec::new(), left, exit };
    let (suspended, named) = (BTreeSet::new(), BTreeSet::new());
    Ok(FoundStep {
        outcome,
        edits,
        is_stopped: false,
        edited,
        suspended,
        named,
        of: Some(of_rollout(rollout, None)),
        idle,
        progress: None,
        left_out: BTreeMap::new(),
    })
}

/// Refuses to record the end of a rollout while a step of its clusters is not committed, or not on the branch that the engine
/// reads.
fn refuse_early(
    edits: &Edits,
    observed: &Observed<'_>,
    (understood, snapshot): (&Understood, &Snapshot),
    world: &Workspace,
    notes: &mut Notes,
) -> Result<(), Failure> {
    let Some(repository) = Repository::find(world)? else { return Ok(()) };
    let all = observed.waves.iter().flat_map(|wave| &wave.clusters).map(|cluster| cluster.id());
    let mut edits = edits.clone();
    if let Some(file) = edits.files.last_mut() {
        file.clusters = all.collect();
    }
    let start =
        Preconditions { repository: &repository, input: &snapshot.input, edits: &edits, is_commit: true };
    start.refuse_uncommitted(notes)?;
    start.refuse_unpushed(understood, notes)
}

/// Reports the clusters of the open wave that need a person, while others go on or wait.
fn note_faults(observed: &Observed<'_>, notes: &mut Notes) {
    for (wave, (state, phases)) in observed.seen.waves.iter().zip(&observed.decision.waves) {
        if *state != WaveState::Open || !matches!(observed.decision.next, Next::Take(_) | Next::Wait(..)) {
            continue;
        }
        for (why, clusters) in standing::faults(wave, phases) {
            let who = match clusters.as_slice() {
                [one] => one.to_string(),
                several => format!("{}, such as {}", counted(several.len(), "cluster"), several[0]),
            };
            notes
                .error("cluster-stuck", None, format!("{who} cannot go on: {why}"))
                .hint("the wave waits until this is fixed or the rollout is aborted");
        }
    }
}

/// The part of the solutions that concerns some clusters.
fn only<'a>(solved: Vec<Solved<'a>>, clusters: &[ClusterId]) -> Vec<Solved<'a>> {
    let part = |one: Solved<'a>| {
        let meant = one.clusters.into_iter().filter(|cluster| clusters.contains(&cluster.id())).collect();
        Solved { clusters: meant, ..one }
    };
    solved.into_iter().map(part).filter(|one| !one.clusters.is_empty()).collect()
}

/// Removes what the rollout left in definitions, if the defaults above now set the same. Without the commit before the
/// rollout, it is unknown what people wrote, and everything stays.
fn fold(
    observed: &Observed<'_>,
    (fleet, snapshot): (&Understood, &Snapshot),
    world: &Workspace,
    notes: &mut Notes,
) -> Result<Edits, Failure> {
    let (Some(start), Some(repository)) = (&observed.start, Repository::find(world)?) else {
        return Ok(Edits::default());
    };
    let clusters = observed.waves.iter().flat_map(|wave| &wave.clusters);
    let start = repository.revision(start)?;
    let mut before = BTreeMap::new();
    for cluster in clusters.clone() {
        if let Some(text) = start.file(&cluster.file)? {
            before.insert(cluster.file.to_string(), text);
        }
    }
    let clusters = clusters.map(|cluster| cluster.id()).collect();
    let edits = upgrade::fold(fleet, &snapshot.input, &clusters, &before, notes);
    let edits = edits.ok_or(Failure::Input)?;
    let after =
        Snapshot { input: upgrade::with_edits(&snapshot.input, &edits), notes: snapshot.notes.clone() };
    let (after, _) = generate::understand_sound(&after, &mut Notes::new())?;
    let failed = upgrade::check_edits(fleet, &[], &edits, &after, notes);
    if failed.is_empty() { Ok(edits) } else { Err(Failure::Input) }
}

/// Records in the rollout's file that it is done.
fn close(rollout: &Rollout, snapshot: &Snapshot, notes: &mut Notes) -> Result<Edited, Failure> {
    let Some(source) = snapshot.input.sources.at(&rollout.file) else { return Err(Failure::Input) };
    let done = from_json(&json!(true), Origin::NOWHERE);
    let path = [Locator::Key("status"), Locator::Key("done")];
    let edit = edit::set(source, &path, &done, notes).ok_or(Failure::Input)?;
    let (before, after) = (source.text.to_string(), edit.apply(&source.text));
    Ok(Edited { file: rollout.file.clone(), before, after, clusters: BTreeSet::new() })
}

/// Writes what the rollout keeps to into its file: the target, the waves, and the releases that the plans pass through and lead
/// to. Later, adds only releases of stacks and minors that had none.
fn freeze(
    rollout: &Rollout,
    observed: &Observed<'_>,
    snapshot: &Snapshot,
    notes: &mut Notes,
) -> Result<Vec<Edited>, Failure> {
    let Some(source) = snapshot.input.sources.at(&rollout.file) else { return Err(Failure::Input) };
    let frozen = rollout.frozen.clone().unwrap_or_default();
    let mut releases = frozen.releases.clone();
    releases.extend(observed.solved.iter().flat_map(passed));
    let edit = if rollout.frozen.is_none() {
        let wave = |wave: &Wave<'_>| {
            let names: Vec<String> = wave.clusters.iter().map(|cluster| cluster.full_name()).collect();
            json!({ "name": wave.name, "clusters": names })
        };
        let waves: Vec<Json> = observed.waves.iter().map(wave).collect();
        let target = target(&rollout.target);
        let mut status = json!({ "target": target, "waves": waves });
        if !releases.is_empty() {
            status["releases"] = json!(releases);
        }
        edit::set(source, &[Locator::Key("status")], &from_json(&status, Origin::NOWHERE), notes)
    } else if releases != frozen.releases {
        let path = [Locator::Key("status"), Locator::Key("releases")];
        edit::set(source, &path, &from_json(&json!(releases), Origin::NOWHERE), notes)
    } else {
        return Ok(Vec::new());
    };
    let (before, after) = (source.text.to_string(), edit.ok_or(Failure::Input)?.apply(&source.text));
    Ok(vec![Edited { file: rollout.file.clone(), before, after, clusters: BTreeSet::new() }])
}

/// The releases that a plan moves to, and the one that it ends with. Someone may have moved other clusters elsewhere, which
/// changes no target.
fn passed(solved: &Solved<'_>) -> BTreeSet<String> {
    let PlanResult::Plan { open, plan, .. } = &solved.answer else { return BTreeSet::new() };
    let moves = plan.steps.iter().filter(|step| matches!(step.change, StepChange::Release { .. }));
    let all = moves
        .chain(plan.steps.last())
        .map(|step| release_line(&open.releases[step.release].name).into_owned());
    all.collect()
}

fn target(target: &RolloutTarget) -> Json {
    match target {
        RolloutTarget::Minor(minor) => json!({ "kubernetes": minor.to_string() }),
        RolloutTarget::Release(name) => json!({ "release": name }),
        RolloutTarget::Latest => json!({ "latest": true }),
    }
}
