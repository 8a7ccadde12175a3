//! The command line, with one file per command. The only module that constructs the types of [`crate::io`].
//!
//! Data goes to standard output, messages go to standard error. The exit code says what failed: see [`Exit`].

mod access;
mod affects;
mod annotate;
mod argocd;
mod assets;
mod changed;
mod check;
mod cluster;
mod clusters;
mod complete;
mod completions;
mod diff;
mod explain;
mod foreign_commands;
mod generate;
mod init;
mod man;
mod matrix;
mod migrate;
mod new;
mod newer;
mod output_format;
mod printer;
mod progress;
mod prune;
mod pull;
mod push;
mod release;
mod releases;
mod remove;
mod rename;
mod revision;
mod rollout;
mod sarif;
mod scaffold;
mod schema;
mod secrets;
mod table;
mod today;
mod topology;
mod update;
mod upgrade;
mod variables;
mod visible;
mod watch;

use std::{
    borrow::Cow,
    io::{ErrorKind, Write as _},
    path::PathBuf,
    process::ExitCode,
};

use clap::{Parser, Subcommand};

pub use printer::Printer;

use output_format::{Format, OutputKind};

use crate::{
    generate::Failure,
    io::disk::{FLEET, Workspace},
    note::{Fault, Notes},
    world::note_no_fleet,
};

/// Weave stack and cluster definitions into one GitOps tree for Cluster API
///
/// Stackloom reads versioned stack definitions (cluster class, cluster addons, node images) and cluster
/// definitions, and writes the manifests of every cluster to `generated/`. Flux or Argo CD applies them from
/// there.
#[derive(Debug, Parser)]
#[command(version, after_long_help = EXAMPLES, max_term_width = 110)]
pub struct Args {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  stackloom init demo                     start a fleet in the folder demo
  stackloom new cluster dev-2             add a cluster
  stackloom clusters                      list the clusters and their releases
  stackloom matrix docker/scs             show which addon versions fit which Kubernetes versions
  stackloom variables dev-1               show the variables of a cluster or stack
  stackloom secrets                       list the Secrets that clusters need, and their files
  stackloom check                         find errors; write nothing
  stackloom generate                      write generated/
  stackloom generate --commit             write generated/ and commit it
  stackloom watch --commit                generate and commit whenever a definition changes
  stackloom generate --check              in CI: fail if generated/ is out of date
  stackloom release --dry-run             show what would be released, and why
  stackloom pull oci://REGISTRY/PATH@sha256:…  take a release from another repository
  stackloom update                        look up charts and images, and lock their digests
  stackloom explain dev-1                 show where every value of a cluster comes from
  stackloom affects clusters/_defaults.yaml:9  show which clusters a line affects
  stackloom remove dev-2 --reason WHY     remove a cluster, step by step
  stackloom migrate                       show the edits that renamed variables require
  stackloom rename dev-2 dev-9            show what you can do instead of renaming
  stackloom upgrade plan --to-kubernetes 1.36  show the steps of an upgrade
  stackloom topology dev-2 --against main show what Cluster API will do when this is merged
  stackloom diff                          show what merging this does to all clusters

Exit codes: 0 done, 1 errors in the input, 2 wrong usage, 3 changes found, 4 an operation failed (disk, git, network), 70 a bug in stackloom";

/// What every command takes.
#[derive(Debug, clap::Args)]
pub struct Global {
    /// Run as if started in this folder: the root of the fleet, or any folder below it
    #[arg(short = 'C', long = "directory", value_name = "DIR", global = true, default_value = ".")]
    directory: PathBuf,
    /// How to print: as text, as one JSON or YAML document, with annotations for GitHub Actions, messages as
    /// SARIF, or the report of `diff` as Markdown or HTML
    #[arg(long, value_name = "FORMAT", global = true, default_value = "text")]
    format: Format,
    /// When to use colours; `auto` respects `NO_COLOR`
    #[arg(long, value_name = "WHEN", global = true, default_value = "auto")]
    color: clap::ColorChoice,
    /// Do not pipe output into a pager
    #[arg(long, global = true)]
    no_pager: bool,
    /// Print errors only
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// Print more, such as every file that changes
    #[arg(short, long, global = true)]
    verbose: bool,
}

impl Global {
    /// Resolves a path against the folder of `-C`; `-` is standard input.
    fn path(&self, given: &std::path::Path) -> PathBuf {
        let is_here = self.directory == std::path::Path::new(".") || given == std::path::Path::new("-");
        if is_here { given.to_owned() } else { self.directory.join(given) }
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    Init(init::Args),
    New(new::Args),
    Check(check::Args),
    Generate(generate::Args),
    Diff(diff::Args),
    Release(release::Args),
    Releases(releases::Args),
    Clusters(clusters::Args),
    Matrix(matrix::Args),
    Variables(variables::Args),
    Secrets(secrets::Args),
    Pull(pull::Args),
    Explain(explain::Args),
    Affects(affects::Args),
    Remove(remove::Args),
    Rename(rename::Args),
    Migrate(migrate::Args),
    Watch(watch::Args),
    Schema(schema::Args),
    Topology(topology::Args),
    Update(update::Args),
    Upgrade(upgrade::Args),
    Rollout(rollout::Args),
    Argocd(argocd::Args),
    Completions(completions::Args),
    Man(man::Args),
}

impl Command {
    /// The kinds of machine-readable output that the command has.
    fn output_kind(&self) -> OutputKind {
        match self {
            Self::Diff(_) => OutputKind::Report,
            Self::Check(_) | Self::Generate(_) | Self::Release(_) | Self::Update(_) => OutputKind::Messages,
            _ => OutputKind::Data,
        }
    }
}

/// The outcome of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The command succeeded.
    Done,
    /// The input has errors.
    Input,
    /// The command line has errors.
    Usage,
    /// Changes were found by a command that checks for them.
    Changes,
    /// An operation failed, such as access to the disk or git.
    World,
}

impl Exit {
    /// The exit code of the process; a panic exits with 70.
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Input => 1,
            Self::Usage => 2,
            Self::Changes => 3,
            Self::World => 4,
        }
    }
}

