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
    let mut arguments = vec!["verify", "--key", key];
    arguments.extend((!with_log).then_some("--insecure-ignore-tlog"));
    arguments.extend(repository.is_local().then_some("--allow-http-registry"));
    arguments.push(&image);
    let mut command = Command::new("cosign");
    command.current_dir(root).args(&arguments);
    let output = program::spoken(command, b"").map_err(|fault| {
        fault.hint(format!("cosign is needed to verify the signature of `{image}` with `{key}`: install it"))
    })?;
    if output.status.success() {
        return Ok(());
    }
    let fault = Fault::new(format!(
        "cosign finds no signature of `{image}` with the key `{key}`: {}",
        program::words(&output)
    ))
    .hint(format!("nothing was taken; `cosign {}` says it again", arguments.join(" ")));
    let fault = if with_log {
        fault.hint("where signatures are in no transparency log, the source in stackloom.yaml says so: `transparencyLog: false`")
    } else {
        fault
    };
    Err(fault.hint("ask whoever publishes it for a signature, or for the key that it is signed with"))
}
