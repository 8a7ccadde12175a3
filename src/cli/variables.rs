//! `stackloom variables`.

use std::{collections::BTreeSet, sync::Arc};

use serde_json::{Map, Value as Json, json};

use super::{
    Done, Exit, Global, Printer,
    cluster::{self, ClusterName},
    or_exit, table,
};
use crate::{
    definition::{Model, closest},
    explain::{ExplainedValue, RecordedFleet},
    generate,
    io::disk::Workspace,
    model::{Cluster, Minor, is_called},
    note::Notes,
    partial::LeftOut,
    release::{Release, Releases},
    yaml::to_json,
};

/// Show the variables of a stack or a release, or those of a cluster with their values
///
/// Prints one line per variable and field: its type, whether it is required, its default and its description. For a
/// cluster, also its value and the file and line that set it.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  stackloom variables docker/scs\n  stackloom variables openstack/scs --kubernetes 1.35\n  stackloom variables openstack-scs-1-35-v7\n  stackloom variables dev-1                  # with values, and where they come from"
)]
pub(super) struct Args {
    /// A stack, as <provider>/<stack>; a release; or a cluster, as `name` or `namespace/name`
    #[arg(value_name = "STACK|CLUSTER|RELEASE")]
    of: String,
    /// The Kubernetes minor of a stack; by default the newest
    #[arg(long, value_name = "MINOR")]
    kubernetes: Option<String>,
}

/// A variable, or a field of one.
struct Row {
    path: String,
    kind: String,
    required: bool,
    default: Option<Json>,
    description: String,
    /// Whether the path contains lists or maps, and so can have several values.
    many: bool,
}

impl Row {
    /// The path in a definition.
    fn whole_path(&self) -> String {
        format!("spec.variables.{}", self.path)
    }
}

pub(super) fn run(args: &Args, global: &Global, printer: &Printer) -> Done {
    let world = super::fleet(global, printer)?;
    let mut notes = Notes::new();
    let found = match or_exit(find(args, &world, &mut notes), printer, &notes)? {
        Ok(found) => found,
        Err(exit) => return Ok(exit),
    };
    let rows = rows(&found.release);
    printer.notes(&notes);
    printer.talk(&found.title);
    for line in &table::lines(&text(&rows, found.values.as_deref())) {
        printer.result(line);
    }
    if rows.is_empty() {
        printer.result("its class declares no variables");
    }
    printer.document(Exit::Done, &notes, document(&found, &rows));
    Ok(Exit::Done)
}

/// The requested release or cluster.
struct Requested {
    title: String,
    release: Arc<Release>,
    cluster: Option<ClusterName>,
    values: Option<Vec<ExplainedValue>>,
}

fn find(args: &Args, world: &Workspace, notes: &mut Notes) -> Result<Requested, generate::Failure> {
    let (understood, left) = generate::understand_sound(world, notes)?;
    let found = find_sound(args, understood, &left, world, notes);
    left.warn(notes);
    found
}

fn find_sound(
    args: &Args,
    understood: generate::Understood,
    left: &LeftOut,
    world: &Workspace,
    notes: &mut Notes,
) -> Result<Requested, generate::Failure> {
    let generate::Understood { input, model, releases, definitions, .. } = understood;
    drop(definitions);
    let of = args.of.as_str();
    let minor = args.kubernetes.as_deref().map(|text| {
        Minor::parse(text).ok_or_else(|| {
            notes
                .error("wrong-version", None, format!("`{text}` is not a Kubernetes minor"))
                .hint("write it as 1.35");
            generate::Failure::Input
        })
    });
    let minor = minor.transpose()?;
    if let Some(found) = of_stack(of, minor, &releases, notes) {
        return found;
    }
    if releases.names().contains(&of) {
        let release = match releases.shared_heads().find(|head| head.name == of) {
            Some(head) => Some(head.clone()),
            None => releases.named(of, crate::yaml::Origin::NOWHERE, notes),
        };
        let release = release.ok_or(generate::Failure::Input)?;
        return Ok(Requested { title: format!("the release {of}"), release, cluster: None, values: None });
    }
    let meant: Vec<_> = model.clusters.iter().filter(|cluster| is_called(&cluster.full_name(), of)).collect();
    match meant.as_slice() {
        [cluster] => {
            let cluster = Cluster::clone(cluster);
            // The fleet is read again, with a recorder. Keeping both copies would take twice the memory.
            drop((input, model, releases));
            of_cluster(&cluster, world, notes)
        }
        [] => {
            if !releases.note_refused(of, None, notes) && !left.blame(of, notes) {
                unknown(of, &model, &releases, notes);
            }
            Err(generate::Failure::Input)
        }
        several => {
            cluster::note_several(of, several.iter().copied(), notes);
            Err(generate::Failure::Input)
        }
    }
}

