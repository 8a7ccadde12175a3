//! Ensures that every object is in exactly one part.

#![expect(clippy::disallowed_types, reason = "a map that is only looked up, never iterated")]

use std::collections::{BTreeMap, HashMap};

use crate::{
    note::{At, Notes, Place},
    release::group_of,
    render::{Drawn, Object, Target},
    tree::{PartId, TreePath},
    yaml::Node,
};

/// The objects of all parts so far.
///
/// A large fleet has a hundred thousand objects, so each is one text here. Objects in workload clusters are not kept: only
/// the part of their own cluster can contain them again.
#[derive(Debug, Default)]
pub struct Index {
    /// The file of each object.
    seen: HashMap<Box<str>, Box<str>, ahash::RandomState>,
}

/// What identifies the objects of a part, in the order in which [`Index::add`] looks at them.
#[derive(Debug)]
pub struct Identities(Vec<Box<str>>);

impl Identities {
    /// Reads them from a part. Parts can be read in parallel, but are added to the index one by one.
    pub fn of(drawn: &Drawn) -> Self {
        Self(objects(drawn).map(|(object, _)| identity(&drawn.id, object)).collect())
    }
}

/// The objects of a part, and whether each is inside another object.
fn objects(drawn: &Drawn) -> impl Iterator<Item = (&Object, bool)> {
    let own = drawn.objects.iter().map(|object| (object, false));
    own.chain(drawn.embedded.iter().map(|object| (object, true)))
}

/// The cluster that an object is applied to, and its kind and name there. No API server accepts the separator in any of them.
fn identity(part: &PartId, object: &Object) -> Box<str> {
    let text = |path: &[&str]| object.node.at(path).and_then(Node::as_str).unwrap_or_default();
    let (management, cluster) = home(part).unwrap_or_default();
    let workload = if object.target == Target::Workload { cluster } else { None };
    let (is_workload, namespace, cluster) = match workload {
        Some((namespace, cluster)) => ("workload", namespace, cluster),
        None => ("", "", ""),
    };
    let parts = [
        text(&["metadata", "name"]),
        text(&["kind"]),
        text(&["metadata", "namespace"]),
        group_of(text(&["apiVersion"])),
        management,
        is_workload,
        namespace,
        cluster,
    ];
    parts.join("\0").into_boxed_str()
}

/// The management cluster of a part, and the namespace and name of its cluster.
fn home(part: &PartId) -> Option<(&str, Option<(&str, &str)>)> {
    match part {
        PartId::Root | PartId::Release(_) => None,
        PartId::Management(management) | PartId::Namespace { management, .. } => Some((management, None)),
        PartId::Cluster { management, namespace, cluster } => Some((management, Some((namespace, cluster)))),
    }
}

impl Index {
    /// Adds the objects of a part. Reports each object that this part or another already contains.
    pub fn add(&mut self, drawn: &Drawn, identities: Identities, notes: &mut Notes) {
        if home(&drawn.id).is_none() {
            return;
        }
        let is_of_cluster = matches!(drawn.id, PartId::Cluster { .. });
        let mut own: BTreeMap<Box<str>, &TreePath> = BTreeMap::new();
        let mut kinds: BTreeMap<&TreePath, &str> = BTreeMap::new();
        for ((object, is_embedded), identity) in objects(drawn).zip(identities.0) {
            let text = |path: &[&str]| object.node.at(path).and_then(Node::as_str).unwrap_or_default();
            let (kind, name, path) = (text(&["kind"]), text(&["metadata", "name"]), &object.path);
            let other = own.get(&identity).map(|path| path.as_str());
            let collision = if let Some(other) =
                other.or_else(|| self.seen.get(&identity).map(|path| &**path))
            {
                Some((
                    format!("{kind} `{name}` would be written twice: as {path} and as {other}"),
                    "give it a unique name, for example one that contains the name of the cluster or the namespace",
                ))
            } else if is_embedded {
                None
            } else {
                // Parts have disjoint folders, so only objects of the same part can have the same file.
                kinds.insert(path, kind).map(|other| (
                    format!("{kind} and {other} `{name}` would be the same file: {path}"),
                    "file names are the kind and the name in lower case: spell the kind as its API does, or choose another name",
                ))
            };
            if let Some((message, hint)) = collision {
                let place = At::word_or(object.node.origin, || Place::file(path.as_str()));
                notes.error("duplicate-object", place, message).hint(hint);
            } else if is_of_cluster && object.target == Target::Workload {
                own.insert(identity, path);
            } else {
                self.seen.insert(identity, path.as_str().into());
            }
        }
    }
}
