//! Checks the registered names of workload clusters.

use std::collections::{BTreeMap, BTreeSet};

use super::{Check, Finder, Rule};
use crate::{
    model::{Engine, ManagementCluster},
    plan::{ClusterPlan, ManagementPlan, Plan},
    render::{self, NamesSetting},
};

pub(super) static RULE: Rule = Rule {
    name: "registered-name",
    docs: "An engine would know two clusters under one name, so that the addons of one could be installed into the other. The \
           engine's settings decide the names of the workload clusters of a management cluster, and clusters that the engine \
           runs in have names, too.",
    check: Check::Management(check),
};

/// What is registered under its name: a cluster, in the registry of the engine that delivers its addons.
fn registered(cluster: &ClusterPlan) -> Option<Registered> {
    let key = render::registration(cluster)?;
    let engine = cluster.cluster.addon_delivery.engine()?;
    let setting = render::cluster_names(engine, &cluster.cluster.management)?;
    Some(Registered { key, engine, setting })
}

/// The registered name of a cluster.
struct Registered {
    /// The registry and the name in it.
    key: (String, String),
    /// The engine that reads the registry.
    engine: Engine,
    /// The setting that decides the name.
    setting: NamesSetting,
}

impl Registered {
    /// Whether another registry, which is not the same by its name, may be the same.
    fn may_be_in(&self, registry: &str) -> bool {
        self.key.0 != registry && render::may_be_one(self.engine, &self.key.0, registry)
    }

    fn hint(&self) -> String {
        format!(
            "rename a cluster, or change `{}`; it may contain `{{managementCluster}}`, `{{namespace}}` and `{{cluster}}`",
            self.setting.path
        )
    }
}

fn check(plan: &Plan, management: &ManagementPlan, finder: &mut Finder<'_>) {
    let own = |one: &ClusterPlan| one.cluster.management.name == management.management.name;
    let mut known: BTreeMap<(String, String), &ClusterPlan> = BTreeMap::new();
    let taken: BTreeMap<(String, String), &ManagementPlan> = plan
        .management
        .iter()
        .flat_map(|one| render::taken_names(&one.management).into_iter().map(move |name| (name, one)))
        .collect();
    let mut names: BTreeMap<String, Vec<(String, &ClusterPlan)>> = BTreeMap::new();
    warn_of_wide_projects(plan, management, finder);
    for cluster in &plan.clusters {
        let Some(registered) = registered(cluster) else { continue };
        let (engine, name) = (registered.engine.as_str(), &registered.key.1);
        if let Some(other) = taken.get(&registered.key).filter(|_| own(cluster)) {
            let message = format!(
                "{engine} would know {} as `{name}`, which is its name for a management cluster: the addons would be installed there",
                cluster.cluster.full_name(),
            );
            finder
                .notes
                .error(RULE.name, cluster.cluster.origin, message)
                .related("management cluster", other.management.provided.origin)
                .hint(registered.hint());
        }
        let key = &registered.key;
        if own(cluster) && !taken.contains_key(key) {
            let known = names.get(name).map(Vec::as_slice).unwrap_or_default();
            warn_of_one_registry(cluster, &registered, known, &taken, finder);
        }
        names.entry(name.clone()).or_default().push((key.0.clone(), cluster));
        let Some(other) = known.get(key) else {
            known.insert(registered.key, cluster);
            continue;
        };
        // The later of two management clusters reports it.
        if !own(cluster) {
            continue;
        }
        let message = format!(
            "{engine} would know two clusters as `{name}`: {} of {} and {} of {}",
            other.cluster.full_name(),
            other.cluster.management.name,
            cluster.cluster.full_name(),
            cluster.cluster.management.name
        );
        let place = cluster.cluster.origin;
        finder.notes.error(RULE.name, place, message).hint(registered.hint());
    }
}

