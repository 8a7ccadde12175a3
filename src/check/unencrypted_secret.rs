//! Secrets in plain sight beside a cluster, in its `.d` folder.

use super::{Check, Finder, Rule, plaintext_secret};
use crate::{
    note::{Notes, Place},
    plan::ClusterPlan,
    yaml::{Key, Mapping, Node, RawKind, RawNode, Source, read_raw},
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
    let Some(folder) = &plan.cluster.companion else { return };
    for source in finder.input.beside.below(folder) {
        // What is no YAML is no object either: Flux applies nothing of the folder, and says so.
        for document in read_raw(source, &mut Notes::new()).unwrap_or_default() {
            let object = as_text(&document.root, source);
            let several = object.get("items").and_then(Node::as_sequence);
            for object in several.unwrap_or(std::slice::from_ref(&object)) {
                look_at(object, source, finder);
            }
        }
    }
}

fn look_at(object: &Node, source: &Source, finder: &mut Finder<'_>) {
    let reason = object.at(&["metadata", "annotations", plaintext_secret::ALLOW]).and_then(Node::as_str);
    let sealed = object.get("kind").and_then(Node::as_str) == Some("SealedSecret");
    if sealed || reason.is_some_and(|reason| !reason.is_empty()) {
        return;
    }
    for (node, what) in plaintext_secret::secrets(object) {
        // The message must not carry the secret on: the place is shown without its line.
        let place = Place { source: String::new(), ..source.word(node.origin.offset as usize) };
        finder
            .notes
            .error(RULE.name, place, format!("this looks like {what}, and git keeps it for all who can read it"))
            .hint("encrypt it with SOPS (docs/flux.md), or put an ExternalSecret or a SealedSecret in its place; if it was pushed, change the credential")
            .hint(format!("if it is none, say so with the object's annotation `{}: <reason>`", plaintext_secret::ALLOW));
    }
}

/// A document as Kubernetes' readers would take it, but for types: here every scalar is text, and the last of two like
/// keys counts, because the folder is not ours to be strict with.
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
