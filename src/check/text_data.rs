//! The API server's requirements for what a ConfigMap or a Secret holds.
//!
//! The rules come from apimachinery's `IsConfigMapKey` and from `ValidateConfigMap` and `ValidateSecret` of Kubernetes.

use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::{
    metadata::{Violation, shortened},
    secret_scan::is_encrypted,
};
use crate::yaml::{Mapping, Node};

/// The maximum size of the keys and values together, in bytes.
const TOTAL: usize = 1024 * 1024;
/// The maximum length of a key.
const KEY: usize = 253;
pub(super) const A_KEY: &str = "use at most 253 letters, digits, `-`, `_` and `.`";

/// Reports what the API server refuses in the content of a ConfigMap or a Secret of the core group.
pub(super) fn faults(object: &Node, kind: &str, name: &str) -> Vec<Violation> {
    let (fields, others) = match (object.get("apiVersion").and_then(Node::as_str), kind) {
        // SOPS adds its own field, which the engine removes.
        (Some("v1"), "ConfigMap") => ([("data", false), ("binaryData", true)], &["immutable", "sops"][..]),
        (Some("v1"), "Secret") => {
            ([("stringData", false), ("data", true)], &["immutable", "sops", "type"][..])
        }
        _ => return Vec::new(),
    };
    let mut faults = of_fields(object, &format!("{kind} `{name}`"), &fields.map(|(field, _)| field), others);
    let mut total = 0;
    for (field, in_base64) in fields {
        let Some(node) = object.get(field).filter(|node| !node.is_null()) else { continue };
        total += of_field(node, in_base64, &format!("`{field}` of {kind} `{name}`"), &mut faults);
    }
    faults.extend(of_both(object, &format!("{kind} `{name}`")));
    if total > TOTAL {
        faults.push(Violation {
            origin: object.get("metadata").unwrap_or(object).origin,
            message: format!("{kind} `{name}` holds {total} bytes; at most {TOTAL} are allowed"),
            hint: "split it into several objects",
        });
    }
    faults
}

/// Reports fields that the kind does not have. A server-side apply with one of them is refused.
fn of_fields(object: &Node, what: &str, data: &[&str; 2], others: &[&str]) -> Vec<Violation> {
    const OF_EVERY_OBJECT: [&str; 3] = ["apiVersion", "kind", "metadata"];
    let known =
        |name: &str| OF_EVERY_OBJECT.contains(&name) || data.contains(&name) || others.contains(&name);
    let entries = object.as_mapping().into_iter().flat_map(Mapping::iter);
    let mut faults: Vec<_> = entries
        .filter(|entry| !known(&entry.key.name))
        .map(|entry| Violation {
            origin: entry.key.origin,
            message: format!("{what} has no field `{}`", shortened(&entry.key.name)),
            hint: if data[0] == "data" {
                "put it under `data`, or remove it"
            } else {
                "put it under `stringData`, or remove it"
            },
        })
        .collect();
    if let Some(value) = object.get("immutable").filter(|value| !value.is_null() && value.as_bool().is_none())
    {
        faults.push(Violation {
            origin: value.origin,
            message: format!("`immutable` of {what} is {}, not true or false", value.kind()),
            hint: "write `immutable: true`, without quotes",
        });
    }
    if let Some(value) = object.get("type").filter(|value| !value.is_null() && value.as_str().is_none()) {
        faults.push(Violation {
            origin: value.origin,
            message: format!("`type` of {what} is {}, not text", value.kind()),
            hint: "write a type such as `Opaque`",
        });
    }
    faults
}

/// Reports a key that a ConfigMap has as text and as bytes.
fn of_both(object: &Node, what: &str) -> Option<Violation> {
    let map = |field| object.get(field).and_then(Node::as_mapping);
    let (text, bytes) = (map("data")?, map("binaryData")?);
    let entry = bytes.iter().find(|entry| text.get(&entry.key.name).is_some())?;
    Some(Violation {
        origin: entry.key.origin,
        message: format!("{what} has the key `{}` in `data` and in `binaryData`", shortened(&entry.key.name)),
        hint: "keep one of them: the API server refuses both",
    })
}

/// Checks the entries of one field, and returns their size.
fn of_field(node: &Node, in_base64: bool, what: &str, faults: &mut Vec<Violation>) -> usize {
    let mut wrong = |origin, message, hint| faults.push(Violation { origin, message, hint });
    let Some(mapping) = node.as_mapping() else {
        wrong(node.origin, format!("{what} is {}", node.kind()), "write a map of strings");
        return 0;
    };
    let mut size = 0;
    for entry in mapping.iter() {
        let key = &entry.key.name;
        if !is_key(key) {
            wrong(entry.key.origin, format!("{what} has a key that no API server accepts"), A_KEY);
        }
        match entry.value.as_str() {
            None if entry.value.is_null() => {}
            None => wrong(
                entry.value.origin,
                format!("a value in {what} is {}, not text", entry.value.kind()),
                "write it in quotes",
            ),
            Some(text) if in_base64 && !is_encrypted(text) && !is_base64(text) => {
                wrong(
                    entry.value.origin,
                    format!("a value in {what} is not base64"),
                    "encode it, or write it as plain text: `data` of a ConfigMap and `stringData` of a Secret hold text",
                );
            }
            Some(text) => size += key.len() + text.len(),
        }
    }
    size
}

