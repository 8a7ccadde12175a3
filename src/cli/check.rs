//! `stackloom check`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value as Json, json};

use super::{
    Done, Exit, Global, Printer, cluster::ClusterName, input_or_world, printer::counted, progress::Progress,
    revision, today::Today,
};
use crate::{
    definition::{self, Identity, misnamed_defaults},
    generate,
    io::{
        disk::{CheckSink, PathArgument, Workspace},
        git::{Repository, Revision},
    },
    model::{Cluster, Date},
    note::{Diagnostic, Fault, Notes, Place, Severity},
    plan::{ClusterPlan, Plan},
    remove::Defined,
    report,
    world::{Snapshot, companion_folder, definitions_of, is_input, note_no_fleet},
};

/// Check all definitions and stacks, and what they would generate; write nothing
///
/// Does everything that `generate` does except writing, so it also finds what `generate` would refuse to
/// replace or remove in generated/. Reports all errors at once, each with its place and the next step. An
/// edited numbered release is an error even if no cluster uses it.
///
/// With FILE, shows only messages about these files, and only these messages decide the exit code. A message
/// is about a file if its place, or a related place, is in that file, or if it is an error in the defaults of
/// its folders that concerns it. The whole fleet is still read, but if
/// all files are in clusters/, only the objects of the clusters that they affect, and of the namespaces of
/// these clusters, are checked. Files that are not sources of the fleet have no messages, so an editor or a
/// hook can pass every file that it has.
///
/// With --against, compares with `generated/` of BASE instead of the tree on disk. Changes that `generate`
/// would refuse are errors: a cluster or pool removed without its steps, another provider or network, a
/// Kubernetes downgrade or a skipped minor, an addon that moves too many minors at once, an edited release.
/// Use it in CI, where the tree on disk is often generated already and hides such changes.
///
/// --against also checks each commit since BASE: a removal with all its steps in one change passes with a
/// warning. A risk that a definition accepts (`accept`) is a warning, and so is an acceptance that nothing
/// needs.
///
/// Warns about Kubernetes versions that the stack calls deprecated or expired or that reach their end of life
/// within 90 days, and about holds that have ended. Only these warnings depend on the day.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  stackloom check
  stackloom check clusters/dev-1.yaml stacks/docker/scs   # in an editor or a pre-commit hook
  stackloom check --against origin/main   # in CI, for pull requests
  stackloom check --format json | jq '.diagnostics[].message'
  stackloom check --format github   # annotations in GitHub Actions
  stackloom check --format sarif > stackloom.sarif")]
pub(super) struct Args {
    /// Show only messages about these files, or the files in these folders
    #[arg(value_name = "FILE")]
    files: Vec<String>,
    /// Compare with `generated/` of this commit instead of the tree on disk
    #[arg(long, value_name = "BASE")]
    against: Option<String>,
    #[command(flatten)]
    today: Today,
}

pub(super) fn run(args: &Args, global: &Global, printer: &Printer) -> Done {
    let today = args.today.day()?;
    let world = super::fleet(global, printer)?;
    let mut asked = RequestedFiles::new(&args.files, &world);
    if let Some(missing) = asked.missing() {
        printer.complain(&missing);
        return Ok(Exit::Usage);
    }
    if asked.sources.is_empty() && !asked.is_all() && !world.holds("stackloom.yaml") {
        let mut notes = Notes::new();
        note_no_fleet(world.misnamed_fleet().as_deref(), &mut notes);
        printer.notes(&notes);
        printer.document(Exit::Input, &notes, asked.document(None));
        return Ok(Exit::Input);
    }
    asked.explain(printer);
    if !asked.is_all() && asked.sources.is_empty() {
        printer.document(Exit::Done, &Notes::new(), asked.document(None));
        return Ok(Exit::Done);
    }
    let mut notes = Notes::new();
    let progress = Progress::new(printer, "Checking");
    let tell = |done, all| progress.at(done, all);
    let done = match &args.against {
        None if asked.is_of_clusters() => {
            let is_asked = |cluster: &Cluster| asked.reaches(&cluster.file);
            generate::check_near(&world, &is_asked, &mut CheckSink::new(&world), &mut notes)
        }
        None => generate::check_against(&world, &mut CheckSink::new(&world), &tell, &mut notes),
        Some(base) => {
            let repository = Repository::discover(&world)?;
            let snapshot = Snapshot::read(&world)?;
            let before = revision::named(&repository, base, &format!("--against {base}"), &mut notes);
            before.and_then(|before| {
                warn_of_base(&before, base, &repository, &mut notes)?;
                let since = repository.since(&before.commit(), None)?;
                report::check_against(&before, &snapshot, Some(&since), &tell, &mut notes)
            })
        }
    };
    progress.end();
    if let Ok(plan) = &done {
        notes.raise(&plan.refused);
        warn_of_ends(plan, today, &mut notes);
        warn_of_holds(plan, today, &world, &mut notes)?;
    }
    let plan = match done {
        Ok(plan) => Some(plan),
        Err(failure) => {
            input_or_world(failure)?;
            None
        }
    };
    if asked.is_all() {
        return Ok(tell_all(plan, &notes, printer));
    }
    asked.learn(&notes, &world)?;
    Ok(report_some(&asked, &notes, printer))
}