fn unknown(of: &str, model: &Model, releases: &Releases, notes: &mut Notes) {
    let stacks = releases.shared_heads().map(|head| head.stack.to_string());
    let names = releases.names().into_iter().map(str::to_owned);
    let clusters = model.clusters.iter().map(|cluster| cluster.name.to_string());
    let all: Vec<String> = stacks.chain(names).chain(clusters).collect();
    // The given name may be that of a provider; then its stacks are listed.
    let of_provider: BTreeSet<&str> = all
        .iter()
        .filter(|name| name.split_once('/').is_some_and(|(provider, _)| provider == of))
        .map(String::as_str)
        .collect();
    let message = format!("there is no stack, release or cluster `{of}`");
    let note = notes.error("unknown", None, message);
    if !of_provider.is_empty() {
        let list: Vec<_> = of_provider.iter().map(|stack| format!("`{stack}`")).collect();
        note.hint(format!("the provider `{of}` has the stacks {}", list.join(", ")));
        return;
    }
    match closest(of, all.iter().map(String::as_str)) {
        Some(similar) => note.hint(format!("did you mean `{similar}`?")),
        None => note.hint("run `stackloom clusters` or `stackloom releases` for a list"),
    };
}

/// Finds a cluster with its values.
fn of_cluster(
    cluster: &Cluster,
    world: &Workspace,
    notes: &mut Notes,
) -> Result<Requested, generate::Failure> {
    let mut found = Notes::new();
    let (fleet, left) = match RecordedFleet::read(world, &mut found) {
        Ok(read) => read,
        Err(failure) => {
            notes.append(found);
            return Err(failure);
        }
    };
    let plan = fleet.plan().clusters.iter().find(|plan| plan.cluster.full_name() == cluster.full_name());
    let Some(plan) = plan else {
        // The definition can be read, but nothing can be generated from it.
        if !left.blame(&cluster.full_name(), notes) {
            notes.append(left.faults().clone());
        }
        return Err(generate::Failure::Input);
    };
    let values = fleet.values(plan, &mut Notes::new());
    let title = format!("{}, made from {}", plan.cluster.id(), plan.release.name);
    let (release, cluster) = (plan.release.clone(), Some(ClusterName::from(&plan.cluster)));
    Ok(Requested { title, release, cluster, values: Some(values) })
}

/// Finds the head of a stack; None if the name is not that of a stack.
fn of_stack(
    of: &str,
    minor: Option<Minor>,
    releases: &Releases,
    notes: &mut Notes,
) -> Option<Result<Requested, generate::Failure>> {
    let mut heads: Vec<_> = releases.shared_heads().filter(|head| head.stack.to_string() == of).collect();
    heads.sort_by_key(|head| head.kubernetes.minor());
    let newest = heads.last()?;
    let fits = |head: &&&Arc<Release>| head.kubernetes.minor() == minor.unwrap_or(newest.kubernetes.minor());
    let Some(head) = heads.iter().find(fits) else {
        let all: Vec<_> = heads.iter().map(|head| head.kubernetes.minor().to_string()).collect();
        notes
            .error("unknown-minor", None, format!("the stack `{of}` does not support this Kubernetes minor"))
            .hint(format!("it supports {}", all.join(", ")));
        return Some(Err(generate::Failure::Input));
    };
    let title = format!("the head of {of} for Kubernetes {}", head.kubernetes);
    Some(Ok(Requested { title, release: Arc::clone(head), cluster: None, values: None }))
}

fn rows(release: &Release) -> Vec<Row> {
    let mut rows = Vec::new();
    for variable in &release.class.variables {
        let schema = to_json(&variable.schema);
        collect(&variable.name, &schema, variable.required, false, &mut rows);
    }
    rows
}

