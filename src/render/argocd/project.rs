//! The projects of a tenant namespace, which restrict what its Applications may apply, and where.

use std::collections::{BTreeMap, BTreeSet};

use super::application::{destination, may_be_one, name_in, registry, repository};
use crate::{
    model::{Destination, Engine, ManagementCluster, is_cluster_wide},
    note::Notes,
    plan::{ChartHost, ChartSource, NamespacePlan, charts_of},
    release::{TEMPLATE_GROUPS, TEMPLATE_KINDS, group_of},
    yaml::{self, FileId, Mapping, Node, Origin, Source},
};

const PROJECT: &str = "AppProject";

/// The project for the generated objects of clusters in the management cluster.
pub(super) fn of_clusters(plan: &NamespacePlan, delivered: &[(&str, &str)]) -> Node {
    let management = &plan.management;
    let what =
        format!("Clusters in the namespace {} of the management cluster {}", plan.name, management.name);
    let mut spec = in_namespace(plan, what, &[("argoproj.io", "*"), ("cluster.x-k8s.io", "ClusterClass")]);
    spec.set_filled("clusterResourceWhitelist", cluster_wide_kinds(plan));
    spec.set("namespaceResourceWhitelist", kinds(plan, delivered));
    project(management, &clusters_name(plan.name.as_str()), spec)
}

/// The project for the users' own objects next to clusters. Which kinds these have is up to the users, and unknown where
/// kustomize or a plugin builds them.
pub(super) fn of_own_objects(plan: &NamespacePlan) -> Node {
    let management = &plan.management;
    let what = format!(
        "Users' own objects in the namespace {} of the management cluster {}",
        plan.name, management.name
    );
    let spec = in_namespace(plan, what, &[("argoproj.io", "*")]);
    project(management, &own_objects_name(plan.name.as_str()), spec)
}

/// A project for objects of the fleet's repository in a namespace of the management cluster.
fn in_namespace(plan: &NamespacePlan, description: String, forbidden: &[(&str, &str)]) -> Mapping {
    let management = &plan.management;
    let mut spec = Mapping::new();
    spec.set("description", description);
    spec.set("sourceRepos", vec![Node::from(repository(management).0)]);
    let (key, cluster) = destination(&management.argocd.destination);
    let own = (key, literal(&cluster));
    spec.set("destinations", vec![one(own, plan.name.as_str())]);
    // Without a list of cluster-scoped kinds, none are allowed.
    let forbidden = forbidden.iter().map(|(group, kind)| resource(group, kind, Origin::NOWHERE));
    spec.set("namespaceResourceBlacklist", forbidden.collect::<Vec<_>>());
    spec
}

/// The kinds that the program can write for clusters: those that templates may have, that of Clusters among them, those of
/// all deliveries, and those that a stack allows by name.
///
/// The list is not that of the releases in use: Argo CD does not prune an object of a kind that its project does not list, so a
/// kind must not leave the list along with its last object.
fn kinds(plan: &NamespacePlan, delivered: &[(&str, &str)]) -> Vec<Node> {
    let mut kinds: BTreeMap<(String, String), Origin> = BTreeMap::new();
    for (group, kind) in TEMPLATE_KINDS.iter().chain(delivered) {
        kinds.insert(((*group).to_owned(), (*kind).to_owned()), Origin::NOWHERE);
    }
    for group in TEMPLATE_GROUPS {
        for group in [group.to_owned(), format!("*.{group}")] {
            kinds.insert((group, "*".to_owned()), Origin::NOWHERE);
        }
    }
    for template in plan.releases.iter().flat_map(|release| &release.cluster) {
        for ((version, kind), origin) in template.template.kinds() {
            let group = version.map_or_else(|| "*".to_owned(), |version| group_of(&version).to_owned());
            let kind = kind.unwrap_or_else(|| "*".to_owned());
            let in_groups =
                TEMPLATE_GROUPS.iter().any(|one| group == *one || group.ends_with(&format!(".{one}")));
            if !in_groups && !is_cluster_wide(&group, &kind) {
                kinds.entry((group, kind)).or_insert(origin);
            }
        }
    }
    kinds.into_iter().map(|((group, kind), origin)| resource(&group, &kind, origin)).collect()
}

/// The cluster-scoped kinds that a stack brings for clusters, all of which it allows by name.
fn cluster_wide_kinds(plan: &NamespacePlan) -> Vec<Node> {
    let mut kinds: BTreeMap<(String, String), Origin> = BTreeMap::new();
    for template in plan.releases.iter().flat_map(|release| &release.cluster) {
        for ((version, kind), origin) in template.template.kinds() {
            let (Some(version), Some(kind)) = (version, kind) else { continue };
            let group = group_of(&version).to_owned();
            if is_cluster_wide(&group, &kind) {
                kinds.entry((group, kind)).or_insert(origin);
            }
        }
    }
    kinds.into_iter().map(|((group, kind), origin)| resource(&group, &kind, origin)).collect()
}

fn resource(group: &str, kind: &str, origin: Origin) -> Node {
    let mut resource = Mapping::new();
    resource.set("group", Node::from(group).with_origin(origin));
    resource.set("kind", Node::from(kind).with_origin(origin));
    Node::from(resource).with_origin(origin)
}

