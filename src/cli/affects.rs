//! `stackloom affects`.

use serde_json::{Map, Value as Json, json};

use super::{
    Done, Exit, Global, Printer, cluster::ClusterName, or_exit, printer::counted, progress::Progress,
};
use crate::{
    explain::{AffectedFile, RecordedFleet, SourceEffects},
    note::{Notes, Place},
    world::{companion_folder, is_input, is_yaml},
};

/// Show which clusters and generated files a source affects
///
/// A source is `stackloom.yaml`, or a file in `clusters/`, `stacks/` or a numbered release. With a line,
/// shows only what that line affects; a line that every cluster overrides affects nothing. Does not list
/// files that a change would add, because there is nothing to compare them with yet.
///
/// Skips definitions with errors, and lists them. The exit code is 1 if the source itself has errors.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  stackloom affects clusters/prod/_defaults.yaml
  stackloom affects clusters/prod/_defaults.yaml:9
  stackloom affects stacks/docker/scs/stack.yaml --verbose     # with the lines of each file
  stackloom affects stackloom.yaml:9 --format json | jq '.clusters[]'")]
pub(super) struct Args {
    /// The source, as a path relative to the current folder
    #[arg(value_name = "FILE[:LINE]")]
    source: String,
}

/// Splits `file:line` into its parts.
pub(super) fn place(text: &str) -> (String, Option<usize>) {
    let text = text.strip_prefix("./").unwrap_or(text);
    let split = text.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?)));
    split.map_or_else(|| (text.to_owned(), None), |(file, line)| (file.to_owned(), Some(line)))
}

pub(super) fn run(args: &Args, global: &Global, printer: &Printer) -> Done {
    let world = super::fleet(global, printer)?;
    let mut notes = Notes::new();
    let read = RecordedFleet::read(&world, &mut notes);
    let (fleet, left) = match or_exit(read, printer, &notes)? {
        Ok(read) => read,
        Err(exit) => return Ok(exit),
    };
    let (given, line) = place(&args.source);
    let file = world.file(&given);
    let is_skipped = !left.is_empty() && is_input(&file) && is_yaml(&file) && world.holds(&file);
    if left.blame(&file, &mut notes) || !check(&fleet, &file, line, is_skipped, &mut notes) {
        left.warn(&mut notes);
        printer.notes(&notes);
        printer.document(Exit::Input, &notes, json!({}));
        return Ok(Exit::Input);
    }
    let progress = Progress::new(printer, "Looking");
    let reaches = fleet.affects(&file, line, &|done, all| progress.at(done, all), &mut notes);
    progress.end();
    left.warn(&mut notes);
    printer.notes(&notes);
    // In a large fleet, the document needs more memory than the answer.
    if printer.is_document() {
        let mut document = document(&file, line, &reaches);
        document["leftOut"] = left.document();
        printer.document(Exit::Done, &notes, document);
    } else {
        report(&reaches, printer);
    }
    Ok(Exit::Done)
}

fn document(source: &str, line: Option<usize>, reaches: &SourceEffects) -> Json {
    let file = |(path, reached): (&String, &AffectedFile)| {
        let mut file = json!({ "moves": reached.moves, "lines": reached.lines });
        if let Some(cluster) = &reached.cluster {
            file["cluster"] = json!(ClusterName::from(cluster));
        }
        (path.clone(), file)
    };
    json!({
        "source": source,
        "line": line,
        "clusters": ClusterName::all(&reaches.clusters),
        "files": reaches.files.iter().map(file).collect::<Map<_, _>>(),
    })
}

/// Whether the file is a source with this line; reports an error otherwise.
///
/// `is_skipped` means that the file is a source, and was skipped because of errors.
fn check(
    fleet: &RecordedFleet,
    file: &str,
    line: Option<usize>,
    is_skipped: bool,
    notes: &mut Notes,
) -> bool {
    let Some(source) = fleet.input().sources.at(file) else {
        let companion = companion_folder(file).filter(|folder| fleet.input().companions.contains(*folder));
        let note = match companion {
            Some(folder) => notes
                .error(
                    "no-source",
                    Place::file(file),
                    format!(
                        "the files in `{folder}` are applied as they are; nothing is generated from them"
                    ),
                )
                .hint("the engine applies it for the cluster, alongside the generated files"),
            None if is_skipped => notes.error(
                "no-source",
                Place::file(file),
                "it was skipped, because something else in its stack or cluster has errors",
            ),
            None => notes.error("no-source", Place::file(file), "this is not a source of the fleet"),
        };
        if file.starts_with("generated/") {
            note.hint("to see where a generated file comes from, run `stackloom explain`");
        } else if is_skipped {
            note.hint("correct these errors first: `stackloom check` shows them");
        } else if companion.is_none() {
            note.hint("paths are relative to the current folder; from the fleet's root, write for example clusters/_defaults.yaml");
        }
        return false;
    };
    let lines = source.text.lines().count();
    if line.is_some_and(|line| line == 0 || line > lines) {
        let message = format!("it has {}", counted(lines, "line"));
        notes.error("no-line", Place::file(file), message).hint("lines are counted from 1");
        return false;
    }
    true
}

fn report(reaches: &SourceEffects, printer: &Printer) {
    if reaches.files.is_empty() {
        printer.result("no generated file was made from it");
        return;
    }
    let line = |(path, reached): (&String, &AffectedFile)| {
        let moved = if reached.moves { "  (decides whether and where it is generated)" } else { "" };
        let lines = if printer.is_verbose() { format!(":{}", ranges(&reached.lines)) } else { String::new() };
        format!("{path}{lines}{moved}\n")
    };
    // Written at once: there can be a hundred thousand lines.
    let lines: String = reaches.files.iter().map(line).collect();
    let (clusters, files) = (reaches.clusters.len(), reaches.files.len());
    printer.result(&format!("{lines}\n{}, {}", counted(clusters, "cluster"), counted(files, "file")));
}

/// Formats line numbers as ranges, such as `1-3,7`.
fn ranges(lines: &[usize]) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for line in lines {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *line => *last = *line,
            _ => ranges.push((*line, *line)),
        }
    }
    let text = |(first, last): &(usize, usize)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    ranges.iter().map(text).collect::<Vec<_>>().join(",")
}
