//! What every object must have before an engine sees it.

use super::{Check, Finder, Rule};
use crate::{
    model::Subdomain,
    render::{Drawn, Object, Target},
    tree::PartId,
    yaml::Node,
};

pub(super) static RULE: Rule = Rule {
    name: "object",
    docs: "A template gave something that is no Kubernetes object, has a name that no API server takes, or lies in \
           another namespace than its part: an engine would refuse the whole folder, or touch what is not this cluster's.",
    check: Check::Objects(check),
};

fn check(drawn: &Drawn, finder: &mut Finder<'_>) {
    for object in &drawn.objects {
        let place = finder.place(&object.node, object.path.as_str());
        let text = |path: &[&str]| object.node.at(path).and_then(Node::as_str);
        let (Some(_), Some(kind), Some(name)) =
            (text(&["apiVersion"]), text(&["kind"]), text(&["metadata", "name"]))
        else {
            finder
                .notes
                .error(
                    "object",
                    place,
                    format!("{} gives something that is no Kubernetes object", object.source),
                )
                .hint("it needs apiVersion, kind and metadata.name, all of them text");
            continue;
        };
        if !(kind.starts_with(|c: char| c.is_ascii_uppercase())
            && kind.chars().all(|c| c.is_ascii_alphanumeric()))
        {
            let place = object
                .node
                .get("kind")
                .map_or_else(|| place.clone(), |node| finder.place(node, object.path.as_str()));
            finder.notes.error("object", place, format!("`{kind}` is no kind that an API can have")).hint(
                "a kind is one word in letters and digits and begins with a capital, such as ConfigMap",
            );
            continue;
        }
        let sources = &finder.input.sources;
        let at = |key: &str| {
            let node = object.node.at(&["metadata", key]).or_else(|| object.node.get("metadata"));
            node.and_then(|node| sources.place(node.origin)).unwrap_or_else(|| place.clone())
        };
        if !is_name(kind, name) {
            finder
                .notes
                .error("object", at("name"), format!("{kind} `{name}` has a name that no API server takes"))
                .hint("use lower-case letters, digits, dashes and dots, at most 253, beginning and ending with a letter or digit");
        }
        if let Some(expected) = expected_namespace(drawn, object) {
            match text(&["metadata", "namespace"]) {
                Some(found) if found == expected => {}
                found => {
                    let found = found.map_or_else(
                        || "no namespace".to_owned(),
                        |found| format!("the namespace `{found}`"),
                    );
                    finder
                        .notes
                        .error(
                            "object",
                            at("namespace"),
                            format!("{kind} `{name}` has {found}, and its part is that of `{expected}`"),
                        )
                        .hint("write `namespace: ${{ namespace.name }}` into the template's metadata");
                }
            }
        }
    }
}

/// Roles and bindings may hold colons and capitals; everything else is a DNS subdomain.
fn is_name(kind: &str, name: &str) -> bool {
    let lenient = kind.ends_with("Role")
        || kind.ends_with("RoleBinding")
        || kind == "FlowSchema"
        || kind == "PriorityLevelConfiguration";
    if lenient {
        return !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '%']);
    }
    Subdomain::new(name).is_ok()
}

/// What a stack puts beside clusters and namespaces lies in the namespace of its part.
fn expected_namespace<'a>(drawn: &'a Drawn, object: &Object) -> Option<&'a str> {
    if object.target == Target::Workload || object.engines {
        return None;
    }
    match &drawn.id {
        PartId::Root | PartId::Release(_) | PartId::Management(_) => None,
        PartId::Namespace { namespace, .. } => {
            let is_namespace = object.node.get("kind").and_then(Node::as_str) == Some("Namespace");
            (!is_namespace).then_some(namespace)
        }
        PartId::Cluster { namespace, .. } => Some(namespace),
    }
}
