//! Cluster API's addon provider for Helm: a `HelmChartProxy` for the chart of an addon, which selects the Cluster by name.
//! The provider evaluates its values as a Go template. Manifests go into a `ClusterResourceSet` of Cluster API itself.

use super::{
    super::{ComposedField, Drawn, Installs, Limit, Provenance, Target},
    Delivery,
    addon::{self, Addon},
    capabilities::{Capabilities, Order},
    provenance, resource_set,
    text::{literal, read},
};
use crate::{
    note::{Notes, Severity},
    plan::{AddonPlan, ClusterPlan, HelmPlan, installer_name},
    tree::TreePath,
    yaml::{Mapping, Node, Path},
};

/// The timeout of Helm for an addon.
const TIMEOUT: &str = "10m0s";

/// Delivery as `HelmChartProxies`, with `ClusterResourceSets` for manifests.
pub(super) static DELIVERY: Delivery = Delivery {
    capabilities: Capabilities {
        actor: "the addon provider for Helm",
        object: "a HelmChartProxy",
        charts: true,
        manifests: true,
        values_from: false,
        registries: true,
        digests: false,
        order: Order::None,
        release: false,
        manifests_stay: true,
        largest_values: None,
    },
    draw,
    installer,
    list: |plan| resource_set::list("helmchartproxies.addons.cluster.x-k8s.io", plan),
    apis: &["addons.cluster.x-k8s.io/v1alpha1"],
    kinds: &[
        ("addons.cluster.x-k8s.io", "HelmChartProxy"),
        ("addons.cluster.x-k8s.io", "ClusterResourceSet"),
        ("", "ConfigMap"),
    ],
    uninstalls: "",
    installs: "HelmChartProxy",
    sign: "",
    values: |object| match object.at(&["spec", "valuesTemplate"]).and_then(Node::as_str) {
        Some(text) => read(text),
        None => Some(Mapping::new().into()),
    },
    values_at: &["spec", "valuesTemplate"],
    provenance: fields,
    limits,
    registration: |_| None,
};

/// Charts whose names cannot be part of an object's name: the provider names each `HelmReleaseProxy` `<chart>-<cluster>-…`, and a
/// temporary file after the chart.
///
/// Source: `controllers/helmchartproxy/helmchartproxy_controller_phases.go` and `internal/helm_client.go` of CAAPH 0.6.4.
fn limits(plan: &ClusterPlan) -> Vec<Limit> {
    let is_part_of_name = |c: char| matches!(c, 'a'..='z' | '0'..='9' | '-' | '.');
    let charts = plan.addons.iter().filter_map(|addon| Some((addon, &addon.helm.as_ref()?.chart.chart)));
    let unusable = charts.filter(|(_, chart)| !chart.chars().all(is_part_of_name));
    let limit = |(addon, chart): (&AddonPlan, &String)| Limit {
        severity: Severity::Error,
        origin: addon.frozen.addon.matrix.first().map_or(plan.cluster.origin, |row| row.version_origin),
        message: format!(
            "the addon provider for Helm cannot install the chart `{chart}` of `{}`: it names an object after the chart",
            addon.frozen.addon.name
        ),
        hints: vec!["choose another `addonDelivery` for this cluster".to_owned()],
    };
    unusable.map(limit).collect()
}

fn draw(plan: &ClusterPlan, part: &TreePath, drawn: &mut Drawn, notes: &mut Notes) {
    for addon in addon::all(plan, drawn) {
        if let Some(helm) = &addon.plan.helm
            && let Some(values) = addon.values(notes)
        {
            let file = part.join("addons").join(&format!("{}.yaml", addon.name()));
            addon.inlay(&file, Path::of(&["spec", "valuesTemplate"]), &values, drawn);
            let object = of_chart(&addon, helm, &values);
            let object = drawn.add(file, &plan.cluster.file, Target::Management, object);
            object.of_addon(addon.name(), Installs::Chart).kept = helm.protected;
        }
        resource_set::manifests(&addon, part, drawn, notes);
    }
}

fn installer(plan: &ClusterPlan, addon: &str) -> (String, String) {
    let planned = plan.addons.iter().find(|one| one.frozen.addon.name.as_str() == addon);
    let object = match planned {
        Some(one) if one.helm.is_none() => resource_set::of_manifests(plan, addon),
        _ => format!("helmchartproxies.addons.cluster.x-k8s.io/{}", installer_name(&plan.cluster, addon)),
    };
    (plan.cluster.namespace.to_string(), object)
}

fn of_chart(addon: &Addon<'_>, helm: &HelmPlan, values: &Node) -> Mapping {
    let (cluster, frozen) = (&addon.cluster.cluster, &addon.plan.frozen.addon);
    let mut install = Mapping::new();
    install.set("createNamespace", true);
    let mut options = Mapping::new();
    options.set("install", install);
    options.set("timeout", TIMEOUT);
    options.set("wait", helm.wait);
    let mut spec = Mapping::new();
    spec.set("chartName", helm.chart.chart.as_str());
    spec.set("clusterSelector", resource_set::selector(cluster));
    spec.set("namespace", frozen.release_namespace.as_str());
    spec.set("options", options);
    spec.set("reconcileStrategy", "Continuous");
    spec.set("releaseName", frozen.release_name.as_str());
    spec.set("repoURL", helm.chart.repository.as_str());
    spec.set("version", helm.chart.version.to_string());
    if !values.is_empty_collection() {
        spec.set("valuesTemplate", literal(values));
    }
    let mut root = Mapping::new();
    root.set("apiVersion", "addons.cluster.x-k8s.io/v1alpha1");
    root.set("kind", "HelmChartProxy");
    let paused = helm.suspended || cluster.management.standby;
    let name = installer_name(cluster, addon.name());
    root.set("metadata", resource_set::metadata(cluster, &name, paused));
    root.set("spec", spec);
    root
}

fn fields<'a>(_field: &ComposedField<'a>, names: &[&'a str]) -> Option<Vec<Provenance<'a>>> {
    Some(match names {
        ["spec", "chartName"] => vec![Provenance::Addon(&["chart", "name"])],
        ["spec", "repoURL"] => vec![Provenance::AddonRepository],
        ["spec", "version"] => vec![Provenance::AddonVersion, Provenance::ReleaseChoice],
        ["spec", "releaseName"] => vec![Provenance::Addon(&["release", "name"])],
        ["spec", "namespace"] => vec![Provenance::Addon(&["release", "namespace"])],
        ["spec", "options", "wait"] => vec![Provenance::Addon(&["stage"])],
        ["spec", "options", ..] => {
            vec![Provenance::Program("how Helm installs and how long it waits: see docs/deliveries.md")]
        }
        ["spec", "reconcileStrategy"] => {
            vec![Provenance::Program("later versions and values are installed, too")]
        }
        ["spec", "valuesTemplate"] => vec![Provenance::AddonValues],
        _ => return provenance::common(names),
    })
}
