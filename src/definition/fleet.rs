//! `stackloom.yaml`, kind `Fleet`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    kinds::{ApiVersion, Named, addon_delivery},
    requirements::FeatureGates,
};

/// What holds for a whole repository: which engine reads it, from where, and for which management clusters.
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
    /// What the fleet is called.
    pub metadata: Named,
    /// What it is.
    pub spec: FleetSpec,
}

/// The kind of `stackloom.yaml`.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub enum FleetKind {
    /// The only one.
    Fleet,
}

/// What a fleet is.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct FleetSpec {
    /// The versions of the program that may generate this repository, such as `>=0.1, <0.2`, so that laptops and CI do
    /// not write different trees.
    pub stackloom: Option<String>,
    /// What reconciles the tree, unless a management cluster says otherwise.
    pub engine: Option<Engine>,
    /// What installs addons into workload clusters, unless a management cluster or a cluster says otherwise; by itself, what goes
    /// with the engine.
    #[schemars(schema_with = "addon_delivery")]
    #[serde(default)]
    pub addon_delivery: Option<String>,
    /// Where the engine reads this repository from, unless a management cluster says otherwise.
    pub source: Option<SourceRef>,
    /// The minor of Cluster API, such as "1.14", unless a management cluster says otherwise. It decides which fields
    /// exist.
    #[schemars(extend("default" = "1.14"))]
    pub cluster_api: Option<String>,
    /// Releases that other repositories publish.
    pub releases: Option<Releases>,
    /// Where `stackloom upgrade next --pr` opens pull requests. Needed if the host of the git remote is not github.com, gitlab.com
    /// or codeberg.org.
    pub forge: Option<Forge>,
    /// Which versions work together, where the fleet knows better than the data that is built in.
    #[schemars(length(max = 200))]
    pub compatibility: Option<Vec<Assumption>>,
    /// The management clusters; at least one.
    #[schemars(length(min = 1, max = 500))]
    pub management_clusters: Vec<ManagementCluster>,
}

/// Which Kubernetes versions some versions of a component work with. It takes the place of what is built in for them.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Assumption {
    /// The component, such as `cilium` or `cluster-api`.
    pub component: String,
    /// Its versions, as a range: `1.18.x`. For an addon, those of its chart.
    pub versions: String,
    /// The Kubernetes versions, as a range: `>=1.30 <1.36`.
    pub kubernetes: String,
    /// Why this is known.
    pub reason: String,
}

/// Releases that other repositories publish.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Releases {
    /// Where `stackloom releases --check` looks for newer ones. Nothing is taken by itself.
    #[schemars(length(max = 100))]
    pub sources: Option<Vec<ReleaseSource>>,
}

/// Where releases are published.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ReleaseSource {
    /// `oci://<registry>/<path>`, or `git+https://<repository>`; git also by ssh and file.
    pub url: String,
    /// The public key that artifacts of a registry must be signed with, as a path from the root of the fleet; `cosign`
    /// verifies it when a release is pulled.
    #[schemars(length(min = 1, max = 512))]
    pub key: Option<String>,
    /// Whether a signature must be in cosign's transparency log; it must where nothing is said. `false` is for closed
    /// networks, whose signatures are in none: then the key alone counts.
    pub transparency_log: Option<bool>,
    /// The stacks of interest, as `<provider>/<stack>`; all where nothing is said.
    #[schemars(length(min = 1))]
    pub stacks: Option<Vec<String>>,
}

/// Where pull requests are made.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Forge {
    /// What runs there.
    pub kind: ForgeKind,
    /// The address of its start page; that of the git remote's host if not set.
    #[schemars(length(min = 1, max = 512), example = "https://git.example.org")]
    pub url: Option<String>,
    /// The repository there; the path of the git remote if not set.
    #[schemars(length(min = 3, max = 512), example = "platform/fleet")]
    pub project: Option<String>,
}

/// What serves pull requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ForgeKind {
    /// github.com, or GitHub Enterprise Server.
    GitHub,
    /// gitlab.com, or a GitLab of one's own.
    GitLab,
    /// Forgejo, such as codeberg.org, or Gitea.
    Forgejo,
}

/// What reconciles the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    /// Flux: Kustomizations and `HelmReleases`.
    Flux,
    /// Argo CD: Applications.
    ArgoCd,
}

/// Where the engine reads this repository from: a `url` with one of `branch` and `tag`, or a `ref` to an object that exists.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct SourceRef {
    /// The address of the git repository, as the engine reaches it.
    pub url: Option<String>,
    /// The branch to follow; `main` where neither branch nor tag is given.
    pub branch: Option<String>,
    /// The tag to follow.
    pub tag: Option<String>,
    /// The Secret with the credentials of a private repository, in the engine's namespace.
    pub secret: Option<String>,
    /// A source object that exists in the management cluster already.
    #[serde(rename = "ref")]
    pub reference: Option<SourceObject>,
    /// The folder of the fleet inside the repository, when it is not the root.
    #[schemars(extend("default" = "."))]
    pub path: Option<String>,
}

