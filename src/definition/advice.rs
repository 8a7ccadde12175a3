//! Hints for values that the schema of a kind rejects.

use jsonschema::JsonType;

use super::{expected::Expected, message_words::closest, pattern_words};
use crate::{note::in_words, yaml::Node};

/// The hint for a wrong value.
pub(super) fn advice(node: &Node, written: &str, expected: &Expected) -> String {
    if let Expected::OneOf(options) = expected {
        let similar = closest(node.as_str().unwrap_or_default(), options.iter().map(String::as_str));
        return similar.map_or_else(
            || format!("write {}", either(options)),
            |similar| format!("did you mean `{similar}`?"),
        );
    }
    for_type(node, written, expected).unwrap_or_else(|| for_rule(expected, "a value"))
}

/// The hint for a value of another type than expected.
fn for_type(node: &Node, written: &str, expected: &Expected) -> Option<String> {
    let single = !matches!(node.kind(), "a list" | "a map" | "null");
    let number = node.as_str().is_some_and(|text| text.parse::<f64>().is_ok());
    let takes = |wanted| expected.takes(wanted);
    Some(if takes(JsonType::String) && single && node.as_str().is_none() {
        format!("write \"{written}\": without quotes, YAML reads it as {}", node.kind())
    } else if (takes(JsonType::Number) || takes(JsonType::Integer)) && number {
        "write it without quotes".to_owned()
    } else if takes(JsonType::Array) && single {
        format!("write `[{written}]`, or `- {written}` on its own line")
    } else if takes(JsonType::Array) {
        "start each entry with `- ` on its own line".to_owned()
    } else if takes(JsonType::Object) {
        "write `key: value` pairs, one per line, indented below it".to_owned()
    } else if takes(JsonType::Boolean) {
        "write `true` or `false`, without quotes".to_owned()
    } else if takes(JsonType::Integer) {
        "write a whole number, such as 3".to_owned()
    } else {
        return None;
    })
}

fn for_rule(expected: &Expected, what: &str) -> String {
    match expected {
        Expected::Entry(entry) => for_rule(entry, "an entry"),
        Expected::Pattern(pattern) => {
            pattern_words::advice(pattern).unwrap_or("see the example in the schema").to_owned()
        }
        Expected::MostEntries(_) => {
            "remove entries that are not needed; docs/checks.md lists the limits".to_owned()
        }
        Expected::LeastEntries(_) => "add an entry, or remove the key if it is optional".to_owned(),
        _ => format!("write {what} that {}", expected.relative_clause()),
    }
}

/// Joins options with commas and "or".
pub(super) fn either(options: &[String]) -> String {
    let quoted: Vec<_> = options.iter().map(|option| format!("`{option}`")).collect();
    if quoted.is_empty() { "nothing".to_owned() } else { in_words(&quoted, "or") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_entry_is_to_be_changed_and_a_missing_one_added() {
        let node = Node::from(Vec::<Node>::new());
        let of_entry = |expected| advice(&node, "[0]", &Expected::Entry(Box::new(expected)));
        assert_eq!(of_entry(Expected::Minimum("1".to_owned())), "write an entry that is at least 1");
        assert_eq!(of_entry(Expected::MostCharacters(63)), "write an entry that has at most 63 characters");
        assert_eq!(
            advice(&node, "[]", &Expected::LeastEntries(1)),
            "add an entry, or remove the key if it is optional"
        );
    }
}
