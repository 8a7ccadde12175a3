//! `stackloom clusters`.

use std::sync::Arc;

use serde_json::{Map, Value as Json, json};

use super::{Done, Exit, Global, Printer, cluster::ClusterName, or_exit, table};
use crate::{
    generate,
    model::{Cluster, ReleaseRef},
    note::Notes,
    release::Release,
};

/// List the clusters of the fleet
///
/// Prints one line per cluster, with its stack, release and Kubernetes version. Options narrow the list; a cluster must
/// match all of them.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  stackloom clusters\n  stackloom clusters --namespace team-a\n  stackloom clusters --stack openstack/scs --format json | jq -r '.clusters[].cluster.name'"
)]
pub(super) struct Args {
    /// Only clusters in this namespace
    #[arg(long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// Only clusters of this management cluster
    #[arg(long, value_name = "MANAGEMENT_CLUSTER")]
    management_cluster: Option<String>,
    /// Only clusters of this stack
    #[arg(long, value_name = "PROVIDER/STACK")]
    stack: Option<String>,
    /// Only clusters that use this release; `head` for those that follow a stack
    #[arg(long, value_name = "RELEASE")]
    release: Option<String>,
}

/// A cluster and its release; no release if that has errors.
struct Row<'a> {
    cluster: &'a Cluster,
    release: Option<Arc<Release>>,
}

/// A column of the list: its title, its key in documents, and what it says.
struct Column {
    title: &'static str,
    key: &'static str,
    value: fn(&Row<'_>) -> Option<String>,
}

/// The columns behind the cluster's own names. A new one is one entry here, and is in every format.
const COLUMNS: [Column; 4] = [
    Column { title: "stack", key: "stack", value: |row| row.stack() },
    Column { title: "release", key: "release", value: |row| Some(row.release_name()) },
    Column {
        title: "kubernetes",
        key: "kubernetes",
        value: |row| row.release.as_ref().map(|release| release.kubernetes.to_string()),
    },
    Column { title: "state", key: "state", value: |row| Some(row.state().to_owned()) },
];

/// Shown for unknown values.
const UNKNOWN: &str = "unknown";

impl Row<'_> {
    fn stack(&self) -> Option<String> {
        match (&self.cluster.release, &self.release) {
            (ReleaseRef::Head(stack, _), _) => Some(stack.to_string()),
            (_, release) => release.as_ref().map(|release| release.stack.to_string()),
        }
    }

    fn release_name(&self) -> String {
        match &self.cluster.release {
            ReleaseRef::Head(..) => "head".to_owned(),
            ReleaseRef::Named(name) => name.to_string(),
        }
    }

    fn state(&self) -> &'static str {
        match (&self.cluster.removal, &self.cluster.suspend) {
            (Some(removal), _) => removal.step.as_str(),
            (None, Some(_)) => "suspended",
            (None, None) => "active",
        }
    }

    fn fits(&self, args: &Args) -> bool {
        let is = |wanted: &Option<String>, own: &str| wanted.as_deref().is_none_or(|wanted| wanted == own);
        is(&args.namespace, self.cluster.namespace.as_str())
            && is(&args.management_cluster, self.cluster.management.name.as_str())
            && is(&args.stack, &self.stack().unwrap_or_default())
            && is(&args.release, &self.release_name())
    }
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
    let generate::Understood { input, model, releases, .. } = understood;
    // What is wrong with a release is the business of `check`; here it is not known.
    let row = |cluster| Row { cluster, release: releases.of(cluster, &input, &mut Notes::new()) };
    let rows: Vec<_> = model.clusters.iter().map(row).filter(|row| row.fits(args)).collect();
    printer.notes(&notes);
    for line in &table::lines(&text(&rows)) {
        printer.result(line);
    }
    if rows.is_empty() {
        let none = match (model.clusters.is_empty(), left.is_empty()) {
            (true, true) => "no cluster yet: `stackloom new cluster` adds one",
            (true, false) => "no cluster to list: definitions with errors were skipped",
            (false, _) => "no cluster matches",
        };
        printer.result(none);
    }
    let mut document = document(&rows);
    document["leftOut"] = left.document();
    printer.document(Exit::Done, &notes, document);
    Ok(Exit::Done)
}

fn text(rows: &[Row<'_>]) -> Vec<Vec<String>> {
    if rows.is_empty() {
        return Vec::new();
    }
    let names = ["name", "namespace", "management cluster"].map(str::to_owned);
    let mut lines =
        vec![names.into_iter().chain(COLUMNS.iter().map(|column| column.title.to_owned())).collect()];
    lines.extend(rows.iter().map(|row| {
        let id = row.cluster.id();
        let names = [id.name.to_string(), id.namespace.to_string(), id.management.to_string()];
        let values = COLUMNS.iter().map(|column| (column.value)(row).unwrap_or_else(|| UNKNOWN.to_owned()));
        names.into_iter().chain(values).collect()
    }));
    lines
}

fn document(rows: &[Row<'_>]) -> Json {
    let one = |row: &Row<'_>| {
        let mut one = Map::new();
        one.insert("cluster".to_owned(), json!(ClusterName::from(row.cluster)));
        one.extend(COLUMNS.iter().map(|column| (column.key.to_owned(), json!((column.value)(row)))));
        one.insert("file".to_owned(), json!(&*row.cluster.file));
        Json::Object(one)
    };
    json!({ "clusters": rows.iter().map(one).collect::<Vec<_>>() })
}
