//! Finds text that looks like a secret: by its key ([`keys`], and [`lines`] within a line), by its form ([`patterns`], with the rules of gitleaks), by its
//! decoded content, and by the object that contains it ([`tree`]).
//!
//! Nothing is reported here. The rules of `check` report findings, with a place whose line is masked ([`report`]).

mod allow;
mod arguments;
mod clean_texts;
mod commands;
mod embedded;
mod files;
mod hide;
mod keys;
mod lines;
mod literal;
mod ordinary;
mod patterns;
mod report;
#[cfg(test)]
mod samples;
mod translations;
mod tree;

use std::collections::{BTreeMap, BTreeSet};

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD},
};

use embedded::{Objects, in_structure};

pub(super) use allow::{
    AllowanceCache, CHANGING_FIELDS, FLEET, KIND, KUSTOMIZE_FIELD, allowed, faults as allowance_faults,
    is_name,
};
pub(super) use files::{Spot, in_file};
pub use hide::{without_secret, without_secrets};
pub(super) use literal::{is_encrypted, is_encrypted_file};
pub(super) use report::{is_allowed, tell, tell_node};
pub(super) use tree::{OBJECT, Tree, in_object};

/// The maximum number of nested encodings.
const DEPTH: usize = 3;
/// The content of `auth` in a docker configuration.
const PAIR: &str = "a user name and password in base64";
const PAIR_NAME: &str = "docker-auth";
/// An HTTP header with a credential.
const HEADER: &str = "a header that logs in";
/// Markers of the first line of a private key.
const KEYS: [&str; 4] =
    ["PRIVATE KEY-----", "PRIVATE KEY BLOCK-----", "PuTTY-User-Key-File", "BEGIN OpenVPN Static key"];
/// Shorter texts can be credentials only by their keys.
const SHORT: usize = 8;
/// The maximum number of findings of one name in a text. One is enough to refuse the text.
const MOST: usize = 100;
/// The minimum length of a word to be decoded.
const ENCODED: usize = 24;
/// The minimum length of a token that is recognized by its prefix.
const SHORTEST_FORM: usize = 20;
/// The end of the names of HTTP headers that log in, in lower case.
const HEADER_KEY: &str = "authorization";
/// Parts of lines with such a header, or with its value alone.
const HEADER_WORDS: [&str; 3] = ["uthorization", "AUTHORIZATION", "asic "];

/// Text that looks like a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// The name for allowing it.
    pub(super) name: &'static str,
    /// What it looks like.
    pub(super) what: String,
    /// Whether this description says that it is in base64.
    pub(super) is_encoded: bool,
    /// The line of the text, counted from 0.
    pub(super) line: usize,
}

impl Found {
    pub(super) fn new(name: &'static str, what: impl Into<String>, line: usize) -> Self {
        Self { name, what: what.into(), is_encoded: name == PAIR_NAME, line }
    }
}

/// The location of a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct At<'a> {
    /// Its file.
    pub(super) path: &'a str,
    /// The parent of its key.
    pub(super) parent: &'a str,
    pub(super) key: &'a str,
}

/// Names of findings in addition to those of the rule set.
pub(super) const OWN: [&str; 10] = [
    "aws-access-token",
    "credential",
    "docker-auth",
    "key-file",
    "outside-file",
    "password-in-address",
    "private-key",
    "secret-object",
    UNREADABLE,
    "unencrypted-value",
];
/// The name of a finding for a file that is not text.
pub(super) const UNREADABLE: &str = "unreadable-file";

/// Finds what looks like a secret in a text, at most once per line. `depth` counts the texts around it.
fn in_text(at: At<'_>, text: &str, objects: Objects, depth: usize) -> Vec<Found> {
    if ordinary::is_ordinary(at, text) || clean_texts::is_known(at, text, objects) {
        return Vec::new();
    }
    let mut found = Vec::new();
    look(at, text, depth, &mut found);
    found.extend(in_structure(at, text, objects, depth));
    // What is not searched for at this depth may be found nearer to the root.
    if found.is_empty() && depth == 0 {
        clean_texts::learn(at, text, objects);
    }
    found.sort_by_key(|one| one.line);
    found.dedup_by_key(|one| one.line);
    limited(found)
}

