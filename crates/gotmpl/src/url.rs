//! Go's `net/url`: parses and assembles URLs.
//!
//! It follows the defaults of Go 1.26: a host of `http` or `https` has no second colon outside of brackets.

use std::collections::BTreeMap;
use std::net::Ipv6Addr;

/// A part of a URL with its own escaping rules.
#[derive(Clone, Copy, PartialEq, Eq)]
enum UrlPart {
    Path,
    User,
    Host,
    Zone,
    Query,
    Fragment,
}

/// The most query parameters that Go accepts.
const MAX_PARAMETERS: usize = 10_000;

/// The parts of a URL, decoded except for the query and the opaque part.
///
/// ```
/// use gotmpl::Url;
///
/// let url = Url::parse(b"HTTPS://[fd00::1]:6443/a%20b?q=1&q=2#top")?;
/// assert_eq!((url.scheme.as_slice(), url.host_name(), url.port()), (&b"https"[..], &b"fd00::1"[..], &b"6443"[..]));
/// assert_eq!(url.parameters()[&b"q"[..]], [b"1", b"2"]);
/// assert_eq!(url.text(), b"https://[fd00::1]:6443/a%20b?q=1&q=2#top");
///
/// assert!(Url::is_request(b"/healthz"), "an absolute path is enough");
/// assert!(!Url::is_request(b"healthz"));
/// assert_eq!(Url::parse(b"http://a:b/").unwrap_err(), "invalid port after host");
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Default)]
pub struct Url {
    /// The scheme in lower case.
    pub scheme: Vec<u8>,
    pub(super) opaque: Vec<u8>,
    pub(super) user: Option<User>,
    /// The decoded host with its port.
    pub host: Vec<u8>,
    pub(super) path: Vec<u8>,
    pub(super) query: Vec<u8>,
    pub(super) fragment: Vec<u8>,
    pub(super) written: Spelling,
}

/// Details of the original spelling that the parts do not contain.
#[derive(Debug, Default)]
pub(super) struct Spelling {
    /// The path, if it was not escaped in the default way.
    path: Option<Vec<u8>>,
    /// The fragment, if it was not escaped in the default way.
    fragment: Option<Vec<u8>>,
    /// Whether the URL has an empty query (a question mark only).
    empty_query: bool,
    /// Whether a scheme is followed by a path without `//`.
    no_authority: bool,
}

/// A user name with an optional password.
#[derive(Debug, Clone)]
pub(super) struct User {
    name: Vec<u8>,
    password: Option<Vec<u8>>,
}

type Parsed<T> = Result<T, String>;

fn must_escape(byte: u8, part: UrlPart) -> bool {
    let host = matches!(part, UrlPart::Host | UrlPart::Zone);
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => false,
        b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'=' | b':' | b'[' | b']'
        | b'<' | b'>' | b'"'
            if host =>
        {
            false
        }
        b'$' | b'&' | b'+' | b',' | b'/' | b':' | b';' | b'=' | b'?' | b'@' => match part {
            UrlPart::Path => byte == b'?',
            UrlPart::User => matches!(byte, b'@' | b'/' | b'?' | b':'),
            UrlPart::Fragment => false,
            UrlPart::Host | UrlPart::Zone | UrlPart::Query => true,
        },
        b'!' | b'(' | b')' | b'*' => part != UrlPart::Fragment,
        _ => true,
    }
}

fn escape(text: &[u8], part: UrlPart) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for byte in text {
        if must_escape(*byte, part) {
            out.extend_from_slice(format!("%{byte:02X}").as_bytes());
        } else {
            out.push(*byte);
        }
    }
    out
}

fn hex(byte: Option<&u8>) -> Option<u8> {
    let digit = char::from(*byte?).to_digit(16)?;
    u8::try_from(digit).ok()
}

fn unescape(text: &[u8], part: UrlPart) -> Parsed<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        if *byte != b'%' {
            let host = matches!(part, UrlPart::Host | UrlPart::Zone);
            if host && byte.is_ascii() && must_escape(*byte, part) {
                return Err("invalid character in host name".to_owned());
            }
            out.push(if *byte == b'+' && part == UrlPart::Query { b' ' } else { *byte });
            at += 1;
            continue;
        }
        let digits = (hex(text.get(at + 1)), hex(text.get(at + 2)));
        let (Some(high), Some(low)) = digits else {
            return Err("invalid URL escape".to_owned());
        };
        let value = high << 4 | low;
        let percent = value == b'%';
        let refused = match part {
            UrlPart::Host => high < 8 && !percent,
            UrlPart::Zone => !percent && value != b' ' && must_escape(value, UrlPart::Host),
            UrlPart::Path | UrlPart::User | UrlPart::Query | UrlPart::Fragment => false,
        };
        if refused {
            return Err("invalid URL escape".to_owned());
        }
        out.push(value);
        at += 3;
    }
    Ok(out)
}

fn cut(text: &[u8], at: u8) -> (&[u8], Option<&[u8]>) {
    match text.iter().position(|byte| *byte == at) {
        Some(found) => {
            (text.get(..found).unwrap_or_default(), Some(text.get(found + 1..).unwrap_or_default()))
        }
        None => (text, None),
    }
}

