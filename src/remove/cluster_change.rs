//! Refuses changes of a running Cluster that Cluster API refuses or that machines cannot follow. Compares the Cluster in the
//! tree with its replacement.

use crate::{
    compare::ClusterFacts,
    knowledge,
    note::{About, Notes, Place},
    tree::{PartId, TreePath},
};

/// Judges the Cluster of a file before and after a run.
pub(super) fn judge(
    path: &TreePath,
    part: &PartId,
    old: &ClusterFacts,
    new: &ClusterFacts,
    notes: &mut Notes,
) {
    let PartId::Cluster { namespace, cluster, .. } = part else { return };
    let undone = || {
        format!(
            "if the generated file was never applied, restore and commit the applied one first: `git checkout <commit> -- {path} && git commit -- {path}`"
        )
    };
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
            .hint(undone());
        // Versions of different providers cannot be compared.
        return;
    }
    let (Some(before), Some(after)) = (old.version(), new.version()) else { return };
    let step = knowledge::control_plane_step();
    if after < before {
        notes
            .error(
                "replaced",
                Place::file(path.as_str()),
                format!("the cluster `{namespace}/{cluster}` would be downgraded from Kubernetes {before} to {after}: Cluster API refuses that"),
            )
            .about(if after.minor() == before.minor() { About::Patch(after.to_string()) } else { About::Kubernetes })
            .hint(format!("choose a release with Kubernetes {before} or later: a control plane cannot be downgraded"))
            .hint(undone());
    } else if (after.minor().major, after.minor().minor) > (before.minor().major, before.minor().minor + step)
    {
        let between = format!("{}.{}", before.minor().major, before.minor().minor + step);
        notes
            .error(
                "replaced",
                Place::file(path.as_str()),
                format!("the cluster `{namespace}/{cluster}` would be upgraded from Kubernetes {before} to {after}, which skips a minor version"),
            )
            .about(About::Kubernetes)
            .hint(format!("upgrade to a release with Kubernetes {between} first, and continue once all machines run it"))
            .hint(undone());
    }
}
