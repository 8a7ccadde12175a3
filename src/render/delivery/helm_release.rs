//! Flux: `HelmReleases`, and Kustomizations for manifests. They live in the Cluster's namespace, because its
//! kubeconfig does.

use super::{
    super::{
        ChartValues, Drawn, Target, context,
        flux::{Kustomization, OnDeletion, path, secret_reference, sources},
    },
    Delivery,
};
use crate::{
    definition::merge_values,
    model::{AddonDelivery, Subdomain, ValuesFrom, ValuesSource},
    note::Notes,
    plan::{AddonPlan, ClusterPlan, HelmPlan, installer_name},
    template::{Context, Text},
    tree::TreePath,
    world::Input,
    yaml::{Mapping, Node, Origin},
};

const INTERVAL: &str = "30m";
/// How long Helm may wait for an addon.
const TIMEOUT: &str = "10m";
/// A failed installation is tried again after this long; never undone and done again.
const RETRY: &str = "1m";

/// `HelmReleases` of Flux.
pub(super) static DELIVERY: Delivery =
    Delivery { kind: AddonDelivery::FluxHelmRelease, draw, installer, list, values };

fn draw(plan: &ClusterPlan, part: &TreePath, input: &Input, drawn: &mut Drawn, notes: &mut Notes) {
    let cluster_context = context::of_cluster(plan, drawn.recorder.as_ref());
    for addon in &plan.addons {
        let renderer = Renderer { plan, addon, input, context: context::of_addon(&cluster_context, addon) };
        let name = addon.frozen.addon.name.as_str();
        if let Some(object) = addon.helm.as_ref().and_then(|helm| renderer.helm_release(helm, notes)) {
            let file = part.join("addons").join(&format!("{name}.yaml"));
            drawn.values.extend(renderer.chart_values(&object));
            let kept = addon.helm.as_ref().is_some_and(|helm| helm.protected);
            drawn.add(file, &plan.cluster.file, Target::Management, object).kept = kept;
        }
        renderer.manifests(part, drawn, notes);
    }
}

fn installer(plan: &ClusterPlan, addon: &str) -> String {
    let planned = plan.addons.iter().find(|one| one.frozen.addon.name.as_str() == addon);
    match planned.and_then(|one| one.manifests.as_ref().filter(|_| one.helm.is_none())) {
        Some(manifests) => format!("kustomizations.kustomize.toolkit.fluxcd.io/{}", manifests.unit.name()),
        None => format!("helmrelease/{}", installer_name(&plan.cluster, addon)),
    }
}

fn list(plan: &ClusterPlan) -> String {
    let (name, namespace) = (&plan.cluster.name, &plan.cluster.namespace);
    format!(
        "kubectl --namespace {namespace} get helmreleases --selector cluster.x-k8s.io/cluster-name={name} --output custom-columns=NAME:.metadata.name,SUSPENDED:.spec.suspend"
    )
}

fn values(object: &Node) -> Option<Node> {
    let is_release = object.get("kind").and_then(Node::as_str) == Some("HelmRelease");
    let values = object.at(&["spec", "values"]).cloned();
    is_release.then(|| values.unwrap_or_else(|| Mapping::new().into()))
}

struct Renderer<'a> {
    plan: &'a ClusterPlan,
    addon: &'a AddonPlan,
    input: &'a Input,
    context: Context,
}

