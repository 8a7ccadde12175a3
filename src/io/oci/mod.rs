//! Releases in registries: pushes and pulls their artifacts, and lists their tags.
//!
//! All received content is compared with a digest, and not interpreted here. Connections are encrypted, except to a registry
//! on this machine.

mod login;

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use oci_client::{
    Client, Reference, RegistryOperation,
    client::{ClientConfig, ClientProtocol},
    errors::{OciDistributionError as Error, OciErrorCode},
    secrets::RegistryAuth,
};
use tokio::{
    io::AsyncWrite,
    runtime::{Builder, Runtime},
};

use crate::{
    model::OciRepository,
    note::Fault,
    release::{Artifact, ArtifactLayer, MANIFEST_TYPE, sha256},
};

/// The time limit for a query.
const ANSWER: Duration = Duration::from_mins(1);

/// The time limit for transferring an archive.
const TRANSFER: Duration = Duration::from_mins(10);

/// The time limit for connecting, and for a pause within an answer.
const SILENCE: Duration = Duration::from_secs(30);

/// Maximum tags in one answer.
const TAGS_AT_A_TIME: usize = 1000;

/// Maximum tags in a repository. A repository of releases never has more.
const TAG_LIMIT: usize = 100_000;

/// A repository in a registry, with the user's login.
pub struct Registry {
    repository: OciRepository,
    runtime: Runtime,
    client: Client,
    login: RegistryAuth,
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registry").field("repository", &self.repository).finish_non_exhaustive()
    }
}

/// The result of a push.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// The artifact is new in the registry.
    New,
    /// The artifact was already in the registry.
    There,
}