/// Keeps the first findings of each name. Each is located in its text, which takes the longer, the more lines come before.
fn limited(mut found: Vec<Found>) -> Vec<Found> {
    let mut kept: BTreeMap<&str, usize> = BTreeMap::new();
    found.retain(|one| {
        let count = kept.entry(one.name).or_default();
        *count += 1;
        *count <= MOST
    });
    found
}

fn look(at: At<'_>, text: &str, depth: usize, found: &mut Vec<Found>) {
    if literal::is_encrypted(text) || is_label(at, text) {
        return;
    }
    let mut add = |name, what: &str, line| found.push(Found::new(name, what, line));
    if keys::is_credential(at.key, text) || at.key == "value" && keys::is_credential(at.parent, text) {
        return add("credential", "a credential", 0);
    }
    if is_auth(at.key) && is_pair(text) {
        return add(PAIR_NAME, PAIR, 0);
    }
    let header = at.key.to_ascii_lowercase().ends_with(HEADER_KEY);
    if header && lines::logs_in(&format!("authorization: {text}")) {
        return add("credential", HEADER, 0);
    }
    if text.len() < SHORT {
        return;
    }
    if is_name_like(text) {
        if let Some((name, what)) = by_form(text) {
            add(name, what, 0);
        }
    } else {
        by_lines(at, text, found);
    }
    by_rules(at, text, found);
    if depth < DEPTH {
        decoded(at, text, depth, found);
    }
}

/// Whether a text is a label in a file of translations.
fn is_label(at: At<'_>, text: &str) -> bool {
    !at.key.is_empty() && translations::is_translation(at.path) && translations::is_label(text)
}

/// Whether a text is made like most names in Kubernetes. It assigns nothing and contains no address and no key; only tokens
/// can look like this.
fn is_name_like(text: &str) -> bool {
    let mut before = b' ';
    text.bytes().all(|byte| {
        let is_double = byte == b'-' && before == b'-';
        before = byte;
        matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'/') && !is_double
    })
}

/// Looks at each line of a text.
fn by_lines(at: At<'_>, text: &str, found: &mut Vec<Found>) {
    let mut add = |name, what: &str, line| found.push(Found::new(name, what, line));
    let begins = text.contains("-----BEGIN ");
    let hands_over = || commands::WORDS.iter().any(|word| text.contains(word));
    let assigns = text.contains(['\n', '=', '{']) || hands_over();
    let named = keys_of_references(text);
    let is_translation = [at.path, at.key].into_iter().any(translations::is_translation);
    for (number, line) in text.lines().enumerate() {
        if named.contains(&number) || is_translation && lines::is_label(line) {
            continue;
        }
        if KEYS.iter().any(|mark| line.contains(mark)) && !(begins && line.contains("-----END ")) {
            add("private-key", "a private key", number);
        } else if has_password(line) {
            add("password-in-address", "an address that contains a password", number);
        } else if let Some((name, what)) = by_form(line) {
            add(name, what, number);
        } else if line.contains("auth")
            && lines::pieces(line).any(|(key, value)| is_auth(key) && is_pair(value))
        {
            add(PAIR_NAME, PAIR, number);
        } else if HEADER_WORDS.iter().any(|word| line.contains(word)) && lines::logs_in(line) {
            add("credential", HEADER, number);
        } else if assigns && lines::assigns(line) || lines::assigns_in_prose(line) {
            add("credential", "a credential", number);
        }
    }
    let password = |line| Found::new("credential", "a password", line);
    found.extend(commands::of_files(text).map(password));
}

