//! What engines make of the files beside a cluster that the checks read otherwise: objects that an engine replaces or leaves
//! out, files that it leaves out, documents that it does not see, and settings of its own.

use super::{Finder, kustomize_folder, own_annotation, secret_scan::Tree as _, skipped_file};
use crate::{
    note::Place,
    plan::ClusterPlan,
    render,
    world::is_yaml,
    yaml::{RawNode, Source},
};

pub(super) fn check(plan: &ClusterPlan, folder: &str, finder: &mut Finder<'_>) {
    let texts = finder.texts;
    let is_built = plan.cluster.companion.as_ref().is_some_and(|companion| companion.is_built);
    for source in texts.beside.below(folder) {
        let name = source.path.rsplit('/').next().unwrap_or_default();
        if render::is_setting(name) {
            finder
                .notes
                .error(
                    "object",
                    Place::file(&*source.path),
                    "an engine reads this file as settings: it changes how the whole folder is built",
                )
                .hint("remove it: nothing checks what the engine makes of the folder then");
        }
        if !kustomize_folder::is_read(&source.path) {
            continue;
        }
        for text in render::skipping_texts().filter(|_| !is_built) {
            if let Some(at) = source.text.find(text) {
                let place = hidden(source.word(at));
                finder
                    .notes
                    .error("skipped-file", place, skipped_file::message(text))
                    .hint(skipped_file::HINT);
            }
        }
        if is_yaml(&source.path) {
            check_separators(source, finder);
        }
        for object in kustomize_folder::objects(source) {
            check_hooks(plan, &object.node, &object.kind, source, finder);
            if let Some(hint) = render::excludes(&plan.cluster, &object.group, &object.kind) {
                let message = format!(
                    "{} is a kind that the engine leaves out, unless its settings say otherwise",
                    object.kind
                );
                finder.notes.warning("object", hidden(object.place), message).hint(hint);
            }
        }
    }
}

/// A place without its line, which may hold a secret.
fn hidden(place: Place) -> Place {
    Place { source: String::new(), ..place }
}

/// Annotations of an object, and those that a kustomize file gives to others.
const ANNOTATIONS: [&[&str]; 3] =
    [&["metadata", "annotations"], &["commonAnnotations"], &["generatorOptions", "annotations"]];

fn check_hooks(plan: &ClusterPlan, node: &RawNode, kind: &str, source: &Source, finder: &mut Finder<'_>) {
    let at = |path: &&[&str]| path.iter().try_fold(node, |node, key| node.child(key));
    for annotations in ANNOTATIONS.iter().filter_map(at) {
        for hook in render::hook_annotations_of(&plan.cluster) {
            let Some(value) = annotations.child(hook) else { continue };
            let message = format!("{kind} has the annotation `{hook}`");
            let place = hidden(source.word(value.start));
            finder.notes.error("object", place, message).hint(own_annotation::IS_A_HOOK);
        }
    }
}

/// Engines split a file at lines of `---` before they read it. They read no second document after a line of `...`, and drop what
/// follows `---` on its line.
fn check_separators(source: &Source, finder: &mut Finder<'_>) {
    let mut offset = 0;
    for line in source.text.split_inclusive('\n') {
        let rest = |marker: &str| {
            line.strip_prefix(marker).filter(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
        };
        let is_content = |text: &str| !text.trim().is_empty() && !text.trim_start().starts_with('#');
        if rest("---").is_some_and(is_content) {
            finder
                .notes
                .error(
                    "object",
                    hidden(source.word(offset)),
                    "some engines drop what follows `---` on its line",
                )
                .hint("write `---` on a line of its own");
        }
        let next = offset + line.len();
        if rest("...").is_some() {
            let mut after =
                source.text[next..].lines().filter(|line| is_content(line) && !line.starts_with('%'));
            if after.next().is_some_and(|line| !line.starts_with("---") && !line.starts_with("...")) {
                finder
                    .notes
                    .error("object", hidden(source.word(offset)), "some engines read nothing after this line")
                    .hint("separate documents with `---`");
            }
        }
        offset = next;
    }
}
