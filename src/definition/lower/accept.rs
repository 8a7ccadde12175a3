//! Accepted risks. Reports of changes use them; this module only checks that each has a reason.

use super::Lowering;
use crate::{note::Notes, yaml::Node};

pub(super) fn check(context: &Lowering<'_>, notes: &mut Notes) {
    let definitions = context.definitions;
    for layer in definitions.defaults.values().chain(&definitions.clusters) {
        let listed = layer.node.at(&["spec", "accept"]).and_then(Node::as_sequence).unwrap_or_default();
        for reason in listed.iter().filter_map(|one| one.get("reason")) {
            if reason.as_str().is_some_and(|text| text.trim().is_empty()) {
                notes
                    .error("accept", context.place(reason.origin), "the accepted risk has no reason")
                    .hint("add a `reason`: reports of the change show it to reviewers");
            }
        }
    }
}
