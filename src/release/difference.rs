//! Readable differences between two releases: the object, the field, and both values. File names, comments, formatting and
//! the release's own name aren't content, so they don't count.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    mem::discriminant,
};

use super::{Release, freeze::identity, template_node::documents, write};
use crate::{
    definition::StackTemplate,
    yaml::{self, FieldPath, ItemPair, Node, PathSegment, Value, to_json},
};

/// A component of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Component {
    /// The cluster class, the other templates of the management cluster, the Kubernetes version, and the compatibility
    /// rules.
    ClusterClass,
    ClusterAddon,
    NodeImage,
}

impl Component {
    pub const ALL: [Self; 3] = [Self::ClusterClass, Self::ClusterAddon, Self::NodeImage];

    /// The name in `metadata.yaml` and `release.yaml`.
    pub fn name(self) -> &'static str {
        match self {
            Self::ClusterClass => "clusterClass",
            Self::ClusterAddon => "clusterAddon",
            Self::NodeImage => "nodeImage",
        }
    }
}

/// What a difference is in, as far as its impact depends on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DifferenceScope {
    /// The class, the Kubernetes version, rules, migrations, requirements or node images.
    Class,
    /// The template language.
    Language,
    /// An object in `namespace/` or `cluster/`.
    Beside {
        /// Which of the two folders it is in.
        folder: &'static str,
        /// The label of the object.
        object: String,
    },
    /// The definition of this addon.
    Addon(String),
    /// What an addon installs, in words: `values of cilium`.
    Installed(String),
}

/// A field whose value differs.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The component that the field belongs to.
    pub component: Component,
    /// What the field belongs to.
    pub scope: DifferenceScope,
    /// The object, such as `KubeadmControlPlaneTemplate control-plane`.
    pub object: String,
    /// The path of the field in the object; empty for the whole object.
    pub field: String,
    /// The old value; none if the field is new.
    pub before: Option<Node>,
    /// The new value; none if the field was removed.
    pub after: Option<Node>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.object)?;
        if !self.field.is_empty() {
            write!(f, ": {}", self.field)?;
        }
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => match (lines_of(before), lines_of(after)) {
                (Some(before), Some(after)) => by_line(&before, &after, f),
                _ if discriminant(&before.value) == discriminant(&after.value) => {
                    write!(f, ": {}", from_to(&text(before), &text(after)))
                }
                // With JSON quoting, a text such as "1" and the number 1 look different.
                _ => write!(f, ": {}", from_to(&to_json(before).to_string(), &to_json(after).to_string())),
            },
            (None, Some(_)) if self.field.is_empty() => f.write_str(" is new"),
            (Some(_), None) if self.field.is_empty() => f.write_str(" is gone"),
            (None, Some(after)) => write!(f, " is new: {}", shown(after)),
            (Some(before), None) => write!(f, " is gone, was {}", shown(before)),
            (None, None) => Ok(()),
        }
    }
}

/// The greatest number of characters shown of a value.
const SHOWN: usize = 100;

/// The number of unchanged characters shown before the first difference if a value is truncated.
const BEFORE: usize = 20;

fn shown(node: &Node) -> String {
    from(0, &text(node))
}

fn text(node: &Node) -> String {
    match &node.value {
        Value::String(text) if plain(text) => text.to_string(),
        _ => to_json(node).to_string(),
    }
}

/// Cuts out the shown part of a text, starting at a character.
fn from(start: usize, text: &str) -> String {
    let mut left = text.chars().skip(start);
    let shown: String = left.by_ref().take(SHOWN).collect();
    let (before, after) = (if start > 0 { "…" } else { "" }, if left.next().is_some() { "…" } else { "" });
    format!("{before}{shown}{after}")
}

/// Shows two texts such that the difference is visible.
fn from_to(before: &str, after: &str) -> String {
    let same = before.chars().zip(after.chars()).take_while(|(a, b)| a == b).count();
    let is_long = before.chars().count().max(after.chars().count()) > SHOWN;
    let start = if is_long { same.saturating_sub(BEFORE) } else { 0 };
    format!("{} → {}", from(start, before), from(start, after))
}