/// A source object of the engine.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct SourceObject {
    /// Its kind.
    pub kind: SourceObjectKind,
    /// Its name.
    pub name: String,
    /// Its namespace, when it is not the engine's.
    pub namespace: Option<String>,
}

/// Kinds of Flux sources that a Kustomization reads.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub enum SourceObjectKind {
    /// A git repository.
    GitRepository,
    /// An OCI artifact.
    #[serde(rename = "OCIRepository")]
    OciRepository,
    /// A bucket.
    Bucket,
    /// An artifact that another controller makes.
    ExternalArtifact,
}

/// A cluster that runs Cluster API and the engine.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ManagementCluster {
    /// A DNS label; it names the folder below `generated/management/`.
    pub name: String,
    /// The namespace of all cluster classes; `cluster-classes` where nothing is said.
    #[schemars(extend("default" = "cluster-classes"))]
    pub class_namespace: Option<String>,
    /// How the engine decrypts the objects in `<cluster>.d/` folders. The program never sees a secret.
    pub decryption: Option<Decryption>,
    /// Chart repositories that this management cluster takes from elsewhere: what an address begins with, and what
    /// stands there instead.
    #[schemars(extend("maxProperties" = 200))]
    pub mirrors: Option<BTreeMap<String, String>>,
    /// Emit everything suspended: a second management cluster that waits.
    #[schemars(extend("default" = false))]
    pub standby: Option<bool>,
    /// Instead of the fleet's engine.
    pub engine: Option<Engine>,
    /// Instead of the fleet's delivery of addons.
    #[schemars(schema_with = "addon_delivery")]
    #[serde(default)]
    pub addon_delivery: Option<String>,
    /// Instead of the fleet's source.
    pub source: Option<SourceRef>,
    /// Instead of the fleet's Cluster API.
    pub cluster_api: Option<String>,
    /// How Argo CD applies the tree of this management cluster, if it is the engine.
    pub argocd: Option<ArgoCd>,
    /// The exact versions of the providers that run there, by names of your own, and of Cluster API itself as `cluster-api`:
    /// `{ cluster-api: '1.14.2', openstack: '0.14.7' }`. Releases say which they need.
    #[schemars(extend("maxProperties" = 50))]
    pub providers: Option<BTreeMap<String, String>>,
    /// The feature gates with which Cluster API was started. Without this, it is not known which are on.
    pub feature_gates: Option<FeatureGates>,
    /// The versions of APIs that it serves, by group: `{ infrastructure.cluster.x-k8s.io: [v1beta1] }`. Groups that are not
    /// named are not looked at.
    #[schemars(extend("maxProperties" = 50))]
    pub api_versions: Option<BTreeMap<String, Vec<String>>>,
}

/// How an Argo CD applies the tree of a management cluster. Without it, it runs in the management cluster, in the namespace `argocd`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ArgoCd {
    /// The namespace of Argo CD.
    #[schemars(extend("default" = "argocd"))]
    pub namespace: Option<String>,
    /// The management cluster as it is registered in Argo CD: a name, or an address that begins with `https://`. Without it, Argo
    /// CD runs in the management cluster.
    #[schemars(length(min = 1, max = 253))]
    pub destination: Option<String>,
    /// The project of the Applications that belong to no tenant. It must allow Applications and projects in Argo CD's namespace,
    /// and namespaces and cluster classes in the management cluster.
    #[schemars(extend("default" = "default"))]
    pub project: Option<String>,
    /// Whether Argo CD syncs a new commit on its own. Without, its Applications follow git, and a person starts each sync of what they
    /// apply, and of what would go.
    #[schemars(extend("default" = true))]
    pub automated: Option<bool>,
    /// The name under which a workload cluster is registered in Argo CD. It may hold `{managementCluster}`, `{namespace}` and
    /// `{cluster}`, and must hold the last.
    #[schemars(length(min = 1, max = 253), extend("default" = "{namespace}-{cluster}"))]
    pub cluster_names: Option<String>,
}

/// Passed on to the engine.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Decryption {
    /// What encrypted the objects.
    pub provider: DecryptionProvider,
    /// For Flux: the Secret with the keys, in the engine's namespace. Without one, the controller's own identity is used.
    pub secret: Option<String>,
    /// For Argo CD, which decrypts nothing itself: the config management plugin that does.
    #[schemars(length(min = 1, max = 253))]
    pub plugin: Option<String>,
}

/// What encrypted the objects.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DecryptionProvider {
    /// Mozilla SOPS.
    Sops,
}
