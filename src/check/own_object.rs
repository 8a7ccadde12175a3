//! Checks the objects in a cluster's `.d` folder by themselves. The folder is applied as a whole, so one object that the API
//! server refuses blocks all of it.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Finder, beside_engine, beside_files, health_check,
    kustomize_folder::{self, FolderObject, Rewrite},
    metadata::{self, KUSTOMIZE, Violation, is_kind},
    object::{A_KIND, A_NAME, COMPLETE, is_name},
    object_schema, other_cluster,
    secret_scan::{KIND, KUSTOMIZE_FIELD, Tree as _, allowed, is_encrypted},
    text_data,
};
use crate::{
    model::is_cluster_wide,
    note::{Notes, Place},
    plan::ClusterPlan,
    release::{full_kind, is_namespaced},
    render::needs_namespaces,
    world::is_yaml,
    yaml::{Node, Plain, RawKind, RawNode, Source, Style, directives, resolve_plain},
};

/// The annotation of objects that configure a function of kustomize.
const FUNCTION: &str = "config.kubernetes.io/function";

/// A plain value that has no type.
const NOTHING: &str = "null";

/// What is found of the folder as a whole.
struct Folder<'a> {
    path: &'a str,
    /// The cluster and its namespace.
    cluster: &'a str,
    namespace: &'a str,
    /// Whether every document is applied as it is. With a kustomize file, a document can be a patch, or change its name.
    all_applied: bool,
    /// Whether the objects that are applied are as written, but for names, namespaces and labels.
    keeps_objects: bool,
    /// Whether a kustomize file gives all objects the namespace of the cluster.
    sets_namespace: bool,
    /// Whether the engine refuses an object without a namespace.
    needs_namespaces: bool,
    /// The objects so far: group, kind, namespace and name, with the place of each.
    seen: BTreeMap<[String; 4], Place>,
}

pub(super) fn check(plan: &ClusterPlan, _: &Node, finder: &mut Finder<'_>) {
    let texts = finder.texts;
    let path = kustomize_folder::folder(&plan.cluster.file);
    let kustomized = texts.beside.below(&path).any(|source| kustomize_folder::is_kustomization(&source.path));
    let mut folder = Folder {
        path: &path,
        cluster: plan.cluster.name.as_str(),
        namespace: plan.cluster.namespace.as_str(),
        all_applied: !kustomized,
        keeps_objects: kustomize_folder::keeps_objects(&path, texts),
        sets_namespace: kustomize_folder::sets_namespace(&path, texts),
        needs_namespaces: needs_namespaces(&plan.cluster.management),
        seen: BTreeMap::new(),
    };
    for source in texts.beside.below(&path) {
        // Files of these folders are read even if they are not text, to be searched for secrets.
        if let Some(at) = source.text.find(char::REPLACEMENT_CHARACTER).filter(|_| is_yaml(&source.path)) {
            finder
                .notes
                .error("object", hidden(source.word(at)), "this file is not UTF-8 text")
                .hint("save it as UTF-8: the engine cannot read it, and refuses the whole folder");
        }
        check_directives(source, finder);
        for object in kustomize_folder::objects(source) {
            check_object(&object, source, &mut folder, finder);
        }
    }
    beside_engine::check(plan, &path, finder);
    beside_files::check(plan, &path, finder);
    for refused in kustomize_folder::refused(&path, texts) {
        let note = finder.notes.error("object", hidden(refused.place), refused.message);
        if let Some(first) = refused.first {
            note.related("first here", hidden(first));
        }
        note.hint(refused.hint);
    }
    for (place, rewrite) in kustomize_folder::rewrites(&path, folder.namespace, texts) {
        note_rewrite(place, &rewrite, folder.namespace, finder);
    }
    for spot in kustomize_folder::outside(&path, texts) {
        finder
            .notes
            .error(
                "object",
                hidden(spot),
                "this path leaves the folder, and the engine would apply what it finds there",
            )
            .hint("copy the objects into this folder, where they are reviewed");
    }
}

