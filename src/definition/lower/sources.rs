//! Lowers the locations where other repositories publish releases.

use std::collections::BTreeSet;

use super::{check_address, holds_credential, lock::is_outside, place_at};
use crate::{
    definition::{self as written, parse::Written},
    model::{ReleaseRepository, ReleaseSource, StackId, address},
    note::{Notes, Place},
};

/// Lowers the release sources, and drops those with errors.
pub(super) fn lower(written: &Written<written::Fleet>, notes: &mut Notes) -> Vec<ReleaseSource> {
    let releases = written.value.spec.releases.as_ref();
    let sources = releases.and_then(|releases| releases.sources.as_deref()).unwrap_or_default();
    let mut found: Vec<ReleaseSource> = Vec::new();
    for (at, source) in sources.iter().enumerate() {
        let Some(lowered) = one(written, source, &at.to_string(), notes) else { continue };
        if found.iter().any(|other| other.repository == lowered.repository) {
            notes
                .error(
                    "duplicate",
                    place_at(written, &["spec", "releases", "sources", &at.to_string(), "url"]),
                    format!("the source `{}` is listed twice", lowered.repository),
                )
                .hint("keep one of them, with the `stacks` of both");
        } else {
            found.push(lowered);
        }
    }
    found
}

fn one(
    written: &Written<written::Fleet>,
    source: &written::ReleaseSource,
    at: &str,
    notes: &mut Notes,
) -> Option<ReleaseSource> {
    let place = |key: &str| place_at(written, &["spec", "releases", "sources", at, key]);
    let before = notes.errors();
    let address = source.url.strip_prefix("git+").unwrap_or(&source.url);
    if holds_credential(address) {
        let place = Place { source: String::new(), ..place("url") };
        notes
            .error("secret", place, "the address holds a credential")
            .hint("remove it: log in to a registry with `docker login`, and to a git server with git's own configuration");
        return None;
    }
    let repository = ReleaseRepository::parse(&source.url)
        .map_err(|why| {
            notes.error("wrong-source", place("url"), why).hint(
                "a source is a whole repository: `oci://<registry>/<path>` or `git+https://<repository>`",
            );
        })
        .ok();
    if repository.is_some() && !address.starts_with("file://") {
        // Local paths are not checked; they are for trying things out.
        let form = if address.len() < source.url.len() { address::GIT } else { address::CHARTS };
        check_address(form, address, "wrong-source", place("url"), notes);
    }
    if let Some(key) = source.key.as_deref() {
        if is_outside(key) {
            notes
                .error("wrong-key", place("key"), format!("`{key}` is not the path of a file in this fleet"))
                .hint(
                    "put the public key into the repository, and write its path from the root of the fleet",
                );
        } else if matches!(repository, Some(ReleaseRepository::Git(_))) {
            notes
                .error(
                    "wrong-key",
                    place("key"),
                    "`key` is for artifacts in a registry, but this is a git repository",
                )
                .hint("remove `key`: releases from git are verified by the digest in the lock");
        }
    }
    if source.key.is_none() && source.transparency_log.is_some() {
        notes
            .error(
                "wrong-key",
                place("transparencyLog"),
                "`transparencyLog` is about signatures, but there is no `key`",
            )
            .hint("add the `key` that artifacts are signed with, or remove `transparencyLog`");
    }
    let mut stacks = BTreeSet::new();
    for stack in source.stacks.iter().flatten() {
        match StackId::parse(stack) {
            Some(stack) => drop(stacks.insert(stack)),
            None => {
                notes
                    .error("wrong-name", place("stacks"), format!("`{stack}` is not a stack"))
                    .hint("write a stack as <provider>/<stack>, such as openstack/scs");
            }
        }
    }
    let repository = repository?;
    let (key, transparency_log) = (source.key.clone(), source.transparency_log.unwrap_or(true));
    (notes.errors() == before).then_some(ReleaseSource { repository, key, transparency_log, stacks })
}
