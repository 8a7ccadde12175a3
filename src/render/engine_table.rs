//! The table of engines.

use super::{argocd, delivery, engine::Engine, flux};
use crate::model;

static ENGINES: [&dyn Engine; 2] = [&flux::Flux, &argocd::ArgoCd];

/// The renderer of an engine.
pub(super) fn of(engine: model::Engine) -> &'static dyn Engine {
    let found = ENGINES.iter().find(|one| one.engine() == engine);
    *found.expect("a test ensures that each engine has a renderer")
}

/// The renderers of all engines.
pub(super) fn all() -> impl Iterator<Item = &'static dyn Engine> {
    ENGINES.iter().copied()
}

/// The API groups of all engines and addon deliveries whose objects apply or install others.
pub fn applying_groups() -> impl Iterator<Item = &'static str> {
    let of_deliveries = delivery::kinds().into_iter().map(|(group, _)| group);
    let of_deliveries = of_deliveries.filter(|group| !group.is_empty() && !selects_clusters(group));
    all().flat_map(Engine::applying_groups).copied().chain(of_deliveries)
}

/// The groups and kinds of addon deliveries that install in every cluster of their namespace which they select by its labels.
pub fn selecting_kinds() -> impl Iterator<Item = (&'static str, &'static str)> {
    delivery::kinds().into_iter().filter(|(group, _)| selects_clusters(group))
}

/// Whether a group is Cluster API's own.
fn selects_clusters(group: &str) -> bool {
    group.ends_with(".cluster.x-k8s.io")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_engine_has_a_renderer() {
        for engine in model::Engine::ALL {
            assert_eq!(ENGINES.iter().filter(|one| one.engine() == engine).count(), 1, "{engine:?}");
        }
    }
}
