//! Plans and their steps.

use std::collections::BTreeSet;

use super::{
    addon_path::{Cost, Way},
    release_path::ReleasePath,
    situation::Situation,
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpgradePlan {
    /// Its steps, in order; empty if there is nothing to do.
    pub steps: Vec<Step>,
    /// What it costs; no other plan costs less.
    pub cost: Cost,
}

/// A step of a plan, and the state of the cluster after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What it changes; everything else stays.
    pub change: StepChange,
    /// The release after the step.
    pub release: usize,
    /// The version of each addon after the step; none if the cluster does not have the addon.
    pub versions: Vec<Option<usize>>,
}

/// What a step changes. Numbers are indexes of the situation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepChange {
    Release {
        /// The release before.
        from: usize,
    },
    /// The version of an addon changes.
    Addon {
        addon: usize,
        /// Its version before.
        from: usize,
        /// Its version after.
        to: usize,
    },
}

/// Converts a search result to a plan.
pub fn steps(situation: &Situation, found: &ReleasePath) -> UpgradePlan {
    let order = order(situation);
    let ways = with_dependencies(situation, found, &order);
    let mut steps = Vec::new();
    let mut versions: Vec<Option<usize>> = situation.addons.iter().map(|track| track.start).collect();
    for (at, release) in found.path.iter().enumerate() {
        if at > 0 {
            for (addon, ways) in ways.iter().enumerate() {
                versions[addon] = version(situation, addon, ways[at][0]);
            }
            let change = StepChange::Release { from: found.path[at - 1] };
            steps.push(Step { change, release: *release, versions: versions.clone() });
        }
        for addon in first_repairs(situation, &order, &ways, at) {
            for pair in ways[addon][at].windows(2) {
                versions[addon] = version(situation, addon, pair[1]);
                let change = StepChange::Addon { addon, from: pair[0], to: pair[1] };
                steps.push(Step { change, release: *release, versions: versions.clone() });
            }
        }
    }
    UpgradePlan { steps, cost: found.cost }
}

/// The ways of the addons. What an addon depends on moves before it, if the earlier release allows that.
fn with_dependencies(situation: &Situation, found: &ReleasePath, order: &[usize]) -> Vec<Vec<Vec<usize>>> {
    let kept = situation.all();
    let mut ways = found.ways.clone();
    let moves_at = |ways: &[Vec<usize>]| ways.iter().position(|entries| entries.len() > 1);
    // Dependents come last in the order, and pull what they need before that pulls its own dependencies.
    for dependent in order.iter().rev() {
        let Some(at) = moves_at(&ways[*dependent]) else { continue };
        for needed in &situation.addons[*dependent].after {
            let way = Way { situation, track: &situation.addons[*needed], kept: &kept };
            let Some(later) = moves_at(&ways[*needed]).filter(|later| *later > at) else { continue };
            let (entries, path) = (ways[*needed][later].clone(), &found.path[at..=later]);
            let is_unchanged = ways[*needed][at..later].iter().all(|one| one.as_slice() == &entries[..1]);
            if is_unchanged && can_move_on(way, &entries, path) {
                let end = entries[entries.len() - 1];
                ways[*needed][at + 1..=later].iter_mut().for_each(|one| *one = vec![end]);
                ways[*needed][at] = entries;
            }
        }
    }
    ways
}

/// Whether an addon can move on the first release of a path, and stay as it is up to the last.
fn can_move_on(way: Way<'_>, entries: &[usize], path: &[usize]) -> bool {
    let end = entries[entries.len() - 1];
    let stays = |pair: &[usize]| {
        let after = way.along(pair[0], pair[1], end);
        after.iter().any(|(entry, cost)| *entry == end && cost.untested == 0)
    };
    entries.windows(2).all(|pair| way.step(path[0], pair[0], pair[1]).is_some_and(|cost| cost.untested == 0))
        && path.windows(2).all(stays)
}

fn version(situation: &Situation, addon: usize, entry: usize) -> Option<usize> {
    (entry < situation.addons[addon].versions.len()).then_some(entry)
}

/// The order of addons on a release. On the first, addons that do not fit today come first.
fn first_repairs(situation: &Situation, order: &[usize], ways: &[Vec<Vec<usize>>], at: usize) -> Vec<usize> {
    let kept = situation.all();
    let fits = |addon: &usize| {
        let way = Way { situation, track: &situation.addons[*addon], kept: &kept };
        at > 0 || way.fits(situation.start, ways[*addon][0][0])
    };
    let mut order = order.to_vec();
    order.sort_by_key(fits);
    order
}

/// The addons, each after its dependencies, otherwise by name.
fn order(situation: &Situation) -> Vec<usize> {
    let mut left: Vec<usize> = (0..situation.addons.len()).collect();
    left.sort_by(|a, b| situation.addons[*a].name.cmp(&situation.addons[*b].name));
    let mut order = Vec::new();
    while !left.is_empty() {
        let is_free = |one: &usize| !situation.addons[*one].after.iter().any(|other| left.contains(other));
        // Cyclic dependencies of addons are refused elsewhere.
        let next = left.iter().position(is_free).unwrap_or(0);
        order.push(left.remove(next));
    }
    order
}

/// The constraints that a plan breaks.
pub(super) fn broken(situation: &Situation, found: &ReleasePath) -> BTreeSet<usize> {
    let mut broken = BTreeSet::new();
    for pair in found.path.windows(2) {
        broken.extend(&situation.moves[&(pair[0], pair[1])]);
    }
    for (track, ways) in situation.addons.iter().zip(&found.ways) {
        for (at, release) in found.path.iter().enumerate() {
            let Some(listing) = &track.listings[*release] else { continue };
            let entries = &ways[at];
            // The first entry at the start is the current version. It only counts if the cluster keeps it.
            let is_left = entries.len() > 1
                || found.path.get(1).is_some_and(|next| situation.minor(*next) == situation.minor(*release));
            let is_today = |index: usize| at == 0 && index == 0 && is_left;
            for (index, entry) in entries.iter().enumerate().filter(|(index, _)| !is_today(*index)) {
                broken.extend(listing.broken.get(*entry).into_iter().flatten());
                if let Some(before) = index.checked_sub(1) {
                    broken.extend(track.broken_by(listing, entries[before], *entry).into_iter().flatten());
                }
            }
            let follows = at.checked_sub(1).and_then(|before| ways[before].last());
            if let Some(from) = follows.filter(|from| **from < track.versions.len() && **from != entries[0]) {
                broken.extend(track.broken_by(listing, *from, entries[0]).into_iter().flatten());
            }
        }
    }
    broken
}
