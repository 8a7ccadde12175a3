//! Sources to definitions: which file is what, and each of them as written.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::DeserializeOwned;

use super::{Addon, Fleet, Kind, Lock, NodeImages, Rollout, Stack, schema::validate, words::closest};
use crate::{
    model::Minor,
    note::{Notes, Place},
    world::{Input, LOCK, is_yaml},
    yaml::{self, Node, Source, Sources},
};

/// A definition as written, with the tree that knows the places.
#[derive(Clone, Debug)]
pub struct Written<T> {
    /// Its content, typed.
    pub value: T,
    /// Its content, with places.
    pub node: Node,
    /// Its file.
    pub source: Source,
}

/// A cluster's file or folder defaults: layers of one type that are merged before they mean anything.
#[derive(Clone, Debug)]
pub struct Layer {
    /// Its content, checked against its schema.
    pub node: Node,
    /// Its file.
    pub source: Source,
}

/// All definitions of a fleet.
#[derive(Clone, Debug)]
pub struct Definitions {
    /// `stackloom.yaml`; none where it is at fault.
    pub fleet: Option<Written<Fleet>>,
    /// The folders below `stacks/`, by `<provider>/<stack>`.
    pub stacks: BTreeMap<String, StackFolder>,
    /// Folder defaults, by folder.
    pub defaults: BTreeMap<String, Layer>,
    /// The cluster definitions, in order of their files.
    pub clusters: Vec<Layer>,
    /// The rollouts, in order of their files.
    pub rollouts: Vec<Written<Rollout>>,
    /// `stackloom.lock`, where there is one.
    pub lock: Option<Written<Lock>>,
    /// Files that are at fault or missing: what they say is not known, and is not missed a second time.
    pub broken: BTreeSet<String>,
}

/// A stack's folder.
#[derive(Clone, Debug)]
pub struct StackFolder {
    /// `stack.yaml`.
    pub stack: Written<Stack>,
    /// What all minors share.
    pub shared: StackFiles,
    /// What stands in the place of shared files, by minor.
    pub overrides: BTreeMap<Minor, StackFiles>,
}

/// Files of a stack, by their paths inside it.
#[derive(Clone, Debug, Default)]
pub struct StackFiles {
    /// `addons/<addon>/addon.yaml`, by addon.
    pub addons: BTreeMap<String, Written<Addon>>,
    /// `node-images.yaml`.
    pub node_images: Option<Written<NodeImages>>,
    /// Templates.
    pub templates: BTreeMap<String, Source>,
}

/// Reads all definitions; every fault of every file is in `notes`. What is sound is there also beside faulty files, so
/// that what is wrong with it is reported in the same run.
pub fn parse(input: &Input, notes: &mut Notes) -> Definitions {
    let sources = &input.sources;
    let mut broken = BTreeSet::new();
    let fleet = match sources.at("stackloom.yaml") {
        Some(source) => read(source, Kind::Fleet, notes),
        // Why it could not be read has been reported.
        None if notes
            .iter()
            .any(|note| note.place.as_ref().is_some_and(|place| place.file == "stackloom.yaml")) =>
        {
            None
        }
        None => {
            note_no_fleet(notes);
            None
        }
    };
    let stacks = stacks(sources, &mut broken, notes);
    let (mut defaults, mut clusters) = (BTreeMap::new(), Vec::new());
    check_twins(sources, notes);
    for source in sources.below("clusters") {
        let (folder, name) = source.path.rsplit_once('/').unwrap_or_default();
        if name == "_defaults.yaml" || name == "_defaults.yml" {
            match layer(source, Kind::ClusterDefaults, notes) {
                Some(layer) => drop(defaults.insert(folder.to_owned(), layer)),
                None => drop(broken.insert(source.path.to_string())),
            }
        } else {
            clusters.extend(layer(source, Kind::ClusterDefinition, notes));
        }
    }
    let lock = sources.at(LOCK).and_then(|source| read(source, Kind::Lock, notes));
    let rollouts =
        sources.below("rollouts").filter_map(|source| read(source, Kind::Rollout, notes)).collect();
    Definitions { fleet, stacks, defaults, clusters, rollouts, lock, broken }
}

