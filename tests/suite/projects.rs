//! The projects of Argo CD allow what the program generates, and no other kinds.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use serde_json::Value as Json;
use stackloom::{
    generate::generate,
    model::{AddonDelivery, Engine},
    note::Notes,
    tree::MemorySink,
    world::Files,
};

use super::{deliveries::text, sandbox, support};

/// The generated objects, by path.
fn tree(files: &Files) -> BTreeMap<String, Json> {
    let (mut tree, mut notes) = (MemorySink::default(), Notes::new());
    let done = generate(files, &mut tree, &|_, _| {}, &mut notes);
    assert!(done.is_ok(), "{}", sandbox::messages(&notes));
    let files = tree
        .files()
        .filter(|file| Path::new(file.path.as_str()).extension().is_some_and(|one| one == "yaml"));
    files
        .map(|file| {
            let text = std::str::from_utf8(file.bytes()).unwrap();
            (file.path.as_str().to_owned(), gotmpl::yaml::parse(text).unwrap())
        })
        .collect()
}

fn kind(object: &Json) -> (String, String) {
    let version = text(object, "/apiVersion");
    let group = version.rsplit_once('/').map_or("", |(group, _)| group);
    (group.to_owned(), text(object, "/kind"))
}

/// The kinds that a project lists; none if it lists none.
fn listed(project: &Json, list: &str) -> Option<Kinds> {
    let kinds = project["spec"].get(list)?.as_array().unwrap();
    Some(kinds.iter().map(|one| (text(one, "/group"), text(one, "/kind"))).collect())
}

/// Kinds with their groups.
type Kinds = BTreeSet<(String, String)>;

/// The kinds that a project lists, and those that its Applications apply.
fn kinds(tree: &BTreeMap<String, Json>, project: &str) -> (Kinds, Kinds) {
    let named = |kind: &'static str| {
        tree.values()
            .filter(move |one| one["kind"] == kind && text(one, "/apiVersion") == "argoproj.io/v1alpha1")
    };
    let found = named("AppProject").find(|one| text(one, "/metadata/name") == project).unwrap();
    assert_eq!(found["spec"].get("clusterResourceWhitelist"), None, "no cluster-wide kinds");
    let folders = named("Application").filter(|one| text(one, "/spec/project") == project);
    let folders: Vec<_> = folders.map(|one| text(one, "/spec/source/path") + "/").collect();
    assert!(!folders.is_empty(), "{project}");
    let applied = tree.iter().filter(|(path, _)| folders.iter().any(|folder| path.starts_with(folder)));
    (
        listed(found, "namespaceResourceWhitelist").unwrap_or_default(),
        applied.map(|(_, object)| kind(object)).collect(),
    )
}

fn fleet(delivery: AddonDelivery) -> Files {
    let mut files: Files = support::fleet(&support::package().join("tests/cases/_base"));
    let fleet = files.0.get_mut("stackloom.yaml").unwrap();
    let settings = format!("engine: argocd\n  addonDelivery: {}", delivery.as_str());
    *fleet = fleet.replace("engine: flux", &settings);
    if delivery == sandbox::without_charts() {
        // It installs no charts.
        let off = "  addons:\n    net:\n      enabled: false\n";
        *files.0.get_mut("clusters/blue/one.yaml").unwrap() += off;
        let two = files.0.get_mut("clusters/green/two.yaml").unwrap();
        let (before, _) = two.split_once("  addons:").unwrap();
        *two = before.to_owned() + off;
    }
    files
}

/// Whether Argo CD allows a kind: a star stands for anything.
fn permits(list: &BTreeSet<(String, String)>, (group, kind): &(String, String)) -> bool {
    let matches = |pattern: &str, text: &str| match pattern.strip_prefix('*') {
        Some(end) => text.ends_with(end),
        None => pattern == text,
    };
    list.iter().any(|(groups, kinds)| matches(groups, group) && matches(kinds, kind))
}

