//! Secrets in plain sight beside a cluster, in its `.d` folder.

use super::{Check, Finder, Rule, plaintext_secret};
use crate::{
    note::{Notes, Place},
    plan::ClusterPlan,
    yaml::{Key, Mapping, Node, RawKind, RawNode, SYNTAX, Source, read_raw},
};

pub(super) static RULE: Rule = Rule {
    name: "unencrypted-secret",
    docs: "A `<cluster>.d/` folder is applied as it is, so git holds what it holds: a Secret with data that nothing \
           encrypts, a private key, a token of a known form, an address with a password in it, or a value under a key \
           such as `password`. What SOPS encrypted, a SealedSecret or an ExternalSecret passes. What only looks like a \
           secret is allowed by the object's own annotation `stackloom.dev/allow-plaintext-secret: <reason>`.",
    check: Check::Cluster(check),
};

fn check(plan: &ClusterPlan, _cluster: &Node, finder: &mut Finder<'_>) {
    // Whether Flux has anything to apply there or not: git keeps a JSON file, too, and the next one may name it.
    let file = &plan.cluster.file;
    let stem = file.strip_suffix(".yaml").or_else(|| file.strip_suffix(".yml")).unwrap_or(file);
    for source in finder.input.beside.below(&format!("{stem}.d")) {
        let mut found = Notes::new();
        match documents(source, &mut found) {
            Some(documents) => documents.iter().for_each(|document| look_at(document, source, finder)),
            None => look_through(source, finder),
        }
        report_syntax(source, &found, finder);
    }
}

/// What no reader takes stops everything that is applied with it. With the rest that our own reader refuses, the folder
/// is not ours to be strict.
fn report_syntax(source: &Source, found: &Notes, finder: &mut Finder<'_>) {
    let is_yaml = source.path.ends_with(".yaml") || source.path.ends_with(".yml");
    for note in found.iter().filter(|note| is_yaml && note.code == SYNTAX) {
        let place = note.place.clone().map(|place| Place { source: String::new(), ..place });
        let told = finder.notes.error(SYNTAX, place, note.message.clone());
        told.hints.clone_from(&note.hints);
        told.hint("Flux applies this folder as it is, and would apply nothing of it; what is no YAML must not be called so");
    }
}

/// The documents of a file; none where it is no YAML that can be read here.
fn documents(source: &Source, found: &mut Notes) -> Option<Vec<Node>> {
    let documents = read_raw(source, found)?;
    let nodes: Vec<_> = documents.iter().map(|document| as_text(&document.root, source)).collect();
    let assignments = nodes.iter().all(|node| node.as_mapping().is_none());
    (!assignments).then_some(nodes)
}

fn look_at(document: &Node, source: &Source, finder: &mut Finder<'_>) {
    let kind = document.get("kind").and_then(Node::as_str).unwrap_or_default();
    let of_list = kind.strip_suffix("List").filter(|kind| !kind.is_empty());
    let items = document.get("items").and_then(Node::as_sequence);
    let mut objects = items.map_or_else(|| vec![document.clone()], <[Node]>::to_vec);
    for object in &mut objects {
        if let (Some(kind), None, Some(mapping)) = (of_list, object.get("kind"), object.as_mapping().cloned())
        {
            let mut mapping = mapping;
            mapping.set("kind", kind);
            *object = Node::from(mapping).with_origin(object.origin);
        }
        let sealed = object.get("kind").and_then(Node::as_str) == Some("SealedSecret");
        if sealed || plaintext_secret::is_allowed(object) {
            continue;
        }
        for (node, what) in plaintext_secret::secrets(object) {
            report(source.word(node.origin.offset as usize), what, finder);
        }
    }
}

/// What no reader of ours understands is looked through line by line.
fn look_through(source: &Source, finder: &mut Finder<'_>) {
    let lines: Vec<&str> = source.text.lines().collect();
    let says = |line: &str, key: &str| {
        let rest = line.trim().trim_start_matches(['{', '"']).strip_prefix(key);
        rest.is_some_and(|rest| rest.trim_start_matches('"').starts_with(':'))
    };
    let is_secret = |line: &str| line.trim_end().trim_end_matches(['}', ',', '"']).ends_with("Secret");
    let secret = lines.iter().any(|line| says(line, "kind") && is_secret(line));
    let sealed = lines.iter().any(|line| says(line, "sops") || says(line, "encryptedData"));
    let mut offset = 0;
    for line in source.text.split_inclusive('\n') {
        let data = ["data", "stringData"].iter().any(|key| says(line, key));
        let what = match plaintext_secret::in_line(line.trim()) {
            Some(what) if !sealed => Some(what),
            _ if secret && !sealed && data => Some("a Secret with its content"),
            _ => None,
        };
        if let Some(what) = what {
            report(source.place(offset, line.trim_end().len().max(1)), what, finder);
        }
        offset += line.len();
    }
}

fn report(place: Place, what: &str, finder: &mut Finder<'_>) {
    // The message must not carry the secret on: the place is shown without its line.
    let place = Place { source: String::new(), ..place };
    finder
        .notes
        .error(RULE.name, place, format!("this looks like {what}, and git keeps it for all who can read it"))
        .hint("encrypt it with SOPS (docs/flux.md), or put an ExternalSecret or a SealedSecret in its place; if it was pushed, change the credential")
        .hint(format!("if it is none, say so with the object's annotation `{}: <reason>`", plaintext_secret::ALLOW));
}

/// A document as Kubernetes' readers would take it, but for types: here every scalar is text, and the last of two like
/// keys counts.
fn as_text(raw: &RawNode, source: &Source) -> Node {
    let node = match &raw.kind {
        RawKind::Scalar { text, .. } => Node::from(text.as_str()),
        RawKind::Sequence(items) => {
            Node::from(items.iter().map(|item| as_text(item, source)).collect::<Vec<_>>())
        }
        RawKind::Mapping(entries) => {
            let mut mapping = Mapping::new();
            for (key, value) in entries {
                if let RawKind::Scalar { text, .. } = &key.kind {
                    let name = Key { name: text.as_str().into(), origin: source.origin(key.start) };
                    mapping.insert(name, as_text(value, source));
                }
            }
            Node::from(mapping)
        }
    };
    node.with_origin(source.origin(raw.start))
}
