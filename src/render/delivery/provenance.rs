//! Where the fields of objects that install addons come from.

use super::by_api;
use crate::{
    render::provenance::{ComposedField, Provenance},
    yaml::Node,
};

/// Where a field of such an object comes from; none if the field's own origin is enough.
pub(in crate::render) fn of<'a>(field: &ComposedField<'a>) -> Option<Vec<Provenance<'a>>> {
    field.addon()?;
    let api = field.object.get("apiVersion").and_then(Node::as_str)?;
    by_api(api).find_map(|delivery| (delivery.provenance)(field, &field.path.names()))
}

/// Where the fields come from that all such objects in a cluster's namespace share.
pub(super) fn common<'a>(names: &[&'a str]) -> Option<Vec<Provenance<'a>>> {
    const CLUSTER: Provenance<'_> = Provenance::Definition(&["metadata", "name"]);
    Some(match names {
        ["metadata", "name"] => vec![CLUSTER, Provenance::Addon(&[])],
        ["metadata", "namespace"] | ["spec", "clusterRefs" | "policyRefs", "", "namespace"] => {
            vec![Provenance::Namespace]
        }
        ["metadata", "labels", ..] | ["spec", "clusterSelector" | "clusterName" | "clusterRefs", ..] => {
            vec![CLUSTER]
        }
        ["metadata", "annotations", "cluster.x-k8s.io/paused"] => vec![Provenance::Suspension],
        _ => return None,
    })
}