/// The scheme at the start of a text, and the text after its colon.
fn scheme(text: &[u8]) -> Parsed<(&[u8], &[u8])> {
    for (index, byte) in text.iter().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if index > 0 => {}
            b':' if index == 0 => return Err("missing protocol scheme".to_owned()),
            b':' => {
                let (scheme, rest) = text.split_at(index);
                return Ok((scheme, rest.get(1..).unwrap_or_default()));
            }
            _ => break,
        }
    }
    Ok((b"", text))
}

impl Url {
    /// `url.Parse`
    pub fn parse(text: &[u8]) -> Parsed<Url> {
        let (text, fragment) = cut(text, b'#');
        let mut url = Url::parse_rest(text, false)?;
        (url.fragment, url.written.fragment) = decoded(fragment.unwrap_or_default(), UrlPart::Fragment)?;
        Ok(url)
    }

    /// Reports whether `url.ParseRequestURI` accepts the text. It supports no fragments and requires a scheme or an absolute
    /// path.
    pub fn is_request(text: &[u8]) -> bool {
        Url::parse_rest(text, true).is_ok()
    }

    fn parse_rest(text: &[u8], request: bool) -> Parsed<Url> {
        let mut url = Url::default();
        if text.iter().any(|byte| *byte < b' ' || *byte == 0x7f) {
            return Err("net/url: invalid control character in URL".to_owned());
        }
        if text.is_empty() && request {
            return Err("empty url".to_owned());
        }
        if text == b"*" {
            url.path = text.to_vec();
            return Ok(url);
        }
        let (scheme, rest) = scheme(text)?;
        url.scheme = scheme.to_ascii_lowercase();
        let (mut rest, query) = cut(rest, b'?');
        url.query = query.unwrap_or_default().to_vec();
        url.written.empty_query = query.is_some_and(<[u8]>::is_empty);
        if !rest.starts_with(b"/") {
            if !scheme.is_empty() {
                url.opaque = rest.to_vec();
                return Ok(url);
            }
            if request {
                return Err("invalid URI for request".to_owned());
            }
            if cut(rest, b'/').0.contains(&b':') {
                return Err("first path segment in URL cannot contain colon".to_owned());
            }
        }
        let has_authority = !scheme.is_empty() || !request && !rest.starts_with(b"///");
        if let Some(authority) = rest.strip_prefix(b"//").filter(|_| has_authority) {
            let end = authority.iter().position(|byte| *byte == b'/');
            let (authority, path) = authority.split_at(end.unwrap_or(authority.len()));
            rest = path;
            url.authority(authority)?;
        } else {
            url.written.no_authority = !scheme.is_empty() && rest.starts_with(b"/");
        }
        (url.path, url.written.path) = decoded(rest, UrlPart::Path)?;
        Ok(url)
    }

    fn authority(&mut self, authority: &[u8]) -> Parsed<()> {
        let at = authority.iter().rposition(|byte| *byte == b'@');
        let host = authority.get(at.map_or(0, |at| at + 1)..).unwrap_or_default();
        self.host = parse_host(&self.scheme, host)?;
        let Some(at) = at else { return Ok(()) };
        let info = authority.get(..at).unwrap_or_default();
        let valid = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(byte);
        if !info.iter().all(valid) {
            return Err("net/url: invalid userinfo".to_owned());
        }
        let (name, password) = cut(info, b':');
        let password = match password {
            Some(password) => Some(unescape(password, UrlPart::User)?),
            None => None,
        };
        self.user = Some(User { name: unescape(name, UrlPart::User)?, password });
        Ok(())
    }

    /// The host without its port and brackets.
    pub fn host_name(&self) -> &[u8] {
        let (host, _) = self.host_and_port();
        host.strip_prefix(b"[").and_then(|inner| inner.strip_suffix(b"]")).unwrap_or(host)
    }

    /// The port as written; empty if there is none.
    pub fn port(&self) -> &[u8] {
        self.host_and_port().1
    }

    fn host_and_port(&self) -> (&[u8], &[u8]) {
        let host = self.host.as_slice();
        let colon = host.iter().rposition(|byte| *byte == b':');
        match colon.map(|colon| host.split_at(colon)) {
            Some((host, port)) if is_port(port) => (host, port.get(1..).unwrap_or_default()),
            _ => (host, b""),
        }
    }

    /// `url.EscapedPath`
    pub fn escaped_path(&self) -> Vec<u8> {
        match self.path.as_slice() {
            path if self.written.path.is_some() => encoded(path, self.written.path.as_ref(), UrlPart::Path),
            b"*" => b"*".to_vec(),
            path => escape(path, UrlPart::Path),
        }
    }

    /// `url.Query`. Malformed parts of the query are left out.
    pub fn parameters(&self) -> BTreeMap<Vec<u8>, Vec<Vec<u8>>> {
        let mut all: BTreeMap<Vec<u8>, Vec<Vec<u8>>> = BTreeMap::new();
        let parts = || self.query.split(|byte| *byte == b'&');
        if parts().count() > MAX_PARAMETERS {
            return all;
        }
        for part in parts().filter(|part| !part.is_empty() && !part.contains(&b';')) {
            let (key, value) = cut(part, b'=');
            let value = unescape(value.unwrap_or_default(), UrlPart::Query);
            if let (Ok(key), Ok(value)) = (unescape(key, UrlPart::Query), value) {
                all.entry(key).or_default().push(value);
            }
        }
        all
    }

