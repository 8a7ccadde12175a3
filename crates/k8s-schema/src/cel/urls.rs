//! The URL library, with Go's URLs: they preserve the original spelling and only check its form.
//!
//! Source: `pkg/cel/library/urls.go` and `pkg/cel/url.go` of k8s.io/apiserver.

use std::sync::Arc;

use gotmpl::Url;
use kube_cel::cel::extractors::This;
use kube_cel::cel::objects::{Key, Map, Opaque};
use kube_cel::cel::{Context, ExecutionError, Value};

use super::functions::{Outcome, failed, not_known, string};

/// A URL value. Two URLs are equal if they are spelled the same.
#[derive(Debug)]
struct Address(Url);

impl PartialEq for Address {
    fn eq(&self, other: &Self) -> bool {
        self.0.text() == other.0.text()
    }
}

impl Eq for Address {}

impl Opaque for Address {
    fn runtime_type_name(&self) -> &'static str {
        "kubernetes.URL"
    }
}

/// A function that extracts one part of a URL.
type Part = fn(&Url) -> Vec<u8>;

const PARTS: [(&str, Part); 5] = [
    ("getScheme", |url| url.scheme.clone()),
    ("getHost", |url| url.host.clone()),
    ("getHostname", |url| url.host_name().to_vec()),
    ("getPort", |url| url.port().to_vec()),
    ("getEscapedPath", Url::escaped_path),
];

pub(super) fn register(context: &mut Context<'_>) {
    context.add_function("isURL", |text: Arc<String>| Url::is_request(text.as_bytes()));
    context.add_function("url", |text: Arc<String>| {
        parse(&text).map(|url| Value::Opaque(Arc::new(Address(url))))
    });
    for (name, part) in PARTS {
        context.add_function(name, move |This(value): This<Value>| words(part(of(name, &value)?)));
    }
    context.add_function("getQuery", query);
}

/// Kubernetes parses twice. The first parser requires an absolute URL, which is all that `isURL` checks; only the second one
/// supports fragments.
fn parse(text: &str) -> Result<Url, ExecutionError> {
    let bytes = text.as_bytes();
    if !Url::is_request(bytes) {
        return Err(failed("url", "URL parse error during conversion from string"));
    }
    Url::parse(bytes).map_err(|why| failed("url", why))
}

fn of<'v>(name: &str, value: &'v Value) -> Result<&'v Url, ExecutionError> {
    match value {
        Value::Opaque(opaque) => opaque.downcast_ref::<Address>().map(|address| &address.0),
        _ => None,
    }
    .ok_or_else(|| failed(name, "no such overload"))
}

/// Converts bytes to a string. Go strings may hold any bytes, but ours must be UTF-8.
fn words(bytes: Vec<u8>) -> Outcome {
    String::from_utf8(bytes).map(string).map_err(|_| not_known("a part of a URL that is not UTF-8"))
}

fn query(This(value): This<Value>) -> Outcome {
    let mut entries = Vec::new();
    for (name, values) in of("getQuery", &value)?.parameters() {
        let Value::String(name) = words(name)? else { continue };
        let values = values.into_iter().map(words).collect::<Result<Vec<_>, _>>()?;
        entries.push((Key::String(name), Value::List(Arc::new(values))));
    }
    Ok(Value::Map(Map { map: Arc::new(entries.into_iter().collect()) }))
}
