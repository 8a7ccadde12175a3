//! Checks the requirements of a release on the management cluster.

use super::{Check, Finder, Rule};
use crate::{plan::ClusterPlan, yaml::Node};

pub(super) static RULE: Rule = Rule {
    name: "requirements",
    docs: "A release needs a version of Cluster API or of a provider, a feature gate or a version of an API that the \
           management cluster does not have. Its clusters could not be built or changed. If `stackloom.yaml` does not \
           say what the management cluster has, this is a warning.",
    check: Check::Cluster(check),
};

fn check(plan: &ClusterPlan, _drawn: &Node, finder: &mut Finder<'_>) {
    if plan.phase.leaves() {
        return;
    }
    for one in finder.classes.unmet(plan).iter() {
        let message = format!("the release `{}` {}, but {}", plan.release.name, one.need, one.found);
        if one.is_doubtful {
            finder.notes.warning("requirements", one.origin, message).hint(&*one.way);
        } else {
            finder
                .notes
                .error("requirements", one.origin, message)
                .hint(&*one.way)
                .hint("or move these clusters to a release that the management cluster supports; do so before you change the management cluster");
        }
    }
}
