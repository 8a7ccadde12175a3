//! `stackloom man`.

use std::{collections::BTreeMap, path::PathBuf};

use clap::CommandFactory as _;
use clap_mangen::Man;
use serde_json::json;

use super::{Done, Exit, Global, Printer, printer::counted};
use crate::{
    io::disk,
    note::{Fault, Notes},
};

/// Write man pages, one for each command
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  stackloom man --out ~/.local/share/man/man1 && man stackloom-generate\n  stackloom man --out man && man man/stackloom.1"
)]
pub(super) struct Args {
    /// The folder, created if it does not exist; pages with the same names are replaced
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

pub(super) fn run(args: &Args, global: &Global, printer: &Printer) -> Done {
    let mut pages = BTreeMap::new();
    let mut program = super::Args::command().disable_help_subcommand(true);
    program.build();
    page(&program, &mut pages).map_err(|error| Fault::because("cannot create the man pages", error))?;
    disk::write_all(&global.directory.join(&args.out), &pages)?;
    printer.result(&format!("{} written to {}", counted(pages.len(), "man page"), args.out.display()));
    printer.document(Exit::Done, &Notes::new(), json!({ "files": pages.keys().collect::<Vec<_>>() }));
    Ok(Exit::Done)
}

/// Renders the pages of a command and its subcommands, by file name.
fn page(command: &clap::Command, pages: &mut BTreeMap<String, String>) -> std::io::Result<()> {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        page(below, pages)?;
    }
    let man = Man::new(command.clone()).manual("Stackloom");
    let mut text = Vec::new();
    man.render(&mut text)?;
    pages.insert(man.get_filename(), String::from_utf8_lossy(&text).into_owned());
    Ok(())
}
