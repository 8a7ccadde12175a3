//! Finds encrypted files next to a cluster that nothing would decrypt.

use super::{Check, Finder, Rule, kustomize_folder, secret_scan};
use crate::{note::Place, plan::ClusterPlan, render, yaml::Node};

pub(super) static RULE: Rule = Rule {
    name: "undecrypted-secret",
    docs: "A file in a `<cluster>.d/` folder is encrypted with SOPS, and the engine of the management cluster does not decrypt it. \
           The engine would apply the encrypted text, or fail.",
    check: Check::Cluster(check),
};

fn check(plan: &ClusterPlan, _cluster: &Node, finder: &mut Finder<'_>) {
    let management = &plan.cluster.management;
    let Some(advice) = render::decryption_missing(management) else { return };
    let folder = kustomize_folder::folder(&plan.cluster.file);
    for source in finder.texts.beside.below(&folder) {
        if !secret_scan::is_encrypted_file(&source.text) {
            continue;
        }
        let message = format!(
            "the file is encrypted with SOPS, and nothing decrypts it in the management cluster `{}`",
            management.name
        );
        finder.notes.error(RULE.name, Some(Place::file(&*source.path)), message).hint(advice);
    }
}
