//! Annotations of a Cluster that only the program may write.

use super::{Check, Finder, Rule};
use crate::{plan::ClusterPlan, render, yaml::Node};

pub(super) static RULE: Rule = Rule {
    name: "own-annotation",
    docs: "A definition sets an annotation that only stackloom may write: whether git alone may delete the Cluster, why it \
           is suspended, or why it is being removed. With such an annotation, a cluster could be deleted without the steps \
           of its removal.",
    check: Check::Cluster(check),
};

fn check(plan: &ClusterPlan, _: &Node, finder: &mut Finder<'_>) {
    let engines = render::reserved_annotations().into_iter().map(|name| {
        (name, "remove it: git alone never deletes a cluster; to delete one, run `stackloom remove`")
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
            .error("own-annotation", place, format!("only stackloom may set `{name}` on a Cluster"))
            .hint(hint);
    }
}
