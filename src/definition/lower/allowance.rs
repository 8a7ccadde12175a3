//! Lints that a stack allows.

use super::place_at;
use crate::{
    definition::{self as written, parse::Written},
    model::Allowance,
    note::Notes,
    yaml::{Node, Origin},
};

/// The lints that the class of a stack may violate. A blank reason is an error.
pub(super) fn allowances(stack: &Written<written::Stack>, notes: &mut Notes) -> Vec<Allowance> {
    let nodes = stack.node.at(&["spec", "allow"]).and_then(Node::as_sequence).unwrap_or_default();
    let mut allowed = Vec::new();
    for (at, one) in stack.value.spec.allow.iter().flatten().enumerate() {
        if one.reason.trim().is_empty() {
            let place = place_at(stack, &["spec", "allow", &at.to_string(), "reason"]);
            notes
                .error("wrong-value", place, format!("`{}` is allowed without a reason", one.rule))
                .hint("explain why it is right for this stack");
        }
        let rule = nodes.get(at).and_then(|node| node.get("rule"));
        let origin = rule.map_or(Origin::NOWHERE, |node| node.origin);
        allowed.push(Allowance { rule: one.rule.as_str().into(), origin });
    }
    allowed
}
