//! `stackloom pull`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::{Done, Exit, Global, Printer, access::Access, input_or_world, printer::short_id, push::held};
use crate::{
    commit_message::{self, Pulled},
    definition::{self, Model},
    generate,
    io::{
        cosign,
        disk::Workspace,
        git::{NewRelease, ReleaseRun, Repository, fetch_release},
        oci::Registry,
    },
    lock,
    model::{Digest, Lock, LockedRelease, OciRepository, ReleaseAddress, ReleaseRepository},
    note::{Fault, Notes},
    release::{Arrival, Taken},
    world::{LOCK, World as _},
    yaml::Origin,
};

/// Take releases from a registry or another git repository
///
/// Writes each release to generated/releases/<name>/ and its digest to stackloom.lock, in one commit. Checks
/// it first, as strictly as a release of this repository: the digest in its address, the digests of its files
/// and of its content, and its name. Refuses a release that exists here with other content, or whose digest
/// differs from the lock. From then on, every run compares the folder with the lock.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  stackloom pull oci://registry.example.org/platform/releases@sha256:4f2c…\n  stackloom pull git+https://git.example.org/platform/stacks.git#openstack-scs-1-35-v7\n  stackloom pull --key cosign.pub oci://registry.example.org/platform/releases@sha256:4f2c…\n  stackloom pull oci://registry.example.org/platform/releases:openstack-scs-1-35-v7   print the digest of the tag\n\nGit addresses can also start with git+ssh:// or git+file://. `stackloom releases --check` lists newer releases with the commands that pull them."
)]
pub(super) struct Args {
    /// The address: oci://<registry>/<path>@sha256:<digest>, or git+https://<repository>#<release>
    #[arg(value_name = "SOURCE", required = true, value_parser = ReleaseAddress::parse)]
    sources: Vec<ReleaseAddress>,
    /// The public key that artifacts must be signed with, as a file of this repository; `cosign` verifies the
    /// signature
    #[arg(long, value_name = "FILE")]
    key: Option<String>,
    /// Write nothing; show what would be pulled
    #[arg(long)]
    dry_run: bool,
}

/// A fetched release, with its origin.
struct Fetched {
    arrival: Arrival,
    from: ReleaseAddress,
    signature: Signature,
    commit: Option<String>,
}

/// The keys that an artifact must be signed with.
#[derive(Clone, Debug)]
struct Signature {
    keys: BTreeSet<String>,
    with_log: bool,
}

pub(super) fn run(args: &Args, global: &Global, printer: &Printer) -> Done {
    let world = super::fleet(global, printer)?;
    let mut notes = Notes::new();
    let Some(model) = model(&world, &mut notes)? else { return Ok(ended(Exit::Input, &notes, printer)) };
    let mut fetched = Vec::new();
    for source in &args.sources {
        printer.talk(&format!("fetching {source}"));
        let signature = signature(args, source, &model);
        fetched.extend(fetch(source, signature, &world, &mut notes)?);
    }
    if notes.errors() > 0 {
        return Ok(ended(Exit::Input, &notes, printer));
    }
    // Locked only now, so that no other commit waits for the network.
    let access = Access::open(&world, args.dry_run)?;
    let repository = access.repository();
    let arrivals: Vec<_> = fetched.iter().map(|one| one.arrival.clone()).collect();
    let (taken, lock) = match generate::take(&world, &arrivals, &mut notes) {
        Ok(taken) => taken,
        Err(failure) => {
            let exit = input_or_world(failure)?;
            return Ok(ended(exit, &notes, printer));
        }
    };
    for (one, taken) in fetched.iter().zip(&taken) {
        check_here(one, taken, repository, &lock, &world, &mut notes)?;
    }
    if notes.errors() > 0 {
        return Ok(ended(Exit::Input, &notes, printer));
    }
    let all: Vec<Pull> = fetched
        .iter()
        .zip(&taken)
        .map(|(one, taken)| Pull::new(one, taken, repository, &lock))
        .collect::<Result<_, _>>()?;
    let commit = commit(&all, lock, access.into_run())?;
    printer.notes(&notes);
    print_result(args, &all, commit.as_deref(), printer);
    let list: Vec<_> = all.iter().map(describe).collect();
    printer.document(Exit::Done, &notes, json!({ "releases": list, "commit": commit }));
    Ok(Exit::Done)
}