impl Registry {
    /// Prepares a connection to a registry; nothing is sent yet.
    pub fn open(repository: &OciRepository) -> Result<Self, Fault> {
        // It fails only if a provider is already installed.
        drop(rustls::crypto::ring::default_provider().install_default());
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Fault::because("cannot set up the network", error))?;
        let protocol = if repository.is_local() { ClientProtocol::Http } else { ClientProtocol::Https };
        let config = ClientConfig {
            protocol,
            connect_timeout: Some(SILENCE),
            read_timeout: Some(SILENCE),
            user_agent: concat!("stackloom/", env!("CARGO_PKG_VERSION")),
            ..ClientConfig::default()
        };
        let client =
            Client::try_from(config).map_err(|error| Fault::because("cannot set up the network", error))?;
        let login = login::of(repository)?;
        Ok(Self { repository: repository.clone(), runtime, client, login })
    }

    /// The digest that a tag points to; None if the tag does not exist.
    pub fn digest_of(&self, tag: &str) -> Result<Option<String>, Fault> {
        let reference = self.tagged(tag);
        match self.ask(ANSWER, self.client.fetch_manifest_digest(&reference, &self.login)) {
            Ok(digest) => Ok(Some(digest)),
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(self.fault(&format!("cannot look up the tag `{tag}`"), error)),
        }
    }

    /// All tags of the repository.
    pub fn tags(&self) -> Result<Vec<String>, Fault> {
        let reference = self.tagged("latest");
        let mut tags: Vec<String> = Vec::new();
        loop {
            let last = tags.last().map(String::as_str);
            let asked = self.client.list_tags(&reference, &self.login, Some(TAGS_AT_A_TIME), last);
            let answer =
                self.ask(ANSWER, asked).map_err(|error| self.fault("cannot list the tags", error))?;
            let more = answer.tags.len() >= TAGS_AT_A_TIME;
            let before = tags.len();
            // A registry may repeat the last tag of the previous answer.
            tags.extend(answer.tags.into_iter().filter(|tag| last_is_before(last, tag)).collect::<Vec<_>>());
            if !more || tags.len() == before {
                return Ok(tags);
            }
            if tags.len() > TAG_LIMIT {
                return Err(Fault::new(format!("`{}` has more than {TAG_LIMIT} tags", self.repository))
                    .hint("use a separate repository for releases"));
            }
        }
    }

    /// Pushes an artifact and points a tag to it. The caller must check the tag first: a registry overwrites it silently.
    pub fn push(&self, tag: &str, artifact: &Artifact) -> Result<Pushed, Fault> {
        if self.digest_of(tag)?.as_deref() == Some(&artifact.digest) {
            return Ok(Pushed::There);
        }
        let reference = self.tagged(tag);
        let failed = |error| self.fault(&format!("cannot push `{tag}`"), error);
        let work = async {
            self.client.auth(&reference, &self.login, RegistryOperation::Push).await?;
            for blob in [&artifact.layer, &artifact.config] {
                self.client.push_blob(&reference, blob.clone(), &sha256(blob)).await?;
            }
            let kind = MANIFEST_TYPE.parse().expect("a media type is a header's value");
            self.client.push_manifest_raw(&reference, artifact.manifest.clone(), kind).await
        };
        self.ask(TRANSFER, work).map_err(failed)?;
        match self.digest_of(tag)? {
            Some(digest) if digest == artifact.digest => Ok(Pushed::New),
            found => Err(Fault::new(format!(
                "`{}:{tag}` was pushed as `{}`, but the registry now has `{}`",
                self.repository,
                artifact.digest,
                found.unwrap_or_else(|| "nothing".to_owned())
            ))
            .hint("someone else may have pushed at the same time: check it, then run this again")),
        }
    }

    pub fn manifest(&self, digest: &str) -> Result<Vec<u8>, Fault> {
        let reference = self.pinned(digest);
        let asked = self.client.pull_manifest_raw(&reference, &self.login, &[MANIFEST_TYPE]);
        let (bytes, _) =
            self.ask(ANSWER, asked).map_err(|error| self.fault(&format!("cannot pull `{digest}`"), error))?;
        self.hold("the manifest", digest, &bytes)?;
        Ok(bytes.to_vec())
    }

    /// The bytes of a layer.
    pub fn layer(&self, manifest: &str, layer: &ArtifactLayer) -> Result<Vec<u8>, Fault> {
        let reference = self.pinned(manifest);
        let mut taken = Limited { bytes: Vec::new(), limit: layer.size };
        let asked = self.client.pull_blob(&reference, layer.digest.as_str(), &mut taken);
        match self.ask(TRANSFER, asked) {
            Ok(()) => {}
            Err(Error::DigestError(_)) => return Err(self.other_bytes("the layer", &layer.digest)),
            Err(error) => return Err(self.fault(&format!("cannot pull the layer `{}`", layer.digest), error)),
        }
        self.hold("the layer", &layer.digest, &taken.bytes)?;
        Ok(taken.bytes)
    }

    /// Refuses bytes that do not match a digest.
    fn hold(&self, what: &str, digest: &str, bytes: &[u8]) -> Result<(), Fault> {
        if sha256(bytes) == digest { Ok(()) } else { Err(self.other_bytes(what, digest)) }
    }

    fn other_bytes(&self, what: &str, digest: &str) -> Fault {
        Fault::new(format!(
            "`{}` returned {what} `{digest}` with content that does not match the digest",
            self.repository
        ))
        .hint("it was changed in the registry, or on the way from it, and is not used")
    }

    fn tagged(&self, tag: &str) -> Reference {
        let OciRepository { registry, path } = &self.repository;
        Reference::with_tag(registry.clone(), path.clone(), tag.to_owned())
    }

    fn pinned(&self, digest: &str) -> Reference {
        let OciRepository { registry, path } = &self.repository;
        Reference::with_digest(registry.clone(), path.clone(), digest.to_owned())
    }

    fn ask<T>(&self, limit: Duration, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let done = self.runtime.block_on(async { tokio::time::timeout(limit, work).await });
        done.unwrap_or_else(|_| {
            let seconds = limit.as_secs();
            Err(Error::IoError(std::io::Error::new(
                std::io::ErrorKind::TimedOut,
                format!("there was no complete answer within {seconds} seconds"),
            )))
        })
    }

    /// Describes an error for people who know registries but not this program.
    fn fault(&self, what: &str, error: Error) -> Fault {
        let (repository, registry) = (&self.repository, &self.repository.registry);
        let denied = matches!(error, Error::UnauthorizedError { .. } | Error::AuthenticationFailure(_))
            || has_code(&error, &[OciErrorCode::Unauthorized, OciErrorCode::Denied]);
        let hint = if denied {
            format!("log in with an account that may do this: `docker login {registry}`")
        } else if is_missing(&error) {
            "check that the address and the digest are right".to_owned()
        } else if matches!(error, Error::DigestError(_)) {
            return Fault::because(
                format!("{what} of `{repository}`: the content does not match the digest"),
                WithCauses(error),
            )
            .hint("it was changed in the registry, or on the way from it, and is not used");
        } else {
            format!("check that `{registry}` can be reached from here, and that it is a registry")
        };
        Fault::because(format!("{what} of `{repository}`"), WithCauses(error)).hint(hint)
    }
}