/// The YAML readers of Kubernetes and of kustomize know version 1.1 only (`parserc.go` of go-yaml).
fn check_directives(source: &Source, finder: &mut Finder<'_>) {
    let is_newer = |line: &str| line.split_whitespace().nth(1) == Some("1.2") && line.starts_with("%YAML");
    let newer = directives(&source.text).filter(|(_, line)| is_yaml(&source.path) && is_newer(line));
    for (offset, line) in newer {
        finder
            .notes
            .error(
                "object",
                source.place(offset, line.len()),
                "the engine cannot read YAML with this directive",
            )
            .hint("remove the line: the engine refuses the whole folder");
    }
}

/// A place without its line, which may hold a secret.
fn hidden(place: Place) -> Place {
    Place { source: String::new(), ..place }
}

fn check_object(object: &FolderObject, source: &Source, folder: &mut Folder<'_>, finder: &mut Finder<'_>) {
    if let Some(key) = repeated_key(&object.node) {
        let message = format!("the key `{}` occurs twice in one map", key.text().unwrap_or_default());
        finder
            .notes
            .error("object", hidden(source.word(key.start)), message)
            .hint("keep one of them: readers disagree about which one counts, and the engine refuses the whole folder");
    }
    if object.group == KUSTOMIZE || kustomize_folder::is_kustomization(&source.path) {
        let is_own = kustomize_folder::is_kustomization(&source.path);
        if !is_own || object.kind == "Component" && !is_allowed_component(source, folder, finder) {
            finder
                .notes
                .error("object", hidden(object.place.clone()), format!("a kustomize {} is not allowed here", object.kind))
                .hint("it changes how the engine builds the whole folder: only a `kustomization.yaml` of kind Kustomization may do that");
        }
        return;
    }
    let applied = folder.all_applied && is_yaml(&source.path);
    let Some((node, without)) = read_leniently(&object.node, source, finder) else {
        check_raw(object, applied, source, folder, finder);
        return;
    };
    // Lists with items were unpacked.
    if object.kind.ends_with("List") && metadata::is_no_object(&node).is_some() {
        finder
            .notes
            .error("object", hidden(object.place.clone()), format!("this {} has no items", object.kind))
            .hint("write each object as a document of its own, with `---` between them");
        return;
    }
    let name = node.at(&["metadata", "name"]).and_then(Node::as_str).unwrap_or_default();
    if let Some((message, hint)) = unidentified(&node, object, name, applied) {
        finder.notes.error("object", hidden(object.place.clone()), message).hint(hint);
    } else if applied && !node.is_null() {
        let namespace = node.at(&["metadata", "namespace"]).and_then(Node::as_str);
        check_namespace(namespace, object, name, folder, finder);
        check_twice(&node, object, name, folder, finder);
    } else if folder.all_applied && !is_yaml(&source.path) {
        if !object.kind.is_empty() && !name.is_empty() {
            check_twice(&node, object, name, folder, finder);
        }
    } else if !applied && !folder.sets_namespace && is_yaml(&source.path) {
        // A kustomize file applies the objects that it names as they are.
        let namespace = node.at(&["metadata", "namespace"]).and_then(Node::as_str);
        if namespace.is_some() {
            check_namespace(namespace, object, name, folder, finder);
        }
    }
    let mut faults = metadata::faults(&node, &object.kind, name);
    faults.extend(function(&node, &object.kind, name).filter(|_| applied));
    if folder.keeps_objects {
        faults.extend(text_data::lacking(&node, &object.kind, name));
        faults.extend(object_schema::faults(without.as_ref().unwrap_or(&node), without.is_none()));
        faults.extend(other_cluster::faults(&node, &object.group, &object.kind, folder.cluster));
    }
    for fault in faults {
        let place = hidden(source.word(fault.origin.offset as usize));
        finder.notes.error("object", place, fault.message).hint(fault.hint);
    }
    let (owner, found) = health_check::of_object(&node);
    for met in found {
        let place = hidden(source.word(met.status.origin.offset as usize));
        finder.notes.warning("health-check", place, met.message(&owner)).hint(health_check::HINT);
    }
}

