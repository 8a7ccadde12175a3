//! `stackloom rollout`: an upgrade of many clusters in waves.

mod look;
mod next;
mod show;
mod stop;

use chrono::{DateTime, Utc};

use crate::{
    cli::{Done, Global, Printer},
    io::clock,
    note::Fault,
};

/// Upgrade clusters in waves
///
/// A file in rollouts/ says which clusters go where, in which waves, within which limits and at which times. What it has done is in git: the
/// definitions, and when the branch that the engine reads changed them. docs/upgrades.md shows such a file.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Status(show::Args),
    Next(next::Args),
    Pause(stop::Pause),
    Resume(stop::Resume),
    Abort(stop::Abort),
}

pub(in crate::cli) fn run(args: &Args, global: &Global, printer: &Printer) -> Done {
    match &args.command {
        Command::Status(args) => show::run(args, global, printer),
        Command::Next(args) => next::run(args, global, printer),
        Command::Pause(args) => stop::pause(args, global, printer),
        Command::Resume(args) => stop::resume(args, global, printer),
        Command::Abort(args) => stop::abort(args, global, printer),
    }
}

/// What is known beside git.
#[derive(Clone, Debug, clap::Args)]
struct Known {
    /// A report on the health of clusters, as JSON: needed if the rollout has `requireHealth`
    #[arg(long, value_name = "FILE")]
    health: Option<std::path::PathBuf>,
    /// The moment that counts, as 2026-11-23T09:00:00Z [default: now, or `STACKLOOM_NOW`]
    #[arg(long, value_name = "TIME", value_parser = moment)]
    now: Option<DateTime<Utc>>,
}

fn moment(text: &str) -> Result<DateTime<Utc>, String> {
    let read = DateTime::parse_from_rfc3339(text).map(|time| time.to_utc());
    read.map_err(|_| "write it as 2026-11-23T09:00:00Z".to_owned())
}

impl Known {
    fn now(&self) -> Result<DateTime<Utc>, Fault> {
        self.now.map_or_else(clock::now, Ok)
    }
}
