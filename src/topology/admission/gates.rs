//! Feature gates of the management cluster's controllers, as far as webhooks refuse something without them.
//!
//! Source: `feature/feature.go`.

/// Which gates are on; as in Cluster API, none is by itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Gates {
    /// `RuntimeSDK`: classes may have patches and variables of runtime extensions.
    pub runtime_sdk: bool,
    /// `MachineTaintPropagation`: topologies and classes may set taints.
    pub taints: bool,
    /// `KubeadmBootstrapFormatIgnition`: machines may be set up by Ignition.
    pub ignition: bool,
}

impl Gates {
    /// Reads gates as Cluster API's managers take them: `RuntimeSDK=true,ClusterTopology=true`. Other gates than the
    /// three do not matter here. An error is the part that is no gate.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut gates = Self::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let on = match part.split_once('=') {
                Some((_, "true")) => true,
                Some((_, "false")) => false,
                _ => return Err(part.to_owned()),
            };
            match part.split('=').next() {
                Some("RuntimeSDK") => gates.runtime_sdk = on,
                Some("MachineTaintPropagation") => gates.taints = on,
                Some("KubeadmBootstrapFormatIgnition") => gates.ignition = on,
                _ => {}
            }
        }
        Ok(gates)
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
    }
}
