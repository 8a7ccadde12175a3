//! Sveltos: one Profile for the chart of an addon, and one for its manifests. Profiles are in the Cluster's namespace, so
//! that an Argo CD project and a tenant's permissions cover them; a `ClusterProfile` would have no namespace.
//!
//! Sveltos evaluates values as a Go template, once or twice depending on the code path, so they must not contain template
//! markers.

use super::{
    super::{ComposedField, Drawn, Installs, Provenance, Target},
    Delivery,
    addon::{self, Addon},
    capabilities::{Capabilities, Order},
    manifests_name, provenance, resource_set,
    text::{literal, read},
};
use crate::{
    model::Cluster,
    note::Notes,
    plan::{AddonContent, ClusterPlan, HelmPlan, ManifestsPlan, contents_before, installer_name},
    tree::TreePath,
    yaml::{Mapping, Node, Path},
};

/// The timeout of Helm for an addon.
const TIMEOUT: &str = "10m0s";

/// Delivery as Profiles of Sveltos.
pub(super) static DELIVERY: Delivery = Delivery {
    capabilities: Capabilities {
        actor: "Sveltos",
        object: "a Profile of Sveltos",
        charts: true,
        manifests: true,
        values_from: false,
        registries: true,
        digests: false,
        order: Order::Ready,
        release: true,
        manifests_stay: false,
        largest_values: None,
    },
    draw,
    installer,
    list,
    apis: &["config.projectsveltos.io/"],
    kinds: &[("config.projectsveltos.io", "Profile"), ("", "ConfigMap")],
    uninstalls: "",
    installs: "Profile",
    sign: "",
    values,
    values_at: &["spec", "helmCharts", "", "values"],
    provenance: fields,
    limits: |_| Vec::new(),
    registration: |_| None,
};

fn draw(plan: &ClusterPlan, part: &TreePath, drawn: &mut Drawn, notes: &mut Notes) {
    for addon in addon::all(plan, drawn) {
        let file = |what: &str| part.join("addons").join(&format!("{}{what}.yaml", addon.name()));
        if let Some(helm) = &addon.plan.helm
            && let Some(values) = addon.values(notes)
        {
            let at = Path::of(&["spec", "helmCharts"]).item(0).key("values");
            addon.inlay(&file(""), at, &values, drawn);
            let object = of_chart(&addon, helm, &values);
            let object = drawn.add(file(""), &plan.cluster.file, Target::Management, object);
            object.of_addon(addon.name(), Installs::Chart).kept = helm.protected;
        }
        if let Some(manifests) = &addon.plan.manifests {
            let data_file = file(".manifests-data");
            let Some(data) = addon.embedded(&data_file, drawn, notes) else { continue };
            let name = manifests_name(&plan.cluster, addon.name());
            let mut config_map = Mapping::new();
            config_map.set("apiVersion", "v1");
            config_map.set("kind", "ConfigMap");
            config_map.set("metadata", resource_set::metadata(&plan.cluster, &name, false));
            config_map.set("data", data);
            let object = of_manifests(&addon, manifests, &name);
            for (file, object) in [(data_file, config_map), (file(".manifests"), object)] {
                let object = drawn.add(file, &plan.cluster.file, Target::Management, object);
                object.of_addon(addon.name(), Installs::Manifests).kept = manifests.protected;
            }
        }
    }
}

fn installer(plan: &ClusterPlan, addon: &str) -> (String, String) {
    let planned = plan.addons.iter().find(|one| one.frozen.addon.name.as_str() == addon);
    let name = match planned {
        Some(one) if one.helm.is_none() => manifests_name(&plan.cluster, addon),
        _ => installer_name(&plan.cluster, addon),
    };
    (plan.cluster.namespace.to_string(), format!("profiles.config.projectsveltos.io/{name}"))
}

fn list(plan: &ClusterPlan) -> String {
    let (name, namespace) = (&plan.cluster.name, &plan.cluster.namespace);
    format!(
        "kubectl --namespace {namespace} get profiles.config.projectsveltos.io --selector cluster.x-k8s.io/cluster-name={name} --output custom-columns=NAME:.metadata.name,LEAVES:.spec.stopMatchingBehavior"
    )
}

fn values(object: &Node) -> Option<Node> {
    let charts = object.at(&["spec", "helmCharts"]).and_then(Node::as_sequence)?;
    match charts.first()?.get("values").and_then(Node::as_str) {
        Some(text) => read(text),
        None => Some(Mapping::new().into()),
    }
}

