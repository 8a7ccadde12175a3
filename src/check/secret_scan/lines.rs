//! Recognizes credentials in a line of text: assignments in any notation, and HTTP headers. [`commands`] reads command lines.

use super::{
    commands, is_auth, is_pair,
    keys::{SHORTEST, is_credential, may_name_credential},
    literal::{is_literal, is_literal_in_line},
    translations,
};

/// The maximum length of a credential within a line; a longer word is examined by its form only. Without a limit, the time for
/// a line would grow with the square of its length.
pub(super) const LONGEST: usize = 4096;
/// The maximum number of words of a passphrase.
const MOST_WORDS: usize = 8;

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
    assigns_as_a_whole(line) || assigns_inside(line) || is_element(line) || commands::hands_over(line)
}

/// The same for prose, where only values that look random count as credentials.
pub(super) fn assigns_in_prose(line: &str) -> bool {
    let made_up = |word: &str| {
        word.len() >= SHORTEST + 2
            && word.bytes().any(|b| b.is_ascii_digit())
            && word.bytes().any(|b| b.is_ascii_alphabetic())
    };
    let assigned = |(key, value)| made_up(value) && is_literal_in_line(value) && is_credential(key, value);
    pieces(line).any(assigned) || commands::sets(line)
}

/// `key=value` or `key: value` with nothing else on the line.
fn assigns_as_a_whole(line: &str) -> bool {
    let line = line.trim_start_matches("- ").trim_start_matches("export ");
    let Some(at) = line.find(['=', ':']) else { return false };
    let key = line[..at].trim().trim_start_matches('-').trim_matches(['"', '\'']);
    let plain = !key.is_empty() && key.chars().all(is_of_key);
    // `:=` assigns in Go and Make.
    let value = line[at + 1..].trim_start_matches('=').trim();
    let value =
        value.split(" #").next().unwrap_or(value).trim().trim_end_matches(',').trim_matches(['"', '\'']);
    // A map or list below the key is examined piece by piece.
    plain
        && !value.starts_with(['{', '['])
        && !is_sentence(value)
        && is_literal_in_line(value)
        && is_credential(last(key), value)
}

/// Whether a value continues a sentence, as in `Pass: skips the remaining rules, and goes on`. A passphrase has few words.
fn is_sentence(value: &str) -> bool {
    let words = value.split_whitespace().count();
    value.contains(", ") || value.contains(". ") || words > MOST_WORDS || words > 2 && value.ends_with('.')
}

/// Whether a line of a file of translations has a label: a key and words, or words alone.
pub(super) fn is_label(line: &str) -> bool {
    let value = line.split_once([':', '=']).map_or(line, |(_, value)| value);
    let value = value.trim().trim_end_matches([';', ',', '}']).trim().trim_matches(['"', '\'']);
    translations::is_label(value) && !value.contains(": ")
}

/// Examines pieces of JSON, flow maps, queries and command lines.
fn assigns_inside(line: &str) -> bool {
    pieces(line).any(|(key, value)| is_literal_in_line(value) && is_credential(key, value))
}

/// Whether a line has an element of XML with a credential: `<password>…</password>`.
fn is_element(line: &str) -> bool {
    line.match_indices("</").any(|(at, _)| {
        let (from, to) = (at.saturating_sub(LONGEST), line.len().min(at + LONGEST));
        let (before, after) =
            (&line[line.ceil_char_boundary(from)..at], &line[at + 2..line.floor_char_boundary(to)]);
        let key = after.split('>').next().unwrap_or_default();
        let value = before.rsplit_once('>').map(|(_, value)| value);
        value.is_some_and(|value| is_literal_in_line(value) && is_credential(last(key), value))
    })
}

/// Every `key: value` and `key=value` in a line, whatever surrounds it, if the key can be that of a credential.
pub(super) fn pieces(line: &str) -> impl Iterator<Item = (&str, &str)> {
    line.match_indices(['=', ':']).filter_map(|(at, separator)| {
        let before = line[..at].trim_end_matches([' ', '"', '\'']);
        let start =
            before.char_indices().rfind(|(_, c)| !is_of_key(*c)).map_or(0, |(at, c)| at + c.len_utf8());
        let key = before[start..].trim_start_matches('-');
        let is_telling = may_name_credential(last(key)) || is_auth(last(key));
        // `${PASSWORD:?it is missing}`: what a shell does if a variable is not set.
        let is_of_shell = line[..start].ends_with("${") && line[at..].starts_with(':');
        if !is_telling || is_of_shell {
            return None;
        }
        let after = &line[at + separator.len()..];
        let after = match (separator, after.strip_prefix('>')) {
            (":", _) => after.trim_start(),
            // `=>` assigns in Ruby, PHP and Puppet.
            (_, Some(after)) => after.trim_start(),
            (_, None) => after,
        };
        let after = &after[..after.floor_char_boundary(LONGEST + 1)];
        let value = match after.chars().next() {
            Some(quote @ ('"' | '\'')) => after[1..].split(quote).next().unwrap_or_default(),
            _ => unquoted(after),
        };
        let is_prose =
            separator == ":" && value.bytes().all(|byte| byte.is_ascii_alphabetic()) && is_sentence(after);
        // The end of a prompt, as in `read -p "Password: " password`.
        let is_prompt = value.starts_with(' ');
        (value.len() <= LONGEST && !is_prose && !is_prompt).then(|| (last(key), value))
    })
}

