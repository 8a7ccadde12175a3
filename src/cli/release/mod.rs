//! `stackloom release`: cuts releases. `tag`, `prune` and `push` have their own files.

mod tag;

use std::{collections::BTreeMap, path::PathBuf};

use serde_json::{Value as Json, json};

use super::{
    Done, Exit, Global, Printer,
    access::Access,
    assets,
    cluster::ClusterName,
    input_or_world,
    printer::{counted, short_id},
    prune, push,
    today::Today,
};
use crate::{
    commit_message,
    definition::{Channel, Maturity},
    generate,
    io::{
        disk::Workspace,
        git::{NewRelease, Repository},
    },
    model::{Date, Minor, StackId},
    note::{Fault, Notes, Place},
    release::{self, Cut, CutOutcome, CutRequest, Impact},
};

/// Freeze stacks as numbered, immutable releases
///
/// Cuts the next release of every stack and Kubernetes minor whose content differs from its last release. A
/// release is a folder in generated/releases/ and an annotated tag with its name. All releases of a run are
/// one commit, which contains nothing else. Comments, formatting, file names and the order of keys are not
/// content.
///
/// No cluster moves: each uses the release that its definition names.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  stackloom release --dry-run                  show what would be released, and why\n  stackloom release openstack/scs              release what changed in one stack\n  stackloom release --kubernetes 1.35 --channel beta\n  stackloom release --channel custom --version v7-hotfix.1 --kubernetes 1.35 openstack/scs\n  stackloom release docker/scs --assets out    also write assets for the cluster stack operator\n  stackloom release tag                        create missing tags, after a squash merge\n  stackloom release push oci://registry.example.org/platform/releases   publish them"
)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    cut: CutArgs,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Tag(tag::Args),
    Prune(prune::Args),
    Push(push::Args),
}

#[derive(Debug, clap::Args)]
struct CutArgs {
    /// The stack; by default all stacks
    #[arg(value_name = "PROVIDER/STACK", value_parser = stack)]
    stack: Option<StackId>,
    /// The Kubernetes minor, such as 1.35; by default all minors that the stack serves
    #[arg(long, value_name = "MINOR", value_parser = minor)]
    kubernetes: Option<Minor>,
    /// The channel; each has its own version numbers
    #[arg(long, value_enum, default_value = "stable")]
    channel: ChannelName,
    /// The version of a release of the channel `custom`, such as v7-hotfix.1
    #[arg(long, value_name = "VERSION", required_if_eq("channel", "custom"))]
    version: Option<String>,
    /// Write nothing; show what would be released, and why
    #[arg(long)]
    dry_run: bool,
    /// Create no tags
    #[arg(long)]
    no_tag: bool,
    /// Also write the assets from which the cluster stack operator installs each release, in a folder each
    /// below DIR (relative to -C). Downloads charts. What did not change gets the assets of its last release
    #[arg(long, value_name = "DIR")]
    assets: Option<PathBuf>,
    #[command(flatten)]
    today: Today,
}

/// Channels as the command line names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ChannelName {
    /// v1, v2 …, or semantic versions if the stack asks for them
    Stable,
    /// v0-beta.1, v0-beta.2 …
    Beta,
    /// v0-sha.<hash>: made only by `generate`, for clusters with `release: head`
    #[value(alias = "hash")]
    Head,
    /// A version of your own, with --version
    Custom,
}

impl ChannelName {
    fn channel(self) -> Channel {
        match self {
            Self::Stable => Channel::Stable,
            Self::Beta => Channel::Beta,
            Self::Head => Channel::Hash,
            Self::Custom => Channel::Custom,
        }
    }
}

pub(super) fn stack(text: &str) -> Result<StackId, String> {
    StackId::parse(text)
        .ok_or_else(|| "a stack is written <provider>/<stack>, such as openstack/scs".to_owned())
}

fn minor(text: &str) -> Result<Minor, String> {
    Minor::parse(text).ok_or_else(|| "a minor is written like 1.35".to_owned())
}

