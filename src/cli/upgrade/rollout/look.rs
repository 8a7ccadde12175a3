//! Collects the state of a rollout: plans, history and health.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::{
    Known,
    health::{Asked as AskedHealth, Health},
};
use crate::{
    cli::{Printer, upgrade::group},
    compare::Facts,
    definition::closest,
    generate::{Failure, Understood},
    io::{
        disk::Workspace,
        git::{Changed, Read, Repository},
    },
    model::{Cluster, ClusterId, Date, Rollout, RolloutTarget, Size},
    note::{Fault, Notes, Place},
    render,
    rollout::{self, Decision, Seen, SeenCluster, Wave, WaveSeen},
    upgrade::{Answer, Asked, Fleet, Solved, Target},
    yaml::{self, FileId, Node, Source},
};

/// A rollout and its state.
pub(super) struct Looked<'a> {
    pub(super) rollout: &'a Rollout,
    pub(super) now: DateTime<Utc>,
    pub(super) seen: Seen,
    pub(super) decision: Decision,
    /// The clusters of each wave.
    pub(super) waves: Vec<Wave<'a>>,
    /// The plans of the clusters.
    pub(super) solved: Vec<Solved<'a>>,
    /// The clusters that the rollout selects but no wave contains.
    pub(super) left: Vec<&'a Cluster>,
}

/// Finds a rollout by its name; without a name, the only rollout.
pub(super) fn pick<'a>(fleet: &'a Understood, name: Option<&str>, notes: &mut Notes) -> Option<&'a Rollout> {
    let all = &fleet.model.rollouts;
    let names = || all.iter().map(|one| one.name.as_str());
    match (name, all.as_slice()) {
        (Some(name), _) => {
            let found = all.iter().find(|one| one.name.as_str() == name);
            if found.is_none() {
                let note = notes.error("unknown-rollout", None, format!("there is no rollout `{name}`"));
                match closest(name, names()) {
                    Some(similar) => note.hint(format!("did you mean `{similar}`?")),
                    None => note.hint("run `stackloom rollout status` for a list"),
                };
            }
            found
        }
        (None, [only]) => Some(only),
        (None, []) => {
            notes
                .error("unknown-rollout", None, "there is no rollout")
                .hint("write one into `rollouts/`: docs/upgrades.md shows how");
            None
        }
        (None, _) => {
            notes
                .error(
                    "unknown-rollout",
                    None,
                    format!("there are several rollouts: {}", names().collect::<Vec<_>>().join(", ")),
                )
                .hint("name one");
            None
        }
    }
}

/// Determines the state of a rollout. The fleet comes with whether definitions were skipped because of errors.
pub(super) fn look<'a>(
    rollout: &'a Rollout,
    (fleet, has_errors): (&'a Understood, bool),
    world: &Workspace,
    known: &Known,
    printer: &Printer,
    notes: &mut Notes,
) -> Result<Looked<'a>, Failure> {
    let now = known.now.moment()?;
    let target = target(rollout, fleet, notes)?;
    let (waves, left) = rollout::waves(rollout, &fleet.model.clusters, !has_errors);
    let clusters: Vec<&Cluster> = waves.iter().flat_map(|wave| wave.clusters.iter().copied()).collect();
    let solved = solve(&target, &clusters, fleet, now);
    let repository = Repository::find(world)?;
    let history = History::read(rollout, &clusters, fleet, repository.as_ref(), known, printer, notes)?;
    let mut standing = standings(&solved, fleet);
    let mut seen = Seen { now, has_errors, waves: Vec::new() };
    for (wave, meant) in waves.iter().zip(&rollout.waves) {
        let mut all = Vec::new();
        for cluster in &wave.clusters {
            let id = cluster.id();
            let (is_there, obstacle) = standing.remove(&id).unwrap_or((true, None));
            let changed = history.changed.get(&cluster.full_name());
            let is_healthy = history.health(cluster, repository.as_ref())?;
            let changed = changed.map(|changed| changed.time);
            all.push(SeenCluster {
                is_there,
                obstacle,
                changed,
                is_healthy,
                machines: machines(cluster),
                id,
            });
        }
        seen.waves.push(WaveSeen {
            name: wave.name.to_owned(),
            soak: meant.soak,
            is_selective: meant.selector.is_some(),
            clusters: all,
            unread: wave.unread.clone(),
        });
    }
    let decision = rollout::decide(rollout, &seen);
    Ok(Looked { rollout, now, seen, decision, waves, solved, left })
}

fn target(rollout: &Rollout, fleet: &Understood, notes: &mut Notes) -> Result<Target, Failure> {
    Ok(match &rollout.target {
        RolloutTarget::Minor(minor) => Target::Minor(*minor),
        RolloutTarget::Latest => Target::Latest,
        RolloutTarget::Release(name) => match fleet.releases.find(name) {
            Some(release) => Target::Release(release),
            None => {
                notes
                    .error(
                        "unknown-release",
                        Place::file(rollout.file.as_str()),
                        format!("there is no release `{name}`"),
                    )
                    .hint("run `stackloom releases` for a list");
                return Err(Failure::from(notes.halted()));
            }
        },
    })
}

