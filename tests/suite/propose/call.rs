//! The calls that a local forge receives.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    net::TcpStream,
};

use serde_json::Value as Json;

use super::server::TOKEN;

/// The request of a client.
pub(crate) struct Call {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: Vec<(String, String)>,
    pub(crate) body: Json,
}

pub(super) fn decoded(text: &str) -> String {
    percent(text.as_bytes())
}

fn percent(bytes: &[u8]) -> String {
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b'%' {
            let hex = std::str::from_utf8(&bytes[at + 1..at + 3]).unwrap();
            out.push(u8::from_str_radix(hex, 16).unwrap());
            at += 3;
        } else {
            out.push(bytes[at]);
            at += 1;
        }
    }
    String::from_utf8(out).unwrap()
}

pub(crate) fn read(reader: &mut BufReader<&TcpStream>) -> Option<(Call, bool)> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|count| *count > 0)?;
    let mut words = line.split_whitespace();
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let (mut length, mut is_allowed) = (0, false);
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim().split_once(':') else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().ok()?,
            "authorization" => {
                is_allowed = matches!(value.trim().split_once(' '), Some(("Bearer" | "token", TOKEN)));
            }
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let query = pairs.map(|(name, value)| (decoded(name), decoded(value))).collect();
    let body = serde_json::from_slice(&body).unwrap_or(Json::Null);
    Some((Call { method, path: path.to_owned(), query, body }, is_allowed))
}