/// Warns of names that meet if the engine of a management cluster also serves others, which its settings do not say. `known` are
/// the clusters of the same name, each with its registry.
fn warn_of_one_registry(
    cluster: &ClusterPlan,
    registered: &Registered,
    known: &[(String, &ClusterPlan)],
    taken: &BTreeMap<(String, String), &ManagementPlan>,
    finder: &mut Finder<'_>,
) {
    let (engine, name) = (registered.engine.as_str(), &registered.key.1);
    let (full_name, own) = (cluster.cluster.full_name(), &cluster.cluster.management.name);
    let mut tell = |message: String, other: &ManagementCluster| {
        finder
            .notes
            .warning(RULE.name, cluster.cluster.origin, message)
            .related("management cluster", other.provided.origin)
            .hint(format!(
                "write `{}` for the one that {engine} runs in, if it serves both",
                registered.setting.of_hub
            ))
            .hint(registered.hint());
    };
    let others =
        taken.iter().filter(|((registry, taken), _)| taken == name && registered.may_be_in(registry));
    for (_, other) in others {
        let other = &other.management;
        let message = format!(
            "if {engine} of `{own}` and of `{}` is the same, it knows {full_name} as `{name}`, which is its name for a management cluster: the addons are not installed",
            other.name
        );
        tell(message, other);
    }
    if let Some((_, other)) = known.iter().find(|(registry, _)| registered.may_be_in(registry)) {
        let management = &other.cluster.management;
        let message = format!(
            "if {engine} of `{own}` and of `{}` is the same, it knows two clusters as `{name}`: {} and {full_name}",
            management.name,
            other.cluster.full_name()
        );
        tell(message, management);
    }
}

/// Warns if the projects of several namespaces cannot tell their clusters apart.
fn warn_of_wide_projects(plan: &Plan, management: &ManagementPlan, finder: &mut Finder<'_>) {
    let management = &management.management;
    let own = plan.clusters.iter().filter(|one| one.cluster.management.name == management.name);
    let mut namespaces = BTreeSet::new();
    let mut setting = None;
    for cluster in own {
        if let Some(registered) = registered(cluster) {
            namespaces.insert(cluster.cluster.namespace.as_str());
            setting = Some((registered.engine, registered.setting));
        }
    }
    let Some((engine, NamesSetting { path, pattern, .. })) = setting else { return };
    warn_of_allowed_management_clusters(plan, management, &namespaces, (engine, path), finder);
    if namespaces.len() < 2 || pattern.contains("{namespace}") {
        return;
    }
    let message = format!(
        "`{path}` (`{pattern}`) has no `{{namespace}}`, so the project of each namespace allows addons in the clusters of \
         all namespaces"
    );
    finder
        .notes
        .warning(RULE.name, management.provided.origin, message)
        .hint(format!("register clusters as `{{namespace}}-{{cluster}}`, and set `{path}` to that"));
}

/// Warns if the project for the addons of a namespace also allows a management cluster.
fn warn_of_allowed_management_clusters(
    plan: &Plan,
    management: &ManagementCluster,
    namespaces: &BTreeSet<&str>,
    (engine, path): (Engine, &str),
    finder: &mut Finder<'_>,
) {
    let own: BTreeSet<String> =
        render::taken_names(management).into_iter().map(|(registry, _)| registry).collect();
    let all = plan.management.iter().flat_map(|one| render::taken_names(&one.management));
    let taken: BTreeSet<String> = all
        .filter(|(registry, _)| own.iter().any(|one| render::may_be_one(engine, one, registry)))
        .map(|(_, name)| name)
        .collect();
    for namespace in namespaces {
        let Some(pattern) = render::allowed_names(management, namespace) else { continue };
        for name in taken.iter().filter(|name| matches_stars(&pattern, name)) {
            let message = format!(
                "the project for addons in `{namespace}` allows clusters named `{pattern}`, among them the management cluster `{name}`"
            );
            finder
                .notes
                .warning(RULE.name, management.provided.origin, message)
                .hint(format!("rename the management cluster in the engine, or change `{path}`"));
        }
    }
}

/// Whether a name matches a pattern in which `*` stands for any text.
fn matches_stars(pattern: &str, name: &str) -> bool {
    let (first, rest) = pattern.split_once('*').unwrap_or((pattern, ""));
    let Some(mut name) = name.strip_prefix(first) else { return false };
    let Some((between, last)) = rest.rsplit_once('*') else {
        return if pattern.contains('*') { name.ends_with(rest) } else { name.is_empty() };
    };
    for part in between.split('*') {
        let Some(at) = name.find(part) else { return false };
        name = &name[at + part.len()..];
    }
    name.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, name, is_match) in [
            ("team-a-*", "team-a-mgmt", true),
            ("team-a-*", "team-b-mgmt", false),
            ("*-eu", "mgmt-eu", true),
            ("*-eu", "mgmt-us", false),
            ("a-*-b-*-c", "a-1-b-2-c", true),
            ("a-*-b-*-c", "a-1-2-c", false),
            ("one", "one", true),
            ("one", "ones", false),
        ] {
            assert_eq!(matches_stars(pattern, name), is_match, "{pattern} {name}");
        }
    }
}
