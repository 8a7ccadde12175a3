//! Flux: `HelmReleases`, and Kustomizations for manifests. They are in the Cluster's namespace, because its kubeconfig is.

use super::{
    super::{
        ComposedField, Drawn, Installs, Limit, Provenance, Target,
        flux::{Kustomization, OnDeletion, path, secret_reference, sources},
    },
    Delivery,
    addon::{self, Addon, WRITE_NAMESPACE, without_namespace},
    capabilities::{Capabilities, Order},
    flux_stages,
};
use crate::{
    model::{Engine, EngineSource, Subdomain, ValuesFrom, address},
    note::{Notes, Severity},
    plan::{ClusterPart, ClusterPlan, HelmPlan, ManifestsPlan, Unit, installer_name},
    template::Text,
    tree::TreePath,
    yaml::{Mapping, Node},
};

const INTERVAL: &str = "30m";
/// The timeout of Helm for an addon.
const TIMEOUT: &str = "10m";
/// The delay before a failed installation is retried. It is never rolled back and reinstalled.
const RETRY: &str = "1m";

/// Delivery as `HelmReleases` of Flux.
pub(super) static DELIVERY: Delivery = Delivery {
    capabilities: Capabilities {
        actor: "Flux",
        object: "a HelmRelease of Flux",
        charts: true,
        manifests: true,
        values_from: true,
        registries: true,
        digests: true,
        order: Order::Ready,
        release: true,
        manifests_stay: false,
        largest_values: None,
    },
    draw,
    installer,
    list,
    apis: &["helm.toolkit.fluxcd.io/", "kustomize.toolkit.fluxcd.io/"],
    kinds: &[("helm.toolkit.fluxcd.io", "HelmRelease"), ("kustomize.toolkit.fluxcd.io", "Kustomization")],
    uninstalls: "",
    installs: "HelmRelease",
    sign: "",
    values,
    values_at: &["spec", "values"],
    provenance,
    limits: |plan| unreadable_address(plan).into_iter().chain(flux_stages::of_charts(plan)).collect(),
    registration: |_| None,
};

/// Why Flux cannot read the fleet's repository, if another engine does.
fn unreadable_address(plan: &ClusterPlan) -> Option<Limit> {
    let cluster = &plan.cluster;
    let EngineSource::Git { url, .. } = &cluster.management.source else { return None };
    let long = address::with_scheme(url).filter(|_| cluster.management.engine != Engine::Flux);
    let limit = |long: String| Limit {
        severity: Severity::Error,
        origin: cluster.origin,
        message: format!(
            "Flux installs the addons of {}, and `{url}` is not an address that it can read: it needs the scheme `ssh://`",
            cluster.full_name()
        ),
        hints: vec![format!("write `{long}` as `source.url` in stackloom.yaml")],
    };
    long.map(limit)
}

fn draw(plan: &ClusterPlan, part: &TreePath, drawn: &mut Drawn, notes: &mut Notes) {
    for addon in addon::all(plan, drawn) {
        let installer = Installer(addon);
        let Installer(addon) = &installer;
        if let Some(helm) = &addon.plan.helm
            && let Some(object) = installer.helm_release(helm, notes)
        {
            let file = part.join("addons").join(&format!("{}.yaml", addon.name()));
            drawn.values.extend(addon.chart_values(object.at(&["spec", "values"]).cloned()));
            let object = drawn.add(file, &plan.cluster.file, Target::Management, object);
            object.of_addon(addon.name(), Installs::Chart).kept = helm.protected;
        }
        installer.manifests(part, drawn, notes);
    }
}

fn installer(plan: &ClusterPlan, addon: &str) -> (String, String) {
    let planned = plan.addons.iter().find(|one| one.frozen.addon.name.as_str() == addon);
    let object = match planned.and_then(|one| one.manifests.as_ref().filter(|_| one.helm.is_none())) {
        Some(manifests) => format!("kustomizations.kustomize.toolkit.fluxcd.io/{}", manifests.unit.name()),
        None => format!("helmrelease/{}", installer_name(&plan.cluster, addon)),
    };
    (plan.cluster.namespace.to_string(), object)
}

fn list(plan: &ClusterPlan) -> String {
    let (name, namespace) = (&plan.cluster.name, &plan.cluster.namespace);
    format!(
        "kubectl --namespace {namespace} get helmreleases --selector cluster.x-k8s.io/cluster-name={name} --output custom-columns=NAME:.metadata.name,SUSPENDED:.spec.suspend"
    )
}

