//! Reads the files in a cluster's `.d` folder the way kustomize does.

use std::{collections::BTreeSet, path::Path};

use super::{
    Texts, kustomize_build,
    kustomize_file::{self, Refused},
    kustomize_generator::{self, MISSING},
    secret_scan::{CHANGING_FIELDS, Found, OBJECT, Spot, Tree, is_encrypted_file},
};
use crate::{
    note::{Notes, Place},
    world::{KUSTOMIZATIONS, is_sops_config},
    yaml::{RawKind, RawNode, Source, read_raw},
};

/// The `.d` folder of a definition.
pub(super) fn folder(definition: &str) -> String {
    let stem = definition.strip_suffix(".yaml").or_else(|| definition.strip_suffix(".yml"));
    format!("{}.d", stem.unwrap_or(definition))
}

/// Whether kustomize reads a file as its configuration.
pub(super) fn is_kustomization(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| KUSTOMIZATIONS.contains(&name))
}

/// Finds unencrypted literals and files that kustomize would turn into Secrets, and references to files outside the folder,
/// which the checks do not read.
pub(super) fn generated(folder: &str, texts: Texts<'_>) -> Vec<Spot> {
    let mut spots = Vec::new();
    for source in texts.beside.below(folder).filter(|source| is_kustomization(&source.path)) {
        for document in read_raw(source, &mut Notes::new()).unwrap_or_default() {
            for key in ["secretGenerator", "configMapGenerator"] {
                let generators = document.root.child(key).map(Tree::items).unwrap_or_default();
                let secret = key == "secretGenerator";
                for one in generators {
                    of_generator(one, secret, source, folder, texts, &mut spots);
                }
            }
        }
    }
    spots
}

/// The lists of a kustomize file that name files and folders.
const LISTS: [&str; 9] = [
    "bases",
    "components",
    "configurations",
    "crds",
    "generators",
    "helmCharts",
    "resources",
    "transformers",
    "validators",
];

