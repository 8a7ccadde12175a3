//! `stackloom matrix`.

use serde_json::{Value as Json, json};

use super::{
    Done, Exit, Global, Printer, cluster::ClusterName, clusters::NOTHING, or_exit, printer::counted,
    releases, table, today::Today,
};
use crate::{
    definition::closest,
    generate::{self, Understood},
    model::{AddonVersion, ClusterId, CompatibilityRule, Date, StackId, VersionRange},
    note::Notes,
    partial::LeftOut,
    release::{
        AddonRow, Cell, Column, Compatibility, PinningRelease, StackMatrix, VersionRow, fleet_matrix,
        stack_matrix,
    },
    upgrade::ChartRanges,
};

/// Show which addon versions fit which Kubernetes versions, or the Kubernetes versions of the fleet
///
/// With a stack, prints a row for each version of each addon, and a column for each Kubernetes version.
/// `fits` means that the matrix of the addon lists the combination and no rule denies it. `untested` means
/// the same, but the documentation of the addon names other Kubernetes versions. `denied` means that a rule
/// in stack.yaml forbids the combination, `refused` that the `kubeVersion` of the chart does. `–` means that
/// the matrix lists the addon version only for other Kubernetes versions, or not at all. Releases that pin a
/// version follow in parentheses; `head` is the stack as it is now.
///
/// Without a stack, lists the Kubernetes versions of the fleet, each with its maturity, its end of life, and
/// the number of clusters that have it.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  stackloom matrix                       list the Kubernetes versions of the fleet\n  stackloom matrix --today 2027-03-01    the same for another day\n  stackloom matrix docker/scs            show which addons fit which Kubernetes versions\n  stackloom matrix docker/scs --format json | jq -r '.addons[] | select(.name == \"cilium\") | .version'"
)]
pub(super) struct Args {
    /// A stack, as <provider>/<stack>; by default the whole fleet
    #[arg(value_name = "PROVIDER/STACK")]
    stack: Option<String>,
    #[command(flatten)]
    today: Today,
}

pub(super) fn run(args: &Args, global: &Global, printer: &Printer) -> Done {
    let world = super::fleet(global, printer)?;
    let mut notes = Notes::new();
    let read = generate::understand_sound(&world, &mut notes);
    let (understood, left) = match or_exit(read, printer, &notes)? {
        Ok(read) => read,
        Err(exit) => return Ok(exit),
    };
    left.warn(&mut notes);
    let (lines, mut document) = match &args.stack {
        None => of_fleet(&understood, args.today.day()?),
        Some(name) => match of_stack(name, &understood, &left, &mut notes) {
            Some(answer) => answer,
            None => {
                printer.notes(&notes);
                printer.document(Exit::Input, &notes, json!({}));
                return Ok(Exit::Input);
            }
        },
    };
    printer.notes(&notes);
    for line in &lines {
        printer.result(line);
    }
    document["leftOut"] = left.document();
    printer.document(Exit::Done, &notes, document);
    Ok(Exit::Done)
}

/// The table of a stack and its document; None if the stack does not exist or has errors.
fn of_stack(
    name: &str,
    understood: &Understood,
    left: &LeftOut,
    notes: &mut Notes,
) -> Option<(Vec<String>, Json)> {
    let Understood { definitions, model, releases, input, .. } = understood;
    let id = StackId::parse(name);
    if id.as_ref().is_some_and(|id| left.blame_stack(id, notes)) {
        return None;
    }
    let charts = ChartRanges::new(&model.lock, input);
    let matrix = id.as_ref().and_then(|id| {
        stack_matrix(definitions, model, releases, id, &|addon, version| charts.kubernetes(addon, version))
    });
    let Some(matrix) = matrix else {
        let note = notes.error("unknown-stack", None, format!("there is no stack `{name}`"));
        let known: Vec<_> = definitions.stacks.keys().map(String::as_str).collect();
        match closest(name, known.iter().copied()) {
            Some(similar) => note.hint(format!("did you mean `{similar}`?")),
            None if known.is_empty() => note.hint("`stackloom new stack PROVIDER/STACK` adds one"),
            None => note.hint(format!("the fleet has {}", known.join(", "))),
        };
        return None;
    };
    let mut lines = table::lines(&stack_table(&matrix));
    if matrix.rows.is_empty() {
        lines.push("it has no addons".to_owned());
    }
    if !matrix.rules.is_empty() {
        lines.extend([String::new(), "rules:".to_owned()]);
        lines.extend(matrix.rules.iter().map(rule));
    }
    Some((lines, stack_document(name, &matrix)))
}