pub(super) fn run(args: &Args, global: &Global, printer: &Printer) -> Done {
    match &args.command {
        None => cut(&args.cut, global, printer),
        Some(Command::Tag(command)) => tag::run(command, global, printer),
        Some(Command::Prune(command)) => prune::run(command, global, printer),
        Some(Command::Push(command)) => push::run(command, global, printer),
    }
}

fn cut(args: &CutArgs, global: &Global, printer: &Printer) -> Done {
    let today = args.today.day()?;
    let world = match super::fleet_here(global, printer)? {
        Ok(world) => world,
        Err(exit) => return Ok(exit),
    };
    let mut notes = Notes::new();
    check_arguments(args, &mut notes);
    if notes.errors() > 0 {
        return refused(generate::Failure::Input, &notes, printer);
    }
    // Locked before anything is read: of two concurrent runs, the second waits or sees the result of the first.
    let access = Access::open(&world, args.dry_run)?;
    let repository = access.repository();
    let considered = match consider(args, &world, repository, &mut notes) {
        Ok(considered) => considered,
        Err(failure) => return refused(failure, &notes, printer),
    };
    warn_of_lifecycles(&considered, args, today, &mut notes);
    let cuts: Vec<&Cut> = considered.iter().filter_map(|one| one.cut.as_ref()).collect();
    if !cuts.is_empty() {
        warn_shallow(repository, &mut notes);
    }
    if !args.dry_run && !cuts.is_empty() {
        refuse_uncommitted(&cuts, repository, &mut notes)?;
    }
    let assets = prepare_assets(args, &considered, &mut notes)?;
    if notes.errors() > 0 {
        return refused(generate::Failure::Input, &notes, printer);
    }
    // On a branch, `HEAD` pushes to the branch of that name; a detached HEAD needs an explicit target.
    let branch = if repository.is_detached()? { "HEAD:refs/heads/<branch>" } else { "HEAD" };
    let released = match access.into_run() {
        Some(run) if !cuts.is_empty() => {
            let new: Vec<_> = cuts.iter().map(|cut| new_release(cut, args.no_tag)).collect();
            Some(run.commit(&new, &[], &message(&cuts))?)
        }
        _ => None,
    };
    printer.notes(&notes);
    let (commit, tags) = released.map(|one| (one.commit, one.tags)).unwrap_or_default();
    for one in &considered {
        print_result(one, printer);
    }
    match &commit {
        _ if cuts.is_empty() => printer.result("nothing to release"),
        None => printer.talk("this was a dry run: nothing was written"),
        Some(commit) => tell_committed(args, commit, &tags, branch, printer),
    }
    if let Some(folder) = &args.assets {
        let written = assets::write(&global.directory.join(folder), &assets)?;
        for line in &written {
            printer.result(line);
        }
    }
    let mut document = document(&considered, commit.as_deref(), &tags);
    document["assets"] = assets.iter().map(|(folder, _)| folder.as_str()).collect();
    printer.document(Exit::Done, &notes, document);
    Ok(Exit::Done)
}

/// Warns about Kubernetes minors that should no longer be released, or soon shouldn't be.
fn warn_of_lifecycles(considered: &[CutOutcome], args: &CutArgs, today: Date, notes: &mut Notes) {
    for CutOutcome { lifecycle, cut, .. } in considered {
        if cut.is_none() {
            continue;
        }
        if let Some(note) = lifecycle.warn(today, notes) {
            note.hint("`--kubernetes MINOR` releases one minor only");
        }
        if lifecycle.maturity == Some(Maturity::Preview) && args.channel == ChannelName::Stable {
            let (minor, stack) = (lifecycle.minor, &lifecycle.stack);
            let message =
                format!("Kubernetes {minor} of `{stack}` is a preview, but this is a stable release");
            notes.warning("preview", None, message).hint("use `--channel beta` for a release to try out; for production, set the maturity of the minor to `supported`");
        }
    }
}

fn warn_shallow(repository: &Repository, notes: &mut Notes) {
    if repository.is_shallow() {
        notes
            .warning(
                "shallow-clone",
                None,
                "this clone is shallow: release names that occur only in its missing history are not seen, and may be \
                 used twice",
            )
            .hint("run `git fetch --unshallow --tags` before a release");
    }
}

