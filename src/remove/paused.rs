//! Refuses to delete what an annotation pauses: Cluster API would not act on it, and its machines would stay.

use super::Finder;
use crate::{
    model::{Cluster, PAUSED},
    note::Notes,
    yaml::{Mapping, Origin},
};

/// Something that an annotation pauses, with the place of the annotation.
pub(super) type Paused = (String, Origin);

/// What the annotations of a cluster and its parts pause.
pub(super) fn all(cluster: &Cluster) -> Vec<Paused> {
    let own =
        [("the cluster", &cluster.annotations), ("the control plane", &cluster.control_plane.annotations)];
    let own = own.into_iter().filter_map(|(what, annotations)| of(what.to_owned(), annotations));
    own.chain(cluster.node_pools.iter().filter_map(|pool| of(words(&pool.name), &pool.annotations))).collect()
}

/// What prevents the deletion of a pool.
pub(super) fn of_pool(cluster: &Cluster, name: &str) -> Vec<Paused> {
    let pool = cluster.node_pools.iter().filter(|pool| pool.name.as_str() == name);
    let own = of("the cluster".to_owned(), &cluster.annotations);
    own.into_iter().chain(pool.filter_map(|pool| of(words(&pool.name), &pool.annotations))).collect()
}

fn words(pool: impl std::fmt::Display) -> String {
    format!("the node pool `{pool}`")
}

fn of(what: String, annotations: &Mapping) -> Option<Paused> {
    Some((what, annotations.entry(PAUSED)?.key.origin))
}

impl Finder<'_> {
    pub(super) fn refuse_paused(&self, paused: &[Paused], notes: &mut Notes) -> Option<()> {
        for (what, origin) in paused {
            let message =
                format!("{what} is paused by the annotation `{PAUSED}`, so its machines would stay");
            notes.error("removal", self.input.sources.place(*origin), message).hint(
                "remove the annotation first, and apply that before the deletion: Cluster API deletes nothing that is paused",
            );
        }
        paused.is_empty().then_some(())
    }
}
