//! Kustomizations.

use super::{NAMESPACE, sources};
use crate::{
    model::{Cluster, Decryption, Label, ManagementCluster},
    plan::{ClusterPart, Unit},
    render::{AppliedFolder, Purpose},
    yaml::{Mapping, Node},
};

/// The interval for correcting drift; new commits are applied at once.
const INTERVAL: &str = "30m";
/// The delay before a failed Kustomization is retried.
const RETRY: &str = "1m";
/// The minimum timeout that Flux accepts for health checks. Health checks of clusters never take that long: they fail at
/// once and are retried. A waiting check would occupy one of a few workers, so that stuck clusters would stop the fleet.
const HEALTH_TIMEOUT: &str = "30s";
/// The retry interval while waiting for the control plane; addons follow within this time.
const CLUSTER_RETRY: &str = "20s";
/// The retry interval of the gate for waves, which is not urgent.
const READY_RETRY: &str = "1m";
/// The timeout of everything else.
const TIMEOUT: &str = "1m";

/// The health check of a Kustomization after it has applied its objects.
#[derive(Clone, Copy, Debug)]
pub(in crate::render) enum Health<'a> {
    /// Nothing.
    None,
    /// All objects that it applied.
    All,
    /// The cluster's control plane is initialized, so addons can be installed.
    ControlPlaneInitialized(&'a Cluster),
    /// The cluster matches its definition.
    Available(&'a Cluster),
}

/// The effect of deleting a Kustomization on its objects.
#[derive(Clone, Copy, Debug)]
pub(in crate::render) enum OnDeletion {
    /// They stay.
    Orphan,
    /// They are deleted, unless protected.
    Delete,
    /// `prune` decides.
    AsPrune,
}

/// A Kustomization. [`Kustomization::new`] sets the fields that most Kustomizations share.
#[derive(Clone, Debug)]
pub(in crate::render) struct Kustomization<'a> {
    pub management: &'a ManagementCluster,
    pub fleet: &'a Label,
    pub name: String,
    pub applies: AppliedFolder,
    pub namespace: String,
    pub path: String,
    pub depends_on: Vec<Unit>,
    pub health: Health<'a>,
    pub target_namespace: Option<String>,
    pub decryption: Option<&'a Decryption>,
    pub kube_config: Option<String>,
    pub prune: bool,
    /// The effect of deleting the Kustomization on its objects.
    pub on_deletion: OnDeletion,
    /// Annotations for all objects that it applies.
    pub annotations: Vec<(&'static str, &'static str)>,
    /// Whether a management cluster on standby suspends it.
    pub suspendable: bool,
    /// Whether it is always suspended.
    pub suspended: bool,
}

impl<'a> Kustomization<'a> {
    /// The Kustomization of a unit.
    pub(in crate::render) fn new(
        management: &'a ManagementCluster,
        fleet: &'a Label,
        unit: Unit,
        path: String,
    ) -> Self {
        Self::named(management, fleet, (unit.name(), AppliedFolder::Unit(unit)), path)
    }

    /// The Kustomization that brings in all others. It must never be suspended.
    pub(in crate::render) fn entry(
        management: &'a ManagementCluster,
        fleet: &'a Label,
        path: String,
    ) -> Self {
        let name = format!("fleet.{fleet}");
        Self { suspendable: false, ..Self::named(management, fleet, (name, AppliedFolder::Fleet), path) }
    }

    fn named(
        management: &'a ManagementCluster,
        fleet: &'a Label,
        (name, applies): (String, AppliedFolder),
        path: String,
    ) -> Self {
        Self {
            management,
            fleet,
            name,
            applies,
            namespace: NAMESPACE.to_owned(),
            path,
            depends_on: Vec::new(),
            health: Health::None,
            target_namespace: None,
            decryption: None,
            kube_config: None,
            prune: true,
            on_deletion: OnDeletion::Orphan,
            annotations: Vec::new(),
            suspendable: true,
            suspended: false,
        }
    }

    /// What the object is for.
    pub(in crate::render) fn purpose(&self) -> Purpose {
        let (what, after) = (self.applies.clone(), self.depends_on.clone());
        Purpose::Applies { what, after, in_tenant_project: false }
    }

    pub(in crate::render) fn object(&self) -> Node {
        let mut metadata = Mapping::new();
        metadata.set("name", self.name.as_str());
        metadata.set("namespace", self.namespace.as_str());
        let mut root = Mapping::new();
        root.set("apiVersion", "kustomize.toolkit.fluxcd.io/v1");
        root.set("kind", "Kustomization");
        root.set("metadata", metadata);
        root.set("spec", self.spec());
        root.into()
    }

