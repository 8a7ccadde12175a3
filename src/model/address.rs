//! Strict validation of addresses. Flux, Helm, Cluster API and people all read the addresses in the tree, and must all reach
//! the same place.
//!
//! The `url` crate does the parsing. Anything that it would silently correct (line ends, backslashes, numeric hosts, dots in
//! the path) is rejected.

use url::{Host, Url};

use crate::note::in_words;

/// The parts that an address may have.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// The permitted schemes, without `://`.
    pub schemes: &'static [&'static str],
    /// Whether a user may precede the host. Registries have no such addresses.
    pub user: bool,
    /// Whether a part of the path may contain an encoded `/`, as in the addresses of packages of a GitLab project.
    pub slash: bool,
    /// Whether a path must follow the host.
    pub path: bool,
}

/// An address that Flux clones a repository from.
pub const GIT: Form = Form { schemes: &["https", "http", "ssh"], user: true, slash: false, path: true };
/// The address of a chart repository.
pub const CHARTS: Form = Form { schemes: &["https", "http", "oci"], user: true, slash: true, path: false };
/// An address that a provider loads an image from.
pub const IMAGE: Form =
    Form { schemes: &["https", "http", "oci", "s3", "gs"], user: false, slash: false, path: true };

impl Form {
    /// Validates an address. The error says what is wrong.
    pub fn check(self, text: &str) -> Result<(), String> {
        let odd = |c: char| c.is_control() || c.is_whitespace() || "\\<>\"^`{|}".contains(c);
        if let Some(found) = text.chars().find(|c| odd(*c)) {
            return Err(format!("it contains the character `{}`", found.escape_default()));
        }
        let (scheme, rest) = text.split_once("://").ok_or("it has no `://`")?;
        if !self.schemes.contains(&scheme) {
            return Err(format!("it starts with `{scheme}://` instead of {}", self.listed()));
        }
        if rest.contains(['?', '#']) {
            return Err("it has a `?` or a `#` after its path".to_owned());
        }
        let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
        let host = match authority.rsplit_once('@') {
            Some((user, host)) if self.user && scheme != "oci" && is_user(user) => host,
            Some(_) => return Err("it contains a user name".to_owned()),
            None => authority,
        };
        check_host(host)?;
        let decoded = path.replace("%2F", "/").replace("%2f", "/");
        check_path(if self.slash { &decoded } else { path })?;
        if self.path && path.trim_matches('/').is_empty() {
            return Err("it has no path".to_owned());
        }
        if scheme == "oci" { check_repository(path) } else { Ok(()) }
    }

    fn listed(self) -> String {
        let schemes: Vec<_> = self.schemes.iter().map(|scheme| format!("`{scheme}://`")).collect();
        in_words(&schemes, "or")
    }
}

/// The same address with `ssh://`, if it has the short form that git reads: `user@host:path`.
pub fn with_scheme(text: &str) -> Option<String> {
    let (authority, path) = text.split_once(':')?;
    let is_short = authority.contains('@') && !authority.contains('/') && !path.starts_with("//");
    is_short.then(|| format!("ssh://{authority}/{}", path.trim_start_matches('/')))
}

/// Whether the user of an address looks like a token: long, and random rather than a name.
pub fn is_token(user: &str) -> bool {
    let has = |test: fn(&u8) -> bool| user.bytes().any(|byte| test(&byte));
    let words = || user.split(|c: char| !c.is_ascii_alphanumeric());
    let is_digit = |c: &u8| c.is_ascii_digit();
    let changes =
        |word: &str| word.as_bytes().windows(2).filter(|two| is_digit(&two[0]) != is_digit(&two[1])).count();
    let (changes, longest) = (words().map(changes).sum::<usize>(), words().map(str::len).max());
    let has_both_cases = has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase);
    longest >= Some(LONG_WORD)
        || user.len() >= LONG_USER && (changes >= MIXED || changes > 1 && has_both_cases)
}

/// The minimum length of a user that can be a token.
const LONG_USER: usize = 16;
/// The minimum length of a word without separators that counts as a token.
const LONG_WORD: usize = 32;
/// The minimum number of changes between letters and digits in a random user.
const MIXED: usize = 4;

/// Reports whether a text is a valid user, with or without a password. The caller decides whether a user is permitted at
/// all.
fn is_user(user: &str) -> bool {
    !user.is_empty() && user.chars().all(|c| c.is_ascii_alphanumeric() || ".-_~%!$&'()*+,;=:".contains(c))
}

