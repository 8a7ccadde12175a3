//! `stackloom remove`: the next step in the removal of a cluster, a node pool or an addon.

use std::collections::BTreeMap;

use serde_json::json;

use super::{
    Done, Exit, Global, Printer, changed,
    cluster::{self, ClusterName},
    input_or_world,
};
use crate::{
    generate::{self, Failure},
    io::{
        disk::{self, Workspace},
        git::Repository,
    },
    model::{RemovalStep, is_called},
    note::{Diagnostic, Fault, Notes, Place},
    partial::LeftOut,
    plan::{ClusterPlan, Plan},
    remove::{self, NextStep, Reached, RemovalTarget},
    world::{Input, World},
    yaml::Sources,
};

/// Remove a cluster, a node pool or an addon, step by step
///
/// Each run edits the definition of the cluster for the next step, and shows what to wait for before the one
/// after it. Each step is a commit of its own; a step is refused until the previous one is committed.
///
/// A cluster leaves in three steps. `detach` removes its protection and suspends its addons, so that nothing
/// is uninstalled from a running cluster. `delete` deletes the Cluster; its namespace and credentials stay
/// until its infrastructure is gone. The last step deletes the definition.
///
/// A node pool first loses its machines, then goes. An addon that nodes need first loses its protection, then
/// is uninstalled. Any other addon is uninstalled in one step.
///
/// Writes only the definition, and keeps its comments, order and quoting. Never changes generated/: run
/// `generate` afterwards.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  stackloom remove dev-2 --reason \"the project ended\"\n  stackloom remove team-a/dev-2 --dry-run     # show the next step\n  stackloom remove prod-eu-1 --pool md-1 --reason \"moved to larger machines\"\n  stackloom remove prod-eu-1 --addon cilium --reason \"calico has taken over\""
)]
pub(super) struct Args {
    /// The cluster: its name, or <namespace>/<name>, or <management cluster>/<namespace>/<name>
    #[arg(value_name = "CLUSTER")]
    cluster: String,
    /// The reason, kept in the definition; required for the first of several steps
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Remove this node pool of the cluster, and keep the cluster
    #[arg(long, value_name = "POOL", conflicts_with = "addon")]
    pool: Option<String>,
    /// Remove this addon of the cluster, and keep the cluster
    #[arg(long, value_name = "ADDON")]
    addon: Option<String>,
    /// Show the step; write nothing
    #[arg(long)]
    dry_run: bool,
}

impl Args {
    fn leaver(&self) -> RemovalTarget {
        match (&self.pool, &self.addon) {
            (Some(pool), _) => RemovalTarget::Pool(pool.clone()),
            (None, Some(addon)) => RemovalTarget::Addon(addon.clone()),
            (None, None) => RemovalTarget::Cluster,
        }
    }
}

pub(super) fn run(args: &Args, global: &Global, printer: &Printer) -> Done {
    let world = super::fleet(global, printer)?;
    let mut notes = Notes::new();
    let found = find(args, &world, &mut notes);
    printer.notes(&notes);
    let (cluster, step, before) = match found {
        Ok(found) => found,
        Err(failure) => {
            let exit = input_or_world(failure)?;
            printer.talk("nothing was written");
            printer.document(exit, &notes, json!({}));
            return Ok(exit);
        }
    };
    if !args.dry_run {
        let path = world.root().join(&step.file);
        match &step.text {
            Some(text) => disk::replace(&path, text)?,
            None => disk::remove(&path)?,
        }
    }
    report(args, &step, &before, printer);
    printer.document(Exit::Done, &notes, document(args, &cluster, &step));
    Ok(Exit::Done)
}

/// The cluster, its next step, and the current text of its definition.
fn find(
    args: &Args,
    world: &Workspace,
    notes: &mut Notes,
) -> Result<(ClusterName, NextStep, String), Failure> {
    let (generate::Planned { fleet: generate::Understood { input, .. }, plan }, left) =
        generate::prepare_sound(world, notes)?;
    let leaver = args.leaver();
    let picked = pick(&plan, &args.cluster, &left, notes);
    left.warn(notes);
    let cluster = &picked.ok_or(Failure::Input)?.clone();
    // The fleet is planned again below: only one plan is kept in memory at a time.
    drop(plan);
    let step = remove::next(cluster, &leaver, args.reason.as_deref(), &input, notes).ok_or(Failure::Input)?;
    let text = input.sources.at(&step.file).map(|source| source.text.to_string()).unwrap_or_default();
    if let Some(before) = step.before {
        refuse_early(world, cluster, &leaver, before, &step, notes)?;
    }
    // The edited fleet must be valid: another addon may depend on the removed one.
    let companion = cluster.cluster.companion.as_ref();
    let companion = companion.map(|one| one.folder.as_str());
    let after = Edited { input: &input, step: &step, companion, left: &left };
    let mut found = Notes::new();
    let Ok((_, left_after)) = generate::prepare_sound(&after, &mut found) else {
        notes.append(found);
        return Err(Failure::Input);
    };
    let known: Vec<_> = left.faults().iter().collect();
    let is_new = |note: &Diagnostic| !known.iter().any(|known| known.says_as(note));
    notes.append_if(left_after.faults().clone(), is_new);
    Ok(notes.halt((ClusterName::from(&cluster.cluster), step, text))?)
}

