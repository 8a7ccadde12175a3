//! `stackloom watch`.

use std::time::Duration;

use serde_json::{Value as Json, json};

use super::{
    Done, Exit, Global, Printer,
    generate::document,
    printer::{counted, short_id, whole},
    progress::Progress,
};
use crate::{
    check::without_secrets,
    commit_message,
    generate::Generation,
    io::{disk::DiskSink, git::CommitSink, watch::Watcher},
    note::{Fault, Notes},
    tree::Sink,
    watch::{self, WatchEvent},
};

/// Write generated/ again whenever a definition changes, until it is stopped
///
/// Prints one line per run to standard output. Prints errors in full to standard error, and continues.
///
/// A run starts when the content of the sources differs from that of the last run: stackloom.yaml,
/// stackloom.lock, stacks/, clusters/, rollouts/, charts/values/ or a numbered release. Output in generated/
/// starts no run. Handles editors that save by renaming, new folders and `git checkout`. A definition that
/// disappears counts as deleted after 0.7 seconds.
///
/// SIGINT (Ctrl-C) and SIGTERM end it with exit code 0. A run in progress either stops before anything is
/// visible, or finishes.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  stackloom watch\n  stackloom watch --commit                          # commit each good state\n  stackloom watch --poll 2                          # on network file systems, which report no changes\n  stackloom watch --format json | jq -c '.summary'  # one object per run, each on a line"
)]
pub(super) struct Args {
    /// Commit generated/, and nothing else, after each run that changes it
    #[arg(long)]
    commit: bool,
    /// Look for changes every SECONDS seconds, instead of waiting for events of the operating system
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    poll: Option<u64>,
}

pub(super) fn run(args: &Args, global: &Global, printer: &Printer) -> Done {
    let world = match super::fleet_here(global, printer)? {
        Ok(world) => world,
        Err(exit) => return Ok(exit),
    };
    let mut open = || -> Result<Box<dyn Sink>, Fault> {
        if args.commit {
            Ok(Box::new(CommitSink::open(&world)?))
        } else {
            Ok(Box::new(DiskSink::new(&world)))
        }
    };
    // Reports at once what can never work.
    drop(open()?);
    let mut watcher = Watcher::new(&world, args.poll.map(Duration::from_secs))?;
    printer.talk("watching the definitions; Ctrl-C ends it");
    let progress = Progress::new(printer, "Generating");
    let mut teller = Teller { printer, last: String::new() };
    watch::watch(&world, &mut watcher, &mut open, &|done, all| progress.at(done, all), &mut |what| {
        progress.end();
        teller.tell(what);
    });
    progress.end();
    Ok(Exit::Done)
}

/// Reports the results of runs.
struct Teller<'a> {
    printer: &'a Printer,
    /// The messages reported last; equal ones are not repeated.
    last: String,
}

impl Teller<'_> {
    fn tell(&mut self, what: WatchEvent) {
        match what {
            WatchEvent::Done(generation, notes) => {
                self.notes(&notes);
                self.printer.result(&line(&generation));
                self.record(Exit::Done, &notes, document(&generation));
            }
            WatchEvent::Faulty(notes) => {
                self.notes(&notes);
                self.record(Exit::Input, &notes, json!({}));
            }
            WatchEvent::Refused(fault) => self.fault(&fault, "retrying until it works, or something changes"),
            WatchEvent::Deaf(fault) => self.fault(&fault, "until then, it checks every 2 seconds"),
        }
    }

    fn notes(&mut self, notes: &Notes) {
        let all = notes.sorted();
        let text = if all.is_empty() { String::new() } else { format!("{all:?}") };
        if text != self.last {
            self.printer.notes(notes);
            self.last = text;
        } else if notes.errors() > 0 {
            self.printer
                .talk(&format!("still the same {}; nothing was written", counted(notes.errors(), "error")));
            return;
        }
        if notes.errors() > 0 {
            self.printer.talk("nothing was written");
        }
    }

    fn record(&self, exit: Exit, notes: &Notes, more: Json) {
        let mut record = json!({ "diagnostics": without_secrets(notes).sorted() });
        if let (Some(record), Json::Object(more)) = (record.as_object_mut(), more) {
            record.extend(more);
        }
        self.printer.record(exit, record);
    }

    fn fault(&mut self, fault: &Fault, then: &str) {
        self.last.clear();
        if self.printer.is_document() {
            self.printer.record(Exit::World, json!({ "fault": whole(fault), "hints": fault.hints() }));
        } else {
            self.printer.fault(fault);
            self.printer.talk(then);
        }
    }
}

/// Summarises a run in one line: the changed clusters and releases, if they can be named.
fn line(generation: &Generation) -> String {
    let changes = &generation.changes;
    let repaired = changes.repaired.len();
    if changes.is_empty() && repaired > 0 {
        return format!("{} of generated/ written again; nothing to commit", counted(repaired, "file"));
    }
    if changes.is_empty() {
        return "nothing changes in generated/".to_owned();
    }
    let message = commit_message::generated(changes);
    let subject = message.lines().next().unwrap_or_default();
    let what = subject.strip_prefix("generate: ").unwrap_or(subject);
    let files = counted(changes.files.len(), "file");
    match &changes.commit {
        Some(commit) => format!("{what} ({files}, {})", short_id(commit)),
        None => format!("{what} ({files})"),
    }
}
