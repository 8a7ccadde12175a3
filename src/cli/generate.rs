//! `stackloom generate`.

use serde_json::{Value as Json, json};

use super::{
    Done, Exit, Global, Printer,
    cluster::ClusterName,
    input_or_world,
    printer::{counted, short_id},
    progress::Progress,
    upgrade::interrupted::end_step,
};
use crate::{
    generate::{self, Generation},
    io::{
        disk::{CheckSink, DiskSink, Workspace},
        git::CommitSink,
    },
    note::{Fault, Notes, Place},
    partial::Scope,
    tree::{Changes, FileChange, PartId, Sink},
    world::{AlreadyRead, World},
};

/// Write generated/ from the definitions
///
/// Writes the manifests of all clusters to `generated/`, and removes generated files that no definition
/// produces any more. Never changes or removes a file that stackloom did not write. If anything has an error,
/// writes nothing. Generating again changes nothing.
///
/// With `--commit --all`, commits the sources and generated/ as one commit. It contains the sources as they
/// were read (added, changed and deleted files) and generated/, and nothing else. Your other changes stay as
/// they are, staged or not. A source that git ignores is refused.
///
/// With `--keep-going`, skips definitions with errors and writes everything else; the exit code is still 1.
/// With `--only`, writes only the clusters that it names, with the releases and namespaces that they need.
/// Both remove files only from the folders of clusters that they write.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  stackloom generate\n  stackloom generate --commit --all --message \"dev-2: a second cluster\"   # definitions and generated/ in one commit\n  stackloom generate --commit   # generated/ only\n  stackloom generate --check   # in CI, on the merge result\n  stackloom generate --keep-going --commit   # an error of one team does not stop the others\n  stackloom generate --only clusters/prod --only team-a/dev-2"
)]
pub(super) struct Args {
    /// Write nothing; exit with 3 if generated/ is out of date, and with 1 if a numbered release was edited
    #[arg(long, conflicts_with = "commit")]
    check: bool,
    /// Commit generated/, and nothing else, in one commit; if nothing changes, make no commit
    #[arg(long)]
    commit: bool,
    /// With --commit: also commit the sources as they were read (stackloom.yaml, stackloom.lock, stacks/,
    /// clusters/, rollouts/, charts/values/)
    #[arg(short, long, requires = "commit", conflicts_with_all = ["keep_going", "only"])]
    all: bool,
    /// With --commit: the first line of the commit message
    #[arg(short, long, value_name = "TEXT", requires = "commit", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    message: Option<String>,
    /// Skip definitions with errors; write everything else
    #[arg(long)]
    keep_going: bool,
    /// Write only this cluster, or the clusters in this folder; can be repeated
    #[arg(long, value_name = "CLUSTER|FOLDER")]
    only: Vec<String>,
}

pub(super) fn run(args: &Args, global: &Global, printer: &Printer) -> Done {
    let world = match super::fleet_here(global, printer)? {
        Ok(world) => world,
        Err(exit) => return Ok(exit),
    };
    let mut notes = Notes::new();
    if !args.check {
        end_step(&world, printer)?;
    }
    let (mut sink, read) = open(args, &world)?;
    let progress = Progress::new(printer, "Generating");
    let only = args.only.iter().map(|only| named_here(only, &world)).collect();
    let scope = Scope { only, keep_going: args.keep_going, ..Scope::default() };
    let tell = |done, all| progress.at(done, all);
    let source: &dyn World = read.as_ref().map_or(&world as &dyn World, |read| read);
    let done = if scope.is_whole() {
        generate::generate(source, sink.as_mut(), &tell, &mut notes)
    } else {
        generate::generate_some(source, &scope, sink.as_mut(), &tell, &mut notes)
    };
    progress.end();
    if let (true, Ok(generation)) = (args.check, &done) {
        notes.raise(&generation.plan.refused);
    }
    let is_faulty = notes.errors() > 0;
    if let (true, true, Ok(generation)) = (args.check, printer.is_annotated(), &done) {
        note_out_of_date(generation, &mut notes);
    }
    printer.notes(&notes);
    match done {
        Err(failure) => {
            let exit = input_or_world(failure)?;
            printer.talk("nothing was written");
            printer.document(exit, &notes, json!({}));
            Ok(exit)
        }
        Ok(generation) => {
            let exit = match args.check && !generation.changes.is_empty() {
                _ if is_faulty => Exit::Input,
                true => Exit::Changes,
                false => Exit::Done,
            };
            report(args, &generation, is_faulty, printer);
            printer.document(exit, &notes, document(&generation));
            Ok(exit)
        }
    }
}

/// Opens the sink, and reads the sources if they are committed too.
fn open(args: &Args, world: &Workspace) -> Result<(Box<dyn Sink>, Option<AlreadyRead>), Fault> {
    if args.check {
        return Ok((Box::new(CheckSink::new(world)), None));
    }
    if !args.commit {
        return Ok((Box::new(DiskSink::new(world)), None));
    }
    let mut sink = CommitSink::open(world)?;
    if let Some(message) = &args.message {
        sink = sink.with_subject(message);
    }
    if !args.all {
        return Ok((Box::new(sink), None));
    }
    let mut notes = Notes::new();
    let input = world.read(&mut notes)?;
    Ok((Box::new(sink.with_sources(&input)), Some(AlreadyRead::new(input, notes))))
}