/// Finds the cluster with a name.
fn pick<'a>(plan: &'a Plan, name: &str, left: &LeftOut, notes: &mut Notes) -> Option<&'a ClusterPlan> {
    let full = |plan: &ClusterPlan| plan.cluster.full_name();
    let means = |plan: &&ClusterPlan| is_called(&full(plan), name);
    let found: Vec<_> = plan.clusters.iter().filter(means).collect();
    match found.as_slice() {
        [only] => Some(only),
        [] if left.blame(name, notes) => None,
        [] => {
            // A cluster with another number is a sibling, not a misspelling.
            let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
            let names = plan.clusters.iter().map(|plan| plan.cluster.name.as_str());
            cluster::note_unknown(name, names.filter(|one| digits(one) == digits(name)), notes);
            None
        }
        several => {
            cluster::note_several(name, several.iter().map(|plan| &plan.cluster), notes);
            None
        }
    }
}

/// Refuses a step before the previous one is committed, in the definition and in the tree.
fn refuse_early(
    world: &Workspace,
    cluster: &ClusterPlan,
    leaver: &RemovalTarget,
    before: RemovalStep,
    step: &NextStep,
    notes: &mut Notes,
) -> Result<(), Failure> {
    let repository = Repository::find(world)?;
    let read = |path: &str| -> Result<Option<String>, Fault> {
        let bytes = match &repository {
            Some(repository) => repository.committed(path)?,
            None => disk::read_file(&world.root().join(path))?,
        };
        Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    };
    let current = read(&step.file)?.and_then(|text| remove::step_in(&text, leaver));
    let mut drawn = true;
    for meant in remove::drawn(cluster, leaver) {
        let there = read(&meant.path)?;
        drawn &= meant.is_drawn(leaver, there.as_deref());
    }
    if current == Some(before) && drawn {
        return Ok(());
    }
    let what = if current == Some(before) { "the tree of the step" } else { "the step" };
    let done = if repository.is_some() { "committed" } else { "generated" };
    let before = before.as_str();
    notes
        .error(
            "removal",
            Place::file(step.file.as_str()),
            format!("{what} `{before}` is not {done} yet, and must be applied before the next step"),
        )
        .hint(
            "run `stackloom generate`, commit the definition and generated/, push, and wait until it is applied",
        );
    Err(Failure::Input)
}

/// The fleet after a step.
struct Edited<'a> {
    input: &'a Input,
    step: &'a NextStep,
    companion: Option<&'a str>,
    left: &'a LeftOut,
}

impl World for Edited<'_> {
    fn read(&self, _notes: &mut Notes) -> Result<Input, Fault> {
        let mut files: BTreeMap<String, String> = self
            .input
            .sources
            .iter()
            // The input lacks the stacks and defaults that skipped definitions need.
            .filter(|source| self.left.why(&source.path).is_none())
            .map(|source| (source.path.to_string(), source.text.to_string()))
            .collect();
        let mut companions = self.input.companions.clone();
        match &self.step.text {
            Some(text) => drop(files.insert(self.step.file.clone(), text.clone())),
            None => {
                files.remove(&self.step.file);
                companions.retain(|folder| Some(folder.as_str()) != self.companion);
            }
        }
        Ok(Input {
            sources: Sources::new(files),
            companions,
            beside: self.input.beside.clone(),
            folder: self.input.folder.clone(),
            damaged: self.input.damaged.clone(),
            recorded: self.input.recorded.clone(),
            deleted: self.input.deleted.clone(),
        })
    }
}

fn title(args: &Args, step: &NextStep) -> String {
    let what = match args.leaver() {
        RemovalTarget::Cluster => format!("the cluster {}", args.cluster),
        RemovalTarget::Pool(name) => format!("the node pool {name} of {}", args.cluster),
        RemovalTarget::Addon(name) => format!("the addon {name} of {}", args.cluster),
    };
    match (step.reached, step.before) {
        (Reached::Detached, _) => format!("{what}: step 1 of 3, `detach`"),
        (Reached::Deleted, _) => format!("{what}: step 2 of 3, `delete`"),
        (Reached::Gone, Some(_)) => format!("{what}: step 3 of 3, the last"),
        (Reached::Gone, None) => format!("{what}: the only step"),
    }
}

fn report(args: &Args, step: &NextStep, before: &str, printer: &Printer) {
    let dry = if args.dry_run { "; nothing was written" } else { "" };
    printer.result(&format!("{}{dry}", title(args, step)));
    match &step.text {
        Some(text) => {
            printer.result(&format!("  {}:", step.file));
            for line in changed::lines(before, text) {
                printer.result(&format!("    {line}"));
            }
        }
        None => printer.result(&format!("  {} is deleted", step.file)),
    }
    printer.result(&format!("once it is applied: {}", step.advice.effect));
    for line in &step.advice.beside {
        printer.result(&format!("  {line}"));
    }
    printer.result("next:");
    printer.result("  stackloom generate --commit --all, then push");
    if !step.advice.wait.is_empty() {
        printer.result("  then wait for");
        for line in &step.advice.wait {
            printer.result(&format!("    {line}"));
        }
        printer.result("  then run this command again");
    }
}

fn document(args: &Args, cluster: &ClusterName, step: &NextStep) -> serde_json::Value {
    json!({
        "cluster": cluster,
        "pool": args.pool,
        "addon": args.addon,
        "file": step.file,
        "step": match step.reached {
            Reached::Detached => "detach",
            Reached::Deleted => "delete",
            Reached::Gone => "gone",
        },
        "text": step.text,
        "written": !args.dry_run,
        "effect": step.advice.effect,
        "waitFor": step.advice.wait,
        "notes": step.advice.beside,
    })
}
