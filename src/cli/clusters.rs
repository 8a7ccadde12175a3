//! `stackloom clusters`.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use clap::builder::PossibleValuesParser;
use serde_json::{Value as Json, json};

use super::{
    Done, Exit, Global, Printer, cluster::ClusterName, or_exit, printer::counted, table, today::Today,
};
use crate::{
    generate::{self, Understood},
    model::{AddonVersion, Cluster, Date, Hold, ReleaseRef, RemovalStep, Rollout, Selector},
    note::{Fault, Notes},
    release::{AHEAD, AddonDifference, Release, Standing, addon_differences, lifecycles, standing},
};

/// List the clusters of the fleet
///
/// Prints one line per cluster: its stack, release and Kubernetes version, when that version reaches its end
/// of life, and the newest release that the cluster could use. Options narrow the list; a cluster must match
/// all of them. The end of life comes from stack.yaml, or else from a built-in date.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  stackloom clusters\n  stackloom clusters --selector env=prod --behind         what to upgrade in production\n  stackloom clusters --eol-within 90d                    clusters whose Kubernetes version needs attention\n  stackloom clusters -o name,release,newest-release,newer-minors,addons\n  stackloom clusters --stack openstack/scs --format json | jq -r '.clusters[].cluster.name'"
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
    /// Only clusters that use this release, or `head` for those that follow a stack
    #[arg(long, value_name = "RELEASE")]
    release: Option<String>,
    /// Only clusters with these labels, as kubectl writes them: `env=prod,region in (eu,us),!legacy`
    #[arg(long, value_name = "SELECTOR", value_parser = Selector::parse)]
    selector: Option<Selector>,
    /// Only clusters for which a newer release of their Kubernetes minor and channel exists in this
    /// repository
    #[arg(long)]
    behind: bool,
    /// Only clusters whose Kubernetes version reaches its end of life within this many days, or has reached
    /// it, as in `90d`
    #[arg(long, value_name = "DAYS", value_parser = days)]
    eol_within: Option<u32>,
    #[command(flatten)]
    today: Today,
    /// The columns of the table, in this order; JSON and YAML always contain all of them
    #[arg(short = 'o', long, value_name = "COLUMN,…", value_delimiter = ',', value_parser = PossibleValuesParser::new(COLUMNS.map(|column| column.word)))]
    columns: Vec<String>,
}

/// A cluster with its release and that release's standing; without a release if it has errors.
struct Row<'a> {
    cluster: &'a Cluster,
    /// The hold that keeps it from upgrades today.
    hold: Option<&'a Hold>,
    release: Option<(Arc<Release>, Arc<Standing>)>,
    addons: Vec<AddonDifference>,
    /// The active rollout that the cluster takes part in.
    rollout: Option<&'a str>,
}

