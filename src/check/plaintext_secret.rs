//! Secrets in plain sight, in what the tree holds. `unencrypted-secret` looks at what lies beside it.

use super::{Check, Finder, Rule};
use crate::{
    render::Drawn,
    yaml::{Mapping, Node},
};

pub(super) static RULE: Rule = Rule {
    name: "plaintext-secret",
    docs: "The tree would hold a credential that anyone who reads the repository could use: a Secret with data, a private \
           key, a token of a known form, an address with a password in it, or a value under a key such as `password`. \
           Credentials are references: a Secret that SOPS, External Secrets or the like puts there, named with \
           `valuesFrom` or an identity reference. What only looks like one is allowed by the cluster's annotation \
           `stackloom.dev/allow-plaintext-secret: <reason>`.",
    check: Check::Objects(check),
};

/// An annotation of the Cluster, with the reason: what looks like a secret is none.
pub(super) const ALLOW: &str = "stackloom.dev/allow-plaintext-secret";

fn check(drawn: &Drawn, finder: &mut Finder<'_>) {
    let allowed = drawn.objects.iter().any(|object| {
        object.node.get("kind").and_then(Node::as_str) == Some("Cluster") && is_allowed(&object.node)
    });
    if allowed {
        return;
    }
    let drawn_objects = drawn.objects.iter().map(|object| (&*object.source, &object.node));
    for (source, object) in
        drawn_objects.chain(drawn.frozen.iter().map(|object| ("the cluster class", object)))
    {
        for (node, what) in secrets(object) {
            report(source, node, what, finder);
        }
    }
}

/// Whether an object says, with a reason, that what looks like a secret in it is none.
pub(super) fn is_allowed(object: &Node) -> bool {
    let reason = object.at(&["metadata", "annotations", ALLOW]).and_then(Node::as_str);
    reason.is_some_and(|reason| !reason.trim().is_empty())
}

/// What in an object is a secret in plain sight, or looks like one.
pub(super) fn secrets(object: &Node) -> Vec<(&Node, &'static str)> {
    let mut found = Vec::new();
    let is_secret = object.get("kind").and_then(Node::as_str) == Some("Secret");
    let encrypted = object.get("sops").is_some();
    let data = ["data", "stringData"].into_iter().filter_map(|key| object.get(key)?.as_mapping());
    let mut values = data.flat_map(Mapping::iter).map(|entry| &entry.value).peekable();
    if is_secret && !encrypted && values.peek().is_some() {
        found.push((object, "a Secret with its content"));
    } else if is_secret && encrypted {
        let plain = values
            .filter(|value| value.as_str().is_some_and(|text| !text.is_empty() && !text.starts_with("ENC[")));
        found.extend(plain.map(|value| (value, "a value of a Secret that SOPS did not encrypt")));
    }
    walk("", object, &mut found);
    found
}

fn walk<'a>(key: &str, node: &'a Node, found: &mut Vec<(&'a Node, &'static str)>) {
    let number = node.as_int().map(|number| number.to_string());
    if let Some(what) = node.as_str().or(number.as_deref()).and_then(|text| looks_like(key, text)) {
        found.push((node, what));
    }
    // In an ExternalSecret `secretKey` names a key, and what is beside it says where the secret comes from.
    let reference = node.get("remoteRef").is_some();
    for entry in node.as_mapping().into_iter().flat_map(Mapping::iter) {
        if !(reference && &*entry.key.name == "secretKey") {
            walk(&entry.key.name, &entry.value, found);
        }
    }
    for item in node.as_sequence().into_iter().flatten() {
        walk(key, item, found);
        // A variable or an environment entry: its name says what its value is.
        let (Some(name), Some(value)) = (item.get("name").and_then(Node::as_str), item.get("value")) else {
            continue;
        };
        let number = value.as_int().map(|number| number.to_string());
        if value.as_str().or(number.as_deref()).is_some_and(|text| is_credential(name, text)) {
            found.push((value, "a credential"));
        }
    }
}

fn report(source: &str, node: &Node, what: &str, finder: &mut Finder<'_>) {
    let place = finder.place(node, source);
    // The message must not carry the secret on: the place is shown without its line.
    let place = crate::note::Place { source: String::new(), ..place };
    finder
        .notes
        .error("plaintext-secret", place, format!("this looks like {what}, and the tree is read by many"))
        .hint("put it into a Secret that SOPS or External Secrets makes (for example in the cluster's `.d` folder), and name that")
        .hint(format!("if it is none, say so with the cluster's annotation `{ALLOW}: <reason>`"));
}

