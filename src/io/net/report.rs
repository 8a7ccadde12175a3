//! Downloads reports on the health of clusters.

use reqwest::Url;

use super::http::{Http, shown};
use crate::note::Fault;

/// The largest report, in bytes: 100 bytes for each of 100,000 clusters, with room for a longer notation.
const LIMIT: usize = 64 * 1024 * 1024;

/// The environment variable that may hold a token for the address of the report.
const TOKEN: &str = "STACKLOOM_HEALTH_TOKEN";

/// Downloads a report. If `STACKLOOM_HEALTH_TOKEN` is set, sends it as a bearer token, but never unencrypted to another machine.
///
/// # Errors
///
/// The address is invalid, contains a password, cannot be reached, or does not return a file.
pub fn health_report(address: &str) -> Result<Vec<u8>, Fault> {
    let url =
        Url::parse(address).map_err(|error| Fault::because("the address of --health is not valid", error))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Fault::new("the address of --health contains a user or a password")
            .hint(format!("put a token into the environment variable `{TOKEN}`")));
    }
    let token = std::env::var(TOKEN).ok().filter(|token| !token.trim().is_empty());
    let is_safe = url.scheme() == "https"
        || url.host_str().is_some_and(|host| matches!(host, "localhost" | "127.0.0.1" | "[::1]"));
    if token.is_some() && !is_safe {
        return Err(Fault::new(format!(
            "`{}` is not encrypted, so `{TOKEN}` is not sent there",
            shown(&url)
        ))
        .hint("use an address with https"));
    }
    let denied = format!("set a token that may read it in the environment variable `{TOKEN}`");
    let authorized = |request: reqwest::RequestBuilder| match &token {
        Some(token) => request.bearer_auth(token.trim()),
        None => request,
    };
    Http::open()?.fetch(&url, LIMIT, authorized, &denied)
}
