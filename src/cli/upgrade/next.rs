//! `stackloom upgrade next`.

use serde_json::{Value as Json, json};

use super::{
    next_step::{self, Found, Mode},
    plan_document, plan_text,
    propose::{self, Subject},
    selection::Selection,
};
use crate::{
    cli::{
        Done, Global, Printer, changed, cluster::ClusterName, generate as generated, input_or_world,
        printer::counted, printer::short_id, today::Now,
    },
    generate::{Failure, Generation},
    io::disk::Workspace,
    note::Notes,
    pull_request::Wish,
    upgrade,
};

/// Take the next step of the plan: edit definitions, and generate
///
/// Takes the first step of each cluster's plan, as `stackloom upgrade plan` shows it: changes the release, or
/// the version of one addon, in the definition. Changes the defaults of a folder if all clusters that take
/// the value from them make the same step; otherwise the definitions of the clusters that make it override
/// the defaults. Comments, order and layout stay.
///
/// An addon that stays behind during an upgrade gets an `interimVersion`, which a later step removes. A
/// `version` that you wrote stays, unless the plan has to change it.
///
/// Leaves clusters alone that are suspended, held, or outside of their maintenance windows. Also leaves out clusters without a plan, and those whose step
/// would be refused; the exit code is then 1. If a check fails, writes nothing.
///
/// A step takes time: push it, wait until it is rolled out, and run the command again for the next one. A
/// step is refused while the definitions that it changes differ from the last commit, or while an earlier
/// commit for its clusters is not on the branch that the engine reads: the engine would apply both at once.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  stackloom upgrade next --dry-run                       # show the next step\n  stackloom upgrade next --selector env=dev --commit\n  stackloom upgrade next prod-eu-1 --to-kubernetes 1.36\n  stackloom upgrade next --selector env=prod --pr        # for a job that runs every morning\n\nExit codes: 0 done, or nothing to do; 1 a cluster has no plan, or its step would be refused"
)]
pub(super) struct Args {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    now: Now,
    /// Commit the definitions and generated/ in one commit; all other sources must be committed, and files that stackloom does not read stay as they are
    #[arg(long)]
    commit: bool,
    /// Show the edits, and write nothing; with --pr, also show the branch and the pull request
    #[arg(long, conflicts_with = "commit")]
    dry_run: bool,
    #[command(flatten)]
    propose: propose::Propose,
}

pub(super) fn run(args: &Args, global: &Global, printer: &Printer) -> Done {
    let subject = (&args.selection, args.now);
    if args.propose.pr {
        return propose::run(&args.propose, &subject, args.dry_run, global, printer);
    }
    let world = crate::cli::fleet(global, printer)?;
    take(&subject, args.dry_run, args.commit, &world, printer)
}

/// Takes the next step of the subject.
pub(super) fn take(
    subject: &dyn Subject,
    is_dry: bool,
    is_commit: bool,
    world: &Workspace,
    printer: &Printer,
) -> Done {
    let mut notes = Notes::new();
    let mode = match (is_dry, is_commit) {
        (true, _) => Mode::DryRun,
        (_, true) => Mode::Commit,
        _ => Mode::WorkTree,
    };
    let found = subject.find(mode, world, &mut notes);
    let found = match found {
        Ok(found) => found,
        Err(failure) => return failed(failure, &notes, printer),
    };
    let exit = found.outcome.exit;
    if is_dry || found.edits.files.is_empty() {
        printer.notes(&notes);
        report(&found, None, printer);
        printer.document(exit, &notes, document(&subject.asked(), &found, None));
        return Ok(exit);
    }
    match next_step::write(mode, world, &found, printer, &mut notes) {
        Ok(generation) => {
            printer.notes(&notes);
            report(&found, Some(&generation), printer);
            printer.document(exit, &notes, document(&subject.asked(), &found, Some(&generation)));
            Ok(exit)
        }
        Err(failure) => failed(failure, &notes, printer),
    }
}

pub(super) fn failed(failure: Failure, notes: &Notes, printer: &Printer) -> Done {
    printer.notes(notes);
    let exit = input_or_world(failure)?;
    printer.talk("nothing was written");
    printer.document(exit, notes, json!({}));
    Ok(exit)
}

/// The number of files that are shown with their lines by default.
const SHOWN: usize = 10;

/// Prints the steps, and the lines that they edit.
pub(super) fn edits(found: &Found, printer: &Printer) {
    if let Some(Wish::Nothing(why) | Wish::Later(why) | Wish::Unsure(why)) = &found.idle {
        printer.result(why);
        return;
    }
    if found.outcome.groups.is_empty() && !found.edits.files.is_empty() {
        printer.result(next_step::message(found).lines().next().unwrap_or_default());
    }
    let is_summed = !found.outcome.groups.is_empty() || found.edits.files.is_empty();
    for line in plan_text::next(&found.outcome.groups, printer.is_verbose()).into_iter().filter(|_| is_summed)
    {
        printer.result(&line);
    }
    if !found.suspended.is_empty() {
        let clusters = counted(found.suspended.len(), "cluster");
        printer.result(&format!("left as they are: {clusters}, suspended"));
    }
    let files = &found.edits.files;
    let shown = if printer.is_verbose() { files.len() } else { files.len().min(SHOWN) };
    for file in &files[..shown] {
        let clusters = match file.clusters.len() {
            0 => String::new(),
            count => format!(": {}", counted(count, "cluster")),
        };
        printer.result(&format!("{}{clusters}", file.file));
        for line in changed::lines(&file.before, &file.after) {
            printer.result(&format!("  {line}"));
        }
    }
    if files.len() > shown {
        printer.result(&format!("… and {} more files (--verbose shows all)", files.len() - shown));
    }
    for defaults in &found.edits.overruled {
        printer.result(&format!(
            "{defaults} stays as it is: some clusters that inherit the value from it do not take this step"
        ));
    }
}

fn report(found: &Found, generation: Option<&Generation>, printer: &Printer) {
    edits(found, printer);
    let files = &found.edits.files;
    match generation {
        _ if files.is_empty() => {}
        None => {
            printer.result("nothing was written; to take the step, run the same command without --dry-run");
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
            if !found.outcome.groups.is_empty() {
                printer.result("  once it is rolled out, run the same command for the next step");
            }
        }
    }
}

pub(super) fn document(asked: &Json, found: &Found, generation: Option<&Generation>) -> Json {
    let file = |file: &upgrade::Edited| {
        json!({
            "file": file.file,
            "clusters": ClusterName::all(&file.clusters),
            "lines": changed::lines(&file.before, &file.after),
            "text": file.after,
        })
    };
    let mut document = plan_document::document(&found.outcome, asked);
    document["files"] = found.edits.files.iter().map(file).collect();
    document["overruled"] = json!(found.edits.overruled);
    if let Some(progress) = &found.progress {
        document["rollout"] = progress.clone();
    }
    document["suspended"] = json!(ClusterName::all(&found.suspended));
    document["written"] = json!(generation.is_some());
    document["generated"] = generation.map(generated::document).unwrap_or_default();
    document
}
