//! `stackloom explain`.

use serde_json::json;

use super::{
    Done, Exit, Global, Printer,
    cluster::{self, ClusterName},
    or_exit,
    printer::counted,
};
use crate::{
    explain::{Explained, ExplainedValue, RecordedFleet, SourcePlace},
    io::disk::{self, Workspace},
    note::{Notes, Place},
    partial::LeftOut,
    plan::ClusterPlan,
    tree::{PartId, TreePath},
    yaml::to_json,
};

/// Show where a value of a cluster, or a line of a generated file, comes from
///
/// For a value, lists every layer that mentions it, in order: the default of the release, the defaults of the
/// folders from the outermost to the innermost, and the definition of the cluster. The last layer marked
/// `set` wins.
///
/// For a line, shows the template line that it was made from, the template statements that include it, and
/// the values that they read. If stackloom writes the line itself, shows why, and what the line is for.
///
/// Skips definitions with errors, and lists them. The exit code is 1 if the definition of the cluster has
/// errors.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  stackloom explain dev-1                                   # list all values of a cluster
  stackloom explain team-a/dev-1 spec.controlPlane.replicas
  stackloom explain dev-1 'nodePools[md-0].replicas'        # you can leave out `spec.`
  stackloom explain dev-1 addons.cilium.values
  stackloom explain generated/management/mgmt/clusters/team-a/dev-1/cluster/cluster.yaml:12
  stackloom explain generated/management/mgmt/clusters/dev/dev-1/cluster/cluster.yaml   # explain every line")]
pub(super) struct Args {
    /// A cluster, as `name` or `namespace/name`; or a generated file, as `file` or `file:line`
    #[arg(value_name = "CLUSTER|FILE[:LINE]")]
    of: String,
    /// A value of the cluster, by its path in the definition
    #[arg(value_name = "PATH")]
    path: Option<String>,
}

pub(super) fn run(args: &Args, global: &Global, printer: &Printer) -> Done {
    let world = super::fleet(global, printer)?;
    let mut notes = Notes::new();
    let read = RecordedFleet::read(&world, &mut notes);
    let (fleet, left) = match or_exit(read, printer, &notes)? {
        Ok(read) => read,
        Err(exit) => return Ok(exit),
    };
    let (given, line) = super::affects::place(&args.of);
    // Generated files always have a dot in their path, names of clusters never do.
    let path = if given.contains('.') { world.file(&given) } else { given };
    let answer = if path.starts_with("generated/") && is_left_out(&path, &left, &mut notes) {
        None
    } else if path.starts_with("generated/") {
        lines(&fleet, &path, line, args, &world, printer, &mut notes)
    } else if fleet.clusters_called(&args.of).is_empty() && left.blame(&args.of, &mut notes) {
        None
    } else if fleet.input().sources.at(&path).is_some() {
        no_file(&fleet, &path, &mut notes);
        None
    } else {
        values(&fleet, args, printer, &mut notes)
    };
    left.warn(&mut notes);
    let exit = if answer.is_some() { Exit::Done } else { Exit::Input };
    printer.notes(&notes);
    let mut document = answer.unwrap_or_else(|| json!({}));
    document["leftOut"] = left.document();
    printer.document(exit, &notes, document);
    Ok(exit)
}

/// Whether a generated file belongs to a cluster with a skipped definition; reports its errors if so.
fn is_left_out(path: &str, left: &LeftOut, notes: &mut Notes) -> bool {
    let part = TreePath::parse(path).and_then(|path| PartId::of_path(&path));
    let Some(PartId::Cluster { management, namespace, cluster }) = part else { return false };
    left.blame(&format!("{management}/{namespace}/{cluster}"), notes)
}

/// Explains lines of a generated file.
fn lines(
    fleet: &RecordedFleet,
    path: &str,
    line: Option<usize>,
    args: &Args,
    world: &Workspace,
    printer: &Printer,
    notes: &mut Notes,
) -> Option<serde_json::Value> {
    if let Some(unwanted) = &args.path {
        let message = format!("`{unwanted}` cannot be combined with a line of a file");
        notes.error("usage", None, message).hint("to ask for a value, name a cluster");
        return None;
    }
    let Some(explained) = fleet.explain(path, notes) else {
        no_file(fleet, path, notes);
        return None;
    };
    let wanted: Vec<(usize, &Explained)> = explained
        .iter()
        .enumerate()
        .map(|(at, explained)| (at + 1, explained))
        .filter(|(at, _)| line.is_none_or(|line| line == *at))
        .collect();
    if wanted.is_empty() {
        let message = format!("the file has only {}", counted(explained.len(), "line"));
        notes.error("no-line", Place::file(path), message).hint("lines are counted from 1");
        return None;
    }
    let on_disk = disk::text(world, path);
    let made: Vec<_> = explained.iter().map(|line| line.text.as_str()).collect();
    if on_disk.is_none_or(|text| text.lines().ne(made.iter().copied())) {
        let message = "this file is out of date: the explanation is of what the definitions say now";
        notes.warning("stale", Place::file(path), message).hint("run `stackloom generate` to update it");
    }
    let shown = wanted.iter().map(|(at, explained)| {
        format!("{path}:{at}\n  {}\n\n{}", explained.text, table(&explained.sources, ""))
    });
    printer.result(&shown.collect::<Vec<_>>().join("\n\n"));
    let lines = wanted
        .iter()
        .map(|(at, explained)| json!({ "line": at, "text": explained.text, "sources": explained.sources }));
    Some(json!({ "file": path, "lines": lines.collect::<Vec<_>>() }))
}

