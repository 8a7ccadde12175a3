//! Reads the health of clusters from the commit statuses that the engine's notifications publish.

use std::collections::BTreeMap;

/// What somebody reported to the forge about a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitStatus {
    /// Its subject. Flux writes `kustomization/<name>/<part of the provider's uid>`, in lower case. For Argo CD, the user's template
    /// defines it.
    ///
    /// Source: Flux' notification-controller, `generateDefaultCommitStatus`.
    pub context: String,
    /// What is reported.
    pub state: CommitState,
}

/// What a commit status reports about its object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitState {
    /// The object is healthy at this commit.
    Success,
    /// It is not.
    Failure,
    /// Not known yet.
    Pending,
}

/// The health of objects at a commit, by name. `statuses` are the statuses of the commit, the latest first.
///
/// A status concerns the objects that its context names between slashes. If several contexts name an object, it is healthy only if
/// all of them are successful.
pub fn health(statuses: &[CommitStatus]) -> BTreeMap<&str, bool> {
    let mut latest = BTreeMap::new();
    for status in statuses {
        latest.entry(status.context.as_str()).or_insert(status.state);
    }
    let mut health = BTreeMap::new();
    for (context, state) in latest {
        if state == CommitState::Pending {
            continue;
        }
        for name in context.split('/') {
            *health.entry(name).or_insert(true) &= state == CommitState::Success;
        }
    }
    health
}

#[cfg(test)]
mod tests {
    use super::{CommitState::*, *};

    fn status(context: &str, state: CommitState) -> CommitStatus {
        CommitStatus { context: context.to_owned(), state }
    }

    #[test]
    fn the_latest_status_of_a_context_counts() {
        let name = "cluster.team-a.one.ready";
        let of = |states: &[(&str, CommitState)]| {
            let all: Vec<_> = states
                .iter()
                .map(|(uid, state)| status(&format!("kustomization/{name}/{uid}"), *state))
                .collect();
            health(&all).get(name).copied()
        };
        assert_eq!(of(&[("a", Success), ("a", Failure)]), Some(true));
        assert_eq!(of(&[("a", Failure), ("a", Success)]), Some(false));
        assert_eq!(of(&[("a", Pending), ("a", Success)]), None);
        assert_eq!(of(&[("a", Success), ("b", Failure)]), Some(false));
        assert_eq!(of(&[("a", Success), ("b", Pending)]), Some(true));
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn a_name_is_a_whole_segment() {
        let all =
            [status("kustomization/cluster.team-a.one.ready/4f8e589a", Success), status("build", Success)];
        let health = health(&all);
        assert_eq!(health.get("cluster.team-a.one"), None);
        assert_eq!(health.get("cluster.team-a.one.ready"), Some(&true));
    }
}