/// Whether a kustomize file of the folder uses a Component, and may do so.
fn is_allowed_component(source: &Source, folder: &Folder<'_>, finder: &mut Finder<'_>) -> bool {
    let (own, _) = source.path.rsplit_once('/').unwrap_or_default();
    let users = kustomize_folder::users_of_component(folder.path, own, finder.texts);
    let rule = format!("{KUSTOMIZE_FIELD}components");
    users.iter().any(|file| allowed(finder, file, &rule).0)
}

/// An object that configures a function of kustomize is meant to be run, not applied.
fn function(node: &Node, kind: &str, name: &str) -> Option<Violation> {
    let annotation = node.at(&["metadata", "annotations"])?.as_mapping()?.entry(FUNCTION)?;
    Some(Violation {
        origin: annotation.key.origin,
        message: format!("{kind} `{name}` configures a function of kustomize, which no engine runs here"),
        hint: "write the objects that the function makes, and remove this one",
    })
}

/// Reads an object in which plain values may be ambiguous, such as `0644`. Where the API server takes text alone, they must
/// be in quotes. If there are any, a second node is without them: their type depends on the reader.
fn read_leniently(raw: &RawNode, source: &Source, finder: &mut Finder<'_>) -> Option<(Node, Option<Node>)> {
    if let Some(node) = Node::from_raw(raw, source, &mut Notes::new()) {
        return Some((node, None));
    }
    let kind = raw.word("kind").unwrap_or_default();
    let of_text: &[&str] =
        if matches!(&*kind, "ConfigMap" | "Secret") { &["data", "stringData", "binaryData"] } else { &[] };
    let mut open = Vec::new();
    for key in ["apiVersion", "kind", "metadata"].iter().chain(of_text) {
        raw.child(key).into_iter().for_each(|node| ambiguous(node, &mut open));
    }
    for (node, why) in open {
        // The value may be a secret.
        let message = format!("this value is {why}");
        finder
            .notes
            .error("object", hidden(source.word(node.start)), message)
            .hint("write it in quotes: only text is valid here");
    }
    let without = Node::from_raw(&with_ambiguous(raw, Some(NOTHING)), source, &mut Notes::new());
    let mut readable = with_ambiguous(raw, None);
    if let RawKind::Mapping(entries) = &mut readable.kind {
        // A boolean for the API server, whatever its spelling.
        entries.retain(|(key, _)| key.text().as_deref() != Some("immutable"));
    }
    Some((Node::from_raw(&readable, source, &mut Notes::new())?, without))
}

/// The plain values that YAML readers understand differently.
fn ambiguous<'a>(node: &'a RawNode, found: &mut Vec<(&'a RawNode, &'static str)>) {
    match &node.kind {
        RawKind::Scalar { text, style: Style::Plain } => {
            if let Plain::Ambiguous(why) = resolve_plain(text) {
                found.push((node, why));
            }
        }
        RawKind::Scalar { .. } => {}
        RawKind::Sequence(items) => items.iter().for_each(|item| ambiguous(item, found)),
        RawKind::Mapping(entries) => entries.iter().for_each(|(_, value)| ambiguous(value, found)),
    }
}

