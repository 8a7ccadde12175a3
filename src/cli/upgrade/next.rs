//! `stackloom upgrade next`.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use super::{
    document,
    group::{self, Shown, State},
    plan::Outcome,
    start::Start,
    text,
    which::Which,
};
use crate::{
    cli::{
        Done, Exit, Global, Printer, changed, cluster::ClusterName, generate as generated, input_or_world,
        printer::counted, printer::short_id, progress::Progress,
    },
    generate::{self, Failure, Generation, Understood},
    io::{
        disk::{self, DiskSink, Workspace},
        git::{CommitSink, Repository},
    },
    model::ClusterId,
    note::{Fault, Notes},
    tree::Sink,
    upgrade::{self, Answer, Edits, Fleet, Planned, Taken, ToldChange, after},
    world::{AlreadyRead, Held},
};

/// Take the next step of the plan: edit definitions, and generate
///
/// The first step of each cluster's plan, as `stackloom upgrade plan` shows it: the release or the version of one addon changes
/// in the definition. The defaults of a folder change if all clusters that take the value from them make the same step;
/// otherwise the definitions of those that make it say so themselves. Comments, order and layout stay.
///
/// An addon that stays behind during an upgrade gets an `interimVersion`, which a later step removes. A `version` that you wrote
/// stays, unless the plan has to change it.
///
/// Suspended clusters stay as they are. So do clusters without a plan, and those whose step would be refused; the exit code is
/// then 1. If a check fails, nothing is written.
///
/// A step needs time: push it, wait until it is rolled out, and run the command again for the one after it. A step is refused
/// while the definitions that it changes differ from the last commit, and while what was committed for its clusters is not on the
/// branch that the engine reads: the engine would apply both at once.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  stackloom upgrade next --dry-run                       # what would the next step be?\n  stackloom upgrade next --selector env=dev --commit\n  stackloom upgrade next prod-eu-1 --to-kubernetes 1.36\n\nExit codes: 0 done, or nothing to do; 1 a cluster has no plan, or its step would be refused"
)]
pub(super) struct Args {
    #[command(flatten)]
    which: Which,
    /// Commit the definitions and generated/ in one commit; everything else in the repository must be committed
    #[arg(long)]
    commit: bool,
    /// Show the edits, write nothing
    #[arg(long, conflicts_with = "commit")]
    dry_run: bool,
}

/// What was found to do.
struct Found {
    outcome: Outcome,
    edits: Edits,
    /// The fleet with the edits.
    edited: Held,
    /// Suspended clusters, which take no step.
    suspended: BTreeSet<ClusterId>,
}

pub(super) fn run(args: &Args, global: &Global, printer: &Printer) -> Done {
    let world = crate::cli::fleet(global, printer)?;
    let mut notes = Notes::new();
    let found = find(args, &world, &mut notes);
    let found = match found {
        Ok(found) => found,
        Err(failure) => return failed(failure, &notes, printer),
    };
    let exit = found.outcome.exit;
    if args.dry_run || found.edits.files.is_empty() {
        printer.notes(&notes);
        report(args, &found, None, printer);
        printer.document(exit, &notes, document(args, &found, None));
        return Ok(exit);
    }
    match write(args, &world, &found, printer, &mut notes) {
        Ok(generation) => {
            printer.notes(&notes);
            report(args, &found, Some(&generation), printer);
            printer.document(exit, &notes, document(args, &found, Some(&generation)));
            Ok(exit)
        }
        Err(failure) => failed(failure, &notes, printer),
    }
}

fn failed(failure: Failure, notes: &Notes, printer: &Printer) -> Done {
    printer.notes(notes);
    let exit = input_or_world(failure)?;
    printer.talk("nothing was written");
    printer.document(exit, notes, json!({}));
    Ok(exit)
}

