//! Reads from git and from the health report what a rollout has done.

use std::collections::{BTreeMap, BTreeSet};

use chrono::TimeDelta;
use rayon::prelude::*;

use super::{
    health::{Asked, Health},
    merged::count_from_merge,
    observe::{Context, branches},
};

use crate::{
    cli::upgrade::{next_step::Mode, pools_behind::parts_of},
    compare::{is_paused, kubernetes_of, listed_addons, release_of},
    generate::Understood,
    io::git::{Changed, CommitEdit, Dated, Event, HistoryRange, Repository, Side},
    model::{Cluster, Rollout},
    note::{Fault, Notes},
    render,
    rollout::ClusterHealth,
    tree::TreePath,
    world::release_line,
    yaml::{self, FileId, Node, Source},
};

/// The folder of the definitions of rollouts.
const ROLLOUTS: &str = "rollouts";

/// The data from git and from the health report.
pub(super) struct History {
    /// The last step of each cluster that the engine can see, by full name.
    pub(super) changed: BTreeMap<String, Changed>,
    /// The last step of the others, if it is so recent that it may still be in progress or soak.
    pub(super) earlier: BTreeMap<String, Changed>,
    /// The newest commit before the rollout began, if it has begun.
    pub(super) start: Option<String>,
    /// The commit that the engine can see, and where; none if the rollout has not begun, or without commits.
    published: Option<(String, String)>,
    health: Health,
}

impl History {
    pub(super) fn read(
        rollout: &Rollout,
        clusters: &[&Cluster],
        context: &Context<'_>,
        repository: Option<&Repository>,
        notes: &mut Notes,
    ) -> Result<Self, Fault> {
        let published = match repository {
            Some(repository) => published(repository, context)?.map(|found| (repository, found)),
            None => None,
        };
        let (mut changed, mut earlier, mut start) = (BTreeMap::new(), BTreeMap::new(), None);
        let published = published.filter(|_| !rollout.is_done() && rollout.aborted.is_none());
        if let Some((repository, (tip, _))) = &published {
            let folder =
                |one: &&Cluster| (one.full_name(), render::folder_of_cluster(&one.id()).as_str().to_owned());
            let folders: BTreeMap<String, String> = clusters.iter().map(folder).collect();
            start = repository.before(tip, ROLLOUTS, &|path, text| has_begun(rollout, path, text))?;
            let oldest = Some(context.known.now.moment()? - longest(rollout));
            let stretch = HistoryRange { tip, start: start.as_deref(), oldest };
            let halted = clusters.iter().filter(|one| one.suspend.is_some()).map(|one| one.full_name());
            let events = repository.events_since_step(&stretch, &folders, &halted.collect(), &event)?;
            for (name, events) in events {
                if events.last().is_some_and(|last| last.event == Event::Step && last.is_since_start) {
                    changed.extend(events.into_iter().next().map(|newest| (name, newest.changed)));
                } else if let Some(last) = unsettled(&events, progress(rollout)) {
                    earlier.insert(name, last);
                }
            }
            count_from_merge(&mut changed, repository, context, notes)?;
            count_from_merge(&mut earlier, repository, context, notes)?;
        }
        let health = match &context.known.health {
            Some(source) => {
                let repository = published.as_ref().map(|(repository, (tip, _))| (*repository, tip.as_str()));
                let (fleet, printer) = (context.fleet, context.printer);
                let last: BTreeMap<String, Changed> =
                    earlier.clone().into_iter().chain(changed.clone()).collect();
                let asked = Asked { fleet, clusters, changed: &last, repository, printer };
                Health::read(source, &asked, notes)?
            }
            None => Health::default(),
        };
        Ok(Self { changed, earlier, start, published: published.map(|(_, found)| found), health })
    }

