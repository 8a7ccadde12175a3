//! Finds encrypted files that nothing would decrypt: next to a cluster, or in a stack.

use super::{Check, Finder, Rule, kustomize_folder, secret_scan};
use crate::{note::Place, plan::ClusterPlan, release::Release, render, yaml::Node};

pub(super) static RULE: Rule = Rule {
    name: "undecrypted-secret",
    docs: "A file in a `<cluster>.d/` folder is encrypted with SOPS, and the engine of the management cluster does not decrypt it. \
           The engine would apply the encrypted text, or fail. Files of a stack are templates, and what is rendered from them \
           is never decrypted.",
    check: Check::Cluster(check),
};

/// The same rule for the files of a stack.
pub(super) static OF_STACK: Rule = Rule { check: Check::Release(check_stack), ..RULE };

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

fn check_stack(release: &Release, finder: &mut Finder<'_>) {
    let texts = finder.texts;
    for source in texts.sources.below(&format!("stacks/{}", release.stack)) {
        if secret_scan::is_encrypted_file(&source.text) {
            let message = "the file is encrypted with SOPS, and nothing decrypts what is generated from the files of a stack";
            finder
                .notes
                .error(RULE.name, Some(Place::file(&*source.path)), message)
                .hint("put the Secret into the `.d` folders of clusters, or let External Secrets create it, and refer to it");
        }
    }
}
