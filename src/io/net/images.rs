//! Images in registries: the digest behind a tag.

use oci_client::Reference;

use super::Answer;
use crate::{
    io::oci::Registry,
    model::{Digest, OciRepository},
    note::Fault,
};

/// What a registry says of an image.
pub fn image(name: &str) -> Answer {
    let mut answer = Answer::default();
    match digest(name) {
        Ok(digest) => drop(answer.found.images.insert(name.to_owned(), digest)),
        Err(fault) => answer.faults.push(fault),
    }
    answer
}

fn digest(name: &str) -> Result<Option<Digest>, Fault> {
    let reference: Reference = name.parse().map_err(|error| {
        Fault::because(format!("`{name}` is not the name of an image"), error)
            .hint("look at the chart or the template that names it")
    })?;
    let repository =
        OciRepository { registry: reference.registry().to_owned(), path: reference.repository().to_owned() };
    let found = Registry::open(&repository)?.digest_of(reference.tag().unwrap_or("latest"))?;
    found.map(|text| known(&text, name)).transpose()
}

/// A digest of the one kind that this program takes.
pub(super) fn known(text: &str, what: &str) -> Result<Digest, Fault> {
    Digest::new(text).ok_or_else(|| {
        Fault::new(format!("the digest of {what} is `{text}`, and only SHA-256 is known"))
            .hint("publish it with a digest that is `sha256:…`")
    })
}
