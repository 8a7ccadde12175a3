//! `stackloom upgrade`.

mod document;
mod group;
mod plan;
mod text;

use super::{Done, Global, Printer};

/// Plan upgrades of clusters
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Plan(plan::Args),
}

pub(super) fn run(args: &Args, global: &Global, printer: &Printer) -> Done {
    match &args.command {
        Command::Plan(args) => plan::run(args, global, printer),
    }
}
