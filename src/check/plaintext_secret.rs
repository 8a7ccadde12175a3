//! Reports plaintext secrets in generated files and their sources, as [`super::secret_scan`] finds them.
//! `unencrypted-secret` does the same for the `.d` folders.

use super::{Check, Finder, Rule, secret_scan};
use crate::{
    note::Notes,
    plan::ClusterPlan,
    release::Release,
    render::Drawn,
    world::is_yaml,
    yaml::{Node, Source},
};

pub(super) static RULE: Rule = Rule {
    name: "plaintext-secret",
    docs: "A file contains a credential that anyone who can read the repository could use: a Secret with data, a private \
           key, a known kind of token, an address with a password, or a value under a key such as `password`, encoded or \
           not. Refer to a Secret instead, one that SOPS, External Secrets or a similar tool creates, with `valuesFrom` or \
           an identity reference. `stack.yaml` or the definition can allow a false alarm by name.",
    check: Check::Objects(check),
};

/// The same rule for the files of a stack.
pub(super) static OF_STACK: Rule = Rule { check: Check::Release(check_stack), ..RULE };
/// The same rule for a cluster's definition.
pub(super) static OF_CLUSTER: Rule = Rule { check: Check::Cluster(check_cluster), ..RULE };

fn check(drawn: &Drawn, finder: &mut Finder<'_>) {
    let allowed = drawn.objects.iter().any(|object| {
        object.node.get("kind").and_then(Node::as_str) == Some("Cluster")
            && secret_scan::is_allowed(&object.node)
    });
    if allowed {
        return;
    }
    let drawn_objects =
        drawn.objects.iter().chain(&drawn.embedded).map(|object| (&*object.source, &object.node));
    let values = drawn.values_files.iter().map(|file| (&*file.source, &file.values));
    for (source, object) in
        drawn_objects.chain(values).chain(drawn.frozen.iter().map(|object| ("the cluster class", object)))
    {
        for (node, found) in secret_scan::in_object(source, object, &|_| false) {
            secret_scan::tell_node(source, node, &found, finder);
        }
    }
}

/// Checks all files of a stack: they are frozen into its releases even if no cluster renders them.
fn check_stack(release: &Release, finder: &mut Finder<'_>) {
    let texts = finder.texts;
    let folder = format!("stacks/{}", release.stack);
    secret_scan::allowance_faults(&format!("{folder}/stack.yaml"), finder);
    texts.sources.below(&folder).for_each(|source| look_at(source, finder));
}

fn check_cluster(plan: &ClusterPlan, drawn: &Node, finder: &mut Finder<'_>) {
    let texts = finder.texts;
    secret_scan::allowance_faults(&plan.cluster.file, finder);
    if !secret_scan::is_allowed(drawn) {
        texts.sources.at(&plan.cluster.file).into_iter().for_each(|source| look_at(source, finder));
    }
}

/// Checks the sources that belong neither to a stack nor to a single cluster.
pub(super) fn check_shared(finder: &mut Finder<'_>) {
    let texts = finder.texts;
    secret_scan::allowance_faults(secret_scan::FLEET, finder);
    for source in texts.sources.iter() {
        let shared = [secret_scan::FLEET, crate::world::LOCK].contains(&&*source.path)
            || source.path.starts_with("rollouts/")
            || source.path.starts_with("clusters/")
                && is_yaml(&source.path)
                && source.path.rsplit('/').next().is_some_and(|name| name.starts_with("_defaults."));
        if shared {
            look_at(source, finder);
        }
    }
}

fn look_at(source: &Source, finder: &mut Finder<'_>) {
    // Parse errors were already reported.
    for spot in secret_scan::in_file(source, &mut Notes::new()) {
        secret_scan::tell(RULE.name, spot.place, &spot.found, finder);
    }
}
