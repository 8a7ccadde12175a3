//! Checks that the clusters of rollouts can ever take a step.

use super::waves;
use crate::{
    model::{Calendar, Cluster, Rollout},
    note::{Notes, Place},
};

/// Reports clusters whose maintenance windows never overlap those of their rollout: it would wait for them forever.
pub fn note_closed_windows(rollouts: &[Rollout], clusters: &[Cluster], notes: &mut Notes) {
    let is_open =
        |one: &&Rollout| one.aborted.is_none() && !one.is_done() && !one.calendar.windows.is_empty();
    for rollout in rollouts.iter().filter(is_open) {
        let (waves, _) = waves(rollout, clusters, true);
        let mut closed: Vec<&Cluster> = Vec::new();
        let mut known: Vec<(&Calendar, bool)> = Vec::new();
        for cluster in waves.iter().flat_map(|wave| wave.clusters.iter().copied()) {
            let Some(windows) = &cluster.upgrades.windows else { continue };
            let is_closed = match known.iter().find(|(calendar, _)| *calendar == windows) {
                Some((_, is_closed)) => *is_closed,
                None => {
                    let is_closed = !rollout.calendar.overlaps(windows);
                    known.push((windows, is_closed));
                    is_closed
                }
            };
            if is_closed {
                closed.push(cluster);
            }
        }
        let who = match closed.as_slice() {
            [] => continue,
            [one] => format!("the maintenance windows of {}", one.id()),
            [one, ..] => {
                format!("the maintenance windows of {} clusters, such as {},", closed.len(), one.id())
            }
        };
        let message = format!("{who} never overlap those of the rollout {}", rollout.name);
        notes
            .warning("closed-windows", Place::file(rollout.file.as_str()), message)
            .hint("change `windows` of the rollout, or `upgrades.windows` of the clusters or their folder");
    }
}
