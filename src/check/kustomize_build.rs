//! Follows the kustomize files of a `.d` folder from one to the next, as kustomize does, to find objects that meet.
//!
//! The rules come from kustomize's `KustTarget`, `resWrangler` and `ResAccumulator`. What patches, transformers and other
//! plugins make of objects is unknown here, and nothing is concluded from it.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use super::{
    Texts,
    kustomize_file::{Refused, is_null},
    kustomize_folder::{is_kustomization, is_read, joined, objects},
    kustomize_generator::GENERATORS,
    kustomize_targets,
    metadata::shortened,
    object::is_lenient,
    secret_scan::{CHANGING_FIELDS, Tree},
};
use crate::{
    model::is_cluster_wide,
    note::{Notes, Place},
    release::group_of,
    world::KUSTOMIZATIONS,
    yaml::{RawNode, Source, read_raw},
};

/// The most objects of a folder, and the most folders that lead to it. Beyond these, nothing is concluded.
const OBJECTS: usize = 10_000;
const DEPTH: usize = 50;
/// Kinds whose names prefixes and suffixes do not change.
const UNCHANGED: [&str; 3] = ["APIService", "CustomResourceDefinition", "Namespace"];
const TWICE: &str = "keep one of them: kustomize refuses the whole folder";

/// What kustomize knows an object by: version, kind, namespace and name.
type Id = [String; 4];

/// An object, with all names that it had. The last one is its present name.
#[derive(Clone)]
struct Built {
    ids: Vec<Id>,
    place: Place,
}

impl Built {
    fn id(&self) -> &Id {
        self.ids.last().expect("an object has at least its first name")
    }
}

/// The objects that the kustomize file of a folder makes.
#[derive(Clone, Default)]
struct BuiltObjects {
    objects: Vec<Built>,
    /// Whether these are all.
    is_complete: bool,
}

impl BuiltObjects {
    /// The kinds and names of all objects, as kustomize knows them; none if there may be others.
    fn named(&self, root: &RawNode) -> Option<Vec<(&str, &str)>> {
        let is_complete = self.is_complete && !UNKNOWN.into_iter().any(|key| root.child(key).is_some());
        let ids = self.objects.iter().flat_map(|object| &object.ids);
        is_complete.then(|| ids.map(|[_, kind, _, name]| (kind.as_str(), name.as_str())).collect())
    }
}

/// Finds what makes kustomize refuse the files of a folder together.
pub(super) fn faults(folder: &str, texts: Texts<'_>) -> Vec<Refused> {
    let mut build = Build { root: folder, texts, made: BTreeMap::new(), open: Vec::new(), found: Vec::new() };
    for source in texts.beside.below(folder).filter(|source| is_kustomization(&source.path)) {
        if let Some((parent, _)) = source.path.rsplit_once('/') {
            build.folder(parent);
        }
    }
    build.found
}

struct Build<'a> {
    root: &'a str,
    texts: Texts<'a>,
    made: BTreeMap<String, Rc<BuiltObjects>>,
    /// The folders that lead to the present one.
    open: Vec<String>,
    found: Vec<Refused>,
}

