//! Refuses changes of a running Cluster that Cluster API refuses or that machines cannot follow. Compares the Cluster in the
//! tree with its replacement. The topology library judges versions.

use crate::{
    compare::ClusterFacts,
    knowledge,
    note::{About, Notes, Place},
    topology::{VersionRefusal, version_refusal},
    tree::{PartId, TreePath},
};

/// Judges the Cluster of a file before and after a run. `plans_upgrades` is whether its new class plans upgrades over several
/// minor versions.
pub(super) fn judge(
    path: &TreePath,
    part: &PartId,
    old: &ClusterFacts,
    new: &ClusterFacts,
    plans_upgrades: bool,
    notes: &mut Notes,
) {
    let PartId::Cluster { namespace, cluster, .. } = part else { return };
    if let (Some(before), Some(after)) = (old.provider(), new.provider())
        && before != after
    {
        notes
            .error(
                "replaced",
                Place::file(path.as_str()),
                format!("the cluster `{namespace}/{cluster}` would switch from the provider `{before}` to `{after}`, but its machines cannot be moved"),
            )
            .about(About::Release)
            .hint(format!("define a cluster with another name for `{after}`, move the workloads, then remove this cluster: `stackloom remove {cluster} --reason …`"))
            .hint(undone(path));
        // Versions of different providers cannot be compared.
        return;
    }
    if !new.any_version {
        judge_version(path, part, (old, new), plans_upgrades, notes);
    }
}

/// Reports a version that the webhook of Cluster API refuses.
fn judge_version(
    path: &TreePath,
    part: &PartId,
    (old, new): (&ClusterFacts, &ClusterFacts),
    plans_upgrades: bool,
    notes: &mut Notes,
) {
    let PartId::Cluster { namespace, cluster, .. } = part else { return };
    let texts =
        (old.kubernetes.as_deref().unwrap_or_default(), new.kubernetes.as_deref().unwrap_or_default());
    let Some(refusal) = version_refusal(texts.0, texts.1, plans_upgrades) else { return };
    let (Some(before), Some(after)) = (old.version(), new.version()) else { return };
    let place = Place::file(path.as_str());
    match refusal {
        VersionRefusal::Decreased => notes
            .error(
                "replaced",
                place,
                format!("the cluster `{namespace}/{cluster}` would be downgraded from Kubernetes {before} to {after}: Cluster API refuses that"),
            )
            .about(if after.minor() == before.minor() { About::Patch(after.to_string()) } else { About::Kubernetes })
            .hint(format!("choose a release with Kubernetes {before} or later: a control plane cannot be downgraded")),
        VersionRefusal::SkipsMinor => {
            let between = format!("{}.{}", before.minor().major, before.minor().minor + knowledge::control_plane_step());
            notes
                .error(
                    "replaced",
                    place,
                    format!("the cluster `{namespace}/{cluster}` would be upgraded from Kubernetes {before} to {after}, which skips a minor version"),
                )
                .about(About::Kubernetes)
                .hint(format!("upgrade to a release with Kubernetes {between} first, and continue once all machines run it"))
        }
    }
    .hint(undone(path));
}

fn undone(path: &TreePath) -> String {
    format!(
        "if the generated file was never applied, restore and commit the applied one first: `git checkout <commit> -- {path} && git commit -- {path}`"
    )
}
