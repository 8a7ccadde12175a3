//! The choice of addon versions for clusters and stacks, and the rules that refuse a version. Plans of upgrades
//! (`upgrade::addon`) search among several releases at once, and ask here what each of them refuses.

use crate::model::{Addon, AddonVersion, CompatibilityRule, KubernetesVersion, Requirement, VersionRange};

/// The versions that an addon can have with a Kubernetes version.
#[derive(Clone, Copy, Debug)]
pub struct Versions<'a> {
    addon: &'a Addon,
    kubernetes: &'a KubernetesVersion,
    rules: &'a [CompatibilityRule],
}

/// Why an addon can't have a version.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Refused<'a> {
    /// The matrix doesn't list it.
    Unlisted,
    /// The matrix lists it for other Kubernetes versions.
    OutOfRange(&'a Requirement),
    /// A rule forbids it.
    Forbidden(&'a CompatibilityRule),
}

impl<'a> Versions<'a> {
    /// Sets up the choice for an addon.
    pub fn new(addon: &'a Addon, kubernetes: &'a KubernetesVersion, rules: &'a [CompatibilityRule]) -> Self {
        Self { addon, kubernetes, rules }
    }

    /// The newest row of the matrix that works with the Kubernetes version, even if a rule forbids it.
    pub fn newest_in_range(&self) -> Option<&'a Requirement> {
        self.addon.matrix.iter().find(|row| row.takes(self.kubernetes))
    }

    /// The rows of the matrix that work with the Kubernetes version and that no rule forbids, newest first.
    pub fn allowed(self) -> impl Iterator<Item = &'a Requirement> {
        let fitting = self.addon.matrix.iter().filter(move |row| row.takes(self.kubernetes));
        fitting.filter(move |row| self.forbidden(Some(&row.version)).is_none())
    }

    /// The newest version that works with the Kubernetes version and that no rule forbids. If rules forbid all of them, the
    /// error says why the newest one is forbidden. None if the matrix has no version that works.
    pub fn newest(&self) -> Option<Result<&'a AddonVersion, Refused<'a>>> {
        let first = self.newest_in_range()?;
        Some(match (self.allowed().next(), self.forbidden(Some(&first.version))) {
            (None, Some(rule)) => Err(Refused::Forbidden(rule)),
            (found, _) => Ok(&found.unwrap_or(first).version),
        })
    }

    /// Checks a requested version, and returns it as the matrix spells it. With a reason, the version need not be in the
    /// matrix or in range. A version that a rule forbids is always rejected.
    pub fn asked(
        &self,
        version: &'a AddonVersion,
        has_reason: bool,
    ) -> Result<&'a AddonVersion, Refused<'a>> {
        let row = self.addon.row(version);
        match row {
            None if !has_reason => return Err(Refused::Unlisted),
            Some(row) if !has_reason && !row.takes(self.kubernetes) => return Err(Refused::OutOfRange(row)),
            _ => {}
        }
        match self.forbidden(Some(version)) {
            Some(rule) => Err(Refused::Forbidden(rule)),
            // The matrix has the spelling of the chart's version.
            None => Ok(row.map_or(version, |row| &row.version)),
        }
    }

    /// Reports whether the matrix lists a version for this Kubernetes version.
    pub fn lists(&self, version: &AddonVersion) -> bool {
        self.addon.row(version).is_some_and(|row| row.takes(self.kubernetes))
    }

    /// The rule that forbids a version, or manifests without versions.
    pub fn forbidden(&self, version: Option<&AddonVersion>) -> Option<&'a CompatibilityRule> {
        let version = version.map(AddonVersion::as_semver);
        self.rules.iter().find(|rule| rule.forbids(self.addon.name.as_str(), version, self.kubernetes))
    }
}

/// The Kubernetes versions that a chart supports by its own `kubeVersion`, if they exclude this one: Helm then refuses to
/// install it.
pub fn excluded_by_chart(
    supported: Option<VersionRange>,
    kubernetes: &KubernetesVersion,
) -> Option<VersionRange> {
    supported.filter(|range| !range.contains(kubernetes.as_semver()))
}
