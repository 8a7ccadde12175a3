//! `stackloom diff`.

mod base;
mod exports;
mod fail_on;
mod output;

use fail_on::FailOn;
pub(super) use fail_on::UNANNOUNCED;
use output::{DiffFindings, DiffOutcome, Target};

use super::{Done, Exit, Global, Printer, input_or_world, progress::Progress, revision};
use crate::{
    generate::{self, Failure},
    io::{
        disk::{Workspace, folder_in_repository},
        git::{Base, Repository, Revision},
    },
    model::Fleet,
    note::Notes,
    report::{self, Report},
    world::{Input, Snapshot},
};

/// Show what a change does to all clusters
///
/// Compares what the definitions generate now with `generated/` of BASE, object by object and field by field.
/// Comments, layout and the order of keys do not count. Clusters with the same changes are shown once, the
/// worst risk first. Writes only the files that --write names.
///
/// Without BASE, compares with the merge base of HEAD and the branch that the engine reads (`source.branch`
/// in stackloom.yaml), as it was last fetched. If CI checked out a merge commit, compares with its first
/// parent. With two commits, compares their `generated/` and ignores the work tree.
///
/// Risks, the worst first: `refused` (or stuck half-way), `deletes`, `unknown`, `control-plane` and `pools`
/// (machines are replaced), `scale-down` (fewer machines), `restarts` (addons), `in-place`, `metadata`,
/// `nothing`. An effect that cannot be known is `unknown`, and never counts as safe.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The commit before the change: a branch, tag or commit
    #[arg(value_name = "BASE")]
    base: Option<String>,
    /// The commit after the change; by default the definitions in the work tree
    #[arg(value_name = "HEAD", requires = "base")]
    head: Option<String>,
    /// Judge changed clusters by what runs: a file of objects that `kubectl get -o yaml` exported from a management cluster, as for
    /// `topology --before`. Repeat it for several files. With several management clusters, write MANAGEMENT=FILE
    #[arg(long, value_name = "[MANAGEMENT=]FILE", value_hint = clap::ValueHint::FilePath)]
    before: Vec<String>,
    /// Exit with 3 if anything changes
    #[arg(long)]
    exit_code: bool,
    /// Exit with 1 if a change is in one of these classes: the risks above, or `unannounced-deletes` for what
    /// is deleted without the steps of `stackloom remove`. Risks that a definition accepts (`accept`) do not
    /// count
    #[arg(long, value_name = "CLASS", value_delimiter = ',')]
    fail_on: Vec<FailOn>,
    /// Also write the report to FILE, as html, json, markdown or sarif; can be repeated
    #[arg(long, value_name = "FORMAT=FILE")]
    write: Vec<Target>,
}

const EXAMPLES: &str = "\
Examples:
  stackloom diff                       # show what merging this branch does
  stackloom diff origin/main           # compare with another branch
  stackloom diff v1.4 v1.5             # compare two tags
  stackloom diff -v                    # show every cluster, field and file
  stackloom diff --format markdown     # print a comment for a pull request
  stackloom diff --before live.yaml    # judge changed clusters by what runs
  stackloom diff --write html=report.html --write markdown=comment.md   # a page and a comment
  stackloom diff --format github --write sarif=diff.sarif   # errors at the lines that cause them
  stackloom diff --format json | jq '.clusters[] | select(.risk == \"refused\") | .cluster.name'
  stackloom diff --fail-on refused,unannounced-deletes,unknown   # in CI

Exit codes:
  0  done
  1  errors in the definitions, a change that `generate` would refuse, or a class of --fail-on
  3  something changes (--exit-code)
  4  no commit to compare with, or history that this clone lacks";

pub(super) fn run(args: &Args, global: &Global, printer: &Printer) -> Done {
    if let Some(fault) = output::twice(&args.write) {
        printer.complain(&fault);
        return Ok(Exit::Usage);
    }
    output::begin(&args.write, global)?;
    let ended = compared(args, global, printer);
    if let Err(fault) = &ended {
        // The caller reports the fault itself, even if the files cannot be written.
        output::write_fault(fault, &args.write, global).ok();
        output::tell_fault(fault, printer);
    }
    ended
}

/// The result of a comparison.
struct Compared {
    report: Report,
    base: Base,
    before: Revision,
    after: Input,
}

