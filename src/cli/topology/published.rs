//! A cluster as it was published: in `generated/` at a git revision.

use crate::{
    cli::revision,
    compare::{self, DefinedState, GeneratedTree, WrittenCluster, is_paused},
    definition::{self, Identity},
    generate::{Failure, Understood},
    io::{disk::Workspace, git::Repository},
    model::{Cluster, ClusterId},
    note::{Notes, Place},
    partial::LeftOut,
    world::Snapshot,
    yaml::Node,
};

/// A cluster at a revision.
pub(super) struct Published {
    /// Its ID there. If it moved, another one than now.
    id: ClusterId,
    /// Its Cluster, in the namespace that it has now.
    pub(super) written: WrittenCluster,
}

impl Published {
    /// Whether the running cluster continues under the present ID. Cluster API can neither move nor rename a cluster, so only
    /// a paused one may be the same: `clusterctl move` moves its objects.
    pub(super) fn is_same_cluster(&self, cluster: &Cluster, now: &Node) -> bool {
        self.id == cluster.id() || is_paused(now)
    }

    /// What a comparison with a cluster that moved means.
    pub(super) fn caveat(&self, cluster: &Cluster, now: &Node) -> Option<String> {
        let (old, new) = (&self.id, cluster.id());
        if *old == new {
            None
        } else if self.is_same_cluster(cluster, now) {
            Some(format!(
                "git moves only files: the cluster keeps running in `{}` until its objects are moved to `{}`, and is paused \
                 there",
                old.management, new.management
            ))
        } else {
            Some(format!(
                "Cluster API cannot move or rename a cluster: it builds a new one, and `{}` keeps running, unmanaged",
                old.whole()
            ))
        }
    }
}

/// What a cluster is compared with.
pub(super) fn in_words(before: Option<&Published>, cluster: &Cluster, revision: &str) -> String {
    match before {
        None => format!("compared with {revision}, which does not have it"),
        Some(before) if before.id == cluster.id() => format!("compared with {revision}"),
        Some(before) => format!("compared with {revision}, where it was `{}`", before.id.whole()),
    }
}

/// Finds a cluster of the fleet at a revision; None if the revision does not have it.
pub(super) fn before(
    cluster: &Cluster,
    revision: &str,
    (fleet, left): (&Understood, &LeftOut),
    world: &Workspace,
    notes: &mut Notes,
) -> Result<Option<Published>, Failure> {
    let repository = Repository::discover(world)?;
    let given = format!("--against {revision}");
    let archive = revision::named(&repository, revision, &given, notes)?;
    let tree = GeneratedTree::new(&archive, std::slice::from_ref(&cluster.management));
    let now = DefinedState::new(&fleet.model, &fleet.releases).clusters_alone();
    let skipped = if left.has_definitions() { defined(world)? } else { Vec::new() };
    let Some(id) = compare::former_id(&tree, &now, &cluster.id(), |id| skipped.contains(id))? else {
        return Ok(None);
    };
    match compare::written_as(&tree, &id, &cluster.id(), &cluster.management)? {
        Ok(found) => Ok(found.map(|written| Published { id, written })),
        Err(unread) => {
            match unread.line {
                Some(line) => {
                    let path = format!("{revision}:{}", unread.path);
                    let place = Place { line, ..Place::file(&path) };
                    notes.error("unreadable", place, unread.message);
                }
                None => {
                    let class = unread.path.split('/').nth(2).unwrap_or_default();
                    notes
                        .error(
                            "no-class",
                            None,
                            format!("`{revision}` has the cluster, but not its class `{class}`"),
                        )
                        .hint("choose a revision with a complete `generated/`");
                }
            }
            Err(Failure::from(notes.halted()))
        }
    }
}

/// The clusters that have a definition, with errors or without.
fn defined(world: &Workspace) -> Result<Vec<ClusterId>, Failure> {
    let definitions = definition::parse(&Snapshot::read(world)?.input, &mut Notes::new());
    Ok(Identity::all(&definitions).iter().filter_map(Identity::id).collect())
}
