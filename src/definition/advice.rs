//! Hints for values that the schema of a kind rejects.

use super::message_words::closest;
use crate::{note::in_words, yaml::Node};

/// The hint for a wrong value.
pub(super) fn advice(node: &Node, written: &str, expected: &str, options: &[String]) -> String {
    if !options.is_empty() {
        let similar = closest(node.as_str().unwrap_or_default(), options.iter().map(String::as_str));
        return similar.map_or_else(
            || format!("write {}", either(options)),
            |similar| format!("did you mean `{similar}`?"),
        );
    }
    let single = !matches!(node.kind(), "a list" | "a map" | "null");
    let number = node.as_str().is_some_and(|text| text.parse::<f64>().is_ok());
    match expected {
        _ if expected.contains("a string") && single && node.as_str().is_none() => {
            format!("write \"{written}\": without quotes, YAML reads it as {}", node.kind())
        }
        _ if expected.contains("number") && number => "write it without quotes".to_owned(),
        _ if expected.contains("a list") && single => {
            format!("write `[{written}]`, or `- {written}` on its own line")
        }
        _ if expected.contains("a list") => "start each entry with `- ` on its own line".to_owned(),
        _ if expected.contains("a map") => {
            "write `key: value` pairs, one per line, indented below it".to_owned()
        }
        _ if expected.contains("true or false") => "write `true` or `false`, without quotes".to_owned(),
        _ if expected.contains("must match") => "see the example in the schema".to_owned(),
        _ if expected.contains("at most") && expected.contains("entries") => {
            "remove entries that are not needed; docs/checks.md lists the limits".to_owned()
        }
        _ if expected.contains("entr") => "add an entry, or remove the key if it is optional".to_owned(),
        _ if expected.contains("a whole number") => "write a whole number, such as 3".to_owned(),
        _ => {
            let is = expected.replacen("must be", "is", 1).replacen("must have", "has", 1);
            format!("write a value that {is}")
        }
    }
}

/// Joins options with commas and "or".
pub(super) fn either(options: &[String]) -> String {
    let quoted: Vec<_> = options.iter().map(|option| format!("`{option}`")).collect();
    if quoted.is_empty() { "nothing".to_owned() } else { in_words(&quoted, "or") }
}
