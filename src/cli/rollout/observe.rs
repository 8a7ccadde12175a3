//! Collects the state of a rollout: plans, history and health.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};

use super::{Known, history::History, standing};
use crate::{
    cli::{
        Printer,
        upgrade::{next_step::Mode, pools_behind},
    },
    definition::closest,
    generate::{Failure, Understood},
    io::{disk::Workspace, git::Repository},
    model::{Cluster, Rollout, RolloutTarget, Size},
    note::{Fault, Notes, Place},
    rollout::{self, Decision, Next, RolloutFacts, SeenCluster, Wave, WaveSeen},
    upgrade::{Solved, UpgradeTarget},
    world::Input,
};

/// A rollout and its state.
pub(super) struct Observed<'a> {
    pub(super) rollout: &'a Rollout,
    pub(super) now: DateTime<Utc>,
    pub(super) seen: RolloutFacts,
    pub(super) decision: Decision,
    /// The clusters of each wave.
    pub(super) waves: Vec<Wave<'a>>,
    /// The plans of the clusters.
    pub(super) solved: Vec<Solved<'a>>,
    /// The clusters that the rollout selects but no wave contains.
    pub(super) left: Vec<&'a Cluster>,
    /// The newest commit before the rollout began, if it has begun.
    pub(super) start: Option<String>,
}

/// Finds a rollout by its name; without a name, the only rollout.
pub(super) fn pick<'a>(fleet: &'a Understood, name: Option<&str>, notes: &mut Notes) -> Option<&'a Rollout> {
    let all = &fleet.model.rollouts;
    let names: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
    pick_name(&names, name, notes).map(|at| &all[at])
}

/// Finds a name among those of all rollouts; without a name, the only one.
pub(super) fn pick_name(names: &[&str], name: Option<&str>, notes: &mut Notes) -> Option<usize> {
    match (name, names) {
        (Some(name), _) => {
            let found = names.iter().position(|one| *one == name);
            if found.is_none() {
                let note = notes.error("unknown-rollout", None, format!("there is no rollout `{name}`"));
                match closest(name, names.iter().copied()) {
                    Some(similar) => note.hint(format!("did you mean `{similar}`?")),
                    None => note.hint("run `stackloom rollout status` for a list"),
                };
            }
            found
        }
        (None, [_]) => Some(0),
        (None, []) => {
            notes
                .error("unknown-rollout", None, "there is no rollout")
                .hint("write one into `rollouts/`: docs/upgrades.md shows how");
            None
        }
        (None, _) => {
            notes
                .error("unknown-rollout", None, format!("there are several rollouts: {}", names.join(", ")))
                .hint("name one");
            None
        }
    }
}

/// The context of a look at rollouts.
pub(super) struct Context<'a> {
    pub(super) fleet: &'a Understood,
    /// Whether definitions were skipped because of errors.
    pub(super) has_errors: bool,
    pub(super) world: &'a Workspace,
    /// What to do with a step; none if nothing is asked for.
    pub(super) mode: Option<Mode>,
    pub(super) known: &'a Known,
    pub(super) printer: &'a Printer,
}

impl<'a> Context<'a> {
    /// Determines the state of a rollout. `all` holds every file that was read, including definitions that were skipped
    /// because of errors.
    pub(super) fn observe(
        &self,
        rollout: &'a Rollout,
        all: &Input,
        notes: &mut Notes,
    ) -> Result<Observed<'a>, Failure> {
        let Self { fleet, has_errors, world, .. } = *self;
        let now = self.known.now.moment()?;
        let target = match target(rollout, fleet) {
            Ok(target) => target,
            Err(why) if self.mode.is_none() => return Ok(without_target(rollout, now, &why)),
            Err(why) => {
                notes
                    .error("unknown-release", Place::file(rollout.file.as_str()), why)
                    .hint("run `stackloom releases` for a list");
                return Err(Failure::Input);
            }
        };
        let (waves, left) = rollout::waves(rollout, &fleet.model.clusters, !has_errors);
        let clusters: Vec<&Cluster> = waves.iter().flat_map(|wave| wave.clusters.iter().copied()).collect();
        let owners = Rollout::owners(fleet.model.rollouts.iter().filter(|one| one.name != rollout.name));
        let repository = Repository::find(world)?;
        let behind = pools_behind::find(fleet, repository.as_ref())?;
        let plans = standing::fleet(rollout, fleet, behind);
        let solved = standing::solve(&target, &clusters, &plans, &owners, now);
        if let Some(repository) = &repository {
            note_other_branch(repository, fleet, notes)?;
            self.note_behind(repository, notes)?;
        }
        self.note_no_health(rollout, notes);
        let history = History::read(rollout, &clusters, self, repository.as_ref(), notes)?;
        let unpublished = history.unpublished(&clusters, fleet, repository.as_ref())?;
        let mut standings = standing::standings(&solved, &target, &fleet.input, now);
        let mut seen = RolloutFacts { now, has_errors, waves: Vec::new() };
        for (wave, meant) in waves.iter().zip(&rollout.waves) {
            let mut found = Vec::new();
            for cluster in &wave.clusters {
                let id = cluster.id();
                let name = cluster.full_name();
                let own = standings.remove(&id);
                let health = history.health(cluster, repository.as_ref())?;
                found.push(SeenCluster {
                    is_there: own.as_ref().is_none_or(|own| own.is_there),
                    is_leaving: cluster.is_leaving(),
                    owner: owners.get(name.as_str()).map(|owner| owner.name.to_string()),
                    obstacle: own.and_then(|own| own.obstacle),
                    changed: history.changed.get(&name).map(|changed| changed.time),
                    earlier: history.earlier.get(&name).map(|changed| changed.time),
                    unpublished: unpublished.get(&name).cloned(),
                    health,
                    is_suspended: cluster.suspend.is_some(),
                    machines: machines(cluster),
                    id,
                });
            }
            seen.waves.push(WaveSeen {
                name: wave.name.to_owned(),
                soak: meant.soak,
                is_selective: meant.selector.is_some(),
                clusters: found,
                unread: wave.unread.clone(),
                gone: wave.gone.len(),
            });
        }
        let start = history.start;
        let decision = standing::settle(rollout, &mut seen, &solved, (&plans, fleet, all));
        Ok(Observed { rollout, now, seen, decision, waves, solved, left, start })
    }
}

