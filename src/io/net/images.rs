//! Looks up images in registries: the digest of a tag.

use oci_client::Reference;

use super::LookupAnswer;
use crate::{
    io::oci::Registry,
    model::{Digest, OciRepository},
    note::Fault,
};

/// Looks up the digest of an image.
pub fn image(name: &str) -> LookupAnswer {
    let mut answer = LookupAnswer::default();
    match digest(name) {
        Ok(digest) => drop(answer.found.images.insert(name.to_owned(), digest)),
        Err(fault) => answer.faults.push(fault),
    }
    answer
}

fn digest(name: &str) -> Result<Option<Digest>, Fault> {
    let reference: Reference = name.parse().map_err(|error| {
        Fault::because(format!("`{name}` is not the name of an image"), error)
            .hint("check the chart or the template that names it")
    })?;
    let repository =
        OciRepository { registry: reference.registry().to_owned(), path: reference.repository().to_owned() };
    let found = Registry::open(&repository)?.digest_of(reference.tag().unwrap_or("latest"))?;
    found.map(|text| known(&text, name)).transpose()
}

/// Parses a digest; only SHA-256 is supported.
pub(super) fn known(text: &str, what: &str) -> Result<Digest, Fault> {
    Digest::new(text).ok_or_else(|| {
        Fault::new(format!("the digest of {what} is `{text}`, but only SHA-256 is supported"))
            .hint("publish it with a digest of the form `sha256:…`")
    })
}
