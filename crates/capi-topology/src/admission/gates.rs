//! Feature gates of the management cluster's controllers, as far as webhooks refuse something without them.
//!
//! Source: `feature/feature.go`.

/// Which gates are on, as far as they matter; by default those that Cluster API has on by itself, and `ClusterTopology`,
/// without which there are no classes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Gates {
    /// `RuntimeSDK`: classes may have patches and variables of runtime extensions.
    pub runtime_sdk: bool,
    /// `MachineTaintPropagation`: topologies and classes may set taints.
    pub taints: bool,
    /// `KubeadmBootstrapFormatIgnition`: machines may be set up by Ignition.
    pub ignition: bool,
    /// `InPlaceUpdates`: an extension may change machines in place instead of having them replaced.
    pub in_place: bool,
    /// `ClusterTopology` is off: there may be no classes.
    pub no_topology: bool,
    /// `MachinePool` is off: there may be no machine pools.
    pub no_machine_pools: bool,
    /// `MachineSetPreflightChecks` is off: nobody looks at which of them are skipped.
    pub no_preflight_checks: bool,
}

/// What is refused without `ClusterTopology`.
pub(crate) const NO_TOPOLOGY: &str = "can be set only if the ClusterTopology feature flag is enabled";

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

    /// Reads gates as Cluster API's managers take them: `RuntimeSDK=true,ClusterTopology=true`. Those that decide nothing
    /// here are taken, too; an error is the part that a manager would refuse to start with.
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
        // What is said of all gates of a kind holds for those that are not named, wherever it stands.
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