/// Warns about a base from which guards learn little.
fn warn_of_base(
    before: &Revision,
    name: &str,
    repository: &Repository,
    notes: &mut Notes,
) -> Result<(), Fault> {
    if before.folder("generated")?.is_none() {
        notes
            .warning(
                "empty-base",
                None,
                format!("`{name}` has no `generated/`: guards have nothing to compare with"),
            )
            .hint("compare with a commit after the first `stackloom generate --commit`");
    } else if repository.knows("HEAD") && !repository.is_related(&before.commit(), "HEAD")? {
        let message = format!(
            "`{name}` and HEAD have no commit in common: guards compare two trees, and not what a merge does"
        );
        notes.warning("unrelated-base", None, message).hint("name a commit that the change began from");
    }
    Ok(())
}

/// Warns about Kubernetes versions that are no longer fit for use, or soon won't be, once for all clusters with a version.
fn warn_of_ends(plan: &Plan, today: Date, notes: &mut Notes) {
    for (key, lifecycle) in &plan.lifecycles {
        let mut own = Notes::new();
        let Some(note) = lifecycle.warn(today, &mut own) else { continue };
        note.hint("move the clusters to a release with a later Kubernetes minor: docs/upgrades.md");
        note.hint(format!(
            "`stackloom clusters --stack {} -o name,release,kubernetes,newer-minors` shows what they can move to",
            lifecycle.stack
        ));
        let has =
            |one: &&ClusterPlan| (&one.release.stack, one.release.kubernetes.minor()) == (&key.0, key.1);
        plan.clusters.iter().filter(has).for_each(|one| own.concern(&one.cluster.full_name()));
        notes.append(own);
    }
}

/// Warns about expired holds, once for each place that sets one.
fn warn_of_holds(plan: &Plan, today: Date, world: &Workspace, notes: &mut Notes) -> Result<(), Fault> {
    let is_over =
        |one: &&ClusterPlan| one.cluster.upgrades.hold.as_ref().is_some_and(|hold| !hold.holds(today));
    let over: Vec<&ClusterPlan> = plan.clusters.iter().filter(is_over).collect();
    if over.is_empty() {
        return Ok(());
    }
    let snapshot = Snapshot::read(world)?;
    let defined = Defined::read(&snapshot.input);
    for ClusterPlan { cluster, .. } in over {
        let Some(hold) = &cluster.upgrades.hold else { continue };
        let merged = defined.merged(&cluster.id());
        let node = merged.as_ref().and_then(|root| root.at(&["spec", "upgrades", "hold", "until"]));
        let place = node.and_then(|node| snapshot.input.sources.place(node.origin));
        let place = place.unwrap_or_else(|| Place::file(&*cluster.file));
        let until = hold.until.map(|date| date.to_string()).unwrap_or_default();
        let mut own = Notes::new();
        own.warning("hold-over", place, format!("this hold ended on {until}: {}", hold.reason))
            .hint("remove `upgrades.hold`, or set a later day");
        own.concern(&cluster.full_name());
        notes.append(own);
    }
    Ok(())
}

