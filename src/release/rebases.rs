//! What a release means for the clusters of the fleet that use the one before: said by who knows what Cluster API does,
//! written down here.

use std::collections::BTreeSet;

use super::{Effect, Impact};
use crate::model::ClusterId;

/// Clusters that are named of a group; the rest is counted.
const NAMED: usize = 8;

/// Fields that are reported of a group; the rest is counted.
const REASONS: usize = 3;

/// What becomes of the clusters that use a release, when they move to its next one. The worst comes first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rebases {
    /// Clusters to which the same happens.
    pub groups: Vec<Rebase>,
}

/// Clusters to which the same happens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rebase {
    /// What happens, in words.
    pub means: String,
    /// The same, as releases record it; nothing where only names change.
    pub effects: BTreeSet<Effect>,
    /// The fields that it comes of, in the objects that Cluster API makes of the clusters, whatever cluster of the group
    /// they are of.
    pub why: BTreeSet<String>,
    /// The clusters.
    pub clusters: Vec<ClusterId>,
}

impl Rebases {
    /// How many clusters use the release.
    pub fn count(&self) -> usize {
        self.groups.iter().map(|group| group.clusters.len()).sum()
    }

    /// In the words of the release: it was asked about by another name.
    pub(super) fn renamed(mut self, old: &str, new: &str) -> Self {
        for group in &mut self.groups {
            group.means = group.means.replace(old, new);
        }
        self
    }

    /// One line for each group: how many clusters, what becomes of them, and which, unless they are most of them.
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
    /// Why, in as many words as one reads.
    fn reasons(&self) -> String {
        let reported: Vec<_> = self.why.iter().take(REASONS).map(String::as_str).collect();
        match self.why.len() {
            0 => String::new(),
            count if count <= REASONS => format!(" ({})", reported.join("; ")),
            count => format!(" ({}; and {} more)", reported.join("; "), count - REASONS),
        }
    }

    /// Its clusters by name, as many as one reads.
    fn named(&self) -> String {
        let mut names: Vec<_> = self.clusters.iter().take(NAMED).map(ToString::to_string).collect();
        if self.clusters.len() > NAMED {
            names.push(format!("{} more", self.clusters.len() - NAMED));
        }
        names.join(", ")
    }
}

impl Impact {
    /// What is found for a cluster counts, where the class alone does not tell it.
    pub(super) fn join(&mut self, rebases: &Rebases) {
        for group in &rebases.groups {
            for effect in &group.effects {
                let reported = self.effects.contains_key(effect)
                    || *effect == Effect::InPlace && !self.effects.is_empty();
                if !reported {
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

    fn group(effect: Effect, count: usize) -> Rebase {
        Rebase {
            means: effect.words().to_owned(),
            effects: BTreeSet::from([effect]),
            why: BTreeSet::new(),
            clusters: (0..count).map(cluster).collect(),
        }
    }

    #[test]
    fn most_are_counted_and_the_others_named() {
        let rebases =
            Rebases { groups: vec![group(Effect::Unknown, 2), group(Effect::WorkersReplaced, 100)] };
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
        impact.join(&Rebases { groups: vec![group(Effect::InPlace, 1)] });
        assert_eq!(impact.sentence(), Effect::InPlace.words());
        impact.join(&Rebases { groups: vec![group(Effect::ControlPlaneReplaced, 9)] });
        let why = &impact.effects[&Effect::ControlPlaneReplaced];
        assert_eq!(why.first().unwrap().matches("team/").count(), NAMED);
        assert!(why.first().unwrap().ends_with(", 1 more"), "{why:?}");
    }
}