fn plain(text: &str) -> bool {
    !text.is_empty() && text.trim() == text && !text.contains(char::is_control)
}

/// Splits a text into lines if it has more than one.
fn lines_of(node: &Node) -> Option<Vec<&str>> {
    let text = node.as_str()?;
    text.trim_end().contains('\n').then(|| text.lines().collect())
}

/// Writes the first line that differs, and the number of further ones.
fn by_line(before: &[&str], after: &[&str], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let same = before.iter().zip(after).take_while(|(a, b)| a == b).count();
    let rest = |lines: &[&str]| lines.len() - same;
    let same_end =
        before[same..].iter().rev().zip(after[same..].iter().rev()).take_while(|(a, b)| a == b).count();
    let line = |lines: &[&str], end: usize| {
        if rest(lines) > end { text(&Node::from(lines[same].trim())) } else { "nothing".to_owned() }
    };
    write!(f, ", line {}: {}", same + 1, from_to(&line(before, same_end), &line(after, same_end)))?;
    match (rest(before).max(rest(after)) - same_end).saturating_sub(1) {
        0 => Ok(()),
        1 => f.write_str(", and one more line"),
        more => write!(f, ", and {more} more lines"),
    }
}

/// Finds all differences, component by component.
pub fn differences(old: &Release, new: &Release) -> Vec<Difference> {
    let (before, after) = (things(old), things(new));
    let mut found = Vec::new();
    let all: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    for key in all {
        let (component, object) = key;
        let (before, after) = (before.get(key), after.get(key));
        let Some((scope, _)) = before.or(after) else { continue };
        let mut add = |field: &FieldPath, before: Option<&Node>, after: Option<&Node>| {
            found.push(Difference {
                component: *component,
                scope: scope.clone(),
                object: object.clone(),
                field: shown_path(field),
                before: before.cloned(),
                after: after.cloned(),
            });
        };
        yaml::differences(before.map(|(_, node)| node), after.map(|(_, node)| node), paired, &mut add);
    }
    found.extend(locked_differences(old, new));
    found
}

/// Finds charts that were republished under a version that both releases list. A digest that only one of them has is no
/// difference, because it doesn't mean that the chart changed.
pub(super) fn locked_differences(old: &Release, new: &Release) -> Vec<Difference> {
    let mut found = Vec::new();
    for one in &new.addons {
        let Some(before) = old.addon(one.addon.name.as_str()) else { continue };
        for (version, locked) in one.locked.iter().filter(|_| before.addon.chart == one.addon.chart) {
            let Some(before) = before.locked.get(version).filter(|before| before.digest != locked.digest)
            else {
                continue;
            };
            found.push(Difference {
                component: Component::ClusterAddon,
                scope: DifferenceScope::Addon(one.addon.name.to_string()),
                object: format!("addon {}", one.addon.name),
                field: format!("digest of {version}"),
                before: Some(Node::from(before.digest.as_str())),
                after: Some(Node::from(locked.digest.as_str())),
            });
        }
    }
    found
}

type Things = BTreeMap<(Component, String), (DifferenceScope, Node)>;

/// The parts of a release, by readable label.
fn things(release: &Release) -> Things {
    let mut things = Things::new();
    let mut add = |component, scope: DifferenceScope, label: String, node: Node| {
        let taken = |things: &Things, label: &str| things.contains_key(&(component, label.to_owned()));
        let mut own = label.clone();
        let mut number = 2;
        while taken(&things, &own) {
            own = format!("{label} ({number})");
            number += 1;
        }
        things.insert((component, own), (scope, node));
    };
    add(
        Component::ClusterClass,
        DifferenceScope::Class,
        "Kubernetes".to_owned(),
        Node::from(release.kubernetes.to_string()),
    );
    add(
        Component::ClusterClass,
        DifferenceScope::Language,
        "template language".to_owned(),
        Node::from(i64::from(release.language)),
    );
    for object in release.nameless() {
        add(Component::ClusterClass, DifferenceScope::Class, label(&object, &release.stand_in()), object);
    }
    for (folder, templates) in [("namespace", &release.namespace), ("cluster", &release.cluster)] {
        for node in nodes(templates) {
            let scope = DifferenceScope::Beside { folder, object: label(&node, "") };
            add(Component::ClusterClass, scope, format!("{folder}: {}", label(&node, "")), node);
        }
    }
    for rule in &release.compatibility {
        add(
            Component::ClusterClass,
            DifferenceScope::Class,
            format!("compatibility rule {}", rule.name),
            write::rule(rule),
        );
    }
    for one in &release.migrations {
        add(
            Component::ClusterClass,
            DifferenceScope::Class,
            format!("migration of {}", one.variable),
            write::migration(one),
        );
    }
    for one in release.declared_requirements() {
        add(Component::ClusterClass, DifferenceScope::Class, one.clone(), Node::from(one));
    }
    addon_things(release, &mut add);
    let images: Vec<_> = release.images.iter().map(write::image).collect();
    add(Component::NodeImage, DifferenceScope::Class, "images".to_owned(), images.into());
    things
}

