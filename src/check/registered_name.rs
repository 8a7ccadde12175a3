//! Checks the registered names of workload clusters.

use std::collections::{BTreeMap, BTreeSet};

use super::{Check, Finder, Rule};
use crate::{
    plan::{ClusterPlan, ManagementPlan, Plan},
    render,
};

pub(super) static RULE: Rule = Rule {
    name: "registered-name",
    docs: "Argo CD would know two clusters under one name, so that the addons of one could be installed into the other. The \
           name of a workload cluster follows the pattern `argocd.clusterNames` of its management cluster. Argo CD itself calls \
           the cluster that it runs in `in-cluster`.",
    check: Check::Management(check),
};

const HINT: &str = "rename a cluster, or change `argocd.clusterNames`; it may contain `{managementCluster}`, `{namespace}` and `{cluster}`";

fn check(plan: &Plan, management: &ManagementPlan, finder: &mut Finder<'_>) {
    let own = |one: &ClusterPlan| one.cluster.management.name == management.management.name;
    let mut known: BTreeMap<(String, String), &ClusterPlan> = BTreeMap::new();
    let taken: BTreeMap<(String, String), &ManagementPlan> = plan
        .management
        .iter()
        .flat_map(|one| render::taken_names(&one.management).into_iter().map(move |name| (name, one)))
        .collect();
    warn_of_wide_projects(plan, management, finder);
    for cluster in &plan.clusters {
        let Some(registration) = render::registration(cluster) else { continue };
        if let Some(other) = taken.get(&registration).filter(|_| own(cluster)) {
            let message = format!(
                "Argo CD would know {} as `{}`, which is its name for a management cluster: the addons would be installed there",
                cluster.cluster.full_name(),
                registration.1
            );
            finder
                .notes
                .error(RULE.name, cluster.cluster.origin, message)
                .related("management cluster", other.management.provided.origin)
                .hint(HINT);
        }
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
        finder.notes.error(RULE.name, place, message).hint(HINT);
    }
}

/// Warns if the projects of several namespaces cannot tell their clusters apart.
fn warn_of_wide_projects(plan: &Plan, management: &ManagementPlan, finder: &mut Finder<'_>) {
    let management = &management.management;
    let own = plan.clusters.iter().filter(|one| one.cluster.management.name == management.name);
    let registered = own.filter(|one| render::registration(one).is_some());
    let namespaces: BTreeSet<&str> = registered.map(|one| one.cluster.namespace.as_str()).collect();
    let pattern = management.argocd.cluster_names.as_str();
    if namespaces.len() < 2 || pattern.contains("{namespace}") {
        return;
    }
    let message = format!(
        "`argocd.clusterNames` (`{pattern}`) has no `{{namespace}}`, so the project of each namespace allows addons in the clusters of \
         all namespaces"
    );
    finder
        .notes
        .warning(RULE.name, management.provided.origin, message)
        .hint("register clusters as `{namespace}-{cluster}`, and set `argocd.clusterNames` to that");
}
