//! Running other programs: only those that git's own settings name for signing.

use std::{
    io::Write as _,
    path::Path,
    process::{Command, Output, Stdio},
};

use crate::note::Fault;

/// Runs a program in a folder with this input, and takes what it says. Programs that ask for a passphrase do so on the
/// terminal, not here.
pub(super) fn run(program: &str, arguments: &[&str], folder: &Path, input: &[u8]) -> Result<Output, Fault> {
    let failed = |error| {
        Fault::because(format!("cannot run `{program}`"), error)
            .hint("install it, or name another one in git's configuration")
    };
    let mut child = Command::new(program)
        .args(arguments)
        .current_dir(folder)
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