impl Context<'_> {
    /// Warns if the rollout requires health and nothing reports it.
    fn note_no_health(&self, rollout: &Rollout, notes: &mut Notes) {
        let has_ended = rollout.aborted.is_some() || rollout.is_done();
        if !rollout.requires_health || self.known.health.is_some() || has_ended {
            return;
        }
        let message = format!(
            "the rollout {} requires health, but nothing reports it: no step counts as done",
            rollout.name
        );
        notes
            .warning("no-health", Place::file(rollout.file.as_str()), message)
            .hint("name the source: `--health commit-statuses`, a file, or an address");
    }

    /// Reports that HEAD lacks commits of the branch that the engine reads, such as a pause. A step on top of it is refused.
    fn note_behind(&self, repository: &Repository, notes: &mut Notes) -> Result<(), Failure> {
        if self.mode == Some(Mode::Propose) {
            return Ok(());
        }
        let Some(name) = repository.branch_ahead(&branches(self.fleet))? else { return Ok(()) };
        let message = format!("HEAD lacks commits of {name}, which may have paused or moved this rollout");
        let is_taken = matches!(self.mode, Some(Mode::WorkTree | Mode::Commit));
        let note = if is_taken {
            notes.error("behind", None, message)
        } else {
            notes.warning("behind", None, message)
        };
        note.hint("run `git pull`, and then this command again");
        if is_taken { Err(Failure::Input) } else { Ok(()) }
    }
}

/// The branches that engines read.
pub(super) fn branches(fleet: &Understood) -> BTreeSet<String> {
    let all = &fleet.model.fleet.management_clusters;
    all.iter().filter_map(|one| one.branch().map(str::to_owned)).collect()
}

/// Warns if the checked-out branch is not one that the engines read: progress and soak times are then those of another branch.
fn note_other_branch(repository: &Repository, fleet: &Understood, notes: &mut Notes) -> Result<(), Fault> {
    let read = branches(fleet);
    let Some(branch) =
        repository.current_branch()?.filter(|branch| !read.is_empty() && !read.contains(branch))
    else {
        return Ok(());
    };
    let engines = read.into_iter().collect::<Vec<_>>().join(", ");
    let message = format!("the branch {branch} is checked out, but the engines read {engines}");
    notes.warning("other-branch", None, message).hint(format!(
        "progress and soak times are those of {branch}: check out the branch that the engines read"
    ));
    Ok(())
}

/// The target of a rollout, or why it cannot be used.
fn target(rollout: &Rollout, fleet: &Understood) -> Result<UpgradeTarget, String> {
    match &rollout.target {
        RolloutTarget::Minor(minor) => Ok(UpgradeTarget::Minor(*minor)),
        RolloutTarget::Latest => Ok(UpgradeTarget::Latest),
        RolloutTarget::Release(name) => fleet
            .releases
            .find(name)
            .map(UpgradeTarget::Release)
            .ok_or_else(|| fleet.releases.why_missing(name)),
    }
}

/// A rollout whose target does not exist. Nothing is known about its waves.
fn without_target<'a>(rollout: &'a Rollout, now: DateTime<Utc>, why: &str) -> Observed<'a> {
    let seen = RolloutFacts { now, has_errors: false, waves: Vec::new() };
    let next = match &rollout.aborted {
        Some(reason) => Next::Aborted(reason.clone()),
        None if rollout.is_done() => Next::Done,
        None => Next::Blocked(format!("{why}: run `stackloom releases` for a list")),
    };
    let decision = Decision { waves: Vec::new(), next };
    let (waves, solved, left) = (Vec::new(), Vec::new(), Vec::new());
    Observed { rollout, now, seen, decision, waves, solved, left, start: None }
}

/// The number of machines in a cluster's definition; for an autoscaled pool, the maximum.
fn machines(cluster: &Cluster) -> usize {
    let pools = cluster.node_pools.iter().map(|pool| match &pool.size {
        Size::Fixed(count) => count.as_int().unwrap_or(1),
        Size::Autoscaled { max, .. } => *max,
        Size::Unset => 1,
    });
    let all = cluster.control_plane.replicas.unwrap_or(1) + pools.sum::<i64>();
    usize::try_from(all).unwrap_or_default()
}