    /// The clusters whose definitions hold a step that the engine cannot see yet, and why, by full name.
    pub(super) fn unpublished(
        &self,
        clusters: &[&Cluster],
        fleet: &Understood,
        repository: Option<&Repository>,
    ) -> Result<BTreeMap<String, String>, Fault> {
        let mut found = BTreeMap::new();
        let (Some((tip, name)), Some(repository)) = (&self.published, repository) else { return Ok(found) };
        let Some(head) = repository.head()? else { return Ok(found) };
        let committed = repository.revision("HEAD")?;
        let folders: Vec<TreePath> =
            clusters.iter().map(|cluster| render::folder_of_cluster(&cluster.id())).collect();
        let release = |folder: &TreePath| -> Result<Option<String>, Fault> {
            let object = committed.file(&format!("{folder}/{}", render::CLUSTER_FILE))?;
            Ok(object.as_deref().and_then(parsed).and_then(|cluster| release_of(&cluster)))
        };
        let drawn: Vec<Option<String>> = folders.par_iter().map(release).collect::<Result<_, _>>()?;
        let ahead = if tip == &head {
            BTreeSet::new()
        } else {
            repository.steps_between((tip, &head), folders.iter().map(TreePath::as_str), &step)?
        };
        for ((cluster, folder), drawn) in clusters.iter().zip(&folders).zip(drawn) {
            let meant = fleet.releases.of(cluster, &mut Notes::new()).map(|release| release.name.clone());
            let why = if drawn.as_deref().map(release_line) != meant.as_deref().map(release_line) {
                "the definition has changed, but generated/ in the last commit has not: run `stackloom generate --commit`"
                    .to_owned()
            } else if ahead.contains(folder.as_str()) {
                format!("the last step is committed, but not on {name}: push it, and get it merged")
            } else {
                continue;
            };
            found.insert(cluster.full_name(), why);
        }
        Ok(found)
    }

    /// What the last report says about a cluster and its last change. A report without revisions counts as current.
    pub(super) fn health(
        &self,
        cluster: &Cluster,
        repository: Option<&Repository>,
    ) -> Result<ClusterHealth, Fault> {
        let Some((is_healthy, revision)) = self.health.of(cluster) else {
            return Ok(ClusterHealth::Unreported);
        };
        let reported = if is_healthy { ClusterHealth::Healthy } else { ClusterHealth::Unhealthy };
        let name = cluster.full_name();
        let Some(changed) = self.changed.get(&name).or_else(|| self.earlier.get(&name)) else {
            return Ok(reported);
        };
        let has = match (revision, repository) {
            (Some(revision), Some(repository)) => {
                repository.contains(render::commit_in_revision(revision), &changed.commit)?
            }
            _ => true,
        };
        Ok(if has { reported } else { ClusterHealth::Outdated })
    }
}

/// The commit since which a cluster may be in progress, by its events before the rollout, newest first: the last step, or the
/// commit that resumed it. None if it had enough time before it was suspended.
fn unsettled(events: &[Dated], progress: TimeDelta) -> Option<Changed> {
    let mut last: Option<&Dated> = None;
    for one in events.iter().rev() {
        last = match (one.event, last) {
            (Event::Paused, Some(before)) if one.changed.time - before.changed.time >= progress => None,
            (Event::Step | Event::Released, _) | (Event::Paused | Event::Resumed, Some(_)) => Some(one),
            (Event::Paused | Event::Resumed | Event::None, before) => before,
        };
    }
    last.map(|last| last.changed.clone())
}

/// How long a step that was taken before the rollout began may matter: while it is in progress, and its wave soaks.
fn longest(rollout: &Rollout) -> TimeDelta {
    let soak = rollout.waves.iter().map(|wave| wave.soak).max().unwrap_or_default();
    progress(rollout) + soak
}

/// How long a step may be in progress. Without a report, it is until the timeout, and has failed after that.
fn progress(rollout: &Rollout) -> TimeDelta {
    if rollout.requires_health { rollout.timeout * 2 } else { rollout.settle }
}

/// The newest commit that the engine can see, and where. Without a remote-tracking branch, everything committed counts.
fn published(
    repository: &Repository,
    Context { fleet, mode, .. }: &Context<'_>,
) -> Result<Option<(String, String)>, Fault> {
    if *mode != Some(Mode::Propose)
        && let Some(found) = repository.last_published(&branches(fleet))?
    {
        return Ok(Some(found));
    }
    Ok(repository.head()?.map(|head| (head, "HEAD".to_owned())))
}

