//! Verifies signatures of artifacts with the user's own `cosign`.

use std::{path::Path, process::Command};

use super::program;
use crate::{model::OciRepository, note::Fault};

/// Runs `cosign` to verify that an artifact was signed with the private half of `key`, a file below the root of the fleet.
/// With `with_log`, the signature must also be in the transparency log.
pub fn verify(
    root: &Path,
    key: &str,
    with_log: bool,
    repository: &OciRepository,
    digest: &str,
) -> Result<(), Fault> {
    let image = repository.image(digest);
    if !root.join(key).is_file() {
        return Err(Fault::new(format!(
            "the key `{key}` does not exist, but `{image}` must be signed with it"
        ))
        .hint("put the public key there, or change `key` where it is set"));
    }
    let mut arguments = vec!["verify", "--key", key];
    arguments.extend((!with_log).then_some("--insecure-ignore-tlog"));
    arguments.extend(repository.is_local().then_some("--allow-http-registry"));
    arguments.push(&image);
    let mut command = Command::new("cosign");
    command.current_dir(root).args(&arguments);
    let output = program::run_prepared(command, b"").map_err(|fault| {
        fault.hint(format!("install cosign: it verifies the signature of `{image}` with `{key}`"))
    })?;
    if output.status.success() {
        return Ok(());
    }
    let fault = Fault::new(format!(
        "cosign found no signature of `{image}` with the key `{key}`: {}",
        program::words(&output)
    ))
    .hint(format!("nothing was pulled; run `cosign {}` to see the error again", arguments.join(" ")));
    let fault = if with_log {
        fault.hint("if the signatures are in no transparency log, set `transparencyLog: false` for the source in stackloom.yaml")
    } else {
        fault
    };
    Err(fault.hint("ask the publisher for a signature, or for the key that it is signed with"))
}
