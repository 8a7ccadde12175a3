//! Lints for classes that Cluster API accepts but that do something unintended. Each lint is a file; one table lists them
//! all.
//!
//! Each trap was reproduced with Cluster API's own code. A stack allows a lint by name, with a reason (`spec.allow` in
//! `stack.yaml`). Most lints render the templates of the class with sample values that its schemas accept. What counts is
//! the result, not how a template is written.

mod autoscaler_in_class;
mod class;
mod cloud_init_syntax;
mod cluster_metadata_in_values;
mod condition_not_boolean;
mod early_health_check;
mod inline_file_may_grow;
mod integer_comparison;
mod label_may_grow;
mod large_number_in_text;
mod metadata_patch_rolls;
mod missing_value_in_text;
mod name_may_grow;
mod probe;
mod renders_empty;
mod topology_version;
mod version_like_text;

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use self::class::View;
pub(super) use self::class::items;
use super::secret_scan;
use crate::{
    definition::closest,
    model::{Allowance, StackId},
    release::Release,
    yaml::Origin,
};

#[derive(Debug)]
pub struct Lint {
    /// Its name, which is the code of its messages and the word to allow it.
    pub name: &'static str,
    /// What it finds, and the consequence.
    pub docs: &'static str,
    /// Runs the lint.
    find: fn(&View<'_>, &mut Vec<LintFinding>),
}

/// All lints, ordered by name.
pub static LINTS: [&Lint; 15] = [
    &autoscaler_in_class::LINT,
    &cloud_init_syntax::LINT,
    &cluster_metadata_in_values::LINT,
    &condition_not_boolean::LINT,
    &early_health_check::LINT,
    &inline_file_may_grow::LINT,
    &integer_comparison::LINT,
    &label_may_grow::LINT,
    &large_number_in_text::LINT,
    &metadata_patch_rolls::LINT,
    &missing_value_in_text::LINT,
    &name_may_grow::LINT,
    &renders_empty::LINT,
    &topology_version::LINT,
    &version_like_text::LINT,
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LintFinding {
    pub(super) lint: &'static str,
    pub(super) origin: Origin,
    pub(super) message: String,
    pub(super) hint: String,
}

/// The findings about the classes of a plan's head releases.
#[derive(Debug, Default)]
pub(super) struct Findings {
    by_release: BTreeMap<String, Vec<LintFinding>>,
    /// Faults of allowances, stored at the first release of each stack so that they are reported once.
    allowances: BTreeMap<String, Vec<BadAllowance>>,
}

/// An allowance that is invalid or not needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BadAllowance {
    pub(super) origin: Origin,
    pub(super) message: String,
    pub(super) hint: String,
    pub(super) error: bool,
}

impl Findings {
    /// Runs the lints on the classes of releases. `others` are releases of the same stacks, whose findings only show that
    /// allowances are needed.
    pub(super) fn of<'a>(
        releases: impl Iterator<Item = &'a Release>,
        others: impl Iterator<Item = &'a Release>,
        allowances: &BTreeMap<StackId, Vec<Allowance>>,
    ) -> Self {
        let mut findings = Self::default();
        let mut fired: BTreeMap<&StackId, BTreeSet<&'static str>> = BTreeMap::new();
        let mut first: BTreeMap<&StackId, &str> = BTreeMap::new();
        let releases: Vec<_> = releases.chain(others).collect();
        let found: Vec<_> = releases.par_iter().map(|release| find(release)).collect();
        for (release, mut found) in releases.into_iter().zip(found) {
            let allowed = allowances.get(&release.stack).map_or(&[][..], Vec::as_slice);
            found.retain(|one| {
                fired.entry(&release.stack).or_default().insert(one.lint);
                !allowed.iter().any(|allowance| *allowance.rule == *one.lint)
            });
            findings.by_release.insert(release.name.clone(), found);
            first.entry(&release.stack).or_insert(&release.name);
        }
        for (stack, release) in first {
            let allowed = allowances.get(stack).map_or(&[][..], Vec::as_slice);
            let found = fired.remove(stack).unwrap_or_default();
            let wrong = allowed.iter().filter_map(|allowance| wrong(allowance, &found)).collect();
            findings.allowances.insert(release.to_owned(), wrong);
        }
        findings
    }

    /// The findings about a release.
    pub(super) fn found(&self, release: &Release) -> &[LintFinding] {
        self.by_release.get(&release.name).map_or(&[], Vec::as_slice)
    }

    /// The faults of the allowances of a release's stack.
    pub(super) fn wrong(&self, release: &Release) -> &[BadAllowance] {
        self.allowances.get(&release.name).map_or(&[], Vec::as_slice)
    }
}

fn find(release: &Release) -> Vec<LintFinding> {
    let mut found = Vec::new();
    if let Some(view) = View::of(&release.objects) {
        for lint in LINTS {
            (lint.find)(&view, &mut found);
        }
    }
    found
}

fn wrong(allowance: &Allowance, fired: &BTreeSet<&'static str>) -> Option<BadAllowance> {
    // Allowances for secrets are not lints; `secret_scan::allow` checks them.
    if secret_scan::is_name(&allowance.rule) {
        return None;
    }
    let names = || LINTS.iter().map(|lint| lint.name);
    let (origin, rule) = (allowance.origin, &*allowance.rule);
    if !names().any(|name| name == rule) {
        let hint = match closest(rule, names()) {
            Some(similar) => format!("did you mean `{similar}`?"),
            None => format!("available: {}", names().collect::<Vec<_>>().join(", ")),
        };
        let message = format!("there is no lint `{rule}` to allow");
        return Some(BadAllowance { origin, message, hint, error: true });
    }
    (!fired.contains(rule)).then(|| BadAllowance {
        origin,
        message: format!("`{rule}` is allowed, but nothing in the stack needs it"),
        hint: "remove it, so that the lint reports the next case".to_owned(),
        error: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order_and_says_what_each_lint_is_for() {
        let names: Vec<_> = LINTS.iter().map(|lint| lint.name).collect();
        assert!(names.is_sorted(), "{names:?}");
        assert!(LINTS.iter().all(|lint| lint.docs.len() > 40));
    }
}
