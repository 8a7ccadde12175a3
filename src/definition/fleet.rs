//! `stackloom.yaml`, kind `Fleet`.

use std::{borrow::Cow, collections::BTreeMap};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::json;

use super::{
    kinds::{ApiVersion, Named, addon_delivery},
    requirements::FeatureGates,
};
use crate::model;

/// The settings of a whole repository: the engine that applies it, its source, and the management clusters.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(extend("examples" = [{
    "apiVersion": "stackloom.dev/v1alpha1",
    "kind": "Fleet",
    "metadata": { "name": "demo" },
    "spec": {
        "stackloom": ">=0.1, <0.2",
        "engine": "flux",
        "source": { "url": "https://git.example.org/platform/fleet.git", "branch": "main" },
        "clusterApi": "1.14",
        "managementClusters": [{ "name": "mgmt" }],
    },
}]))]
pub struct Fleet {
    /// The version of this format.
    pub api_version: ApiVersion,
    /// `Fleet`.
    pub kind: FleetKind,
    /// The name of the fleet.
    pub metadata: Named,
    /// The settings of the fleet.
    pub spec: FleetSpec,
}

/// The kind of `stackloom.yaml`.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub enum FleetKind {
    /// The only value.
    Fleet,
}

/// The settings of a fleet.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct FleetSpec {
    /// The versions of stackloom that may generate this repository, such as `>=0.1, <0.2`. This prevents laptops and CI from
    /// generating different trees.
    pub stackloom: Option<String>,
    /// The default engine of management clusters, which reconciles the tree.
    pub engine: Option<Engine>,
    /// The default tool for installing addons into workload clusters. Management clusters and clusters can override it. The
    /// default depends on the engine.
    #[schemars(schema_with = "addon_delivery")]
    #[serde(default)]
    pub addon_delivery: Option<String>,
    /// The default source from which the engine of a management cluster reads this repository.
    pub source: Option<SourceRef>,
    /// The default minor version of Cluster API, such as "1.14". It determines which fields are available.
    #[schemars(extend("default" = "1.14"))]
    pub cluster_api: Option<String>,
    /// Releases that other repositories publish.
    pub releases: Option<Releases>,
    /// The forge where `stackloom upgrade next --pr` opens pull requests. Required unless the host of the git remote is
    /// github.com, gitlab.com or codeberg.org.
    pub forge: Option<Forge>,
    /// Versions that work together, where the built-in data is wrong or incomplete.
    #[schemars(length(max = 200))]
    pub compatibility: Option<Vec<Assumption>>,
    /// Values in this file, in `stackloom.lock` or in a rollout that only look like secrets, each with a reason.
    #[schemars(length(max = 200))]
    pub allow: Option<Vec<FleetAllowance>>,
    /// The management clusters; at least one.
    #[schemars(length(min = 1, max = 500))]
    pub management_clusters: Vec<ManagementCluster>,
}

/// A finding to allow: a value that only looks like a secret.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct FleetAllowance {
    /// The name of the finding, as shown in the message.
    pub rule: String,
    /// The other file, relative to the root of the fleet: `stackloom.lock`, or a file such as `rollouts/2026-04.yaml`. Without
    /// it, the entry applies to `stackloom.yaml`.
    #[serde(rename = "in")]
    pub file: Option<String>,
    /// Why the finding is allowed.
    #[schemars(length(min = 1))]
    pub reason: String,
}

/// The Kubernetes versions that some versions of a component work with. This overrides the built-in data for these versions.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Assumption {
    /// The component, such as `cilium` or `cluster-api`.
    pub component: String,
    /// The versions of the component, as a range such as `1.18.x`. For an addon, the versions of its chart.
    pub versions: String,
    /// The Kubernetes versions, as a range such as `>=1.30 <1.36`.
    pub kubernetes: String,
    /// The reason or source of this information.
    pub reason: String,
}

/// Releases that other repositories publish.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Releases {
    /// Where `stackloom releases --check` looks for newer releases. Nothing is pulled automatically.
    #[schemars(length(max = 100))]
    pub sources: Option<Vec<ReleaseSource>>,
}