/// An error with all of its causes: only the last cause of a network error says what happened.
#[derive(Debug)]
struct WithCauses(Error);

impl std::fmt::Display for WithCauses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Error::RegistryError { envelope, .. } = &self.0 {
            let reported: Vec<_> = envelope.errors.iter().map(|one| one.message.as_str()).collect();
            return write!(f, "the registry says: {}", plain(&reported.join("; ")));
        }
        let mut text = self.0.to_string();
        let mut source = std::error::Error::source(&self.0);
        while let Some(cause) = source {
            let cause_text = cause.to_string();
            if !text.contains(&cause_text) {
                text = format!("{text}: {cause_text}");
            }
            source = cause.source();
        }
        f.write_str(&plain(&text))
    }
}

impl std::error::Error for WithCauses {}

/// Maximum characters of an answer that a message shows. The answer may come from a proxy.
const TOLD: usize = 400;

/// A foreign text as one line, without control characters that a terminal would obey.
fn plain(text: &str) -> String {
    let words: Vec<&str> = text.split(|c: char| c.is_whitespace() || c.is_control()).collect();
    let line = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    if line.chars().count() <= TOLD {
        return line;
    }
    line.chars().take(TOLD).chain(['…']).collect()
}

fn last_is_before(last: Option<&str>, tag: &str) -> bool {
    last.is_none_or(|last| last != tag)
}

fn has_code(error: &Error, codes: &[OciErrorCode]) -> bool {
    match error {
        Error::RegistryError { envelope, .. } => envelope
            .errors
            .iter()
            .any(|one| codes.iter().any(|code| format!("{code:?}") == format!("{:?}", one.code))),
        _ => false,
    }
}

fn is_missing(error: &Error) -> bool {
    let not_found =
        matches!(error, Error::ImageManifestNotFoundError(_) | Error::ServerError { code: 404, .. });
    not_found
        || has_code(
            error,
            &[OciErrorCode::ManifestUnknown, OciErrorCode::NameUnknown, OciErrorCode::NotFound],
        )
}

/// A buffer that accepts only as many bytes as were announced.
struct Limited {
    bytes: Vec<u8>,
    limit: usize,
}

impl AsyncWrite for Limited {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        if self.bytes.len() + bytes.len() > self.limit {
            return Poll::Ready(Err(std::io::Error::other("it is longer than its manifest says")));
        }
        self.bytes.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_answers_is_one_short_line() {
        let message = format!("<html>\n\u{1b}[2J\u{7}secret\tpage{}", "x".repeat(100_000));
        let error =
            Error::ServerError { code: 500, url: "https://registry.example.org/v2/".to_owned(), message };
        let reported = WithCauses(error).to_string();
        assert!(
            reported.starts_with("Server error: url https://registry.example.org/v2/, code: 500"),
            "{reported}"
        );
        assert!(reported.contains("<html> [2J secret page") && reported.ends_with('…'), "{reported}");
        assert!(reported.chars().count() == TOLD + 1 && !reported.contains(char::is_control), "{reported}");
    }
}
