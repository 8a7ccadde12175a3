//! Finds fields of a kustomize file that are about objects which its folder does not have.
//!
//! The rules come from kustomize's `ReplicaCountTransformer` and `PatchTransformer`. Targets by label or by pattern are not
//! judged.

use super::{
    kustomize_file::{Refused, is_null},
    metadata::shortened,
    secret_scan::Tree,
};
use crate::{
    note::Notes,
    yaml::{FileId, RawNode, Source, read_raw},
};

/// The kinds whose replicas kustomize changes.
const WITH_REPLICAS: [&str; 4] = ["Deployment", "ReplicaSet", "ReplicationController", "StatefulSet"];
const A_COUNT: &str = "correct the name, or remove the entry: kustomize refuses the whole folder";
const A_NAME: &str = "correct the name, or remove the entry";

/// `objects` are the kinds and names of all objects; none if they are not known.
pub(super) fn faults(source: &Source, root: &RawNode, objects: Option<&[(&str, &str)]>) -> Vec<Refused> {
    let Some(objects) = objects else { return Vec::new() };
    let mut found = Vec::new();
    let items = |field| root.child(field).map(Tree::items).unwrap_or_default();
    for item in items("replicas") {
        let name = item.child("name").filter(|name| !is_null(name));
        let text = name.and_then(Tree::text).unwrap_or_default();
        if text.is_empty() && item.child("<<").is_some() {
            continue;
        }
        if text.is_empty() {
            let message = "an entry of `replicas` has no `name`".to_owned();
            found.push(Refused::new(source.word(item.start), message, A_COUNT));
            continue;
        }
        let name = name.unwrap_or(item);
        if !objects.iter().any(|(kind, name)| WITH_REPLICAS.contains(kind) && *name == text) {
            let message = format!(
                "`replicas` names `{}`, but no Deployment or StatefulSet of this folder has this name",
                shortened(&text)
            );
            found.push(Refused::new(source.word(name.start), message, A_COUNT));
        }
    }
    for item in items("patches").iter().chain(items("patchesJson6902")) {
        found.extend(of_patch(source, item, objects));
    }
    found
}

fn of_patch(source: &Source, item: &RawNode, objects: &[(&str, &str)]) -> Option<Refused> {
    let (at, kind, name) = match item.child("target") {
        Some(target) => {
            let selects =
                ["labelSelector", "annotationSelector"].iter().any(|key| target.child(key).is_some());
            let word = |key| target.word(key).unwrap_or_default().into_owned();
            if selects {
                return None;
            }
            (target, word("kind"), word("name"))
        }
        None => {
            let patch = item.word("patch").filter(|text| !text.is_empty())?;
            let text = Source::new(FileId(0), "patch", &*patch);
            let documents = read_raw(&text, &mut Notes::new())?;
            let root = &documents.first()?.root;
            let word = |node: Option<&RawNode>, key| {
                node.and_then(|node| node.word(key)).map(std::borrow::Cow::into_owned)
            };
            let kind = word(Some(root), "kind").filter(|kind| !kind.is_empty())?;
            (item.child("patch")?, kind, word(root.child("metadata"), "name")?)
        }
    };
    // A target may be a regular expression.
    let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let fits = |one: &&(&str, &str)| (kind.is_empty() || one.0 == kind) && (name.is_empty() || one.1 == name);
    if !is_plain(&kind) || !is_plain(&name) || objects.iter().any(|one| fits(&one)) {
        return None;
    }
    let what = [&*kind, &*name].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    let message = format!("this patch is for `{}`, which this folder does not have", shortened(&what));
    Some(Refused::new(source.word(at.start), message, A_NAME))
}
