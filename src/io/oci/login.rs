//! Who the user is to a registry: what `docker login` or `podman login` has left, helpers included. Never printed.

use docker_credential::{CredentialRetrievalError, DockerCredential, get_credential, get_podman_credential};
use oci_client::secrets::RegistryAuth;

use crate::{model::OciRepository, note::Fault};

/// Docker's own registry has another name in the configuration.
const DOCKER: &str = "https://index.docker.io/v1/";

/// The login for a registry; anonymous where the user has none.
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
                        "`docker login {registry}` writes it anew; `docker logout {registry}` does without"
                    )));
            }
        }
    }
    Ok(RegistryAuth::Anonymous)
}

/// Whether there is no login, which is none that cannot be read.
fn is_absent(error: &CredentialRetrievalError) -> bool {
    use CredentialRetrievalError as E;
    match error {
        E::ConfigNotFound | E::ConfigReadError | E::NoCredentialConfigured => true,
        // What docker's helpers say, by their protocol, of a registry that they do not know.
        E::HelperFailure { stdout, .. } => stdout.contains("credentials not found"),
        _ => false,
    }
}

/// What is wrong, without what a helper printed: that may hold a secret.
fn words(error: &CredentialRetrievalError) -> String {
    match error {
        CredentialRetrievalError::HelperFailure { helper, .. } => {
            format!("the credential helper `{helper}` failed")
        }
        other => other.to_string(),
    }
}