fn compared(args: &Args, global: &Global, printer: &Printer) -> Done {
    let world = super::fleet(global, printer)?;
    let repository = Repository::discover(&world)?;
    let mut notes = Notes::new();
    let made = match &args.head {
        Some(head) => committed(args, head, &repository, global, &mut notes),
        None => drawn(args, &world, &repository, global, printer, &mut notes),
    };
    let made = match made {
        Ok(made) => Some(made),
        Err(failure) => {
            input_or_world(failure)?;
            None
        }
    };
    let exit = made.as_ref().map_or(Exit::Input, |made| exit(args, made, &notes));
    let before = || match &made {
        Some(Compared { before, .. }) => report::definitions(before, before.file("stackloom.yaml")?),
        None => Ok(Input::default()),
    };
    let found = made.as_ref().map(|made| DiffFindings {
        report: &made.report,
        base: &made.base,
        before: &before,
        after: &made.after,
    });
    let folder = folder_in_repository(world.root()).ok().flatten().unwrap_or_default();
    let said = DiffOutcome { exit, notes: &notes, found, folder: &folder };
    said.write(&args.write, global)?;
    said.tell(printer)?;
    if let Some(made) = &made {
        tell_failures(args, &made.report, printer);
    }
    // The process ends now. To free the report of a large fleet object by object would only take time.
    std::mem::forget(made);
    Ok(exit)
}

fn exit(args: &Args, made: &Compared, notes: &Notes) -> Exit {
    let is_failed = args.fail_on.iter().any(|class| class.found_in(&made.report).is_some());
    if notes.errors() > 0 || is_failed {
        Exit::Input
    } else if args.exit_code && !made.report.is_empty() {
        Exit::Changes
    } else {
        Exit::Done
    }
}

/// Says which changes make the run fail.
fn tell_failures(args: &Args, report: &Report, printer: &Printer) {
    let found = args.fail_on.iter().filter_map(|class| Some((class, class.found_in(report)?)));
    let lines: Vec<String> = found.map(|(class, places)| format!("fails on {class}: {places}")).collect();
    for line in &lines {
        printer.talk(line);
    }
    if !lines.is_empty() {
        printer.talk("undo these changes, or accept their risks: docs/review.md, “Accept a risk”");
    }
}

/// Compares the tree that the definitions now generate with a commit.
fn drawn(
    args: &Args,
    world: &Workspace,
    repository: &Repository,
    global: &Global,
    printer: &Printer,
    notes: &mut Notes,
) -> Result<Compared, Failure> {
    let snapshot = Snapshot::read(world)?;
    let fleet = fleet(&snapshot, notes)?;
    let (base, before) = before(args, &fleet, repository, notes)?;
    base::note(&before, &base, repository, "HEAD", notes)?;
    let exports = exports::read(&args.before, &fleet, global, notes)?;
    let progress = Progress::new(printer, "Comparing");
    let since = repository.since(&base.commit, None)?;
    let head = repository.revision("HEAD")?;
    // Of one commit, the folders are read once.
    let head = if head.commit() == before.commit() { &before } else { &head };
    let made = report::drawn(
        [&before, head],
        &snapshot,
        Some(&since),
        &exports,
        &|done, all| progress.at(done, all),
        notes,
    );
    progress.end();
    Ok(Compared { report: made?, base, before, after: snapshot.input })
}

fn fleet(snapshot: &Snapshot, notes: &mut Notes) -> Result<Fleet, Failure> {
    // What cannot be read elsewhere is reported with what it is about.
    let mut own = Notes::new();
    let found = generate::fleet(&snapshot.input, &mut own);
    if found.is_err() {
        notes.append(snapshot.notes.clone());
        notes.append(own);
    }
    Ok(found?)
}

fn before(
    args: &Args,
    fleet: &Fleet,
    repository: &Repository,
    notes: &mut Notes,
) -> Result<(Base, Revision), Failure> {
    if let Some(name) = &args.base {
        let before = revision::named(repository, name, name, notes)?;
        return Ok((Base { commit: before.commit(), why: name.clone(), is_by_branch: false }, before));
    }
    let branches = base::branches(fleet);
    let base = repository.base(&branches)?;
    let before = repository.revision(&base.commit)?;
    if base.is_by_branch {
        base::refuse_changed_branch(&before, repository, &branches, notes)?;
    }
    Ok((base, before))
}

/// Compares one commit with another.
fn committed(
    args: &Args,
    head: &str,
    repository: &Repository,
    global: &Global,
    notes: &mut Notes,
) -> Result<Compared, Failure> {
    let name = args.base.as_deref().unwrap_or_default();
    let before = revision::named(repository, name, name, notes)?;
    let archive = revision::named(repository, head, head, notes)?;
    let after = report::definitions(&archive, archive.file("stackloom.yaml")?)?;
    let since = repository.since(&before.commit(), Some(&archive.commit()))?;
    let exports = match args.before.as_slice() {
        [] => Vec::new(),
        files => exports::read(files, &generate::fleet(&after, notes)?, global, notes)?,
    };
    let base = Base { commit: before.commit(), why: name.to_owned(), is_by_branch: false };
    base::note(&before, &base, repository, head, notes)?;
    let report = report::committed(&before, &archive, &after, Some(&since), &exports, notes)?;
    Ok(Compared { report, base, before, after })
}
