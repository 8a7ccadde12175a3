//! Who applies a Cluster, and how: the same file results in a different live object with each applier.

use serde_json::Value;

use crate::contract::LAST_APPLIED;
use k8s_schema::value::{get, list, text};

/// An applier of Clusters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Applier {
    /// Client-side apply: `kubectl apply`, and Argo CD by default.
    ClientSide(String),
    /// Server-side apply with this field manager.
    ServerSide(String),
}

/// Source: Kubernetes, `apimachinery/pkg/apis/meta/v1/validation/validation.go`, `FieldManagerMaxLength`.
const MANAGER_LIMIT: usize = 128;

/// The field manager of Flux.
pub(super) const FLUX: &str = "kustomize-controller";
const ARGO: &str = "argocd-controller";

impl Applier {
    /// Flux, which applies server-side.
    ///
    /// Source: `kustomize-controller`, `main.go` (its name).
    pub fn flux() -> Self {
        Self::ServerSide(FLUX.to_owned())
    }

    /// `kubectl apply`, which applies client-side.
    pub fn kubectl() -> Self {
        Self::ClientSide("kubectl apply".to_owned())
    }

    /// `kubectl apply --server-side`.
    pub fn kubectl_server_side() -> Self {
        Self::ServerSide("kubectl".to_owned())
    }

    /// Argo CD, which applies client-side with kubectl's own code.
    ///
    /// Source: `gitops-engine`, `pkg/utils/kube/resource_ops.go`, `newApplyOptions`.
    pub fn argo_cd() -> Self {
        Self::ClientSide("Argo CD".to_owned())
    }

    /// Argo CD with the sync option `ServerSideApply=true`.
    ///
    /// Source: `argo-cd`, `common/common.go`, `ArgoCDSSAManager`.
    pub fn argo_cd_server_side() -> Self {
        Self::ServerSide(ARGO.to_owned())
    }

    /// Server-side apply by a field manager; none if the API server would refuse the name.
    pub fn field_manager(name: &str) -> Option<Self> {
        let is_name = !name.is_empty() && name.len() <= MANAGER_LIMIT && !name.contains(char::is_whitespace);
        is_name.then(|| Self::ServerSide(name.to_owned()))
    }

    /// Reports whether it is Flux.
    pub fn is_flux(&self) -> bool {
        matches!(self, Self::ServerSide(manager) if manager == FLUX)
    }

    /// Its name in a sentence.
    pub fn name(&self) -> &str {
        match self {
            Self::ClientSide(name) | Self::ServerSide(name) => name,
        }
    }

    /// How it applies, in words.
    pub fn manner(&self) -> &'static str {
        match self {
            Self::ClientSide(_) => "client-side",
            Self::ServerSide(_) => "server-side",
        }
    }

    /// Reports whether an entry of managed fields counts as applied by it.
    pub(super) fn owns(&self, entry: &Value, object: &Value) -> bool {
        let Self::ServerSide(manager) = self else { return false };
        let own = text(entry, &["manager"]) == manager && text(entry, &["operation"]) == "Apply";
        text(entry, &["subresource"]).is_empty() && (own || self.takes_over(entry, object))
    }

    /// Reports whether it takes over the fields of another manager before it applies.
    ///
    /// Source: Flux: `kustomize-controller`, `internal/controller/kustomization_controller.go`, `apply` (the managers), and
    /// `fluxcd/pkg/ssa`, `patch.go`, `PatchReplaceFieldsManagers` (by the prefix of the name). kubectl, and Argo CD with
    /// its code: `kubectl`, `pkg/cmd/apply/apply.go`, `migrateToSSAIfNecessary` (managers that update the annotation).
    fn takes_over(&self, entry: &Value, object: &Value) -> bool {
        let (name, operation) = (text(entry, &["manager"]), text(entry, &["operation"]));
        if self.is_flux() {
            let taken: &[&str] = match operation {
                "Update" => &["kubectl", "before-first-apply", FLUX],
                _ => &["kubectl"],
            };
            return !merges(object) && taken.iter().any(|one| name.starts_with(one));
        }
        let annotation = ["fieldsV1", "f:metadata", "f:annotations", &format!("f:{LAST_APPLIED}")];
        operation == "Update" && get(entry, &annotation).is_some()
    }

    /// The managers in managed fields whose fields it takes over.
    pub(super) fn taken_over(&self, object: &Value) -> Vec<String> {
        let entries = list(object, &["metadata", "managedFields"]).iter();
        let taken = entries.filter(|one| self.owns(one, object)).map(|one| text(one, &["manager"]));
        let mut names: Vec<String> = taken.filter(|one| *one != self.name()).map(str::to_owned).collect();
        names.sort();
        names.dedup();
        names
    }
}

/// Reports whether an object asks Flux to keep the fields of others.
///
/// Source: `kustomize-controller`, `internal/controller/kustomization_controller.go`, `apply` (`Exclusions`).
fn merges(object: &Value) -> bool {
    let asked = |field| text(object, &["metadata", field, "kustomize.toolkit.fluxcd.io/ssa"]);
    ["labels", "annotations"].into_iter().any(|field| asked(field).eq_ignore_ascii_case("merge"))
}
