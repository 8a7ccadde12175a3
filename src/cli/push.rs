//! `stackloom release push`.

use std::collections::BTreeMap;

use serde_json::json;

use super::{Done, Exit, Global, Printer};
use crate::{
    definition::{self, Definitions},
    io::{
        disk::Workspace,
        git::{Repository, TaggedCommit},
        oci::{Pushed, Registry},
    },
    model::{OciRepository, ReleaseAddress},
    note::{Fault, Notes},
    release::{self, Archived, Artifact, ReleaseOrigin},
    world::{LOCK, World as _},
};

/// Publish releases as OCI artifacts, for other repositories and for Flux
///
/// Pushes each release as its own artifact, with the name of the release as its tag: the gzipped folder, in
/// the media types of Flux. The same release always gives the same artifact, so pushing again changes
/// nothing. Never overwrites a tag that has other content.
///
/// Without RELEASE, pushes all releases that were cut in this repository. A release is pushed only if it
/// matches its tag in git. Uses the login of `docker login` or `podman login`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  stackloom release push oci://registry.example.org/platform/releases\n  stackloom release push oci://registry.example.org/platform/releases openstack-scs-1-35-v7\n  stackloom release push --dry-run oci://localhost:5000/releases\n\nThen, in another repository, with the digest that this prints:\n  stackloom pull oci://registry.example.org/platform/releases@sha256:…"
)]
pub(super) struct Args {
    /// The repository in the registry, as oci://<registry>/<path>
    #[arg(value_name = "REPOSITORY", value_parser = OciRepository::parse)]
    repository: OciRepository,
    /// The releases; by default all that were cut in this repository
    #[arg(value_name = "RELEASE")]
    releases: Vec<String>,
    /// Push nothing; show what would be pushed, with its digest
    #[arg(long)]
    dry_run: bool,
}

/// A release that is ready to be pushed.
struct Ready {
    name: String,
    files: BTreeMap<String, String>,
    artifact: Artifact,
}

/// The outcome for a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PushOutcome {
    Pushed,
    There,
    DryRun,
}

impl PushOutcome {
    fn words(self) -> &'static str {
        match self {
            Self::Pushed => "pushed",
            Self::There => "was already there",
            Self::DryRun => "would be pushed",
        }
    }
}

pub(super) fn run(args: &Args, global: &Global, printer: &Printer) -> Done {
    let world = super::fleet(global, printer)?;
    let repository = Repository::discover(&world)?;
    let mut notes = Notes::new();
    let ready = prepare(args, &world, &repository, &mut notes)?;
    let mut done = Vec::new();
    if notes.errors() == 0 {
        let registry = Registry::open(&args.repository)?;
        for one in &ready {
            let Some((digest, outcome)) = push(args, &registry, one, &mut notes)? else { continue };
            let address = address(args, &one.name, &digest);
            printer.result(&format!("{address} {}", outcome.words()));
            done.push((one.name.clone(), digest, outcome));
        }
    }
    printer.notes(&notes);
    let exit = if notes.errors() > 0 { Exit::Input } else { Exit::Done };
    print_result(args, exit, &done, printer);
    let list = done.iter().map(|(name, digest, outcome)| {
        json!({
            "name": name,
            "digest": digest,
            "source": address(args, name, digest).to_string(),
            "pushed": *outcome == PushOutcome::Pushed,
        })
    });
    printer.document(exit, &notes, json!({ "releases": list.collect::<Vec<_>>() }));
    Ok(exit)
}

fn address(args: &Args, name: &str, digest: &str) -> ReleaseAddress {
    let (repository, tag) = (args.repository.clone(), Some(name.to_owned()));
    ReleaseAddress::Oci { repository, tag, digest: Some(digest.to_owned()) }
}

