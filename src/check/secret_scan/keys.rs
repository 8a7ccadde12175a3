//! Recognizes credentials by their keys, as in `password: hunter2` and `clientSecret: …`.

use super::{
    lines::is_of_key,
    literal::{is_literal, is_made_up},
};

/// Suffixes of the keys of credentials, in lower case and without `-` and `_`.
const ENDS: [&str; 51] = [
    "authtok",
    "sshpass",
    "password",
    "passwords",
    "psk",
    "pskvalue",
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
    "passwort",
    "kennwort",
    "motdepasse",
    "contrasena",
    "contraseña",
    "senha",
    "wachtwoord",
    "lösenord",
    "heslo",
    "пароль",
    "storepass",
    "keypass",
    "rootpw",
    "adminpw",
    "secretkeybase",
    "erlangcookie",
    "mnemonic",
    "recoverykey",
];
/// Suffixes of keys whose values are credentials if they look random. Otherwise they are names, numbers or addresses.
const ENDS_OF_RANDOM: [&str; 22] = [
    "accountkey",
    "apikeys",
    "authkey",
    "bearer",
    "community",
    "credentials",
    "hmackey",
    "hmacsecret",
    "integrationkey",
    "licensekey",
    "lukskey",
    "otpsecret",
    "otpseed",
    "routingkey",
    "secretkeys",
    "sessionkey",
    "sharedaccesskey",
    "sharedkey",
    "storagekey",
    "tokens",
    "tsigkey",
    "tsigsecret",
];
/// Suffixes of keys whose values are numbers that unlock something.
const ENDS_OF_PINS: [&str; 4] = ["unlockpin", "userpin", "sopin", "pincode"];
/// The minimum length of a value that looks random.
const SHORTEST_RANDOM: usize = 8;
/// The minimum length of a credential.
pub(super) const SHORTEST: usize = 6;
/// The minimum length of the value of a key that ends in `password`. Charts' default passwords, such as `admin`, are short.
const SHORTEST_PASSWORD: usize = 3;
/// Values that switch something on or off, or say where a password comes from, or that there is none.
const SWITCHES: [&str; 26] = [
    "ask",
    "auto",
    "disabled",
    "enabled",
    "env",
    "expired",
    "false",
    "file",
    "generated",
    "inherit",
    "invalid",
    "masked",
    "missing",
    "nil",
    "no",
    "none",
    "null",
    "off",
    "optional",
    "random",
    "redacted",
    "required",
    "true",
    "unknown",
    "unset",
    "yes",
];

/// Whether a key indicates that its value is a credential.
pub(super) fn names_credential(key: &str) -> bool {
    let is_word = |end: &str| key.strip_suffix(end).is_some_and(|rest| rest.ends_with(['_', '-']));
    let is_short = is_word("pass") || is_word("pw") || is_word("PW");
    let is = |name: &str| plain(key).eq(name.bytes().rev());
    is_short
        || key.ends_with("_PASS")
        || key.ends_with("Pass")
        || is("pass")
        || is("pw")
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
    if SWITCHES.iter().any(|word| whole.eq_ignore_ascii_case(word)) || says_where(whole) || is_mask(whole) {
        return false;
    }
    if whole.len() < SHORTEST {
        return is_letter_or_digit(whole) && ends_with(key, "password");
    }
    names_credential(key) && !is_name(key, whole) && !is_limit(key, whole) && !lists_sources(key, whole)
        || ends_with(key, "secret") && is_random(key, whole)
        || ends_with(key, "basicauth") && is_login(whole)
        || ends_with(key, "credentials") && is_login(whole) && has_digit(whole)
        || ENDS_OF_RANDOM.iter().any(|end| ends_with(key, end)) && looks_random(whole)
        || ENDS_OF_PINS.iter().any(|end| ends_with(key, end)) && is_digits(whole)
}