fn tell_all(plan: Option<Plan>, notes: &Notes, printer: &Printer) -> Exit {
    printer.notes(notes);
    let exit = if notes.errors() > 0 || plan.is_none() { Exit::Input } else { Exit::Done };
    let (clusters, untagged) = plan.map_or_else(Default::default, |plan| (plan.clusters, plan.untagged));
    if exit == Exit::Done {
        printer.result(&format!("{} checked, no errors found", counted(clusters.len(), "cluster")));
    }
    if !untagged.is_empty() {
        let names: Vec<_> = untagged.iter().map(String::as_str).collect();
        printer.talk(&format!(
            "{} verified from files only, because there is no tag here: {}",
            counted(names.len(), "release"),
            names.join(", ")
        ));
    }
    let clusters: Vec<_> = clusters.iter().map(|plan| ClusterName::from(&plan.cluster)).collect();
    printer.document(exit, notes, json!({ "clusters": clusters, "untagged": untagged }));
    exit
}

/// Reports only what concerns the requested files.
fn report_some(asked: &RequestedFiles, notes: &Notes, printer: &Printer) -> Exit {
    let mut own = Notes::new();
    own.append_if(notes.clone(), |note| asked.concerns(note));
    printer.notes(&own);
    let exit = if own.errors() > 0 { Exit::Input } else { Exit::Done };
    let elsewhere = asked.elsewhere(notes, Severity::Error);
    if exit == Exit::Done {
        printer.result(&format!("{} checked, no errors found", counted(asked.sources.len(), "file")));
    }
    if elsewhere > 0 {
        printer.talk(&format!(
            "{} elsewhere in the fleet, which may hide others: `stackloom check` shows all",
            counted(elsewhere, "error")
        ));
    }
    printer.document(exit, &own, asked.document(Some(notes)));
    exit
}

/// Up to this many paths without messages are listed.
const SHOWN: usize = 3;

/// The kind of a given path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PathKind {
    Missing,
    Generated,
    Foreign,
    Source,
}

#[derive(Debug, Default)]
struct RequestedFiles {
    /// Sources and folders of sources, as paths in the fleet.
    sources: BTreeSet<String>,
    /// All other paths, as given.
    others: BTreeMap<String, PathKind>,
    /// The clusters that the requested definitions define, if a message about defaults names clusters.
    clusters: BTreeSet<String>,
}

impl RequestedFiles {
    fn new(given: &[String], world: &Workspace) -> Self {
        let mut asked = Self::default();
        for name in given {
            let given = world.given(name);
            match what(&given) {
                PathKind::Source => drop(asked.sources.insert(given.path)),
                other => drop(asked.others.insert(name.clone(), other)),
            }
        }
        asked
    }

    /// Whether the whole fleet is requested.
    fn is_all(&self) -> bool {
        self.sources.is_empty() && self.others.is_empty()
    }

    /// Whether only definitions, defaults or objects beside them are requested, which can affect some clusters alone.
    fn is_of_clusters(&self) -> bool {
        !self.sources.is_empty() && self.sources.iter().all(|path| path.starts_with("clusters/"))
    }

    /// Whether a requested file can affect the cluster of a definition.
    fn reaches(&self, definition: &str) -> bool {
        self.sources.iter().any(|path| match path.rsplit_once('/') {
            Some((folder, "_defaults.yaml" | "_defaults.yml")) => is_below(definition, folder),
            _ => is_below(definition, path) || definitions_of(path).iter().any(|one| one == definition),
        })
    }

    fn names(&self, wanted: PathKind) -> Vec<&str> {
        let found = self.others.iter().filter(|(_, what)| **what == wanted);
        found.map(|(name, _)| name.as_str()).collect()
    }

    /// The fault for paths that do not exist.
    fn missing(&self) -> Option<Fault> {
        let missing = self.names(PathKind::Missing);
        let first = missing.first()?;
        let more =
            if missing.len() == 1 { String::new() } else { format!(" and {} more", missing.len() - 1) };
        let fault = Fault::new(format!("there is no file `{first}`{more}"));
        Some(
            fault.hint(
                "a path is relative to the current folder, or to the root of the fleet, as in messages",
            ),
        )
    }

