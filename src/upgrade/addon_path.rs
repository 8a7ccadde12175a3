//! Tracks one addon along a path of releases, with the cost of having each version.
//!
//! Whether a version fits depends only on the release, not on other addons. Along a path, the cheapest way of each addon can
//! therefore be found separately, and the cost of the path is the sum.

use super::situation::{Kept, Listing, Situation, Track};

/// The cost of a plan; the plan with the lower cost is better. Fields are compared in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cost {
    /// The number of steps.
    pub steps: u64,
    /// The number of machines replaced.
    pub machines: u64,
    /// The number of times that a step leaves an addon on a Kubernetes version that its documentation does not list.
    pub untested: u64,
    /// The number of minors that addons move.
    pub minors: u64,
    /// The number of newer releases and versions that could have been used instead.
    pub age: u64,
}

impl Cost {
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            steps: self.steps + other.steps,
            machines: self.machines.saturating_add(other.machines),
            untested: self.untested + other.untested,
            minors: self.minors + other.minors,
            age: self.age + other.age,
        }
    }
}

/// The cost of having an addon at each version; none if impossible. The last entry stands for not having the addon.
pub(super) type Reached = Vec<Option<Cost>>;

/// How a version was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Predecessor {
    /// Together with the release, from this entry.
    Along(usize),
    /// By a step of the addon, from this version.
    Step(usize),
}

/// An addon in a situation, with the constraints in force.
#[derive(Clone, Copy)]
pub(super) struct Way<'a> {
    pub(super) situation: &'a Situation,
    pub(super) track: &'a Track,
    pub(super) kept: &'a Kept,
}

impl<'a> Way<'a> {
    /// The entry for not having the addon.
    fn none(self) -> usize {
        self.track.versions.len()
    }

