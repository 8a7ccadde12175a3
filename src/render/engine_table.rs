//! The table of engines.

use super::{argocd, engine::Engine, flux};
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

/// The API groups of all engines whose objects apply or install others.
pub fn applying_groups() -> impl Iterator<Item = &'static str> {
    all().flat_map(Engine::applying_groups).copied()
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