    /// Explains which files have no messages, and why.
    fn explain(&self, printer: &Printer) {
        let say = |what, why: &str| {
            let names = self.names(what);
            let all = printer.is_verbose() || names.len() <= SHOWN;
            let shown = if all { names.join(", ") } else { names[..SHOWN].join(", ") };
            let more = if all { String::new() } else { format!(" and {} more", names.len() - SHOWN) };
            if !names.is_empty() {
                printer.talk(&format!("{why}: {shown}{more}"));
            }
        };
        say(PathKind::Foreign, "not a source of the fleet, so nothing to check");
        say(
            PathKind::Generated,
            "generated, so nothing to check; `stackloom generate --check` compares it with the definitions",
        );
    }

    /// Finds the clusters of the requested definitions, if a message about defaults names clusters.
    fn learn(&mut self, notes: &Notes, world: &Workspace) -> Result<(), Fault> {
        if !notes.iter().any(|note| !note.clusters.is_empty() && self.is_about_defaults(note)) {
            return Ok(());
        }
        let input = Snapshot::read(world)?.input;
        let all = Identity::all(&definition::parse(&input, &mut Notes::new()));
        let asked = all.into_iter().filter(|one| self.reaches(&one.file));
        self.clusters = asked.map(|one| one.name).collect();
        Ok(())
    }

    fn concerns(&self, note: &Diagnostic) -> bool {
        let mut places = note.place.iter().chain(note.related.iter().map(|(_, place)| place));
        places.any(|place| self.has(&place.file))
            || self.is_about_defaults(note)
                && (note.clusters.is_empty() || note.clusters.iter().any(|name| self.clusters.contains(name)))
    }

    /// Whether a message is an error in the defaults of a folder with requested files.
    fn is_about_defaults(&self, note: &Diagnostic) -> bool {
        let file = note.place.as_ref().map_or("", |place| place.file.as_str());
        let folder = match file.rsplit_once('/') {
            Some((folder, "_defaults.yaml" | "_defaults.yml")) => folder,
            _ if misnamed_defaults(note).is_some() => file.rsplit_once('/').map_or("", |(folder, _)| folder),
            _ => return false,
        };
        note.severity == Severity::Error && self.sources.iter().any(|asked| is_below(asked, folder))
    }

    fn has(&self, file: &str) -> bool {
        let folders = file.match_indices('/').map(|(at, _)| &file[..at]);
        folders.chain([file]).any(|path| self.sources.contains(path)) || self.sources.contains("")
    }

    /// The requested files, and the number of messages elsewhere, if the fleet was checked.
    fn document(&self, notes: Option<&Notes>) -> Json {
        let elsewhere = |notes: &Notes| {
            let count = |severity| self.elsewhere(notes, severity);
            json!({ "errors": count(Severity::Error), "warnings": count(Severity::Warning) })
        };
        json!({
            "files": self.sources,
            "notSources": self.others.keys().collect::<Vec<_>>(),
            "elsewhere": notes.map(elsewhere),
        })
    }

    /// The number of messages that do not concern the requested files.
    fn elsewhere(&self, notes: &Notes, severity: Severity) -> usize {
        let sorted = notes.sorted();
        sorted.iter().filter(|note| note.severity == severity && !self.concerns(note)).count()
    }
}

fn is_below(file: &str, folder: &str) -> bool {
    file.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

fn what(given: &PathArgument) -> PathKind {
    let path = given.path.as_str();
    let top = path.split('/').next().unwrap_or_default();
    let is_source = if given.is_folder {
        matches!(top, "" | "stacks" | "clusters") || path.starts_with("generated/releases")
    } else {
        is_input(path) || companion_folder(path).is_some()
    };
    match (given.is_there, is_source) {
        (false, _) => PathKind::Missing,
        (true, true) => PathKind::Source,
        (true, false) if top == "generated" => PathKind::Generated,
        (true, false) => PathKind::Foreign,
    }
}
