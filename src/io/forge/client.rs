//! HTTP client for forges: handles pages, pauses and retries.

use std::{
    fmt, thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{
    Method, StatusCode, Url,
    header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderValue, LINK, LOCATION, RETRY_AFTER},
    redirect::Policy,
};
use serde_json::Value as Json;
use tokio::runtime::{Builder, Runtime};

use super::Call;
use crate::note::Fault;

/// The time limit for connecting, and for a pause within an answer.
const SILENCE: Duration = Duration::from_secs(30);

/// The time limit for a whole answer.
const WHOLE: Duration = Duration::from_mins(2);

/// The largest answer, in bytes: a page of requests with their texts.
const LIMIT: usize = 64 * 1024 * 1024;

/// The maximum number of attempts.
const TRIES: u32 = 4;

/// The longest pause to wait for: a CI job must not hang.
const LONGEST: Duration = Duration::from_mins(5);

/// The maximum number of redirects.
const REDIRECTS: usize = 5;

/// A client for one forge, with one user's token.
pub(super) struct Client<'a> {
    runtime: Runtime,
    inner: reqwest::Client,
    /// The address of the API, with a slash at its end.
    api: Url,
    authorization: HeaderValue,
    /// The environment variable of the token.
    pub(super) variable: &'static str,
    tell: Box<dyn Fn(&str) + 'a>,
}

/// The answer of a forge.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    /// The body; null if it is not JSON.
    pub(super) json: Json,
    /// The next page, as a path relative to the address of the API.
    pub(super) next: Option<String>,
}

/// The reason that there is no answer.
#[derive(Debug)]
pub(super) enum Problem {
    Network(reqwest::Error),
    TooLong,
    TooSlow,
    /// The forge redirects to another address.
    SentOn(String),
    /// The forge asks for a pause longer than [`LONGEST`].
    Wait(Duration),
}

impl fmt::Display for Problem {
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
            Self::TooLong => write!(f, "the answer is longer than {LIMIT} bytes"),
            Self::TooSlow => write!(f, "there was no complete answer within {} seconds", WHOLE.as_secs()),
            Self::SentOn(host) => write!(f, "it redirects to {host}"),
            Self::Wait(pause) => {
                write!(f, "it accepts no more requests for {} minutes", pause.as_secs().div_ceil(60))
            }
        }
    }
}

impl Problem {
    pub(super) fn hint(&self) -> &'static str {
        match self {
            Self::SentOn(_) => {
                "the repository may have moved: correct the address of the git remote, or `forge` in stackloom.yaml"
            }
            Self::Wait(_) => "run the same command again later: it continues where this run ended",
            Self::Network(_) | Self::TooLong | Self::TooSlow => {
                "check that it can be reached from here, then run the same command again: it continues where this run ended"
            }
        }
    }
}

impl Answer {
    pub(super) fn is_success(&self) -> bool {
        self.status.is_success()
    }

    /// The forge's error messages: `message`, `error`, and the texts of `errors`.
    pub(super) fn words(&self) -> String {
        let mut words = Vec::new();
        for key in ["message", "error", "errors"] {
            texts(&self.json[key], &mut words);
        }
        words.dedup();
        words.join("; ").chars().filter(|c| !c.is_control()).take(500).collect()
    }
}

fn texts(value: &Json, words: &mut Vec<String>) {
    match value {
        Json::String(text) => words.push(text.clone()),
        Json::Array(list) => list.iter().for_each(|one| texts(one, words)),
        Json::Object(map) => texts(map.get("message").unwrap_or(&Json::Null), words),
        _ => {}
    }
}

