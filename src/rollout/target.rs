//! Checks that the targets of rollouts exist.

use crate::{
    model::{Rollout, RolloutTarget},
    note::{Notes, Place},
    release::Releases,
};

/// Reports rollouts whose target does not exist. They wait, because a release may be cut later.
pub fn note_missing_targets(rollouts: &[Rollout], releases: &Releases, notes: &mut Notes) {
    for rollout in rollouts.iter().filter(|one| one.aborted.is_none() && !one.is_done()) {
        let (what, way) = match &rollout.target {
            RolloutTarget::Release(name) if releases.find(name).is_none() => {
                (releases.why_missing(name), "run `stackloom releases` for a list")
            }
            RolloutTarget::Minor(minor) if !releases.has_minor(*minor) => (
                format!("no stack has a release for Kubernetes {minor}"),
                "add the minor to stack.yaml, and cut a release",
            ),
            _ => continue,
        };
        let place = Place::file(rollout.file.as_str());
        let message = format!("the rollout {} cannot take a step: {what}", rollout.name);
        notes.warning("missing-target", place, message).hint(way);
    }
}
