//! Annotations of a Cluster that the program alone writes.

use super::{Check, Finder, Rule};
use crate::{plan::ClusterPlan, render, yaml::Node};

pub(super) static RULE: Rule = Rule {
    name: "own-annotation",
    docs: "A definition has an annotation with which the program tells an engine, or a reader, what becomes of the Cluster: \
           whether git alone may delete it, why it is suspended, why it leaves. The program writes these itself, so that a \
           cluster leaves in its steps.",
    check: Check::Cluster(check),
};

fn check(plan: &ClusterPlan, _: &Node, finder: &mut Finder<'_>) {
    let engines = render::release_annotations().into_iter().map(|name| {
        (name, "remove it: git alone never deletes a cluster; to take one away, run `stackloom remove`")
    });
    let ours = [
        (render::SUSPENDED, "write the reason as `suspend: <reason>` into the cluster's spec"),
        (render::REMOVAL, "remove it: `stackloom remove` takes a cluster away, step by step"),
    ];
    for (name, hint) in engines.chain(ours) {
        let Some(entry) = plan.cluster.annotations.entry(name) else { continue };
        let place = finder.input.sources.place(entry.key.origin);
        finder
            .notes
            .error("own-annotation", place, format!("the program writes `{name}` of a Cluster itself"))
            .hint(hint);
    }
}