/// The lines of an `ExternalSecret` in which `secretKey` contains the name of a key: `remoteRef` stands beside it.
fn keys_of_references(text: &str) -> BTreeSet<usize> {
    /// The maximum number of lines of a `remoteRef`: its key, property, version and three policies.
    const REFERENCE: usize = 7;
    let lines_with = |key: &str| {
        let is_key = |line: &str| line.trim_start_matches([' ', '-']).starts_with(key);
        text.lines()
            .enumerate()
            .filter(|(_, line)| is_key(line))
            .map(|(number, _)| number)
            .collect::<BTreeSet<_>>()
    };
    if !text.contains("remoteRef:") {
        return BTreeSet::new();
    }
    let references = lines_with("remoteRef:");
    let is_beside = |at: &usize| references.range(at.saturating_sub(REFERENCE)..=at + 1).next().is_some();
    lines_with("secretKey:").into_iter().filter(is_beside).collect()
}

/// Whether this is the key for user and password in a docker configuration, or that of npm.
fn is_auth(key: &str) -> bool {
    matches!(key, "auth" | "_auth")
}

/// What precedes a text in a file: its key, and that of its parent.
fn prefix(at: At<'_>) -> [&str; 4] {
    match (at.parent, at.key) {
        (_, "") => ["", "", "", ""],
        ("", key) => ["", "", key, ": "],
        (parent, key) => [parent, ".", key, ": "],
    }
}

/// Applies the scanner's rules to a text, prefixed with its keys as in a file.
fn by_rules(at: At<'_>, text: &str, found: &mut Vec<Found>) {
    let [parent, dot, key, colon] = prefix(at);
    let whole = [parent, dot, key, colon, text].concat();
    let prefix = whole.len() - text.len();
    let (mut counted, mut line) = (0, 0);
    for hit in patterns::scan(at.path, &whole) {
        let start = text.floor_char_boundary(hit.start.saturating_sub(prefix));
        // Hits are in order, so each line is counted once.
        line += text[counted..start].matches('\n').count();
        counted = start;
        // The generic rule only looks at keys, and many Kubernetes keys contain the name of a Secret rather than its
        // content.
        let is_named = line == 0 && hit.rule == patterns::GENERIC && keys::is_reference(at.parent, at.key);
        if is_named || is_public(hit, &whole) {
            continue;
        }
        found.push(Found::new(hit.rule, format!("a secret (`{}`)", hit.rule), line));
    }
}

/// Whether a rule of the scanner found a digest, the name of a key, or a login with variables, none of which is a secret.
fn is_public(hit: patterns::Hit, text: &str) -> bool {
    let (Some(before), Some(secret)) = (text.get(..hit.start), text.get(hit.start..hit.end)) else {
        return false;
    };
    let before = before.trim_end_matches([' ', '"', '\'', ':', '=']);
    match hit.rule {
        patterns::GENERIC => {
            secret.starts_with("sha256:")
                || ["sha256", "kid"].iter().any(|key| before.ends_with(key))
                || is_checksum(before, secret)
        }
        _ if secret.starts_with('<') && secret.trim_end_matches(['"', '\'']).ends_with('>') => true,
        "curl-auth-user" => secret
            .split_once(':')
            .is_some_and(|(_, password)| !literal::is_literal(password.trim_matches(['"', '\'']))),
        _ => false,
    }
}