fn print_result(args: &Args, exit: Exit, done: &[(String, String, PushOutcome)], printer: &Printer) {
    match done {
        [] if exit == Exit::Done => {
            printer.result("there is no release to push: `stackloom release` creates the first ones");
        }
        [] => printer.talk("nothing was pushed"),
        _ if args.dry_run => printer.talk("this was a dry run: nothing was pushed"),
        [(_, digest, _)] => {
            printer.talk(&format!("in another repository: stackloom pull {}@{digest}", args.repository));
        }
        _ => printer.talk("in another repository: `stackloom pull` with one of these addresses"),
    }
}

/// Prepares the artifacts to push. All are checked before the first one is pushed.
fn prepare(
    args: &Args,
    world: &Workspace,
    repository: &Repository,
    notes: &mut Notes,
) -> Result<Vec<Ready>, Fault> {
    let input = world.read(notes)?;
    let definitions = definition::parse(&input, &mut Notes::new());
    let lock =
        input.sources.at(LOCK).and_then(|source| definition::read_lock(source, notes)).unwrap_or_default();
    let mut ready = Vec::new();
    for (name, files) in release::published(&args.releases, &input, &lock, notes) {
        let archived = match release::pack(&files) {
            Ok(archived) => archived,
            Err(why) => {
                notes
                    .error(
                        "release-unpackable",
                        None,
                        format!("the release `{name}` cannot be packed: {why}"),
                    )
                    .hint("give the file of the stack a shorter path, and cut another release");
                continue;
            }
        };
        let at = repository.tagged_commit(&name)?;
        let artifact = artifact(&name, archived, at, &definitions);
        ready.push(Ready { name, files, artifact });
    }
    Ok(ready)
}

fn artifact(name: &str, archived: Archived, at: TaggedCommit, definitions: &Definitions) -> Artifact {
    let provenance = ReleaseOrigin {
        created: at.made,
        source: definition::published_source(definitions),
        revision: format!("{name}@sha1:{}", at.commit),
    };
    release::artifact(archived, &provenance)
}

/// Pushes a release, unless it already exists. Returns its digest in the registry.
fn push(
    args: &Args,
    registry: &Registry,
    one: &Ready,
    notes: &mut Notes,
) -> Result<Option<(String, PushOutcome)>, Fault> {
    if let Some(found) = registry.digest_of(&one.name)?.filter(|found| *found != one.artifact.digest) {
        // Different bytes may contain the same files: packed by another version, or tagged on another commit.
        return match held(registry, &found)? {
            Ok(files) if files == one.files => Ok(Some((found, PushOutcome::There))),
            Ok(_) => {
                refuse(args, &one.name, &found, "it holds other files", notes);
                Ok(None)
            }
            Err(why) => {
                refuse(args, &one.name, &found, &why, notes);
                Ok(None)
            }
        };
    }
    let digest = one.artifact.digest.clone();
    if args.dry_run {
        return Ok(Some((digest, PushOutcome::DryRun)));
    }
    let outcome = match registry.push(&one.name, &one.artifact)? {
        Pushed::New => PushOutcome::Pushed,
        Pushed::There => PushOutcome::There,
    };
    Ok(Some((digest, outcome)))
}

/// The files of an artifact, or the reason that it is not a release.
pub(super) fn held(
    registry: &Registry,
    digest: &str,
) -> Result<Result<BTreeMap<String, String>, String>, Fault> {
    let layer = match release::layer(&registry.manifest(digest)?) {
        Ok(layer) => layer,
        Err(why) => return Ok(Err(why)),
    };
    Ok(release::unpack(&registry.layer(digest, &layer)?))
}

fn refuse(args: &Args, name: &str, found: &str, why: &str, notes: &mut Notes) {
    notes
        .error(
            "release-exists",
            None,
            format!(
                "`{}:{name}` already exists as `{found}`, and is not the release of this repository: {why}",
                args.repository
            ),
        )
        .hint("a release never changes, and a tag is never overwritten: find out who published the other one")
        .hint("to see what it is, pull it in another clone with `stackloom pull`");
}