/// The value at the start of a text, with the end of a call, which [`is_literal_in_line`] recognizes.
fn unquoted(text: &str) -> &str {
    let end = text.find([' ', '\t', ',', ';', '&', '}', ']', ')', '"', '\'', '|']).unwrap_or(text.len());
    let is_call = text[end..].starts_with(')') && text[..end].contains('(');
    &text[..end + usize::from(is_call)]
}

/// Whether a line has an HTTP header that logs in: `Authorization: Bearer …`.
pub(super) fn logs_in(line: &str) -> bool {
    const HEADER: &str = "authorization";
    let lower = line.to_ascii_lowercase();
    let of_header = lower.match_indices(HEADER).any(|(at, _)| {
        let rest = &line[at + HEADER.len()..];
        let value = rest.trim_start_matches(['\\', '"', '\'', ' ']);
        let Some(value) = value.strip_prefix([':', '=']) else { return false };
        let value = &value[..value.floor_char_boundary(LONGEST)];
        let mut words = value.split([' ', '"', '\'', '\\', ',', '}']).filter(|word| !word.is_empty());
        let (Some(scheme), Some(token)) = (words.next(), words.next()) else { return false };
        let random = token.len() >= 16
            && token.bytes().any(|b| b.is_ascii_digit())
            && token.bytes().any(|b| b.is_ascii_alphabetic());
        ["basic", "bearer", "token", "apikey"].iter().any(|known| scheme.eq_ignore_ascii_case(known))
            && random
            && is_literal_in_line(token)
            && is_literal(token)
    });
    of_header || names_user(line, &lower)
}

/// Whether a line has the value of such a header alone: `Basic`, and a user with a password in base64.
fn names_user(line: &str, lower: &str) -> bool {
    lower.match_indices("basic ").any(|(at, scheme)| {
        let rest = &line[at + scheme.len()..];
        let rest = &rest[..rest.floor_char_boundary(LONGEST)];
        rest.split([' ', '"', '\'', '\\', ',', '}']).next().is_some_and(is_pair)
    })
}

pub(super) fn is_of_key(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
}

fn last(key: &str) -> &str {
    key.rsplit('.').next().unwrap_or(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_may_have_letters_beyond_ascii() {
        for line in ["contraseña: hunter2hunter2", "conexión; пароль=hunter2hunter2"] {
            assert!(assigns(line), "{line}");
        }
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
            "password=S3cr(et%9x",
            "password: $ecretPassw0rd",
            "export APP_SECRET=hunter2hunter2",
            "SECRET=hunter2hunter2",
        ] {
            assert!(assigns(line), "{line}");
        }
        for line in [
            "the password: ask your administrator",
            "passwordAuthentication=no",
            "password=<unset>",
            "Password: at least twelve characters.",
            "read -r -p \"Password: \" password",
            "if [ -z \"$TOKEN\" ]; then echo \"token: missing\" >&2; fi",
            "Pass: instructs the selected traffic to skip all remaining rules, and",
            "password=$(cat /run/secret)",
            "password: {{ .password }}",
            "mytool --password $PASSWORD --verbose",
            "mytool --token-file /run/token",
            "token: ${{ cluster.variables.token }}",
            "password = os.environ.get('DB_PASSWORD')",
            "password = getenv(DB_PASSWORD)",
            "password: vault:secret/data/app#password",
            "password: $PASSWORD; echo done",
            "DB_SECRET=cloud-config-2",
            "secret: db2credentials",
        ] {
            assert!(!assigns(line), "{line}");
        }
        for line in [
            "Authorization: Basic Ym9iOmh1bnRlcjJodW50ZXIy",
            "headers: { authorization: \"Bearer 0123456789abcdef0123\" }",
            "curl -H 'Proxy-Authorization: token 0123456789abcdef0123'",
            "Basic Ym9iOmh1bnRlcjJodW50ZXIy",
        ] {
            assert!(logs_in(line), "{line}");
        }
        for line in [
            "Authorization: Bearer $TOKEN",
            "Authorization: Bearer ${{ cluster.variables.token0123 }}",
            "the header `Authorization: Bearer <token>` is required",
            "authorization-mode: Node,RBAC",
            "Authorization: Bearer YOUR_TOKEN_GOES_HERE",
            "use Basic authentication",
        ] {
            assert!(!logs_in(line), "{line}");
        }
        assert!(assigns_in_prose("old one was password: hunter2hunter2"));
        assert!(!assigns_in_prose("password: see the vault"));
        let long = "x1".repeat(LONGEST);
        assert!(
            assigns(&format!("a: {long}, password: hunter2hunter2"))
                && !assigns(&format!("b, password: {long}"))
        );
    }

    #[test]
    fn programs_read_passwords_from_elsewhere() {
        for line in [
            "export API_KEY=\"${API_KEY:?it is missing}\"",
            "PASSWORD=\"${PASSWORD:?PASSWORD is not set}\"",
            "password = os.environ[\"PASSWORD\"]",
            "db_password = config[\"database\"][\"password\"]",
            "password := os.Getenv(\"PASSWORD\")",
            "password = var.db_password",
        ] {
            assert!(!assigns(line), "{line}");
        }
        assert!(assigns("password := \"hunter2hunter2\"") && assigns("password = var.x9hunter2"));
    }

    #[test]
    fn elements_of_xml_and_arrows_assign() {
        for line in ["<password>hunter2hunter2</password>", "'password' => 'hunter2hunter2',"] {
            assert!(assigns(line), "{line}");
        }
        for line in
            ["<password>${PASSWORD}</password>", "<user>hunter2hunter2</user>", "if password => 1 then"]
        {
            assert!(!assigns(line), "{line}");
        }
        assert!(!assigns(&"</".repeat(1 << 16)));
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
}
