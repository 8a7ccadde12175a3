//! Which templates of a release read a variable of a cluster. A changed default reaches what they make.

use super::{Effect, Release};
use crate::{definition::StackTemplate, template::Template};

/// What a changed default of a variable does beside the class, each with why: addons whose values or manifests read it,
/// and objects of `namespace/` and `cluster/`, of which it cannot be said what their change does.
pub(super) fn readers(release: &Release, variable: &str) -> Vec<(Effect, String)> {
    let reads = |one: &StackTemplate| reads(&one.template, variable);
    let why = |what: &str| format!("{what}: it reads the variable `{variable}`, whose default changes");
    let addons = release.addons.iter().filter(|one| one.values.iter().chain(&one.manifests).any(reads));
    let addons = addons.map(|one| (Effect::AddonsChanged, why(one.addon.name.as_str())));
    let beside = release.namespace.iter().chain(&release.cluster).filter(|one| reads(one));
    addons.chain(beside.map(|one| (Effect::Unknown, why(&one.path)))).collect()
}

/// Whether a template may read a variable: where it takes the variables as a whole, it may read any.
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