    fn listing(self, release: usize) -> Option<&'a Listing> {
        self.track.listings[release].as_ref()
    }

    /// The entries before the first step.
    pub(super) fn begin(self) -> Reached {
        let mut reached = vec![None; self.none() + 1];
        reached[self.track.start.unwrap_or(self.none())] = Some(Cost::default());
        reached
    }

    /// Whether a cluster on a release may have the addon at an entry.
    pub(super) fn fits(self, release: usize, entry: usize) -> bool {
        match self.listing(release) {
            Some(listing) => entry != self.none() && self.kept.allows(&listing.broken[entry]),
            None => entry == self.none(),
        }
    }

    /// Whether a move to another release of the same minor may mend the addon, which does not fit today.
    pub(super) fn may_mend(self, from: usize, to: usize, entry: usize) -> bool {
        let situation = self.situation;
        from == situation.start
            && entry == self.track.start.unwrap_or(self.none())
            && situation.minor(from) == situation.minor(to)
    }

    /// The cost of a step of the addon on a release, if it is possible.
    pub(super) fn step(self, release: usize, from: usize, to: usize) -> Option<Cost> {
        if from == self.none() || to == self.none() {
            return None;
        }
        let listing = self.listing(release)?;
        let broken = self.track.broken_by(listing, from, to)?;
        let (old, new) = (&self.track.versions[from].version, &self.track.versions[to].version);
        let minors = super::situation::distance(old, new);
        let untested = listing.untested(to);
        let cost = Cost { steps: 1, machines: 0, untested, minors, age: self.track.age(to) };
        self.kept.allows(&broken).then_some(cost)
    }

    /// Adds all entries that can be reached by steps of the addon on a release.
    pub(super) fn close(self, release: usize, reached: &mut Reached) {
        let mut open: Vec<usize> = (0..reached.len()).filter(|one| reached[*one].is_some()).collect();
        while let Some(from) = open.pop() {
            let Some(cost) = reached[from] else { continue };
            for (to, known) in reached.iter_mut().enumerate() {
                let Some(more) = self.step(release, from, to) else { continue };
                let cost = cost.and(more);
                if known.is_none_or(|known| cost < known) {
                    *known = Some(cost);
                    open.push(to);
                }
            }
        }
    }

    /// The entries that an entry can lead to when the release changes, with their costs.
    pub(super) fn along(self, from: usize, to: usize, entry: usize) -> Vec<(usize, Cost)> {
        if !self.fits(from, entry) && !self.may_mend(from, to, entry) {
            return Vec::new();
        }
        let Some(listing) = self.listing(to) else { return vec![(self.none(), Cost::default())] };
        let free = |entry: usize| Cost { untested: listing.untested(entry), ..Cost::default() };
        if entry == self.none() {
            return if self.fits(to, listing.own) {
                vec![(listing.own, free(listing.own))]
            } else {
                Vec::new()
            };
        }
        let mut found = Vec::new();
        let is_same_minor = self.situation.minor(from) == self.situation.minor(to);
        let broken = self.track.broken_by(listing, entry, listing.own);
        let follows = broken.is_some_and(|broken| self.kept.allows(&broken));
        let may_follow = is_same_minor && !self.track.held && entry != listing.own && follows;
        if may_follow {
            let number = |at: usize| &self.track.versions[at].version;
            let minors = super::situation::distance(number(entry), number(listing.own));
            found.push((listing.own, Cost { minors, ..free(listing.own) }));
        }
        if self.fits(to, entry) {
            // Between otherwise equal plans, prefer the one in which the addon moves with its release.
            found.push((entry, Cost { age: u64::from(may_follow), ..free(entry) }));
        }
        found
    }

    /// The entries that can be reached when the release changes.
    pub(super) fn moved(self, from: usize, to: usize, reached: &Reached) -> Reached {
        let mut after = vec![None; reached.len()];
        for (entry, cost) in reached.iter().enumerate() {
            let Some(cost) = cost else { continue };
            for (next, more) in self.along(from, to, entry) {
                let cost = cost.and(more);
                if after[next].is_none_or(|known| cost < known) {
                    after[next] = Some(cost);
                }
            }
        }
        after
    }

    /// Whether the addon may end at an entry.
    fn is_goal(self, release: usize, entry: usize) -> bool {
        if !self.fits(release, entry) {
            return false;
        }
        let follows = matches!(self.situation.goal, super::situation::Goal::Release(_)) && !self.track.held;
        match self.listing(release).filter(|_| follows && entry != self.none()) {
            Some(listing) => {
                let version = |at: usize| self.track.versions[at].version.as_semver();
                version(entry) >= version(listing.own)
            }
            None => true,
        }
    }

    /// The cheapest final entry.
    pub(super) fn end(self, release: usize, reached: &Reached) -> Option<(usize, Cost)> {
        let costs = reached.iter().enumerate().filter_map(|(entry, cost)| Some((entry, (*cost)?)));
        let fitting = costs.filter(|(entry, _)| self.is_goal(release, *entry));
        fitting.min_by_key(|(entry, cost)| (*cost, *entry))
    }

    /// The cheapest way along a path: for each release, the addon's entries there from first to last.
    pub(super) fn trace(self, path: &[usize]) -> Option<Vec<Vec<usize>>> {
        let mut came: Vec<(Reached, Reached)> = Vec::new();
        for (at, release) in path.iter().enumerate() {
            let entered = match came.last() {
                None => self.begin(),
                Some((_, before)) => self.moved(path[at - 1], *release, before),
            };
            let mut closed = entered.clone();
            self.close(*release, &mut closed);
            came.push((entered, closed));
        }
        let (last, (_, closed)) = (*path.last()?, came.last()?);
        let (mut entry, _) = self.end(last, closed)?;
        let mut ways = vec![Vec::new(); path.len()];
        for at in (0..path.len()).rev() {
            ways[at].push(entry);
            // Steps are taken as late as possible, just before something needs them.
            while let Predecessor::Step(before) = self.came(path[at], &came[at], entry) {
                ways[at].push(before);
                entry = before;
            }
            ways[at].reverse();
            if at > 0 {
                let Predecessor::Along(before) =
                    self.came_along((path[at - 1], path[at]), &came, at, entry)?
                else {
                    return None;
                };
                entry = before;
            }
        }
        Some(ways)
    }

    /// Finds out how an entry was reached on a release.
    fn came(self, release: usize, (entered, closed): &(Reached, Reached), entry: usize) -> Predecessor {
        let is_before = |from: &usize| {
            let cost = closed[*from].zip(self.step(release, *from, entry));
            cost.is_some_and(|(cost, more)| Some(cost.and(more)) == closed[entry])
        };
        match (0..self.none()).find(is_before) {
            Some(before) => Predecessor::Step(before),
            None => {
                debug_assert_eq!(entered[entry], closed[entry]);
                Predecessor::Along(entry)
            }
        }
    }

    /// Finds the entry on the previous release that led to an entry.
    fn came_along(
        self,
        (from, to): (usize, usize),
        came: &[(Reached, Reached)],
        at: usize,
        entry: usize,
    ) -> Option<Predecessor> {
        let (before, cost) = (&came[at - 1].1, came[at].0[entry]);
        let found = (0..before.len()).find(|one| {
            let own = before[*one].map(|own| {
                let next = self.along(from, to, *one).into_iter().find(|(next, _)| *next == entry);
                next.map(|(_, more)| own.and(more))
            });
            own.flatten() == cost && cost.is_some()
        });
        found.map(Predecessor::Along)
    }
}
