//! Getting a file by its address.

use std::{fmt, time::Duration};

use reqwest::{Client, StatusCode, Url, redirect::Policy};
use tokio::runtime::{Builder, Runtime};

use super::helm::Login;
use crate::note::Fault;

/// How long a connection may take, and a pause in an answer.
const SILENCE: Duration = Duration::from_secs(30);

/// How long a whole file may take.
const WHOLE: Duration = Duration::from_mins(5);

/// How often one may be sent on.
const REDIRECTS: usize = 5;

/// What gets files.
pub(super) struct Http {
    runtime: Runtime,
    client: Client,
}

/// What went wrong.
#[derive(Debug)]
enum Wrong {
    Network(reqwest::Error),
    Status(StatusCode),
    TooLong(usize),
    TooSlow,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Network(error) => {
                // The last cause says what it was; the ones before it, that there was one.
                let mut cause: &dyn std::error::Error = error;
                while let Some(deeper) = cause.source() {
                    cause = deeper;
                }
                write!(f, "{cause}")
            }
            Self::Status(status) => write!(f, "the answer was {status}"),
            Self::TooLong(limit) => write!(f, "it is longer than {limit} bytes"),
            Self::TooSlow => write!(f, "there was no whole answer within {} seconds", WHOLE.as_secs()),
        }
    }
}

impl std::error::Error for Wrong {}

impl From<reqwest::Error> for Wrong {
    fn from(error: reqwest::Error) -> Self {
        // Where one was sent on to may hold a secret.
        Self::Network(error.without_url())
    }
}

impl Http {
    /// Prepares; nothing is sent yet.
    pub(super) fn open() -> Result<Self, Fault> {
        // An error means that there is one already.
        drop(rustls::crypto::ring::default_provider().install_default());
        let failed = |error| Fault::because("cannot prepare for the network", error);
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Fault::because("cannot prepare for the network", error))?;
        let redirect = Policy::custom(|attempt| {
            let from_https = attempt.previous().last().is_some_and(|from| from.scheme() == "https");
            if attempt.previous().len() > REDIRECTS {
                attempt.error(format!("sent on more than {REDIRECTS} times"))
            } else if from_https && attempt.url().scheme() != "https" {
                attempt.error("sent on to an address without encryption")
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

    /// Gets a file of at most so many bytes.
    pub(super) fn get(&self, url: &Url, limit: usize, login: Option<&Login>) -> Result<Vec<u8>, Fault> {
        let work = async {
            match tokio::time::timeout(WHOLE, self.bytes(url, limit, login)).await {
                Ok(done) => done,
                Err(_) => Err(Wrong::TooSlow),
            }
        };
        self.runtime.block_on(work).map_err(|wrong| {
            let hint = match &wrong {
                Wrong::Status(StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => {
                    "log in: `helm repo add <name> <address> --username … --password-stdin`, then run this again"
                }
                Wrong::Status(StatusCode::NOT_FOUND) => "look whether the address is right",
                Wrong::TooLong(_) => "look at what is published there",
                _ => "look whether it can be reached from here",
            };
            Fault::because(format!("cannot get `{}`", shown(url)), wrong).hint(hint)
        })
    }

    async fn bytes(&self, url: &Url, limit: usize, login: Option<&Login>) -> Result<Vec<u8>, Wrong> {
        let mut request = self.client.get(url.clone());
        if let Some(login) = login {
            request = request.basic_auth(&login.user, Some(&login.password));
        }
        let mut answer = request.send().await?;
        if !answer.status().is_success() {
            return Err(Wrong::Status(answer.status()));
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = answer.chunk().await? {
            if bytes.len() + chunk.len() > limit {
                return Err(Wrong::TooLong(limit));
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    }
}

/// An address without what may be a secret in it.
pub(super) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    // What has no host has no user either.
    url.set_username("").ok();
    url.set_password(None).ok();
    url.to_string()
}