    /// `url.String`
    pub fn text(&self) -> Vec<u8> {
        let mut out = Vec::new();
        if !self.scheme.is_empty() {
            out.extend_from_slice(&self.scheme);
            out.push(b':');
        }
        if self.opaque.is_empty() {
            self.hierarchy(&mut out);
        } else {
            out.extend_from_slice(&self.opaque);
        }
        if !self.query.is_empty() || self.written.empty_query {
            out.push(b'?');
            out.extend_from_slice(&self.query);
        }
        if !self.fragment.is_empty() {
            out.push(b'#');
            out.extend(encoded(&self.fragment, self.written.fragment.as_ref(), UrlPart::Fragment));
        }
        out
    }

    /// Appends the user, host and path.
    fn hierarchy(&self, out: &mut Vec<u8>) {
        let of_path = !self.scheme.is_empty() && !self.path.is_empty() && !self.written.no_authority;
        if !self.host.is_empty() || self.user.is_some() || of_path {
            out.extend_from_slice(b"//");
        }
        if let Some(user) = &self.user {
            out.extend_from_slice(&user.text());
            out.push(b'@');
        }
        out.extend_from_slice(&escape(&self.host, UrlPart::Host));
        let path = self.escaped_path();
        if !path.is_empty() && !path.starts_with(b"/") && !self.host.is_empty() {
            out.push(b'/');
        }
        if out.is_empty() && cut(&path, b'/').0.contains(&b':') {
            out.extend_from_slice(b"./");
        }
        out.extend_from_slice(&path);
    }
}

/// Decodes a part. Also returns the original text if it was not escaped in the default way.
fn decoded(text: &[u8], part: UrlPart) -> Parsed<(Vec<u8>, Option<Vec<u8>>)> {
    let value = unescape(text, part)?;
    let written = (escape(&value, part) != text).then(|| text.to_vec());
    Ok((value, written))
}

/// The original text of a part if it is a valid encoding, otherwise the default encoding.
fn encoded(value: &[u8], written: Option<&Vec<u8>>, part: UrlPart) -> Vec<u8> {
    let valid = |byte: &u8| b"!$&'()*+,;=:@[]%".contains(byte) || !must_escape(*byte, part);
    match written.filter(|written| !written.is_empty() && written.iter().all(valid)) {
        Some(written) => written.clone(),
        None => escape(value, part),
    }
}

impl User {
    /// `Userinfo.String`
    pub(super) fn text(&self) -> Vec<u8> {
        let mut out = escape(&self.name, UrlPart::User);
        if let Some(password) = &self.password {
            out.push(b':');
            out.extend_from_slice(&escape(password, UrlPart::User));
        }
        out
    }
}

/// Whether a text is empty or a colon followed by digits.
fn is_port(text: &[u8]) -> bool {
    match text.split_first() {
        None => true,
        Some((first, digits)) => *first == b':' && digits.iter().all(u8::is_ascii_digit),
    }
}

fn parse_host(scheme: &[u8], host: &[u8]) -> Parsed<Vec<u8>> {
    match host.iter().rposition(|byte| *byte == b'[') {
        Some(0) => return parse_ip(host),
        Some(_) => return Err("invalid IP-literal".to_owned()),
        None => {}
    }
    let first = host.iter().position(|byte| *byte == b':');
    let last = host.iter().rposition(|byte| *byte == b':');
    let strict = scheme == b"http" || scheme == b"https";
    if let Some(colon) = if strict { first } else { last }
        && !is_port(host.get(colon..).unwrap_or_default())
    {
        return Err("invalid port after host".to_owned());
    }
    unescape(host, UrlPart::Host)
}

/// Parses an IPv6 address in brackets, with an optional zone and port.
fn parse_ip(host: &[u8]) -> Parsed<Vec<u8>> {
    let Some(close) = host.iter().rposition(|byte| *byte == b']') else {
        return Err("missing ']' in host".to_owned());
    };
    let port = host.get(close + 1..).unwrap_or_default();
    if !is_port(port) {
        return Err("invalid port after host".to_owned());
    }
    let inner = host.get(1..close).unwrap_or_default();
    let zone = inner.windows(3).position(|window| window == b"%25");
    let (address, zone) = inner.split_at(zone.unwrap_or(inner.len()));
    let mut name = unescape(address, UrlPart::Host)?;
    name.extend(unescape(zone, UrlPart::Zone)?);
    let text = String::from_utf8_lossy(&name).into_owned();
    let (address, zone) = text.split_once('%').unwrap_or((text.as_str(), "-"));
    if address.parse::<Ipv6Addr>().is_err() || zone.is_empty() {
        return Err("invalid host".to_owned());
    }
    Ok([b"[", name.as_slice(), b"]", port].concat())
}
