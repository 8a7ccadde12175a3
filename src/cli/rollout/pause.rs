//! `stackloom rollout pause`, `resume` and `abort`: edit the rollout's file.

use serde_json::json;

use super::observe::pick_name;
use crate::{
    cli::{Done, Exit, Global, Printer, changed, input_or_world},
    definition,
    edit::{self, Locator},
    generate::Failure,
    io::disk::{self, Workspace},
    note::{Notes, Place},
    world::Snapshot,
    yaml::Node,
};

/// The maximum length of a reason, in characters; that of the schema.
const LONGEST_REASON: usize = 512;

/// Pause a rollout
///
/// Writes the pause to the file of the rollout. Commit and push the edit. The rollout then takes no steps;
/// what is in progress goes on.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  stackloom rollout pause k136 --reason \"storage is being looked at\"")]
pub(super) struct Pause {
    /// The rollout; required if there are several
    #[arg(value_name = "ROLLOUT")]
    name: Option<String>,
    /// The reason, kept in the file
    #[arg(long)]
    reason: String,
}

/// Resume a rollout that was paused
///
/// Removes the pause from the file of the rollout. Commit and push the edit.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  stackloom rollout resume k136")]
pub(super) struct Resume {
    /// The rollout; required if there are several
    #[arg(value_name = "ROLLOUT")]
    name: Option<String>,
}

/// Abort a rollout
///
/// Writes the abort to the file of the rollout. Commit and push the edit. The rollout then takes no more
/// steps, and clusters stay where they are. To go back, revert the commits of the rollout; `stackloom diff`
/// shows how far that undoes them.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  stackloom rollout abort k136 --reason \"1.37 is here\"")]
pub(super) struct Abort {
    /// The rollout; required if there are several
    #[arg(value_name = "ROLLOUT")]
    name: Option<String>,
    /// The reason, kept in the file
    #[arg(long)]
    reason: String,
}

pub(super) fn pause(args: &Pause, global: &Global, printer: &Printer) -> Done {
    edited(args.name.as_deref(), "pause", Some(&args.reason), global, printer)
}

pub(super) fn resume(args: &Resume, global: &Global, printer: &Printer) -> Done {
    edited(args.name.as_deref(), "pause", None, global, printer)
}

pub(super) fn abort(args: &Abort, global: &Global, printer: &Printer) -> Done {
    edited(args.name.as_deref(), "abort", Some(&args.reason), global, printer)
}

/// Sets a key of the rollout's spec to a reason, or removes it.
fn edited(name: Option<&str>, key: &str, reason: Option<&str>, global: &Global, printer: &Printer) -> Done {
    let world = crate::cli::fleet(global, printer)?;
    let mut notes = Notes::new();
    let done = write(&world, name, key, reason, &mut notes);
    printer.notes(&notes);
    let (file, lines) = match done {
        Ok(done) => done,
        Err(failure) => {
            let exit = input_or_world(failure)?;
            printer.talk("nothing was written");
            printer.document(exit, &notes, json!({}));
            return Ok(exit);
        }
    };
    if lines.is_empty() {
        printer.result(&format!("{file}: nothing to change"));
    } else {
        printer.result(&format!("{file}:"));
        for line in &lines {
            printer.result(&format!("  {line}"));
        }
        printer.talk("commit and push it");
    }
    printer.document(Exit::Done, &notes, json!({ "file": file, "lines": lines }));
    Ok(Exit::Done)
}

fn write(
    world: &Workspace,
    name: Option<&str>,
    key: &str,
    reason: Option<&str>,
    notes: &mut Notes,
) -> Result<(String, Vec<String>), Failure> {
    if let Some(wrong) = reason.and_then(wrong_reason) {
        notes
            .error("wrong-value", None, wrong)
            .hint("say why in a few words: `--reason \"storage is being looked at\"`");
        return Err(Failure::Input);
    }
    let snapshot = Snapshot::read(world)?;
    // Other faults must not keep anyone from stopping a rollout.
    let mut own = snapshot.notes.clone();
    let definitions = definition::parse(&snapshot.input, &mut own);
    let all = &definitions.rollouts;
    let names = all.iter().map(|one| one.value.metadata.name.as_str()).collect::<Vec<_>>();
    let Some(at) = pick_name(&names, name, notes) else {
        notes.append(own);
        return Err(Failure::Input);
    };
    let (file, source, spec) = (all[at].source.path.to_string(), &all[at].source, &all[at].value.spec);
    if key == "pause" && spec.abort.is_some() {
        notes
            .error(
                "aborted",
                all[at]
                    .node
                    .at(&["spec", "abort"])
                    .map_or_else(|| Place::file(&*file), |node| source.word(node.origin.offset as usize)),
                format!("`{}` was aborted, and takes no more steps", names[at]),
            )
            .hint("to continue, remove `spec.abort` from the file; or define a new rollout");
        return Err(Failure::Input);
    }
    let path = [Locator::Key("spec"), Locator::Key(key), Locator::Key("reason")];
    let is_set = if key == "pause" { spec.pause.is_some() } else { spec.abort.is_some() };
    let edit = match reason {
        Some(reason) => edit::set(source, &path, &Node::from(reason), notes),
        None if is_set => edit::remove(source, &path[..2], notes),
        None => return Ok((file, Vec::new())),
    };
    let after = edit.ok_or(Failure::Input)?.apply(&source.text);
    disk::replace(&world.root().join(&file), &after)?;
    Ok((file, changed::lines(&source.text, &after)))
}

/// Why a text cannot be a reason, if it cannot.
fn wrong_reason(reason: &str) -> Option<String> {
    let length = reason.chars().count();
    if reason.trim().is_empty() {
        Some("`--reason` is empty".to_owned())
    } else if length > LONGEST_REASON {
        Some(format!("`--reason` has {length} characters; the maximum is {LONGEST_REASON}"))
    } else {
        None
    }
}
