//! Finds the templates of a release that read a variable of a cluster. A changed default affects their output.

use super::RebaseEffect;
use crate::{definition::StackTemplate, release::Release, template::Template};

/// The effects of a changed variable default outside the class, each with its reason. Addons are affected if their values or
/// manifests read the variable. For objects of `namespace/` and `cluster/`, the effect of a change is unknown.
pub(super) fn readers(release: &Release, variable: &str) -> Vec<(RebaseEffect, String)> {
    let reads = |one: &StackTemplate| reads(&one.template, variable);
    let why = |what: &str| format!("{what}: it reads the variable `{variable}`, whose default changes");
    let addons = release.addons.iter().filter(|one| one.values.iter().chain(&one.manifests).any(reads));
    let addons = addons.map(|one| (RebaseEffect::AddonsChanged, why(one.addon.name.as_str())));
    let beside = release.namespace.iter().chain(&release.cluster).filter(|one| reads(one));
    addons.chain(beside.map(|one| (RebaseEffect::Unknown, why(&one.path)))).collect()
}

/// Reports whether a template may read a variable. A template that uses all variables as a whole may read any of them.
fn reads(template: &Template, variable: &str) -> bool {
    let text = template.canonical();
    text.match_indices("variables").any(|(at, word)| {
        let (before, after) = (&text[..at], &text[at + word.len()..]);
        if !before.ends_with(['.', '"', '\'']) {
            return false;
        }
        let after = after.trim_start_matches(['"', '\'', '\\', ']']);
        let name = after.strip_prefix('.').or_else(|| after.strip_prefix('['));
        let Some(name) = name.map(|name| name.trim_start_matches(['"', '\'', '\\'])) else { return true };
        let end = name.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '-').unwrap_or(name.len());
        name[..end].is_empty() || &name[..end] == variable
    })
}
