//! `stackloom rollout next`.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use super::{
    Known,
    look::{Looked, look, pick},
    show,
};
use crate::{
    cli::{
        Done, Exit, Global, Printer,
        upgrade::{
            next as single,
            plan::Outcome,
            propose::{self, Propose, Subject},
            step::{self, Found, Mode, Solution},
        },
    },
    edit::{self, Locator},
    generate::{self, Failure, Understood},
    io::disk::Workspace,
    model::{ClusterId, Rollout},
    note::Notes,
    propose::Wish,
    rollout::{Next, Wave},
    upgrade::{self, Edited, Edits, Solved},
    world::Held,
    yaml::{Node, Origin, from_json},
};

/// Take the next step of a rollout: edit definitions, and generate
///
/// Takes the next step for clusters of the open wave, within the limits of the rollout. Works like `stackloom
/// upgrade next`. The first step also freezes the waves: it writes their clusters into the file of the
/// rollout. A cluster that gets a matching label later does not join.
///
/// Takes no step outside the windows of the rollout, in a freeze, while the previous wave soaks, or while the rollout is
/// paused. Leaves out clusters that are held, suspended, or
/// outside of their own windows; their wave waits for them.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  stackloom rollout next k136 --dry-run\n  stackloom rollout next k136 --pr --health health.json    # for a job that runs every hour"
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
    fn find(&self, mode: Mode, world: &Workspace, notes: &mut Notes) -> Result<Found, Failure> {
        let held = Held::read(world)?;
        let (understood, left) = generate::understand_sound(&held, notes)?;
        left.warn(notes);
        let rollout = pick(&understood, self.name, notes).ok_or(Failure::Input)?;
        let looked =
            look(rollout, (&understood, left.has_definitions()), world, self.known, self.printer, notes)?;
        let zone = |at: &chrono::DateTime<chrono::Utc>| rollout.calendar.local(*at);
        let name = rollout.name.to_string();
        let Next::Take(clusters) = &looked.decision.next else {
            let why = format!("{name}: {}", show::next(&looked.decision.next, &zone));
            let is_over = matches!(looked.decision.next, Next::Done | Next::Aborted(_));
            let idle = Some(if is_over { Wish::Nothing(why) } else { Wish::Unsure(why) });
            let outcome = Outcome { groups: Vec::new(), left, exit: Exit::Done };
            let (suspended, named) = (BTreeSet::new(), BTreeSet::new());
            let edits = match looked.decision.next {
                Next::Done => fold(&looked, &understood, &held, notes)?,
                _ => Edits::default(),
            };
            let edited = Held { input: upgrade::with_edits(&held.input, &edits), notes: held.notes.clone() };
            let idle = idle.filter(|_| edits.files.is_empty());
            return Ok(Found { outcome, edits, edited, suspended, named, of: Some(name), idle });
        };
        let also = freeze(rollout, &looked, &held, notes)?;
        let wave =
            looked.seen.waves.iter().find(|wave| wave.clusters.iter().any(|one| clusters.contains(&one.id)));
        let of = wave.map_or_else(|| name.clone(), |wave| format!("{name}, wave {}", wave.name));
        let solved = only(looked.solved, clusters);
        let (named, errors) = (clusters.iter().cloned().collect(), notes.errors());
        let solution = Solution {
            held,
            understood: &understood,
            left,
            solved,
            named,
            also,
            errors,
            needs_commits: true,
        };
        let mut found = step::take(solution, mode, world, notes)?;
        found.of = Some(of);
        Ok(found)
    }

    fn branch(&self, found: &Found) -> String {
        let name = found.of.as_deref().unwrap_or_default();
        format!("stackloom/rollout/{}", name.split(',').next().unwrap_or_default())
    }

    fn command(&self) -> String {
        let name = self.name.map(|name| format!(" {name}")).unwrap_or_default();
        let health =
            self.known.health.as_ref().map(|source| format!(" --health {source}")).unwrap_or_default();
        format!("stackloom rollout next{name}{health} --pr")
    }

    fn asked(&self) -> Json {
        json!({ "rollout": self.name })
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

/// Removes what an upgrade in waves left in definitions, if the defaults above now set the same.
fn fold(looked: &Looked<'_>, fleet: &Understood, held: &Held, notes: &mut Notes) -> Result<Edits, Failure> {
    let clusters = looked.waves.iter().flat_map(|wave| &wave.clusters).map(|cluster| cluster.id()).collect();
    let edits = upgrade::fold(fleet, &held.input, &clusters, notes).ok_or(Failure::Input)?;
    let after = Held { input: upgrade::with_edits(&held.input, &edits), notes: held.notes.clone() };
    let (after, _) = generate::understand_sound(&after, &mut Notes::new())?;
    let failed = upgrade::check_edits(fleet, &[], &edits, &after, notes);
    if failed.is_empty() { Ok(edits) } else { Err(Failure::Input) }
}

/// Writes the waves into the rollout's file, unless they are already frozen.
fn freeze(
    rollout: &Rollout,
    looked: &Looked<'_>,
    held: &Held,
    notes: &mut Notes,
) -> Result<Vec<Edited>, Failure> {
    if rollout.frozen.is_some() {
        return Ok(Vec::new());
    }
    let Some(source) = held.input.sources.at(&rollout.file) else { return Err(Failure::Input) };
    let wave = |wave: &Wave<'_>| {
        let names: Vec<String> = wave.clusters.iter().map(|cluster| cluster.full_name()).collect();
        json!({ "name": wave.name, "clusters": names })
    };
    let waves: Vec<Json> = looked.waves.iter().map(wave).collect();
    let status: Node = from_json(&json!({ "waves": waves }), Origin::NOWHERE);
    let edit = edit::set(source, &[Locator::Key("status")], &status, notes).ok_or(Failure::Input)?;
    let (before, after) = (source.text.to_string(), edit.apply(&source.text));
    Ok(vec![Edited { file: rollout.file.clone(), before, after, clusters: BTreeSet::new() }])
}
