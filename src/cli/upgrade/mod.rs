//! `stackloom upgrade`.

pub(in crate::cli) mod group;
pub(super) mod interrupted;
pub(in crate::cli) mod next;
pub(in crate::cli) mod next_step;
mod next_step_output;
pub(in crate::cli) mod plan;
mod plan_document;
mod plan_text;
pub(in crate::cli) mod pools_behind;
pub(in crate::cli) mod preconditions;
pub(in crate::cli) mod propose;
mod reviews_and_labels;
mod selection;
mod write_step;

use super::{Done, Global, Printer};

/// Plan upgrades of clusters, and take the next step
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Plan(plan::Args),
    Next(next::Args),
}

pub(super) fn run(args: &Args, global: &Global, printer: &Printer) -> Done {
    match &args.command {
        Command::Plan(args) => plan::run(args, global, printer),
        Command::Next(args) => next::run(args, global, printer),
    }
}
