//! Running other programs: those that git's own settings name for signing, `git` itself where something is fetched, and
//! `cosign` where a key is to be held against a signature.

use std::{
    io::Write as _,
    path::Path,
    process::{Command, Output, Stdio},
};

use crate::note::Fault;

/// Runs a program in a folder with this input, and takes what it says. Programs that ask for a passphrase do so on the
/// terminal, not here.
pub(super) fn run(program: &str, arguments: &[&str], folder: &Path, input: &[u8]) -> Result<Output, Fault> {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder);
    spoken(command, input)
        .map_err(|fault| fault.hint("install it, or name another one in git's configuration"))
}

/// Runs a prepared program with this input, and takes what it says.
pub(super) fn spoken(mut command: Command, input: &[u8]) -> Result<Output, Fault> {
    let program = command.get_program().to_string_lossy().into_owned();
    let failed = |error| Fault::because(format!("cannot run `{program}`"), error);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that ends before it has read everything says why itself.
        stdin.write_all(input).ok();
    }
    child.wait_with_output().map_err(failed)
}

/// What a program said of its failure, as a few lines.
pub(super) fn words(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<_> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(3)..];
    if last.is_empty() { format!("it ended with {}", output.status) } else { last.join("; ") }
}