/// Whether a value is the digest of something other than a password: `checksum/secret: 01ba47…`, as charts write it.
fn is_checksum(before: &str, value: &str) -> bool {
    let key = before.rsplit(|c: char| !(lines::is_of_key(c) || c == '/')).next().unwrap_or_default();
    let key = key.to_ascii_lowercase();
    let is_hash = ["hash", "digest"].iter().any(|end| key.ends_with(end)) && !key.contains("pass");
    let is_named = is_hash || key.split(['/', '.', '-', '_']).any(|part| part == "checksum");
    is_named && value.len() >= 32 && value.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Finds secrets in text encoded in base64, as a whole or word by word.
fn decoded(at: At<'_>, text: &str, depth: usize, found: &mut Vec<Found>) {
    let mut inside = |word: &str, line: usize| {
        let Some(bytes) = decode(word) else { return };
        let inner = match String::from_utf8(bytes) {
            Ok(inner) => {
                let mut inner_found = Vec::new();
                let at = At { key: "", parent: "", ..at };
                look(at, &inner, depth + 1, &mut inner_found);
                inner_found.extend(in_structure(at, &inner, Objects::Unchecked, depth + 1));
                inner_found.into_iter().next()
            }
            Err(error) => is_key(error.as_bytes()).then(|| Found::new("private-key", "a private key", 0)),
        };
        if let Some(inner) = inner {
            let what = if inner.is_encoded { inner.what } else { format!("{} in base64", inner.what) };
            found.push(Found { what, is_encoded: true, line, ..inner });
        }
    };
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '-' | '_');
    if text.trim_end().contains('\n') && text.chars().all(|c| is_word(c) || c == '=' || c.is_whitespace()) {
        let whole: String = text.split_whitespace().collect();
        return inside(&whole, 0);
    }
    for (number, line) in text.lines().enumerate() {
        for word in line.split(|c| !is_word(c)).filter(|word| word.len() >= ENCODED) {
            inside(word, number);
        }
    }
}

fn decode(word: &str) -> Option<Vec<u8>> {
    let word = word.trim_end_matches('=');
    let engine = if word.contains(['-', '_']) { URL_SAFE_NO_PAD } else { STANDARD_NO_PAD };
    engine.decode(word).ok()
}

/// Whether bytes begin like a DER private key: a sequence that begins with its version (RFC 5208, 8017, 5915).
fn is_key(bytes: &[u8]) -> bool {
    matches!(
        bytes,
        [0x30, 0x82, _, _, 0x02, 0x01, 0x00, 0x02 | 0x30, ..] | [0x30, 0x81, _, 0x02, 0x01, 0x00 | 0x01, ..]
    ) || matches!(bytes, [0x30, _, 0x02, 0x01, 0x00 | 0x01, 0x04 | 0x30, ..])
}

/// Whether a text is a base64-encoded `user:password`.
fn is_pair(text: &str) -> bool {
    let decoded = decode(text.trim()).and_then(|bytes| String::from_utf8(bytes).ok());
    decoded.is_some_and(|pair| pair.split_once(':').is_some_and(|(_, password)| !password.is_empty()))
}

/// Prefixes of tokens, with their minimum lengths, names and descriptions.
const FORMS: [(&str, usize, &str, &str); 7] = [
    ("AKIA", 20, "aws-access-token", "an AWS access key"),
    ("ghp_", 40, "github-pat", "a GitHub token"),
    ("github_pat_", 40, "github-fine-grained-pat", "a GitHub token"),
    ("glpat-", 20, "gitlab-pat", "a GitLab token"),
    ("xoxb-", 20, "slack-bot-token", "a Slack token"),
    ("eyJhbGciOi", 60, "jwt", "a JSON web token"),
    ("AGE-SECRET-KEY-1", 60, "age-secret-key", "an age key"),
];

/// Whether only the scanner's rule set finds this. Some releases were cut before stackloom used the rule set.
pub(super) fn is_of_rules_alone(name: &str) -> bool {
    !OWN.contains(&name) && !FORMS.iter().any(|(_, _, form, _)| *form == name)
}

/// Recognizes tokens by their prefixes, whatever their entropy.
fn by_form(text: &str) -> Option<(&'static str, &'static str)> {
    if is_of_bot(text) {
        return Some(("telegram-bot-api-token", "a Telegram bot token"));
    }
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')));
    words.filter(|word| word.len() >= SHORTEST_FORM).find_map(|word| {
        let form =
            FORMS.iter().find(|(prefix, length, ..)| word.starts_with(prefix) && word.len() >= *length);
        form.map(|(.., name, what)| (*name, *what))
    })
}

