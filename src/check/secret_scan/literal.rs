//! Tells literal credentials from references, placeholders, calls and encrypted values.

use super::{decode, keys::names_credential};

/// Prefixes of references that another program resolves: the bank-vaults webhook, vals, Argo CD's vault plugin, 1Password,
/// key management services, files and environment variables.
const REFERENCES: [&str; 16] = [
    "<path:",
    ">>vault:",
    "alias/",
    "arn:aws",
    "awskms:",
    "azurekms:",
    "env:",
    "file:/",
    "gcpkms:",
    "hashivault:",
    "kms/",
    "op://",
    "projects/",
    "ref+",
    "secretref+",
    "vault:",
];
/// Begin and end of what another program replaces: templates, variables and substituted commands. Of two beginnings at one
/// place, the first here counts.
const HOLES: [(&str, &str); 4] = [("${{", "}}"), ("{{", "}}"), ("${", "}"), ("$(", ")")];
/// The minimum length of a literal beside a hole. Shorter ones are names and separators.
const BESIDE_HOLES: usize = 10;
/// The lengths in bytes of what SOPS writes beside a value: at least that of the initialization vector of AES-GCM (SOPS
/// takes 32), and that of the tag.
const IV: usize = 12;
const TAG: usize = 16;

/// Whether a value is a literal: references and encrypted values are not plaintext credentials.
pub(super) fn is_literal(text: &str) -> bool {
    let text = text.trim();
    let filled_in = without_holes(text).or_else(|| after_variable(text).map(str::to_owned));
    filled_in.is_none_or(|rest| holds_literal(&rest))
        && !is_hash(text)
        && !is_encrypted(text)
        && !is_store_reference(text)
        && !is_path(text.strip_prefix('@').unwrap_or(text))
        && !is_marked(text)
        && !is_address(text)
}

/// Whether a value marks what another program replaces: `%PASSWORD%`, `%(password)s`, `%{env:PASSWORD}`, `!secret name`.
fn is_marked(text: &str) -> bool {
    let inside = |begin: char, end: &str| text.strip_prefix(begin).and_then(|rest| rest.strip_suffix(end));
    inside('%', "%").is_some_and(|name| !name.is_empty() && name.chars().all(is_of_variable))
        || text.starts_with("%(") && text.ends_with(")s")
        || text.starts_with("%{") && text.ends_with('}')
        || text.starts_with("AVP<") && text.ends_with('>')
        || is_placeholder(text)
        || text.strip_prefix('!').is_some_and(|rest| {
            let mut words = rest.split(' ');
            // Of ansible-vault, whose encrypted text follows.
            if rest == "vault" {
                return true;
            }
            let tag = words.next().is_some_and(|word| word.bytes().all(|byte| byte.is_ascii_lowercase()));
            tag && words.next().is_some_and(|name| !name.is_empty()) && words.next().is_none()
        })
}

/// Whether a value is a word in angle brackets that people replace: `<token>`, `<your access token>`.
fn is_placeholder(text: &str) -> bool {
    let inside = text.strip_prefix('<').and_then(|rest| rest.split_once('>'));
    inside.is_some_and(|(name, rest)| {
        let is_name = |c: char| c.is_ascii_alphabetic() || matches!(c, ' ' | '-' | '_' | '.');
        !name.is_empty() && name.chars().all(is_name) && (rest.is_empty() || rest.starts_with(['"', '\'']))
    })
}

/// Whether a value is an address, and so says where a credential is. `ref+echo://` of vals has the value itself.
fn is_address(value: &str) -> bool {
    value.split_once("://").is_some_and(|(scheme, _)| {
        let is_of_scheme = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "+.-".contains(c);
        scheme.starts_with(|c: char| c.is_ascii_lowercase())
            && scheme.chars().all(is_of_scheme)
            && !scheme.ends_with("ref+echo")
    })
}

/// Whether a value within a line is a literal; calls, placeholders and URLs are not.
pub(super) fn is_literal_in_line(value: &str) -> bool {
    let is_call = || {
        let index =
            value.split_once('[').filter(|(_, rest)| rest.is_empty() || rest.starts_with(['"', '\'']));
        let is_index = index.is_some_and(|(name, _)| !name.is_empty() && name.chars().all(is_of_path));
        is_index
            || value.split_once('(').is_some_and(|(name, rest)| {
                let named = name.chars().all(is_of_path);
                named && (rest.is_empty() || rest.ends_with([')', '(']))
            })
    };
    let is_placeholder = || {
        value.starts_with(['<', '>', '`'])
            || ["%s", "%v", "%(", "%{"].iter().any(|begin| value.starts_with(begin))
            || value.len() > 2 && value.starts_with('%') && value.ends_with('%')
            || value.ends_with('`') && !is_made_up(value.trim_end_matches('`'))
    };
    !is_call() && !is_placeholder() && !is_address(value) && !is_attribute(value)
}

