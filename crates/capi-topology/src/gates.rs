//! Feature gates of the management cluster's controllers, limited to those without which webhooks refuse something.
//!
//! Source: `feature/feature.go`.

use k8s_schema::FieldError;

/// The state of the relevant feature gates. The default is Cluster API's own, but with `ClusterTopology`, without which
/// classes do not exist.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Gates {
    /// `RuntimeSDK`: classes may have patches and variables from runtime extensions.
    pub runtime_sdk: bool,
    /// `MachineTaintPropagation`: topologies and classes may set taints.
    pub taints: bool,
    /// `KubeadmBootstrapFormatIgnition`: Ignition may set up machines.
    pub ignition: bool,
    /// `InPlaceUpdates`: an extension may update machines in place instead of replacing them.
    pub in_place: bool,
    /// `ClusterTopology` is off: classes are not allowed.
    pub no_topology: bool,
    /// `MachinePool` is off: machine pools are not allowed.
    pub no_machine_pools: bool,
    /// `MachineSetPreflightChecks` is off: the annotation that skips such checks is not validated.
    pub no_preflight_checks: bool,
}

/// A feature gate without which webhooks refuse something.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequiredGate {
    name: &'static str,
    /// What the webhooks say.
    detail: &'static str,
}

impl RequiredGate {
    /// The error for a field that is refused because the gate is off.
    pub(crate) fn error(self, field: impl Into<String>) -> FieldError {
        FieldError::forbidden(field, self.detail).requiring(self.name)
    }
}

pub(crate) const TOPOLOGY: RequiredGate = RequiredGate {
    name: "ClusterTopology",
    detail: "can be set only if the ClusterTopology feature flag is enabled",
};
pub(crate) const MACHINE_POOLS: RequiredGate = RequiredGate {
    name: "MachinePool",
    detail: "can be set only if the MachinePool feature flag is enabled",
};
pub(crate) const RUNTIME_SDK: RequiredGate = RequiredGate {
    name: "RuntimeSDK",
    detail: "patch.external can be used only if the RuntimeSDK feature flag is enabled",
};
pub(crate) const IGNITION: RequiredGate = RequiredGate {
    name: "KubeadmBootstrapFormatIgnition",
    detail: "can be set only if the KubeadmBootstrapFormatIgnition feature gate is enabled",
};
pub(crate) const TAINTS: RequiredGate = RequiredGate {
    name: "MachineTaintPropagation",
    detail: "taints are not allowed to be set when the feature gate MachineTaintPropagation is disabled",
};

const ALPHA: &str = "AllAlpha";
const BETA: &str = "AllBeta";

/// Gates that Cluster API's managers know, in 1.11 and later.
const NAMES: [&str; 12] = [
    ALPHA,
    BETA,
    "ClusterTopology",
    "InPlaceUpdates",
    "KubeadmBootstrapFormatIgnition",
    "MachinePool",
    "MachineSetPreflightChecks",
    "MachineTaintPropagation",
    "MachineWaitForVolumeDetachConsiderVolumeAttachments",
    "PriorityQueue",
    "ReconcilerRateLimiting",
    "RuntimeSDK",
];

impl Gates {
    /// The names of all feature gates that Cluster API knows.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.into_iter()
    }

    /// Parses gates in the form that Cluster API's managers accept: `RuntimeSDK=true,ClusterTopology=true`. Gates that have
    /// no effect here are accepted, too. An error is the part that would keep a manager from starting.
    ///
    /// Source: `Set` of `k8s.io/component-base/featuregate/feature_gate.go`, where values are those of Go's
    /// `strconv.ParseBool`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut all = Vec::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let wrong = || part.to_owned();
            let (name, value) = part.split_once('=').ok_or_else(wrong)?;
            let on = match value.trim() {
                "1" | "t" | "T" | "TRUE" | "true" | "True" => true,
                "0" | "f" | "F" | "FALSE" | "false" | "False" => false,
                _ => return Err(wrong()),
            };
            let name = name.trim();
            if !NAMES.contains(&name) {
                return Err(wrong());
            }
            all.push((name, on));
        }
        // A setting for all gates of a kind applies to those that are not named, wherever it occurs.
        all.sort_by_key(|(name, _)| !name.starts_with("All"));
        let mut gates = Self::default();
        for (name, on) in all {
            gates.turn(name, on);
        }
        Ok(gates)
    }

    fn turn(&mut self, name: &str, on: bool) {
        let is = |one: &str, all: &str| name == one || name == all;
        for (gate, kind, field, meaning) in [
            ("RuntimeSDK", ALPHA, &mut self.runtime_sdk, on),
            ("MachineTaintPropagation", ALPHA, &mut self.taints, on),
            ("KubeadmBootstrapFormatIgnition", ALPHA, &mut self.ignition, on),
            ("InPlaceUpdates", ALPHA, &mut self.in_place, on),
            ("ClusterTopology", ALPHA, &mut self.no_topology, !on),
            ("MachinePool", BETA, &mut self.no_machine_pools, !on),
            ("MachineSetPreflightChecks", BETA, &mut self.no_preflight_checks, !on),
        ] {
            if is(gate, kind) {
                *field = meaning;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_are_read_as_managers_take_them() {
        let gates =
            Gates::parse("ClusterTopology=true, RuntimeSDK=true,MachineTaintPropagation=false").unwrap();
        assert_eq!(gates, Gates { runtime_sdk: true, ..Gates::default() });
        assert_eq!(Gates::parse(""), Ok(Gates::default()));
        assert_eq!(Gates::parse("RuntimeSDK"), Err("RuntimeSDK".to_owned()));
        assert_eq!(Gates::parse("RuntimeSDK=yes"), Err("RuntimeSDK=yes".to_owned()));
        assert_eq!(Gates::parse("PriorityQueue=true,RuntimeSdk=true"), Err("RuntimeSdk=true".to_owned()));
        let all = Gates::parse("RuntimeSDK=false,AllAlpha=true").unwrap();
        assert!(all.in_place && !all.runtime_sdk && !all.no_topology);
        assert!(Gates::parse("MachinePool=F").unwrap().no_machine_pools);
    }
}
