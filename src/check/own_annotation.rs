//! Annotations of a Cluster that only the program may write.

use super::{Check, Finder, Rule};
use crate::{
    note::{At, Place},
    plan::ClusterPlan,
    render::{self, Drawn, Object, Target},
    yaml::{Entry, Mapping, Node},
};

pub(super) static RULE: Rule = Rule {
    name: "own-annotation",
    docs: "A definition sets an annotation that only stackloom may write: how an engine applies the Cluster, whether git \
           alone may delete it, why it is suspended, or why it is being removed. With such an annotation, a cluster could \
           be deleted without the steps of its removal. Or an object of a stack is a hook, which an engine deletes again \
           and again.",
    check: Check::Cluster(check),
};

/// The hint about an object that is a hook.
pub(super) const IS_A_HOOK: &str =
    "remove it: the engine takes the object for a hook, deletes it, and creates it anew";

/// The same rule for the objects that a stack brings into the management cluster.
pub(super) static OF_STACK: Rule = Rule { check: Check::Objects(check_stack), ..RULE };

fn check(plan: &ClusterPlan, _: &Node, finder: &mut Finder<'_>) {
    let hooks: Vec<_> = render::hook_annotations().collect();
    let engines = render::reserved_annotations().into_iter().map(|name| {
        let hint = if hooks.contains(&name) {
            "remove it: an engine takes the Cluster for a hook, deletes it, and creates it anew"
        } else {
            "remove it: stackloom decides how the engine applies a Cluster; to delete one, run `stackloom remove`"
        };
        (name, hint)
    });
    let ours = [
        (render::STANDBY, "set `standby: true` for its management cluster in stackloom.yaml"),
        (render::SUSPENDED, "write the reason as `suspend: <reason>` into the cluster's spec"),
        (render::REMOVAL, "remove it: `stackloom remove` deletes a cluster step by step"),
    ];
    for (name, hint) in engines.chain(ours) {
        let Some(entry) = plan.cluster.annotations.entry(name) else { continue };
        let place = entry.key.origin;
        finder
            .notes
            .error(RULE.name, place, format!("only stackloom may set `{name}` on a Cluster"))
            .hint(hint);
    }
}

fn check_stack(drawn: &Drawn, finder: &mut Finder<'_>) {
    let is_applied = |object: &&Object| object.facts.rendered && object.target == Target::Management;
    for object in drawn.objects.iter().filter(is_applied) {
        for hook in hooks(&object.node) {
            let text = |path: &[&str]| object.node.at(path).and_then(Node::as_str).unwrap_or_default();
            let what = format!("{} `{}`", text(&["kind"]), text(&["metadata", "name"]));
            let place = At::word_or(hook.key.origin, || Place::file(&*object.source));
            finder
                .notes
                .error(RULE.name, place, format!("{what} has the annotation `{}`", hook.key.name))
                .hint(IS_A_HOOK);
        }
    }
}

/// The annotations that make an object a hook.
pub(super) fn hooks(object: &Node) -> impl Iterator<Item = &Entry> {
    let annotations = object.at(&["metadata", "annotations"]).and_then(Node::as_mapping);
    render::hook_annotations().filter_map(move |name| annotations.and_then(|all: &Mapping| all.entry(name)))
}