fn collect(path: &str, schema: &Json, required: bool, many: bool, rows: &mut Vec<Row>) {
    rows.push(Row {
        kind: kind(schema),
        required,
        default: schema.get("default").cloned(),
        description: one_line(schema["description"].as_str().unwrap_or_default()),
        many,
        path: path.to_owned(),
    });
    let required = |name: &str| {
        schema["required"].as_array().into_iter().flatten().any(|one| one.as_str() == Some(name))
    };
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        collect(&format!("{path}.{name}"), field, required(name), many, rows);
    }
    for (key, mark) in [("items", "[]"), ("additionalProperties", ".*")] {
        let Some(inner) = schema.get(key).filter(|inner| inner.is_object()) else { continue };
        for (name, field) in inner["properties"].as_object().into_iter().flatten() {
            let required =
                inner["required"].as_array().into_iter().flatten().any(|one| one.as_str() == Some(name));
            collect(&format!("{path}{mark}.{name}"), field, required, true, rows);
        }
    }
}

/// The type of a value, with its allowed values.
fn kind(schema: &Json) -> String {
    let own = match schema["type"].as_str() {
        _ if schema["x-kubernetes-int-or-string"] == json!(true) => "integer or string".to_owned(),
        Some("array") => format!("list of {}", kind(&schema["items"])),
        Some("object") if schema["additionalProperties"].is_object() => {
            format!("map of {}", kind(&schema["additionalProperties"]))
        }
        Some(name) => name.to_owned(),
        None => "any".to_owned(),
    };
    match schema["enum"].as_array() {
        Some(values) => {
            let values: Vec<_> = values.iter().map(inline).collect();
            format!("{own}: {}", values.join(" | "))
        }
        None => own,
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn inline(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The values at a path and below it, each with its sources.
fn value<'a>(row: &Row, values: &'a [ExplainedValue]) -> Vec<&'a ExplainedValue> {
    let path = row.whole_path();
    let is_in = |value: &&ExplainedValue| {
        value.path.strip_prefix(&path).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    if row.many { Vec::new() } else { values.iter().filter(is_in).collect() }
}

fn text(rows: &[Row], values: Option<&[ExplainedValue]>) -> Vec<Vec<String>> {
    if rows.is_empty() {
        return Vec::new();
    }
    let mut head = vec!["variable", "type", "required", "default"];
    head.extend(values.map(|_| ["value", "from"]).into_iter().flatten());
    head.push("description");
    let mut lines = vec![head.into_iter().map(str::to_owned).collect::<Vec<_>>()];
    for row in rows {
        let required = if row.required { "yes" } else { "no" };
        let default = row.default.as_ref().map(inline).unwrap_or_default();
        let mut line = vec![row.path.clone(), row.kind.clone(), required.to_owned(), shortened(&default)];
        if let Some(values) = values {
            let (value, from) = match value(row, values).as_slice() {
                // A value below the path has a row of its own.
                [only] if only.path == row.whole_path() => {
                    let from = only.decided_by().map(|source| format!("{}:{}", source.file, source.line));
                    (inline(&to_json(&only.value)), from.unwrap_or_default())
                }
                _ => (String::new(), String::new()),
            };
            line.extend([shortened(&value), from]);
        }
        line.push(row.description.clone());
        lines.push(line);
    }
    lines
}

/// Shortens a value to leave room for the other columns; documents contain all of it.
fn shortened(text: &str) -> String {
    const WIDEST: usize = 40;
    if text.chars().count() <= WIDEST {
        return text.to_owned();
    }
    text.chars().take(WIDEST - 1).chain(['…']).collect()
}

fn document(found: &Requested, rows: &[Row]) -> Json {
    let one = |row: &Row| {
        let mut one = Map::new();
        one.insert("name".to_owned(), json!(row.path));
        one.insert("type".to_owned(), json!(row.kind));
        one.insert("required".to_owned(), json!(row.required));
        one.insert("default".to_owned(), json!(row.default));
        one.insert("description".to_owned(), json!(row.description));
        if let Some(values) = &found.values {
            let values = value(row, values).into_iter().map(|value| {
                json!({
                    "path": value.path,
                    "value": to_json(&value.value),
                    "file": value.decided_by().map(|source| source.file.clone()),
                    "line": value.decided_by().map(|source| source.line),
                })
            });
            one.insert("values".to_owned(), values.collect());
        }
        Json::Object(one)
    };
    json!({
        "release": found.release.name,
        "stack": found.release.stack.to_string(),
        "kubernetes": found.release.kubernetes.to_string(),
        "cluster": found.cluster,
        "variables": rows.iter().map(one).collect::<Vec<_>>(),
    })
}