/// Whether a value tells people where a credential is, as in `Password: see 1Password`.
fn says_where(value: &str) -> bool {
    const BEGINS: [&str; 5] = ["see ", "(see ", "ask ", "stored in ", "kept in "];
    /// A product with a digit, in place of what would look random.
    const PRODUCTS: [&str; 1] = ["1password"];
    let lower = value.to_ascii_lowercase();
    let is_random = |word: &str| is_made_up(word) && !PRODUCTS.contains(&word);
    BEGINS.iter().any(|begin| lower.starts_with(begin)) && !lower.split_whitespace().any(is_random)
}

/// Whether a value hides a credential: `********`.
fn is_mask(value: &str) -> bool {
    value.chars().all(|c| matches!(c, '*' | '•'))
}

/// Whether a value has letters and digits, and is neither a name with dashes nor a list of words.
fn looks_random(value: &str) -> bool {
    let has = |test: fn(&u8) -> bool| value.bytes().any(|byte| test(&byte));
    let is_name = value.contains(['-', '_']) && !has(u8::is_ascii_uppercase);
    value.len() >= SHORTEST_RANDOM
        && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=-_".contains(&byte))
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && !is_name
}

/// Whether a text after the key `passwd` lists the sources of a system's users, as in `/etc/nsswitch.conf`.
fn lists_sources(key: &str, value: &str) -> bool {
    const SOURCES: [&str; 9] =
        ["compat", "db", "files", "hesiod", "ldap", "nis", "sss", "systemd", "winbind"];
    key == "passwd" && value.split_whitespace().all(|word| SOURCES.contains(&word) || word.starts_with('['))
}

fn has_digit(value: &str) -> bool {
    value.bytes().any(|byte| byte.is_ascii_digit())
}

fn is_digits(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a value names where a credential is: in a variable, as in `secretKey: AWS_SECRET_ACCESS_KEY`, or in a Secret.
fn is_name(key: &str, value: &str) -> bool {
    let is_variable = is_of_variable(value) && value.contains('_');
    is_variable && (names_credential(value) || ends_with(value, "secret")) || names_secret(key, value)
}

/// Whether a value is the name of a Secret, as in `existingSecretPassword: harbor`, or of a key in one: named like the
/// setting, as in `clientSecretKey: client-secret`, or like a credential, as in `passwordSecretKey: admin-password`.
fn names_secret(key: &str, value: &str) -> bool {
    let is_name = value.bytes().all(|byte| byte.is_ascii_lowercase() || matches!(byte, b'-' | b'.' | b'_'));
    // The key of an existing Secret, as in `existingXsrfSecretKey: CSRF_KEY`.
    if key.starts_with("existing") && ends_with(key, "secretkey") && value.chars().all(is_of_key) {
        return true;
    }
    let of_key = || {
        let (key, name) = (plain_text(key), plain_text(value));
        key.strip_suffix("key").is_some_and(|own| {
            own.ends_with("secret")
                && (own.starts_with(&name) || value.contains('-') && names_credential(value))
        })
    };
    is_name && (key.starts_with("existingSecret") || of_key())
}

/// Whether a value is a number that limits something, as in `maxToken: 1000000`.
fn is_limit(key: &str, value: &str) -> bool {
    let limits = ["max", "min", "num"].iter().any(|begin| key.to_ascii_lowercase().starts_with(begin));
    limits && is_digits(value)
}

/// Whether the value of a key such as `secret` or `APP_SECRET` is random text. It can also be the name of a Secret, which has
/// no capital letters.
fn is_random(key: &str, value: &str) -> bool {
    let has = |test: fn(&u8) -> bool| value.bytes().any(|byte| test(&byte));
    let is_mixed = has(u8::is_ascii_digit) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase);
    let is_word = !value.contains(['/', ':', '.', ' ']);
    is_of_variable(key) && is_made_up(value) || is_mixed && is_word && value.len() > SHORTEST
}