fn values(object: &Node) -> Option<Node> {
    object.at(&["spec", "values"]).cloned().or_else(|| Some(Mapping::new().into()))
}

struct Installer<'a>(Addon<'a>);

impl Installer<'_> {
    fn kube_config(&self) -> String {
        format!("{}-kubeconfig", self.0.cluster.cluster.name)
    }

    fn helm_release(&self, helm: &HelmPlan, notes: &mut Notes) -> Option<Node> {
        let (cluster, addon) = (&self.0.cluster.cluster, &self.0.plan.frozen.addon);
        let mut labels = Mapping::new();
        labels.set("cluster.x-k8s.io/cluster-name", cluster.name.as_str());
        let mut metadata = Mapping::new();
        metadata.set("name", installer_name(cluster, addon.name.as_str()));
        metadata.set("namespace", cluster.namespace.as_str());
        metadata.set("labels", labels);
        let mut spec = Mapping::new();
        spec.set("interval", INTERVAL);
        spec.set("timeout", TIMEOUT);
        spec.set("chartRef", sources::chart_reference(&helm.chart));
        spec.set("kubeConfig", secret_reference(&self.kube_config()));
        spec.set("releaseName", addon.release_name.as_str());
        spec.set("targetNamespace", addon.release_namespace.as_str());
        spec.set("storageNamespace", addon.release_namespace.as_str());
        spec.set_filled(
            "dependsOn",
            helm.after.iter().map(|other| named(&installer_name(cluster, other))).collect::<Vec<_>>(),
        );
        spec.set("install", action(helm, "Create", true));
        spec.set("upgrade", action(helm, "CreateReplace", false));
        if helm.suspended || cluster.management.standby {
            spec.set("suspend", true);
        }
        spec.set_filled("valuesFrom", self.values_from(notes)?);
        let values = self.0.values(notes)?;
        spec.set_filled("values", values);
        let mut root = Mapping::new();
        root.set("apiVersion", "helm.toolkit.fluxcd.io/v2");
        root.set("kind", "HelmRelease");
        root.set("metadata", metadata);
        root.set("spec", spec);
        Some(root.into())
    }

    fn values_from(&self, notes: &mut Notes) -> Option<Vec<Node>> {
        let frozen = &self.0.plan.frozen;
        let pairs = frozen.addon.values_from.iter().zip(&frozen.values_objects);
        pairs.map(|(from, name)| self.one_values_from(from, name, notes)).collect()
    }

    fn one_values_from(&self, from: &ValuesFrom, name: &Text, notes: &mut Notes) -> Option<Node> {
        let object = name.render(&self.0.context, notes)?;
        let name = object.as_str().unwrap_or_default();
        if let Err(fault) = Subdomain::new(name) {
            notes.error("wrong-name", from.origin, format!("`{name}` is not a valid name: {fault}")).hint(
                "the object is one of the cluster's namespace, such as `${{ cluster.name }}-cloud-config`",
            );
            return None;
        }
        let mut mapping = Mapping::new();
        mapping.set("kind", from.kind.as_str());
        mapping.set("name", object);
        mapping.set("valuesKey", from.key.as_str());
        if let Some(path) = &from.path {
            mapping.set("targetPath", path.as_str());
            mapping.set("literal", true);
        }
        if from.optional {
            mapping.set("optional", true);
        }
        Some(Node::from(mapping).with_origin(from.origin))
    }

    /// Draws the manifests of an addon into a folder of their own, and the Kustomization that applies them in the cluster.
    fn manifests(&self, part: &TreePath, drawn: &mut Drawn, notes: &mut Notes) {
        let Some(manifests) = &self.0.plan.manifests else { return };
        let (plan, name) = (self.0.cluster, self.0.name());
        let cluster = &plan.cluster;
        let before = drawn.objects.len();
        let folder = self.0.manifests(part, drawn, notes);
        // What may be cluster-scoped is not reported: an addon often uses kinds that the chart of another one brings.
        for (object, _) in
            without_namespace(&drawn.objects[before..]).into_iter().filter(|(_, one)| one.is_some())
        {
            let message = format!("{}, and Flux adds none", self.0.has_no_namespace(object));
            notes.error("delivery", object.node.origin, message).hint(WRITE_NAMESPACE);
        }
        flux_stages::check_manifests(plan, name, &drawn.objects[before..], notes);
        let kustomization = Kustomization {
            namespace: cluster.namespace.to_string(),
            depends_on: after(plan, manifests),
            kube_config: Some(self.kube_config()),
            on_deletion: if manifests.orphan { OnDeletion::Orphan } else { OnDeletion::AsPrune },
            suspended: manifests.suspended,
            ..Kustomization::new(
                &cluster.management,
                &plan.fleet,
                manifests.unit.clone(),
                path(&cluster.management, &folder),
            )
        };
        let file = part.join("addons").join(&format!("{name}.manifests.yaml"));
        let object = drawn.add(file, &cluster.file, Target::Management, kustomization.object());
        let object = object.of_addon(name, Installs::Manifests).with(kustomization.purpose());
        object.kept = manifests.protected;
    }
}

