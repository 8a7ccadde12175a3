//! Cluster API makes a class the owner of its templates, and gets stuck on a template that it cannot write.
//!
//! ```
//! use capi_topology::predict::adoption::refused;
//! use serde_json::json;
//!
//! let class = |version: &str| json!({
//!     "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "ClusterClass", "metadata": { "name": "small" },
//!     "spec": { "controlPlane": { "templateRef": {
//!         "apiVersion": format!("controlplane.cluster.x-k8s.io/{version}"),
//!         "kind": "KubeadmControlPlaneTemplate", "name": "small",
//!     } } },
//! });
//! let template = json!({
//!     "apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "KubeadmControlPlaneTemplate",
//!     "metadata": { "name": "small" }, "spec": { "template": { "spec": {} } },
//! });
//!
//! assert!(refused(&[class("v1beta2"), template.clone()], &[]).is_empty());
//! let faults = refused(&[class("v1beta1"), template], &[]);
//! assert_eq!(faults[0].error.field, "spec.template.spec.rollout.strategy");
//! ```

use serde_json::Value;

use crate::class::Catalog;
use crate::refusal::{By, ErrorType, FieldError, Refusal, Stage};
use k8s_schema::value::{get, group, list, present, text, version};

/// The Cluster API file that contains the rule.
pub(super) const SOURCE: &str = "core/reconcilers/clusterclass/clusterclass_controller.go";

const GROUP: &str = "controlplane.cluster.x-k8s.io";
const KIND: &str = "KubeadmControlPlaneTemplate";
const STRATEGY: &str = "spec.template.spec.rollout.strategy";

/// Lists the templates on which the class controller gets stuck forever, so that no Cluster of their class is reconciled.
/// `there` holds the classes and templates that existed before.
///
/// The controller writes the owner in the version that the class references. When converted through `v1beta1`, a control
/// plane without a rollout strategy gets the default of that version, and the webhook treats it as a change of the
/// template.
///
/// Source, confirmed with 1.14.2: `core/reconcilers/clusterclass/clusterclass_controller.go`, `reconcileExternal`;
/// `controlplane/kubeadm/config/crd/bases`; `controlplane/kubeadm/webhooks/admission/kubeadmcontrolplanetemplate.go`,
/// `ValidateUpdate`.
pub fn refused(objects: &[Value], there: &[Value]) -> Vec<Refusal> {
    if !objects.iter().any(|one| asked(one).is_some()) {
        return Vec::new();
    }
    let (new, old) = (Catalog::new(objects.iter().cloned()), Catalog::new(there.iter().cloned()));
    let faults = new.classes().filter_map(|class| {
        let reference = asked(class)?;
        let template = new.same_object(&named(class, reference))?;
        let name = text(class, &["metadata", "name"]);
        let owned = list(template, &["metadata", "ownerReferences"])
            .iter()
            .any(|owner| text(owner, &["kind"]) == "ClusterClass" && text(owner, &["name"]) == name);
        let before = old.same_object(class).and_then(asked);
        let is_old = before.is_some_and(|one| text(one, &["name"]) == text(reference, &["name"]));
        (!owned && !is_old && is_changed_by_reading(template)).then(|| fault(template))
    });
    faults.collect()
}

/// The control plane reference, if it names a kubeadm template at `v1beta1`.
fn asked(class: &Value) -> Option<&Value> {
    let reference = get(class, &["spec", "controlPlane", "templateRef"])?;
    let api_version = text(reference, &["apiVersion"]);
    let is_old = version(api_version) == "v1beta1" && group(api_version) == GROUP;
    (is_old && text(reference, &["kind"]) == KIND).then_some(reference)
}

fn named(class: &Value, reference: &Value) -> Value {
    serde_json::json!({
        "apiVersion": reference["apiVersion"],
        "kind": KIND,
        "metadata": { "name": reference["name"], "namespace": text(class, &["metadata", "namespace"]) },
    })
}

fn is_changed_by_reading(template: &Value) -> bool {
    let path: Vec<&str> = STRATEGY.split('.').collect();
    let has_fields = |one: &Value| one.as_object().is_some_and(|fields| !fields.is_empty());
    version(text(template, &["apiVersion"])) == "v1beta2" && !present(template, &path).is_some_and(has_fields)
}

fn fault(template: &Value) -> Refusal {
    let detail = "its ClusterClass refers to it at v1beta1, where the strategy has a default: Cluster API cannot write the class \
         as its owner, and reconciles no Cluster of the class; set the strategy (`type: RollingUpdate`, \
         `rollingUpdate.maxSurge: 1`), or refer to the template at v1beta2";
    Refusal {
        stage: Stage::ClassReconcile,
        by: By::Topology,
        object: format!("{KIND}/{}", text(template, &["metadata", "name"])),
        error: FieldError::new(ErrorType::Controller, STRATEGY, detail),
    }
}