fn stack_table(matrix: &StackMatrix) -> Vec<Vec<String>> {
    let head = |titles: [&str; 2], text: fn(&Column) -> String| {
        let columns = matrix.columns.iter().map(text);
        titles.into_iter().map(str::to_owned).chain(columns).collect::<Vec<_>>()
    };
    let line = |row: &AddonRow| {
        let version = row.version.as_ref().map_or_else(|| NOTHING.to_owned(), AddonVersion::to_string);
        [row.addon.clone(), version].into_iter().chain(row.cells.iter().map(cell)).collect()
    };
    let heads = [
        head(["addon", "version"], |column| column.release.kubernetes.to_string()),
        head(["", ""], |column| column.maturity.map_or("not served", releases::maturity).to_owned()),
        head(["", ""], |column| match column.end_of_life {
            Some(date) => format!("until {date}"),
            None => NOTHING.to_owned(),
        }),
    ];
    heads.into_iter().chain(matrix.rows.iter().map(line)).collect()
}

fn cell(cell: &Cell) -> String {
    let fit = match &cell.fit {
        Compatibility::Fits => "fits",
        Compatibility::Untested { .. } => "untested",
        Compatibility::OutOfChart(_) => "refused",
        Compatibility::Denied(_) => "denied",
        Compatibility::OutOfRange(_) | Compatibility::Unlisted | Compatibility::Absent => NOTHING,
    };
    let short = |pin: &PinningRelease| {
        if pin.release.is_head() { "head".to_owned() } else { pin.release.version.clone() }
    };
    let newest: Vec<_> = cell.pinned_by.iter().filter(|pin| pin.is_newest).map(short).collect();
    match (newest.as_slice(), cell.pinned_by.last()) {
        ([], None) => fit.to_owned(),
        ([], Some(older)) => format!("{fit} ({})", short(older)),
        (newest, _) => format!("{fit} ({})", newest.join(", ")),
    }
}

fn rule(rule: &CompatibilityRule) -> String {
    let any = |range: &Option<VersionRange>| {
        range.as_ref().map_or_else(|| "any version".to_owned(), VersionRange::to_string)
    };
    let better = rule.upgrade_to.as_ref().map(|version| format!("; upgrade to {version}"));
    format!(
        "  {}: {} {} with Kubernetes {}: {}{}",
        rule.name,
        rule.addon,
        any(&rule.version),
        any(&rule.kubernetes),
        rule.deny,
        better.unwrap_or_default()
    )
}