/// Prepares the assets before anything is released: if one is refused or unavailable, nothing is released.
fn prepare_assets(
    args: &CutArgs,
    considered: &[CutOutcome],
    notes: &mut Notes,
) -> Result<assets::Prepared, Fault> {
    if args.assets.is_some() {
        assets::check(considered, notes);
    }
    if args.assets.is_none() || args.dry_run || notes.errors() > 0 {
        return Ok(Vec::new());
    }
    assets::prepare(considered, notes)
}

fn check_arguments(args: &CutArgs, notes: &mut Notes) {
    if args.channel == ChannelName::Head {
        notes
            .error("head-channel", None, "releases of the channel `head` are not cut: `generate` makes them")
            .hint("set `release: head` in a cluster: the head release exists as long as a cluster uses it");
    }
    match (&args.version, args.channel) {
        (Some(version), ChannelName::Custom) => {
            if let Err(form) = release::check_version(Channel::Custom, version) {
                notes
                    .error(
                        "wrong-version",
                        None,
                        format!("`{version}` is not a version for the channel `custom`"),
                    )
                    .hint(format!("write it as {form}"));
            }
        }
        (Some(_), _) => {
            notes
                .error(
                    "wrong-version",
                    None,
                    "only a release of the channel `custom` can have a version of your choice",
                )
                .hint("omit `--version`: the other channels number their releases themselves");
        }
        (None, _) => {}
    }
}

fn consider(
    args: &CutArgs,
    world: &Workspace,
    repository: &Repository,
    notes: &mut Notes,
) -> Result<Vec<CutOutcome>, generate::Failure> {
    let request = CutRequest {
        stack: args.stack.clone(),
        minor: args.kubernetes,
        channel: args.channel.channel(),
        version: args.version.clone(),
        taken: repository.taken_names()?,
        tagged: repository.tagged_metadata()?,
        commit: repository.head()?,
    };
    generate::cut(world, &request, notes)
}

/// Refuses uncommitted changes: a release names its commit, so its stack must match that commit.
fn refuse_uncommitted(cuts: &[&Cut], repository: &Repository, notes: &mut Notes) -> Result<(), Fault> {
    const SHOWN: usize = 3;
    let mut stacks: Vec<_> = cuts.iter().map(|cut| format!("stacks/{}", cut.release.stack)).collect();
    stacks.dedup();
    // It also records the contents of the lock.
    stacks.push(crate::world::LOCK.to_owned());
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for one in repository.uncommitted(&stacks)? {
        let of = |stack: &&String| one.path == **stack || one.path.starts_with(&format!("{stack}/"));
        let stack = stacks.iter().find(of).unwrap_or(&one.path).clone();
        match one.how_to_see() {
            None => found.entry(stack).or_default().push(one.path),
            // Git was told to skip the file, so `git status` does not list it.
            Some(how) => {
                let note = notes.error("not-committed", Place::file(one.path), UNCOMMITTED);
                note.hint(COMMIT_FIRST).hint(how);
            }
        }
    }
    for (stack, files) in found {
        let note = notes.error("not-committed", Place::file(stack), UNCOMMITTED);
        if files.len() > 1 {
            let first: Vec<_> = files.iter().take(SHOWN).map(|file| format!("`{file}`")).collect();
            let more = files.len().saturating_sub(SHOWN);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            note.message = format!(
                "{} have uncommitted changes: {}{more}",
                counted(files.len(), "file"),
                first.join(", ")
            );
        } else {
            note.place = files.into_iter().next().map(Place::file);
        }
        note.hint(COMMIT_FIRST);
    }
    Ok(())
}

const UNCOMMITTED: &str = "this has uncommitted changes";
const COMMIT_FIRST: &str =
    "commit the stack and the lock first: a release names the commit that it was made from";

fn new_release(cut: &Cut, no_tag: bool) -> NewRelease {
    NewRelease {
        name: cut.release.name.clone(),
        files: cut.files.clone(),
        tag: (!no_tag).then(|| release::tag_message(&cut.notes)),
    }
}

fn meaning(cut: &Cut) -> String {
    match cut.release.history.as_ref().and_then(|history| history.impact.clone()) {
        Some(effects) => Impact { effects }.sentence(),
        None => "the first one".to_owned(),
    }
}

