//! Model to resolution: every version exact, and combinations that do not work refused with the way out.

use std::collections::BTreeMap;

use crate::{
    definition::{Model, StackTemplate},
    model::{Addon, AddonVersion, CompatibilityRule, KubernetesVersion, Lock, Minor, Stack, StackId},
    note::{Halted, Notes, Place},
};

/// Every stack of a fleet for every Kubernetes minor that it serves, with exact versions.
#[derive(Clone, Debug)]
pub struct Resolution<'a> {
    /// By stack and minor.
    pub stacks: BTreeMap<(StackId, Minor), ResolvedStack<'a>>,
    /// What comes from elsewhere, and which bytes it was.
    pub lock: &'a Lock,
}

/// A stack for one minor, with the version of each addon.
#[derive(Clone, Debug)]
pub struct ResolvedStack<'a> {
    /// What was resolved.
    pub stack: &'a Stack<StackTemplate>,
    /// The version of each addon, in the order of the stack's addons; none for manifests without versions.
    pub versions: Vec<Option<AddonVersion>>,
}

/// Chooses every version.
pub fn resolve<'a>(model: &'a Model, notes: &mut Notes) -> Result<Resolution<'a>, Halted> {
    let mut stacks = BTreeMap::new();
    for (key, stack) in &model.stacks {
        let versions = stack.addons.iter().map(|(addon, ..)| choose(addon, stack, notes)).collect();
        stacks.insert(key.clone(), ResolvedStack { stack, versions });
    }
    notes.halt(Resolution { stacks, lock: &model.lock })
}

/// The newest version whose range holds the stack's Kubernetes version, and that no rule forbids.
fn choose(addon: &Addon, stack: &Stack<StackTemplate>, notes: &mut Notes) -> Option<AddonVersion> {
    let kubernetes = &stack.kubernetes;
    let fitting = || addon.matrix.iter().filter(|row| row.kubernetes.contains(kubernetes.as_semver()));
    let file = Place::file(format!("stacks/{}/addons/{}/addon.yaml", stack.id, addon.name));
    if addon.matrix.is_empty() {
        return None;
    }
    if fitting().next().is_none() {
        let ranges: Vec<_> =
            addon.matrix.iter().map(|row| format!("{} takes {}", row.version, row.kubernetes)).collect();
        notes
            .error(
                "no-version",
                file,
                format!(
                    "no version of `{}` works with Kubernetes {kubernetes}: {}",
                    addon.name,
                    ranges.join("; ")
                ),
            )
            .hint(format!(
                "add a version that takes {} to the matrix, or take that minor out of stack.yaml",
                kubernetes.minor()
            ));
        return None;
    }
    let found = fitting()
        .find(|row| forbidden(addon, Some(&row.version), kubernetes, &stack.compatibility).is_none());
    if found.is_none() {
        let newest = fitting().next().map(|row| &row.version);
        if let Some(rule) = forbidden(addon, newest, kubernetes, &stack.compatibility) {
            let note = notes.error("incompatible", file, format!("{} (rule `{}`)", rule.deny, rule.name));
            if let Some(version) = &rule.upgrade_to {
                note.hint(format!("upgrade {} to {version}: add that version to its matrix", addon.name));
            } else {
                note.hint("add a version that the rule allows to the matrix");
            }
        }
    }
    found.map(|row| row.version.clone())
}

/// The rule that forbids a version of an addon on a Kubernetes version.
pub fn forbidden<'a>(
    addon: &Addon,
    version: Option<&AddonVersion>,
    kubernetes: &KubernetesVersion,
    rules: &'a [CompatibilityRule],
) -> Option<&'a CompatibilityRule> {
    rules.iter().find(|rule| {
        rule.addon == addon.name && rule.forbids(version.map(AddonVersion::as_semver), kubernetes)
    })
}
