//! Recognizes credentials by their keys: `password: …`, `--client-secret=…`, `{"token": "…"}`.

use super::is_auth;

/// Suffixes of the keys of credentials, in lower case and without `-` and `_`.
const ENDS: [&str; 30] = [
    "password",
    "passwords",
    "psk",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "secretkey",
    "secretaccesskey",
    "clientsecret",
    "credentialsecret",
    "secretid",
    "accesstoken",
    "apitoken",
    "apikey",
    "privatekey",
    "clientkeydata",
    "token",
    "encryptionkey",
    "signingkey",
    "masterkey",
    "sharedsecret",
    "webhooksecret",
    "appsecret",
    "jwtsecret",
    "sessionsecret",
    "cookiesecret",
    "consumersecret",
    "bindpw",
    "presharedkey",
];
/// The minimum length of a credential.
const SHORTEST: usize = 6;
/// The maximum length of a credential within a line; a longer word is examined by its form only. Without a limit, the time for
/// a line would grow with the square of its length.
const LONGEST: usize = 4096;
/// The minimum length of the value of a key that ends in `password`. Charts' default passwords, such as `admin`, are short.
const SHORTEST_PASSWORD: usize = 3;
/// Short values of such keys that switch something on or off, or say where the password comes from.
const SWITCHES: [&str; 14] = [
    "ask", "auto", "disabled", "enabled", "env", "false", "file", "nil", "no", "none", "null", "off", "true",
    "yes",
];
/// Prefixes of references that another program resolves: the bank-vaults webhook, vals, Argo CD's vault plugin, 1Password,
/// AWS, files and environment variables.
const REFERENCES: [&str; 9] =
    ["<path:", ">>vault:", "arn:aws", "env:", "file:/", "op://", "ref+", "secretref+", "vault:"];

/// Whether a key indicates that its value is a credential.
pub(super) fn names_credential(key: &str) -> bool {
    let is_word = |end: &str| key.strip_suffix(end).is_some_and(|rest| rest.ends_with(['_', '-']));
    let short = is_word("pass") || is_word("pw") || is_word("PW");
    short
        || key.ends_with("_PASS")
        || key.ends_with("Pass")
        || plain(key).eq("pass".bytes().rev())
        || ENDS.iter().any(|end| ends_with(key, end))
}

/// The bytes of a key from its end, in lower case and without `-` and `_`. Every text has a key, so nothing is allocated.
fn plain(key: &str) -> impl Iterator<Item = u8> {
    key.bytes().rev().filter(|byte| !matches!(byte, b'-' | b'_')).map(|byte| byte.to_ascii_lowercase())
}

fn ends_with(key: &str, end: &str) -> bool {
    let mut bytes = plain(key);
    end.bytes().rev().all(|expected| bytes.next() == Some(expected))
}

/// Whether the value of such a key is a literal on one line. Includes passphrases with spaces, but excludes references,
/// placeholders and switches.
pub(super) fn is_credential(key: &str, text: &str) -> bool {
    let whole = text.trim();
    // Most texts are ruled out before their keys are examined.
    if whole.len() < SHORTEST_PASSWORD || whole.contains('\n') || !is_literal(text) {
        return false;
    }
    if whole.len() < SHORTEST {
        let is_switch = SWITCHES.iter().any(|word| whole.eq_ignore_ascii_case(word));
        return !is_switch && is_letter_or_digit(whole) && ends_with(key, "password");
    }
    names_credential(key) && !names_secret(key, whole) || is_secret_variable(key) && is_made_up(whole)
}

/// Whether a value is the name of a Secret, as in `existingSecretPassword: harbor`, or of a key in one that is named like the
/// setting, as in `clientSecretKey: client-secret`.
fn names_secret(key: &str, value: &str) -> bool {
    let is_name = value.bytes().all(|byte| byte.is_ascii_lowercase() || matches!(byte, b'-' | b'.' | b'_'));
    let of_key = || {
        let (key, value) = (plain_text(key), plain_text(value));
        key.strip_suffix("key").is_some_and(|own| own.ends_with("secret") && own.starts_with(&value))
    };
    is_name && (key.starts_with("existingSecret") || of_key())
}