/// Prints the help, or what is wrong with the arguments. An argument may hold characters that change how the message reads.
fn print(error: &clap::Error) -> std::io::Result<()> {
    match visible::visible(&error.render().to_string()) {
        Cow::Owned(shown) => write!(std::io::stderr(), "{shown}"),
        Cow::Borrowed(_) => error.print(),
    }
}

/// The exit code for a bug: `EX_SOFTWARE` of `sysexits.h`.
const BUG: u8 = 70;

/// Runs the program.
pub fn main() -> ExitCode {
    let parsed = complete::answer().and_then(|done| (!done).then(Args::try_parse).transpose());
    let args = match parsed {
        Ok(Some(args)) => args,
        Ok(None) => return ExitCode::from(Exit::Done.code()),
        Err(mut error) => {
            let advice = foreign_commands::advice(&mut error);
            let code = if error.use_stderr() { Exit::Usage.code() } else { Exit::Done.code() };
            let printed = print(&error).and_then(|()| std::io::stdout().flush());
            if let Some(advice) = advice {
                printer::advise(&advice);
            }
            return match printed {
                Err(lost) if !error.use_stderr() && lost.kind() != ErrorKind::BrokenPipe => {
                    printer::lost_help(&lost);
                    ExitCode::from(Exit::World.code())
                }
                _ => ExitCode::from(code),
            };
        }
    };
    match std::panic::catch_unwind(|| run(&args)) {
        Ok(exit) => ExitCode::from(exit.code()),
        Err(_) => {
            Printer::new(&args.global)
                .talk("this is a bug in stackloom: please report what you did and the lines above");
            ExitCode::from(BUG)
        }
    }
}