impl<'a> Client<'a> {
    pub(super) fn open(
        api: &str,
        authorization: &str,
        variable: &'static str,
        tell: Box<dyn Fn(&str) + 'a>,
    ) -> Result<Self, Fault> {
        let api = Url::parse(&format!("{}/", api.trim_end_matches('/'))).map_err(|error| {
            Fault::because(format!("`{api}` is not a valid address"), error)
                .hint("check `forge.url` in stackloom.yaml")
        })?;
        let is_local = match api.host_str() {
            Some(host) => {
                host == "localhost"
                    || host
                        .trim_matches(['[', ']'])
                        .parse::<std::net::IpAddr>()
                        .is_ok_and(|ip| ip.is_loopback())
            }
            None => false,
        };
        if api.scheme() != "https" && !is_local {
            return Err(Fault::new(format!("`{api}` is not encrypted, but the token would be sent to it"))
                .hint("write `https://` in `forge.url` of stackloom.yaml"));
        }
        let mut authorization = HeaderValue::from_str(authorization).map_err(|_| {
            Fault::new(format!(
                "`{variable}` does not hold a token: it has characters that a token cannot have"
            ))
            .hint("set it again")
        })?;
        authorization.set_sensitive(true);
        // It fails only if a provider is already installed.
        drop(rustls::crypto::ring::default_provider().install_default());
        let failed = |error: &dyn fmt::Display| Fault::new(format!("cannot set up the network: {error}"));
        let runtime = Builder::new_current_thread().enable_all().build().map_err(|error| failed(&error))?;
        let inner = reqwest::Client::builder()
            .user_agent(concat!("stackloom/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(SILENCE)
            .read_timeout(SILENCE)
            // The token must not be sent to another address.
            .redirect(Policy::none())
            .build()
            .map_err(|error| failed(&error))?;
        Ok(Self { runtime, inner, api, authorization, variable, tell })
    }

    /// Sends a call and retries where that is harmless: after a pause that the forge asks for, and, if the call is
    /// idempotent, after a server or network error.
    pub(super) fn send(&self, call: &Call) -> Result<Answer, Problem> {
        let is_safe = call.method != Method::POST;
        let mut tries = 0;
        loop {
            tries += 1;
            let answer = self.once(call);
            let has_answered = answer.is_ok();
            let pause = match answer {
                Ok((answer, headers)) => match pause_of(&answer, &headers, tries) {
                    Some(pause) if tries < TRIES || pause > LONGEST => pause,
                    None if answer.status.is_server_error() && is_safe && tries < TRIES => backoff(tries),
                    _ => return Ok(answer),
                },
                Err(Problem::Network(_) | Problem::TooSlow) if is_safe && tries < TRIES => backoff(tries),
                Err(problem) => return Err(problem),
            };
            if pause > LONGEST {
                return Err(Problem::Wait(pause));
            }
            let what = if has_answered {
                "asks to wait for"
            } else {
                "cannot be reached; trying again after a pause of"
            };
            (self.tell)(&format!("{} {what} {} s", self.host(), pause.as_secs()));
            thread::sleep(pause);
        }
    }

    fn host(&self) -> &str {
        self.api.host_str().unwrap_or_default()
    }

    /// Sends a call once. Follows redirects to the same host, and only for reads.
    fn once(&self, call: &Call) -> Result<(Answer, HeaderMap), Problem> {
        let mut url = self.api.join(&call.path).map_err(|_| Problem::SentOn(call.path.clone()))?;
        for _ in 0..REDIRECTS {
            let (answer, headers) = self.runtime.block_on(async {
                match tokio::time::timeout(WHOLE, self.exchange(call, url.clone())).await {
                    Ok(done) => done,
                    Err(_) => Err(Problem::TooSlow),
                }
            })?;
            if !answer.status.is_redirection() {
                return Ok((answer, headers));
            }
            let to = headers.get(LOCATION).and_then(|to| to.to_str().ok());
            let to = to.and_then(|to| url.join(to).ok());
            match to {
                Some(to) if to.origin() == self.api.origin() && call.method == Method::GET => url = to,
                to => {
                    let host = to.and_then(|to| to.host_str().map(str::to_owned));
                    return Err(Problem::SentOn(host.unwrap_or_else(|| "another address".to_owned())));
                }
            }
        }
        Err(Problem::SentOn("address after address".to_owned()))
    }

    async fn exchange(&self, call: &Call, url: Url) -> Result<(Answer, HeaderMap), Problem> {
        let network = |error: reqwest::Error| Problem::Network(error.without_url());
        let mut request = self
            .inner
            .request(call.method.clone(), url)
            .header(ACCEPT, "application/json")
            .header(AUTHORIZATION, self.authorization.clone());
        if let Some(body) = &call.body {
            request =
                request.header(reqwest::header::CONTENT_TYPE, "application/json").body(body.to_string());
        }
        let mut answer = request.send().await.map_err(network)?;
        let (status, headers) = (answer.status(), answer.headers().clone());
        let mut bytes = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(network)? {
            if bytes.len() + chunk.len() > LIMIT {
                return Err(Problem::TooLong);
            }
            bytes.extend_from_slice(&chunk);
        }
        // Messages are printed, and some forges repeat the token in them.
        let token = self.authorization.to_str().ok().and_then(|all| all.rsplit(' ').next());
        if let Some(token) = token.filter(|token| !status.is_success() && !token.is_empty()) {
            bytes = String::from_utf8_lossy(&bytes).replace(token, "<token>").into_bytes();
        }
        let json = serde_json::from_slice(&bytes).unwrap_or(Json::Null);
        let next = headers.get_all(LINK).iter().filter_map(|link| link.to_str().ok()).find_map(next_page);
        let next = next.map(|next| self.next_of(call, &next));
        Ok((Answer { status, json, next }, headers))
    }

    /// The next page of a list, relative to the API. A forge that knows itself by another address, as behind a proxy or in a
    /// private network, names that one; then only its query counts, as the token must not be sent there.
    fn next_of(&self, call: &Call, address: &str) -> String {
        let url = self.api.join(address).ok();
        let query = |url: &Url| url.query().map(|query| format!("?{query}")).unwrap_or_default();
        let own = url.as_ref().filter(|url| url.origin() == self.api.origin());
        let path = own.and_then(|url| url.path().strip_prefix(self.api.path()));
        let path = path.unwrap_or_else(|| call.path.split('?').next().unwrap_or_default());
        format!("{path}{}", url.as_ref().map(query).unwrap_or_default())
    }
}

/// The address of the next page in a `Link` header (RFC 8288), which all these forges send.
fn next_page(link: &str) -> Option<String> {
    link.split(',').find_map(|one| {
        let (address, parameters) = one.split_once(';')?;
        let is_next = parameters.split(';').any(|one| matches!(one.trim(), "rel=\"next\"" | "rel=next"));
        is_next.then(|| address.trim().trim_start_matches('<').trim_end_matches('>').to_owned())
    })
}

/// The pause that a forge asks for, by status 429 or by GitHub's 403
/// (<https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api>). A 403 without these headers is about
/// permissions.
fn pause_of(answer: &Answer, headers: &HeaderMap, tries: u32) -> Option<Duration> {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<u64>().ok();
    let is_limit = answer.status == StatusCode::TOO_MANY_REQUESTS;
    if !is_limit && answer.status != StatusCode::FORBIDDEN {
        return None;
    }
    if let Some(seconds) = number(RETRY_AFTER.as_str()) {
        return Some(Duration::from_secs(seconds));
    }
    let is_used_up = number("x-ratelimit-remaining") == Some(0);
    let reset = number("x-ratelimit-reset").or_else(|| number("ratelimit-reset"));
    match reset.filter(|_| is_limit || is_used_up) {
        Some(reset) => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            Some(Duration::from_secs(reset).saturating_sub(now) + Duration::from_secs(1))
        }
        None if is_limit => Some(Duration::from_secs(30) * tries),
        None => None,
    }
}

fn backoff(tries: u32) -> Duration {
    Duration::from_millis(500) * 4_u32.pow(tries - 1)
}

/// The characters that need no escaping in any part of an address (RFC 3986, section 2.3).
const UNRESERVED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Escapes a text for a path or a query.
pub(super) fn escaped(text: &str) -> String {
    utf8_percent_encode(text, &UNRESERVED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_is_read_from_the_link() {
        let link = "<https://api.example.org/x?page=1>; rel=\"prev\", <https://api.example.org/x?page=3>; rel=\"next\"";
        assert_eq!(next_page(link).as_deref(), Some("https://api.example.org/x?page=3"));
        assert_eq!(next_page("<https://api.example.org/x?page=1>; rel=\"last\""), None);
    }

    #[test]
    fn a_name_is_escaped() {
        assert_eq!(escaped("a/b:c d.é"), "a%2Fb%3Ac%20d.%C3%A9");
    }

    #[test]
    fn a_token_goes_over_encrypted_connections_only() {
        let open = |api: &str| Client::open(api, "Bearer x", "X", Box::new(|_| {}));
        assert!(open("http://git.example.org/api").is_err());
        assert!(open("http://127.0.0.1:1/api").is_ok() && open("http://[::1]:1/api").is_ok());
        assert!(open("https://git.example.org/api").is_ok());
    }
}
