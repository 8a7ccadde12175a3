//! The entries that differ in a list. A merge patch replaces lists as a whole, so it does not show them.

use std::collections::BTreeMap;

use serde_json::Value;

use k8s_schema::value::{get, leaves};

/// The entries that differ in a list of named entries.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListChange {
    /// The path of the list.
    pub path: Vec<String>,
    /// The entries that are only in the list after the change.
    pub added: Vec<String>,
    /// The entries that are in both lists and differ.
    pub changed: Vec<String>,
    /// The entries that are only in the list before the change.
    pub removed: Vec<String>,
}

/// The fields that name an entry: `path` for files, `name` for most other lists.
const NAMES: [&str; 2] = ["path", "name"];

/// Compares the lists that a patch replaces.
pub(super) fn of(patch: &Value, before: &Value, after: &Value) -> Vec<ListChange> {
    let mut paths = Vec::new();
    leaves(patch, &mut Vec::new(), &mut paths);
    paths.sort();
    paths.into_iter().filter_map(|path| compared(path, before, after)).collect()
}

fn compared(path: Vec<String>, before: &Value, after: &Value) -> Option<ListChange> {
    let at: Vec<&str> = path.iter().map(String::as_str).collect();
    // A list that comes or goes has other entries than an empty one.
    let (old, new) = (get(before, &at), get(after, &at));
    let list = |value: Option<&Value>| match value {
        None | Some(Value::Null) => Some(Vec::new()),
        Some(value) => value.as_array().cloned(),
    };
    let (old, new) = (list(old)?, list(new)?);
    let (old, new) = NAMES.iter().find_map(|name| Some((named(&old, name)?, named(&new, name)?)))?;
    let keys = |of: &BTreeMap<&str, &Value>, is_meant: &dyn Fn(&str, &Value) -> bool| {
        of.iter().filter(|(key, value)| is_meant(key, value)).map(|(key, _)| (*key).to_owned()).collect()
    };
    let found = ListChange {
        added: keys(&new, &|key, _| !old.contains_key(key)),
        changed: keys(&new, &|key, value| old.get(key).is_some_and(|other| *other != value)),
        removed: keys(&old, &|key, _| !new.contains_key(key)),
        path,
    };
    let is_empty = found.added.is_empty() && found.changed.is_empty() && found.removed.is_empty();
    (!is_empty).then_some(found)
}

/// The entries by name; none if an entry has no name, or two have the same.
fn named<'a>(entries: &'a [Value], field: &str) -> Option<BTreeMap<&'a str, &'a Value>> {
    let found: BTreeMap<&str, &Value> =
        entries.iter().map(|entry| Some((entry.get(field)?.as_str()?, entry))).collect::<Option<_>>()?;
    (found.len() == entries.len()).then_some(found)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn files(entries: &Value) -> Value {
        json!({ "spec": { "files": entries } })
    }

    #[test]
    fn files_are_told_apart_by_their_path() {
        let file = |path: &str, content: &str| json!({ "path": path, "content": content });
        let before = files(&json!([file("/a", "1"), file("/b", "1"), file("/c", "1")]));
        let after = files(&json!([file("/a", "1"), file("/c", "2"), file("/d", "1")]));
        let patch = files(&after["spec"]["files"]);
        let found = of(&patch, &before, &after);
        let one = |text: &str| vec![text.to_owned()];
        let path = vec!["spec".to_owned(), "files".to_owned()];
        assert_eq!(found, [ListChange { path, added: one("/d"), changed: one("/c"), removed: one("/b") }]);
    }

    #[test]
    fn entries_without_a_name_are_not_compared() {
        for entries in
            [json!(["mkdir /a"]), json!([{ "content": "x" }]), json!([{ "path": "/a" }, { "path": "/a" }])]
        {
            let after = files(&entries);
            assert_eq!(of(&after, &files(&json!([])), &after), []);
        }
        // Only the order differs.
        let [a, b] = ["/a", "/b"].map(|path| json!({ "path": path }));
        let after = files(&json!([b, a]));
        assert_eq!(of(&after, &files(&json!([a, b])), &after), []);
    }
}