/// What a cell shows of a cluster.
type CellText = fn(&Row<'_>) -> String;

/// A column of the table: its name in `--columns`, its title, whether it is shown by default, and its text.
struct Column {
    word: &'static str,
    title: &'static str,
    is_default: bool,
    text: CellText,
}

const COLUMNS: [Column; 13] = [
    column("name", "name", true, |row| row.cluster.name.to_string()),
    column("namespace", "namespace", true, |row| row.cluster.namespace.to_string()),
    column("management-cluster", "management cluster", true, |row| row.cluster.management.name.to_string()),
    column("stack", "stack", true, |row| row.stack().unwrap_or_else(unknown)),
    column("release", "release", true, release_name),
    column("kubernetes", "kubernetes", true, |row| row.kubernetes().unwrap_or_else(unknown)),
    column("end-of-life", "end of life", true, |row| {
        row.of_release(|one| one.end_of_life.map(|date| date.to_string()))
    }),
    column("newest-release", "newest release", true, |row| row.of_release(|one| one.newest.clone())),
    column("newer-minors", "newer minors", false, |row| {
        row.of_release(|one| joined(one.newer_minors.iter()))
    }),
    column("addons", "addons", false, addons),
    column("state", "state", true, |row| row.state().to_owned()),
    column("reason", "reason", false, |row| row.reason().unwrap_or(NOTHING).to_owned()),
    column("rollout", "rollout", false, |row| row.rollout.unwrap_or(NOTHING).to_owned()),
];

const fn column(word: &'static str, title: &'static str, is_default: bool, text: CellText) -> Column {
    Column { word, title, is_default, text }
}

/// The text of an empty cell.
pub(super) const NOTHING: &str = "–";

/// The text of an unknown value: the release has errors.
fn unknown() -> String {
    "unknown".to_owned()
}

fn joined(words: impl Iterator<Item = impl ToString>) -> Option<String> {
    let words: Vec<_> = words.map(|word| word.to_string()).collect();
    (!words.is_empty()).then(|| words.join(", "))
}

fn days(text: &str) -> Result<u32, String> {
    let number = text.strip_suffix('d').and_then(|number| number.parse().ok());
    number.ok_or_else(|| "write a number of days and `d`, as in `90d`".to_owned())
}

impl Args {
    /// Says which filter by name no cluster of the fleet matches, and what would; none if each matches some.
    fn unmatched(&self, rows: &[Row<'_>]) -> Option<String> {
        let filters: [(&str, &Option<String>, CellText); 4] = [
            ("namespace", &self.namespace, |row| row.cluster.namespace.to_string()),
            ("management cluster", &self.management_cluster, |row| row.cluster.management.name.to_string()),
            ("stack", &self.stack, |row| row.stack().unwrap_or_else(unknown)),
            ("release", &self.release, release_name),
        ];
        filters.into_iter().find_map(|(what, wanted, own)| {
            let wanted = wanted.as_ref()?;
            let known: BTreeSet<String> = rows.iter().map(own).collect();
            let shown: Vec<&str> = known.iter().take(SHOWN).map(String::as_str).collect();
            let more = if known.len() > SHOWN { ", …" } else { "" };
            (!known.contains(wanted)).then(|| {
                format!("no cluster has the {what} `{wanted}`; the clusters have {}{more}", shown.join(", "))
            })
        })
    }
}

/// The number of names that are listed if none matches a filter.
const SHOWN: usize = 10;

impl Row<'_> {
    fn stack(&self) -> Option<String> {
        match (&self.cluster.release, &self.release) {
            (ReleaseRef::Head(stack, _), _) => Some(stack.to_string()),
            (_, release) => release.as_ref().map(|(release, _)| release.stack.to_string()),
        }
    }

    fn kubernetes(&self) -> Option<String> {
        self.release.as_ref().map(|(release, _)| release.kubernetes.to_string())
    }

    fn standing(&self) -> Option<&Standing> {
        self.release.as_ref().map(|(_, standing)| &**standing)
    }

    fn of_release(&self, text: impl Fn(&Standing) -> Option<String>) -> String {
        self.standing().map_or_else(unknown, |standing| text(standing).unwrap_or_else(|| NOTHING.to_owned()))
    }

    fn state(&self) -> &'static str {
        match (&self.cluster.removal, &self.cluster.suspend) {
            (Some(removal), _) => removal.step.as_str(),
            (None, Some(_)) => "suspended",
            (None, None) if self.hold.is_some() => "held",
            (None, None) => "active",
        }
    }

    /// The reason for its removal, suspension or hold.
    fn reason(&self) -> Option<&str> {
        let removal = self.cluster.removal.as_ref().map(|removal| &removal.reason);
        let held = self.hold.map(|hold| &hold.reason);
        removal.or(self.cluster.suspend.as_ref()).or(held).map(String::as_str)
    }

    fn is_behind(&self) -> bool {
        let newest = self.standing().and_then(|standing| standing.newest.as_ref());
        newest.is_some_and(|newest| *newest != release_name(self))
    }

    /// Whether it matches the filters; `end` is the last day of `--eol-within`.
    fn fits(&self, args: &Args, end: Option<Date>) -> bool {
        let is = |wanted: &Option<String>, own: &str| wanted.as_deref().is_none_or(|wanted| wanted == own);
        let label = |key: &str| self.cluster.labels.get(key).and_then(|value| value.as_str());
        let end_of_life = self.standing().and_then(|standing| standing.end_of_life);
        is(&args.namespace, self.cluster.namespace.as_str())
            && is(&args.management_cluster, self.cluster.management.name.as_str())
            && is(&args.stack, &self.stack().unwrap_or_default())
            && is(&args.release, &release_name(self))
            && args.selector.as_ref().is_none_or(|selector| selector.matches(label))
            && (!args.behind || self.is_behind())
            && end.is_none_or(|end| end_of_life.is_some_and(|date| date <= end))
    }
}