fn run(args: &Args) -> Exit {
    let printer = Printer::new(&args.global);
    if let Some(fault) = args.global.format.refusal(args.command.output_kind()) {
        printer.complain(&fault);
        return Exit::Usage;
    }
    let done = match &args.command {
        Command::Init(command) => init::run(command, &args.global, &printer),
        Command::New(command) => new::run(command, &args.global, &printer),
        Command::Explain(command) => explain::run(command, &args.global, &printer),
        Command::Affects(command) => affects::run(command, &args.global, &printer),
        Command::Completions(command) => completions::run(command, &printer),
        Command::Man(command) => man::run(command, &args.global, &printer),
        Command::Schema(command) => schema::run(command, &args.global, &printer),
        Command::Argocd(command) => Ok(argocd::run(command, &printer)),
        Command::Topology(command) => topology::run(command, &args.global, &printer),
        Command::Update(command) => update::run(command, &args.global, &printer),
        Command::Upgrade(command) => upgrade::run(command, &args.global, &printer),
        Command::Rollout(command) => rollout::run(command, &args.global, &printer),
        Command::Check(command) => check::run(command, &args.global, &printer),
        Command::Generate(command) => generate::run(command, &args.global, &printer),
        Command::Diff(command) => diff::run(command, &args.global, &printer),
        Command::Release(command) => release::run(command, &args.global, &printer),
        Command::Clusters(command) => clusters::run(command, &args.global, &printer),
        Command::Matrix(command) => matrix::run(command, &args.global, &printer),
        Command::Variables(command) => variables::run(command, &args.global, &printer),
        Command::Secrets(command) => secrets::run(command, &args.global, &printer),
        Command::Releases(command) => releases::run(command, &args.global, &printer),
        Command::Pull(command) => pull::run(command, &args.global, &printer),
        Command::Remove(command) => remove::run(command, &args.global, &printer),
        Command::Migrate(command) => migrate::run(command, &args.global, &printer),
        Command::Rename(command) => rename::run(command, &args.global, &printer),
        Command::Watch(command) => watch::run(command, &args.global, &printer),
    };
    let exit = done.unwrap_or_else(|fault| {
        printer.fault(&fault);
        Exit::World
    });
    match printer.lost() {
        None => exit,
        Some(fault) => {
            printer.complain(&fault);
            Exit::World
        }
    }
}

/// Opens the fleet around the current folder. Messages show paths relative to its root.
fn fleet(global: &Global, printer: &Printer) -> Result<Workspace, Fault> {
    let world = Workspace::find(&global.directory)?;
    printer.lies_in(world.root());
    if !world.here().is_empty() && !printer.is_document() {
        printer
            .talk(&format!("paths in messages are relative to the fleet's root, {}", world.root().display()));
    }
    Ok(world)
}

/// Opens the fleet for commands that also need git. If there is no fleet, reports that, and nothing about git.
fn fleet_here(global: &Global, printer: &Printer) -> Result<Result<Workspace, Exit>, Fault> {
    let world = Workspace::find(&global.directory)?;
    if world.holds(FLEET) {
        return Ok(Ok(fleet(global, printer)?));
    }
    let mut notes = Notes::new();
    note_no_fleet(world.misnamed_fleet().as_deref(), &mut notes);
    printer.notes(&notes);
    printer.document(Exit::Input, &notes, serde_json::json!({}));
    Ok(Err(Exit::Input))
}

/// The outcome of a command, or the fault of an operation.
type Done = Result<Exit, Fault>;

/// Unwraps a result, or reports the errors of the input and returns the exit code.
fn or_exit<T>(made: Result<T, Failure>, printer: &Printer, notes: &Notes) -> Result<Result<T, Exit>, Fault> {
    let failure = match made {
        Ok(made) => return Ok(Ok(made)),
        Err(failure) => failure,
    };
    printer.notes(notes);
    let exit = input_or_world(failure)?;
    printer.document(exit, notes, serde_json::json!({}));
    Ok(Err(exit))
}

/// Converts a failure: errors of the input have been reported already; a fault is passed on.
fn input_or_world(failure: Failure) -> Done {
    match failure {
        Failure::Input => Ok(Exit::Input),
        Failure::World(fault) => Err(fault),
    }
}
