//! `urlParse` and `urlJoin`.

use std::collections::BTreeMap;

use super::super::budget::Context;
use super::super::error::{Outcome, exec};
use super::super::url::Url;
use super::super::value::{Elem, Str, Value};
use super::args::{any, text};
use super::{Function, Type};

use Type::{Dict, Text};

pub(super) const FUNCTIONS: &[Function] =
    &[Function::new("urlParse", &[Text], parse), Function::new("urlJoin", &[Dict], join)];

fn parse<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let bytes = text(args, 0)?.bytes();
    cx.charge(bytes.len() as u64 * 3)?;
    let url = Url::parse(bytes).map_err(|why| exec(format!("unable to parse url: {why}")))?;
    let user = url.user.as_ref().map(super::super::url::User::text);
    let host_name = url.host_name().to_vec();
    let parts = [
        ("scheme", url.scheme),
        ("host", url.host),
        ("hostname", host_name),
        ("path", url.path),
        ("query", url.query),
        ("opaque", url.opaque),
        ("fragment", url.fragment),
        ("userinfo", user.unwrap_or_default()),
    ];
    let mut entries = BTreeMap::new();
    for (key, part) in parts {
        entries.insert(Str::from(key), cx.text(part)?);
    }
    Ok(cx.map(Elem::Any, entries))
}

fn join<'a>(cx: &mut Context<'a>, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let map = any(args, 0);
    let part = |key: &str| match map.entry(key.as_bytes()) {
        None => Ok(Vec::new()),
        Some(Value::Str(text)) => Ok(text.bytes().to_vec()),
        Some(other) => {
            let kind = other.kind_name();
            Err(exec(format!("unable to parse {key} key, must be of type string, but {kind} found")))
        }
    };
    let mut url = Url {
        scheme: part("scheme")?,
        host: part("host")?,
        path: part("path")?,
        query: part("query")?,
        opaque: part("opaque")?,
        fragment: part("fragment")?,
        ..Url::default()
    };
    let info = part("userinfo")?;
    if !info.is_empty() {
        let text = [b"proto://", info.as_slice(), b"@host"].concat();
        let parsed =
            Url::parse(&text).map_err(|why| exec(format!("unable to parse userinfo in dict: {why}")))?;
        url.user = parsed.user;
    }
    cx.text(url.text())
}