/// Whether a value is `user:password`.
fn is_login(value: &str) -> bool {
    value.split_once(':').is_some_and(|(user, password)| {
        let is_user = !user.is_empty() && user.chars().all(is_of_key);
        is_user && password.len() >= SHORTEST_PASSWORD && !password.contains(['/', ' ', ':'])
    })
}

fn plain_text(text: &str) -> String {
    let words = text.chars().filter(|c| !matches!(c, '-' | '.' | '_'));
    words.map(|c| c.to_ascii_lowercase()).collect()
}

/// Whether some values of a key are credentials because of the key alone.
pub(super) fn may_name_credential(key: &str) -> bool {
    let of_value = ["secret", "basicauth"].iter().chain(&ENDS_OF_RANDOM).chain(&ENDS_OF_PINS);
    names_credential(key) || of_value.into_iter().any(|end| ends_with(key, end))
}

fn is_letter_or_digit(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Whether a text is made like an environment variable.
fn is_of_variable(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

/// Whether a value under this key is the name of something, rather than a secret.
pub(super) fn is_reference(parent: &str, key: &str) -> bool {
    const ENDS: [&str; 16] = [
        "name",
        "ref",
        "path",
        "file",
        "dir",
        "class",
        "namespace",
        "url",
        "id",
        "tag",
        "digest",
        "version",
        "image",
        "repository",
        "revision",
        "checksum",
    ];
    // The public parts of JSON web keys, RFC 7517 and RFC 7518, section 6.
    const PUBLIC: [&str; 6] = ["e", "kid", "n", "x", "x5t", "y"];
    let (parent, key) = (parent.to_ascii_lowercase(), key.to_ascii_lowercase());
    ENDS.iter().any(|end| key.ends_with(end))
        || parent.ends_with("ref")
        || parent.ends_with("selector")
        || key.starts_with("existing")
        || ["apigroup", "checksum"].iter().any(|begin| key.starts_with(begin))
        || parent == "keys" && PUBLIC.contains(&&*key)
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
            "pw",
            "passwort",
            "Contraseña",
            "db_senha",
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
        for literal in ["vault:hunter2", "env:hunter2", "ref+hunter2", "filehunter2"] {
            assert!(is_credential("password", literal), "{literal}");
        }
        for (key, short) in [("adminPassword", "admin"), ("password", "abc"), ("PASSWORD", "1234")] {
            assert!(is_credential(key, short), "{key}: {short}");
        }
        for (key, short) in [("password", "yes"), ("password", "x"), ("password", "~/x"), ("token", "abc")] {
            assert!(!is_credential(key, short), "{key}: {short}");
        }
    }

    #[test]
    fn names_of_variables_and_secrets_are_told_from_credentials() {
        for (key, name) in [
            ("secretKey", "AWS_SECRET_ACCESS_KEY"),
            ("passwordSecretKey", "admin-password"),
            ("maxToken", "1000000"),
            ("token", "inherit"),
            ("encryptionKey", "kms/projects/fleet/keys/etcd"),
            ("kmsMasterKey", "awskms:///alias/etcd"),
            ("secret", "db2credentials"),
            ("DB_SECRET", "cloud-config-2"),
            ("existingXsrfSecretKey", "CSRF_KEY"),
            ("existingPasswordSecretKey", "password"),
            ("basicAuth", "enabled"),
            ("Password", "see 1Password"),
            ("Token", "see the vault entry ci/deploy2"),
            ("Password", "********"),
            ("basicAuth", "team-a/login:admin"),
        ] {
            assert!(!is_credential(key, name), "{key}: {name}");
        }
        for (key, value) in [
            ("secret", "S3cr3tPw9xx"),
            ("APP_SECRET", "hunter2hunter2"),
            ("basicAuth", "admin:hunter2"),
            ("token", "1000000"),
            ("password", "see Xk29dkwl"),
            ("password", "seesaw-margery-daw"),
            ("passwordSecretKey", "hunter2hunter2"),
            ("password", "HUNTER2_HUNTER2"),
        ] {
            assert!(is_credential(key, value), "{key}: {value}");
        }
    }
}
