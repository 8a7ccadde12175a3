//! Parses sources into definitions: determines the kind of each file and reads it.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use serde::de::DeserializeOwned;

use super::{
    Addon, DefinitionKind, Fleet, Lock, NodeImages, Rollout, Stack, message_words::closest, schema::validate,
};
use crate::{
    model::Minor,
    note::{Diagnostic, Notes, Place},
    world::{Input, LOCK, is_yaml, note_no_fleet},
    yaml::{self, Node, Source, Sources},
};

/// The code of messages about a file whose kind does not belong at its path.
const WRONG_KIND: &str = "wrong-kind";

/// A definition as written, with the tree that has the places.
#[derive(Clone, Debug)]
pub struct Written<T> {
    /// The typed content.
    pub value: T,
    /// The content with places.
    pub node: Node,
    /// The file.
    pub source: Source,
}

/// A cluster definition or folder defaults. These are layers of the same type; only their merged result has a meaning.
#[derive(Clone, Debug)]
pub struct Layer {
    /// The content, validated against its schema.
    pub node: Node,
    /// The file.
    pub source: Source,
}

/// All definitions of a fleet.
#[derive(Clone, Debug)]
pub struct Definitions {
    /// The content of `stackloom.yaml`; none if it has errors.
    pub fleet: Option<Written<Fleet>>,
    /// The folders below `stacks/`, by `<provider>/<stack>`.
    pub stacks: BTreeMap<String, StackFolder>,
    /// Folder defaults, by folder.
    pub defaults: BTreeMap<String, Layer>,
    /// The cluster definitions, sorted by path.
    pub clusters: Vec<Layer>,
    /// The rollouts, sorted by path.
    pub rollouts: Vec<Written<Rollout>>,
    /// The content of `stackloom.lock`, if there is one.
    pub lock: Option<Written<Lock>>,
    /// Files that are missing or have errors. Their content is unknown, and references to it are not reported again.
    pub broken: BTreeSet<String>,
}

/// The folder of a stack.
#[derive(Clone, Debug)]
pub struct StackFolder {
    /// `stack.yaml`.
    pub stack: Written<Stack>,
    /// The files that all minors share.
    pub shared: StackFiles,
    /// The files that replace shared ones, by minor.
    pub overrides: BTreeMap<Minor, StackFiles>,
}

/// Files of a stack, by path within its folder.
#[derive(Clone, Debug, Default)]
pub struct StackFiles {
    /// `addons/<addon>/addon.yaml`, by addon.
    pub addons: BTreeMap<String, Written<Addon>>,
    /// `node-images.yaml`.
    pub node_images: Option<Written<NodeImages>>,
    /// Templates.
    pub templates: BTreeMap<String, Source>,
}

/// Parses all definitions, and reports all errors of all files to `notes`. Files without errors are parsed even if others
/// have some, so that their own problems are reported in the same run.
pub fn parse(input: &Input, notes: &mut Notes) -> Definitions {
    let sources = &input.sources;
    let mut broken = BTreeSet::new();
    let fleet = match sources.at("stackloom.yaml") {
        Some(source) => read(source, DefinitionKind::Fleet, notes),
        // The reason why it could not be read has already been reported.
        None if notes
            .iter()
            .any(|note| note.place.as_ref().is_some_and(|place| place.file == "stackloom.yaml")) =>
        {
            None
        }
        None => {
            note_no_fleet(None, notes);
            None
        }
    };
    let stacks = stacks(sources, &mut broken, notes);
    check_twins(sources, notes);
    let (defaults, clusters) = layers(sources, &mut broken, notes);
    let lock = sources.at(LOCK).and_then(|source| read(source, DefinitionKind::Lock, notes));
    let rollouts =
        sources.below("rollouts").filter_map(|source| read(source, DefinitionKind::Rollout, notes)).collect();
    Definitions { fleet, stacks, defaults, clusters, rollouts, lock, broken }
}

/// Reports `<name>.yaml` next to `<name>.yml`, because they are easily confused.
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
                format!("`{}` has the same name as this file", other.path),
            )
            .hint("keep only one of them");
    }
}