/// The same tree, with ambiguous scalars in quotes; or, if it is given, with another value instead.
fn with_ambiguous(node: &RawNode, instead: Option<&str>) -> RawNode {
    let kind = match &node.kind {
        RawKind::Scalar { text, style: Style::Plain }
            if matches!(resolve_plain(text), Plain::Ambiguous(_)) =>
        {
            let style = if instead.is_some() { Style::Plain } else { Style::Quoted };
            RawKind::Scalar { text: instead.unwrap_or(text).to_owned(), style }
        }
        RawKind::Scalar { .. } => node.kind.clone(),
        RawKind::Sequence(items) => {
            RawKind::Sequence(items.iter().map(|item| with_ambiguous(item, instead)).collect())
        }
        RawKind::Mapping(entries) => {
            let of = |(key, value)| (with_ambiguous(key, None), with_ambiguous(value, instead));
            RawKind::Mapping(entries.iter().map(|(key, value)| of((key, value))).collect())
        }
    };
    RawNode { kind, start: node.start, end: node.end }
}

/// A key that is a list or a map. JSON, which the API server reads, has none.
fn complex_key(node: &RawNode) -> Option<&RawNode> {
    let RawKind::Mapping(entries) = &node.kind else { return node.items().iter().find_map(complex_key) };
    entries.iter().find_map(|(key, value)| match &key.kind {
        RawKind::Scalar { .. } => complex_key(value),
        RawKind::Sequence(_) | RawKind::Mapping(_) => Some(key),
    })
}

/// Checks an object that this program cannot read.
fn check_raw(
    object: &FolderObject,
    applied: bool,
    source: &Source,
    folder: &Folder<'_>,
    finder: &mut Finder<'_>,
) {
    let metadata = object.node.child("metadata");
    if let Some(key) = complex_key(&object.node) {
        finder
            .notes
            .error(
                "object",
                hidden(source.word(key.start)),
                "a key of this object is a list or a map, not text",
            )
            .hint(
                "write text for the key: the engine cannot read this file, and applies nothing of the folder",
            );
        return;
    }
    if [Some(&object.node), metadata].into_iter().flatten().any(|map| map.child("<<").is_some()) {
        finder
            .notes
            .error("object", hidden(object.place.clone()), "a merge key (`<<`) hides what this object is")
            .hint("write out the entries that identify the object: kind, name and namespace");
    } else if applied {
        let word = |key| metadata.and_then(|metadata| metadata.word(key));
        let (name, namespace) = (word("name").unwrap_or_default(), word("namespace"));
        check_namespace(namespace.as_deref(), object, &name, folder, finder);
    } else if !folder.sets_namespace
        && let Some(namespace) = metadata.and_then(|metadata| metadata.word("namespace"))
    {
        let name = metadata.and_then(|metadata| metadata.word("name")).unwrap_or_default();
        check_namespace(Some(&namespace), object, &name, folder, finder);
    }
}

/// A key that occurs twice in one map of an object.
fn repeated_key(node: &RawNode) -> Option<&RawNode> {
    let RawKind::Mapping(entries) = &node.kind else { return node.items().iter().find_map(repeated_key) };
    let mut seen = BTreeSet::new();
    entries.iter().find_map(|(key, value)| {
        let is_new = key.text().is_none_or(|text| seen.insert(text.into_owned()));
        if is_new { repeated_key(value) } else { Some(key) }
    })
}

/// Reports that a kustomize file changes what the checks have read.
fn note_rewrite(place: Place, rewrite: &Rewrite, own: &str, finder: &mut Finder<'_>) {
    match rewrite {
        Rewrite::Field(field) => {
            let (is_allowed, hint) = allowed(finder, &place.file, &format!("{KUSTOMIZE_FIELD}{field}"));
            if is_allowed {
                return;
            }
            let (message, advice) = if *field == "validators" {
                (
                    "`validators` in a kustomize file runs programs, which nothing checks".to_owned(),
                    "remove it",
                )
            } else {
                (
                    format!(
                        "`{field}` in a kustomize file can change and add objects, and nothing checks what it makes of them"
                    ),
                    "write the objects into this folder as they are to be applied",
                )
            };
            let note = finder.notes.error("object", hidden(place), message);
            note.hint(advice);
            if let Some(hint) = hint {
                note.hint(hint);
            }
        }
        Rewrite::Namespace(namespace) => {
            let message = format!(
                "this kustomize file moves objects to the namespace `{namespace}`; objects beside a cluster have its namespace, `{own}`"
            );
            finder
                .notes
                .error("object", hidden(place), message)
                .hint(format!("write `namespace: {own}`, or remove it"));
        }
        Rewrite::File(file) => {
            let message = format!(
                "kustomize applies `{file}`, but the checks read only files named `.yaml`, `.yml` or `.json`"
            );
            finder.notes.error("object", hidden(place), message).hint("rename the file");
        }
    }
}

