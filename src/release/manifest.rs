//! The OCI manifest of a release, in the form that Flux's `OCIRepository` reads, with one layer.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::artifact::{ARCHIVE_LIMIT, Archived, sha256};

/// The media type of the manifest.
pub const MANIFEST_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";

/// The media type of the configuration in Flux artifacts.
const CONFIG_TYPE: &str = "application/vnd.cncf.flux.config.v1+json";

/// The media type of a folder in Flux artifacts.
const LAYER_TYPE: &str = "application/vnd.cncf.flux.content.v1.tar+gzip";

/// The recorded origin of a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseOrigin {
    /// The time of the commit that the tag points to.
    pub created: String,
    /// The repository.
    pub source: Option<String>,
    /// The tag and its commit.
    pub revision: String,
}

/// The parts of a release that a registry stores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    /// The manifest, as the bytes that the registry gets.
    pub manifest: Vec<u8>,
    /// The digest of the manifest, which covers all parts.
    pub digest: String,
    /// The configuration.
    pub config: Vec<u8>,
    /// The only layer.
    pub layer: Vec<u8>,
}

/// The layer of a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArtifactLayer {
    /// The digest by which the registry stores it.
    pub digest: String,
    /// Its length.
    pub size: usize,
}

/// Builds the artifact of a packed release.
pub fn artifact(archived: Archived, provenance: &ReleaseOrigin) -> Artifact {
    let config = json!({
        "architecture": "",
        "config": {},
        "os": "",
        "rootfs": { "type": "layers", "diff_ids": [archived.content] },
    })
    .to_string()
    .into_bytes();
    let annotations = BTreeMap::from([
        ("org.opencontainers.image.created", Some(provenance.created.as_str())),
        ("org.opencontainers.image.revision", Some(provenance.revision.as_str())),
        ("org.opencontainers.image.source", provenance.source.as_deref()),
    ]);
    let annotations: BTreeMap<_, _> =
        annotations.into_iter().filter_map(|(key, value)| Some((key, value?))).collect();
    let blob =
        |kind: &str, bytes: &[u8]| json!({ "mediaType": kind, "size": bytes.len(), "digest": sha256(bytes) });
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "config": blob(CONFIG_TYPE, &config),
        "layers": [blob(LAYER_TYPE, &archived.bytes)],
        "annotations": annotations,
    })
    .to_string()
    .into_bytes();
    Artifact { digest: sha256(&manifest), manifest, config, layer: archived.bytes }
}

/// Reads the layer from a manifest and checks that it is that of a release. The error says what is wrong.
pub fn layer(manifest: &[u8]) -> Result<ArtifactLayer, String> {
    let manifest: Json = serde_json::from_slice(manifest)
        .map_err(|error| format!("its manifest is not valid JSON: {error}"))?;
    let text = |json: &Json, pointer: &str| {
        json.pointer(pointer).and_then(Json::as_str).unwrap_or("nothing").to_owned()
    };
    let found = text(&manifest, "/config/mediaType");
    if found != CONFIG_TYPE {
        return Err(format!(
            "it is not an artifact of Flux: the media type of its configuration is `{found}`"
        ));
    }
    let layers = manifest["layers"].as_array().map(Vec::as_slice).unwrap_or_default();
    let [layer] = layers else {
        return Err(format!("a release has one layer, and it has {}", layers.len()));
    };
    let found = text(layer, "/mediaType");
    if found != LAYER_TYPE {
        return Err(format!("it holds no folder: the media type of its layer is `{found}`"));
    }
    let size = layer["size"].as_u64().and_then(|size| usize::try_from(size).ok());
    match size {
        Some(size) if size <= ARCHIVE_LIMIT => Ok(ArtifactLayer { digest: text(layer, "/digest"), size }),
        _ => Err(format!("its layer has more than {ARCHIVE_LIMIT} bytes")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::pack;

    fn made() -> Artifact {
        let files = BTreeMap::from([("release.yaml".to_owned(), "kind: Release\n".to_owned())]);
        let provenance = ReleaseOrigin {
            created: "2026-11-21T10:00:00Z".to_owned(),
            source: None,
            revision: "openstack-scs-1-35-v7@sha1:0123".to_owned(),
        };
        artifact(pack(&files).unwrap(), &provenance)
    }

    #[test]
    fn a_manifest_names_its_layer() {
        let made = made();
        let expected = ArtifactLayer { digest: sha256(&made.layer), size: made.layer.len() };
        assert_eq!(layer(&made.manifest), Ok(expected));
        assert_eq!(made.digest, sha256(&made.manifest));
        let text = String::from_utf8(made.manifest).unwrap();
        assert!(
            text.starts_with("{\"schemaVersion\":2,\"mediaType\":") && !text.contains("source"),
            "{text}"
        );
    }

    #[test]
    fn what_is_no_release_is_refused_by_what_it_is() {
        let made = String::from_utf8(made().manifest).unwrap();
        for (old, new, expected) in [
            (CONFIG_TYPE, "application/vnd.cncf.helm.config.v1+json", "helm.config"),
            (LAYER_TYPE, "application/octet-stream", "octet-stream"),
            ("\"layers\":[", "\"layers\":[{},", "one layer"),
            ("{\"schemaVersion\"", "{{", "not valid JSON"),
        ] {
            let error = layer(made.replace(old, new).as_bytes()).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
        let mut large: Json = serde_json::from_str(&made).unwrap();
        large["layers"][0]["size"] = json!(ARCHIVE_LIMIT + 1);
        assert!(layer(large.to_string().as_bytes()).unwrap_err().contains("more than"));
    }
}
