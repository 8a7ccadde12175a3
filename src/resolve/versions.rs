//! Which version of an addon a cluster or a stack gets. Nothing else chooses one, or says why one does not fit.

use crate::model::{Addon, AddonVersion, CompatibilityRule, KubernetesVersion, Requirement};

/// The versions that an addon may have with a version of Kubernetes.
#[derive(Clone, Copy, Debug)]
pub struct Versions<'a> {
    addon: &'a Addon,
    kubernetes: &'a KubernetesVersion,
    rules: &'a [CompatibilityRule],
}

/// Why an addon cannot have a version.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Refused<'a> {
    /// The matrix does not have it.
    Unlisted,
    /// The matrix has it for other versions of Kubernetes.
    OutOfRange(&'a Requirement),
    /// A rule forbids it.
    Forbidden(&'a CompatibilityRule),
}

impl<'a> Versions<'a> {
    /// The versions of an addon.
    pub fn new(addon: &'a Addon, kubernetes: &'a KubernetesVersion, rules: &'a [CompatibilityRule]) -> Self {
        Self { addon, kubernetes, rules }
    }

    /// The newest row of the matrix that works with Kubernetes, whatever rules say.
    pub fn newest_in_range(&self) -> Option<&'a Requirement> {
        self.addon.matrix.iter().find(|row| self.is_in_range(row))
    }

    /// The newest version that works with Kubernetes and that no rule forbids; else why the newest one that works is not
    /// it. None if the matrix has none that works.
    pub fn newest(&self) -> Option<Result<&'a AddonVersion, Refused<'a>>> {
        let mut fitting = self.addon.matrix.iter().filter(|row| self.is_in_range(row));
        let first = fitting.clone().next()?;
        let allowed = fitting.find(|row| self.forbidden(&row.version).is_none());
        Some(match (allowed, self.forbidden(&first.version)) {
            (None, Some(rule)) => Err(Refused::Forbidden(rule)),
            (found, _) => Ok(&found.unwrap_or(first).version),
        })
    }

    /// A version that somebody asks for, as the matrix spells it. One that does not fit can be had with a reason, but not
    /// one that a rule forbids.
    pub fn asked(
        &self,
        version: &'a AddonVersion,
        has_reason: bool,
    ) -> Result<&'a AddonVersion, Refused<'a>> {
        let row = self.row(version);
        match row {
            None if !has_reason => return Err(Refused::Unlisted),
            Some(row) if !has_reason && !self.is_in_range(row) => return Err(Refused::OutOfRange(row)),
            _ => {}
        }
        match self.forbidden(version) {
            Some(rule) => Err(Refused::Forbidden(rule)),
            // The matrix knows how its chart spells it.
            None => Ok(row.map_or(version, |row| &row.version)),
        }
    }

    /// Whether the matrix has a version, and that works with Kubernetes.
    pub fn lists(&self, version: &AddonVersion) -> bool {
        self.row(version).is_some_and(|row| self.is_in_range(row))
    }

    fn row(&self, version: &AddonVersion) -> Option<&'a Requirement> {
        self.addon.matrix.iter().find(|row| row.version.is_same(version))
    }

    /// The rule that forbids a version.
    fn forbidden(&self, version: &AddonVersion) -> Option<&'a CompatibilityRule> {
        let is_it = |rule: &&CompatibilityRule| {
            rule.addon == self.addon.name && rule.forbids(Some(version.as_semver()), self.kubernetes)
        };
        self.rules.iter().find(is_it)
    }

    fn is_in_range(&self, row: &Requirement) -> bool {
        row.kubernetes.contains(self.kubernetes.as_semver())
    }
}