/// Whether a text contains a Telegram token: a number and a key. The scanner's rule requires the name of the service nearby.
fn is_of_bot(text: &str) -> bool {
    text.match_indices(":A").any(|(at, _)| {
        let digits = text[..at].bytes().rev().take_while(u8::is_ascii_digit).count();
        let word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        (8..=16).contains(&digits) && text[at + 1..].bytes().take_while(word).count() >= 34
    })
}

/// Whether a URL in a text contains a plain `user:password@`.
fn has_password(text: &str) -> bool {
    text.split("://").skip(1).any(|rest| {
        let authority = rest.split(|c: char| c.is_whitespace() || "/?#\"'`<>".contains(c)).next();
        let login = authority.and_then(|authority| authority.rsplit_once('@')).map(|(login, _)| login);
        login.and_then(|login| login.split_once(':')).is_some_and(|(user, password)| {
            let user = user.trim_matches(|c: char| !c.is_ascii_alphanumeric());
            let is_example = EXAMPLES.iter().any(|[one, other]| *one == user && *other == password);
            let is_placeholder = password.starts_with('{') || !literal::is_literal_in_line(password);
            !password.is_empty() && !is_example && !is_placeholder && literal::is_literal(password)
        })
    })
}

/// Users and passwords that only show the form of an address.
const EXAMPLES: [[&str; 2]; 5] = [
    ["login", "password"],
    ["user", "pass"],
    ["user", "password"],
    ["username", "password"],
    ["USER", "PASSWORD"],
];

