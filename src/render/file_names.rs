//! What files of objects are called: by kind and name, and apart from each other on every system.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::Object;
use crate::{model::hex, tree::TreePath, yaml::Node};

/// `<kind>-<name>.yaml`, within what names of files can hold; an object without either is reported by the checks.
pub(super) fn file_name(object: &Node) -> String {
    let text = |path: &[&str]| object.at(path).and_then(Node::as_str).unwrap_or("unnamed");
    let name: String = format!("{}-{}", text(&["kind"]).to_ascii_lowercase(), text(&["metadata", "name"]))
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '.') { c } else { '-' })
        .collect();
    format!("{}.yaml", &name[..name.len().min(200)])
}

/// Objects of one kind and name in several namespaces or API groups would be one file: there, all of them carry a hash
/// of what tells them apart. Letters in another case are the same file to some systems.
pub(super) fn tell_apart(objects: &mut [Object]) {
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    for object in objects.iter() {
        *count.entry(object.path.as_str().to_ascii_lowercase()).or_insert(0) += 1;
    }
    for object in objects.iter_mut().filter(|object| count[&object.path.as_str().to_ascii_lowercase()] > 1) {
        let text = |path: &[&str]| object.node.at(path).and_then(Node::as_str).unwrap_or_default();
        let identity = [text(&["apiVersion"]), text(&["metadata", "namespace"]), text(&["metadata", "name"])];
        let digest = Sha256::digest(identity.join("\n").as_bytes());
        let hash = hex(&digest[..4]);
        let stem = object.path.as_str().trim_end_matches(".yaml");
        if let Some(path) = TreePath::parse(&format!("{stem}-{hash}.yaml")) {
            object.path = path;
        }
    }
}