/// The units that must be ready before manifests are applied. Only the Flux engine applies the other units as
/// Kustomizations.
fn after(plan: &ClusterPlan, manifests: &ManifestsPlan) -> Vec<Unit> {
    let is_flux = plan.cluster.management.engine == Engine::Flux;
    let is_known =
        |unit: &&Unit| is_flux || matches!(unit, Unit::Cluster { part: ClusterPart::Manifests { .. }, .. });
    manifests.after.iter().filter(is_known).cloned().collect()
}

fn named(name: &str) -> Node {
    let mut mapping = Mapping::new();
    mapping.set("name", name);
    mapping.into()
}

/// The settings of Helm for an installation or upgrade. A failure is retried from where it stopped.
fn action(helm: &HelmPlan, crds: &str, install: bool) -> Mapping {
    let mut strategy = Mapping::new();
    strategy.set("name", "RetryOnFailure");
    strategy.set("retryInterval", RETRY);
    let mut action = Mapping::new();
    if install {
        action.set("createNamespace", true);
    }
    action.set("crds", crds);
    if !helm.wait {
        action.set("disableWait", true);
    }
    action.set("strategy", strategy);
    action
}

fn provenance<'a>(field: &ComposedField<'a>, names: &[&'a str]) -> Option<Vec<Provenance<'a>>> {
    const CLUSTER: Provenance<'_> = Provenance::Definition(&["metadata", "name"]);
    if field.kind() != "HelmRelease" {
        return None;
    }
    Some(match names {
        ["metadata", "name"] => vec![CLUSTER, Provenance::Addon(&[])],
        ["metadata", "namespace"] => vec![Provenance::Namespace],
        ["metadata", "labels", ..] | ["spec", "kubeConfig", ..] => vec![CLUSTER],
        ["spec", "chartRef", "kind"] => vec![Provenance::AddonRepository],
        ["spec", "chartRef", "name"] => vec![
            Provenance::AddonVersion,
            Provenance::Addon(&["chart", "name"]),
            Provenance::AddonRepository,
            Provenance::ReleaseChoice,
        ],
        ["spec", "releaseName"] => vec![Provenance::Addon(&["release", "name"])],
        ["spec", "targetNamespace" | "storageNamespace"] => {
            vec![Provenance::Addon(&["release", "namespace"])]
        }
        ["spec", "dependsOn"] => vec![Provenance::Dependencies { charts: true, of_stages: false }],
        ["spec", "dependsOn", "", "name"] => vec![Provenance::Installer(field.node.as_str()?)],
        ["spec", _, "disableWait"] => vec![Provenance::Addon(&["stage"])],
        ["spec", "suspend"] => vec![Provenance::Suspension],
        ["spec", "valuesFrom"] => vec![Provenance::Addon(&["valuesFrom"])],
        ["spec", "valuesFrom", "", key] => vec![Provenance::AddonValuesFrom(key)],
        ["spec", "values"] => vec![Provenance::AddonValues],
        ["spec", "interval" | "timeout"] => {
            vec![Provenance::Program("how long Helm takes and waits: see docs/flux.md")]
        }
        ["spec", "install" | "upgrade", "crds"] => vec![Provenance::Program(
            "CustomResourceDefinitions follow the chart, which Helm alone does not do for them",
        )],
        ["spec", "install" | "upgrade", ..] => vec![Provenance::Program(
            "a failure is retried from where it stopped, never rolled back: see docs/flux.md",
        )],
        _ => return None,
    })
}
