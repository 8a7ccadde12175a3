//! Signatures of artifacts, verified by the user's own `cosign`.

use std::{path::Path, process::Command};

use super::program;
use crate::{model::OciRepository, note::Fault};

/// Has `cosign` verify that an artifact was signed with the private half of a key, a file below the root of the fleet; and
/// that this is in the transparency log, unless the key alone counts.
pub fn verify(
    root: &Path,
    key: &str,
    with_log: bool,
    repository: &OciRepository,
    digest: &str,
) -> Result<(), Fault> {
    let image = repository.image(digest);
    if !root.join(key).is_file() {
        return Err(Fault::new(format!("there is no key `{key}`, with which `{image}` must be signed"))
            .hint("put the public key there, or change `key` where it is named"));
    }
    let mut command = Command::new("cosign");
    command.current_dir(root).args(["verify", "--key", key]);
    if !with_log {
        command.arg("--insecure-ignore-tlog");
    }
    if repository.is_local() {
        command.arg("--allow-http-registry");
    }
    command.arg(&image);
    let output = program::spoken(command, b"").map_err(|fault| {
        fault.hint(format!("`{key}` is to be held against the signature of `{image}`, and that takes cosign: install it, it is not done without"))
    })?;
    if output.status.success() {
        return Ok(());
    }
    Err(Fault::new(format!("`{image}` has no signature of the key `{key}`: {}", program::words(&output)))
        .hint(format!("nothing was taken; `cosign verify --key {key} {image}` says it again"))
        .hint("where signatures are in no transparency log, the source in stackloom.yaml says so: `transparencyLog: false`")
        .hint("ask whoever publishes it for a signature, or for the key that it is signed with"))
}
