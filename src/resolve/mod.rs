//! Resolves a model: chooses exact versions, and rejects combinations that don't work, with a hint to a solution.

mod versions;

use std::collections::BTreeMap;

use crate::{
    definition::{Model, StackTemplate},
    model::{Addon, AddonVersion, Lock, Minor, Stack, StackId},
    note::{Diagnostic, Halted, Notes},
    yaml::Sources,
};

pub use versions::{Refused, Versions};

/// Every stack of a fleet for every Kubernetes minor that it serves, with exact versions.
#[derive(Clone, Debug)]
pub struct Resolution<'a> {
    /// The resolved stacks, by stack and minor.
    pub stacks: BTreeMap<(StackId, Minor), ResolvedStack<'a>>,
    /// The lock, with the digests of external inputs.
    pub lock: &'a Lock,
}

/// A stack for one minor, with the version of each addon.
#[derive(Clone, Debug)]
pub struct ResolvedStack<'a> {
    /// The stack.
    pub stack: &'a Stack<StackTemplate>,
    /// The version of each addon, in the order of the stack's addons; none for manifests without versions.
    pub versions: Vec<Option<AddonVersion>>,
}

/// Chooses every version.
///
/// `sources` provides the places of values for messages.
pub fn resolve<'a>(model: &'a Model, sources: &Sources, notes: &mut Notes) -> Result<Resolution<'a>, Halted> {
    let mut stacks = BTreeMap::new();
    for (key, stack) in &model.stacks {
        let versions = stack.addons.iter().map(|(addon, ..)| choose(addon, stack, sources, notes)).collect();
        stacks.insert(key.clone(), ResolvedStack { stack, versions });
    }
    notes.halt(Resolution { stacks, lock: &model.lock })
}

/// Chooses the newest version that works with the stack's Kubernetes version and that no rule forbids.
fn choose(
    addon: &Addon,
    stack: &Stack<StackTemplate>,
    sources: &Sources,
    notes: &mut Notes,
) -> Option<AddonVersion> {
    let kubernetes = &stack.kubernetes;
    let newest = addon.matrix.first()?;
    let versions = Versions::new(addon, kubernetes, &stack.compatibility);
    let refused = match versions.newest() {
        Some(Ok(version)) => return Some(version.clone()),
        Some(Err(refused)) => Some(refused),
        None => None,
    };
    let served = |note: &mut Diagnostic| {
        if let Some(place) = sources.place(stack.kubernetes_origin) {
            note.related(format!("Kubernetes {kubernetes}"), place);
        }
    };
    if let Some(Refused::Forbidden(rule)) = refused {
        let row = versions.newest_in_range().unwrap_or(newest);
        let message = format!("{} (rule `{}`)", rule.deny, rule.name);
        let note = notes.error("incompatible", sources.place(row.version_origin), message);
        if let Some(place) = sources.place(rule.origin) {
            note.related("the rule", place);
        }
        served(note);
        if let Some(version) = &rule.upgrade_to {
            note.hint(format!("upgrade {} to {version}: add that version to its matrix", addon.name));
        } else {
            note.hint("add a version that the rule allows to the matrix");
        }
        return None;
    }
    let ranges: Vec<_> =
        addon.matrix.iter().map(|row| format!("{} takes {}", row.version, row.kubernetes)).collect();
    let message =
        format!("no version of `{}` works with Kubernetes {kubernetes}: {}", addon.name, ranges.join("; "));
    let note = notes.error("no-version", sources.place(newest.kubernetes_origin), message);
    served(note);
    note.hint(format!(
        "add a version that supports {} to the matrix, or remove this minor from stack.yaml",
        kubernetes.minor()
    ));
    None
}