impl Build<'_> {
    fn note(
        &mut self,
        source: &Source,
        node: &RawNode,
        message: String,
        hint: &'static str,
        first: Option<Place>,
    ) {
        self.found.push(Refused { first, ..Refused::new(source.word(node.start), message, hint) });
    }

    /// The objects of a folder with a kustomize file.
    fn folder(&mut self, path: &str) -> Rc<BuiltObjects> {
        if let Some(made) = self.made.get(path) {
            return Rc::clone(made);
        }
        let file = KUSTOMIZATIONS.iter().find_map(|name| self.texts.beside.at(&format!("{path}/{name}")));
        let documents = file.and_then(|file| read_raw(file, &mut Notes::new())).unwrap_or_default();
        let (Some(file), Some(document), true) = (file, documents.first(), self.open.len() < DEPTH) else {
            return Rc::default();
        };
        self.open.push(path.to_owned());
        let made = Rc::new(self.file(file, &document.root));
        self.open.pop();
        self.made.insert(path.to_owned(), Rc::clone(&made));
        made
    }

    fn file(&mut self, source: &Source, root: &RawNode) -> BuiltObjects {
        let mut made = BuiltObjects { objects: Vec::new(), is_complete: true };
        let mut present = BTreeMap::new();
        let mut paths = BTreeSet::new();
        let lists = ["resources", "bases"].map(|key| root.child(key).map(Tree::items).unwrap_or_default());
        for item in lists.into_iter().flatten() {
            let text = item.text().unwrap_or_default();
            let one = self.resource(source, item, &mut paths);
            made.is_complete &= one.is_complete;
            let mut is_told = false;
            for object in &one.objects {
                let Some(first) =
                    present.get(object.id()).map(|index: &usize| made.objects[*index].place.clone())
                else {
                    present.insert(object.id().clone(), made.objects.len());
                    made.objects.push(object.clone());
                    continue;
                };
                if !is_told {
                    let [_, kind, _, name] = object.id();
                    let message =
                        format!("`{}` adds {kind} `{}` a second time", shortened(&text), shortened(name));
                    self.note(source, item, message, TWICE, Some(first));
                    is_told = true;
                }
            }
            if made.objects.len() > OBJECTS {
                return BuiltObjects::default();
            }
        }
        self.generators(source, root, &mut made);
        self.changed(source, root, made)
    }

    /// The objects that an item of `resources` brings.
    fn resource(
        &mut self,
        source: &Source,
        item: &RawNode,
        paths: &mut BTreeSet<String>,
    ) -> Rc<BuiltObjects> {
        const REMOVE: &str = "remove it: kustomize refuses the whole folder";
        let text = item.text().unwrap_or_default();
        let path = joined(&source.path, &text).filter(|_| !text.contains(['\n', ':']));
        let path = path.filter(|_| !text.is_empty());
        let inside = |path: &String| path == self.root || path.starts_with(&format!("{}/", self.root));
        let Some(path) = path.filter(inside) else { return Rc::default() };
        if self.open.iter().any(|open| *open == path || open.starts_with(&format!("{path}/"))) {
            let message = format!("`{}` leads back to this folder", shortened(&text));
            self.note(source, item, message, REMOVE, None);
            return Rc::default();
        }
        let file = self.texts.beside.at(&path);
        let one = match file {
            Some(file) if is_kustomization(&file.path) => {
                let message = format!("`{}` is a kustomize file, not an object", shortened(&text));
                self.note(source, item, message, "name its folder", None);
                return Rc::default();
            }
            Some(file) => Rc::new(of_file(file)),
            None if KUSTOMIZATIONS
                .iter()
                .any(|name| self.texts.beside.at(&format!("{path}/{name}")).is_some()) =>
            {
                self.folder(&path)
            }
            None => {
                if self.texts.beside.below(&path).next().is_some() {
                    let message = format!("the folder `{}` has no kustomize file", shortened(&text));
                    self.note(
                        source,
                        item,
                        message,
                        "add a `kustomization.yaml` to it, or name its files",
                        None,
                    );
                }
                return Rc::default();
            }
        };
        if !paths.insert(path) {
            let message = format!("`{}` is listed twice", shortened(&text));
            self.note(source, item, message, TWICE, None);
            return Rc::new(BuiltObjects { is_complete: one.is_complete, ..BuiltObjects::default() });
        }
        one
    }

    /// Adds the objects that the generators of a file make.
    fn generators(&mut self, source: &Source, root: &RawNode, made: &mut BuiltObjects) {
        const NEW_NAME: &str = "give it another name, or write `behavior: merge` or `behavior: replace`";
        const BASE: &str = "write `behavior: create`, or add the object to `resources`: its name and namespace must be the same";
        let mut known: BTreeMap<Id, Place> = BTreeMap::new();
        for object in &made.objects {
            object.ids.iter().for_each(|id| drop(known.insert(id.clone(), object.place.clone())));
        }
        let all_known = made.is_complete && !UNKNOWN.into_iter().any(|key| root.child(key).is_some());
        for (field, kind) in GENERATORS {
            for entry in root.child(field).map(Tree::items).unwrap_or_default() {
                let name = entry.word("name").filter(|name| !name.is_empty());
                let Some(name) = name.filter(|_| entry.child("<<").is_none()) else {
                    made.is_complete = false;
                    continue;
                };
                let namespace = entry.word("namespace").unwrap_or_default();
                let id = id("v1", kind, &namespace, &name);
                let first = known.get(&id).cloned();
                let at = entry.child("name").unwrap_or(entry);
                match (entry.word("behavior").as_deref(), first) {
                    (Some("merge" | "replace"), Some(_)) => {}
                    (Some(behavior @ ("merge" | "replace")), None) => {
                        if all_known {
                            let verb = if behavior == "merge" { "merge into" } else { behavior };
                            let message = format!("there is no {kind} `{}` to {verb}", shortened(&name));
                            self.note(source, at, message, BASE, None);
                        }
                    }
                    (_, Some(first)) => {
                        let message = format!("there is already a {kind} `{}`", shortened(&name));
                        self.note(source, at, message, NEW_NAME, Some(first));
                    }
                    (_, None) => {
                        known.insert(id.clone(), source.word(at.start));
                        made.objects.push(Built { ids: vec![id], place: source.word(at.start) });
                    }
                }
            }
        }
    }

    /// The objects after a file has changed their names and namespaces.
    fn changed(&mut self, source: &Source, root: &RawNode, mut made: BuiltObjects) -> BuiltObjects {
        let affixes =
            ["namePrefix", "nameSuffix"].map(|key| root.child(key).and_then(Tree::text).unwrap_or_default());
        self.affixes(source, root, &made);
        self.found.extend(kustomize_targets::faults(source, root, made.named(root).as_deref()));
        if CHANGING_FIELDS.into_iter().any(|key| root.child(key).is_some()) {
            return BuiltObjects::default();
        }
        let namespace =
            root.child("namespace").filter(|node| node.text().is_some_and(|text| !text.is_empty()));
        let mut present: BTreeMap<Id, Place> = BTreeMap::new();
        let mut is_told = false;
        for object in &mut made.objects {
            let [version, kind, own, name] = object.id().clone();
            let is_wide = is_cluster_wide(group_of(&version), &kind);
            let target = namespace.filter(|_| !is_wide).and_then(Tree::text);
            let moved = id(&version, &kind, target.as_deref().unwrap_or(&own), &name);
            let first = present.insert(moved.clone(), object.place.clone());
            if let (Some(first), Some(node), false) = (first, namespace, is_told) {
                let message =
                    format!("with this namespace, two objects become the same {kind} `{}`", shortened(&name));
                self.note(source, node, message, TWICE, Some(first));
                is_told = true;
            }
            let affixed = if UNCHANGED.contains(&&*kind) {
                name
            } else {
                format!("{}{name}{}", affixes[0], affixes[1])
            };
            let [version, kind, own, _] = moved.clone();
            for id in [moved, [version, kind, own, affixed]] {
                if *object.id() != id {
                    object.ids.push(id);
                }
            }
        }
        made
    }

    /// Reports a prefix or a suffix that gives invalid names.
    fn affixes(&mut self, source: &Source, root: &RawNode, made: &BuiltObjects) {
        const A_PART: &str = "use lower-case letters, digits, dashes and dots; a prefix starts and a suffix ends with a letter or digit";
        let is_whole = self.open.len() == 1 && self.open[0] == self.root;
        let is_edge = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        let is_inside = |c: char| is_edge(c) || matches!(c, '-' | '.');
        for (key, is_prefix) in [("namePrefix", true), ("nameSuffix", false)] {
            let Some(node) = root.child(key) else { continue };
            let text = node.text().unwrap_or_default();
            let edge = if is_prefix { text.chars().next() } else { text.chars().last() };
            let is_right = text.chars().all(is_inside) && (!is_whole || edge.is_none_or(is_edge));
            let is_strict = |kind: &str| !UNCHANGED.contains(&kind) && !is_lenient(kind);
            let strict = made.objects.iter().map(Built::id).find(|[_, kind, ..]| is_strict(kind));
            if let (false, Some([_, kind, _, name])) = (is_right, strict) {
                let whole = if is_prefix { format!("{text}{name}") } else { format!("{name}{text}") };
                let message = format!(
                    "`{key}` makes {kind} `{}`, a name that no API server accepts",
                    shortened(&whole)
                );
                self.note(source, node, message, A_PART, None);
            }
        }
    }
}

/// The fields that add objects which are not known here.
const UNKNOWN: [&str; 4] = ["components", "generators", "helmChartInflationGenerator", "helmCharts"];

/// An empty namespace is the default one for kustomize.
fn id(version: &str, kind: &str, namespace: &str, name: &str) -> Id {
    let is_wide = is_cluster_wide(group_of(version), kind);
    let namespace = if is_wide || namespace == "default" { "" } else { namespace };
    [version, kind, namespace, name].map(str::to_owned)
}

/// The objects of a file. Documents without a name are not known.
fn of_file(file: &Source) -> BuiltObjects {
    let mut made = BuiltObjects { objects: Vec::new(), is_complete: is_read(&file.path) };
    for object in objects(file) {
        let metadata = object.node.child("metadata");
        let name = metadata.and_then(|metadata| metadata.word("name")).filter(|name| !name.is_empty());
        let Some(name) = name.filter(|_| !object.kind.is_empty()) else {
            made.is_complete &= is_null(&object.node);
            continue;
        };
        let namespace = metadata.and_then(|metadata| metadata.word("namespace")).unwrap_or_default();
        let id = id(&object.version, &object.kind, &namespace, &name);
        made.objects.push(Built { ids: vec![id], place: object.place });
    }
    made
}
