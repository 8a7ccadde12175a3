//! Reports the limitations of a cluster's addon delivery.

use super::{Check, Finder, Rule};
use crate::{
    note::{Notes, Severity},
    plan::ClusterPlan,
    render,
    tree::Part,
    yaml::Node,
};

/// The size of a request that etcd takes by default, in bytes.
///
/// Source: `--max-request-bytes` of etcd 3.6.
const LARGEST_OBJECT: usize = 1536 * 1024;

/// Reports objects of addons that are too large for an API server. `part` is what was drawn, as text.
pub fn check_sizes(plan: &ClusterPlan, drawn: &render::Drawn, part: &Part, notes: &mut Notes) {
    for file in part.files.iter().filter(|file| file.bytes().len() > LARGEST_OBJECT) {
        let Some(object) = drawn.objects.iter().find(|object| object.path == file.path) else { continue };
        let Some(addon) = object.facts.addon() else { continue };
        let message = format!(
            "an object of the addon `{addon}` has {} bytes, and an API server takes {LARGEST_OBJECT}: {}",
            file.bytes().len(),
            file.path
        );
        notes.error(RULE.name, plan.cluster.origin, message).hint(
            "split it, or choose another `addonDelivery`: see docs/deliveries.md for what each can hold",
        );
    }
}

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