fn release_name(row: &Row<'_>) -> String {
    match &row.cluster.release {
        ReleaseRef::Head(..) => "head".to_owned(),
        ReleaseRef::Named(name) => name.to_string(),
    }
}

fn addons(row: &Row<'_>) -> String {
    if row.release.is_none() {
        return unknown();
    }
    joined(row.addons.iter().map(difference)).unwrap_or_else(|| NOTHING.to_owned())
}

/// Describes an addon that differs from the release.
fn difference(one: &AddonDifference) -> String {
    let version = |version: &Option<AddonVersion>| version.as_ref().map(|version| format!(" {version}"));
    if !one.is_enabled {
        let why = if one.removal.is_some() { "removed" } else { "off" };
        return format!("{} {why}", one.name);
    }
    let mut text = one.name.clone() + &version(&one.version).unwrap_or_default();
    if let Some(other) = &one.taken_from {
        text = format!("{text} of {other}");
    }
    if one.removal.is_some() {
        text += " leaves";
    }
    match version(&one.released).filter(|released| version(&one.version).as_ref() != Some(released)) {
        Some(released) => format!("{text} (release:{released})"),
        None => text,
    }
}

pub(super) fn run(args: &Args, global: &Global, printer: &Printer) -> Done {
    let today = args.today.day()?;
    let end = last_day(args, today)?;
    let world = super::fleet(global, printer)?;
    let mut notes = Notes::new();
    let read = generate::understand_sound(&world, &mut notes);
    let (understood, left) = match or_exit(read, printer, &notes)? {
        Ok(read) => read,
        Err(exit) => return Ok(exit),
    };
    left.warn(&mut notes);
    let mut rows = rows(&understood, today);
    let unmatched = args.unmatched(&rows);
    rows.retain(|row| row.fits(args, end));
    if end.is_none() {
        warn_of_ends(&rows, &understood, today, &mut notes);
    }
    printer.notes(&notes);
    for line in &table::lines(&text(&rows, &args.columns)) {
        printer.result(line);
    }
    if rows.is_empty() {
        let none = match (understood.model.clusters.is_empty(), left.is_empty()) {
            (true, true) => "no cluster yet: `stackloom new cluster` adds one",
            (true, false) => "no cluster to list: definitions with errors were skipped",
            (false, _) => unmatched.as_deref().unwrap_or("no cluster matches"),
        };
        printer.result(none);
    }
    let mut document = document(&rows);
    document["leftOut"] = left.document();
    printer.document(Exit::Done, &notes, document);
    Ok(Exit::Done)
}

/// The last day of `--eol-within`.
fn last_day(args: &Args, today: Date) -> Result<Option<Date>, Fault> {
    let Some(days) = args.eol_within else { return Ok(None) };
    match today.after_days(days) {
        Some(end) => Ok(Some(end)),
        None => Err(Fault::new(format!("the calendar ends within {days} days of {today}"))
            .hint("give `--eol-within` a smaller number")),
    }
}