/// What a text looks like, by its form or by its key.
fn looks_like(key: &str, text: &str) -> Option<&'static str> {
    const SHORTEST: usize = 20;
    const FORMS: [(&str, usize, &str); 7] = [
        ("AKIA", 20, "an access key of AWS"),
        ("ghp_", 40, "a token of GitHub"),
        ("github_pat_", 40, "a token of GitHub"),
        ("glpat-", 20, "a token of GitLab"),
        ("xoxb-", 20, "a token of Slack"),
        ("eyJhbGciOi", 60, "a JSON web token"),
        ("AGE-SECRET-KEY-1", 60, "a key of age"),
    ];
    if text.contains("PRIVATE KEY-----") {
        return Some("a private key");
    }
    if has_password(text) {
        return Some("an address with a password in it");
    }
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')));
    let words: Vec<&str> = words.filter(|word| word.len() >= SHORTEST).collect();
    let token = |(prefix, length, what): &(&str, usize, &'static str)| {
        words.iter().any(|word| word.starts_with(prefix) && word.len() >= *length).then_some(*what)
    };
    let own = FORMS.iter().find_map(token).or_else(|| is_credential(key, text).then_some("a credential"));
    let assigns = || text.contains(['\n', '=']);
    own.or_else(|| assigns().then(|| text.lines().find_map(|line| in_line(line.trim()))).flatten())
}

/// What a line of a text assigns: `key=value`, `key: value`, `--key=value`.
pub(super) fn in_line(line: &str) -> Option<&'static str> {
    let line = line.trim_start_matches("- ");
    let at = line.find(['=', ':'])?;
    let key = line[..at].trim().trim_start_matches('-').trim_matches(['"', '\'']);
    let plain =
        !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
    let value = line[at + 1..].trim();
    let value =
        value.split(" #").next().unwrap_or(value).trim().trim_end_matches(',').trim_matches(['"', '\'']);
    let last = key.rsplit('.').next().unwrap_or(key);
    // What reads or is computed is no literal.
    let literal = !value.contains(['(', '<', '>', '%', '`']) && !value.contains("://");
    (plain && literal && is_credential(last, value)).then_some("a credential")
}

/// Whether an address in a text carries `user:password@`, written out.
fn has_password(text: &str) -> bool {
    text.split("://").skip(1).any(|rest| {
        let authority = rest.split(|c: char| c.is_whitespace() || "/?#\"'`<>".contains(c)).next();
        let user = authority.and_then(|authority| authority.rsplit_once('@')).map(|(user, _)| user);
        let password = user.and_then(|user| user.split_once(':')).map(|(_, password)| password);
        password.is_some_and(|password| !password.is_empty() && !password.contains(['$', '{']))
    })
}

/// A literal value under a key that says it is a credential, on one line, pass phrases with blanks included; references,
/// placeholders and switches are none.
fn is_credential(key: &str, text: &str) -> bool {
    const ENDS: [&str; 8] = [
        "password",
        "passwd",
        "secretkey",
        "secretaccesskey",
        "clientsecret",
        "accesstoken",
        "apitoken",
        "apikey",
    ];
    let whole = text.trim();
    // Most texts end here, before anything is made of their keys.
    if whole.len() < 6 || whole.contains('\n') {
        return false;
    }
    let key = key.to_ascii_lowercase().replace(['-', '_'], "");
    let named = ENDS.iter().any(|end| key.ends_with(end)) || key == "token";
    let literal = !text.is_empty()
        && !text.contains("{{")
        && !text.contains("${")
        && !text.starts_with("ENC[")
        && !text.starts_with('$');
    named && literal
}

#[cfg(test)]
mod tests {
    use super::looks_like;

    #[test]
    fn credentials_are_told_from_references() {
        assert!(looks_like("adminPassword", "hunter2hunter2").is_some());
        assert!(looks_like("adminPassword", "48151623").is_some());
        assert!(looks_like("rootPassword", "correct horse battery staple").is_some());
        assert!(looks_like("data", "-----BEGIN RSA PRIVATE KEY-----\nx").is_some());
        assert!(looks_like("x", "key AKIAABCDEFGHIJKLMNOP").is_some());
        assert!(looks_like("x", &format!("ghp_{}", "a".repeat(36))).is_some());
        assert!(looks_like("mirror", "see https://user:hunter2@registry.example.org/v2").is_some());
        assert!(looks_like("mirror", "https://registry.example.org:5000/a:b@sha256:00").is_none());
        assert!(looks_like("mirror", "https://user:${PASSWORD}@registry.example.org").is_none());
        assert!(looks_like("git", "ssh://git@git.example.org:22/fleet.git").is_none());
        assert!(looks_like("cloud.conf", "[Global]\npassword = hunter2hunter2\n").is_some());
        assert!(looks_like("clouds.yaml", "auth:\n  password: \"hunter2hunter2\"\n").is_some());
        assert!(looks_like("args", "--client-secret=0123456789").is_some());
        assert!(looks_like("credentials", "aws_secret_access_key=wJalrXUtnFEMI\n").is_some());
        assert!(looks_like("script", "password=$(cat /run/secret)\nexport X\n").is_none());
        assert!(looks_like("script", "password: {{ .password }}\nx: y\n").is_none());
        assert!(looks_like("text", "the password: ask your administrator").is_none());
        assert!(looks_like("file", "passwordAuthentication=no\npassword=<unset>\n").is_none());
        assert!(looks_like("adminPassword", "${PASSWORD}").is_none());
        assert!(looks_like("adminPassword", "{{ .password }}").is_none());
        assert!(looks_like("existingSecret", "cloud-config").is_none());
        assert!(looks_like("tokenTTL", "24h0m0s").is_none());
    }
}