/// The keys that a Secret of a type must have, and whether one of them is enough.
const KEYS_OF_TYPES: [(&str, &[&str], bool); 5] = [
    ("kubernetes.io/basic-auth", &["username", "password"], true),
    ("kubernetes.io/dockercfg", &[".dockercfg"], false),
    ("kubernetes.io/dockerconfigjson", &[".dockerconfigjson"], false),
    ("kubernetes.io/ssh-auth", &["ssh-privatekey"], false),
    ("kubernetes.io/tls", &["tls.crt", "tls.key"], false),
];
pub(super) const OF_TYPE: &str = "add it, or choose another type: the API server refuses the Secret";

/// Reports a Secret without the keys of its type. Only a whole object can lack them, not a patch.
pub(super) fn lacking(object: &Node, kind: &str, name: &str) -> Option<Violation> {
    let text = |key| object.get(key).and_then(Node::as_str);
    let of_type = text("type").filter(|_| (text("apiVersion"), kind) == (Some("v1"), "Secret"))?;
    let maps = ["data", "stringData"].map(|field| object.get(field).filter(|node| !node.is_null()));
    // Another check reports what is not a map.
    if maps.into_iter().flatten().any(|node| node.as_mapping().is_none()) {
        return None;
    }
    let missing = missing_keys(of_type, |key| maps.into_iter().flatten().any(|map| map.get(key).is_some()))?;
    Some(Violation {
        origin: object.get("type").unwrap_or(object).origin,
        message: format!("Secret `{name}` of type `{of_type}` needs {missing}"),
        hint: OF_TYPE,
    })
}

/// The keys that a Secret of this type lacks, in words.
pub(super) fn missing_keys(of_type: &str, has: impl Fn(&str) -> bool) -> Option<String> {
    let (_, keys, one_is_enough) = KEYS_OF_TYPES.iter().find(|(name, ..)| *name == of_type)?;
    let missing: Vec<_> = keys.iter().filter(|key| !has(key)).map(|key| format!("the key `{key}`")).collect();
    let is_complete = missing.is_empty() || *one_is_enough && missing.len() < keys.len();
    (!is_complete).then(|| missing.join(if *one_is_enough { " or " } else { " and " }))
}

/// Go's decoder skips line ends.
fn is_base64(text: &str) -> bool {
    STANDARD.decode(text.replace(['\n', '\r'], "")).is_ok()
}

pub(super) fn is_key(key: &str) -> bool {
    let inside = key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
    inside && !key.is_empty() && key.len() <= KEY && key != "." && !key.starts_with("..")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(kind: &str, field: &str, key: &str, value: impl Into<Node>) -> Vec<String> {
        let mut data = Mapping::new();
        data.set(key, value);
        let mut object = Mapping::new();
        object.set("apiVersion", "v1");
        object.set(field, data);
        faults(&Node::from(object), kind, "a").into_iter().map(|fault| fault.message).collect()
    }

    #[test]
    fn content_is_text_or_base64() {
        assert!(found("ConfigMap", "data", "a.b", "1").is_empty());
        assert_eq!(
            found("ConfigMap", "data", "a", 1_i64),
            ["a value in `data` of ConfigMap `a` is a number, not text"]
        );
        assert_eq!(
            found("ConfigMap", "data", "a/b", "x"),
            ["`data` of ConfigMap `a` has a key that no API server accepts"]
        );
        assert!(found("Secret", "data", "a", "aGk=\n").is_empty());
        assert!(
            found("Secret", "data", "a", "ENC[AES256_GCM,data:b2s=,iv:aW5pdGlhbGl6YXRpb24gdmVjdG9yIG9mIDMyIGJ5dGU=,tag:dGFnIG9mIDE2IGJ5dGVzIQ==,type:str]").is_empty()
        );
        assert_eq!(found("Secret", "data", "a", "hi!"), ["a value in `data` of Secret `a` is not base64"]);
        assert!(found("Secret", "stringData", "a", "hi!").is_empty());
        assert_eq!(found("ConfigMap", "stringData", "a", "x"), ["ConfigMap `a` has no field `stringData`"]);
        assert_eq!(found("Secret", "binaryData", "a", "x"), ["Secret `a` has no field `binaryData`"]);
        assert_eq!(
            found("ConfigMap", "data", "a", "x".repeat(TOTAL).as_str()),
            ["ConfigMap `a` holds 1048577 bytes; at most 1048576 are allowed"]
        );
    }
}
