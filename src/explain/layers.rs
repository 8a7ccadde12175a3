//! Finds the values that each layer of a cluster's definition sets.

use std::{
    cell::{OnceCell, RefCell},
    collections::BTreeMap,
};

use super::source::{Role, SourcePlace, spot};
use crate::{
    definition::{Definitions, Layer, OF_HEAD, layers, merged, names_release},
    yaml::{Node, Path, Segment, Value},
};

/// The layers of one cluster: the defaults of its folders from the outside in, and its own file.
#[derive(Debug)]
pub(super) struct Layers<'a> {
    definitions: &'a Definitions,
    own: &'a Layer,
    all: Vec<&'a Layer>,
    merged: OnceCell<Node>,
    /// A cache of answers, because many generated lines depend on the same few values.
    known: RefCell<BTreeMap<Path, Vec<SourcePlace>>>,
}

impl<'a> Layers<'a> {
    /// The layers of the cluster defined in a file.
    pub(super) fn of(definitions: &'a Definitions, file: &str) -> Option<Self> {
        let by_file = |layer: &Layer| (*layer.source.path).cmp(file);
        let own = &definitions.clusters[definitions.clusters.binary_search_by(by_file).ok()?];
        let (all, merged, known) = (layers(definitions, own), OnceCell::new(), RefCell::default());
        Some(Self { definitions, own, all, merged, known })
    }

    /// The definition, merged with the defaults of its folders.
    pub(super) fn merged(&self) -> &Node {
        self.merged.get_or_init(|| merged(self.definitions, self.own))
    }

    pub(super) fn file(&self, path: &str) -> Option<&'a Layer> {
        self.all.iter().find(|layer| *layer.source.path == *path).copied()
    }

    /// The path with items identified by name instead of index where possible, so that it is valid in every layer.
    pub(super) fn named(&self, path: &Path) -> Path {
        if path.segments().iter().all(|segment| matches!(segment, Segment::Key(_))) {
            return path.clone();
        }
        let (mut node, mut named) = (Some(self.merged()), Path::default());
        for segment in path.segments() {
            let next = node.and_then(|node| spot(node, &Path::default().to(segment.clone()))).map(|s| s.node);
            let name = match segment {
                Segment::Item(_) => next.and_then(|item| item.get("name")).and_then(Node::as_str),
                Segment::Key(_) => None,
            };
            named = match name {
                Some(name) => named.key(name),
                None => named.to(segment.clone()),
            };
            node = next;
        }
        named
    }

    /// The settings of a value in all layers, outermost first; the last effective one wins.
    pub(super) fn settings(&self, path: &Path) -> Vec<SourcePlace> {
        if let Some(known) = self.known.borrow().get(path) {
            return known.clone();
        }
        let settings = self.collect(path);
        self.known.borrow_mut().insert(path.clone(), settings.clone());
        settings
    }

    fn collect(&self, path: &Path) -> Vec<SourcePlace> {
        let path = self.named(path);
        let shown = shown(&path);
        let mut settings: Vec<SourcePlace> = Vec::new();
        let mut merges = false;
        let of_head = OF_HEAD.iter().any(|key| path == Path::default().key("spec").key(key));
        for layer in &self.all {
            if of_head && names_release(&layer.node) {
                overrule(&mut settings, Role::Overridden);
            }
            let reaches = reach(&layer.node, &path);
            let is_map = |node: &Node| matches!(node.value, Value::Mapping(_));
            match reaches {
                LayerEffect::Nothing => {}
                LayerEffect::Replaced => overrule(&mut settings, Role::Overridden),
                LayerEffect::Removed => overrule(&mut settings, Role::Removed),
                LayerEffect::Found => {
                    let Some(found) = spot(&layer.node, &path) else { continue };
                    let adds = merges && is_map(found.node);
                    if !adds {
                        overrule(&mut settings, Role::Overridden);
                    }
                    merges = is_map(found.node);
                    settings.push(found.source(Role::Set, shown.as_str(), &layer.source));
                }
            }
        }
        settings
    }
}

/// The path in readable form, with items identified by name.
pub(super) fn shown(path: &Path) -> String {
    let text = path.to_string();
    match path.segments() {
        [Segment::Key(spec), Segment::Key(pools), Segment::Key(pool), ..]
            if &**spec == "spec" && &**pools == "nodePools" =>
        {
            text.replacen(&format!("nodePools.{pool}"), &format!("nodePools[{pool}]"), 1)
        }
        _ => text,
    }
}

fn overrule(settings: &mut [SourcePlace], role: Role) {
    for source in settings.iter_mut().filter(|source| source.role == Role::Set) {
        *source = source.clone().aside(role);
    }
}

/// What a layer sets along a path.
enum LayerEffect {
    Nothing,
    /// A value that replaces the path's parent.
    Replaced,
    /// `null`, which removes the value.
    Removed,
    Found,
}

fn reach(root: &Node, path: &Path) -> LayerEffect {
    let mut at = Path::default();
    for segment in path.segments() {
        let Some(above) = spot(root, &at) else { return LayerEffect::Nothing };
        at = at.to(segment.clone());
        let Some(found) = spot(root, &at) else {
            let list = above.node.as_sequence().is_some();
            let map = above.node.as_mapping().is_some();
            return if list || !map { LayerEffect::Replaced } else { LayerEffect::Nothing };
        };
        if found.node.is_null() && !is_kept(&at) {
            return LayerEffect::Removed;
        }
    }
    LayerEffect::Found
}

/// Whether `null` is a value of its own at this path.
fn is_kept(path: &Path) -> bool {
    let names = path.names();
    matches!(names.as_slice(), ["spec", "raw", _, ..] | ["spec", "addons", _, "values", _, ..])
}
