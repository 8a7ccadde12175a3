//! `stackloom upgrade`.

mod reviews_and_labels;
mod plan_document;
mod group;
pub(super) mod interrupted;
mod next;
mod plan;
mod propose;
pub(super) mod rollout;
mod pools_behind;
mod preconditions;
mod next_step;
mod next_step_output;
mod plan_text;
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
