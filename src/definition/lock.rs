//! `stackloom.lock`, kind `Lock`: the results of looking up charts, images and releases. The program writes it, and people
//! review it.

use schemars::JsonSchema;
use serde::Deserialize;

use super::kinds::ApiVersion;

/// The digests of everything that comes from outside the repository.
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
    /// The locked entries.
    pub spec: LockSpec,
}

/// The kind of `stackloom.lock`.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub enum LockKind {
    /// The only value.
    Lock,
}

/// The locked entries.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct LockSpec {
    /// The charts of all addons in all versions that stacks list.
    pub charts: Option<Vec<LockedChart>>,
    /// The images that stacks name directly in their manifests and class objects.
    pub images: Option<Vec<LockedImage>>,
    /// Releases that were pulled from other repositories.
    pub releases: Option<Vec<LockedRelease>>,
}

/// A version of a chart.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct LockedChart {
    /// The address of the repository, as in `addon.yaml`.
    #[schemars(regex(pattern = r"^(https?|oci)://[^/\s]\S*$"))]
    pub repository: String,
    /// The name of the chart in the repository.
    #[schemars(regex(pattern = "^[a-zA-Z0-9][-._/a-zA-Z0-9]*$"))]
    pub name: String,
    /// The exact version.
    pub version: String,
    /// The digest of its archive, or of its manifest in a registry.
    #[schemars(regex(pattern = "^sha256:[0-9a-f]{64}$"))]
    pub digest: String,
    /// Earlier digests of this version. Releases that were cut with one of them may stay in use.
    #[schemars(inner(regex(pattern = "^sha256:[0-9a-f]{64}$")))]
    pub replaces: Option<Vec<String>>,
    /// The images that the chart uses, according to the chart.
    pub images: Option<Vec<LockedImage>>,
    /// The digest of the file in `charts/values/` that describes the chart's values.
    #[schemars(regex(pattern = "^sha256:[0-9a-f]{64}$"))]
    pub values: Option<String>,
}

/// An image.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct LockedImage {
    /// The name of the image, such as `registry.k8s.io/pause:3.10`.
    #[schemars(length(min = 1, max = 512))]
    pub image: String,
    /// The digest of its manifest, or of its multi-platform index.
    #[schemars(regex(pattern = "^sha256:[0-9a-f]{64}$"))]
    pub digest: String,
}

/// A release that was pulled from another repository.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct LockedRelease {
    /// The name of the release.
    pub name: String,
    /// Where it was pulled from: `oci://<repository>@sha256:<digest>`, or `git+<address of the repository>#<tag>`.
    #[schemars(regex(pattern = r"^(oci://[^\s@]+@sha256:[0-9a-f]{64}|git\+[a-z]+://[^\s#]+#[^\s#]+)$"))]
    pub source: String,
    /// The digest of its content.
    #[schemars(regex(pattern = "^sha256:[0-9a-f]{64}$"))]
    pub digest: String,
    /// The public key that verifies its signature, as a path relative to the root of the fleet.
    #[schemars(length(min = 1, max = 512))]
    pub key: Option<String>,
}
