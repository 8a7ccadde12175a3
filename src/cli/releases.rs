//! `stackloom releases`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value as Json, json};

use super::{Done, Exit, Global, Printer, cluster::ClusterName, newer, or_exit, printer::counted};
use crate::{
    definition::{Channel, Maturity},
    generate,
    io::{
        disk::Workspace,
        git::{Repository, Unused},
    },
    model::AddonVersion,
    note::{Fault, Notes},
    release::{Listed, ReleaseList},
};

/// List releases: what they contain, which clusters use them, and when they were last used
///
/// Lists all numbered releases in generated/releases/, and the head releases that clusters use. Skips
/// definitions with errors, and lists them, because the releases that they use are unknown.
///
/// With --check, lists newer releases in the sources that stackloom.yaml names (`spec.releases.sources`), the
/// clusters that each one is for, and the command that pulls it. Changes nothing. The exit code is 3 if there
/// is a newer release, and 4 if a source did not answer.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  stackloom releases\n  stackloom releases --format json | jq -r '.releases[] | select(.clusters == []) | .name'\n  stackloom releases --check                    show newer releases in other repositories"
)]
pub(super) struct Args {
    /// Look for newer releases in the sources
    #[arg(long)]
    check: bool,
}

pub(super) fn run(args: &Args, global: &Global, printer: &Printer) -> Done {
    let world = super::fleet(global, printer)?;
    let mut notes = Notes::new();
    let read = generate::release_list(&world, &mut notes);
    let (release_list, left) = match or_exit(read, printer, &notes)? {
        Ok(read) => read,
        Err(exit) => return Ok(exit),
    };
    left.warn(&mut notes);
    if args.check {
        printer.notes(&notes);
        return Ok(newer::run(&release_list, &notes, printer));
    }
    let git = FromGit { all_known: left.is_empty(), ..FromGit::read(&world, &release_list)? };
    printer.notes(&notes);
    for line in table(&release_list, &git) {
        printer.result(&line);
    }
    if release_list.listed.is_empty() {
        let none = if left.is_empty() {
            "no release yet: `stackloom release` creates the first ones"
        } else {
            "no release to list: heads are listed with the clusters that use them, and definitions with errors were skipped"
        };
        printer.result(none);
    }
    for name in &release_list.refused {
        printer.talk(&format!("{name} is refused: it does not match its records"));
    }
    let mut document = document(&release_list, &git);
    document["leftOut"] = left.document();
    printer.document(Exit::Done, &notes, document);
    Ok(Exit::Done)
}

/// The information that git adds to the list.
#[derive(Debug, Default)]
struct FromGit {
    /// Whether every definition could be read: an unreadable one may use any release.
    all_known: bool,
    tags: BTreeSet<String>,
    unused: BTreeMap<String, Unused>,
}

impl FromGit {
    fn read(world: &Workspace, release_list: &ReleaseList) -> Result<Self, Fault> {
        let Some(repository) = Repository::find(world)? else { return Ok(Self::default()) };
        let unused = release_list.listed.iter().filter(|one| one.clusters.is_empty());
        let unused = unused.map(|one| one.release.name.clone()).collect();
        Ok(Self { all_known: true, tags: repository.tag_names()?, unused: repository.unused_since(&unused)? })
    }
}

/// The name of a channel. Only `release.yaml` uses `hash`, like other tools for cluster stacks.
pub(super) fn channel(channel: Channel) -> &'static str {
    match channel {
        Channel::Stable => "stable",
        Channel::Beta => "beta",
        Channel::Hash => "head",
        Channel::Custom => "custom",
    }
}

/// The name of a maturity.
pub(super) fn maturity(maturity: Maturity) -> &'static str {
    match maturity {
        Maturity::Preview => "preview",
        Maturity::Supported => "supported",
        Maturity::Deprecated => "deprecated",
        Maturity::Expired => "expired",
    }
}

fn addons(one: &Listed) -> Vec<(String, Option<String>)> {
    let version = |version: &AddonVersion| version.to_string();
    let addons = one.release.addons.iter();
    addons.map(|addon| (addon.addon.name.to_string(), addon.version.as_ref().map(version))).collect()
}

/// Formats one line per release, in columns.
fn table(release_list: &ReleaseList, git: &FromGit) -> Vec<String> {
    if release_list.listed.is_empty() {
        return Vec::new();
    }
    let head = ["release", "kubernetes", "channel", "maturity", "end of life", "used by", "addons"];
    let mut rows = vec![head.map(str::to_owned)];
    for one in &release_list.listed {
        let addon = |(name, version): (String, Option<String>)| match version {
            Some(version) => format!("{name} {version}"),
            None => name,
        };
        // If the stack is elsewhere, only its own repository has its maturity.
        let unserved = if one.stack_is_here { "not served" } else { "not known" };
        rows.push([
            one.release.name.clone(),
            one.release.kubernetes.to_string(),
            channel(one.release.channel).to_owned(),
            one.maturity.map_or(unserved, maturity).to_owned(),
            one.end_of_life.clone().unwrap_or_else(|| "–".to_owned()),
            users(one, git),
            addons(one).into_iter().map(addon).collect::<Vec<_>>().join(", "),
        ]);
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<_> = (0..rows[0].len()).map(width).collect();
    let line = |row: &[String; 7]| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

fn users(one: &Listed, git: &FromGit) -> String {
    match one.clusters.as_slice() {
        [] if !git.all_known => "not known".to_owned(),
        [] => match git.unused.get(&one.release.name) {
            Some(unused) => format!("unused since {}", unused.day),
            None => "unused".to_owned(),
        },
        [cluster] => cluster.to_string(),
        clusters => counted(clusters.len(), "cluster"),
    }
}

fn document(release_list: &ReleaseList, git: &FromGit) -> Json {
    let listed = |one: &Listed| {
        let release = &one.release;
        let unused = git.unused.get(&release.name).filter(|_| git.all_known);
        json!({
            "name": release.name,
            "stack": release.stack.to_string(),
            "kubernetes": release.kubernetes.to_string(),
            "channel": channel(release.channel),
            "version": release.version,
            "components": {
                "clusterAddon": release.components.cluster_addon,
                "nodeImage": release.components.node_image,
            },
            "maturity": one.maturity.map(maturity),
            "endOfLife": one.end_of_life,
            "addons": addons(one).into_iter().collect::<BTreeMap<_, _>>(),
            "images": release.images.iter().map(|image| image.name.clone()).collect::<Vec<_>>(),
            "previous": release.history.as_ref().and_then(|history| history.previous.clone()),
            "clusters": ClusterName::all(&one.clusters),
            "newest": one.newest,
            "source": one.source,
            "tagged": git.tags.contains(&release.name),
            "unusedSince": unused.map(|unused| json!({ "day": unused.day, "commit": unused.commit })),
        })
    };
    json!({
        "releases": release_list.listed.iter().map(listed).collect::<Vec<_>>(),
        "refused": release_list.refused,
    })
}