/// A place where releases are published.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ReleaseSource {
    /// The address: `oci://<registry>/<path>`, or `git+https://<repository>`. For git, ssh and file addresses also work.
    pub url: String,
    /// The public key that must have signed the artifacts of a registry, as a path relative to the root of the fleet.
    /// `cosign` verifies the signature when a release is pulled.
    #[schemars(length(min = 1, max = 512))]
    pub key: Option<String>,
    /// Whether signatures must be recorded in cosign's transparency log, which is the default. Use `false` in closed
    /// networks without such a log; then only the key is verified.
    pub transparency_log: Option<bool>,
    /// The stacks to follow, as `<provider>/<stack>`; by default, all stacks.
    #[schemars(length(min = 1))]
    pub stacks: Option<Vec<String>>,
}

/// The forge where pull requests are opened.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Forge {
    /// The software of the forge.
    pub kind: ForgeKind,
    /// The address of its start page; by default, that of the git remote's host.
    #[schemars(length(min = 1, max = 512), example = "https://git.example.org")]
    pub url: Option<String>,
    /// The path of the repository there; by default, the path of the git remote.
    #[schemars(length(min = 3, max = 512), example = "platform/fleet")]
    pub project: Option<String>,
}

/// The software of a forge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ForgeKind {
    /// github.com, or GitHub Enterprise Server.
    GitHub,
    /// gitlab.com, or a self-managed GitLab.
    GitLab,
    /// Forgejo, such as codeberg.org, or Gitea.
    Forgejo,
}

/// The name of the engine that reconciles the tree: one of the list in `model`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Engine(pub model::Engine);

impl<'de> Deserialize<'de> for Engine {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let word = String::deserialize(from)?;
        let unknown = || D::Error::custom(format!("`{word}` is not an engine"));
        model::Engine::of_word(&word).map(Self).ok_or_else(unknown)
    }
}

impl JsonSchema for Engine {
    fn schema_name() -> Cow<'static, str> {
        "Engine".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let one = |engine: model::Engine| json!({ "type": "string", "const": engine.word(), "description": engine.about() });
        json_schema!({
            "oneOf": model::Engine::ALL.map(one),
            "description": "The engine that reconciles the tree.",
        })
    }
}

/// Where the engine reads this repository from: either `url` with an optional `branch` or `tag`, or `ref` for an existing
/// source object.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct SourceRef {
    /// The address of the git repository, as reachable by the engine.
    pub url: Option<String>,
    /// The branch to follow; `main` if neither branch nor tag is given.
    pub branch: Option<String>,
    /// The tag to follow.
    pub tag: Option<String>,
    /// The Secret with the credentials of a private repository, in the engine's namespace.
    pub secret: Option<String>,
    /// A source object that already exists in the management cluster.
    #[serde(rename = "ref")]
    pub reference: Option<SourceObject>,
    /// The folder of the fleet within the repository.
    #[schemars(extend("default" = "."))]
    pub path: Option<String>,
}

/// A source object of the engine.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct SourceObject {
    /// The kind of the object.
    pub kind: SourceObjectKind,
    /// The name of the object.
    pub name: String,
    /// The namespace of the object, if it differs from the engine's.
    pub namespace: Option<String>,
}

/// The kinds of Flux sources that a Kustomization can read.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub enum SourceObjectKind {
    /// A git repository.
    GitRepository,
    /// An OCI artifact.
    #[serde(rename = "OCIRepository")]
    OciRepository,
    /// A storage bucket.
    Bucket,
    /// An artifact that another controller provides.
    ExternalArtifact,
}

