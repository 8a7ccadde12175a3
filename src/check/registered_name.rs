//! Checks the registered names of workload clusters.

use std::collections::BTreeMap;

use super::{Check, Finder, Rule};
use crate::{
    plan::{ClusterPlan, ManagementPlan, Plan},
    render,
};

pub(super) static RULE: Rule = Rule {
    name: "registered-name",
    docs: "Argo CD would know two workload clusters under one name, so that the addons of one could be installed into the \
           other. The name follows the pattern `argocd.clusterNames` of the management cluster.",
    check: Check::Management(check),
};

fn check(plan: &Plan, management: &ManagementPlan, finder: &mut Finder<'_>) {
    let own = |one: &ClusterPlan| one.cluster.management.name == management.management.name;
    let mut known: BTreeMap<(String, String), &ClusterPlan> = BTreeMap::new();
    for cluster in &plan.clusters {
        let Some(registration) = render::registration(cluster) else { continue };
        let Some(other) = known.get(&registration) else {
            known.insert(registration, cluster);
            continue;
        };
        // The later of two management clusters reports it.
        if !own(cluster) {
            continue;
        }
        let message = format!(
            "Argo CD would know two clusters as `{}`: {} of {} and {} of {}",
            registration.1,
            other.cluster.full_name(),
            other.cluster.management.name,
            cluster.cluster.full_name(),
            cluster.cluster.management.name
        );
        let place = cluster.cluster.origin;
        finder
            .notes
            .error(RULE.name, place, message)
            .hint("rename one of them, or change `argocd.clusterNames`; it may hold `{managementCluster}`, `{namespace}` and `{cluster}`");
    }
}