impl Renderer<'_> {
    fn kube_config(&self) -> String {
        format!("{}-kubeconfig", self.plan.cluster.name)
    }

    fn helm_release(&self, helm: &HelmPlan, notes: &mut Notes) -> Option<Node> {
        let (cluster, addon) = (&self.plan.cluster, &self.addon.frozen.addon);
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
        let values = self.values(notes)?;
        spec.set_filled("values", values);
        let mut root = Mapping::new();
        root.set("apiVersion", "helm.toolkit.fluxcd.io/v2");
        root.set("kind", "HelmRelease");
        root.set("metadata", metadata);
        root.set("spec", spec);
        Some(root.into())
    }

    /// The values of an object, if it is known which ones its chart takes.
    fn chart_values(&self, object: &Node) -> Option<ChartValues> {
        let helm = self.addon.helm.as_ref()?;
        let addon = &self.addon.frozen.addon;
        let row = addon.matrix.iter().find(|row| Some(&row.version) == self.addon.version.as_ref());
        Some(ChartValues {
            listed: row.map_or(Origin::NOWHERE, |row| row.version_origin),
            addon: addon.name.to_string(),
            chart: helm.chart.chart.clone(),
            version: helm.chart.version.to_string(),
            described: helm.described.clone()?,
            values: object.at(&["spec", "values"]).cloned().unwrap_or_else(|| Mapping::new().into()),
            is_part: !addon.values_from.is_empty(),
        })
    }

    /// The release's values with the cluster's own over them.
    fn values(&self, notes: &mut Notes) -> Option<Node> {
        let below = match &self.addon.frozen.values {
            Some(template) => self.one_map(&template.template.render(&self.context, notes)?, notes)?,
            None => Mapping::new().into(),
        };
        Some(match &self.addon.values {
            Some(own) => merge_values(&below, own),
            None => below,
        })
    }

    /// Helm takes one map: of a second document, or of a list, nothing would reach the chart.
    fn one_map(&self, documents: &[Node], notes: &mut Notes) -> Option<Node> {
        let (wrong, what) = match documents {
            [] => return Some(Mapping::new().into()),
            [only] if only.as_mapping().is_some() => return Some(only.clone()),
            [only] => (only, only.kind()),
            [_, second, ..] => (second, "more than one document"),
        };
        let place = self.input.sources.place(wrong.origin);
        let message =
            format!("the values of `{}` are {what}, and Helm takes one map", self.addon.frozen.addon.name);
        notes.error("values", place, message).hint("write `key: value` entries in one document");
        None
    }

    fn values_from(&self, notes: &mut Notes) -> Option<Vec<Node>> {
        let frozen = &self.addon.frozen;
        let pairs = frozen.addon.values_from.iter().zip(&frozen.values_objects);
        pairs.map(|(from, name)| self.one_values_from(from, name, notes)).collect()
    }

    fn one_values_from(&self, from: &ValuesFrom, name: &Text, notes: &mut Notes) -> Option<Node> {
        let object = name.render(&self.context, notes)?;
        let name = object.as_str().unwrap_or_default();
        if let Err(fault) = Subdomain::new(name) {
            notes
                .error("wrong-name", self.input.sources.place(from.origin), format!("`{name}` is not a name that Kubernetes accepts: {fault}"))
                .hint("the object is one of the cluster's namespace, such as `${{ cluster.name }}-cloud-config`");
            return None;
        }
        let mut mapping = Mapping::new();
        mapping.set(
            "kind",
            match from.kind {
                ValuesSource::Secret => "Secret",
                ValuesSource::ConfigMap => "ConfigMap",
            },
        );
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

    /// The manifests of an addon, in a folder of their own, and the Kustomization that applies them in the cluster.
    fn manifests(&self, part: &TreePath, drawn: &mut Drawn, notes: &mut Notes) {
        let Some(manifests) = &self.addon.manifests else { return };
        let (cluster, name) = (&self.plan.cluster, self.addon.frozen.addon.name.as_str());
        let folder = part.join("manifests").join(name);
        let before = drawn.objects.len();
        for template in &self.addon.frozen.manifests {
            if let Some(objects) = template.template.objects(&self.context, notes) {
                let source = format!("{} of {}", template.path, self.plan.release.name);
                drawn.add_rendered(&folder, &source, Target::Workload, objects);
            }
        }
        if drawn.objects.len() == before {
            let marker = nothing(name);
            drawn.add_rendered(&folder, &cluster.file, Target::Workload, vec![marker]);
        }
        let kustomization = Kustomization {
            namespace: cluster.namespace.to_string(),
            depends_on: manifests.after.clone(),
            kube_config: Some(self.kube_config()),
            on_deletion: if manifests.orphan { OnDeletion::Orphan } else { OnDeletion::AsPrune },
            suspended: manifests.suspended,
            ..Kustomization::new(
                &cluster.management,
                &self.plan.fleet,
                manifests.unit.name(),
                path(&cluster.management, &folder),
            )
        };
        let file = part.join("addons").join(&format!("{name}.manifests.yaml"));
        drawn.add(file, &cluster.file, Target::Management, kustomization.object()).kept = manifests.protected;
    }
}

/// Manifests may come to nothing in some cluster. Git keeps no empty folder, and a Kustomization without its folder
/// fails for good, with all that wait for it.
fn nothing(addon: &str) -> Node {
    let mut metadata = Mapping::new();
    metadata.set("name", format!("{addon}.stackloom"));
    metadata.set("namespace", "kube-system");
    let mut data = Mapping::new();
    data.set("objects", "none for this cluster");
    let mut root = Mapping::new();
    root.set("apiVersion", "v1");
    root.set("kind", "ConfigMap");
    root.set("metadata", metadata);
    root.set("data", data);
    root.into()
}

fn named(name: &str) -> Node {
    let mut mapping = Mapping::new();
    mapping.set("name", name);
    mapping.into()
}

/// What Helm does, and that a failure is tried again from where it stands.
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
