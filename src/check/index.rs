//! Ensures that every object is in exactly one part.

#![expect(clippy::disallowed_types, reason = "a map that is only looked up, never iterated")]

use std::collections::{BTreeMap, HashMap};

use crate::{
    note::{At, Notes, Place},
    release::group_of,
    render::{Drawn, Object, Target},
    tree::{PartId, TreePath},
    yaml::{Node, Origin},
};

/// The objects of all parts so far.
///
/// A large fleet has a hundred thousand objects, so each is one text here. Objects in workload clusters are not kept: only
/// the part of their own cluster can contain them again.
#[derive(Debug, Default)]
pub struct Index {
    /// The objects of clusters.
    of_clusters: Files,
    /// The objects of the other parts.
    shared: Files,
}

/// The file of each object.
type Files = HashMap<Box<str>, Box<str>, ahash::RandomState>;

/// What the index needs to know of a part: enough to drop the objects before [`Index::add`].
#[derive(Debug)]
pub struct Identities {
    part: PartId,
    objects: Vec<Identity>,
}

/// What the index needs to know of an object.
#[derive(Debug)]
struct Identity {
    /// Begins with the name and the kind, as [`identity`] joins them.
    text: Box<str>,
    path: TreePath,
    origin: Origin,
    is_embedded: bool,
    /// Whether only the part of its own cluster can contain it again.
    is_own: bool,
}

impl Identity {
    fn name_and_kind(&self) -> (&str, &str) {
        let mut parts = self.text.split('\0');
        (parts.next().unwrap_or_default(), parts.next().unwrap_or_default())
    }
}

impl Identities {
    /// Reads them from a part. Parts can be read in parallel, but are added to the index one by one.
    pub fn of(drawn: &Drawn) -> Self {
        let is_of_cluster = matches!(drawn.id, PartId::Cluster { .. });
        let one = |(object, is_embedded): (&Object, bool)| Identity {
            text: identity(&drawn.id, object),
            path: object.path.clone(),
            origin: object.node.origin,
            is_embedded,
            is_own: is_of_cluster && object.target == Target::Workload,
        };
        Self { part: drawn.id.clone(), objects: objects(drawn).map(one).collect() }
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
    /// Drops the objects of parts that clusters share, so that these parts can be drawn again.
    pub fn forget_shared(&mut self) {
        self.shared.clear();
    }

    fn file(&self, object: &str) -> Option<&str> {
        self.shared.get(object).or_else(|| self.of_clusters.get(object)).map(|path| &**path)
    }

    /// Adds the objects of a part. Reports each object that this part or another already contains.
    pub fn add(&mut self, identities: Identities, notes: &mut Notes) {
        let Identities { part, objects } = identities;
        if home(&part).is_none() {
            return;
        }
        let mut own: BTreeMap<&str, &TreePath> = BTreeMap::new();
        let mut kinds: BTreeMap<&TreePath, &str> = BTreeMap::new();
        let mut new = Vec::new();
        for object in &objects {
            let ((name, kind), path) = (object.name_and_kind(), &object.path);
            if name.is_empty() || kind.is_empty() {
                // Another rule reports it.
                continue;
            }
            let other = own.get(&*object.text).map(|path| path.as_str());
            let collision = if let Some(other) = other.or_else(|| self.file(&object.text)) {
                let places = if *other == *path.as_str() {
                    format!("both times as {path}")
                } else {
                    format!("as {path} and as {other}")
                };
                Some((
                    format!("{kind} `{name}` would be written twice, {places}"),
                    "give it a unique name, for example one that contains the name of the cluster or the namespace",
                ))
            } else if object.is_embedded {
                None
            } else {
                // Parts have disjoint folders, so only objects of the same part can have the same file.
                kinds.insert(path, kind).map(|other| (
                    format!("{kind} and {other} `{name}` would be the same file: {path}"),
                    "file names are the kind and the name in lower case: spell the kind as its API does, or choose another name",
                ))
            };
            if let Some((message, hint)) = collision {
                let place = At::word_or(object.origin, || Place::file(path.as_str()));
                notes.error("duplicate-object", place, message).hint(hint);
                continue;
            }
            own.insert(&object.text, path);
            if !object.is_own {
                new.push((object.text.clone(), path.as_str().into()));
            }
        }
        let is_of_cluster = matches!(part, PartId::Cluster { .. });
        let files = if is_of_cluster { &mut self.of_clusters } else { &mut self.shared };
        files.extend(new);
    }
}
