//! Annotations that control how an engine treats the objects of a class.

use super::{Check, Finder, Rule, own_annotation::hooks};
use crate::{
    note::{At, Place},
    plan::{ManagementPlan, Plan},
    release::Release,
    render,
    yaml::{Mapping, Node},
};

pub(super) static RULE: Rule = Rule {
    name: "class-annotation",
    docs: "An object of a class has an annotation that tells an engine how to apply the object, whether to delete it, or to \
           substitute variables in it. A release is the same for every engine, so its objects carry no such annotations. The engine's \
           own objects protect the class instead.",
    check: Check::Release(check),
};

/// Hooks in the numbered releases that a management cluster uses, which may be older than the rule.
pub(super) static OF_NUMBERED: Rule = Rule { check: Check::Management(check_numbered), ..RULE };

fn check(release: &Release, finder: &mut Finder<'_>) {
    let reserved = render::reserved_annotations();
    for object in &release.objects {
        let annotations = object.at(&["metadata", "annotations"]).and_then(Node::as_mapping);
        for entry in annotations.into_iter().flat_map(Mapping::iter) {
            let name = &*entry.key.name;
            if reserved.contains(&name) {
                let place = entry.key.origin;
                finder
                    .notes
                    .error("class-annotation", place, format!("objects of a class must not have the annotation `{name}`"))
                    .hint("remove it: stackloom decides how engines apply a class; they never delete one, and never substitute variables in it");
            }
        }
    }
}

fn check_numbered(_: &Plan, plan: &ManagementPlan, finder: &mut Finder<'_>) {
    for release in plan.releases.iter().filter(|release| !release.is_head()) {
        for hook in release.objects.iter().flat_map(hooks) {
            let file = || Place::file(format!("generated/releases/{}/release.yaml", release.name));
            let message =
                format!("an object of the class `{}` has the annotation `{}`", release.name, hook.key.name);
            finder
                .notes
                .error(RULE.name, At::word_or(hook.key.origin, file), message)
                .hint("use a release without it: an engine takes the object for a hook, deletes it, and creates it anew");
        }
    }
}
