//! Addon versions that no matrix lists.

use super::{Check, Finder, Rule};
use crate::plan::ClusterPlan;

pub(super) static RULE: Rule = Rule {
    name: "unlisted-version",
    docs: "A cluster takes an addon version that its release does not list, with a reason. That is a way out for an \
           emergency: the warning stays until the version is listed or the cluster goes back.",
    check: Check::Cluster(check),
};

fn check(plan: &ClusterPlan, finder: &mut Finder<'_>) {
    for (name, choice) in &plan.cluster.addons {
        if let (Some(reason), Some((version, origin))) = (&choice.unlisted, &choice.version) {
            finder
                .notes
                .warning(
                    "unlisted-version",
                    finder.input.sources.place(*origin),
                    format!("{name} {version} is taken without being listed: {reason}"),
                )
                .hint("add it to the stack's matrix once it is tested");
        }
    }
}