fn is_of_path(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ':' | '$')
}

/// Whether a value in a program names an attribute, as in `password = var.db_password` and `random_password.db.result`.
fn is_attribute(value: &str) -> bool {
    let is_name = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
            && part.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_')
    };
    let mut parts = value.split('.');
    let (first, last) = (parts.next().unwrap_or_default(), parts.next_back().unwrap_or_default());
    let is_result = first.contains('_') && parts.next().is_some() && names_credential(first);
    value.contains('.') && value.split('.').all(is_name) && (names_credential(last) || is_result)
}

/// What a text says beside holes; none if it has none. A hole without an end reaches to the end of the text.
fn without_holes(text: &str) -> Option<String> {
    if !text.contains(['$', '{']) {
        return None;
    }
    let (mut rest, mut out, mut any) = (text, String::new(), false);
    while let Some((at, (begin, end))) = next_hole(rest) {
        any = true;
        out.push_str(&rest[..at]);
        out.push(' ');
        let inside = &rest[at + begin.len()..];
        rest = inside.find(end).map_or("", |close| &inside[close + end.len()..]);
    }
    out.push_str(rest);
    any.then_some(out)
}

fn next_hole(text: &str) -> Option<(usize, (&'static str, &'static str))> {
    // One pass for all beginnings: one that does not occur would otherwise be looked for in the whole rest, again and again.
    text.match_indices(['$', '{']).find_map(|(at, _)| {
        let hole = HOLES.iter().find(|(begin, _)| text[at..].starts_with(begin))?;
        Some((at, *hole))
    })
}

fn holds_literal(rest: &str) -> bool {
    let mut words = rest.split(|c: char| !c.is_ascii_alphanumeric());
    !rest.contains("://") && words.any(|word| word.len() >= BESIDE_HOLES && is_made_up(word))
}

/// Whether a text has a literal that is neither a template nor encrypted. A chart may fill in the values of a Secret.
pub(super) fn is_open(text: &str) -> bool {
    let is_filled_in = text.contains("{{") || text.contains("${");
    let rest = without_holes(text).filter(|_| is_filled_in);
    // `?*` is a pattern of a policy.
    let is_open = rest.map_or(text.contains(|c: char| !matches!(c, '?' | '*')), |rest| holds_literal(&rest));
    is_open && !is_encrypted(text)
}

/// What follows a variable at the start of a text, as in `$PASSWORD`. Nobody names variables like `$ecretPassw0rd`.
fn after_variable(text: &str) -> Option<&str> {
    let name = text.strip_prefix('$')?;
    let (name, rest) = name.split_at(name.find(|c: char| !is_of_variable(c)).unwrap_or(name.len()));
    let has = |test: fn(&u8) -> bool| name.bytes().any(|byte| test(&byte));
    let is_mixed = has(u8::is_ascii_digit) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase);
    (!name.is_empty() && !is_mixed).then_some(rest)
}

fn is_of_variable(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Whether a value is a hash of crypt(5), as in `$6$salt$hash`. The rule set has rules for these.
fn is_hash(text: &str) -> bool {
    let method = text.strip_prefix('$').and_then(|rest| rest.split_once('$')).map(|(method, _)| method);
    method.is_some_and(|method| {
        let is_of_method = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        !method.is_empty() && method.len() <= 12 && method.bytes().all(is_of_method)
    })
}

/// Whether a text is one word of letters and digits, and so neither a name with dashes nor a path.
pub(super) fn is_made_up(text: &str) -> bool {
    text.len() > 6
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && text.bytes().any(|byte| byte.is_ascii_digit())
        && text.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// Whether a value is an absolute path in lower case, as in `token: /var/run/secrets/token`.
fn is_path(text: &str) -> bool {
    let is_of_path = |byte: u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'/' | b'.' | b'_' | b'-')
    };
    text.starts_with('/') && text[1..].contains('/') && text.bytes().all(is_of_path)
}

