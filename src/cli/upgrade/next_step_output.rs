//! Prints a step.

use serde_json::{Value as Json, json};

use super::{
    next_step::{self, FoundStep},
    plan_document, plan_text,
};
use crate::{
    cli::{
        Done, Printer, changed, cluster::ClusterName, generate as generated, input_or_world, printer::counted,
    },
    generate::{Failure, Generation},
    note::Notes,
    pull_request::Proposal,
    upgrade,
};

pub(super) fn failed(failure: Failure, notes: &Notes, printer: &Printer) -> Done {
    failed_as(failure, "nothing was written", notes, printer)
}

/// Like [`failed`], for a step that was found but cannot be written.
pub(super) fn not_taken(failure: Failure, notes: &Notes, printer: &Printer) -> Done {
    failed_as(failure, "the step was not taken because of these errors; nothing was written", notes, printer)
}

/// Like [`not_taken`], for a step that was only tried.
pub(super) fn would_fail(failure: Failure, notes: &Notes, printer: &Printer) -> Done {
    failed_as(
        failure,
        "the step would not be taken because of these errors; nothing was written",
        notes,
        printer,
    )
}

fn failed_as(failure: Failure, outcome: &str, notes: &Notes, printer: &Printer) -> Done {
    printer.notes(notes);
    let exit = input_or_world(failure)?;
    printer.talk(outcome);
    printer.document(exit, notes, json!({}));
    Ok(exit)
}

/// The number of files that are shown with their lines by default.
const SHOWN: usize = 10;

/// Prints the steps, and the lines that they edit.
pub(super) fn edits(found: &FoundStep, printer: &Printer) {
    if let Some(Proposal::Nothing(why) | Proposal::Later(why) | Proposal::Unsure(why)) = &found.idle {
        printer.result(why);
        return;
    }
    if found.outcome.groups.is_empty() && !found.edits.files.is_empty() {
        printer.result(next_step::message(found).lines().next().unwrap_or_default());
    }
    let is_summed = !found.outcome.groups.is_empty() || found.edits.files.is_empty();
    for line in plan_text::next(&found.outcome, printer.is_verbose()).into_iter().filter(|_| is_summed) {
        printer.result(&line);
    }
    if !found.suspended.is_empty() {
        let clusters = counted(found.suspended.len(), "cluster");
        printer.result(&format!("left as they are: {clusters}, suspended"));
    }
    let files = &found.edits.files;
    let shown = if printer.is_verbose() { files.len() } else { files.len().min(SHOWN) };
    for file in &files[..shown] {
        // The definition of one cluster may have to change for the sake of others.
        let is_of_folder = file.file.rsplit('/').next().is_some_and(|name| name.starts_with("_defaults."));
        let clusters = match file.clusters.len() {
            0 => String::new(),
            _ if !is_of_folder => format!(": {}", counted(1, "cluster")),
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

pub(super) fn document(asked: &Json, found: &FoundStep, generation: Option<&Generation>) -> Json {
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