fn addon_things(release: &Release, add: &mut impl FnMut(Component, DifferenceScope, String, Node)) {
    for one in &release.addons {
        let name = &one.addon.name;
        add(
            Component::ClusterAddon,
            DifferenceScope::Addon(name.to_string()),
            format!("addon {name}"),
            write::addon_node(&one.addon, one.version.as_ref()),
        );
        let installed = |what: &str| DifferenceScope::Installed(format!("{what} of {name}"));
        for values in one.values.iter().flat_map(|values| documents(&values.template)) {
            add(Component::ClusterAddon, installed("values"), format!("values of {name}"), values);
        }
        for node in nodes(&one.manifests) {
            add(
                Component::ClusterAddon,
                installed("manifests"),
                format!("manifests of {name}: {}", label(&node, "")),
                node,
            );
        }
    }
}

fn nodes(templates: &[StackTemplate]) -> Vec<Node> {
    let mut nodes: Vec<_> = templates.iter().flat_map(|one| documents(&one.template)).collect();
    nodes.sort_by_cached_key(|node| label(node, ""));
    nodes
}

/// The label `<kind> <name>`, without the prefix of the release's name.
pub(super) fn label(object: &Node, release: &str) -> String {
    let (kind, name) = identity(object);
    let name = name.strip_prefix(release).unwrap_or(&name).trim_start_matches('-');
    format!("{kind} {name}").trim().to_owned()
}

/// The path of a field, as the notes of releases write it.
fn shown_path(path: &FieldPath) -> String {
    let mut shown = String::new();
    for step in &path.0 {
        match step {
            PathSegment::Key(name) if shown.is_empty() => shown.push_str(name),
            PathSegment::Key(name) => shown.extend([".", name]),
            PathSegment::Named(name) => shown.extend(["[", name, "]"]),
            PathSegment::Item(at) => shown.extend(["[", &at.to_string(), "]"]),
        }
    }
    shown
}

fn is_scalar(node: &Node) -> bool {
    node.as_mapping().is_none() && node.as_sequence().is_none()
}

/// Keys that identify list items, provided that all items have the key and no two have the same value.
const KEYS: [&str; 7] = ["name", "class", "version", "secret", "configMap", "path", "key"];

/// Pairs corresponding items of two lists: by an identifying key, or else by position. Lists of scalars are shown as a whole.
fn paired<'a>(old: &'a [Node], new: &'a [Node]) -> Option<Vec<ItemPair<'a>>> {
    if old.iter().chain(new).all(is_scalar) {
        return None;
    }
    for key in KEYS {
        if let (Some(before), Some(after)) = (keyed(old, key), keyed(new, key))
            && before.keys().any(|name| after.contains_key(name))
        {
            let names: BTreeSet<_> = before.keys().chain(after.keys()).copied().collect();
            let pair = |name: &str| {
                let step = PathSegment::Named(name.to_owned());
                (step, before.get(name).copied(), after.get(name).copied())
            };
            return Some(names.into_iter().map(pair).collect());
        }
    }
    let pair = |at: usize| (PathSegment::Item(at), old.get(at), new.get(at));
    Some((0..old.len().max(new.len())).map(pair).collect())
}