/// Resolves a definition or folder to its path from the fleet's root; any other text is the name of a cluster.
fn named_here(only: &str, world: &Workspace) -> String {
    let path = world.file(only);
    if path.starts_with("clusters") && world.holds(&path) { path } else { only.to_owned() }
}

fn report(args: &Args, generation: &Generation, is_faulty: bool, printer: &Printer) {
    let changes = &generation.changes;
    if printer.is_verbose() || (args.check && !changes.is_empty()) {
        for (path, change) in &changes.sources {
            printer.result(&format!("{} {path}", sign(*change)));
        }
        for (path, change) in &changes.files {
            printer.result(&format!("{} {path}", sign(*change)));
        }
    }
    let summary = format!("{}: {}", counted(generation.plan.clusters.len(), "cluster"), files(changes));
    let outcome = match (args.check, changes.is_empty(), &changes.commit) {
        (true, true, _) if is_faulty => {
            format!("{summary}; generated/ matches the definitions, but has errors")
        }
        (true, true, _) if is_whole(args, generation) => {
            format!("{summary}; generated/ is up to date")
        }
        (true, true, _) => format!("{summary}; that part of generated/ is up to date"),
        (true, false, _) => format!("{summary}; run `stackloom generate` and commit what it writes"),
        (false, _, Some(commit)) => {
            let sources = sources(changes);
            format!("{summary}{}{sources}; committed as {}", repaired(changes), short_id(commit))
        }
        (false, _, None) if args.commit => format!("{summary}{}; nothing to commit", repaired(changes)),
        (false, ..) => summary,
    };
    printer.result(&outcome);
    if args.keep_going && args.only.is_empty() && !changes.left.is_empty() {
        printer.talk("not removed, because definitions with errors may still need them:");
        let parts: Vec<_> = changes.left.iter().filter_map(named).collect();
        list(&parts, printer);
    }
    if !generation.left.is_empty() {
        printer.talk(&format!("left as they were: {}", counted(generation.left.len(), "definition")));
        let left: Vec<_> =
            generation.left.iter().map(|left| format!("{}: {}", left.file, left.why)).collect();
        list(&left, printer);
    }
}

/// Prints the first lines of a list, or all with `--verbose`.
fn list(lines: &[String], printer: &Printer) {
    const SHOWN: usize = 10;
    let shown = if printer.is_verbose() { lines.len() } else { lines.len().min(SHOWN) };
    lines[..shown].iter().for_each(|line| printer.talk(&format!("  {line}")));
    if lines.len() > shown {
        printer.talk(&format!("  … and {} more (`--verbose` lists all)", lines.len() - shown));
    }
}

/// Reports that the tree is out of date, for formats that show messages only.
fn note_out_of_date(generation: &Generation, notes: &mut Notes) {
    let files = &generation.changes.files;
    if let Some(first) = files.keys().next() {
        let (count, are) = (files.len(), if files.len() == 1 { "is" } else { "are" });
        let message =
            format!("{} {are} out of date, starting with this one", counted(count, "generated file"));
        notes
            .error("out-of-date", Place::file(first.as_str()), message)
            .hint("run `stackloom generate` and commit what it writes");
    }
}

/// Whether the run covered the whole fleet.
fn is_whole(args: &Args, generation: &Generation) -> bool {
    generation.left.is_empty() && args.only.is_empty() && generation.changes.left.is_empty()
}

/// Names a part in words.
fn named(part: &PartId) -> Option<String> {
    match part {
        PartId::Root => None,
        PartId::Release(name) => Some(format!("release {name}")),
        PartId::Management(name) => Some(format!("objects of the management cluster {name} itself")),
        PartId::Namespace { management, namespace } => Some(format!("namespace {namespace} of {management}")),
        PartId::Cluster { management, namespace, cluster } => {
            Some(format!("cluster {namespace}/{cluster} of {management}"))
        }
    }
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

/// The number of files restored in the work tree, besides the changes of the commit.
fn repaired(changes: &Changes) -> String {
    match changes.repaired.len() {
        0 => String::new(),
        count => format!("; {} put back as committed", counted(count, "file")),
    }
}

/// The number of sources in the commit.
fn sources(changes: &Changes) -> String {
    match changes.sources.len() {
        0 => String::new(),
        count => format!("; with {}", counted(count, "source")),
    }
}

/// The document about a run, for programs.
pub(super) fn document(generation: &Generation) -> Json {
    let changes = &generation.changes;
    let files: serde_json::Map<_, _> =
        changes.files.iter().map(|(path, change)| (path.to_string(), json!(change))).collect();
    json!({
        "clusters": generation.plan.clusters.iter().map(|plan| ClusterName::from(&plan.cluster)).collect::<Vec<_>>(),
        "summary": {
            "added": changes.count(FileChange::Added),
            "changed": changes.count(FileChange::Changed),
            "removed": changes.count(FileChange::Removed),
            "unchanged": changes.count(FileChange::Unchanged),
            "repaired": changes.repaired.len(),
        },
        "files": files,
        "sources": changes.sources,
        "leftParts": changes.left.iter().filter_map(named).collect::<Vec<_>>(),
        "commit": changes.commit,
        "left": generation.left.iter().map(|left| json!({ "file": left.file, "why": left.why })).collect::<Vec<_>>(),
    })
}