#[test]
fn a_project_allows_the_kinds_that_its_clusters_can_have_and_no_others() {
    let pair = |group: &str, kind: &str| (group.to_owned(), kind.to_owned());
    for delivery in AddonDelivery::all() {
        let mut files = fleet(delivery);
        let template = "apiVersion: rbac.authorization.k8s.io/v1\n#% if cluster.name == 'one'\nkind: Role\n#% else\nkind: \
                        RoleBinding\nroleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: x }\n#% endif\nmetadata:\n  name: ${{ cluster.name }}-x\n  namespace: ${{ namespace.name }}\n";
        files.0.insert("stacks/test/tiny/cluster/rbac.yaml".to_owned(), template.to_owned());
        let allow = |kind: &str| {
            format!(
                "    - {{ rule: kind/{kind}.rbac.authorization.k8s.io, in: cluster/rbac.yaml, reason: a test }}\n"
            )
        };
        let stack = files.0.get_mut("stacks/test/tiny/stack.yaml").unwrap();
        *stack += &["  allow:\n", &allow("Role"), &allow("RoleBinding")].concat();
        let tree = tree(&files);
        let (blue, of_blue) = kinds(&tree, "mgmt.namespace.blue");
        let (green, of_green) = kinds(&tree, "mgmt.namespace.green");
        assert_eq!(blue, green, "{delivery:?}: the branches count, not the clusters");
        for kind in of_blue.union(&of_green) {
            assert!(permits(&blue, kind), "{delivery:?}: {kind:?}");
        }
        assert!(of_blue.contains(&pair("rbac.authorization.k8s.io", "Role")), "{of_blue:?}");
        for kind in [
            pair("apps", "Deployment"),
            pair("batch", "Job"),
            pair("", "Pod"),
            pair("", "ServiceAccount"),
            pair("rbac.authorization.k8s.io", "ClusterRole"),
            pair("source.toolkit.fluxcd.io", "GitRepository"),
        ] {
            assert!(!permits(&blue, &kind), "{kind:?}");
        }
    }
}

#[test]
fn a_project_allows_the_cluster_wide_kinds_that_a_stack_allows_by_name() {
    let mut files = fleet(AddonDelivery::of(Engine::ArgoCd));
    let template = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: ${{ cluster.name }}-x\n";
    files.0.insert("stacks/test/tiny/cluster/rbac.yaml".to_owned(), template.to_owned());
    let allow = "  allow:\n    - { rule: kind/ClusterRole.rbac.authorization.k8s.io, in: cluster/rbac.yaml, reason: a test }\n";
    *files.0.get_mut("stacks/test/tiny/stack.yaml").unwrap() += allow;
    let tree = tree(&files);
    let named =
        |one: &&Json| one["kind"] == "AppProject" && text(one, "/metadata/name") == "mgmt.namespace.blue";
    let project = tree.values().find(named).unwrap();
    let role = ("rbac.authorization.k8s.io".to_owned(), "ClusterRole".to_owned());
    assert_eq!(listed(project, "clusterResourceWhitelist"), Some([role.clone()].into()));
    assert!(!permits(&listed(project, "namespaceResourceWhitelist").unwrap(), &role));
}

#[test]
fn changes_of_single_clusters_leave_projects_alone() {
    let projects = |files: &Files| {
        let mut tree = tree(files);
        tree.retain(|path, _| path.contains("/projects/"));
        tree
    };
    let before = fleet(AddonDelivery::of(Engine::ArgoCd));
    let mut after = before.clone();
    let one = after.0["clusters/blue/one.yaml"].clone();
    after.0.insert("clusters/blue/new.yaml".to_owned(), one.replace("name: one", "name: new"));
    after.0.remove("clusters/blue/one.yaml");
    assert_eq!(projects(&before), projects(&after));
}

#[test]
fn users_own_objects_have_a_project_without_a_list() {
    let mut files = fleet(AddonDelivery::of(Engine::ArgoCd));
    let quota = "apiVersion: example.org/v1\nkind: Anything\nmetadata:\n  name: x\n  namespace: blue\n";
    files.0.insert("clusters/blue/one.d/x.yaml".to_owned(), quota.to_owned());
    let tree = tree(&files);
    let project = |name: &str| {
        tree.values().find(|one| one["kind"] == "AppProject" && text(one, "/metadata/name") == name)
    };
    let own = project("mgmt.namespace.blue.objects").unwrap();
    assert_eq!(listed(own, "namespaceResourceWhitelist"), None);
    assert_eq!(listed(own, "clusterResourceWhitelist"), None);
    assert_eq!(
        listed(own, "namespaceResourceBlacklist"),
        Some([("argoproj.io".to_owned(), "*".to_owned())].into())
    );
    assert_eq!(own["spec"]["destinations"][0]["namespace"], "blue");
    assert!(project("mgmt.namespace.green.objects").is_none(), "green has no objects of its own");
    let application = |one: &&Json| text(one, "/metadata/name") == "mgmt.cluster.blue.one.objects";
    let application = tree.values().find(application).unwrap();
    assert_eq!(application["spec"]["project"], "mgmt.namespace.blue.objects");
}