fn stack_document(name: &str, matrix: &StackMatrix) -> Json {
    let column = |column: &Column| {
        json!({
            "version": column.release.kubernetes.to_string(),
            "maturity": column.maturity.map(releases::maturity),
            "endOfLife": column.end_of_life.map(|date| date.to_string()),
            "release": column.release.name,
        })
    };
    let cell = |(column, cell): (&Column, &Cell)| {
        let (fit, range, rule) = match &cell.fit {
            Compatibility::Fits => ("fits", None, None),
            Compatibility::Untested { kubernetes, .. } => ("untested", Some(kubernetes.to_string()), None),
            Compatibility::OutOfChart(range) => ("outOfChart", Some(range.to_string()), None),
            Compatibility::OutOfRange(range) => ("outOfRange", Some(range.to_string()), None),
            Compatibility::Unlisted => ("unlisted", None, None),
            Compatibility::Denied(rule) => ("denied", None, Some(rule.to_string())),
            Compatibility::Absent => ("absent", None, None),
        };
        json!({
            "version": column.release.kubernetes.to_string(),
            "fit": fit,
            "range": range,
            "rule": rule,
            "source": match &cell.fit {
                Compatibility::Untested { source, .. } => source.clone(),
                _ => None,
            },
            "pinnedBy": cell.pinned_by.iter().map(|pin| pin.release.name.clone()).collect::<Vec<_>>(),
        })
    };
    let row = |row: &AddonRow| {
        json!({
            "name": row.addon,
            "version": row.version.as_ref().map(ToString::to_string),
            "kubernetes": matrix.columns.iter().zip(&row.cells).map(cell).collect::<Vec<_>>(),
        })
    };
    let rule = |rule: &CompatibilityRule| {
        json!({
            "name": &*rule.name,
            "addon": rule.addon.to_string(),
            "version": rule.version.as_ref().map(ToString::to_string),
            "kubernetes": rule.kubernetes.as_ref().map(ToString::to_string),
            "deny": &*rule.deny,
            "upgradeTo": rule.upgrade_to.as_ref().map(ToString::to_string),
        })
    };
    json!({
        "stack": name,
        "kubernetes": matrix.columns.iter().map(column).collect::<Vec<_>>(),
        "addons": matrix.rows.iter().map(row).collect::<Vec<_>>(),
        "rules": matrix.rules.iter().map(rule).collect::<Vec<_>>(),
    })
}

/// The table of the fleet and its document.
fn of_fleet(understood: &Understood, today: Date) -> (Vec<String>, Json) {
    let Understood { definitions, model, releases, .. } = understood;
    let (rows, unknown) = fleet_matrix(definitions, model, releases);
    let head = ["kubernetes", "stack", "maturity", "end of life", "", "clusters"].map(str::to_owned).to_vec();
    let line = |row: &VersionRow| {
        vec![
            row.kubernetes.to_string(),
            row.stack.to_string(),
            row.maturity.map_or("not served", releases::maturity).to_owned(),
            row.end_of_life.map_or_else(|| NOTHING.to_owned(), |date| date.to_string()),
            row.end_of_life.map(|date| distance(today.days_until(date))).unwrap_or_default(),
            row.clusters.len().to_string(),
        ]
    };
    let mut lines = table::lines(&std::iter::once(head).chain(rows.iter().map(line)).collect::<Vec<_>>());
    if rows.is_empty() {
        lines = vec!["no stack yet: `stackloom new stack PROVIDER/STACK` adds one".to_owned()];
    }
    if !unknown.is_empty() {
        let count = counted(unknown.len(), "cluster");
        lines.push(format!("{count} with an unknown version: the release has errors, see `stackloom check`"));
    }
    (lines, fleet_document(&rows, &unknown, today))
}

/// The distance to a day, in words.
fn distance(days: i64) -> String {
    match days {
        0 => "today".to_owned(),
        1 => "in 1 day".to_owned(),
        -1 => "1 day ago".to_owned(),
        2.. => format!("in {days} days"),
        _ => format!("{} days ago", -days),
    }
}

fn fleet_document(rows: &[VersionRow], unknown: &[ClusterId], today: Date) -> Json {
    let row = |row: &VersionRow| {
        json!({
            "kubernetes": row.kubernetes.to_string(),
            "stack": row.stack.to_string(),
            "maturity": row.maturity.map(releases::maturity),
            "endOfLife": row.end_of_life.map(|date| date.to_string()),
            "daysLeft": row.end_of_life.map(|date| today.days_until(date)),
            "clusters": ClusterName::all(&row.clusters),
        })
    };
    json!({
        "today": today.to_string(),
        "versions": rows.iter().map(row).collect::<Vec<_>>(),
        "unknown": ClusterName::all(unknown),
    })
}