/// The project for addons in the workload clusters.
pub(super) fn of_addons(plan: &NamespacePlan) -> Node {
    let management = &plan.management;
    let mut sources = vec![repository(management).0.to_owned()];
    sources.extend(charts_of(&plan.charts, Engine::ArgoCd).into_iter().flatten().map(chart_address));
    sources.sort();
    sources.dedup();
    let clusters = management.argocd.cluster_names.of(management.name.as_str(), plan.name.as_str(), "*");
    let mut spec = Mapping::new();
    spec.set(
        "description",
        format!("Addons of the clusters in the namespace {} of {}", plan.name, management.name),
    );
    spec.set("sourceRepos", sources.into_iter().map(Node::from).collect::<Vec<_>>());
    // A pattern for all clusters leaves only the management clusters to exclude. Beside another pattern, such an entry would allow
    // all others: it matches whatever it does not exclude.
    let destinations = match clusters.as_str() {
        "*" => excluded(plan).into_iter().map(|excluded| one(excluded, "*")).collect(),
        _ => vec![one(("name", clusters), "*")],
    };
    spec.set("destinations", destinations);
    spec.set("clusterResourceWhitelist", vec![resource("*", "*", Origin::NOWHERE)]);
    project(management, &addons_name(plan.name.as_str()), spec)
}

/// The management clusters of the fleet that the same Argo CD may know, as destinations that match all other clusters.
fn excluded(plan: &NamespacePlan) -> BTreeSet<(&'static str, String)> {
    let own = &plan.management;
    let known = plan.others.iter().filter(|other| may_be_one(&registry(other), &registry(own)));
    let known = known.chain([own]).map(|management| destination(&management.argocd.destination));
    let known = known.chain([("name", Destination::OWN_NAME.to_owned())]);
    known.map(|(key, cluster)| (key, format!("!{}", literal(&cluster)))).collect()
}

/// The name of the project for the generated objects of a namespace's clusters in the management cluster.
pub(in crate::render) fn clusters_name(namespace: &str) -> String {
    format!("namespace.{namespace}")
}

/// The name of the project for the users' own objects in a namespace.
pub(in crate::render) fn own_objects_name(namespace: &str) -> String {
    format!("namespace.{namespace}.objects")
}

/// The name of the project for the addons of a namespace's clusters.
pub(in crate::render) fn addons_name(namespace: &str) -> String {
    format!("namespace.{namespace}.addons")
}

/// The URL of a chart's repository. In an OCI registry, each artifact is a repository of its own.
pub(in crate::render) fn chart_address(chart: &ChartSource) -> String {
    match chart.host() {
        ChartHost::Repository => chart.repository.clone(),
        ChartHost::Registry => format!("{}/{}", chart.repository, chart.chart),
    }
}

/// A pattern that matches a destination alone. In the patterns of projects, brackets enclose the characters that are allowed in
/// their place, and an address may have them around the host.
fn literal(cluster: &str) -> String {
    cluster.replace('[', "\\[").replace(']', "\\]")
}

fn one((key, cluster): (&'static str, String), namespace: &str) -> Node {
    let mut destination = Mapping::new();
    destination.set(key, cluster);
    destination.set("namespace", namespace);
    destination.into()
}

fn project(management: &ManagementCluster, name: &str, spec: Mapping) -> Node {
    let mut annotations = Mapping::new();
    // Sync before the Applications in the project.
    annotations.set("argocd.argoproj.io/sync-wave", "-1");
    // Once its namespace has no clusters, it stays, and must not keep the entry out of sync.
    annotations.set("argocd.argoproj.io/compare-options", "IgnoreExtraneous");
    let mut metadata = Mapping::new();
    metadata.set("name", name_in(management, name));
    metadata.set("namespace", management.argocd.namespace.as_str());
    metadata.set("annotations", annotations);
    let mut root = Mapping::new();
    root.set("apiVersion", "argoproj.io/v1alpha1");
    root.set("kind", PROJECT);
    root.set("metadata", metadata);
    root.set("spec", spec);
    root.into()
}

/// The lists of a project that depend on what its clusters need.
const LISTS: [&str; 3] = ["clusterResourceWhitelist", "namespaceResourceWhitelist", "sourceRepos"];

/// The text of a project that allows what the current one allows as well.
pub(super) fn merged(current: &str, made: &str) -> Option<String> {
    if !made.contains(&format!("\nkind: {PROJECT}\n")) {
        return None;
    }
    let read = |text: &str| yaml::read(&Source::new(FileId(0), "project", text), &mut Notes::new());
    let (old, mut new) = (read(current)?, read(made)?);
    let spec = new.as_mapping_mut()?.get_mut("spec")?.as_mapping_mut()?;
    for list in LISTS {
        let Some(own) = spec.get(list).and_then(Node::as_sequence) else { continue };
        let others = old.at(&["spec", list]).and_then(Node::as_sequence).unwrap_or_default();
        let all: BTreeMap<Vec<String>, Node> =
            others.iter().chain(own).map(|item| (words(item), item.clone())).collect();
        spec.set(list, all.into_values().collect::<Vec<_>>());
    }
    let mut text = format!("{}\n", made.lines().next()?);
    yaml::emit(&new, &mut text);
    Some(text)
}

/// What identifies an item of a list, in the order of the list: an address, or a group and a kind.
fn words(item: &Node) -> Vec<String> {
    let text = |node: &Node| node.as_str().unwrap_or_default().to_owned();
    match item.as_mapping() {
        Some(kind) => ["group", "kind"].map(|key| kind.get(key).map(text).unwrap_or_default()).into(),
        None => vec![text(item)],
    }
}