/// The action for a fetched release.
struct Pull<'a> {
    one: &'a Fetched,
    taken: &'a Taken,
    /// The new entry in the lock, if it changes.
    entry: Option<LockedRelease>,
}

impl<'a> Pull<'a> {
    /// An existing release that is missing from the lock gets its former entry back. If it never had one, it gets a new
    /// entry, unless it was cut here. An entry without a key gets the key that was used to verify the release now.
    fn new(one: &'a Fetched, taken: &'a Taken, repository: &Repository, lock: &Lock) -> Result<Self, Fault> {
        let before = lock.releases.get(taken.name());
        let entry = match taken {
            Taken::New { digest, .. } => Some(entry(one, digest, before)?),
            Taken::There { lost: Some(lost), .. } => Some(lost.clone()),
            Taken::There { .. } if let Some(before) = before => {
                let key = one.signature.keys.first().filter(|_| before.key.is_none());
                let key = key.filter(|_| before.source == one.arrival.source);
                key.map(|key| LockedRelease { key: Some(key.clone()), ..before.clone() })
            }
            Taken::There { digest, commit, .. } => {
                let foreign = commit.as_ref().is_some_and(|commit| !repository.has_commit(commit));
                foreign.then(|| entry(one, digest, None)).transpose()?
            }
        };
        Ok(Self { one, taken, entry })
    }
}

fn describe(pull: &Pull<'_>) -> serde_json::Value {
    let digest = match pull.taken {
        Taken::There { .. } => None,
        Taken::New { digest, .. } => Some(digest),
    };
    json!({
        "name": pull.taken.name(),
        "source": pull.one.arrival.source,
        "digest": digest,
        "new": digest.is_some(),
        "relocked": digest.is_none() && pull.entry.is_some(),
        "keys": pull.one.signature.keys,
    })
}

fn ended(exit: Exit, notes: &Notes, printer: &Printer) -> Exit {
    printer.notes(notes);
    printer.talk("nothing was pulled");
    printer.document(exit, notes, json!({}));
    exit
}

/// Reads the fleet. Its definitions may require keys, so an invalid fleet stops the command.
fn model(world: &Workspace, notes: &mut Notes) -> Result<Option<Model>, Fault> {
    let input = world.read(notes)?;
    let definitions = definition::parse(&input, notes);
    Ok(definition::lower(&definitions, &input, &generate::program_version(), notes).ok())
}

/// The keys that a release from a source must be signed with.
fn signature(args: &Args, source: &ReleaseAddress, model: &Model) -> Signature {
    let repository = source.repository();
    let configured = model.fleet.release_sources.iter().find(|one| one.repository == repository);
    let key = configured.and_then(|one| one.key.clone());
    let with_log = configured.is_none_or(|one| one.transparency_log);
    Signature { keys: key.into_iter().chain(args.key.clone()).collect(), with_log }
}

fn fetch(
    source: &ReleaseAddress,
    signature: Signature,
    world: &Workspace,
    notes: &mut Notes,
) -> Result<Option<Fetched>, Fault> {
    match source {
        ReleaseAddress::Git { url, tag } => {
            if let Some(key) = signature.keys.first() {
                notes
                    .error(
                        "wrong-key",
                        None,
                        format!("`{key}` is for artifacts in a registry, but `{source}` is not one"),
                    )
                    .hint("pull the release from a registry, or omit the key");
                return Ok(None);
            }
            let fetched = fetch_release(url, tag)?;
            let Some(files) = texts(fetched.files, source, notes) else { return Ok(None) };
            let arrival = Arrival { source: source.to_string(), files };
            Ok(Some(Fetched { arrival, from: source.clone(), signature, commit: Some(fetched.commit) }))
        }
        ReleaseAddress::Oci { repository, tag, digest: None } => {
            note_without_digest(repository, tag.as_deref(), notes)?;
            Ok(None)
        }
        ReleaseAddress::Oci { repository, digest: Some(digest), .. } => {
            for key in &signature.keys {
                cosign::verify(world.root(), key, signature.with_log, repository, digest)?;
            }
            let pinned = ReleaseAddress::Oci {
                repository: repository.clone(),
                tag: None,
                digest: Some(digest.clone()),
            };
            match held(&Registry::open(repository)?, digest)? {
                Ok(files) => {
                    let arrival = Arrival { source: pinned.to_string(), files };
                    Ok(Some(Fetched { arrival, from: source.clone(), signature, commit: None }))
                }
                Err(why) => {
                    notes
                        .error("no-release", None, format!("`{pinned}` is not a release: {why}"))
                        .hint("`stackloom release push` publishes one; compare the digest with the one that the publisher gave you");
                    Ok(None)
                }
            }
        }
    }
}

