//! Names the files of objects by kind and name, unique on every file system.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};

use super::Object;
use crate::{model::hex, tree::TreePath, yaml::Node};

/// `<kind>-<name>.yaml`, within the limits of file names. The checks report an object without kind or name.
pub(super) fn file_name(object: &Node) -> String {
    let text = |path: &[&str]| object.at(path).and_then(Node::as_str).unwrap_or("unnamed");
    let name: String = format!("{}-{}", text(&["kind"]).to_ascii_lowercase(), text(&["metadata", "name"]))
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '.') { c } else { '-' })
        .collect();
    format!("{}.yaml", &name[..name.len().min(200)])
}

/// Whether the files of objects have different names, as nearly always.
fn all_differ(objects: &[Object]) -> bool {
    let mut paths: Vec<&str> = objects.iter().map(|object| object.path.as_str()).collect();
    paths.sort_unstable_by_key(|path| path.len());
    let mut of_one_length = paths.chunk_by(|a, b| a.len() == b.len()).filter(|paths| paths.len() > 1);
    of_one_length.all(|paths| {
        let mut known = BTreeSet::new();
        paths.iter().all(|path| known.insert(path.to_ascii_lowercase()))
    })
}

/// Makes file names unique. Objects of the same kind and name in different namespaces or API groups would share a file, so
/// each of them gets a hash of its identity. Names that differ only in case count as equal, as on some file systems.
pub(super) fn tell_apart(objects: &mut [Object]) {
    if all_differ(objects) {
        return;
    }
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
