//! `stackloom check`.

use std::collections::BTreeSet;

use serde_json::json;

use super::{
    Done, Exit, Global, Printer, cluster::ClusterName, input_or_world, printer::counted, progress::Progress,
};
use crate::{generate, note::Notes};

/// Look for faults in all definitions, stacks and what would be made of them; write nothing
///
/// Everything that `generate` would do is done, except writing. All faults are told at once, each with its place and
/// what to do about it. A numbered release that was edited is a fault, even if no cluster uses it.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  stackloom check\n  stackloom check --format json | jq '.diagnostics[].message'"
)]
pub(super) struct Args {}

pub(super) fn run(_args: &Args, global: &Global, printer: &Printer) -> Done {
    let world = super::fleet(global, printer)?;
    let mut notes = Notes::new();
    let progress = Progress::new(printer, "Checking");
    let done = generate::check(&world, &|done, all| progress.at(done, all), &mut notes);
    progress.end();
    if let Ok(plan) = &done {
        notes.raise(&plan.refused);
    }
    printer.notes(&notes);
    let (exit, clusters, untagged) = match done {
        Ok(plan) if notes.errors() > 0 => (Exit::Input, plan.clusters, plan.untagged),
        Ok(plan) => (Exit::Done, plan.clusters, plan.untagged),
        Err(failure) => (input_or_world(failure)?, Vec::new(), BTreeSet::new()),
    };
    if exit == Exit::Done {
        printer.result(&format!("{} checked, no fault found", counted(clusters.len(), "cluster")));
    }
    if !untagged.is_empty() {
        let names: Vec<_> = untagged.iter().map(String::as_str).collect();
        printer.talk(&format!(
            "{} verified from files alone, there being no tag here: {}",
            counted(names.len(), "release"),
            names.join(", ")
        ));
    }
    let clusters: Vec<_> = clusters.iter().map(|plan| ClusterName::from(&plan.cluster)).collect();
    printer.document(exit, &notes, json!({ "clusters": clusters, "untagged": untagged }));
    Ok(exit)
}
