//! Downloads a file over HTTP.

use std::{fmt, time::Duration};

use reqwest::{Client, RequestBuilder, StatusCode, Url, redirect::Policy};
use tokio::runtime::{Builder, Runtime};

use super::helm::Login;
use crate::note::Fault;

/// The time limit for connecting, and for a pause within an answer.
const SILENCE: Duration = Duration::from_secs(30);

/// The time limit for a whole file.
const WHOLE: Duration = Duration::from_mins(5);

/// The maximum number of redirects.
const REDIRECTS: usize = 5;

/// An HTTP client.
pub(super) struct Http {
    runtime: Runtime,
    client: Client,
}

/// The reason that a download failed.
#[derive(Debug)]
enum DownloadError {
    Network(reqwest::Error),
    Status(StatusCode),
    TooLong(usize),
    TooSlow,
}

impl fmt::Display for DownloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Network(error) => {
                // Only the last cause says what went wrong.
                let mut cause: &dyn std::error::Error = error;
                while let Some(deeper) = cause.source() {
                    cause = deeper;
                }
                write!(f, "{cause}")
            }
            Self::Status(status) => write!(f, "the answer was {status}"),
            Self::TooLong(limit) => write!(f, "it is longer than {limit} bytes"),
            Self::TooSlow => write!(f, "there was no complete answer within {} seconds", WHOLE.as_secs()),
        }
    }
}

impl std::error::Error for DownloadError {}

impl From<reqwest::Error> for DownloadError {
    fn from(error: reqwest::Error) -> Self {
        // The address of a redirect may contain a secret.
        Self::Network(error.without_url())
    }
}

impl Http {
    /// Creates a client; nothing is sent yet.
    pub(super) fn open() -> Result<Self, Fault> {
        // It fails only if a provider is already installed.
        drop(rustls::crypto::ring::default_provider().install_default());
        let failed = |error| Fault::because("cannot set up the network", error);
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Fault::because("cannot set up the network", error))?;
        let redirect = Policy::custom(|attempt| {
            let from_https = attempt.previous().last().is_some_and(|from| from.scheme() == "https");
            if attempt.previous().len() > REDIRECTS {
                attempt.error(format!("more than {REDIRECTS} redirects"))
            } else if from_https && attempt.url().scheme() != "https" {
                attempt.error("redirected to an address without encryption")
            } else {
                attempt.follow()
            }
        });
        let client = Client::builder()
            .user_agent(concat!("stackloom/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(SILENCE)
            .read_timeout(SILENCE)
            .redirect(redirect)
            .build()
            .map_err(failed)?;
        Ok(Self { runtime, client })
    }

    /// Downloads a file of at most `limit` bytes.
    pub(super) fn get(&self, url: &Url, limit: usize, login: Option<&Login>) -> Result<Vec<u8>, Fault> {
        let denied =
            "log in with `helm repo add <name> <address> --username … --password-stdin`, then run this again";
        let authorized = |request: RequestBuilder| match login {
            Some(login) => request.basic_auth(&login.user, Some(&login.password)),
            None => request,
        };
        let mut url = url.clone();
        if login.is_some() {
            // With a user in the address, two headers would be sent.
            url.set_username("").ok();
        }
        self.fetch(&url, limit, authorized, denied)
    }

    /// Gets a file of at most so many bytes; `denied` is the hint if the server denies access.
    pub(super) fn fetch(
        &self,
        url: &Url,
        limit: usize,
        authorized: impl Fn(RequestBuilder) -> RequestBuilder,
        denied: &str,
    ) -> Result<Vec<u8>, Fault> {
        let work = async {
            let request = authorized(self.client.get(url.clone()));
            match tokio::time::timeout(WHOLE, bytes(request, limit)).await {
                Ok(done) => done,
                Err(_) => Err(DownloadError::TooSlow),
            }
        };
        self.runtime.block_on(work).map_err(|wrong| {
            let hint = match &wrong {
                DownloadError::Status(StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => denied,
                DownloadError::Status(StatusCode::NOT_FOUND) => "check that the address is right",
                DownloadError::TooLong(_) => "check what is published there",
                _ => "check that it can be reached from here",
            };
            Fault::because(format!("cannot get `{}`", shown(url)), wrong).hint(hint)
        })
    }
}

async fn bytes(request: RequestBuilder, limit: usize) -> Result<Vec<u8>, DownloadError> {
    let mut answer = request.send().await?;
    if !answer.status().is_success() {
        return Err(DownloadError::Status(answer.status()));
    }
    let mut bytes = Vec::new();
    while let Some(chunk) = answer.chunk().await? {
        if bytes.len() + chunk.len() > limit {
            return Err(DownloadError::TooLong(limit));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// An address without anything that may be secret.
pub(super) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    // This fails only for an address without a host, which has no user either.
    url.set_username("").ok();
    url.set_password(None).ok();
    url.to_string()
}