/// Whether a value refers to a secret store, as in `vault:secret/data/app#password`.
fn is_store_reference(text: &str) -> bool {
    let Some(prefix) = REFERENCES.iter().find(|prefix| text.starts_with(*prefix)) else { return false };
    let rest = &text[prefix.len()..];
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'_' | b'.');
    match *prefix {
        "vault:" | ">>vault:" | "<path:" => rest.contains('/') && rest.contains('#'),
        "ref+" | "secretref+" => rest.contains("://") && !rest.starts_with("echo:"),
        "env:" => rest.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_'),
        "alias/" | "kms/" | "projects/" => !rest.is_empty() && rest.bytes().all(is_of_name),
        "awskms:" | "azurekms:" | "gcpkms:" | "hashivault:" => rest.starts_with("//"),
        _ => !rest.is_empty(),
    }
}

/// Whether a value was encrypted by SOPS or a similar tool: `ENC[AES256_GCM,data:…,iv:…,tag:…,type:…]`.
pub(in crate::check) fn is_encrypted(text: &str) -> bool {
    let Some(inner) = text.trim().strip_prefix("ENC[").and_then(|rest| rest.strip_suffix(']')) else {
        return false;
    };
    match inner.split_once(',') {
        Some(("AES256_GCM", rest)) => {
            let part = |name: &str| rest.split(',').find_map(|part| decode(part.strip_prefix(name)?));
            let length = |name: &str| part(name).map_or(0, |bytes| bytes.len());
            part("data:").is_some() && length("iv:") >= IV && length("tag:") == TAG
        }
        Some((method, rest)) => {
            let named = method.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
            named && !method.is_empty() && rest.len() >= 40 && !rest.contains(char::is_whitespace)
        }
        None => false,
    }
}

/// Whether a file is encrypted by SOPS: a document, or lines of `key=value`.
pub(in crate::check) fn is_encrypted_file(text: &str) -> bool {
    let marked = text.lines().any(|line| {
        let line = line.trim_start().trim_start_matches('"');
        line.starts_with("sops:") || line.starts_with("sops\":") || line.starts_with("sops_")
    });
    marked
        && text.split("ENC[").skip(1).any(|rest| {
            let inner = rest.split(']').next().unwrap_or_default();
            is_encrypted(&format!("ENC[{inner}]"))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_tool_encrypted_counts_as_encrypted() {
        let (iv, tag) = ("aW5pdGlhbGl6YXRpb24gdmVjdG9yIG9mIDMyIGJ5dGU=", "dGFnIG9mIDE2IGJ5dGVzIQ==");
        assert!(is_encrypted(&format!("ENC[AES256_GCM,data:b2s=,iv:{iv},tag:{tag},type:str]")));
        for imitated in [
            "ENC[hunter2hunter2]",
            "ENC[AES256_GCM,hunter2hunter2]",
            "ENC[AES256_GCM,data:hunter2hunter2,iv:x,tag:y,type:str]",
            "ENC[]",
        ] {
            assert!(!is_encrypted(imitated) && is_literal(imitated), "{imitated}");
        }
    }

    #[test]
    fn templates_and_variables_are_told_from_passwords_with_such_signs() {
        for filled_in in [
            "$PASSWORD",
            "$password; echo",
            "$1",
            "${PASSWORD:-}",
            "$(cat /run/secret)",
            "$(cat",
            "{{ .Values.password }}",
            "{{",
            "${{ cluster.variables.password1234 }}",
            "${{",
            "db-{{ .password }}-v1",
            "https://a.example.org/${X}/v1beta1example",
            "<token>",
            "<your_access_token>\" https://a.example.org",
            "!vault",
        ] {
            assert!(!is_literal(filled_in), "{filled_in}");
        }
        for literal in [
            "<hunter2>",
            "<a>hunter2",
            "!vaults",
            "$ecretPassw0rd",
            "$!ecret9x",
            "pa$word1",
            "S3cr3tPw9x${x}",
            "S3cr3tPw9x{{ .x }}",
            "S3cr{et9",
        ] {
            assert!(is_literal(literal), "{literal}");
        }
        assert!(is_open("hunter2hunter2") && is_open("$x") && is_open("hunter2hunter2{{ .x }}"));
        assert!(!is_open("") && !is_open("user=admin\npassword={{ .password }}"));
    }

    #[test]
    fn calls_placeholders_and_addresses_are_told_from_passwords_with_such_signs() {
        for other in [
            "<unset>",
            "<your-password>",
            "os.environ.get(",
            "getenv('X')",
            "%s",
            "%(password)s",
            "%PASSWORD%",
            "`cat",
            "PASSWORD`",
            "https://vault.example.org",
            "ref+vault://a/b",
        ] {
            assert!(!is_literal_in_line(other), "{other}");
        }
        for literal in ["S3cr(et%9x", "hunter<2>hunter", "50%hunter2", "a`b2c3d4e5", "S3cr://et9x"] {
            assert!(is_literal_in_line(literal), "{literal}");
        }
    }
}