/// What an object lacks to be identified. Unless all documents are applied, a document need not be an object.
fn unidentified(
    node: &Node,
    object: &FolderObject,
    name: &str,
    applied: bool,
) -> Option<(String, &'static str)> {
    let kind = &*object.kind;
    let is_text = |key| node.get(key).is_none_or(|node: &Node| node.as_str().is_some());
    if node.is_null() || is_encrypted(kind) || is_encrypted(name) {
        return None;
    }
    if kind.is_empty() || name.is_empty() || !is_text("kind") || !is_text("apiVersion") {
        return applied.then(|| ("this is not a Kubernetes object that can be applied".to_owned(), COMPLETE));
    }
    if !is_kind(kind) {
        return Some((format!("`{kind}` is not a valid kind"), A_KIND));
    }
    (!is_name(kind, name)).then(|| (format!("{kind} `{name}` has a name that no API server accepts"), A_NAME))
}

/// Objects of other namespaces belong to other teams, or to the management cluster itself.
fn check_namespace(
    found: Option<&str>,
    object: &FolderObject,
    name: &str,
    folder: &Folder<'_>,
    finder: &mut Finder<'_>,
) {
    if found.is_none() && folder.needs_namespaces && is_namespaced(&object.group, &object.kind) {
        let message = format!("{} `{name}` has no namespace", object.kind);
        let hint = format!(
            "write `namespace: {}`: the engine does not add one, and applies nothing of this folder",
            folder.namespace
        );
        finder.notes.error("object", hidden(object.place.clone()), message).hint(hint);
        return;
    }
    let found = found.unwrap_or(folder.namespace);
    if found == folder.namespace || is_cluster_wide(&object.group, &object.kind) {
        return;
    }
    let rule = format!("{KIND}{}", full_kind(&object.kind, &object.group));
    let (is_allowed, hint) = allowed(finder, &object.place.file, &rule);
    if is_allowed {
        return;
    }
    let message = format!(
        "{} `{name}` has the namespace `{found}`; objects beside a cluster have its namespace, `{}`",
        object.kind, folder.namespace
    );
    let note = finder.notes.error("object", hidden(object.place.clone()), message);
    note.hint(format!("write `namespace: {}`", folder.namespace));
    if let Some(hint) = hint {
        note.hint(hint);
    }
}

/// Kustomize refuses a folder that holds an object twice. Not every engine reads JSON in a folder without a kustomize file.
fn check_twice(
    node: &Node,
    object: &FolderObject,
    name: &str,
    folder: &mut Folder<'_>,
    finder: &mut Finder<'_>,
) {
    let namespace = node.at(&["metadata", "namespace"]).and_then(Node::as_str).unwrap_or_default();
    let key = [&object.group, &object.kind, namespace, name].map(str::to_owned);
    if let Some(first) = folder.seen.get(&key) {
        let hint = if is_yaml(&first.file) && is_yaml(&object.place.file) {
            "keep one of them: kustomize refuses the whole folder"
        } else {
            "keep one of them: which one is applied depends on the engine"
        };
        finder
            .notes
            .error(
                "object",
                hidden(object.place.clone()),
                format!("{} `{name}` is in this folder twice", object.kind),
            )
            .related("first here", hidden(first.clone()))
            .hint(hint);
        return;
    }
    folder.seen.insert(key, object.place.clone());
}
