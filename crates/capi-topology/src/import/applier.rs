//! Who applies a Cluster, and how: one file leaves another live object behind with each.

use serde_json::Value;

use crate::desired::contract::LAST_APPLIED;
use k8s_schema::value::{get, list, text};

/// Who applies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Applier {
    /// Client-side: `kubectl apply`, and Argo CD unless it is told otherwise.
    ClientSide(String),
    /// Server-side, as this field manager.
    ServerSide(String),
}

/// Source: Kubernetes, `apimachinery/pkg/apis/meta/v1/validation/validation.go`, `FieldManagerMaxLength`.
const MANAGER_LIMIT: usize = 128;

/// The words for those that are known.
pub const WORDS: [&str; 5] = ["flux", "kubectl", "kubectl-server-side", "argocd", "argocd-server-side"];

/// The field manager of Flux.
pub(super) const FLUX: &str = "kustomize-controller";
const ARGO: &str = "argocd-controller";

impl Applier {
    /// The word that people say: `flux`, `kubectl`, `kubectl-server-side`, `argocd`, `argocd-server-side`, or the name of a
    /// field manager.
    ///
    /// Source: `kustomize-controller`, `main.go` (its name); `argo-cd`, `common/common.go`, `ArgoCDSSAManager`, and
    /// `gitops-engine`, `pkg/utils/kube/resource_ops.go`, `newApplyOptions` (kubectl's own code, client-side or server-side).
    ///
    /// None where it is not a name that a field manager can have.
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

    /// `kubectl apply` without more.
    pub(super) fn client_side() -> Self {
        Self::ClientSide("kubectl apply".to_owned())
    }

    /// Whether it is Flux.
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

    /// Whether an entry of managed fields counts as what it applied.
    pub(super) fn owns(&self, entry: &Value, object: &Value) -> bool {
        let Self::ServerSide(manager) = self else { return false };
        let own = text(entry, &["manager"]) == manager && text(entry, &["operation"]) == "Apply";
        text(entry, &["subresource"]).is_empty() && (own || self.takes_over(entry, object))
    }

    /// Whether what another set becomes its own before it applies.
    ///
    /// Source: Flux: `kustomize-controller`, `internal/controller/kustomization_controller.go`, `apply` (the managers), and
    /// `fluxcd/pkg/ssa`, `patch.go`, `PatchReplaceFieldsManagers` (by the beginning of the name). kubectl, and Argo CD with
    /// its code: `kubectl`, `pkg/cmd/apply/apply.go`, `migrateToSSAIfNecessary`: whoever updates the annotation.
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

    /// Of those whose fields an entry of managed fields names, the ones that it took over.
    pub(super) fn taken_over(&self, object: &Value) -> Vec<String> {
        let entries = list(object, &["metadata", "managedFields"]).iter();
        let taken = entries.filter(|one| self.owns(one, object)).map(|one| text(one, &["manager"]));
        let mut names: Vec<String> = taken.filter(|one| *one != self.name()).map(str::to_owned).collect();
        names.sort();
        names.dedup();
        names
    }
}

/// Whether an object asks Flux to leave others' fields alone.
///
/// Source: `kustomize-controller`, `internal/controller/kustomization_controller.go`, `apply` (`Exclusions`).
fn merges(object: &Value) -> bool {
    let asked = |field| text(object, &["metadata", field, "kustomize.toolkit.fluxcd.io/ssa"]);
    ["labels", "annotations"].into_iter().any(|field| asked(field).eq_ignore_ascii_case("merge"))
}
