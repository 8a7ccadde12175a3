//! Follows one cluster through the states that the steps of a plan put its definition in.

use std::sync::Arc;

use super::{
    ClusterOutcome, Unknown, Which,
    answers::{Answers, WrittenCluster},
    cluster_facts::ClusterFacts,
    definitions::DefinedState,
};
use crate::{
    model::{AddonChoice, Cluster},
    note::Notes,
    render,
    yaml::Node,
};

/// The difference of a Cluster between two consecutive states.
#[derive(Clone, Debug)]
pub struct StepDifference {
    /// The facts of the Cluster before; none if that state is refused.
    pub before: Option<ClusterFacts>,
    /// How Cluster API acts on the change.
    pub outcome: ClusterOutcome,
}

/// A Cluster drawn for one state, with its class.
struct DrawnCluster {
    node: Node,
    written: WrittenCluster,
}

impl DefinedState<'_> {
    /// Compares each state of a cluster with the one before it. Only the Cluster itself is compared, no other objects. Each
    /// state is drawn once.
    pub fn along(&self, states: &[Cluster], answers: &Answers) -> Vec<StepDifference> {
        let mut drawn: Vec<Result<DrawnCluster, String>> =
            states.iter().map(|state| self.drawn(state)).collect();
        // The first step may repair an addon that does not fit today, and addons are no part of the Cluster.
        if let ([state, ..], [first @ Err(_), ..]) = (states, &mut *drawn) {
            *first = std::mem::replace(first, Err(String::new()))
                .or_else(|why| self.drawn(&self.without_addons(state)).map_err(|_| why));
        }
        drawn.windows(2).map(|pair| change(&pair[0], &pair[1], answers)).collect()
    }

    fn without_addons(&self, cluster: &Cluster) -> Cluster {
        let release = self.releases().of(cluster, &mut Notes::new());
        let names =
            release.iter().flat_map(|release| &release.addons).map(|frozen| frozen.addon.name.to_string());
        let off = AddonChoice { enabled: Some(false), ..AddonChoice::default() };
        Cluster { addons: names.map(|name| (name, off.clone())).collect(), ..cluster.clone() }
    }

    fn drawn(&self, cluster: &Cluster) -> Result<DrawnCluster, String> {
        let plan = self.sound_plan(cluster)?;
        let node = render::cluster_object(&plan).ok_or_else(|| "it has no Cluster".to_owned())?;
        let written = WrittenCluster::drawn(&plan, &node, self.classes());
        Ok(DrawnCluster { node, written })
    }
}

fn change(
    before: &Result<DrawnCluster, String>,
    after: &Result<DrawnCluster, String>,
    answers: &Answers,
) -> StepDifference {
    let refused = |side, why: &String| ClusterOutcome::Unknown(Unknown::Refused { side, why: why.clone() });
    let outcome = match (before, after) {
        (Err(why), _) => refused(Which::Before, why),
        (_, Err(why)) => refused(Which::After, why),
        (Ok(old), Ok(new)) if old.node == new.node => ClusterOutcome::Untouched,
        (Ok(old), Ok(new)) => match answers.of(old.written.clone(), new.written.clone()) {
            Ok(answer) => ClusterOutcome::Judged(Arc::clone(&answer)),
            Err(faults) => ClusterOutcome::Unknown(Unknown::Faulty(faults)),
        },
    };
    StepDifference { before: before.as_ref().ok().map(|drawn| ClusterFacts::of(&drawn.node)), outcome }
}