    fn spec(&self) -> Mapping {
        let mut spec = Mapping::new();
        spec.set("interval", INTERVAL);
        let (timeout, retry) = match self.health {
            Health::None | Health::All => (TIMEOUT, RETRY),
            Health::ControlPlaneInitialized(_) => (HEALTH_TIMEOUT, CLUSTER_RETRY),
            Health::Available(_) => (HEALTH_TIMEOUT, READY_RETRY),
        };
        spec.set("retryInterval", retry);
        spec.set("timeout", timeout);
        spec.set("path", self.path.as_str());
        spec.set("prune", self.prune);
        match self.on_deletion {
            OnDeletion::Orphan => spec.set("deletionPolicy", "Orphan"),
            OnDeletion::Delete => spec.set("deletionPolicy", "Delete"),
            OnDeletion::AsPrune => {}
        }
        spec.set("sourceRef", sources::reference(self.fleet, self.management, &self.namespace));
        spec.set_filled(
            "dependsOn",
            self.depends_on.iter().map(|unit| self.dependency(unit)).collect::<Vec<_>>(),
        );
        if !self.annotations.is_empty() {
            let mut annotations = Mapping::new();
            for (name, value) in &self.annotations {
                annotations.set(name, *value);
            }
            let mut common = Mapping::new();
            common.set("annotations", annotations);
            spec.set("commonMetadata", common);
        }
        spec.set_some("targetNamespace", self.target_namespace.as_deref());
        if let Some(decryption) = self.decryption {
            spec.set("decryption", self::decryption(decryption));
        }
        if let Some(secret) = &self.kube_config {
            spec.set("kubeConfig", secret_reference(secret));
        }
        if self.suspended || (self.suspendable && self.management.standby) {
            spec.set("suspend", true);
        }
        self.health(&mut spec);
        spec
    }

    fn dependency(&self, unit: &Unit) -> Node {
        let mut mapping = Mapping::new();
        mapping.set("name", unit.name());
        let namespace = namespace_of(unit);
        if self.namespace != namespace {
            mapping.set("namespace", namespace);
        }
        mapping.into()
    }

    fn health(&self, spec: &mut Mapping) {
        let (cluster, current) = match self.health {
            Health::None => return,
            Health::All => return spec.set("wait", true),
            Health::ControlPlaneInitialized(cluster) => (cluster, condition("ControlPlaneInitialized")),
            Health::Available(cluster) => {
                (cluster, format!("{} && {}", condition("Available"), condition("TopologyReconciled")))
            }
        };
        let mut check = Mapping::new();
        check.set("apiVersion", "cluster.x-k8s.io/v1beta2");
        check.set("kind", "Cluster");
        let mut expressions = check.clone();
        check.set("name", cluster.name.as_str());
        check.set("namespace", cluster.namespace.as_str());
        expressions.set("failed", format!("{YOUNG} || !({current})"));
        expressions.set("current", current);
        spec.set("healthChecks", vec![check.into()]);
        spec.set("healthCheckExprs", vec![expressions.into()]);
    }
}

/// The namespace of a unit's Kustomization. It is next to the kubeconfig if the unit applies to the workload cluster.
fn namespace_of(unit: &Unit) -> &str {
    match unit {
        Unit::Cluster { namespace, part: ClusterPart::Manifests { .. }, .. } => namespace,
        Unit::Cluster { .. } | Unit::Release { .. } | Unit::Namespace { .. } => NAMESPACE,
    }
}

/// Whether no controller has processed the Cluster yet. It then has no status, and reading a field of the status would be an
/// error. Cluster API sets the references before it.
const YOUNG: &str = "!has(spec.controlPlaneRef) || !has(status.conditions)";

/// The expression for a condition that is true. A v1beta2 Cluster has no Ready condition; Flux itself checks the observed
/// generation.
fn condition(kind: &str) -> String {
    format!("status.conditions.exists(c, c.type == '{kind}' && c.status == 'True')")
}

fn decryption(decryption: &Decryption) -> Mapping {
    let mut mapping = Mapping::new();
    mapping.set("provider", decryption.provider);
    if let Some(secret) = &decryption.secret {
        let mut reference = Mapping::new();
        reference.set("name", secret.as_str());
        mapping.set("secretRef", reference);
    }
    mapping
}

/// The `secretRef` of a kubeconfig.
pub(in crate::render) fn secret_reference(secret: &str) -> Mapping {
    let mut name = Mapping::new();
    name.set("name", secret);
    let mut mapping = Mapping::new();
    mapping.set("secretRef", name);
    mapping
}
