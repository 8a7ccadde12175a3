//! The consequences of a release for the fleet's clusters that use the previous one. Callers that know the behavior of
//! Cluster API compute them; this module holds the results.

use std::collections::BTreeSet;

use super::{Impact, RebaseEffect};
use crate::model::ClusterId;

/// The greatest number of clusters named per group; further ones are only counted.
const NAMED: usize = 8;

/// The greatest number of fields listed per group; further ones are only counted.
const REASONS: usize = 3;

/// What happens to the clusters that use a release when they move to the next one. The worst group comes first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rebases {
    /// Groups of clusters with the same outcome.
    pub groups: Vec<Rebase>,
}

/// Clusters with the same outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rebase {
    /// The outcome, in words.
    pub means: String,
    /// The outcome as recorded in releases; empty if only names change.
    pub effects: BTreeSet<RebaseEffect>,
    /// The fields that cause it, in the objects that Cluster API makes for the clusters. Contains the fields of all clusters
    /// of the group.
    pub why: BTreeSet<String>,
    /// The clusters with this outcome.
    pub clusters: Vec<ClusterId>,
}

impl Rebases {
    /// The number of clusters that use the release.
    pub fn count(&self) -> usize {
        self.groups.iter().map(|group| group.clusters.len()).sum()
    }

    /// Replaces the name under which the prediction was made with the name of the release.
    pub(super) fn renamed(mut self, old: &str, new: &str) -> Self {
        for group in &mut self.groups {
            group.means = group.means.replace(old, new);
        }
        self
    }

    /// One line for each group: the number of clusters, the outcome, and the clusters' names. The names are
    /// omitted for the largest group if it has many clusters.
    pub fn lines(&self) -> Vec<String> {
        let most = self.groups.iter().map(|group| group.clusters.len()).max().unwrap_or_default();
        let line = |group: &Rebase| {
            let count = group.clusters.len();
            let clusters = if count == 1 { "1 cluster".to_owned() } else { format!("{count} clusters") };
            let (means, why) = (&group.means, group.reasons());
            if count > NAMED && count == most {
                return format!("{clusters}: {means}{why}");
            }
            format!("{clusters} ({}): {means}{why}", group.named())
        };
        self.groups.iter().map(line).collect()
    }
}

impl Rebase {
    /// The causes, shortened to a readable length.
    fn reasons(&self) -> String {
        let shown: Vec<_> = self.why.iter().take(REASONS).map(String::as_str).collect();
        match self.why.len() {
            0 => String::new(),
            count if count <= REASONS => format!(" ({})", shown.join("; ")),
            count => format!(" ({}; and {} more)", shown.join("; "), count - REASONS),
        }
    }

    /// The names of its clusters, shortened to a readable length.
    fn named(&self) -> String {
        let mut names: Vec<_> = self.clusters.iter().take(NAMED).map(ToString::to_string).collect();
        if self.clusters.len() > NAMED {
            names.push(format!("{} more", self.clusters.len() - NAMED));
        }
        names.join(", ")
    }
}

impl Impact {
    /// Adds the effects found for clusters that the class alone doesn't reveal.
    pub(super) fn join(&mut self, rebases: &Rebases) {
        for group in &rebases.groups {
            for effect in &group.effects {
                let is_known = self.effects.contains_key(effect)
                    || *effect == RebaseEffect::InPlace && !self.effects.is_empty();
                if !is_known {
                    self.effects.entry(*effect).or_default().insert(format!("for {}", group.named()));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Label;

    fn cluster(number: usize) -> ClusterId {
        let label = |text: &str| Label::new(text).expect("a label");
        ClusterId { management: label("mgmt"), namespace: label("team"), name: label(&number.to_string()) }
    }

    fn group(effect: RebaseEffect, count: usize) -> Rebase {
        Rebase {
            means: effect.words().to_owned(),
            effects: BTreeSet::from([effect]),
            why: BTreeSet::new(),
            clusters: (0..count).map(cluster).collect(),
        }
    }

    #[test]
    fn most_are_counted_and_the_others_named() {
        let rebases = Rebases {
            groups: vec![group(RebaseEffect::Unknown, 2), group(RebaseEffect::WorkersReplaced, 100)],
        };
        assert_eq!(
            rebases.lines(),
            [
                "2 clusters (team/0, team/1): not all of it can be predicted",
                "100 clusters: workers are replaced"
            ]
        );
        assert_eq!(rebases.count(), 102);
    }

    #[test]
    fn an_impact_is_never_milder_than_what_a_cluster_gets() {
        let mut impact = Impact::default();
        impact.join(&Rebases { groups: vec![group(RebaseEffect::InPlace, 1)] });
        assert_eq!(impact.sentence(), RebaseEffect::InPlace.words());
        impact.join(&Rebases { groups: vec![group(RebaseEffect::ControlPlaneReplaced, 9)] });
        let why = &impact.effects[&RebaseEffect::ControlPlaneReplaced];
        assert_eq!(why.first().unwrap().matches("team/").count(), NAMED);
        assert!(why.first().unwrap().ends_with(", 1 more"), "{why:?}");
    }
}