/// A cluster that runs Cluster API and the engine.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ManagementCluster {
    /// The name of the management cluster, a DNS label. It is also the name of its folder below `generated/management/`.
    pub name: String,
    /// The namespace of all cluster classes.
    #[schemars(extend("default" = "cluster-classes"))]
    pub class_namespace: Option<String>,
    /// How the engine decrypts the objects in `<cluster>.d/` folders. Stackloom itself never decrypts them.
    pub decryption: Option<Decryption>,
    /// Mirrors of chart repositories for this management cluster. Each entry maps the beginning of an address to its
    /// replacement.
    #[schemars(extend("maxProperties" = 200))]
    pub mirrors: Option<BTreeMap<String, String>>,
    /// Whether all objects are suspended, for a second management cluster on standby.
    #[schemars(extend("default" = false))]
    pub standby: Option<bool>,
    /// The engine; overrides that of the fleet.
    pub engine: Option<Engine>,
    /// The tool that installs addons; overrides that of the fleet.
    #[schemars(schema_with = "addon_delivery")]
    #[serde(default)]
    pub addon_delivery: Option<String>,
    /// The source; overrides that of the fleet.
    pub source: Option<SourceRef>,
    /// The minor version of Cluster API; overrides that of the fleet.
    pub cluster_api: Option<String>,
    /// How Argo CD applies the tree of this management cluster, if it is the engine.
    pub argocd: Option<ArgoCd>,
    /// The exact versions of the installed providers, by names of your choice, and of Cluster API itself as `cluster-api`:
    /// `{ cluster-api: '1.14.2', openstack: '0.14.7' }`. They are compared with the requirements of releases.
    #[schemars(extend("maxProperties" = 50))]
    pub providers: Option<BTreeMap<String, String>>,
    /// The feature gates that Cluster API was started with. If this is missing, stackloom doesn't know which gates are on.
    pub feature_gates: Option<FeatureGates>,
    /// The API versions that the cluster serves, by group: `{ infrastructure.cluster.x-k8s.io: [v1beta1] }`. Groups that are
    /// not listed are not checked.
    #[schemars(extend("maxProperties" = 50))]
    pub api_versions: Option<BTreeMap<String, Vec<String>>>,
}

/// How Argo CD applies the tree of a management cluster. By default, Argo CD runs in the management cluster, in the
/// namespace `argocd`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ArgoCd {
    /// The namespace of Argo CD.
    #[schemars(extend("default" = "argocd"))]
    pub namespace: Option<String>,
    /// The management cluster as registered in Argo CD: a name, or an address that begins with `https://`. By default, it is
    /// the cluster that Argo CD runs in.
    #[schemars(length(min = 1, max = 253))]
    pub destination: Option<String>,
    /// The Argo CD project of the Applications that belong to no tenant. It must allow Applications and projects in Argo
    /// CD's namespace, and namespaces and cluster classes in the management cluster.
    #[schemars(extend("default" = "default"))]
    pub project: Option<String>,
    /// Whether Argo CD syncs new commits automatically. Otherwise, its Applications still follow git, but a person must
    /// start each sync, including deletions.
    #[schemars(extend("default" = true))]
    pub automated: Option<bool>,
    /// The name under which a workload cluster is registered in Argo CD. It may contain `{managementCluster}` and
    /// `{namespace}`, and must contain `{cluster}`.
    #[schemars(length(min = 1, max = 253), extend("default" = "{namespace}-{cluster}"))]
    pub cluster_names: Option<String>,
    /// What registers workload clusters in Argo CD. Without registration, their addons never arrive.
    pub registration: Option<Registration>,
}

/// What registers workload clusters in Argo CD.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Registration {
    /// The operator capi2argo-cluster-operator; `check` knows which clusters it registers, and how it names them.
    Capi2argo,
    /// Anything else, such as a Kyverno policy.
    Other,
}

/// The decryption settings of the engine.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Decryption {
    /// The tool that encrypted the objects.
    pub provider: DecryptionProvider,
    /// For Flux: the Secret with the keys, in the engine's namespace. Without it, the controller uses its own identity.
    pub secret: Option<String>,
    /// For Argo CD: the config management plugin that decrypts the objects, because Argo CD itself doesn't.
    #[schemars(length(min = 1, max = 253))]
    pub plugin: Option<String>,
}

/// The tool that encrypted the objects.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DecryptionProvider {
    /// Mozilla SOPS.
    Sops,
}
