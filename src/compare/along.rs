//! What becomes of one cluster, state by state, as the steps of a plan change its definition.

use std::sync::Arc;

use super::{
    Outcome, Unknown, Which,
    answers::{Answers, Written},
    definitions::Definitions,
    facts::Facts,
};
use crate::{model::Cluster, render, yaml::Node};

/// What differs of a Cluster between two states that follow each other.
#[derive(Clone, Debug)]
pub struct Change {
    /// What the Cluster said before; none if that state is refused.
    pub before: Option<Facts>,
    /// What Cluster API makes of it.
    pub outcome: Outcome,
}

/// A Cluster as it is drawn for a state, with its class.
struct Drawn {
    node: Node,
    written: Written,
}

impl Definitions<'_> {
    /// Says for each state of a cluster but the first what differs from the one before. Only the Cluster is compared, without
    /// whatever else is beside it. Each state is drawn once.
    pub fn along(&self, states: &[Cluster], answers: &Answers) -> Vec<Change> {
        let drawn: Vec<Result<Drawn, String>> = states.iter().map(|state| self.drawn(state)).collect();
        drawn.windows(2).map(|pair| change(&pair[0], &pair[1], answers)).collect()
    }

    fn drawn(&self, cluster: &Cluster) -> Result<Drawn, String> {
        let plan = self.sound_plan(cluster)?;
        let node = render::cluster_object(&plan).ok_or_else(|| "it has no Cluster".to_owned())?;
        let written = Written::drawn(&plan, &node, self.classes());
        Ok(Drawn { node, written })
    }
}

fn change(before: &Result<Drawn, String>, after: &Result<Drawn, String>, answers: &Answers) -> Change {
    let refused = |side, why: &String| Outcome::Unknown(Unknown::Refused { side, why: why.clone() });
    let outcome = match (before, after) {
        (Err(why), _) => refused(Which::Before, why),
        (_, Err(why)) => refused(Which::After, why),
        (Ok(old), Ok(new)) if old.node == new.node => Outcome::Untouched,
        (Ok(old), Ok(new)) => match answers.of(old.written.clone(), new.written.clone()) {
            Ok(answer) => Outcome::Judged(Arc::clone(&answer)),
            Err(faults) => Outcome::Unknown(Unknown::Faulty(faults)),
        },
    };
    Change { before: before.as_ref().ok().map(|drawn| Facts::of(&drawn.node)), outcome }
}