/// A Profile for one cluster, after others. If `leaves` is set, deleting the Profile keeps what it installed.
fn profile(cluster: &Cluster, name: &str, after: Vec<String>, leaves: bool) -> (Mapping, Mapping) {
    let mut reference = Mapping::new();
    reference.set("apiVersion", "cluster.x-k8s.io/v1beta2");
    reference.set("kind", "Cluster");
    reference.set("name", cluster.name.as_str());
    reference.set("namespace", cluster.namespace.as_str());
    let mut spec = Mapping::new();
    spec.set("clusterRefs", vec![Node::from(reference)]);
    spec.set_filled("dependsOn", after.into_iter().map(Node::from).collect::<Vec<_>>());
    if leaves || cluster.management.standby {
        spec.set("stopMatchingBehavior", "LeavePolicies");
    }
    spec.set("syncMode", "Continuous");
    let mut root = Mapping::new();
    root.set("apiVersion", "config.projectsveltos.io/v1beta1");
    root.set("kind", "Profile");
    root.set("metadata", resource_set::metadata(cluster, name, false));
    (root, spec)
}

/// The names of the Profiles that come before that of a chart or of manifests, sorted.
fn profiles_before(plan: &ClusterPlan, part: AddonContent<'_>) -> Vec<String> {
    let name = |other| match other {
        AddonContent::Chart(addon) => installer_name(&plan.cluster, addon),
        AddonContent::Manifests(addon) => manifests_name(&plan.cluster, addon),
    };
    let mut names: Vec<_> = contents_before(&plan.addons, part).into_iter().map(name).collect();
    names.sort_unstable();
    names
}

fn of_chart(addon: &Addon<'_>, helm: &HelmPlan, values: &Node) -> Mapping {
    let (cluster, frozen) = (&addon.cluster.cluster, &addon.plan.frozen.addon);
    let name = installer_name(cluster, addon.name());
    let after = profiles_before(addon.cluster, AddonContent::Chart(addon.name()));
    let (mut root, mut spec) = profile(cluster, &name, after, helm.suspended);
    let mut install = Mapping::new();
    install.set("createNamespace", true);
    install.set("takeOwnership", true);
    let mut upgrade = Mapping::new();
    upgrade.set("takeOwnership", true);
    upgrade.set("upgradeCRDs", true);
    let mut options = Mapping::new();
    options.set("installOptions", install);
    options.set("timeout", TIMEOUT);
    options.set("upgradeOptions", upgrade);
    options.set("wait", helm.wait);
    let mut chart = Mapping::new();
    chart.set("chartName", helm.chart.chart.as_str());
    chart.set("chartVersion", helm.chart.version.to_string());
    chart.set("helmChartAction", "Install");
    chart.set("options", options);
    chart.set("releaseName", frozen.release_name.as_str());
    chart.set("releaseNamespace", frozen.release_namespace.as_str());
    chart.set("repositoryName", helm.chart.repository_name());
    chart.set("repositoryURL", helm.chart.repository.as_str());
    if !values.is_empty_collection() {
        chart.set("values", literal(values));
    }
    spec.set("helmCharts", vec![Node::from(chart)]);
    root.set("spec", spec);
    root
}

fn of_manifests(addon: &Addon<'_>, manifests: &ManifestsPlan, name: &str) -> Mapping {
    let plan = addon.cluster;
    let cluster = &plan.cluster;
    let after = profiles_before(plan, AddonContent::Manifests(addon.name()));
    let (mut root, mut spec) = profile(cluster, name, after, manifests.suspended || manifests.orphan);
    let mut policy = Mapping::new();
    policy.set("deploymentType", "Remote");
    policy.set("kind", "ConfigMap");
    policy.set("name", name);
    policy.set("namespace", cluster.namespace.as_str());
    spec.set("policyRefs", vec![Node::from(policy)]);
    root.set("spec", spec);
    root
}

fn fields<'a>(field: &ComposedField<'a>, names: &[&'a str]) -> Option<Vec<Provenance<'a>>> {
    Some(match names {
        ["spec", "dependsOn"] => {
            let charts = field.facts.addon.as_ref()?.installs == Installs::Chart;
            vec![Provenance::Dependencies { charts, of_stages: true }]
        }
        ["spec", "dependsOn", ""] => vec![Provenance::Installer(field.node.as_str()?)],
        ["spec", "stopMatchingBehavior"] => vec![Provenance::Suspension],
        ["spec", "syncMode"] => vec![Provenance::Program("later versions and values are installed, too")],
        ["spec", "policyRefs", "", "namespace"] => return provenance::common(names),
        ["spec", "policyRefs", ..] => {
            vec![Provenance::Definition(&["metadata", "name"]), Provenance::Addon(&[])]
        }
        ["spec", "helmCharts", "", rest @ ..] => match rest {
            ["chartName"] => vec![Provenance::Addon(&["chart", "name"])],
            ["chartVersion"] => vec![Provenance::AddonVersion, Provenance::ReleaseChoice],
            ["repositoryURL" | "repositoryName"] => vec![Provenance::AddonRepository],
            ["releaseName"] => vec![Provenance::Addon(&["release", "name"])],
            ["releaseNamespace"] => vec![Provenance::Addon(&["release", "namespace"])],
            ["options", "wait"] => vec![Provenance::Addon(&["stage"])],
            ["values"] => vec![Provenance::AddonValues],
            _ => vec![Provenance::Program("how Helm installs and how long it waits: see docs/deliveries.md")],
        },
        _ => return provenance::common(names),
    })
}
