//! Selects the templates of a patch definition.

use serde_json::Value;

use k8s_schema::value::{get, list, present, text};

/// The purpose of a template: the holder of the object made from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holder<'a> {
    InfrastructureCluster,
    /// The Cluster, as its control plane; or the control plane, as its machines.
    ControlPlane,
    /// A machine deployment of this class.
    MachineDeployment(&'a str),
    /// A machine pool of this class.
    MachinePool(&'a str),
}

/// A selector of a patch definition.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selector {
    /// The exact apiVersion.
    pub api_version: String,
    /// The exact kind.
    pub kind: String,
    /// Matches the infrastructure cluster.
    pub infrastructure_cluster: bool,
    /// Matches the control plane and its machines.
    pub control_plane: bool,
    /// Matches machine deployments of these classes.
    pub machine_deployments: Option<Vec<String>>,
    /// Matches machine pools of these classes.
    pub machine_pools: Option<Vec<String>>,
}

impl Selector {
    pub(crate) fn read(selector: &Value) -> Self {
        let flag =
            |name: &str| get(selector, &["matchResources", name]).and_then(Value::as_bool) == Some(true);
        let names = |kind: &str| {
            present(selector, &["matchResources", kind]).map(|classes| {
                list(classes, &["names"]).iter().filter_map(Value::as_str).map(str::to_owned).collect()
            })
        };
        Self {
            api_version: text(selector, &["apiVersion"]).to_owned(),
            kind: text(selector, &["kind"]).to_owned(),
            infrastructure_cluster: flag("infrastructureCluster"),
            control_plane: flag("controlPlane"),
            machine_deployments: names("machineDeploymentClass"),
            machine_pools: names("machinePoolClass"),
        }
    }

    /// Reports whether a template is selected.
    pub(crate) fn matches(&self, api_version: &str, kind: &str, holder: Holder<'_>) -> bool {
        if self.api_version != api_version || self.kind != kind {
            return false;
        }
        let any = |names: &Option<Vec<String>>, class: &str| {
            names.iter().flatten().any(|name| class_matches(name, class))
        };
        match holder {
            Holder::InfrastructureCluster => self.infrastructure_cluster,
            Holder::ControlPlane => self.control_plane,
            Holder::MachineDeployment(class) => any(&self.machine_deployments, class),
            Holder::MachinePool(class) => any(&self.machine_pools, class),
        }
    }
}

/// Reports whether a name, which may begin or end with a star, matches a class.
pub(crate) fn class_matches(name: &str, class: &str) -> bool {
    name == "*"
        || name == class
        || name.strip_prefix('*').is_some_and(|end| class.ends_with(end))
        || name.strip_suffix('*').is_some_and(|start| class.starts_with(start))
}
