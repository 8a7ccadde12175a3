//! Reads logins for registries, as `docker login` or `podman login` stored them, including credential helpers. Never
//! printed.

use docker_credential::{CredentialRetrievalError, DockerCredential, get_credential, get_podman_credential};
use oci_client::secrets::RegistryAuth;

use crate::{model::OciRepository, note::Fault};

/// The name of Docker's own registry in the configuration.
const DOCKER: &str = "https://index.docker.io/v1/";

/// The login for a registry; anonymous if the user has none.
pub(super) fn of(repository: &OciRepository) -> Result<RegistryAuth, Fault> {
    let registry = repository.registry.as_str();
    let server = if registry == "docker.io" { DOCKER } else { registry };
    for found in [get_credential(server), get_podman_credential(server)] {
        match found {
            Ok(DockerCredential::UsernamePassword(user, password)) => {
                return Ok(RegistryAuth::Basic(user, password));
            }
            Ok(DockerCredential::IdentityToken(_)) => {
                return Err(Fault::new(format!(
                    "the login for `{registry}` is an identity token, which is not supported"
                ))
                .hint(format!("log in with a user and an access token: `docker login {registry}`")));
            }
            Err(error) if is_absent(&error) => {}
            Err(error) => {
                return Err(Fault::new(format!("cannot read the login for `{registry}`: {}", words(&error)))
                    .hint(format!(
                        "run `docker login {registry}` to renew it, or `docker logout {registry}` to do without"
                    )));
            }
        }
    }
    Ok(RegistryAuth::Anonymous)
}

/// Whether there is no login at all, as opposed to an unreadable one.
fn is_absent(error: &CredentialRetrievalError) -> bool {
    use CredentialRetrievalError as E;
    match error {
        E::ConfigNotFound | E::ConfigReadError | E::NoCredentialConfigured => true,
        // By their protocol, docker's helpers print this for an unknown registry.
        E::HelperFailure { stdout, .. } => stdout.contains("credentials not found"),
        _ => false,
    }
}

/// Describes an error without the output of a helper, which may contain a secret.
fn words(error: &CredentialRetrievalError) -> String {
    match error {
        CredentialRetrievalError::HelperFailure { helper, .. } => {
            format!("the credential helper `{helper}` failed")
        }
        other => other.to_string(),
    }
}
