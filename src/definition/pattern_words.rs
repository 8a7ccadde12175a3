//! What the patterns of the schemas mean, in words, and an example for each.

/// A pattern, what text must be to match it, and the next step.
const PATTERNS: [(&str, &str, &str); 9] = [
    (
        r"^(https?|oci)://[^/\s]\S*$",
        "an address with `https://`, `http://` or `oci://` and a host",
        "write the full address, such as `https://charts.example.org` or `oci://registry.example.org/charts`",
    ),
    (
        "^[a-zA-Z0-9][-._/a-zA-Z0-9]*$",
        "the name of a chart: letters, digits, `.`, `_`, `-` and `/`",
        "write the name as its repository has it, such as `cilium`",
    ),
    (
        "^sha256:[0-9a-f]{64}$",
        "a digest: `sha256:` and 64 hexadecimal digits",
        "take it from an earlier commit, or let `stackloom update` write it if this is stackloom.lock",
    ),
    (
        r"^(oci://[^\s@]+@sha256:[0-9a-f]{64}|git\+[a-z]+://[^\s#]+#[^\s#]+)$",
        "`oci://…@sha256:…` or `git+https://…#…`",
        "take it from an earlier commit: `stackloom pull` writes it",
    ),
    ("^[0-9]+%?$", "a number or a percentage", "write a number such as 1, or a percentage such as \"20%\""),
    (r"^\S+$", "a name without spaces", "write the name of a user or team, such as `@example/platform`"),
    (
        "^[0-9a-f]{16}$",
        "the id of a change: 16 hexadecimal digits",
        "copy it from the report of `stackloom diff`",
    ),
    (
        "^[-._a-zA-Z0-9]+$",
        "a key of a Secret: letters, digits, `-`, `.` and `_`",
        "write the key as the Secret has it, such as `values.yaml`",
    ),
    (
        r"^([a-zA-Z0-9_\-.\\/]|\[[0-9]{1,5}\])+$",
        "a path in Helm values",
        "write the keys with dots between them, such as `auth.password` or `servers[0].token`",
    ),
];

/// What text must be to match a pattern.
pub(super) fn meaning(pattern: &str) -> Option<&'static str> {
    PATTERNS.iter().find(|(known, ..)| *known == pattern).map(|(_, meaning, _)| *meaning)
}

/// The next step for text that does not match a pattern.
pub(super) fn advice(pattern: &str) -> Option<&'static str> {
    PATTERNS.iter().find(|(known, ..)| *known == pattern).map(|(.., advice)| *advice)
}

#[cfg(test)]
mod tests {
    use super::super::DefinitionKind;
    use super::*;

    fn patterns(schema: &serde_json::Value, found: &mut Vec<String>) {
        match schema {
            serde_json::Value::Object(fields) => {
                found.extend(fields.get("pattern").and_then(|one| one.as_str()).map(str::to_owned));
                fields.values().for_each(|field| patterns(field, found));
            }
            serde_json::Value::Array(items) => items.iter().for_each(|item| patterns(item, found)),
            _ => {}
        }
    }

    #[test]
    fn every_pattern_has_words() {
        let mut found = Vec::new();
        for kind in DefinitionKind::ALL {
            patterns(&kind.schema(), &mut found);
        }
        assert!(!found.is_empty());
        for pattern in found {
            assert!(meaning(&pattern).is_some() && advice(&pattern).is_some(), "{pattern}");
        }
    }
}
