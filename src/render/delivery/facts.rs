//! The facts behind the fields of objects that install addons.

use super::by_api;
use crate::{
    render::facts::{Composed, Fact},
    yaml::Node,
};

/// The facts behind a field of such an object; none if the field's own origin is enough.
pub(in crate::render) fn of<'a>(field: &Composed<'a>) -> Option<Vec<Fact<'a>>> {
    field.addon?;
    let api = field.object.get("apiVersion").and_then(Node::as_str)?;
    (by_api(api)?.facts)(field, &field.path.names())
}

/// The facts behind fields that all such objects in a cluster's namespace share.
pub(super) fn common<'a>(names: &[&'a str]) -> Option<Vec<Fact<'a>>> {
    const CLUSTER: Fact<'_> = Fact::Definition(&["metadata", "name"]);
    Some(match names {
        ["metadata", "name"] => vec![CLUSTER, Fact::Addon(&[])],
        ["metadata", "namespace"] | ["spec", "clusterRefs" | "policyRefs", "", "namespace"] => {
            vec![Fact::Namespace]
        }
        ["metadata", "labels", ..] | ["spec", "clusterSelector" | "clusterName" | "clusterRefs", ..] => {
            vec![CLUSTER]
        }
        ["metadata", "annotations", "cluster.x-k8s.io/paused"] => vec![Fact::Suspension],
        _ => return None,
    })
}