fn texts(
    files: BTreeMap<String, Vec<u8>>,
    source: &ReleaseAddress,
    notes: &mut Notes,
) -> Option<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    for (path, bytes) in files {
        let hidden = path.split('/').any(|part| part.starts_with('.'));
        match String::from_utf8(bytes) {
            Ok(text) if !hidden => drop(found.insert(path, text)),
            _ => {
                notes
                    .error(
                        "no-release",
                        None,
                        format!("`{source}` has the file `{path}`, which no release can contain"),
                    )
                    .hint("releases are made only by `stackloom release`: ask the publisher");
                return None;
            }
        }
    }
    Some(found)
}

/// Reports an address without a digest: a tag can be moved, and does not identify its content.
fn note_without_digest(
    repository: &OciRepository,
    tag: Option<&str>,
    notes: &mut Notes,
) -> Result<(), Fault> {
    let Some(tag) = tag else {
        notes
            .error("no-digest", None, format!("`{repository}` names no release"))
            .hint("add the digest that the publisher announced: `@sha256:…`")
            .hint("`stackloom releases --check` lists what the sources in stackloom.yaml have");
        return Ok(());
    };
    let Some(digest) = Registry::open(repository)?.digest_of(tag)? else {
        notes
            .error("unknown-release", None, format!("`{repository}` has no tag `{tag}`"))
            .hint("the tag of a release is its name, such as openstack-scs-1-35-v7");
        return Ok(());
    };
    notes
        .error(
            "no-digest",
            None,
            format!("`{repository}:{tag}` is a tag, and a tag can be moved: pull by digest"),
        )
        .hint(format!("the tag names `{digest}` now; if the publisher announced that digest:"))
        .hint(format!("stackloom pull {repository}:{tag}@{digest}"));
    Ok(())
}

/// Compares a pulled release with its address and with a local tag of the same name, and verifies it with the key that the
/// lock requires.
fn check_here(
    one: &Fetched,
    taken: &Taken,
    repository: &Repository,
    lock: &Lock,
    world: &Workspace,
    notes: &mut Notes,
) -> Result<(), Fault> {
    let name = taken.name();
    let tag = match &one.from {
        ReleaseAddress::Git { tag, .. } => Some(tag),
        ReleaseAddress::Oci { tag, .. } => tag.as_ref(),
    };
    if tag.is_some_and(|tag| tag != name) {
        notes
            .error("wrong-name", None, format!("`{}` holds the release `{name}`", one.from))
            .hint("the tag must have the name of the release: ask the publisher");
    }
    if repository.is_tagged_elsewhere(name, &one.arrival.files)? {
        notes
            .error(
                "release-tag",
                None,
                format!("the tag `{name}` of this repository has other content than `{}`", one.from),
            )
            .hint(format!("a release name is never used for other content: compare with `git show {name}`"));
    }
    if let Some(commit) = repository.is_added_otherwise(name, &one.arrival.files)? {
        notes
            .error(
                "release-exists",
                None,
                format!("the commit {commit} added a release `{name}` with other content than `{}`", one.from),
            )
            .hint(format!(
                "a release name is never used again, even after its release was removed: compare with `git show {commit}`"
            ));
    }
    let locked = lock.releases.get(name).and_then(|locked| locked.key.as_ref());
    match (locked.filter(|key| !one.signature.keys.contains(*key)), &one.from) {
        (Some(key), ReleaseAddress::Oci { repository, digest: Some(digest), .. }) => {
            cosign::verify(world.root(), key, one.signature.with_log, repository, digest)
        }
        (Some(key), _) => {
            notes
                .error(
                    "wrong-key",
                    None,
                    format!(
                        "the lock requires a signature with `{key}` for `{name}`, but releases from `{}` are not signed",
                        one.from
                    ),
                )
                .hint("pull the release from the registry that the lock names");
            Ok(())
        }
        (None, _) => Ok(()),
    }
}