/// Finds what looks like a secret in a comment.
pub(super) fn in_comment(path: &str, text: &str) -> Vec<Found> {
    in_text(At { path, parent: "", key: "" }, text, Objects::Unchecked, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(key: &str, text: &str) -> Option<&'static str> {
        let at = At { path: "a.yaml", parent: "", key };
        in_text(at, text, Objects::Unchecked, 0).first().map(|one| one.name)
    }

    #[test]
    fn credentials_are_told_from_references() {
        assert!(found("adminPassword", "hunter2hunter2").is_some());
        assert!(found("adminPassword", "48151623").is_some());
        assert!(found("rootPassword", "correct horse battery staple").is_some());
        assert!(found("data", "-----BEGIN RSA PRIVATE KEY-----\nx").is_some());
        assert!(found("x", "key AKIAABCDEFGHIJKLMNOP").is_some());
        assert!(found("x", &format!("ghp_{}", "a".repeat(36))).is_some());
        assert!(found("mirror", "see https://user:hunter2@registry.example.org/v2").is_some());
        assert!(found("mirror", "https://registry.example.org:5000/a:b@sha256:00").is_none());
        assert!(found("mirror", "https://user:${PASSWORD}@registry.example.org").is_none());
        assert!(found("text", "the form is postgresql://login:password@hostname:port/name").is_none());
        assert!(found("text", "mongodb://admin:password@hostname").is_some());
        assert!(found("git", "ssh://git@git.example.org:22/fleet.git").is_none());
        assert!(found("cloud.conf", "[Global]\npassword = hunter2hunter2\n").is_some());
        assert!(found("clouds.yaml", "auth:\n  password: \"hunter2hunter2\"\n").is_some());
        assert!(found("args", "--client-secret=0123456789").is_some());
        assert!(found("Authorization", "Bearer 0123456789abcdef0123").is_some());
        assert!(found("mode", "Bearer 0123456789abcdef0123").is_none());
        assert!(found("credentials", "aws_secret_access_key=wJalrXUtnFEMI\n").is_some());
        assert!(found("script", "password=$(cat /run/secret)\nexport X\n").is_none());
        assert!(found("script", "password: {{ .password }}\nx: y\n").is_none());
        assert!(found("text", "the password: ask your administrator").is_none());
        let pair = STANDARD_NO_PAD.encode(format!("AWS:{}", "token".repeat(400)));
        assert!(
            found("config", &format!("{{\"auths\": {{\"a.example.org\": {{\"auth\": \"{pair}\"}}}}}}"))
                .is_some()
        );
        assert!(found("psk", "S3cr3tx9Q").is_some());
        assert!(found("ADMIN_PW", "S3cr3tx9Q!").is_some());
        assert!(found("passwords", "S3cr3tx9Q").is_some());
        assert!(found("netrc", "machine api.example.org login deploy password S3cr3tx9Q").is_some());
        assert!(found("netrc", "machine api.example.org\n  login deploy\n  password S3cr3tx9Q\n").is_some());
        assert!(found("netrc", "machine api.example.org\n  login deploy\n  password ${TOKEN}\n").is_none());
        assert!(found("run", "docker login -u a -p S3cr3tx9Q ghcr.io").is_some());
        assert!(found("run", "sshpass -p S3cr3tx9Q ssh host").is_some());
        let below = At { path: "a.yaml", parent: "password", key: "value" };
        assert!(!in_text(below, "S3cr3tx9Q", Objects::Unchecked, 0).is_empty());
        assert!(found("file", "passwordAuthentication=no\npassword=<unset>\n").is_none());
        assert!(found("adminPassword", "${PASSWORD}").is_none());
        assert!(found("adminPassword", "{{ .password }}").is_none());
        assert!(found("existingSecret", "cloud-config").is_none());
        let keys = "data:\n- secretKey: password\n  remoteRef: {key: db}\n- remoteRef:\n    key: db\n  secretKey: tls.key\n";
        assert!(found("es.yaml", keys).is_none());
        assert!(found("es.yaml", &format!("{keys}{}secretKey: minioadmin\n", "# a\n".repeat(8))).is_some());
        assert!(found("tokenTTL", "24h0m0s").is_none());
    }

    /// The shortcut for names finds what the rules for lines find.
    #[test]
    fn names_need_no_lines() {
        let form = |text: &str| by_form(text).map(|(name, _)| name);
        let by_lines = |text: &str| {
            let mut found = Vec::new();
            super::by_lines(At { path: "a.yaml", parent: "", key: "" }, text, &mut found);
            found.first().map(|one| one.name)
        };
        proptest::proptest!(|(text in "[a-z0-9./-]{0,60}|(xoxb-|glpat-|auth|password|-p |chpasswd|login)[a-z0-9./-]{0,60}")| {
            if is_name_like(&text) {
                proptest::prop_assert_eq!(form(&text), by_lines(&text));
            }
        });
        assert!(is_name_like("team-a/c-1.example.org"));
        assert!(!is_name_like("--password") && !is_name_like("a: b") && !is_name_like("a=b"));
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        use base64::engine::general_purpose::STANDARD;
        let key = STANDARD.encode("-----BEGIN PRIVATE KEY-----\nMIIEvQ\n-----END PRIVATE KEY-----\n");
        assert_eq!(found("ca", &key), Some("private-key"));
        assert_eq!(found("ca", &STANDARD.encode(&key)), Some("private-key"));
        let wrapped: Vec<_> = key.as_bytes().chunks(20).map(|part| String::from_utf8_lossy(part)).collect();
        assert_eq!(found("ca", &wrapped.join("\n")), Some("private-key"));
        assert_eq!(found("script", &format!("echo {key} | base64 -d > /key")), Some("private-key"));
        assert_eq!(found("auth", &STANDARD.encode("user:hunter2")), Some("docker-auth"));
        let config = format!("{{\"auths\":{{\"r\":{{\"auth\":\"{}\"}}}}}}", STANDARD.encode("user:hunter2"));
        assert_eq!(found("config.json", &config), Some("docker-auth"));
        assert_eq!(found("config", &STANDARD.encode(&config)), Some("docker-auth"));
        assert_eq!(found("digest", &"0123456789abcdef".repeat(4)), None);
        let certificate = STANDARD.encode("-----BEGIN CERTIFICATE-----\nMIIEvQ\n-----END CERTIFICATE-----\n");
        assert_eq!(found("certificate-authority-data", &certificate), None);
    }
}
