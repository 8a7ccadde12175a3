//! Health scripts for Argo CD, for kinds that it does not know or judges by outdated fields.
//!
//! Argo CD starts the next sync wave once the objects of the previous one are Healthy, and fails the sync if one is
//! Degraded. Unknown states are therefore Progressing. The scripts are Lua files in `lua/`. Argo CD runs each one alone, so
//! each is prefixed with `common.lua`. `tests/conformance` runs them. They are not part of the tree: users install them.

use serde_json::{Map, json};

use crate::yaml::{self, Origin};

/// The versions with which the scripts were tested.
pub const TESTED_WITH: [(&str, &str); 4] =
    [("Argo CD", "3.5.1"), ("Cluster API", "1.14.2"), ("Flux", "2.9"), ("ORC", "2.6.0")];

/// A health script for one kind.
#[derive(Debug)]
pub struct Script {
    /// The API group.
    pub group: &'static str,
    /// The kind.
    pub kind: &'static str,
    body: &'static str,
}

macro_rules! scripts {
    ($($group:literal $kind:literal $file:literal),* $(,)?) => {
        [$(Script { group: $group, kind: $kind, body: include_str!(concat!("lua/", $file)) }),*]
    };
}

/// The prefix of every script.
const COMMON: &str = include_str!("lua/common.lua");

/// All scripts, ordered by key.
pub static SCRIPTS: [Script; 13] = scripts![
    "addons.cluster.x-k8s.io" "ClusterResourceSet" "cluster-resource-set.lua",
    "argoproj.io" "Application" "application.lua",
    "cluster.x-k8s.io" "Cluster" "cluster.lua",
    "cluster.x-k8s.io" "ClusterClass" "cluster-class.lua",
    "cluster.x-k8s.io" "MachineDeployment" "machines.lua",
    "cluster.x-k8s.io" "MachineHealthCheck" "machine-health-check.lua",
    "cluster.x-k8s.io" "MachinePool" "machine-pool.lua",
    "controlplane.cluster.x-k8s.io" "KubeadmControlPlane" "machines.lua",
    "helm.toolkit.fluxcd.io" "HelmRelease" "flux.lua",
    "kustomize.toolkit.fluxcd.io" "Kustomization" "flux.lua",
    "openstack.k-orc.cloud" "Image" "openstack-image.lua",
    "source.toolkit.fluxcd.io" "HelmRepository" "flux.lua",
    "source.toolkit.fluxcd.io" "OCIRepository" "flux.lua",
];

impl Script {
    /// The key in Argo CD's configuration.
    pub fn key(&self) -> String {
        format!("resource.customizations.health.{}_{}", self.group, self.kind)
    }

    /// The Lua source.
    pub fn text(&self) -> String {
        format!("{COMMON}\n{}", self.body)
    }
}

/// The ConfigMap `argocd-cm`, with only the scripts in it.
pub fn config_map(namespace: &str) -> String {
    let metadata = json!({ "name": "argocd-cm", "namespace": namespace });
    document(&json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data() }))
}

/// Values for the chart argo-cd.
pub fn helm_values() -> String {
    document(&json!({ "configs": { "cm": data() } }))
}

fn data() -> Map<String, serde_json::Value> {
    SCRIPTS.iter().map(|script| (script.key(), script.text().into())).collect()
}

fn document(value: &serde_json::Value) -> String {
    let tested: Vec<_> = TESTED_WITH.iter().map(|(name, version)| format!("{name} {version}")).collect();
    let mut text = format!(
        "# Health scripts for Argo CD, printed by `stackloom argocd health`.\n# Tested in Argo CD's Lua engine, with statuses as these \
         versions write them: {}.\n",
        tested.join(", ")
    );
    yaml::emit(&yaml::from_json(value, Origin::NOWHERE), &mut text);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_sorted_and_unique() {
        let keys: Vec<_> = SCRIPTS.iter().map(Script::key).collect();
        assert!(keys.is_sorted_by(|a, b| a < b), "{keys:#?}");
    }
}
