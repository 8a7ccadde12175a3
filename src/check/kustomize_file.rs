//! Checks a kustomize file in a `.d` folder by itself: what kustomize refuses, and what another reader would see in it.
//!
//! The fields come from the type `Kustomization` of kustomize's API, and the rules from its `Unmarshal`, `EnforceFields` and
//! `CheckEmpty`.

use super::{metadata::shortened, secret_scan::Tree as _};
use crate::{
    note::{Notes, Place},
    yaml::{RawKind, RawNode, Source, read_raw},
};

/// The form of a field's value.
#[derive(Clone, Copy)]
enum Form {
    Text,
    List,
    Map,
}

use Form::{List, Map, Text};

const FIELDS: [(&str, Form); 34] = [
    ("apiVersion", Text),
    ("bases", List),
    ("buildMetadata", List),
    ("commonAnnotations", Map),
    ("commonLabels", Map),
    ("components", List),
    ("configMapGenerator", List),
    ("configurations", List),
    ("crds", List),
    ("generatorOptions", Map),
    ("generators", List),
    ("helmChartInflationGenerator", List),
    ("helmCharts", List),
    ("helmGlobals", Map),
    ("imageTags", List),
    ("images", List),
    ("kind", Text),
    ("labels", List),
    ("metadata", Map),
    ("namePrefix", Text),
    ("nameSuffix", Text),
    ("namespace", Text),
    ("openapi", Map),
    ("patches", List),
    ("patchesJson6902", List),
    ("patchesStrategicMerge", List),
    ("replacements", List),
    ("replicas", List),
    ("resources", List),
    ("secretGenerator", List),
    ("sortOptions", Map),
    ("transformers", List),
    ("validators", List),
    ("vars", List),
];

/// The fields of one entry of `configMapGenerator` and `secretGenerator`.
const OF_GENERATORS: [&str; 9] =
    ["behavior", "env", "envs", "files", "literals", "name", "namespace", "options", "type"];

/// A message about a kustomize file, with a hint.
pub(super) type Refused = (Place, String, &'static str);

/// Finds what makes kustomize refuse its own file, or what only some readers see.
pub(super) fn faults(source: &Source) -> Vec<Refused> {
    let documents = read_raw(source, &mut Notes::new()).unwrap_or_default();
    let mut roots = documents.iter().map(|one| &one.root).filter(|root| !is_null(root));
    let Some(root) = roots.next() else { return vec![empty(Place::file(&*source.path))] };
    let mut found = Vec::new();
    if let Some(second) = roots.next() {
        let message = "kustomize does not read a second document in its file".to_owned();
        found.push((source.word(second.start), message, "merge it into the first document"));
    }
    of_root(root, source, &mut found);
    found
}

fn is_null(node: &RawNode) -> bool {
    matches!(&node.kind, RawKind::Scalar { text, .. } if node.text().is_none() || text.is_empty())
}

fn empty(place: Place) -> Refused {
    let hint = "name the files of the folder under `resources`, or remove this file: kustomize refuses an empty file";
    (place, "this kustomize file is empty".to_owned(), hint)
}

fn of_root(root: &RawNode, source: &Source, found: &mut Vec<Refused>) {
    let RawKind::Mapping(entries) = &root.kind else {
        let message = "a kustomize file must be a map of fields".to_owned();
        found.push((source.word(root.start), message, "name the files of the folder under `resources`"));
        return;
    };
    let word = |key| root.word(key).unwrap_or_default();
    let (version, kind) = (word("apiVersion"), word("kind"));
    // Another check refuses components.
    if !matches!(&*kind, "" | "Kustomization" | "Component") {
        let place = root.child("kind").map_or(root.start, |node| node.start);
        let message = format!("a kustomize file cannot have the kind {}", shortened(&kind));
        found.push((source.word(place), message, "rename the file, or write `kind: Kustomization`"));
    } else if kind != "Component" && !matches!(&*version, "" | "kustomize.config.k8s.io/v1beta1") {
        let place = root.child("apiVersion").map_or(root.start, |node| node.start);
        let message = format!("a kustomize file cannot have the version `{}`", shortened(&version));
        found.push((source.word(place), message, "write `apiVersion: kustomize.config.k8s.io/v1beta1`"));
    }
    if entries.iter().all(|(key, _)| matches!(key.text().as_deref(), Some("apiVersion" | "kind"))) {
        found.push(empty(source.word(root.start)));
    }
    for (key, value) in entries {
        of_field(key, value, source, found);
    }
}

fn of_field(key: &RawNode, value: &RawNode, source: &Source, found: &mut Vec<Refused>) {
    const UNKNOWN: &str = "correct or remove it: kustomize refuses unknown fields, and reads those in other letters as their own";
    let name = key.text().unwrap_or_default();
    let Some((_, form)) = FIELDS.iter().find(|(field, _)| *field == name) else {
        let message = format!("a kustomize file has no field `{}`", shortened(&name));
        found.push((source.word(key.start), message, UNKNOWN));
        return;
    };
    let expected = match (form, &value.kind) {
        (Form::Text, RawKind::Scalar { .. })
        | (Form::List, RawKind::Sequence(_))
        | (Form::Map, RawKind::Mapping(_)) => None,
        _ if is_null(value) => None,
        (Form::Text, _) => Some("text"),
        (Form::List, _) => Some("a list"),
        (Form::Map, _) => Some("a map"),
    };
    if let Some(expected) = expected {
        let message = format!("`{name}` of a kustomize file must be {expected}");
        found.push((source.word(value.start), message, "correct it: kustomize refuses the whole folder"));
    }
    if matches!(&*name, "configMapGenerator" | "secretGenerator") {
        for (key, _) in value.items().iter().flat_map(keys) {
            let of_generator = key.text().unwrap_or_default();
            if !OF_GENERATORS.contains(&&*of_generator) {
                let message = format!("an entry of `{name}` has no field `{}`", shortened(&of_generator));
                found.push((source.word(key.start), message, UNKNOWN));
            }
        }
    }
}

fn keys(node: &RawNode) -> impl Iterator<Item = &(RawNode, RawNode)> {
    let entries: &[_] = if let RawKind::Mapping(entries) = &node.kind { entries } else { &[] };
    entries.iter()
}
