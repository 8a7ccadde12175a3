//! `stackloom rollout`: upgrades many clusters in waves.

mod health;
mod history;
mod observe;
mod merged;
mod next;
mod status;
mod standing;
mod pause;

use crate::cli::{Done, Global, Printer, today::Now};

/// Upgrade clusters in waves
///
/// A file in rollouts/ says which clusters go where, in which waves, within which limits and at which times.
/// The progress is in git: in the definitions, and in when they changed on the branch that the engine reads.
/// docs/upgrades.md shows such a file.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Status(status::Args),
    Next(next::Args),
    Pause(pause::Pause),
    Resume(pause::Resume),
    Abort(pause::Abort),
}

pub(in crate::cli) fn run(args: &Args, global: &Global, printer: &Printer) -> Done {
    match &args.command {
        Command::Status(args) => status::run(args, global, printer),
        Command::Next(args) => next::run(args, global, printer),
        Command::Pause(args) => pause::pause(args, global, printer),
        Command::Resume(args) => pause::resume(args, global, printer),
        Command::Abort(args) => pause::abort(args, global, printer),
    }
}

/// The options for what git does not record: health and time.
#[derive(Clone, Debug, clap::Args)]
struct Known {
    /// The source of cluster health, required if the rollout has `requireHealth`: a JSON file, the address of
    /// one, or `commit-statuses`, which the notifications of the engine publish at the forge
    #[arg(long, value_name = "FILE|ADDRESS|commit-statuses", value_hint = clap::ValueHint::FilePath)]
    health: Option<health::Source>,
    #[command(flatten)]
    now: Now,
}