fn commit(all: &[Pull<'_>], mut lock: Lock, run: Option<ReleaseRun>) -> Result<Option<String>, Fault> {
    let (mut added, mut pulled, mut relocked) = (Vec::new(), Vec::new(), Vec::new());
    for Pull { one, taken, entry } in all {
        let Some(locked) = entry else { continue };
        let name = taken.name().to_owned();
        lock.releases.insert(name.clone(), locked.clone());
        if matches!(taken, Taken::There { .. }) {
            relocked.push(name);
            continue;
        }
        let signed = locked.key.as_ref().map(|key| format!("signed with {key}"));
        let remark = signed.or_else(|| one.commit.as_ref().map(|commit| format!("commit {commit}")));
        let (source, digest) = (locked.source.clone(), locked.digest.to_string());
        pulled.push(Pulled { name: name.clone(), source, digest, remark });
        added.push(NewRelease { name, files: one.arrival.files.clone(), tag: None });
    }
    match run {
        Some(run) if !added.is_empty() || !relocked.is_empty() => {
            let run = run.with_lock(lock::write(&lock))?;
            Ok(run.commit(&added, &[], &commit_message::releases_pulled(&pulled, &relocked))?.commit)
        }
        _ => Ok(None),
    }
}

/// The new entry of a release in the lock. A required key is kept.
fn entry(one: &Fetched, digest: &str, before: Option<&LockedRelease>) -> Result<LockedRelease, Fault> {
    let digest = Digest::new(digest).ok_or_else(|| {
        Fault::new(format!("`{digest}` is not a digest")).hint("this is a bug of stackloom; please report it")
    })?;
    let key = before.and_then(|locked| locked.key.clone());
    let key = key.or_else(|| one.signature.keys.first().cloned());
    Ok(LockedRelease { source: one.arrival.source.clone(), digest, key, origin: Origin::NOWHERE })
}

fn print_result(args: &Args, all: &[Pull<'_>], commit: Option<&str>, printer: &Printer) {
    let (mut new, mut relocked) = (None, false);
    for Pull { one, taken, entry } in all {
        match taken {
            Taken::There { name, .. } => {
                printer.result(&format!("{name} is already in this repository, with the same content"));
                if let Some(locked) = entry {
                    let signed = locked.key.as_ref().map(|key| format!(", signed with {key}"));
                    printer.result(&format!(
                        "  added to {LOCK}: pulled from {}{}",
                        locked.source,
                        signed.unwrap_or_default()
                    ));
                    relocked = true;
                }
            }
            Taken::New { release, digest } => {
                let keys: Vec<_> = one.signature.keys.iter().map(String::as_str).collect();
                let signed = if keys.is_empty() {
                    String::new()
                } else {
                    format!(", signed with {}", keys.join(", "))
                };
                printer.result(&format!("{} from {}{signed}", release.name, one.arrival.source));
                printer.result(&format!("  Kubernetes {}, folder {digest}", release.kubernetes));
                if one.signature.keys.is_empty() && matches!(one.from.repository(), ReleaseRepository::Git(_))
                {
                    let commit = one.commit.as_deref().unwrap_or_default();
                    printer.result(&format!("  the tag names the commit {commit}"));
                }
                new = Some(&release.name);
            }
        }
    }
    match commit {
        Some(commit) => printer.result(&format!("committed as {}", short_id(commit))),
        None if new.is_none() && !relocked => printer.result("nothing to pull"),
        None if args.dry_run => printer.talk("this was a dry run: nothing was written"),
        None => {}
    }
    if let (Some(name), Some(_)) = (new, commit) {
        printer
            .talk(&format!("next: set `release: {name}` in a cluster's definition, then run `stackloom generate --commit --all`"));
    }
}
