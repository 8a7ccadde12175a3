//! Converts Cluster API's own kinds from `v1beta1` to `v1beta2`, the stored version, in which the API server serves them to
//! controllers.
//!
//! Source: `api/core/v1beta1/conversion.go`, `api/bootstrap/kubeadm/v1beta1/conversion.go`,
//! `api/controlplane/kubeadm/v1beta1/conversion.go` and the `webhooks/conversion` folders beside them.
//!
//! Intentionally missing: the conversion back to `v1beta1`, except for the kubeadm templates that patches see, and the
//! kinds of infrastructure providers, which have their own conversion code.

mod class;
mod cluster;
mod fields;
mod health_check;
mod kubeadm;
mod view;

use std::borrow::Cow;

use serde_json::{Value, json};

use fields::Fields;
use health_check::with_strategy;

use super::schemas::defaulted;
use k8s_schema::value::{group, set, text, version};

/// The group of a kind that Cluster API itself converts; none for any other kind.
fn own_group(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "Cluster" | "ClusterClass" => "cluster.x-k8s.io",
        "KubeadmConfig" | "KubeadmConfigTemplate" => "bootstrap.cluster.x-k8s.io",
        "KubeadmControlPlane" | "KubeadmControlPlaneTemplate" => "controlplane.cluster.x-k8s.io",
        _ => return None,
    })
}

/// Reports whether versions of the object's kind are converted here; only the API server converts those of other kinds.
pub(crate) fn is_own(object: &Value) -> bool {
    own_group(text(object, &["kind"])) == Some(group(text(object, &["apiVersion"])))
}

/// Reports whether an object is of one of Cluster API's own kinds, in the old version.
pub(crate) fn is_old(object: &Value) -> bool {
    is_own(object) && version(text(object, &["apiVersion"])) == "v1beta1"
}

/// Converts an object to the stored version. Only old objects of Cluster API's own kinds change.
pub(crate) fn to_stored(object: &Value) -> Result<Cow<'_, Value>, String> {
    if !is_old(object) {
        return Ok(Cow::Borrowed(object));
    }
    let spec = object.get("spec").cloned().unwrap_or_else(|| json!({}));
    let mut spec = match text(object, &["kind"]) {
        "Cluster" => cluster::spec(&spec)?,
        "ClusterClass" => class::spec(&spec)?,
        "KubeadmConfig" => kubeadm::config(&spec)?,
        "KubeadmConfigTemplate" => kubeadm::config_template(&spec)?,
        "KubeadmControlPlane" => kubeadm::control_plane(&spec)?,
        _ => kubeadm::control_plane_template(&spec)?,
    };
    if !matches!(text(object, &["kind"]), "Cluster" | "ClusterClass") {
        fields::without_marks(&mut spec);
    }
    let mut converted = object.clone();
    set(&mut converted, &["apiVersion"], json!(format!("{}/v1beta2", group(text(object, &["apiVersion"])))));
    set(&mut converted, &["spec"], spec);
    Ok(Cow::Owned(converted))
}

/// Converts the rollout settings in the spec of a `MachineDeployment` to the stored version.
pub(crate) fn rollout_of_deployment(old: &Value) -> Value {
    let fields = Fields::of(old).moved(&["rolloutAfter"], &["rollout", "after"]);
    with_strategy(fields, old).done()
}

/// The template as served to a client that requests this version; an error if that cannot be known.
pub(crate) fn template_at(template: &Value, wanted: &str) -> Result<Value, String> {
    let api_version = text(template, &["apiVersion"]);
    let (own, kind) = (version(api_version), text(template, &["kind"]));
    let known = own_group(kind) == Some(group(api_version)) && matches!(own, "v1beta1" | "v1beta2");
    let view = match kind {
        "KubeadmConfigTemplate" if known => view::config_template,
        "KubeadmControlPlaneTemplate" if known => view::control_plane_template,
        _ if own == wanted => return Ok(template.clone()),
        _ => return Err(format!("only the API server converts {own} to {wanted}")),
    };
    let stored =
        if own == "v1beta1" { to_stored(&defaulted(template))?.into_owned() } else { template.clone() };
    match wanted {
        "v1beta2" => Ok(stored),
        "v1beta1" => {
            let mut old = stored.clone();
            set(&mut old, &["apiVersion"], json!(format!("{}/v1beta1", group(api_version))));
            set(&mut old, &["spec"], view(stored.get("spec").unwrap_or(&Value::Null))?);
            Ok(old)
        }
        _ => Err(format!("only the API server converts {own} to {wanted}")),
    }
}

#[cfg(test)]
mod tests;