/// `<name>.yaml` beside `<name>.yml`: one of the two would be taken for the other.
fn check_twins(sources: &Sources, notes: &mut Notes) {
    for source in sources.below("clusters") {
        let Some(other) =
            source.path.strip_suffix(".yml").and_then(|stem| sources.at(&format!("{stem}.yaml")))
        else {
            continue;
        };
        notes
            .error(
                "duplicate",
                Place::file(&*source.path),
                format!("`{}` stands beside this file", other.path),
            )
            .hint("keep one of them: both have the same name");
    }
}

fn layer(source: &Source, kind: Kind, notes: &mut Notes) -> Option<Layer> {
    let node = document(source, kind, notes)?;
    validate(kind, &node, source, notes)?;
    Some(Layer { node, source: source.clone() })
}

/// Reads one definition of a kind.
pub fn read<T: DeserializeOwned>(source: &Source, kind: Kind, notes: &mut Notes) -> Option<Written<T>> {
    let node = document(source, kind, notes)?;
    decode(source, kind, node, notes)
}

/// Validates a document and decodes it into its type.
pub fn decode<T: DeserializeOwned>(
    source: &Source,
    kind: Kind,
    node: Node,
    notes: &mut Notes,
) -> Option<Written<T>> {
    let json = validate(kind, &node, source, notes)?;
    match serde_json::from_value(json) {
        Ok(value) => Some(Written { value, node, source: source.clone() }),
        Err(error) => {
            notes.error("wrong-value", source.place(0, 1), format!("this is no {}: {error}", kind.name()));
            None
        }
    }
}

/// Reads the document and looks whether it is meant to be of this kind, before its content is judged as such.
pub fn document(source: &Source, kind: Kind, notes: &mut Notes) -> Option<Node> {
    let before = notes.errors();
    let node = yaml::read(source, notes);
    let Some(node) = node else {
        if notes.errors() == before {
            notes
                .error(
                    "empty-file",
                    Place::file(&*source.path),
                    format!("this file is empty, but must contain a {}", kind.name()),
                )
                .hint("write the definition, or remove the file");
        }
        return None;
    };
    if node.as_mapping().is_none() {
        let place = source.word(node.origin.offset as usize);
        notes
            .error("wrong-value", place, format!("a {} is a map, not {}", kind.name(), node.kind()))
            .hint("begin with `apiVersion: stackloom.dev/v1alpha1`");
        return None;
    }
    if let Some(found) = node.get("kind").filter(|found| found.as_str() != Some(kind.name())) {
        let place = source.word(found.origin.offset as usize);
        let note = notes.error(
            "wrong-kind",
            place,
            format!("the kind of this file is `{}` by its place", kind.name()),
        );
        match (found.as_str(), source.path.rsplit_once('/')) {
            (Some("ClusterDefaults"), Some((folder, _))) => note.hint(format!(
                "the file with a folder's defaults must be called `{folder}/_defaults.yaml`: rename it"
            )),
            _ => note
                .hint(format!("write `kind: {}`, or move the file to the folder for its kind", kind.name())),
        };
        return None;
    }
    Some(node)
}

fn stacks(
    sources: &Sources,
    broken: &mut BTreeSet<String>,
    notes: &mut Notes,
) -> BTreeMap<String, StackFolder> {
    let mut folders: BTreeMap<String, Vec<(&str, &Source)>> = BTreeMap::new();
    for source in sources.below("stacks") {
        let inside = source.path.strip_prefix("stacks/").unwrap_or_default();
        let mut parts = inside.splitn(3, '/');
        if let (Some(provider), Some(stack), Some(rest)) = (parts.next(), parts.next(), parts.next()) {
            folders.entry(format!("{provider}/{stack}")).or_default().push((rest, source));
        } else if is_yaml(inside) {
            notes
                .error("stray-file", Place::file(&*source.path), "a file outside of a stack's folder")
                .hint("stacks live in `stacks/<provider>/<stack>/`");
        }
    }
    let mut stacks = BTreeMap::new();
    for (id, files) in folders {
        match stack_folder(&id, &files, broken, notes) {
            Some(folder) => drop(stacks.insert(id, folder)),
            None => drop(broken.insert(format!("stacks/{id}/stack.yaml"))),
        }
    }
    stacks
}