fn plain_text(text: &str) -> String {
    let words = text.chars().filter(|c| !matches!(c, '-' | '.' | '_'));
    words.map(|c| c.to_ascii_lowercase()).collect()
}

/// Whether some values of a key are credentials because of the key alone.
pub(super) fn may_name_credential(key: &str) -> bool {
    names_credential(key) || is_secret_variable(key)
}

fn is_letter_or_digit(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Whether a key is an environment variable such as `APP_SECRET`. Its value can also be the name of a Secret.
fn is_secret_variable(key: &str) -> bool {
    let is_variable = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    key.ends_with("SECRET") && key.bytes().all(is_variable)
}

/// Whether a text is one word of letters and digits, and so neither a name with dashes nor a path.
fn is_made_up(text: &str) -> bool {
    text.len() > SHORTEST
        && is_letter_or_digit(text)
        && text.bytes().any(|byte| byte.is_ascii_digit())
        && text.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// Whether a value is a literal: references and encrypted values are not plaintext credentials.
fn is_literal(text: &str) -> bool {
    !text.contains("{{")
        && !text.contains("${")
        && !text.starts_with('$')
        && !is_encrypted(text)
        && !is_store_reference(text.trim())
        && !is_path(text.trim())
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
    match *prefix {
        "vault:" | ">>vault:" | "<path:" => rest.contains('/') && rest.contains('#'),
        "ref+" | "secretref+" => rest.contains("://"),
        "env:" => rest.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_'),
        _ => !rest.is_empty(),
    }
}

/// Whether a value was encrypted by SOPS or a similar tool: `ENC[AES256_GCM,data:…,iv:…,tag:…,type:…]`.
pub(in crate::check) fn is_encrypted(text: &str) -> bool {
    let Some(inner) = text.trim().strip_prefix("ENC[").and_then(|rest| rest.strip_suffix(']')) else {
        return false;
    };
    match inner.split_once(',') {
        Some(("AES256_GCM", rest)) => ["data:", ",iv:", ",tag:"].iter().all(|part| rest.contains(part)),
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

/// Whether a line assigns a credential, in any notation used in files, JSON and shells.
pub(super) fn assigns(line: &str) -> bool {
    let line = line.trim();
    if line.len() < SHORTEST {
        return false;
    }
    let unescaped;
    let line = if line.contains("\\\"") {
        unescaped = line.replace("\\\"", "\"");
        &unescaped
    } else {
        line
    };
    assigns_as_a_whole(line) || assigns_inside(line) || hands_over(line)
}

/// The same for prose, where only values that look random count as credentials.
pub(super) fn assigns_in_prose(line: &str) -> bool {
    let made_up = |word: &str| {
        word.len() >= SHORTEST + 2
            && word.bytes().any(|b| b.is_ascii_digit())
            && word.bytes().any(|b| b.is_ascii_alphabetic())
    };
    pieces(line).any(|(key, value)| made_up(value) && literal_value(value) && is_credential(key, value))
}

/// `key=value` or `key: value` with nothing else on the line.
fn assigns_as_a_whole(line: &str) -> bool {
    let line = line.trim_start_matches("- ").trim_start_matches("export ");
    let Some(at) = line.find(['=', ':']) else { return false };
    let key = line[..at].trim().trim_start_matches('-').trim_matches(['"', '\'']);
    let plain = !key.is_empty() && key.chars().all(is_of_key);
    let value = line[at + 1..].trim();
    let value =
        value.split(" #").next().unwrap_or(value).trim().trim_end_matches(',').trim_matches(['"', '\'']);
    // A map or list below the key is examined piece by piece.
    plain && !value.starts_with(['{', '[']) && literal_value(value) && is_credential(last(key), value)
}

/// Examines pieces of JSON, flow maps, queries and command lines.
fn assigns_inside(line: &str) -> bool {
    pieces(line).any(|(key, value)| literal_value(value) && is_credential(key, value))
}

/// Every `key: value` and `key=value` in a line, whatever surrounds it, if the key can be that of a credential.
pub(super) fn pieces(line: &str) -> impl Iterator<Item = (&str, &str)> {
    line.match_indices(['=', ':']).filter_map(|(at, separator)| {
        let before = line[..at].trim_end_matches([' ', '"', '\'']);
        let start =
            before.char_indices().rfind(|(_, c)| !is_of_key(*c)).map_or(0, |(at, c)| at + c.len_utf8());
        let key = before[start..].trim_start_matches('-');
        let is_telling = may_name_credential(last(key)) || is_auth(last(key));
        if !is_telling {
            return None;
        }
        let after = &line[at + separator.len()..];
        let after = if separator == ":" { after.trim_start() } else { after };
        let after = &after[..after.floor_char_boundary(LONGEST + 1)];
        let value = match after.chars().next() {
            Some(quote @ ('"' | '\'')) => after[1..].split(quote).next().unwrap_or_default(),
            _ => after
                .split([' ', '\t', ',', ';', '&', '}', ']', ')', '"', '\'', '|'])
                .next()
                .unwrap_or_default(),
        };
        (value.len() <= LONGEST).then(|| (last(key), value))
    })
}

/// Whether a command line passes a password: `--password hunter2`, `sshpass -p …`, `echo root:… | chpasswd`, and `.netrc`.
fn hands_over(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().map(|word| word.trim_matches(['"', '\''])).collect();
    let login =
        line.contains("sshpass") || line.contains("docker login") || line.contains("helm registry login");
    let netrc = words.contains(&"login") && words.contains(&"machine");
    let by_flag = words.windows(2).any(|pair| {
        let (flag, value) = (pair[0], pair[1]);
        let name = flag.trim_start_matches('-');
        let named = flag.starts_with("--") && names_credential(name) || netrc && flag == "password";
        let literal = !value.starts_with('-') && literal_value(value) && is_literal(value);
        (named || login && flag == "-p") && literal && value.len() >= SHORTEST
    });
    let piped = || {
        let word = line.split("chpasswd").next().unwrap_or_default().split([' ', '"', '\'', '|']);
        let mut pairs = word.filter_map(|word| word.split_once(':'));
        pairs.any(|(user, password)| !user.is_empty() && is_literal(password) && password.len() >= SHORTEST)
    };
    by_flag || line.contains("chpasswd") && piped()
}

/// The lines of a `.netrc` that contain passwords.
pub(super) fn of_netrc(text: &str) -> Vec<usize> {
    let lines = || text.lines().map(str::trim).enumerate();
    if !text.contains("login ") || !lines().any(|(_, line)| line.starts_with("machine ")) {
        return Vec::new();
    }
    let is_set = |line: &str| {
        let value = line.strip_prefix("password ").map(str::trim);
        value.is_some_and(|value| value.len() >= SHORTEST && is_literal(value) && literal_value(value))
    };
    lines().filter(|(_, line)| is_set(line)).map(|(number, _)| number).collect()
}

/// The lines of a cloud-init configuration that set passwords: `user:password` below `chpasswd`.
pub(super) fn of_chpasswd(text: &str) -> Vec<usize> {
    let depth = |line: &str| line.len() - line.trim_start().len();
    let (mut inside, mut found) = (None, Vec::new());
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        inside = inside.filter(|above| depth(line) > *above);
        if line.trim() == "chpasswd:" {
            inside = Some(depth(line));
        }
        let pair = line.trim().trim_start_matches("- ").trim_matches(['"', '\'']).split_once(':');
        let set = |(user, password): (&str, &str)| {
            let word = !user.is_empty() && user.chars().all(is_of_key) && !password.contains(' ');
            word && password.len() >= SHORTEST && is_literal(password) && password != "RANDOM"
        };
        if inside.is_some() && pair.is_some_and(set) {
            found.push(number);
        }
    }
    found
}

/// Whether a line has an HTTP header that logs in: `Authorization: Bearer …`.
pub(super) fn logs_in(line: &str) -> bool {
    const HEADER: &str = "authorization";
    let lower = line.to_ascii_lowercase();
    lower.match_indices(HEADER).any(|(at, _)| {
        let rest = &line[at + HEADER.len()..];
        let value = rest.trim_start_matches(['\\', '"', '\'', ' ']);
        let Some(value) = value.strip_prefix([':', '=']) else { return false };
        let value = &value[..value.floor_char_boundary(LONGEST)];
        let mut words = value.split([' ', '"', '\'', '\\', ',', '}']).filter(|word| !word.is_empty());
        let (Some(scheme), Some(token)) = (words.next(), words.next()) else { return false };
        let random = token.len() >= 16
            && token.bytes().any(|b| b.is_ascii_digit())
            && token.bytes().any(|b| b.is_ascii_alphabetic());
        ["basic", "bearer", "token"].iter().any(|known| scheme.eq_ignore_ascii_case(known))
            && random
            && literal_value(token)
            && is_literal(token)
    })
}

/// Whether a value is a literal; calls, placeholders and URLs are not.
fn literal_value(value: &str) -> bool {
    !value.contains(['(', '<', '>', '%', '`']) && !value.contains("://")
}

fn is_of_key(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')
}

fn last(key: &str) -> &str {
    key.rsplit('.').next().unwrap_or(key)
}

/// Whether a value under this key is the name of something, rather than a secret.
pub(super) fn is_reference(parent: &str, key: &str) -> bool {
    const ENDS: [&str; 9] = ["name", "ref", "path", "file", "dir", "class", "namespace", "url", "id"];
    let (parent, key) = (parent.to_ascii_lowercase(), key.to_ascii_lowercase());
    ENDS.iter().any(|end| key.ends_with(end))
        || parent.ends_with("ref")
        || parent.ends_with("selector")
        || key.starts_with("existing")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_say_what_a_credential_is() {
        for key in [
            "adminPassword",
            "DB_PASSWORD",
            "passphrase",
            "botToken",
            "client-key-data",
            "SMTP_PASS",
            "pass",
            "x-api-key",
            "application_credential_secret",
            "secretId",
        ] {
            assert!(names_credential(key), "{key}");
        }
        for key in [
            "existingSecret",
            "tokenTTL",
            "passwordAuthentication",
            "compass",
            "bypass",
            "secretName",
            "publicKey",
        ] {
            assert!(!names_credential(key), "{key}");
        }
    }

    #[test]
    fn only_what_a_tool_encrypted_counts_as_encrypted() {
        assert!(is_encrypted("ENC[AES256_GCM,data:b2s=,iv:aXY=,tag:dGFn,type:str]"));
        assert!(!is_encrypted("ENC[hunter2hunter2]"));
        assert!(!is_encrypted("ENC[AES256_GCM,hunter2hunter2]"));
        assert!(!is_encrypted("ENC[]"));
    }

    #[test]
    fn passwords_of_cloud_init_are_found() {
        let list = "#cloud-config\nchpasswd:\n  list: |\n    root:hunter2hunter2\n    bob:RANDOM\nruncmd:\n  - a:bcdefgh\n";
        assert_eq!(of_chpasswd(list), [3]);
        assert!(of_chpasswd("chpasswd:\n  list: |\n    root:$6$salt$hash\n  expire: false\n").is_empty());
    }

    #[test]
    fn lines_that_assign_are_told_from_those_that_refer() {
        for line in [
            "password = hunter2hunter2",
            "- password: \"hunter2hunter2\"",
            "export DB_PASSWORD=hunter2hunter2",
            "{\"auths\": {}, \"token\":\"0123456789\"}",
            "{\\\"password\\\": \\\"hunter2hunter2\\\"}",
            "{user: me, password: hunter2hunter2}",
            "packer build -var ssh_password=hunter2hunter2 image.json",
            "mytool --client-secret hunter2hunter2 --verbose",
            "RUN echo 'root:hunter2hunter2' | chpasswd",
            "sshpass -p hunter2hunter2 ssh node",
            "machine git.example.org login me password hunter2hunter2",
            "Server=db;Password=hunter2hunter2;Port=1",
        ] {
            assert!(assigns(line), "{line}");
        }
        for line in [
            "the password: ask your administrator",
            "passwordAuthentication=no",
            "password=<unset>",
            "password=$(cat /run/secret)",
            "password: {{ .password }}",
            "mytool --password $PASSWORD --verbose",
            "mytool --token-file /run/token",
            "token: ${{ cluster.variables.token }}",
        ] {
            assert!(!assigns(line), "{line}");
        }
        for line in [
            "Authorization: Basic Ym9iOmh1bnRlcjJodW50ZXIy",
            "headers: { authorization: \"Bearer 0123456789abcdef0123\" }",
            "curl -H 'Proxy-Authorization: token 0123456789abcdef0123'",
        ] {
            assert!(logs_in(line), "{line}");
        }
        for line in [
            "Authorization: Bearer $TOKEN",
            "Authorization: Bearer ${{ cluster.variables.token0123 }}",
            "the header `Authorization: Bearer <token>` is required",
            "authorization-mode: Node,RBAC",
            "Authorization: Bearer YOUR_TOKEN_GOES_HERE",
        ] {
            assert!(!logs_in(line), "{line}");
        }
        assert!(assigns_in_prose("old one was password: hunter2hunter2"));
        assert!(!assigns_in_prose("password: see the vault"));
    }

    #[test]
    fn every_language_can_be_searched() {
        for line in
            ["# Café: x", "Größe: klein", "配置: a", "“token”: x1234567", "é=é:é", "\u{a0}=", "é : \"é\" = é"]
        {
            assert!(!assigns(line) && !assigns_in_prose(line), "{line}");
        }
        assert!(assigns("é{password: hunter2hunter2}") && assigns_in_prose("für password: S3cr3tPw9z"));
    }

    #[test]
    fn references_are_told_from_short_and_unusual_passwords() {
        for reference in [
            "vault:secret/data/app#password",
            ">>vault:secret/data/app#password",
            "<path:secret/data/app#password>",
            "ref+vault://secret/app#/password",
            "secretref+k8s://v1/Secret/ns/name/key",
            "op://vault/item/password",
            "arn:aws:secretsmanager:eu-west-1:123456789012:secret:app-AbCdEf",
            "env:DB_PASSWORD",
            "file:///etc/app/password",
            "/var/run/secrets/password",
        ] {
            assert!(!is_credential("password", reference), "{reference}");
            assert!(!assigns(&format!("password: {reference}")), "{reference}");
        }
        assert!(
            !is_credential("clientSecretKey", "client-secret") && is_credential("secretKey", "wJalrXUtnFEMI")
        );
        assert!(!is_credential("existingSecretAdminPassword", "harbor-admin"));
        assert!(!is_credential("passwordSecretKey", "password"));
        for (key, value) in
            [("secretKey", "minioadmin"), ("s3SecretKey", "minio-admin"), ("existingPassword", "harboradmin")]
        {
            assert!(is_credential(key, value), "{key}: {value}");
        }
        let long = "x1".repeat(LONGEST);
        assert!(
            assigns(&format!("a: {long}, password: hunter2hunter2"))
                && !assigns(&format!("b, password: {long}"))
        );
        for literal in ["vault:hunter2", "env:hunter2", "ref+hunter2", "filehunter2"] {
            assert!(is_credential("password", literal), "{literal}");
        }
        for (key, short) in [("adminPassword", "admin"), ("password", "abc"), ("PASSWORD", "1234")] {
            assert!(is_credential(key, short), "{key}: {short}");
        }
        for (key, short) in [("password", "yes"), ("password", "x"), ("password", "~/x"), ("token", "abc")] {
            assert!(!is_credential(key, short), "{key}: {short}");
        }
        assert!(assigns("export APP_SECRET=hunter2hunter2") && assigns("SECRET=hunter2hunter2"));
        assert!(!assigns("DB_SECRET=cloud-config-2") && !assigns("secret: db2credentials"));
    }
}