/// Whether a file defines this rollout, after its first step. The file may have had another name.
fn has_begun(rollout: &Rollout, path: &str, text: &str) -> bool {
    let Some(root) = parsed(text) else { return false };
    let name = root.at(&["metadata", "name"]).and_then(Node::as_str);
    (path == rollout.file || name == Some(rollout.name.as_str())) && root.at(&["status"]).is_some()
}

/// What a commit means for a cluster. A cluster that was suspended rolls out its step once it is resumed.
fn event(edit: &CommitEdit<'_>) -> Result<Event, Fault> {
    if !edit.paths().any(|path| path == render::CLUSTER_FILE || render::lists_addons_of(path).is_some()) {
        return Ok(Event::None);
    }
    let texts = both(|side| edit.file(side, render::CLUSTER_FILE))?;
    if texts[0].is_some() != texts[1].is_some() {
        return Ok(Event::Step);
    }
    let clusters = texts.map(|text| text.as_deref().and_then(parsed));
    let [before, after] = clusters.each_ref().map(|cluster| cluster.as_ref());
    if is_step(edit, [before, after])? {
        return Ok(Event::Step);
    }
    let is_paused = |cluster: Option<&Node>| cluster.is_some_and(is_paused);
    Ok(match (is_paused(before), is_paused(after)) {
        (false, true) => Event::Paused,
        (true, false) => Event::Resumed,
        _ if releases_parts(before, after) => Event::Released,
        _ => Event::None,
    })
}

/// Whether a Cluster stops holding a part back.
fn releases_parts(before: Option<&Node>, after: Option<&Node>) -> bool {
    let (Some(before), Some(after)) = (before, after) else { return false };
    let (held, still) = (parts_of(before, true), parts_of(after, true));
    let there = parts_of(after, false);
    held.iter().any(|part| there.contains(part) && !still.contains(part))
}

/// As [`event`], of steps alone.
fn step(edit: &CommitEdit<'_>) -> Result<Event, Fault> {
    Ok(Some(event(edit)?).filter(|event| *event == Event::Step).unwrap_or(Event::None))
}

/// Whether a cluster moves: to another release or Kubernetes version, or to another version of an addon. Other changes are no
/// steps, nor are those of a stack without a numbered release that leave the versions as they are.
fn is_step(edit: &CommitEdit<'_>, clusters: [Option<&Node>; 2]) -> Result<bool, Fault> {
    let [before, after] = clusters.map(|cluster| cluster.and_then(release_of));
    if before.as_deref().map(release_line) != after.as_deref().map(release_line) {
        return Ok(true);
    }
    let [before, after] = clusters.map(|cluster| cluster.and_then(kubernetes_of));
    if before != after {
        return Ok(true);
    }
    let [before, after] = both(|side| addons(edit, side, clusters[usize::from(side == Side::After)]))?;
    Ok(before != after)
}

/// The versions of a cluster's addons.
fn addons(
    edit: &CommitEdit<'_>,
    side: Side,
    cluster: Option<&Node>,
) -> Result<Option<BTreeMap<String, String>>, Fault> {
    let name = cluster.and_then(|cluster| cluster.at(&["metadata", "name"])).and_then(Node::as_str);
    let Some(name) = name else { return Ok(None) };
    for list in render::addon_lists(name) {
        if let Some(text) = edit.file(side, &list)? {
            return Ok(parsed(&text).map(|list| listed_addons(&list)));
        }
    }
    Ok(None)
}

fn both<T>(of: impl Fn(Side) -> Result<T, Fault>) -> Result<[T; 2], Fault> {
    Ok([of(Side::Before)?, of(Side::After)?])
}

fn parsed(text: &str) -> Option<Node> {
    yaml::read(&Source::new(FileId(0), "", text), &mut Notes::new())
}
