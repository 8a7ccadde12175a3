//! Resolves a model: chooses exact versions, and rejects combinations that don't work, with a hint to a solution.

mod versions;

use std::collections::BTreeMap;

use crate::{
    definition::{Model, StackTemplate},
    model::{Addon, AddonVersion, KubernetesVersion, Minor, Stack, StackId},
    note::{Halted, Notes, in_words},
    yaml::Origin,
};

pub use versions::{Refused, Versions, excluded_by_chart};

/// The exact versions of the addons of every stack, for every Kubernetes minor that it serves.
#[derive(Clone, Debug)]
pub struct Resolution {
    versions: BTreeMap<StackKey, Vec<Option<AddonVersion>>>,
}

/// A stack for one minor, with the version of each addon.
#[derive(Clone, Copy, Debug)]
pub struct ResolvedStack<'a> {
    pub stack: &'a Stack<StackTemplate>,
    /// The version of each addon, in the order of the stack's addons; none for manifests without versions.
    pub versions: &'a [Option<AddonVersion>],
}

/// A stack and one of its minors.
pub type StackKey = (StackId, Minor);

impl Resolution {
    /// Every stack for every minor, with its versions. `model` is the model that was resolved.
    pub fn stacks<'a>(&'a self, model: &'a Model) -> impl Iterator<Item = (&'a StackKey, ResolvedStack<'a>)> {
        self.versions.iter().filter_map(|(key, versions)| {
            let stack = model.stacks.get(key)?;
            Some((key, ResolvedStack { stack, versions }))
        })
    }
}

/// Chooses every version.
pub fn resolve(model: &Model, notes: &mut Notes) -> Result<Resolution, Halted> {
    let (mut chosen, mut unfit) = (BTreeMap::new(), Unfit::new());
    for (key, stack) in &model.stacks {
        let mut choose = |addon| choose(addon, stack, &mut unfit, notes);
        let versions = stack.addons.iter().map(|(addon, ..)| choose(addon)).collect();
        chosen.insert(key.clone(), versions);
    }
    report(&unfit, notes);
    notes.halt(Resolution { versions: chosen })
}

/// Matrices without a fitting version, by place and message, with the Kubernetes versions of the stack that they do not fit.
type Unfit<'a> = BTreeMap<(Origin, String, &'a str), Vec<(&'a KubernetesVersion, Origin)>>;

/// Chooses the newest version that works with the stack's Kubernetes version and that no rule forbids.
fn choose<'a>(
    addon: &'a Addon,
    stack: &'a Stack<StackTemplate>,
    unfit: &mut Unfit<'a>,
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
    if let Some(Refused::Forbidden(rule)) = refused {
        let row = versions.newest_in_range().unwrap_or(newest);
        let message = format!("{} (rule `{}`)", rule.deny, rule.name);
        let note = notes.error("incompatible", row.version_origin, message);
        note.related("the rule", rule.origin);
        note.related(format!("Kubernetes {kubernetes}"), stack.kubernetes_origin);
        if let Some(version) = &rule.upgrade_to {
            note.hint(format!("upgrade {} to {version}: add that version to its matrix", addon.name));
        } else {
            note.hint("add a version that the rule allows to the matrix");
        }
        return None;
    }
    let ranges: Vec<_> =
        addon.matrix.iter().map(|row| format!("{} takes {}", row.version, row.kubernetes)).collect();
    let key = (newest.kubernetes_origin, ranges.join("; "), addon.name.as_str());
    unfit.entry(key).or_default().push((kubernetes, stack.kubernetes_origin));
    None
}

/// Reports each matrix once, however many minors it does not fit.
fn report(unfit: &Unfit<'_>, notes: &mut Notes) {
    for ((origin, ranges, addon), versions) in unfit {
        let served: Vec<_> = versions.iter().map(|(version, _)| version.to_string()).collect();
        let served = in_words(&served, "or");
        let message = format!("no version of `{addon}` works with Kubernetes {served}: {ranges}");
        let note = notes.error("no-version", *origin, message);
        for (version, origin) in versions {
            note.related(format!("Kubernetes {version}"), *origin);
        }
        let minors: Vec<_> = versions.iter().map(|(version, _)| version.minor().to_string()).collect();
        let minors = in_words(&minors, "and");
        note.hint(if versions.len() == 1 {
            format!(
                "add a version that supports {minors} to the matrix, or remove this minor from stack.yaml"
            )
        } else {
            format!(
                "add versions that support {minors} to the matrix, or remove these minors from stack.yaml"
            )
        });
    }
}
