//! Changes that a run must not make to a running Cluster, because Cluster API refuses them or machines cannot follow them.
//! It compares the Cluster in the tree with the one that would replace it.

use crate::{
    model::KubernetesVersion,
    note::{Notes, Place},
    tree::{PartId, TreePath},
    yaml::Node,
};

/// What a Cluster says of its Kubernetes version and its class.
struct State {
    version: Option<KubernetesVersion>,
    class: Option<String>,
}

impl State {
    fn of(cluster: &Node) -> Self {
        let said = |path: &[&str]| cluster.at(path).and_then(Node::as_str).map(str::to_owned);
        let version = said(&["spec", "topology", "version"]);
        Self {
            version: version
                .and_then(|text| KubernetesVersion::parse(text.strip_prefix('v').unwrap_or(&text)).ok()),
            class: said(&["spec", "topology", "classRef", "name"]),
        }
    }

    /// The infrastructure provider: the name of a class is that of its release, which begins with it.
    fn provider(&self) -> Option<&str> {
        Some(self.class.as_deref()?.split_once('-')?.0)
    }
}

/// Looks at the Cluster of a file before and after a run.
pub(super) fn judge(path: &TreePath, part: &PartId, old: &Node, new: &Node, notes: &mut Notes) {
    let PartId::Cluster { namespace, cluster, .. } = part else { return };
    let (old, new) = (State::of(old), State::of(new));
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
            .hint(format!("define a cluster with another name for `{after}`, move the workloads, then remove this cluster: `stackloom remove {cluster} --reason …`"))
            .hint(undone());
        // Versions of two providers are not those of one cluster.
        return;
    }
    let (Some(before), Some(after)) = (&old.version, &new.version) else { return };
    if after < before {
        notes
            .error(
                "replaced",
                Place::file(path.as_str()),
                format!("the cluster `{namespace}/{cluster}` would be downgraded from Kubernetes {before} to {after}: Cluster API refuses that"),
            )
            .hint(format!("choose a release with Kubernetes {before} or later: a control plane cannot be downgraded"))
            .hint(undone());
    } else if (after.minor().major, after.minor().minor) > (before.minor().major, before.minor().minor + 1) {
        let between = format!("{}.{}", before.minor().major, before.minor().minor + 1);
        notes
            .error(
                "replaced",
                Place::file(path.as_str()),
                format!("the cluster `{namespace}/{cluster}` would be upgraded from Kubernetes {before} to {after}, which skips a minor version"),
            )
            .hint(format!("upgrade to a release with Kubernetes {between} first, and continue once all machines run it"))
            .hint(undone());
    }
}
