//! Assigns clusters to waves.

use std::collections::BTreeMap;

use crate::model::{Cluster, Rollout, Selector};

/// The clusters of a wave.
#[derive(Clone, Debug)]
pub struct Wave<'a> {
    /// Its name in the rollout's file.
    pub name: &'a str,
    /// Its defined clusters, in order.
    pub clusters: Vec<&'a Cluster>,
    /// The clusters of the frozen wave that are no longer defined.
    pub gone: Vec<String>,
    /// The clusters of the frozen wave that are not defined, or whose definitions were skipped because of errors.
    pub unread: Vec<String>,
}

impl<'a> Wave<'a> {
    fn new(name: &'a str) -> Self {
        Self { name, clusters: Vec::new(), gone: Vec::new(), unread: Vec::new() }
    }
}

/// The waves, and the clusters that the rollout selects but no wave does. The waves are frozen once a rollout has started.
/// Clusters that are being removed do not join one.
/// `is_whole` says whether no definition was skipped because of errors.
pub fn waves<'a>(
    rollout: &'a Rollout,
    clusters: &'a [Cluster],
    is_whole: bool,
) -> (Vec<Wave<'a>>, Vec<&'a Cluster>) {
    let selects = |selector: &Option<Selector>, cluster: &Cluster| {
        let label = |key: &str| cluster.labels.get(key).and_then(|value| value.as_str());
        selector.as_ref().is_none_or(|selector| selector.matches(label))
    };
    if let Some(frozen) = &rollout.frozen {
        let defined: BTreeMap<String, &Cluster> =
            clusters.iter().map(|cluster| (cluster.full_name(), cluster)).collect();
        let wave = |(wave, names): (&'a crate::model::RolloutWave, &Vec<String>)| {
            let mut found = Wave::new(&wave.name);
            for name in names {
                match defined.get(name) {
                    Some(cluster) => found.clusters.push(cluster),
                    None if is_whole => found.gone.push(name.clone()),
                    None => found.unread.push(name.clone()),
                }
            }
            found
        };
        return (rollout.waves.iter().zip(&frozen.waves).map(wave).collect(), Vec::new());
    }
    let mut found: Vec<Wave<'a>> = rollout.waves.iter().map(|wave| Wave::new(&wave.name)).collect();
    let mut left = Vec::new();
    let joins = |cluster: &&Cluster| !cluster.is_leaving() && selects(&rollout.selector, cluster);
    for cluster in clusters.iter().filter(joins) {
        match rollout.waves.iter().position(|wave| selects(&wave.selector, cluster)) {
            Some(at) => found[at].clusters.push(cluster),
            None => left.push(cluster),
        }
    }
    (found, left)
}
