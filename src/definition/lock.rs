//! `stackloom.lock`, kind `Lock`: what was found where charts, images and releases come from. The program writes it;
//! people review it.

use schemars::JsonSchema;
use serde::Deserialize;

use super::kinds::ApiVersion;

/// The digests of everything that comes from elsewhere.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(extend("examples" = [{
    "apiVersion": "stackloom.dev/v1alpha1",
    "kind": "Lock",
    "spec": {
        "charts": [{
            "repository": "https://helm.cilium.io",
            "name": "cilium",
            "version": "1.18.9",
            "digest": "sha256:0000000000000000000000000000000000000000000000000000000000000000",
        }],
        "images": [{
            "image": "registry.k8s.io/pause:3.10",
            "digest": "sha256:0000000000000000000000000000000000000000000000000000000000000000",
        }],
        "releases": [{
            "name": "openstack-scs-1-35-v7",
            "source": "git+https://git.example.org/platform/stacks.git#openstack-scs-1-35-v7",
            "digest": "sha256:0000000000000000000000000000000000000000000000000000000000000000",
        }],
    },
}]))]
pub struct Lock {
    /// The version of this format.
    pub api_version: ApiVersion,
    /// `Lock`.
    pub kind: LockKind,
    /// What was found.
    pub spec: LockSpec,
}

/// The kind of `stackloom.lock`.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub enum LockKind {
    /// The only one.
    Lock,
}

/// What was found.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct LockSpec {
    /// Every version of every chart that a stack's addons list.
    pub charts: Option<Vec<LockedChart>>,
    /// Images that a stack's own manifests and class objects name.
    pub images: Option<Vec<LockedImage>>,
    /// Releases that were taken from elsewhere.
    pub releases: Option<Vec<LockedRelease>>,
}

/// A version of a chart.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct LockedChart {
    /// The repository, as `addon.yaml` has it.
    #[schemars(regex(pattern = r"^(https?|oci)://[^/\s]\S*$"))]
    pub repository: String,
    /// The chart's name in it.
    #[schemars(regex(pattern = "^[a-zA-Z0-9][-._/a-zA-Z0-9]*$"))]
    pub name: String,
    /// The exact version.
    pub version: String,
    /// Of its archive, or of its manifest in a registry.
    #[schemars(regex(pattern = "^sha256:[0-9a-f]{64}$"))]
    pub digest: String,
    /// Digests that this version had before; releases that were cut with one of them may stay in use.
    #[schemars(inner(regex(pattern = "^sha256:[0-9a-f]{64}$")))]
    pub replaces: Option<Vec<String>>,
    /// The images that the chart says it uses.
    pub images: Option<Vec<LockedImage>>,
    /// The digest of the file in `charts/values/` that says which values the chart takes.
    #[schemars(regex(pattern = "^sha256:[0-9a-f]{64}$"))]
    pub values: Option<String>,
}

/// An image.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct LockedImage {
    /// As it is named, such as `registry.k8s.io/pause:3.10`.
    #[schemars(length(min = 1, max = 512))]
    pub image: String,
    /// Of its manifest or of the index of its platforms.
    #[schemars(regex(pattern = "^sha256:[0-9a-f]{64}$"))]
    pub digest: String,
}

/// A release that was taken from elsewhere.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct LockedRelease {
    /// Its name.
    pub name: String,
    /// `oci://<repository>@sha256:<digest>`, or `git+<address of the repository>#<tag>`.
    #[schemars(regex(pattern = r"^(oci://[^\s@]+@sha256:[0-9a-f]{64}|git\+[a-z]+://[^\s#]+#[^\s#]+)$"))]
    pub source: String,
    /// Of its content.
    #[schemars(regex(pattern = "^sha256:[0-9a-f]{64}$"))]
    pub digest: String,
    /// The public key that its signature was made for: a path from the root of the fleet.
    #[schemars(length(min = 1, max = 512))]
    pub key: Option<String>,
}