fn stack_folder(
    id: &str,
    files: &[(&str, &Source)],
    broken: &mut BTreeSet<String>,
    notes: &mut Notes,
) -> Option<StackFolder> {
    let mut stack = None;
    let mut missing = true;
    let mut shared = StackFiles::default();
    let mut overrides: BTreeMap<Minor, StackFiles> = BTreeMap::new();
    for (path, source) in files {
        if *path == "stack.yaml" {
            missing = false;
            stack = read(source, Kind::Stack, notes);
            continue;
        }
        match path.split_once('/').and_then(|(first, rest)| Some((Minor::parse_dashed(first)?, rest))) {
            Some((minor, rest)) => {
                sort_file(rest, source, overrides.entry(minor).or_default(), broken, notes);
            }
            None => sort_file(path, source, &mut shared, broken, notes),
        }
    }
    if missing {
        notes
            .error(
                "no-stack",
                Place::file(format!("stacks/{id}")),
                format!("the stack `{id}` has no `stack.yaml`"),
            )
            .hint("`stackloom new stack` writes one; or remove the folder");
    }
    Some(StackFolder { stack: stack?, shared, overrides })
}

/// Puts a file of a stack where it belongs. Files that are not YAML (a README, build instructions) are ignored.
fn sort_file(
    path: &str,
    source: &Source,
    files: &mut StackFiles,
    broken: &mut BTreeSet<String>,
    notes: &mut Notes,
) {
    let parts: Vec<_> = path.split('/').collect();
    match parts.as_slice() {
        ["node-images.yaml"] => files.node_images = read(source, Kind::NodeImages, notes),
        ["addons", addon, "addon.yaml"] => match read(source, Kind::Addon, notes) {
            Some(written) => drop(files.addons.insert((*addon).to_owned(), written)),
            None => drop(broken.insert(source.path.to_string())),
        },
        ["cluster-class" | "namespace" | "cluster", file] | ["addons", _, "manifests", file]
            if is_yaml(file) =>
        {
            files.templates.insert(path.to_owned(), source.clone());
        }
        ["addons", _, "values.yaml"] => {
            files.templates.insert(path.to_owned(), source.clone());
        }
        _ if is_yaml(path) && parts.first() != Some(&"node-images") => stray(path, source, notes),
        _ => {}
    }
}

fn stray(path: &str, source: &Source, notes: &mut Notes) {
    const KNOWN: [&str; 5] = ["stack.yaml", "node-images.yaml", "cluster-class", "namespace", "addons"];
    let note = notes.error("stray-file", Place::file(&*source.path), "a stack has no use for this file");
    let first = path.split('/').next().unwrap_or_default();
    match closest(first, KNOWN.into_iter()) {
        Some(similar) if similar != first => note.hint(format!("did you mean `{similar}`?")),
        _ => note.hint(
            "a stack holds stack.yaml, node-images.yaml, cluster-class/*.yaml, namespace/*.yaml, cluster/*.yaml, \
             addons/<addon>/{addon.yaml,values.yaml,manifests/*.yaml}, and folders such as 1-35/ with the same",
        ),
    };
}

/// Says that the current folder belongs to no fleet.
pub fn note_no_fleet(notes: &mut Notes) {
    notes
        .error(
            "no-fleet",
            Place::file("stackloom.yaml"),
            "found no `stackloom.yaml` here or in a folder above",
        )
        .hint("`stackloom init` begins a fleet; `-C DIR` names the folder of one");
}
