//! Annotations that control how an engine treats the objects of a class.

use super::{Check, Finder, Rule};
use crate::{
    release::Release,
    render,
    yaml::{Mapping, Node},
};

pub(super) static RULE: Rule = Rule {
    name: "class-annotation",
    docs: "An object of a class has an annotation that tells an engine whether to delete the object or to substitute \
           variables in it. A release is the same for every engine, so its objects carry no such annotations. The engine's \
           own objects protect the class instead.",
    check: Check::Release(check),
};

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
                    .hint("remove it: stackloom already makes sure that the engine never deletes a class and never substitutes variables in it");
            }
        }
    }
}