/// What a kustomize file makes of the objects in its folder, beyond what their files say.
pub(super) enum Rewrite {
    /// It sets this field, which can change or add any object.
    Field(&'static str),
    /// It moves objects to this namespace.
    Namespace(String),
    /// It applies this file, whose name does not end like that of an object.
    File(String),
}

/// Finds how the kustomize files in a folder change its objects. `namespace` is that of the cluster.
pub(super) fn rewrites(folder: &str, namespace: &str, texts: Texts<'_>) -> Vec<(Place, Rewrite)> {
    let mut found = Vec::new();
    for source in texts.beside.below(folder).filter(|source| is_kustomization(&source.path)) {
        for document in read_raw(source, &mut Notes::new()).unwrap_or_default() {
            let root = &document.root;
            for field in CHANGING_FIELDS {
                found.extend(root.child(field).map(|node| (source.word(node.start), Rewrite::Field(field))));
            }
            let items = |key| root.child(key).map(Tree::items).unwrap_or_default();
            let generators = items("secretGenerator").iter().chain(items("configMapGenerator"));
            for set in [root].into_iter().chain(generators).filter_map(|one| one.child("namespace")) {
                let text = set.text().unwrap_or_default();
                if text != namespace && !text.is_empty() {
                    found.push((source.word(set.start), Rewrite::Namespace(text.into_owned())));
                }
            }
            for item in items("resources") {
                let text = item.text().unwrap_or_default();
                let file = joined(&source.path, &text).and_then(|path| texts.beside.at(&path));
                if file.is_some_and(|file| !is_read(&file.path)) {
                    found.push((source.word(item.start), Rewrite::File(text.into_owned())));
                }
            }
        }
    }
    found
}

/// Whether the checks read the objects in a file.
pub(super) fn is_read(path: &str) -> bool {
    crate::world::is_yaml(path)
        || is_kustomization(path)
        || Path::new(path).extension().is_some_and(|end| end == "json")
}

/// Finds what makes kustomize refuse a folder, with a hint: faults of its file, a second one, and names of files that do not
/// exist.
pub(super) fn refused(folder: &str, texts: Texts<'_>) -> Vec<Refused> {
    let mut found = Vec::new();
    let mut folders = BTreeSet::new();
    for source in texts.beside.below(folder).filter(|source| is_kustomization(&source.path)) {
        if !folders.insert(source.path.rsplit_once('/').map_or("", |(folder, _)| folder)) {
            let message = "this folder has two kustomize files".to_owned();
            let place = Place::file(&*source.path);
            found.push(Refused::new(place, message, "keep one of them: kustomize refuses both"));
        }
        found.extend(kustomize_file::faults(source));
        for document in read_raw(source, &mut Notes::new()).unwrap_or_default() {
            found.extend(kustomize_generator::faults(&document.root, source, folder, texts));
            for item in named_files(&document.root) {
                let text = item.text().unwrap_or_default();
                if text.is_empty() && matches!(item.kind, RawKind::Scalar { .. }) {
                    let message = "this entry names nothing".to_owned();
                    let hint = "remove it: kustomize refuses the whole folder";
                    found.push(Refused::new(source.word(item.start), message, hint));
                }
                if text.rsplit('/').next() == Some(".sops.yaml") {
                    let message = format!("`{text}` is the configuration of sops, not an object");
                    let hint =
                        "remove it: engines leave this file out, and kustomize refuses the whole folder";
                    found.push(Refused::new(source.word(item.start), message, hint));
                }
                let Some(path) = joined(&source.path, &text).filter(|_| !text.contains(['\n', ':'])) else {
                    continue;
                };
                let within = path.starts_with(&format!("{folder}/"));
                let exists = texts.beside.at(&path).is_some()
                    || texts.beside.below(&path).next().is_some()
                    || path == folder;
                if within && !text.is_empty() && !exists {
                    let message = format!("`{text}` does not exist");
                    found.push(Refused::new(source.word(item.start), message, MISSING));
                }
            }
        }
    }
    found.extend(kustomize_build::faults(folder, texts));
    found
}

/// The names of files and folders in a kustomize file.
fn named_files(root: &RawNode) -> impl Iterator<Item = &RawNode> {
    let lists = LISTS.into_iter().chain(["patchesStrategicMerge"]);
    let listed = lists.filter_map(|key| root.child(key)).flat_map(Tree::items);
    let fields = ["patches", "patchesJson6902", "replacements"].into_iter();
    let in_fields = fields.filter_map(|key| root.child(key)).flat_map(Tree::items);
    let paths = in_fields.chain(root.child("openapi")).filter_map(|one| one.child("path"));
    listed.chain(paths.filter(|path| path.text().is_some_and(|text| !text.is_empty())))
}

/// Whether the kustomize file of the folder itself sets the namespace of all objects; [`rewrites`] checks which one.
pub(super) fn sets_namespace(folder: &str, texts: Texts<'_>) -> bool {
    let is_of_folder = |path: &str| path.rsplit_once('/').is_some_and(|(parent, _)| parent == folder);
    let mut files =
        texts.beside.below(folder).filter(|one| is_kustomization(&one.path) && is_of_folder(&one.path));
    files.any(|source| {
        let documents = read_raw(source, &mut Notes::new()).unwrap_or_default();
        documents.iter().any(|one| one.root.child("namespace").is_some())
    })
}

/// The kustomize files of a folder that name another folder in it among their `components`.
pub(super) fn users_of_component(folder: &str, component: &str, texts: Texts<'_>) -> Vec<String> {
    let files = texts.beside.below(folder).filter(|source| is_kustomization(&source.path));
    let uses = |source: &&Source| {
        let documents = read_raw(source, &mut Notes::new()).unwrap_or_default();
        documents
            .iter()
            .flat_map(|one| one.root.child("components").map(Tree::items).unwrap_or_default())
            .any(|item| {
                item.text().and_then(|text| joined(&source.path, &text)).is_some_and(|path| path == component)
            })
    };
    files.filter(uses).map(|source| source.path.to_string()).collect()
}

/// Whether the kustomize files of a folder leave the content of its objects as it is.
pub(super) fn keeps_objects(folder: &str, texts: Texts<'_>) -> bool {
    let mut files = texts.beside.below(folder).filter(|source| is_kustomization(&source.path));
    files.all(|source| {
        let documents = read_raw(source, &mut Notes::new()).unwrap_or_default();
        let has = |field: &&str| documents.iter().any(|one| one.root.child(field).is_some());
        !CHANGING_FIELDS.iter().chain(&["secretGenerator"]).any(has)
    })
}

/// Finds places where a kustomize file refers to something outside the folder: another folder, or a URL.
pub(super) fn outside(folder: &str, texts: Texts<'_>) -> Vec<Place> {
    let mut places = Vec::new();
    for source in texts.beside.below(folder).filter(|source| is_kustomization(&source.path)) {
        for document in read_raw(source, &mut Notes::new()).unwrap_or_default() {
            let items = LISTS
                .into_iter()
                .flat_map(|key| document.root.child(key).map(Tree::items).unwrap_or_default());
            let schema = document.root.child("openapi").and_then(|openapi| openapi.child("path"));
            for item in items.chain(schema) {
                // A chart or an inline object is not a reference.
                let text = item.text().unwrap_or_default();
                let inline = text.contains('\n');
                let path = joined(&source.path, &text).filter(|_| !text.is_empty());
                let below = path
                    .as_deref()
                    .is_some_and(|path| path == folder || path.starts_with(&format!("{folder}/")));
                let address =
                    text.contains("://") || text.starts_with("git@") || text.starts_with("github.com/");
                let is_named = !text.is_empty() || !matches!(item.kind, RawKind::Scalar { .. });
                if !inline && is_named && (address || !below) {
                    places.push(source.word(item.start));
                }
            }
        }
    }
    places
}

fn of_generator(
    generator: &RawNode,
    secret: bool,
    source: &Source,
    folder: &str,
    texts: Texts<'_>,
    spots: &mut Vec<Spot>,
) {
    let spot = |place, name, what: &str| Spot { place, found: Found::new(name, what, 0) };
    let literals = generator.child("literals").map(Tree::items).unwrap_or_default();
    if secret {
        let word = |node: &RawNode| source.word(node.start);
        spots.extend(
            literals
                .iter()
                .map(|one| spot(word(one), OBJECT, "a value of a Secret that kustomize generates")),
        );
    }
    let lists = ["files", "envs"]
        .into_iter()
        .flat_map(|key| generator.child(key).map(Tree::items).unwrap_or_default());
    for named in lists.chain(generator.child("env")) {
        let Some(text) = named.text() else { continue };
        let file = text.rsplit_once('=').map_or(&*text, |(_, file)| file);
        let Some(path) = joined(&source.path, file).filter(|path| path.starts_with(&format!("{folder}/")))
        else {
            spots.push(spot(
                source.word(named.start),
                "outside-file",
                "a file outside this folder, which the check does not read",
            ));
            continue;
        };
        let beside = texts.beside.at(&path);
        if let Some(read) = beside.filter(|read| secret && !is_encrypted_file(&read.text)) {
            spots.push(spot(Place::file(&*read.path), OBJECT, "a file that kustomize turns into a Secret"));
        }
    }
}

/// Resolves a path relative to a file; none if it leads out of the fleet.
pub(super) fn joined(from: &str, to: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    if to.starts_with('/') {
        return None;
    }
    for part in to.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// An object in a file, unpacked from any lists.
pub(super) struct FolderObject {
    pub(super) group: String,
    /// Its `apiVersion`.
    pub(super) version: String,
    pub(super) kind: String,
    pub(super) place: Place,
    pub(super) node: RawNode,
}

/// The objects in a file that Flux would apply.
pub(super) fn objects(source: &Source) -> Vec<FolderObject> {
    let mut found = Vec::new();
    if is_read(&source.path) && !is_sops_config(&source.path, source.text.as_bytes()) {
        for document in read_raw(source, &mut Notes::new()).unwrap_or_default() {
            unpack(source, &document.root, "", "", &mut found);
        }
    }
    found
}

fn unpack(source: &Source, node: &RawNode, version: &str, of_list: &str, found: &mut Vec<FolderObject>) {
    let word = |key: &str, default: &str| {
        node.child(key).and_then(Tree::text).map_or_else(|| default.to_owned(), Into::into)
    };
    let (version, kind) = (word("apiVersion", version), word("kind", of_list));
    let items = node.child("items").filter(|items| matches!(items.kind, RawKind::Sequence(_)));
    if let (Some(of), Some(items)) = (kind.strip_suffix("List"), items) {
        items.items().iter().for_each(|item| unpack(source, item, &version, of, found));
        return;
    }
    let at = node.child("kind").map_or(node.start, |kind| kind.start);
    let group = crate::release::group_of(&version).to_owned();
    found.push(FolderObject { group, version, kind, place: source.word(at), node: node.clone() });
}
