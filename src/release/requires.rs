//! The requirements of a release on a management cluster: those that its stack declares, and those that its class implies.

use std::collections::BTreeSet;

use super::Release;
use crate::yaml::Node;

impl Release {
    /// The feature gates that it needs: those that it declares, and those without which its class is rejected.
    pub fn needed_gates(&self) -> BTreeSet<String> {
        let mut gates = self.requires.feature_gates.clone();
        gates.extend(self.shown_gates().into_iter().map(str::to_owned));
        gates
    }

    /// The declared requirements beyond those that the class implies, as texts for the content hash. A release without any
    /// keeps the digest from before requirements existed.
    pub(super) fn declared_requirements(&self) -> Vec<String> {
        let shown = self.shown_gates();
        let providers =
            self.requires.providers.iter().map(|(name, range)| format!("requires {name} {range}"));
        let gates = self.requires.feature_gates.iter().filter(|gate| !shown.contains(gate.as_str()));
        providers.chain(gates.map(|gate| format!("requires feature gate {gate}"))).collect()
    }

    /// The feature gates without which the webhooks reject its class or templates.
    fn shown_gates(&self) -> BTreeSet<&'static str> {
        let mut gates = BTreeSet::new();
        for object in &self.objects {
            if object.get("kind").and_then(Node::as_str) == Some("ClusterClass") {
                of_class(object, &mut gates);
            }
            let formats: [&[&str]; 2] = [
                &["spec", "template", "spec", "format"],
                &["spec", "template", "spec", "kubeadmConfigSpec", "format"],
            ];
            let is_ignition = |path: &&[&str]| object.at(path).and_then(Node::as_str) == Some("ignition");
            if formats.iter().any(is_ignition) {
                gates.insert("KubeadmBootstrapFormatIgnition");
            }
        }
        gates
    }
}

fn of_class(class: &Node, gates: &mut BTreeSet<&'static str>) {
    let list = |path: &[&str]| class.at(path).and_then(Node::as_sequence).unwrap_or_default();
    let is_external = |patch: &Node| patch.get("external").is_some();
    let asks_for_plans = class.at(&["spec", "upgrade", "external"]).is_some();
    if list(&["spec", "patches"]).iter().any(is_external) || asks_for_plans {
        gates.insert("RuntimeSDK");
    }
    let workers = ["machineDeployments", "machinePools"].map(|kind| list(&["spec", "workers", kind]));
    let owners = class.at(&["spec", "controlPlane"]).into_iter().chain(workers.into_iter().flatten());
    let has_taints = |owner: &Node| owner.get("taints").is_some_and(|taints| !taints.is_empty_collection());
    if owners.into_iter().any(has_taints) {
        gates.insert("MachineTaintPropagation");
    }
}
