//! What healthy nodes and machines report. A health check that counts such a status as unhealthy replaces all machines,
//! again and again.
//!
//! Sources: "Node status" in Kubernetes' documentation for the conditions of nodes; for those of machines, the types of Cluster
//! API in `api/core/v1beta2` and `api/controlplane/kubeadm/v1beta2`.

/// Conditions of a node that are not `False` if something is wrong.
const PRESSURES: [&str; 4] = ["MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"];
/// Conditions of a machine that are not `True` if something is wrong.
const OF_MACHINES: [&str; 9] = [
    "InfrastructureReady",
    "BootstrapConfigReady",
    "NodeReady",
    "NodeHealthy",
    "APIServerPodHealthy",
    "ControllerManagerPodHealthy",
    "SchedulerPodHealthy",
    "EtcdPodHealthy",
    "EtcdMemberHealthy",
];
/// Conditions of a machine that are `False` unless somebody acts on it, so no other status of them means that it is ill.
const OF_ACTIONS: [&str; 3] = ["Deleting", "Updating", "Paused"];

/// The status of a condition on every healthy node; none if that is not known.
pub fn node_status(condition: &str) -> Option<&'static str> {
    match condition {
        "Ready" => Some("True"),
        name if PRESSURES.contains(&name) => Some("False"),
        _ => None,
    }
}

/// The status of a condition of every healthy machine; none if that is not known.
pub fn machine_status(condition: &str) -> Option<&'static str> {
    match condition {
        "UpToDate" => Some("True"),
        name if OF_ACTIONS.contains(&name) => Some("False"),
        name => OF_MACHINES.contains(&name).then_some("True"),
    }
}

/// Whether every other status of a condition than the healthy one means that something is wrong.
pub(crate) fn tells_illness(of_node: bool, condition: &str) -> bool {
    if of_node { node_status(condition).is_some() } else { OF_MACHINES.contains(&condition) }
}
