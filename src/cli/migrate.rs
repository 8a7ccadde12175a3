//! `stackloom migrate`: adapts definitions to the variables of their release.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use super::{
    Done, Exit, Global, Printer, changed,
    cluster::{self, ClusterName},
    input_or_world,
    printer::counted,
};
use crate::{
    generate::{self, Failure},
    io::disk::{self, Workspace},
    migrate::{self, Migrated},
    model::{Cluster, Selector, is_called},
    note::Notes,
    world::Snapshot,
};

/// Rename and convert variables as the release of a cluster requires
///
/// A stack can rename a variable or change its type. It declares this under `migrations` in stack.yaml, and
/// its releases record it. When a cluster moves to such a release, its definition no longer fits. This
/// command updates the definitions and the defaults of folders. It keeps comments, order and layout.
///
/// Without --write, writes nothing and shows the lines that would change. Changes the defaults of a folder
/// only if all clusters below it need the same change. Refuses a value that can be read in more than one way,
/// and names its line.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  stackloom migrate                         # show what would change, for all clusters\n  stackloom migrate prod-eu-1 --write\n  stackloom migrate --selector env=dev,region!=eu --write"
)]
pub(super) struct Args {
    /// Only these clusters: <name>, <namespace>/<name>, or <management cluster>/<namespace>/<name>
    #[arg(value_name = "CLUSTER")]
    clusters: Vec<String>,
    /// Only clusters with these labels, as kubectl writes them: `env=prod,region in (eu,us),!legacy`
    #[arg(long, value_name = "SELECTOR", value_parser = Selector::parse)]
    selector: Option<Selector>,
    /// Write the changes
    #[arg(long)]
    write: bool,
}

impl Args {
    fn means(&self, cluster: &Cluster) -> bool {
        let label = |key: &str| cluster.labels.get(key).and_then(|value| value.as_str());
        let name = cluster.full_name();
        let is_named = self.clusters.is_empty() || self.clusters.iter().any(|one| is_called(&name, one));
        is_named && self.selector.as_ref().is_none_or(|selector| selector.matches(label))
    }
}

pub(super) fn run(args: &Args, global: &Global, printer: &Printer) -> Done {
    let world = super::fleet(global, printer)?;
    let mut notes = Notes::new();
    let found = find(args, &world, &mut notes);
    printer.notes(&notes);
    let files = match found {
        Ok(files) => files,
        Err(failure) => {
            let exit = input_or_world(failure)?;
            printer.talk("nothing was written");
            printer.document(exit, &notes, json!({}));
            return Ok(exit);
        }
    };
    if args.write {
        for file in &files {
            disk::replace(&world.root().join(&file.file), &file.after)?;
        }
    }
    report(args, &files, printer);
    printer.document(Exit::Done, &notes, document(args, &files));
    Ok(Exit::Done)
}

fn find(args: &Args, world: &Workspace, notes: &mut Notes) -> Result<Vec<Migrated>, Failure> {
    let snapshot = Snapshot::read(world)?;
    let (fleet, left) = generate::understand_sound(&snapshot, notes)?;
    for name in &args.clusters {
        let all = fleet.model.clusters.iter();
        if all.clone().any(|cluster| is_called(&cluster.full_name(), name)) || left.blame(name, notes) {
            continue;
        }
        cluster::note_unknown(name, all.map(|cluster| cluster.name.as_str()), notes);
    }
    left.warn(notes);
    notes.halt(())?;
    let files = migrate::migrate(&fleet, &snapshot.input, &|cluster| args.means(cluster), notes);
    Ok(notes.halt(files)?)
}

fn report(args: &Args, files: &[Migrated], printer: &Printer) {
    if files.is_empty() {
        return printer.result("no definition needs a change");
    }
    for file in files {
        printer.result(&format!("{}: {}", file.file, counted(file.clusters.len(), "cluster")));
        for line in changed::lines(&file.before, &file.after) {
            printer.result(&format!("  {line}"));
        }
    }
    let clusters: BTreeSet<_> = files.iter().flat_map(|file| &file.clusters).collect();
    let what = format!("{} for {}", counted(files.len(), "file"), counted(clusters.len(), "cluster"));
    if args.write {
        printer.result(&format!("{what} changed"));
        printer.result("next:\n  stackloom diff");
    } else {
        printer.result(&format!("{what} would change; nothing was written"));
        printer.result("to write this, run the same command with --write");
    }
}

fn document(args: &Args, files: &[Migrated]) -> Json {
    let file = |file: &Migrated| {
        json!({
            "file": file.file,
            "clusters": ClusterName::all(&file.clusters),
            "lines": changed::lines(&file.before, &file.after),
            "text": file.after,
        })
    };
    json!({ "files": files.iter().map(file).collect::<Vec<_>>(), "written": args.write })
}
