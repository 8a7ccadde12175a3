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
    release::{self, Archived, Artifact, Provenance},
    world::{LOCK, World as _},
};

/// Publish releases as OCI artifacts, for other repositories and for Flux
///
/// Each release becomes an artifact of its own, with the release's name as its tag: the gzipped folder, in the media types
/// of Flux. The same release always gives the same artifact, so pushing again changes nothing; a tag that holds another
/// content is never overwritten. Only a release that is what its tag in git says is published. Without names, all that
/// were cut in this repository are. The login is that of `docker login` or `podman login`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  stackloom release push oci://registry.example.org/platform/releases\n  stackloom release push oci://registry.example.org/platform/releases openstack-scs-1-35-v7\n  stackloom release push --dry-run oci://localhost:5000/releases\n\nThen, in another repository, with the digest that this prints:\n  stackloom pull oci://registry.example.org/platform/releases@sha256:…"
)]
pub(super) struct Args {
    /// The repository in the registry, as oci://<registry>/<path>
    #[arg(value_name = "REPOSITORY", value_parser = OciRepository::parse)]
    repository: OciRepository,
    /// The releases; all that were cut here where nothing is said
    #[arg(value_name = "RELEASE")]
    releases: Vec<String>,
    /// Push nothing; say what would be pushed, and under which digest
    #[arg(long)]
    dry_run: bool,
}

/// A release that is ready to go.
struct Ready {
    name: String,
    files: BTreeMap<String, String>,
    artifact: Artifact,
}

/// What became of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Pushed,
    There,
    DryRun,
}

impl Outcome {
    fn words(self) -> &'static str {
        match self {
            Self::Pushed => "pushed",
            Self::There => "was there already",
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
    tell(args, exit, &done, printer);
    let list = done.iter().map(|(name, digest, outcome)| {
        json!({
            "name": name,
            "digest": digest,
            "source": address(args, name, digest).to_string(),
            "pushed": *outcome == Outcome::Pushed,
        })
    });
    printer.document(exit, &notes, json!({ "releases": list.collect::<Vec<_>>() }));
    Ok(exit)
}

fn address(args: &Args, name: &str, digest: &str) -> ReleaseAddress {
    let (repository, tag) = (args.repository.clone(), Some(name.to_owned()));
    ReleaseAddress::Oci { repository, tag, digest: Some(digest.to_owned()) }
}

fn tell(args: &Args, exit: Exit, done: &[(String, String, Outcome)], printer: &Printer) {
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

/// The artifacts of what is to be pushed. Everything is looked at before anything goes.
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
            Err(reported) => {
                notes
                    .error(
                        "release-unpackable",
                        None,
                        format!("the release `{name}` cannot be packed: {reported}"),
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
    let provenance = Provenance {
        created: at.made,
        source: definition::published_source(definitions),
        revision: format!("{name}@sha1:{}", at.commit),
    };
    release::artifact(archived, &provenance)
}

/// Pushes a release, unless it is there; the digest that it has in the registry.
fn push(
    args: &Args,
    registry: &Registry,
    one: &Ready,
    notes: &mut Notes,
) -> Result<Option<(String, Outcome)>, Fault> {
    if let Some(found) = registry.digest_of(&one.name)?.filter(|found| *found != one.artifact.digest) {
        // Other bytes may be the same files: packed by another version, or tagged on another commit.
        return match held(registry, &found)? {
            Ok(files) if files == one.files => Ok(Some((found, Outcome::There))),
            Ok(_) => {
                refuse(args, &one.name, &found, "it holds other files", notes);
                Ok(None)
            }
            Err(reported) => {
                refuse(args, &one.name, &found, &reported, notes);
                Ok(None)
            }
        };
    }
    let digest = one.artifact.digest.clone();
    if args.dry_run {
        return Ok(Some((digest, Outcome::DryRun)));
    }
    let outcome = match registry.push(&one.name, &one.artifact)? {
        Pushed::New => Outcome::Pushed,
        Pushed::There => Outcome::There,
    };
    Ok(Some((digest, outcome)))
}

/// The files of an artifact, or why it is no release.
pub(super) fn held(
    registry: &Registry,
    digest: &str,
) -> Result<Result<BTreeMap<String, String>, String>, Fault> {
    let layer = match release::layer(&registry.manifest(digest)?) {
        Ok(layer) => layer,
        Err(reported) => return Ok(Err(reported)),
    };
    Ok(release::unpack(&registry.layer(digest, &layer)?))
}

fn refuse(args: &Args, name: &str, found: &str, why: &str, notes: &mut Notes) {
    notes
        .error(
            "release-exists",
            None,
            format!(
                "`{}:{name}` is `{found}` already, and it is not the release of this repository: {why}",
                args.repository
            ),
        )
        .hint("a release never changes, and a tag is never overwritten: find out who published the other one")
        .hint("`stackloom pull` of it, in another clone, shows what it is");
}
