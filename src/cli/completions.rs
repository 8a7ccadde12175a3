//! `stackloom completions`.

use clap::ValueEnum;
use clap_complete::env::Shells;

use super::{Done, Exit, Printer, complete};
use crate::note::Fault;

/// Print the completion script for a shell
///
/// Completes commands, options, and the names of clusters, stacks and releases in the fleet. The script asks
/// stackloom each time, so the names are always current. Let the shell run this command when it starts
/// instead of saving its output: then the script always fits the installed stackloom.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  # add one line to the startup file of your shell:\n  source <(stackloom completions bash)                                    # ~/.bashrc\n  source <(stackloom completions zsh)                                     # ~/.zshrc, below compinit\n  stackloom completions fish | source                                     # ~/.config/fish/config.fish\n  eval (stackloom completions elvish | slurp)                             # ~/.config/elvish/rc.elv\n  stackloom completions powershell | Out-String | Invoke-Expression       # $PROFILE"
)]
pub(super) struct Args {
    /// The shell
    shell: Shell,
}

/// A shell that completes.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
    Elvish,
    Powershell,
}

pub(super) fn run(args: &Args, printer: &Printer) -> Done {
    let name = args.shell.to_possible_value().expect("no shell is hidden").get_name().to_owned();
    let shells = Shells::builtins();
    let shell = shells.completer(&name).expect("each shell is one of the library's");
    let mut script = Vec::new();
    let program = env!("CARGO_PKG_NAME");
    shell
        .write_registration(complete::VARIABLE, program, program, program, &mut script)
        .map_err(|error| Fault::because("cannot create the script", error))?;
    printer.data(&String::from_utf8_lossy(&script));
    Ok(Exit::Done)
}
