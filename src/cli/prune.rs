//! `stackloom release prune`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::{Done, Exit, Global, Printer, access::Access, input_or_world, printer::short_id};
use crate::{
    commit_message,
    definition::{self, Channel},
    generate,
    io::{
        disk::{self, Workspace},
        git::{ReleaseRun, Repository},
    },
    lock,
    model::Engine,
    note::{Fault, Notes},
    release::{Listed, ReleaseList},
    render,
    world::LOCK,
    yaml::Sources,
};

/// Remove numbered releases that no cluster uses, in one commit
///
/// Keeps the newest release of each stack, Kubernetes minor and channel. Keeps every release that a
/// definition or the tree names: in the work tree, in HEAD, in the upstream of HEAD, and in the branches that
/// engines read. Remote branches count as they were last fetched, so run `git fetch` first. Also keeps
/// releases that are not committed, or that `check` refuses.
///
/// Never deletes a tag, so you can restore a release; its name is never used for another one. Never deletes a
/// class from a management cluster, but prints the command that does. Cluster API refuses to delete classes
/// in use.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  git fetch && stackloom release prune --dry-run\n  stackloom release prune"
)]
pub(super) struct Args {
    /// Remove nothing; show what would be removed, and what is kept and why
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn run(args: &Args, global: &Global, printer: &Printer) -> Done {
    let world = match super::fleet_here(global, printer)? {
        Ok(world) => world,
        Err(exit) => return Ok(exit),
    };
    let mut notes = Notes::new();
    let access = Access::open(&world, args.dry_run)?;
    let release_list = generate::release_list(&world, &mut notes).and_then(|(release_list, left)| {
        // An unreadable definition may use any release.
        notes.append(left.faults().clone());
        if left.is_empty() { Ok(release_list) } else { Err(generate::Failure::Input) }
    });
    let release_list = match release_list {
        Ok(release_list) => release_list,
        Err(failure) => {
            printer.notes(&notes);
            let exit = input_or_world(failure)?;
            printer.talk("nothing was removed");
            printer.document(exit, &notes, json!({}));
            return Ok(exit);
        }
    };
    let kept = kept(&release_list, access.repository())?;
    let numbered = release_list.listed.iter().filter(|one| one.release.channel != Channel::Hash);
    let names = numbered.map(|one| one.release.name.clone());
    let removed: Vec<String> = names.filter(|name| !kept.contains_key(name)).collect();
    let commit = match access.into_run() {
        Some(run) if !removed.is_empty() => {
            let run = without_locked(run, &removed, &world)?;
            run.commit(&[], &removed, &commit_message::releases_removed(&removed))?.commit
        }
        _ => None,
    };
    printer.notes(&notes);
    print_result(args, &removed, &kept, commit.as_deref(), printer);
    let commands = commands(&release_list, &removed);
    if !removed.is_empty() {
        printer.talk(
            "their classes stay in the management clusters until you delete them; once this is published:",
        );
        for (_, command) in &commands {
            printer.talk(&format!("  {command}"));
        }
    }
    let commands: BTreeMap<_, _> = commands.into_iter().collect();
    printer.document(
        Exit::Done,
        &notes,
        json!({ "removed": removed, "kept": kept, "commit": commit, "commands": commands }),
    );
    Ok(Exit::Done)
}

/// Also removes the releases from the lock in the commit.
fn without_locked(run: ReleaseRun, removed: &[String], world: &Workspace) -> Result<ReleaseRun, Fault> {
    let mut sources = Sources::default();
    let id = disk::text(world, LOCK).map(|text| sources.add(LOCK, text));
    let source = id.and_then(|id| sources.get(id));
    // An invalid lock has already stopped the run.
    let found = source.and_then(|source| definition::read_lock(source, &mut Notes::new()));
    let Some(mut lock) = found else { return Ok(run) };
    let before = lock.releases.len();
    lock.releases.retain(|name, _| !removed.contains(name));
    if lock.releases.len() == before { Ok(run) } else { run.with_lock(lock::write(&lock)) }
}

/// The releases to keep, each with the reason.
fn kept(release_list: &ReleaseList, repository: &Repository) -> Result<BTreeMap<String, String>, Fault> {
    let numbered: Vec<&Listed> =
        release_list.listed.iter().filter(|one| one.release.channel != Channel::Hash).collect();
    let names: BTreeSet<String> = numbered.iter().map(|one| one.release.name.clone()).collect();
    let mentioned = repository.mentioned(&names, &release_list.branches)?;
    let committed = repository.committed_names()?;
    let mut kept = BTreeMap::new();
    for one in numbered {
        let name = &one.release.name;
        let why = if let Some(cluster) = one.clusters.first() {
            Some(format!("used by {}", cluster.whole()))
        } else if one.newest {
            Some("the newest of its minor and channel".to_owned())
        } else if one.named {
            Some("named in clusters/ or rollouts/".to_owned())
        } else if let Some(place) = mentioned.get(name) {
            Some(format!("named in {place}"))
        } else if committed.contains(name) {
            None
        } else {
            Some("not committed".to_owned())
        };
        kept.extend(why.map(|why| (name.clone(), why)));
    }
    kept.extend(
        release_list.refused.iter().map(|name| (name.clone(), "it does not match its records".to_owned())),
    );
    Ok(kept)
}

fn print_result(
    args: &Args,
    removed: &[String],
    kept: &BTreeMap<String, String>,
    commit: Option<&str>,
    printer: &Printer,
) {
    for (name, why) in kept.iter().filter(|_| args.dry_run || printer.is_verbose()) {
        printer.result(&format!("keep {name}: {why}"));
    }
    for name in removed {
        printer.result(&format!("remove {name}"));
    }
    match commit {
        _ if removed.is_empty() => printer.result("no release to remove"),
        None => printer.talk("this was a dry run: nothing was removed"),
        Some(commit) => printer.result(&format!("committed as {}", short_id(commit))),
    }
}

/// The command for each management cluster that deletes the `ClusterClasses` of the releases, selected by the engine's labels.
fn commands(release_list: &ReleaseList, removed: &[String]) -> Vec<(String, String)> {
    let command = |(management, (namespace, engine)): (&String, &(String, Engine))| {
        let classes = render::classes_of(*engine, removed);
        let command =
            format!("kubectl --context {management} --namespace {namespace} delete clusterclass {classes}");
        (management.clone(), command)
    };
    if removed.is_empty() { Vec::new() } else { release_list.class_namespaces.iter().map(command).collect() }
}
