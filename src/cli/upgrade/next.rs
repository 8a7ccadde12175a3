//! `stackloom upgrade next`.

use super::{
    interrupted,
    next_step::{self, Mode},
    next_step_output,
    propose::{self, Subject},
    selection::Selection,
    write_step,
};
use crate::{
    cli::{Done, Global, Printer, printer::counted, printer::short_id, today::Now},
    generate::Generation,
    io::{disk::Workspace, git::Repository},
    note::{Fault, Notes},
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
/// Skips clusters that are suspended, held, or outside of their maintenance windows. Also skips
/// clusters without a plan, and those whose step would be refused, or would leave the definition with errors;
/// the exit code is then 1. A run that fails writes nothing.
///
/// A step takes time: push it, wait until it is rolled out, and run the command again for the next one. A
/// step is refused while the definitions that it changes differ from the last commit, or while an earlier
/// commit for its clusters is not on the branch that the engine reads: the engine would apply both at once.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  stackloom upgrade next --dry-run                       # show the next step\n  stackloom upgrade next --selector env=dev --commit\n  stackloom upgrade next prod-eu-1 --to-kubernetes 1.36\n  stackloom upgrade next --selector env=prod --pr        # for a job that runs every morning\n\nExit codes: 0 done, or nothing to do; 1 a cluster has no plan, its step would be refused, or a definition was skipped because of errors"
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
pub(in crate::cli) fn take(
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
    if !is_dry {
        interrupted::end_step(world, printer)?;
    }
    let found = subject.find(mode, world, &mut notes);
    let found = match found {
        Ok(found) => found,
        Err(failure) => return next_step_output::failed(failure, &notes, printer),
    };
    let exit = found.outcome.exit;
    let written = match mode {
        _ if found.edits.files.is_empty() => Ok(None),
        Mode::DryRun => write_step::rehearse(world, &found, printer, &mut notes).map(|()| None),
        _ => write_step::write(mode, world, &found, printer, &mut notes).map(Some),
    };
    match written {
        Ok(written) => {
            printer.notes(&notes);
            report(&found, written.as_ref(), world, printer)?;
            let document = next_step_output::document(&subject.asked(), &found, written.as_ref());
            printer.document(exit, &notes, document);
            Ok(exit)
        }
        Err(failure) if is_dry => next_step_output::would_fail(failure, &notes, printer),
        Err(failure) => next_step_output::not_taken(failure, &notes, printer),
    }
}

/// The command that pushes the step.
fn push(world: &Workspace) -> Result<String, Fault> {
    let repository = match Repository::find(world)? {
        Some(repository) if repository.is_detached()? => repository,
        _ => return Ok("git push".to_owned()),
    };
    let remote = repository.a_remote().unwrap_or_else(|| "REMOTE".to_owned());
    Ok(format!(
        "git switch --create BRANCH        # HEAD is detached\n  git push --set-upstream {remote} BRANCH"
    ))
}

/// Reports the step: what was written, if anything was, and the command that pushes it.
fn report(
    found: &next_step::FoundStep,
    written: Option<&Generation>,
    world: &Workspace,
    printer: &Printer,
) -> Result<(), Fault> {
    next_step_output::edits(found, printer);
    match written {
        _ if found.edits.files.is_empty() => {}
        None if found.is_stopped => {
            printer.result("nothing was written; the step would not be taken because of the errors");
        }
        None => {
            printer.result("nothing was written; to take the step, run the same command without --dry-run");
        }
        Some(generation) => {
            let push = push(world)?;
            let count = counted(generation.changes.files.len(), "generated file");
            match &generation.changes.commit {
                Some(commit) => {
                    printer.result(&format!("{count} changed; committed as {}", short_id(commit)));
                    printer.result(&format!("next:\n  stackloom diff HEAD^ HEAD\n  {push}"));
                }
                None => {
                    printer.result(&format!("{count} changed"));
                    printer.result(&format!(
                        "next:\n  stackloom diff\n  stackloom generate --commit --all\n  {push}"
                    ));
                }
            }
            if !found.outcome.groups.is_empty() {
                printer.result("  once it is rolled out, run the same command for the next step");
            }
        }
    }
    Ok(())
}