/// Reads the definitions and defaults below `clusters/`. Large fleets have thousands, so they are read in parallel.
fn layers(
    sources: &Sources,
    broken: &mut BTreeSet<String>,
    notes: &mut Notes,
) -> (BTreeMap<String, Layer>, Vec<Layer>) {
    let files: Vec<_> = sources.below("clusters").map(|source| (source, defaults_of(&source.path))).collect();
    let read = |(source, folder): &(&Source, Option<&str>)| {
        let kind = if folder.is_some() {
            DefinitionKind::ClusterDefaults
        } else {
            DefinitionKind::ClusterDefinition
        };
        let mut own = Notes::new();
        (layer(source, kind, &mut own), own)
    };
    let found: Vec<_> = files.par_iter().map(read).collect();
    let (mut defaults, mut clusters) = (BTreeMap::new(), Vec::new());
    for ((source, folder), (layer, own)) in files.iter().zip(found) {
        // What the file was to provide is unknown, and not missing.
        broken.extend(own.iter().find_map(misnamed_defaults));
        notes.append(own);
        match (layer, folder) {
            (Some(layer), Some(folder)) => drop(defaults.insert((*folder).to_owned(), layer)),
            (None, Some(_)) => drop(broken.insert(source.path.to_string())),
            (layer, None) => clusters.extend(layer),
        }
    }
    (defaults, clusters)
}

/// The folder whose defaults a file holds; none for other files.
fn defaults_of(path: &str) -> Option<&str> {
    let (folder, name) = path.rsplit_once('/')?;
    matches!(name, "_defaults.yaml" | "_defaults.yml").then_some(folder)
}

fn layer(source: &Source, kind: DefinitionKind, notes: &mut Notes) -> Option<Layer> {
    let node = document(source, kind, notes)?;
    validate(kind, &node, source, notes)?;
    Some(Layer { node, source: source.clone() })
}

/// The name that a file must have, if a message says that it holds the defaults of its folder under another one.
pub fn misnamed_defaults(note: &Diagnostic) -> Option<String> {
    let place = note.place.as_ref().filter(|place| note.code == WRONG_KIND && place.line > 0)?;
    let (folder, _) = place.file.rsplit_once('/').filter(|_| place.file.starts_with("clusters/"))?;
    let kind: String = place.source.chars().skip(place.column.saturating_sub(1)).take(place.length).collect();
    let is_defaults = kind.trim_matches(['"', '\'']) == DefinitionKind::ClusterDefaults.name();
    is_defaults.then(|| format!("{folder}/_defaults.yaml"))
}

/// Reads one definition of a given kind.
pub fn read<T: DeserializeOwned>(
    source: &Source,
    kind: DefinitionKind,
    notes: &mut Notes,
) -> Option<Written<T>> {
    let node = document(source, kind, notes)?;
    decode(source, kind, node, notes)
}

/// Validates a document and decodes it into its type.
pub fn decode<T: DeserializeOwned>(
    source: &Source,
    kind: DefinitionKind,
    node: Node,
    notes: &mut Notes,
) -> Option<Written<T>> {
    let json = validate(kind, &node, source, notes)?;
    match serde_json::from_value(json) {
        Ok(value) => Some(Written { value, node, source: source.clone() }),
        Err(error) => {
            notes.error(
                "wrong-value",
                source.place(0, 1),
                format!("this is not a valid {}: {error}", kind.name()),
            );
            None
        }
    }
}

/// Reads a document and checks whether it declares this kind, before its content is validated.
pub fn document(source: &Source, kind: DefinitionKind, notes: &mut Notes) -> Option<Node> {
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
        let note =
            notes.error(WRONG_KIND, place, format!("a file in this place must be of kind `{}`", kind.name()));
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
                .error("stray-file", Place::file(&*source.path), "this file is outside of a stack's folder")
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
            stack = read(source, DefinitionKind::Stack, notes);
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
            .hint("create one with `stackloom new stack`, or remove the folder");
    }
    Some(StackFolder { stack: stack?, shared, overrides })
}

/// Adds a file of a stack to the right collection. Files other than YAML (a README, build instructions) are ignored.
fn sort_file(
    path: &str,
    source: &Source,
    files: &mut StackFiles,
    broken: &mut BTreeSet<String>,
    notes: &mut Notes,
) {
    let parts: Vec<_> = path.split('/').collect();
    match parts.as_slice() {
        ["node-images.yaml"] => files.node_images = read(source, DefinitionKind::NodeImages, notes),
        ["addons", addon, "addon.yaml"] => match read(source, DefinitionKind::Addon, notes) {
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
    let note = notes.error("stray-file", Place::file(&*source.path), "this file does not belong in a stack");
    let first = path.split('/').next().unwrap_or_default();
    match closest(first, KNOWN.into_iter()) {
        Some(similar) if similar != first => note.hint(format!("did you mean `{similar}`?")),
        _ => note.hint(
            "a stack holds stack.yaml, node-images.yaml, cluster-class/*.yaml, namespace/*.yaml, cluster/*.yaml, \
             addons/<addon>/{addon.yaml,values.yaml,manifests/*.yaml}, and folders such as 1-35/ with the same",
        ),
    };
}
