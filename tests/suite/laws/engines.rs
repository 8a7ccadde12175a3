//! Another engine changes what is the engine's, and nothing else.

use std::collections::BTreeMap;

use serde_json::Value as Json;
use stackloom::world::Files;

use super::{sandbox::tree, support};

/// The base fleet with an engine, and files of a user.
fn fleet(engine: &str) -> Files {
    let mut files: Files = support::fleet(&support::package().join("tests/cases/_base"));
    let fleet = files.0.get_mut("stackloom.yaml").unwrap();
    *fleet = fleet.replace("engine: flux", engine);
    let shell = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: shell\n  namespace: default\ndata:\n  home: ${HOME}\n";
    files.0.insert("stacks/test/tiny/addons/notes/manifests/shell.yaml".to_owned(), shell.to_owned());
    files
}

/// Whether a file is one of the engine's own, or one that installs or lists addons.
fn is_engines(path: &str) -> bool {
    let folder = |name: &str| path.contains(&format!("/{name}/"));
    folder("flux")
        || folder("argocd")
        || folder("ready")
        || folder("addons")
        || path.ends_with(".addons.yaml")
}

/// An object without the annotations of engines, or the text of another file.
fn plain(text: &str) -> Json {
    let mut object = gotmpl::yaml::parse(text).unwrap_or_else(|_| Json::from(text));
    let Some(metadata) = object.get_mut("metadata").and_then(Json::as_object_mut) else { return object };
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Json::as_object_mut) {
        annotations.retain(|name, _| !name.contains("fluxcd.io/") && !name.contains("argoproj.io/"));
        if annotations.is_empty() {
            metadata.remove("annotations");
        }
    }
    object
}

#[test]
fn another_engine_changes_its_folder_the_addons_and_protection_alone() {
    let flux = tree(&fleet("engine: flux"));
    for engine in ["engine: argocd", "engine: argocd\n  addonDelivery: flux-helm-release"] {
        let argocd = tree(&fleet(engine));
        let releases = |tree: &BTreeMap<String, String>| {
            let mut tree = tree.clone();
            tree.retain(|path, _| path.starts_with("generated/releases/"));
            tree
        };
        assert!(
            releases(&flux).len() > 10 && releases(&flux) == releases(&argocd),
            "releases, byte for byte"
        );
        let rest = |tree: &BTreeMap<String, String>| -> BTreeMap<String, Json> {
            let rest =
                tree.iter().filter(|(path, _)| !path.starts_with("generated/releases/") && !is_engines(path));
            rest.map(|(path, text)| (path.clone(), plain(text))).collect()
        };
        let (before, after) = (rest(&flux), rest(&argocd));
        assert!(before.len() > 8, "{:?}", before.keys());
        assert_eq!(before, after, "{engine}");
        assert_ne!(flux, argocd, "{engine}");
    }
}