fn keyed<'a>(items: &'a [Node], key: &str) -> Option<BTreeMap<&'a str, &'a Node>> {
    let mut found = BTreeMap::new();
    for item in items {
        if found.insert(item.get(key)?.as_str()?, item).is_some() {
            return None;
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::{Origin, from_json};

    fn lines(before: &serde_json::Value, after: &serde_json::Value) -> Vec<String> {
        let node = |json| from_json(json, Origin::NOWHERE);
        let mut lines = Vec::new();
        let mut add = |field: &FieldPath, before: Option<&Node>, after: Option<&Node>| {
            let difference = Difference {
                component: Component::ClusterClass,
                scope: DifferenceScope::Class,
                object: "Class".to_owned(),
                field: shown_path(field),
                before: before.cloned(),
                after: after.cloned(),
            };
            lines.push(difference.to_string());
        };
        yaml::differences(Some(&node(before)), Some(&node(after)), paired, &mut add);
        lines
    }

    #[test]
    fn a_field_is_reported_with_what_it_was_and_is() {
        let before = serde_json::json!({ "spec": { "a": 1, "b": "x", "gone": [1], "same": {} } });
        let after = serde_json::json!({ "spec": { "a": 2, "b": "y z", "same": {}, "new": true } });
        assert_eq!(
            lines(&before, &after),
            [
                "Class: spec.a: 1 → 2",
                "Class: spec.b: x → y z",
                "Class: spec.gone is gone, was [1]",
                "Class: spec.new is new: true",
            ]
        );
    }

    #[test]
    fn what_differs_far_behind_is_seen() {
        let long = |end: &str| format!("{}{end}", "x".repeat(200));
        let before = serde_json::json!({ "a": long("one"), "b": format!("first\n{}\n", long("one")) });
        let after = serde_json::json!({ "a": long("two"), "b": format!("first\n{}\n", long("two")) });
        let around = format!("…{0}one → …{0}two", "x".repeat(20));
        assert_eq!(
            lines(&before, &after),
            [format!("Class: a: {around}"), format!("Class: b, line 2: {around}")]
        );
    }

    #[test]
    fn another_type_is_seen() {
        let before = serde_json::json!({ "a": "2", "b": true, "c": "x" });
        let after = serde_json::json!({ "a": 2, "b": "true", "c": ["x"] });
        assert_eq!(
            lines(&before, &after),
            [r#"Class: a: "2" → 2"#, r#"Class: b: true → "true""#, r#"Class: c: "x" → ["x"]"#]
        );
    }

    #[test]
    fn items_of_lists_are_known_by_name() {
        let before = serde_json::json!({ "v": [{ "name": "a", "x": 1 }, { "name": "b", "x": 1 }] });
        let after = serde_json::json!({ "v": [{ "name": "b", "x": 2 }, { "name": "c", "x": 1 }] });
        assert_eq!(
            lines(&before, &after),
            [
                "Class: v[a] is gone, was {\"name\":\"a\",\"x\":1}",
                "Class: v[b].x: 1 → 2",
                "Class: v[c] is new: {\"name\":\"c\",\"x\":1}",
            ]
        );
        let before = serde_json::json!({ "v": [{ "name": "node-v1.35.1", "x": 1 }] });
        let after = serde_json::json!({ "v": [{ "name": "node-v1.35.2", "x": 1 }] });
        assert_eq!(lines(&before, &after), ["Class: v[0].name: node-v1.35.1 → node-v1.35.2"]);
    }

    #[test]
    fn long_texts_are_reported_by_line() {
        let before = serde_json::json!({ "file": "one\ntwo\nthree\nfour\n" });
        let after = serde_json::json!({ "file": "one\n2\nthree\nfour\n" });
        assert_eq!(lines(&before, &after), ["Class: file, line 2: two → 2"]);
        let longer = serde_json::json!({ "file": "one\ntwo\nthree\nfour\nfive\nsix\n" });
        assert_eq!(lines(&before, &longer), ["Class: file, line 5: nothing → five, and one more line"]);
    }
}
