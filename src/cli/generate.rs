//! `stackloom generate`.

use serde_json::{Value as Json, json};

use super::{Done, Exit, Global, Printer, input_or_world, printer::counted, progress::Progress};
use crate::{
    generate::{self, Generation},
    io::{
        disk::{CheckSink, DiskSink, Workspace},
        git::CommitSink,
    },
    note::Notes,
    tree::{Changes, FileChange, Sink},
};

/// Write generated/ from the definitions
///
/// Every file below `generated/` is written by the program, and what is no longer meant is removed; a file that is not
/// the program's own is never touched. A fault anywhere means that nothing is written. Generating again changes nothing.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  stackloom generate\n  stackloom generate --commit\n  stackloom generate --check   # in CI, on the merge result"
)]
pub(super) struct Args {
    /// Write nothing; exit with 3 if generated/ is not what the definitions say
    #[arg(long, conflicts_with = "commit")]
    check: bool,
    /// Commit generated/, and only it, in one commit; no change, no commit
    #[arg(long)]
    commit: bool,
}

pub(super) fn run(args: &Args, global: &Global, printer: &Printer) -> Done {
    let world = Workspace::open(&global.directory)?;
    let mut sink: Box<dyn Sink> = if args.check {
        Box::new(CheckSink::new(&world))
    } else if args.commit {
        Box::new(CommitSink::open(&world)?)
    } else {
        Box::new(DiskSink::new(&world))
    };
    let mut notes = Notes::new();
    let progress = Progress::new(printer, "Generating");
    let done = generate::generate(&world, sink.as_mut(), &|done, all| progress.at(done, all), &mut notes);
    progress.end();
    printer.notes(&notes);
    match done {
        Err(failure) => {
            let exit = input_or_world(failure)?;
            printer.talk("nothing was written");
            printer.document(exit, &notes, json!({}));
            Ok(exit)
        }
        Ok(generation) => {
            let exit = if args.check && !generation.changes.is_empty() { Exit::Changes } else { Exit::Done };
            report(args, &generation, printer);
            printer.document(exit, &notes, document(&generation));
            Ok(exit)
        }
    }
}

fn report(args: &Args, generation: &Generation, printer: &Printer) {
    let changes = &generation.changes;
    if printer.is_verbose() || (args.check && !changes.is_empty()) {
        for (path, change) in &changes.files {
            printer.result(&format!("{} {path}", sign(*change)));
        }
    }
    let summary = format!("{}: {}", counted(generation.plan.clusters.len(), "cluster"), files(changes));
    let outcome = match (args.check, changes.is_empty(), &changes.commit) {
        (true, true, _) => format!("{summary}; generated/ is what the definitions say"),
        (true, false, _) => format!("{summary}; run `stackloom generate` and commit what it writes"),
        (false, _, Some(commit)) => format!("{summary}; committed as {}", &commit[..commit.len().min(12)]),
        (false, _, None) if args.commit => format!("{summary}; nothing to commit"),
        (false, ..) => summary,
    };
    printer.result(&outcome);
}

fn sign(change: FileChange) -> char {
    match change {
        FileChange::Added => '+',
        FileChange::Changed => '~',
        FileChange::Removed => '-',
        FileChange::Unchanged => ' ',
    }
}

fn files(changes: &Changes) -> String {
    let count = |change| changes.count(change);
    format!(
        "{} written, {} changed, {} removed, {} unchanged",
        counted(count(FileChange::Added), "file"),
        count(FileChange::Changed),
        count(FileChange::Removed),
        count(FileChange::Unchanged),
    )
}

/// What a machine is told of a run.
pub(super) fn document(generation: &Generation) -> Json {
    let changes = &generation.changes;
    let files: serde_json::Map<_, _> =
        changes.files.iter().map(|(path, change)| (path.to_string(), json!(change))).collect();
    json!({
        "clusters": generation.plan.clusters.len(),
        "summary": {
            "added": changes.count(FileChange::Added),
            "changed": changes.count(FileChange::Changed),
            "removed": changes.count(FileChange::Removed),
            "unchanged": changes.count(FileChange::Unchanged),
        },
        "files": files,
        "commit": changes.commit,
    })
}