/// Validates a host with an optional port.
fn check_host(text: &str) -> Result<(), String> {
    let wrong = || format!("`{text}` is not a valid host");
    if text.is_empty() || text.starts_with(':') {
        return Err("it has no host".to_owned());
    }
    if let Some(found) = text.chars().find(|c| !c.is_ascii()) {
        return Err(format!(
            "the host contains `{}`, which can be mistaken for another letter",
            found.escape_unicode()
        ));
    }
    let end = if text.starts_with('[') { text.find(']').ok_or_else(wrong)? + 1 } else { 0 };
    let (name, port) = match text[end..].find(':') {
        Some(at) => (&text[..end + at], Some(&text[end + at + 1..])),
        None => (text, None),
    };
    if let Some(port) = port
        && (port.starts_with('0')
            || !port.bytes().all(|b| b.is_ascii_digit())
            || port.parse::<u16>().is_err())
    {
        return Err(format!("`{port}` is not a port number between 1 and 65535"));
    }
    let parsed = Url::parse(&format!("https://{name}/")).map_err(|error| format!("{}: {error}", wrong()))?;
    match parsed.host() {
        Some(Host::Domain(domain))
            if domain.eq_ignore_ascii_case(name) && domain.split('.').all(is_label) =>
        {
            Ok(())
        }
        // Rejects alternative spellings of an address, such as `0x7f.1` and `010.0.0.1`.
        Some(Host::Ipv4(address)) if address.to_string() == name => Ok(()),
        Some(Host::Ipv6(_)) => Ok(()),
        _ => Err(wrong()),
    }
}

fn is_label(label: &str) -> bool {
    let inside = |c: char| c.is_ascii_alphanumeric() || c == '-';
    !label.is_empty()
        && label.len() <= 63
        && label.chars().all(inside)
        && !label.starts_with('-')
        && !label.ends_with('-')
}

fn check_path(path: &str) -> Result<(), String> {
    let lower = path.to_ascii_lowercase().replace("%2e", ".");
    if lower.split('/').any(|part| matches!(part, "." | "..")) {
        return Err("its path contains `.` or `..`".to_owned());
    }
    if path.trim_end_matches('/').contains("//") || path.ends_with("//") {
        return Err("its path has an empty part".to_owned());
    }
    let escape = |rest: &str| rest.len() >= 2 && rest.bytes().take(2).all(|byte| byte.is_ascii_hexdigit());
    if path.split('%').skip(1).any(|rest| !escape(rest)) || lower.contains("%00") || lower.contains("%2f") {
        return Err("its path has a `%` that does not encode an allowed character".to_owned());
    }
    if let Some(found) = path.chars().find(|c| !c.is_ascii()) {
        return Err(format!("its path contains `{found}`: percent-encode it"));
    }
    Ok(())
}

/// Validates the path of a registry's repository: the rules of the distribution specification, without a tag.
fn check_repository(path: &str) -> Result<(), String> {
    let path = path.trim_matches('/');
    if path.is_empty() {
        return Ok(());
    }
    if let Some((_, tag)) = path.rsplit('/').next().and_then(|last| last.split_once([':', '@'])) {
        return Err(format!("its path ends in a tag or digest, `{tag}`"));
    }
    if path.split('/').all(is_part) { Ok(()) } else { Err(format!("`{path}` is not a path in a registry")) }
}

/// Reports whether a text is one part of a repository path: letters and digits with single separators between them.
fn is_part(part: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let separators = part.split(plain).filter(|text| !text.is_empty());
    part.starts_with(plain)
        && part.ends_with(plain)
        && separators
            .into_iter()
            .all(|text| matches!(text, "." | "_" | "__") || text.bytes().all(|byte| byte == b'-'))
}