/// Plans the clusters; held ones stay where they are.
fn solve<'a>(
    target: &Target,
    clusters: &[&'a Cluster],
    fleet: &'a Understood,
    now: DateTime<Utc>,
) -> Vec<Solved<'a>> {
    let asked = Asked {
        target: Some(target.clone()),
        today: Date::from(now.date_naive()),
        now: Some(now),
        despite_hold: false,
    };
    let (mut moving, mut held) = (Vec::new(), BTreeMap::<String, Vec<&Cluster>>::new());
    for cluster in clusters {
        match asked.of(cluster) {
            Ok(_) => moving.push(*cluster),
            Err(why) => held.entry(why).or_default().push(cluster),
        }
    }
    let mut solved = Fleet::new(fleet, false).solve(target, &moving);
    asked.keep_to_windows(&mut solved);
    solved.extend(held.into_iter().map(|(why, clusters)| Solved { clusters, answer: Answer::Held(why) }));
    solved
}

/// Whether each cluster has reached the target, and otherwise the reason if it cannot go on.
fn standings(solved: &[Solved<'_>], fleet: &Understood) -> BTreeMap<ClusterId, (bool, Option<String>)> {
    let mut found = BTreeMap::new();
    for one in solved {
        let standing = match &one.answer {
            Answer::Plan { plan, .. } => (plan.steps.is_empty(), None),
            Answer::Ahead | Answer::Leaves => (true, None),
            Answer::Held(why) => (false, Some(format!("held: {why}"))),
            answer => (false, Some(group::why_not(answer, &fleet.input))),
        };
        for cluster in &one.clusters {
            let mut standing = standing.clone();
            if let Some(reason) = &cluster.suspend {
                standing.1 = Some(format!("suspended: {reason}"));
            }
            found.insert(cluster.id(), standing);
        }
    }
    found
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

/// The data from git and from the health report.
struct History {
    changed: BTreeMap<String, Changed>,
    health: Health,
}

impl History {
    fn read(
        rollout: &Rollout,
        clusters: &[&Cluster],
        fleet: &Understood,
        repository: Option<&Repository>,
        known: &Known,
        printer: &Printer,
        notes: &mut Notes,
    ) -> Result<Self, Fault> {
        // Local commits that are not pushed yet count, too: they are about to be.
        let tip = match repository {
            Some(repository) => repository.head()?.map(|tip| (repository, tip)),
            None => None,
        };
        let mut changed = BTreeMap::new();
        if let (Some((repository, tip)), true) = (&tip, rollout.frozen.is_some()) {
            let folder =
                |one: &&Cluster| (one.full_name(), render::folder_of_cluster(&one.id()).as_str().to_owned());
            let mut folders: BTreeMap<String, String> = clusters.iter().map(folder).collect();
            let is_begun = |text: &str| text.lines().any(|line| line.starts_with("status:"));
            let begun = (rollout.file.as_str(), &is_begun as &dyn Fn(&str) -> bool);
            changed = repository.changed_since(tip, begun, &folders, &position)?;
            // A cluster that was suspended rolls out its step once it is resumed.
            folders.retain(|name, _| changed.contains_key(name));
            let resumed = |read: Read<'_>| (position(read), is_paused(read));
            changed = repository.changed_since(tip, begun, &folders, &resumed)?;
        }
        let health = match &known.health {
            Some(source) => {
                let repository = tip.as_ref().map(|(repository, tip)| (*repository, tip.as_str()));
                let asked = AskedHealth { fleet, clusters, changed: &changed, repository, printer };
                Health::read(source, &asked, notes)?
            }
            None => Health::default(),
        };
        Ok(Self { changed, health })
    }

    /// Whether a cluster is healthy with its last change. A report without revisions counts as current.
    fn health(&self, cluster: &Cluster, repository: Option<&Repository>) -> Result<Option<bool>, Fault> {
        let (Some((is_healthy, revision)), Some(changed)) =
            (self.health.of(cluster), self.changed.get(&cluster.full_name()))
        else {
            return Ok(None);
        };
        let has = match (revision, repository) {
            (Some(revision), Some(repository)) => {
                repository.contains(revision_of(revision), &changed.commit)?
            }
            _ => true,
        };
        Ok(Some(is_healthy && has))
    }
}

fn cluster(read: Read<'_>) -> Option<Node> {
    let text = read("cluster/cluster.yaml")?;
    yaml::read(&Source::new(FileId(0), "", text), &mut Notes::new())
}

fn is_paused(read: Read<'_>) -> bool {
    cluster(read).is_some_and(|cluster| Facts::of(&cluster).paused)
}

/// Where a cluster is on its way: its release, its Kubernetes version, and the versions of its addons. Other changes of a
/// cluster are no progress of a rollout.
fn position(read: Read<'_>) -> [Option<String>; 3] {
    let Some(cluster) = cluster(read) else { return Default::default() };
    let addons = cluster.at(&["metadata", "name"]).and_then(Node::as_str).and_then(|name| {
        let list = |folder: &str| read(&format!("{folder}/configmap-{name}.addons.yaml"));
        let text = list("addons").or_else(|| list("cluster"))?;
        Some(text.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n"))
    });
    let facts = Facts::of(&cluster);
    [facts.release, facts.kubernetes, addons]
}

/// The commit in an engine's revision: Flux writes `main@sha1:<commit>`.
fn revision_of(text: &str) -> &str {
    text.rsplit_once(':').map_or(text, |(_, commit)| commit)
}