fn message(cuts: &[&Cut]) -> String {
    let meanings: Vec<_> = cuts.iter().map(|cut| (cut.release.name.clone(), meaning(cut))).collect();
    commit_message::releases_added(&meanings)
}

fn refused(failure: generate::Failure, notes: &Notes, printer: &Printer) -> Done {
    printer.notes(notes);
    let exit = input_or_world(failure)?;
    printer.talk("nothing was released");
    printer.document(exit, notes, json!({}));
    Ok(exit)
}

/// Reports the result for a stack and minor, and the reason.
fn print_result(one: &CutOutcome, printer: &Printer) {
    let what = format!("{} {}", one.stack, one.kubernetes.minor());
    let Some(cut) = &one.cut else {
        if let Some(last) = &one.last {
            printer.result(&format!("{what}: nothing changed since {last}"));
        }
        return;
    };
    let after = one.last.as_ref().map(|last| format!(" after {last}")).unwrap_or_default();
    printer.result(&format!("{what}: {}{after}: {}", cut.release.name, meaning(cut)));
    let effects = cut.release.history.as_ref().and_then(|history| history.impact.as_ref());
    for (effect, why) in effects.into_iter().flatten().rev() {
        let why: Vec<_> = why.iter().map(String::as_str).collect();
        printer.result(&format!("  {}: {}", effect.words(), why.join("; ")));
    }
    let moves = cut.rebases.lines();
    if !moves.is_empty() {
        let before = one.last.as_deref().unwrap_or_default();
        printer.result(&format!("  clusters that use {before}:"));
        for line in moves {
            printer.result(&format!("    {line}"));
        }
    }
    for difference in &cut.differences {
        printer.result(&format!("  {}: {difference}", difference.component.name()));
    }
}

fn tell_committed(args: &CutArgs, commit: &str, tags: &[String], branch: &str, printer: &Printer) {
    let tagged = if tags.is_empty() { "without tags" } else { "and tagged" };
    printer.result(&format!("committed as {}, {tagged}", short_id(commit)));
    if args.no_tag {
        printer.talk("next: merge the commit, then `stackloom release tag`");
    } else {
        printer.talk(&format!("next: git push --atomic origin {branch} {}", tags.join(" ")));
    }
}

fn document(considered: &[CutOutcome], commit: Option<&str>, tags: &[String]) -> Json {
    let releases: Vec<Json> = considered
        .iter()
        .map(|one| {
            let release = one.cut.as_ref().map(|cut| {
                let history = cut.release.history.clone().unwrap_or_default();
                let impact = history.impact.map(|effects| {
                    effects
                        .iter()
                        .map(|(effect, why)| (effect.name().to_owned(), json!(why)))
                        .collect::<serde_json::Map<_, _>>()
                });
                json!({
                    "name": cut.release.name,
                    "version": cut.release.version,
                    "components": {
                        "clusterAddon": cut.release.components.cluster_addon,
                        "nodeImage": cut.release.components.node_image,
                    },
                    "bumped": history.bumped.iter().map(|one| one.name()).collect::<Vec<_>>(),
                    "impact": impact,
                    "clusters": cut.rebases.groups.iter().map(|group| json!({
                        "means": group.means,
                        "why": group.why,
                        "effects": group.effects.iter().map(|one| one.name()).collect::<Vec<_>>(),
                        "clusters": ClusterName::all(&group.clusters),
                    })).collect::<Vec<_>>(),
                    "differences": cut.differences.iter().map(|one| json!({
                        "component": one.component.name(),
                        "object": one.object,
                        "field": one.field,
                        "before": one.before.as_ref().map(crate::yaml::to_json),
                        "after": one.after.as_ref().map(crate::yaml::to_json),
                    })).collect::<Vec<_>>(),
                })
            });
            json!({
                "stack": one.stack.to_string(),
                "kubernetes": one.kubernetes.to_string(),
                "last": one.last,
                "release": release,
            })
        })
        .collect();
    json!({ "releases": releases, "commit": commit, "tags": tags })
}
