//! Reports the limitations of a cluster's addon delivery.

use super::{Check, Finder, Rule};
use crate::{note::Severity, plan::ClusterPlan, render, yaml::Node};

pub(super) static RULE: Rule = Rule {
    name: "delivery",
    docs: "The delivery of a cluster's addons (`addonDelivery`) cannot do what an addon asks for, or does less. \
           Some take no values from Secrets, for example, and some wait until another addon is applied, not until it is \
           ready.",
    check: Check::Cluster(check),
};

fn check(plan: &ClusterPlan, _cluster: &Node, finder: &mut Finder<'_>) {
    for limit in render::limits(plan) {
        let place = limit.origin;
        let note = match limit.severity {
            Severity::Error => finder.notes.error(RULE.name, place, limit.message),
            Severity::Warning => finder.notes.warning(RULE.name, place, limit.message),
        };
        for hint in limit.hints {
            note.hint(hint);
        }
    }
}