/// Warns about the number of clusters that soon need another Kubernetes version.
fn warn_of_ends(rows: &[Row<'_>], understood: &Understood, today: Date, notes: &mut Notes) {
    let releases = || rows.iter().filter_map(|row| Some(&row.release.as_ref()?.0));
    let known = lifecycles(&understood.definitions, releases());
    let ends = |release: &&Arc<Release>| {
        let key = (release.stack.clone(), release.kubernetes.minor());
        known
            .get(&key)
            .is_some_and(|one| one.end_of_life.is_some_and(|date| today.days_until(date) <= i64::from(AHEAD)))
    };
    let is_given_up = |release: &&Arc<Release>| {
        let key = (release.stack.clone(), release.kubernetes.minor());
        !ends(release) && known.get(&key).is_some_and(|one| one.needs_attention(today))
    };
    let count = releases().filter(is_given_up).count();
    if count > 0 {
        let (verb, their) = if count == 1 { ("has", "its") } else { ("have", "their") };
        let clusters = counted(count, "cluster");
        notes
            .warning(
                "deprecated",
                None,
                format!("{clusters} {verb} a Kubernetes version that {their} stack has deprecated or no longer maintains"),
            )
            .hint(
                "`stackloom matrix` shows the versions of a stack, and `stackloom upgrade plan` how to reach them",
            );
    }
    let count = releases().filter(ends).count();
    if count > 0 {
        let verb = if count == 1 { "has" } else { "have" };
        let message = format!(
            "{} {verb} a Kubernetes version whose patches end within {AHEAD} days, or have ended",
            counted(count, "cluster")
        );
        notes
            .warning("end-of-life", None, message)
            .hint(format!("`stackloom clusters --eol-within {AHEAD}d` lists them"));
    }
}

/// The rows of all clusters. The standing of each release is computed once.
fn rows<'a>(understood: &'a Understood, today: Date) -> Vec<Row<'a>> {
    let Understood { definitions, model, releases, .. } = understood;
    let mut standings: BTreeMap<String, Arc<Standing>> = BTreeMap::new();
    let owners = Rollout::owners(&model.rollouts);
    let mut row = |cluster: &'a Cluster| {
        // `check` reports errors in a release; here it is unknown.
        let release = releases.of(cluster, &mut Notes::new());
        let addons = release.as_ref().map(|release| addon_differences(cluster, release, releases));
        let release = release.map(|release| {
            let known = standings.entry(release.name.clone());
            let standing = known.or_insert_with(|| Arc::new(standing(definitions, releases, &release)));
            (release, standing.clone())
        });
        let hold = cluster.held(today);
        let rollout = owners.get(&*cluster.full_name()).map(|rollout| rollout.name.as_str());
        Row { cluster, hold, release, addons: addons.unwrap_or_default(), rollout }
    };
    model.clusters.iter().map(&mut row).collect()
}

fn text(rows: &[Row<'_>], chosen: &[String]) -> Vec<Vec<String>> {
    if rows.is_empty() {
        return Vec::new();
    }
    let of_word = |word: &String| COLUMNS.iter().find(|column| column.word == word.as_str());
    let columns: Vec<&Column> = match chosen {
        [] => COLUMNS.iter().filter(|column| column.is_default).collect(),
        chosen => chosen.iter().filter_map(of_word).collect(),
    };
    let head = columns.iter().map(|column| column.title.to_owned()).collect();
    let line = |row| columns.iter().map(|column| (column.text)(row)).collect();
    std::iter::once(head).chain(rows.iter().map(line)).collect()
}

fn document(rows: &[Row<'_>]) -> Json {
    let version = |version: &Option<AddonVersion>| version.as_ref().map(ToString::to_string);
    let addon = |one: &AddonDifference| {
        json!({
            "name": one.name,
            "released": version(&one.released),
            "version": version(&one.version),
            "enabled": one.is_enabled,
            "release": one.taken_from,
            "removal": one.removal.map(RemovalStep::as_str),
        })
    };
    let one = |row: &Row<'_>| {
        let standing = row.standing();
        let minors = standing.map(|one| one.newer_minors.iter().map(ToString::to_string).collect::<Vec<_>>());
        json!({
            "cluster": ClusterName::from(row.cluster),
            "stack": row.stack(),
            "release": release_name(row),
            "kubernetes": row.kubernetes(),
            "endOfLife": standing.and_then(|one| one.end_of_life).map(|date| date.to_string()),
            "newestRelease": standing.and_then(|one| one.newest.clone()),
            "newerMinors": minors,
            "addons": row.release.as_ref().map(|_| row.addons.iter().map(addon).collect::<Vec<_>>()),
            "state": row.state(),
            "reason": row.reason(),
            "rollout": row.rollout,
            "file": &*row.cluster.file,
        })
    };
    json!({ "clusters": rows.iter().map(one).collect::<Vec<_>>() })
}