/// Validates the name of a container image: `[host[:port]/]path[:tag][@sha256:digest]`. The error says what is wrong.
pub fn check_image_name(text: &str) -> Result<(), String> {
    let (scheme, rest) = text.split_once("://").unwrap_or(("oci", text));
    if scheme != "oci" {
        return Err(format!("it starts with `{scheme}://`, but must be the name of an image in a registry"));
    }
    let (rest, digest) = rest.split_once('@').map_or((rest, None), |(rest, digest)| (rest, Some(digest)));
    let is_hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    let whole = |digest: &str| {
        digest.strip_prefix("sha256:").is_some_and(|hex| hex.len() == 64 && hex.chars().all(is_hex))
    };
    if digest.is_some_and(|digest| !whole(digest)) {
        return Err("its digest is not `sha256:` followed by 64 hexadecimal digits".to_owned());
    }
    let last = rest.rfind('/').map_or(0, |at| at + 1);
    let (name, tag) = match rest[last..].find(':') {
        Some(at) => (&rest[..last + at], Some(&rest[last + at + 1..])),
        None => (rest, None),
    };
    let is_tag = |tag: &str| {
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        tag.len() <= 128 && tag.starts_with(word) && tag.chars().all(|c| word(c) || ".-".contains(c))
    };
    if let Some(tag) = tag.filter(|tag| !is_tag(tag)) {
        return Err(format!("`{}` is not a tag", tag.escape_debug()));
    }
    let path = match name.split_once('/') {
        // A first part without a dot or a port is a namespace in Docker's own registry.
        Some((host, path)) if host.contains(['.', ':', '[']) || host == "localhost" => {
            check_host(host)?;
            path
        }
        _ => name,
    };
    if path.split('/').all(is_part) {
        Ok(())
    } else {
        Err(format!("`{}` is not a path in a registry", path.escape_debug()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_lead_to_one_place_are_taken() {
        for text in [
            "https://git.example.org/platform/fleet.git",
            "https://git.example.org:8443/a%20b/_git/fleet",
            "ssh://git@git.example.org:2222/fleet.git",
            "http://127.0.0.1:8000/git/fleet.git",
            "http://[fd00::1]:8000/fleet.git",
            "https://Git.Example.org/fleet",
            "http://localhost/x",
            "https://xn--bcher-kva.example.org/x/",
        ] {
            assert_eq!(GIT.check(text), Ok(()), "{text}");
        }
        for text in [
            "oci://registry.example.org/charts/net",
            "oci://registry.example.org:5000",
            "https://charts.example.org/",
            "https://org@pkgs.example.org/helm",
            "https://gitlab.example.org/api/v4/projects/group%2Fproject/packages/helm/stable",
        ] {
            assert_eq!(CHARTS.check(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn addresses_that_do_not_are_refused() {
        for text in [
            "https://",
            "https://host",
            "ssh://git@host/",
            "https:///fleet.git",
            "https://:443/x",
            "https://host:/x",
            "https://host:0/x",
            "https://host:65536/x",
            "https://host:x/",
            "https://host:+1/",
            "https://host:01/",
            "https://[::1/x",
            "https://[::1]x/",
            "https://::1/x",
            "https://[1.2.3.4]/",
            "https://host\n/x",
            "https://host/x\n",
            "https://host/a b",
            "https://host\\x",
            "https://ho\tst/",
            "https://0x7f.1/x",
            "https://1.2.3/x",
            "https://010.0.0.1/x",
            "https://256.1.1.1/x",
            "https://a..b/x",
            "https://-a.b/x",
            "https://a_b.example.org/x",
            "https://g\u{456}thub.com/x",
            "https://\u{ff47}ithub.com/x",
            "https://example.org\u{200b}/x",
            "https://host/../x",
            "https://host/a/%2E%2e/x",
            "https://host/a//x",
            "https://host/x?token=1",
            "https://host/x#main",
            "https://host/%zz",
            "https://host/%2fetc",
            "https://host/\u{e9}",
            "https://a@b@host/x",
            "file:///x",
            "git@host:path",
            "https:/host/x",
            "HTTPS://host/x",
            "https://xn--a/x",
            "https://host%41/x",
        ] {
            assert!(GIT.check(text).is_err(), "{text:?}");
        }
        for text in [
            "oci://registry.example.org/charts:1.0",
            "oci://registry.example.org/charts@sha256:00",
            "oci://registry.example.org/Charts",
            "oci://registry.example.org/a/../b",
            "oci://registry.example.org/a..b",
            "oci://user@registry.example.org/a",
            "ssh://host/charts",
            "oci://[fd00::1/charts",
            "oci://host:99999/charts",
            "oci://host/a%2Fb",
            "https://host/a%2F..%2Fb",
            "https://host/%2Fetc",
            "https://host/a%2f%2fb",
        ] {
            assert!(CHARTS.check(text).is_err(), "{text:?}");
        }
        assert!(IMAGE.check("file:///images/node.qcow2").is_err());
    }

    #[test]
    fn short_addresses_of_git_have_a_long_form() {
        assert_eq!(with_scheme("git@host:a/b.git").as_deref(), Some("ssh://git@host/a/b.git"));
        assert_eq!(with_scheme("git@host:/srv/b.git").as_deref(), Some("ssh://git@host/srv/b.git"));
        for text in ["https://git@host/a", "ssh://git@host/a", "host:path", "a/b@c:d", "git@host", "/srv/a"] {
            assert_eq!(with_scheme(text), None, "{text}");
        }
    }

    #[test]
    fn users_are_names_and_not_tokens() {
        for user in [
            "git",
            "contoso",
            "contoso-platform-engineering-2024",
            "ContosoPlatform2024",
            "alice-at-123456789012",
            "jane.doe%40example.org",
            "team4k8s",
            "svc-k8s-1-35-reader",
        ] {
            assert!(!is_token(user), "{user}");
        }
        for user in [
            &format!("ghp_{}", "a".repeat(36)),
            "glpat-x9Kd2mQ7zR4tB8vN1wY5",
            "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
            "x9Kd2mQ7zR4tB8vN",
            "kvbq2hpr7zylw4nddexcu3j5moaf6gtis3qk2rxyzabcdefghijk",
        ] {
            assert!(is_token(user), "{user}");
        }
    }

    #[test]
    fn names_of_images_are_those_of_registries() {
        let digest = "0".repeat(64);
        for text in [
            "kindest/node:v1.35.8",
            "node",
            "oci://images.example.org/node:v1.36.6",
            "localhost:5000/a/b_c/d--e:x",
            &format!("kindest/node:v1@sha256:{digest}"),
            &format!("r.example.org/a@sha256:{digest}"),
        ] {
            assert_eq!(check_image_name(text), Ok(()), "{text}");
        }
        for text in [
            "",
            "file:///node",
            "https://host/node",
            "a/../b",
            "../node",
            "Node",
            "a:",
            "a:b/c:",
            "a@sha256:00",
            "a\nb",
            "host:99999/x:y",
            "[::1/x",
            "a//b",
            "a/b:-x",
            "g\u{456}thub.com/x",
        ] {
            assert!(check_image_name(text).is_err(), "{text:?}");
        }
    }
}