fn find(args: &Args, world: &Workspace, notes: &mut Notes) -> Result<Found, Failure> {
    let held = Held::read(world)?;
    let (understood, left) = generate::understand_sound(&held, notes)?;
    args.which.note_unknown(&understood, &left, notes);
    left.warn(notes);
    let target = args.which.target(&understood.releases, notes);
    let Some(target) = notes.halt(target)? else { return Err(Failure::from(notes.halted())) };
    let Understood { input, model, releases, .. } = &understood;
    let through_expired = args.which.through_expired;
    let fleet = Fleet { model, releases, input, target: &target, through_expired };
    let solved = fleet.solve(&args.which.chosen(&target, &understood));
    let mut planned = Vec::new();
    for one in &solved {
        if let Answer::Plan { open, plan, .. } = &one.answer {
            let first = plan.steps.get(..1).unwrap_or_default();
            let clusters = one.clusters.iter().copied();
            planned.extend(clusters.map(|cluster| Planned { cluster, open, steps: first }));
        }
    }
    let rollouts = fleet.rollouts(&planned)?;
    let groups = group::groups(&solved, &rollouts, input);
    let exit = if group::note_faults(&groups, notes) { Exit::Input } else { Exit::Done };
    let mut suspended = BTreeSet::new();
    let mut taken = Vec::new();
    for one in &planned {
        let cluster = one.cluster.id();
        let Some(step) = one.steps.first() else { continue };
        if one.cluster.suspend.is_some() {
            suspended.insert(cluster);
        } else if rollouts.get(&cluster).and_then(|all| all.first()).is_none_or(|one| one.refused.is_none()) {
            taken.push(Taken { before: one.cluster, after: after(one.cluster, one, step, &fleet) });
        }
    }
    let edits = edited(args, world, (&understood, &held), &taken, notes)?;
    let edited = Held { input: upgrade::with_edits(&held.input, &edits), notes: held.notes.clone() };
    Ok(Found { outcome: Outcome { groups, left, exit }, edits, edited, suspended })
}