fn no_file(fleet: &RecordedFleet, path: &str, notes: &mut Notes) {
    let is_source = fleet.input().sources.at(path).is_some();
    let message = match (is_source, path.starts_with("generated/")) {
        (true, true) => "this is a source: the files of a numbered release never change",
        (true, false) => "this is a source file, not a generated one",
        (false, _) => "no definition produces this file",
    };
    let note = notes.error("no-file", Place::file(path), message);
    if is_source {
        note.hint(format!("run `stackloom affects {path}` to see what it affects"));
    } else {
        note.hint("paths are relative to the current folder; run `stackloom generate` to write the files");
    }
}

/// Explains the values of a cluster.
fn values(
    fleet: &RecordedFleet,
    args: &Args,
    printer: &Printer,
    notes: &mut Notes,
) -> Option<serde_json::Value> {
    let called = fleet.clusters_called(&args.of);
    let plan = match called.as_slice() {
        [plan] => *plan,
        [] => {
            let names = fleet.plan().clusters.iter().map(|plan| plan.cluster.name.as_str());
            cluster::note_unknown(&args.of, names, notes);
            return None;
        }
        several => {
            cluster::note_several(&args.of, several.iter().map(|plan| &plan.cluster), notes);
            return None;
        }
    };
    let found = match &args.path {
        Some(path) => fleet.value(plan, path, notes),
        None => fleet.values(plan, notes),
    };
    let name = format!("{}/{}", plan.cluster.namespace, plan.cluster.name);
    if found.is_empty() {
        no_value(fleet, plan, args, notes);
        return None;
    }
    printer.result(&match found.as_slice() {
        [value] if args.path.is_some() => {
            format!("{} of {name}\n  {}\n\n{}", value.path, value.text(), table(&value.sources, &value.path))
        }
        several => list(several),
    });
    let values = found
        .iter()
        .map(|value| json!({ "path": value.path, "value": to_json(&value.value), "sources": value.sources }));
    Some(json!({ "cluster": ClusterName::from(&plan.cluster), "values": values.collect::<Vec<_>>() }))
}

/// Reports that a value does not exist. The class may declare it, or a similar value may exist.
fn no_value(fleet: &RecordedFleet, plan: &ClusterPlan, args: &Args, notes: &mut Notes) {
    let name = format!("{}/{}", plan.cluster.namespace, plan.cluster.name);
    let path = args.path.as_deref().unwrap_or_default();
    let declared = fleet.unset_variable(plan, path, &mut Notes::new());
    if let Some(source) = declared.first() {
        notes
            .error(
                "no-value",
                None,
                format!("the cluster `{name}` does not set `{path}`, and the class has no default"),
            )
            .hint(format!("the class declares it: {}:{}", source.file, source.line));
        return;
    }
    let note = notes.error("no-value", None, format!("the cluster `{name}` has no value `{path}`"));
    let all = fleet.values(plan, &mut Notes::new());
    let last = path.rsplit(['.', '[']).next().unwrap_or(path).trim_end_matches(']');
    let same = all.iter().find(|value| value.path.ends_with(last) && !last.is_empty());
    let known = same
        .map(|value| value.path.as_str())
        .or_else(|| crate::definition::closest(path, all.iter().map(|value| value.path.as_str())));
    match known {
        Some(known) => note.hint(format!("did you mean `{known}`?")),
        None => note.hint(format!("`stackloom explain {}` shows all its values", args.of)),
    };
}

/// Formats one value per line: the path, the value, and the place that sets it.
fn list(values: &[ExplainedValue]) -> String {
    let rows = values.iter().map(|value| {
        let decides = value.decided_by();
        let place = decides.map(|source| format!("{}:{}", source.file, source.line)).unwrap_or_default();
        [value.path.clone(), value.text(), place]
    });
    aligned(&rows.collect::<Vec<_>>())
}

/// Formats one source per line: its role, its place, its text, and the value read there, unless that is `known`.
fn table(sources: &[SourcePlace], known: &str) -> String {
    let rows = sources.iter().map(|source| {
        let end = if source.end > source.line { format!("-{}", source.end) } else { String::new() };
        let place = match &source.release {
            Some(_) => format!("{}/", source.file.trim_end_matches("/stack.yaml")),
            None => format!("{}:{}{end}", source.file, source.line),
        };
        let text = if source.release.is_some() { String::new() } else { source.text.to_string() };
        let why = if source.what.is_empty() || *source.what == *known {
            text
        } else {
            format!("{text}  ({})", source.what)
        };
        [format!("  {}", source.role.word()), place, why.trim_start().to_owned()]
    });
    aligned(&rows.collect::<Vec<_>>())
}

fn aligned(rows: &[[String; 3]]) -> String {
    const WIDEST: usize = 72;
    let width = |column: usize| {
        let widths = rows.iter().map(|row| row[column].chars().count());
        widths.filter(|width| *width <= WIDEST).max().unwrap_or_default()
    };
    let (first, second) = (width(0), width(1));
    let row = |[a, b, c]: &[String; 3]| format!("{a:first$}  {b:second$}  {c}").trim_end().to_owned();
    rows.iter().map(row).collect::<Vec<_>>().join("\n")
}
