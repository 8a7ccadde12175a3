//! Annotations that the program alone writes, because they decide what an engine deletes.

use super::{Check, Finder, Rule};
use crate::{
    render::{self, Drawn},
    yaml::{Entry, Node},
};

pub(super) static RULE: Rule = Rule {
    name: "own-annotation",
    docs: "A definition or a class says with an annotation of its own whether an engine may delete the Cluster or the class, \
           or change what is in it. The program decides that, so that a cluster leaves in its steps and git never takes a \
           class away from a running cluster.",
    check: Check::Objects(check),
};

fn check(drawn: &Drawn, finder: &mut Finder<'_>) {
    let reserved = render::release_annotations();
    for (name, entry) in drawn.frozen.iter().flat_map(|object| own(object, &reserved)) {
        let place = finder.place(&entry.value, "generated/releases");
        finder
            .notes
            .error("own-annotation", place, format!("`{name}` does not belong on an object of a class"))
            .hint("remove it: git never takes a class away from a running cluster, and no engine replaces variables in it");
    }
    let Some(cluster) = drawn.objects.iter().find(|object| object.is_cluster()) else { return };
    for (name, entry) in own(&cluster.node, &reserved) {
        // What the program wrote has no place in a source.
        let Some(place) = finder.input.sources.place(entry.value.origin) else { continue };
        finder
            .notes
            .error("own-annotation", place, format!("the program writes `{name}` of a Cluster itself"))
            .hint("remove it: git alone never deletes a cluster; to take one away, run `stackloom remove`");
    }
}

/// The reserved annotations that an object has.
fn own<'a>(object: &'a Node, reserved: &'a [&str]) -> impl Iterator<Item = (&'a str, &'a Entry)> {
    let annotations = object.at(&["metadata", "annotations"]).and_then(Node::as_mapping);
    reserved.iter().filter_map(move |name| Some((*name, annotations?.entry(name)?)))
}
