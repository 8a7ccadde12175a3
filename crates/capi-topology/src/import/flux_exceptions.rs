//! Objects whose labels or annotations tell Flux not to write them as usual: it skips them, or deletes and recreates them. The
//! rest of a commit is applied as always.

use serde_json::Value;

use super::applier::FLUX;
use super::{Applier, Imported, Objects, lies_in};
use k8s_schema::value::{get, name_of, set, text};

/// An object in the new files that its applier does not write normally, because the object asks for that.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ApplyException {
    /// The applier that the object asks.
    pub applier: &'static str,
    /// Its file, as the user named it.
    pub file: String,
    /// The line at which its document begins, counted from 1.
    pub line: usize,
    /// `Kind name`.
    pub name: String,
    /// The label or annotation that requests it, as `key: value`.
    pub asks: &'static str,
}

/// Marks on either side that keep Flux from writing an object at all.
const NEVER: [(&str, &str, &str); 2] = [
    (SSA, "ignore", "kustomize.toolkit.fluxcd.io/ssa: Ignore"),
    ("kustomize.toolkit.fluxcd.io/reconcile", "disabled", "kustomize.toolkit.fluxcd.io/reconcile: disabled"),
];
/// The mark that keeps Flux from writing an object that already exists.
const ONCE: (&str, &str, &str) = (SSA, "ifnotpresent", "kustomize.toolkit.fluxcd.io/ssa: IfNotPresent");
/// With this mark, Flux deletes and recreates an object if its change is refused because a field is immutable.
const FORCE: (&str, &str, &str) =
    ("kustomize.toolkit.fluxcd.io/force", "enabled", "kustomize.toolkit.fluxcd.io/force: enabled");
/// Flux's own labels.
const OWNER: [&str; 2] = ["kustomize.toolkit.fluxcd.io/name", "kustomize.toolkit.fluxcd.io/namespace"];
const SSA: &str = "kustomize.toolkit.fluxcd.io/ssa";

impl Objects {
    /// Removes the objects that Flux would not write over the existing ones, and returns them. `by` is the applier, if the
    /// user named one. Otherwise Flux is assumed, unless managed fields show only others.
    ///
    /// Source: `fluxcd/pkg/ssa`, `manager_apply.go`, `shouldSkipApply`, and `kustomize-controller`,
    /// `internal/controller/kustomization_controller.go`, `apply` (the selectors).
    pub fn take_skipped(&mut self, there: &Self, by: Option<&Applier>) -> Vec<ApplyException> {
        let mut skipped = Vec::new();
        self.all.retain(|one| {
            let old = there.all.iter().find(|old| is_same(&one.object, &old.object));
            let asks = is_by_flux(old, by).then(|| asks(one, old)).flatten();
            skipped.extend(asks.map(|asks| one.exception(asks)));
            asks.is_none()
        });
        skipped
    }

    /// Adds the labels by which Flux recognizes the objects it applied, if the existing object has them: no file contains
    /// them.
    ///
    /// Source: `fluxcd/pkg/ssa`, `manager.go`, `SetOwnerLabels`.
    pub fn label_as_applied(&mut self, there: &Self, by: Option<&Applier>) {
        for one in self.all.iter_mut().filter(|one| !one.applied.is_live()) {
            let old = there.all.iter().find(|old| is_same(&one.object, &old.object));
            let Some(old) = old.filter(|old| is_by_flux(Some(old), by)) else { continue };
            for label in OWNER {
                let path = ["metadata", "labels", label];
                if let (Some(value), None) = (get(&old.object, &path), get(&one.object, &path)) {
                    set(&mut one.object, &path, value.clone());
                }
            }
        }
    }

    /// Lists the objects that Flux would delete and recreate if the API server refused their change because of an immutable
    /// field.
    ///
    /// Source: as for [`Objects::take_skipped`], `shouldForceApply`.
    pub fn recreated_if_refused(&self, there: &Self, by: Option<&Applier>) -> Vec<ApplyException> {
        let changed = self.all.iter().filter_map(|one| {
            let old = there.all.iter().find(|old| is_same(&one.object, &old.object))?;
            let asks = has(&one.object, FORCE).or_else(|| has(&old.object, FORCE))?;
            (is_by_flux(Some(old), by) && one.object != old.object).then(|| one.exception(asks))
        });
        changed.collect()
    }
}

impl Imported {
    fn exception(&self, asks: &'static str) -> ApplyException {
        let name = format!("{} {}", text(&self.object, &["kind"]), text(&self.object, &["metadata", "name"]));
        ApplyException { applier: "Flux", file: self.file.clone(), line: self.line, name, asks }
    }
}

fn is_same(one: &Value, other: &Value) -> bool {
    name_of(one) == name_of(other) && lies_in(one, text(other, &["metadata", "namespace"]))
}

fn is_by_flux(old: Option<&Imported>, by: Option<&Applier>) -> bool {
    match (by, old) {
        (Some(by), _) => by.is_flux(),
        (None, Some(old)) => old.managers.is_empty() || old.managers.iter().any(|one| one == FLUX),
        (None, None) => true,
    }
}

fn asks(new: &Imported, old: Option<&Imported>) -> Option<&'static str> {
    let sides = [Some(new), old].into_iter().flatten();
    let never = sides.flat_map(|one| NEVER.map(|ask| has(&one.object, ask))).flatten().next();
    never.or_else(|| old.and_then(|_| has(&new.object, ONCE)))
}

/// Source: `fluxcd/pkg/ssa`, `utils/meta.go`, `AnyInMetadata`: labels and annotations, regardless of case.
fn has(object: &Value, (key, value, words): (&str, &str, &'static str)) -> Option<&'static str> {
    let asked = |field| text(object, &["metadata", field, key]);
    ["labels", "annotations"]
        .into_iter()
        .any(|field| asked(field).eq_ignore_ascii_case(value))
        .then_some(words)
}
