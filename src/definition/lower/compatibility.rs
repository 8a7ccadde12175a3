//! Compatibility rules: versions of addons that don't work.

use std::collections::BTreeMap;

use super::{addon::origin_at, addon_version, label, place_at, range};
use crate::{
    definition::{self as written, parse::Written},
    model::{CompatibilityRule, VersionRange},
    note::Notes,
};

/// Checks rules as a whole: rules with the same name, empty rules, and rules that recommend a version that they forbid.
pub(super) fn check(
    rules: &[written::CompatibilityRule],
    written: &Written<written::Stack>,
    notes: &mut Notes,
) {
    let mut names = BTreeMap::new();
    for (at, rule) in rules.iter().enumerate() {
        let index = at.to_string();
        let place = |key: &str| place_at(written, &["spec", "compatibility", &index, key]);
        for (key, text) in [("name", &rule.name), ("deny", &rule.deny)] {
            if text.trim().is_empty() {
                notes.error("no-reason", place(key), format!("a rule has an empty `{key}`")).hint(
                    "messages show the `name`, and `deny` explains the problem to the people whose run it stops",
                );
            }
        }
        if let Some(first) = names.insert(rule.name.as_str(), place("name")) {
            let message = format!("there are two rules `{}`", rule.name);
            notes
                .error("duplicate", place("name"), message)
                .hint("give each rule its own name: messages and release notes refer to it")
                .related("the other one", first);
        }
        let range = rule.when.version.as_deref().and_then(|text| VersionRange::parse(text).ok());
        let advice = rule
            .upgrade_to
            .as_deref()
            .and_then(|text| semver::Version::parse(text.trim_start_matches('v')).ok());
        if let (Some(range), Some(advice)) = (range, advice)
            && range.contains(&advice)
        {
            notes
                .error(
                    "rule",
                    place("upgradeTo"),
                    format!("the rule `{}` recommends {advice}, which it forbids itself", rule.name),
                )
                .hint("name a version outside `when.version`");
        }
    }
}

/// Lowers the rules of a stack or a frozen release.
pub(super) fn lower<T>(
    rules: &[written::CompatibilityRule],
    written: &Written<T>,
    notes: &mut Notes,
) -> Vec<CompatibilityRule> {
    let mut lowered = Vec::new();
    for (at, rule) in rules.iter().enumerate() {
        let at = at.to_string();
        let place = |path: &[&str]| place_at(written, &[&["spec", "compatibility", &at], path].concat());
        let addon = label(&rule.when.addon, "the addon", Some(place(&["when", "addon"])), notes);
        let mut read =
            |text: &Option<String>, key| text.as_ref().map(|text| range(text, place(&["when", key]), notes));
        let (version, kubernetes) =
            (read(&rule.when.version, "version"), read(&rule.when.kubernetes, "kubernetes"));
        let upgrade_to =
            rule.upgrade_to.as_ref().map(|text| addon_version(text, place(&["upgradeTo"]), notes));
        let sound = version != Some(None) && kubernetes != Some(None) && upgrade_to != Some(None);
        if let (Some(addon), true) = (addon, sound) {
            lowered.push(CompatibilityRule {
                name: rule.name.as_str().into(),
                addon,
                version: version.flatten(),
                kubernetes: kubernetes.flatten(),
                deny: rule.deny.as_str().into(),
                upgrade_to: upgrade_to.flatten().map(|version| version.as_semver().clone()),
                origin: origin_at(written, &["spec", "compatibility", &at, "name"]),
            });
        }
    }
    lowered.sort_by(|a, b| a.name.cmp(&b.name));
    lowered
}