/// The edits, which mean what the steps ask for.
fn edited(
    args: &Args,
    world: &Workspace,
    (understood, held): (&Understood, &Held),
    taken: &[Taken<'_>],
    notes: &mut Notes,
) -> Result<Edits, Failure> {
    let mut found = Notes::new();
    let edits = upgrade::edits(understood, &held.input, taken, &mut found);
    let faulty = found.errors() > 0;
    notes.append(found);
    let Some(edits) = edits.filter(|_| !faulty) else { return Err(Failure::Input) };
    if !args.dry_run
        && let Some(repository) = Repository::find(world)?
    {
        let start =
            Start { repository: &repository, input: &held.input, edits: &edits, is_commit: args.commit };
        start.refuse_uncommitted(notes)?;
        start.refuse_unpushed(understood, notes)?;
    }
    let after = Held { input: upgrade::with_edits(&held.input, &edits), notes: held.notes.clone() };
    let mut found = Notes::new();
    let (after, _) = generate::understand_sound(&after, &mut found)?;
    let mut found = Notes::new();
    upgrade::check_edits(understood, taken, &after, &mut found);
    let faulty = found.errors() > 0;
    notes.append(found);
    if faulty { Err(Failure::Input) } else { Ok(edits) }
}

/// Writes the definitions, then the tree; if that fails, the definitions are put back.
fn write(
    args: &Args,
    world: &Workspace,
    found: &Found,
    printer: &Printer,
    notes: &mut Notes,
) -> Result<Generation, Failure> {
    let all = |text: fn(&upgrade::Edited) -> &str| -> Result<(), Fault> {
        found.edits.files.iter().try_for_each(|one| disk::replace(&world.root().join(&one.file), text(one)))
    };
    let done = all(|one| &one.after).map_err(Failure::from).and_then(|()| {
        let sink: Box<dyn Sink> = if args.commit {
            let message = message(&found.outcome.groups, found);
            Box::new(CommitSink::open(world)?.with_subject(&message).with_sources(&found.edited.input))
        } else {
            Box::new(DiskSink::new(world))
        };
        generated_into(sink, found, printer, notes)
    });
    if done.is_err() {
        all(|one| &one.before)?;
    }
    done
}

fn generated_into(
    mut sink: Box<dyn Sink>,
    found: &Found,
    printer: &Printer,
    notes: &mut Notes,
) -> Result<Generation, Failure> {
    let progress = Progress::new(printer, "Generating");
    let tell = |done, all| progress.at(done, all);
    let source = AlreadyRead::new(found.edited.input.clone(), found.edited.notes.clone());
    let mut own = Notes::new();
    let done = generate::generate(&source, sink.as_mut(), &tell, &mut own);
    progress.end();
    notes.append(own);
    done
}

/// What a commit says: what changes, and why.
fn message(groups: &[Shown], found: &Found) -> String {
    let clusters: BTreeSet<&ClusterId> = found.edits.files.iter().flat_map(|one| &one.clusters).collect();
    let who = match clusters.first() {
        Some(one) if clusters.len() == 1 => one.to_string(),
        _ => counted(clusters.len(), "cluster"),
    };
    let mut steps = Vec::new();
    for group in groups {
        let State::Plan(all) = &group.state else { continue };
        let Some(step) = all.first().filter(|_| group.clusters.iter().any(|one| clusters.contains(one)))
        else {
            continue;
        };
        let what = match &step.told.change {
            ToldChange::Release { after, .. } => after.clone(),
            ToldChange::Addon { addon, after, .. } => format!("{addon} {after}"),
        };
        steps.push((what, format!("{}: {}", text::title(&step.told.change), step.reason)));
    }
    let whats: BTreeSet<&str> = steps.iter().map(|(what, _)| what.as_str()).collect();
    let subject = match whats.first() {
        Some(one) if whats.len() == 1 => format!("upgrade {who} to {one}"),
        _ => format!("upgrade {who}, each by its next step"),
    };
    let reasons: BTreeSet<&str> = steps.iter().map(|(_, why)| why.as_str()).collect();
    format!("{subject}\n\n{}\n", reasons.into_iter().collect::<Vec<_>>().join("\n"))
}

/// Files whose lines are shown unless all are asked for.
const SHOWN: usize = 10;

fn report(args: &Args, found: &Found, generation: Option<&Generation>, printer: &Printer) {
    for line in text::next(&found.outcome.groups, printer.is_verbose()) {
        printer.result(&line);
    }
    if !found.suspended.is_empty() {
        let clusters = counted(found.suspended.len(), "cluster");
        printer.result(&format!("left as they are: {clusters}, suspended"));
    }
    let files = &found.edits.files;
    let shown = if printer.is_verbose() { files.len() } else { files.len().min(SHOWN) };
    for file in &files[..shown] {
        printer.result(&format!("{}: {}", file.file, counted(file.clusters.len(), "cluster")));
        for line in changed::lines(&file.before, &file.after) {
            printer.result(&format!("  {line}"));
        }
    }
    if files.len() > shown {
        printer.result(&format!("… and {} more files (--verbose shows all)", files.len() - shown));
    }
    for defaults in &found.edits.overruled {
        printer.result(&format!(
            "{defaults} stays as it is: some clusters that take the value from it do not take this step"
        ));
    }
    match generation {
        _ if files.is_empty() => {}
        None => {
            debug_assert!(args.dry_run, "what is not a dry run was generated");
            printer.result("nothing was written; to take the step: the same command without --dry-run");
        }
        Some(generation) => {
            let count = counted(generation.changes.files.len(), "generated file");
            match &generation.changes.commit {
                Some(commit) => {
                    printer.result(&format!("{count} changed; committed as {}", short_id(commit)));
                    printer.result("next:\n  stackloom diff HEAD^ HEAD\n  git push");
                }
                None => {
                    printer.result(&format!("{count} changed"));
                    printer
                        .result("next:\n  stackloom diff\n  stackloom generate --commit --all\n  git push");
                }
            }
            printer.result("  when it is rolled out: the same command for the step after it");
        }
    }
}

fn document(args: &Args, found: &Found, generation: Option<&Generation>) -> Json {
    let file = |file: &upgrade::Edited| {
        json!({
            "file": file.file,
            "clusters": ClusterName::all(&file.clusters),
            "lines": changed::lines(&file.before, &file.after),
            "text": file.after,
        })
    };
    let mut document = document::document(&found.outcome, &args.which.asked());
    document["files"] = found.edits.files.iter().map(file).collect();
    document["overruled"] = json!(found.edits.overruled);
    document["suspended"] = json!(ClusterName::all(&found.suspended));
    document["written"] = json!(generation.is_some());
    document["generated"] = generation.map(generated::document).unwrap_or_default();
    document
}
