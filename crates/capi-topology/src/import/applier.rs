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

/// The words for the known appliers.
pub const WORDS: [&str; 5] = ["flux", "kubectl", "kubectl-server-side", "argocd", "argocd-server-side"];

/// The field manager of Flux.
pub(super) const FLUX: &str = "kustomize-controller";
const ARGO: &str = "argocd-controller";

impl Applier {
    /// Parses an applier: `flux`, `kubectl`, `kubectl-server-side`, `argocd`, `argocd-server-side`, or the name of a field
    /// manager.
    ///
    /// Source: `kustomize-controller`, `main.go` (its name); `argo-cd`, `common/common.go`, `ArgoCDSSAManager`, and
    /// `gitops-engine`, `pkg/utils/kube/resource_ops.go`, `newApplyOptions` (kubectl's own code, client-side or
    /// server-side).
    ///
    /// None if it is not a valid name of a field manager.
    pub fn named(word: &str) -> Option<Self> {
        let server_side = |manager: &str| Self::ServerSide(manager.to_owned());
        let is_name = !word.is_empty() && word.len() <= MANAGER_LIMIT && !word.contains(char::is_whitespace);
        is_name.then(|| match word.to_lowercase().as_str() {
            "flux" => server_side(FLUX),
            "kubectl" => Self::client_side(),
            "kubectl-server-side" => server_side("kubectl"),
            "argocd" => Self::ClientSide("Argo CD".to_owned()),
            "argocd-server-side" => server_side(ARGO),
            _ => server_side(word),
        })
    }

    /// A plain `kubectl apply`.
    pub(super) fn client_side() -> Self {
        Self::ClientSide("kubectl apply".to_owned())
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
