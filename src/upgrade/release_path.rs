//! Searches for the cheapest path of releases.
//!
//! A label stands for a path that ends at a release, with the cost of reaching each version of each addon. Labels are
//! processed in order of their minimum cost, so the first to reach the goal is the cheapest. A label is dropped if another
//! of the same release is at least as cheap everywhere.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap},
};

use super::{
    addon_path::{Cost, Reached, Way},
    situation::{Kept, Situation},
};

/// The number of labels processed before the search gives up.
const LABELS: usize = 50_000;

/// Why a search ended without a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotFound {
    /// No plan exists.
    Impossible,
    /// There are too many possibilities.
    TooMany,
}

/// A path of releases and its cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleasePath {
    /// The releases, first to last.
    pub path: Vec<usize>,
    /// The cost of the plan.
    pub cost: Cost,
    /// For each addon and each release of the path, the addon's versions there. The number of versions stands for no addon.
    pub ways: Vec<Vec<Vec<usize>>>,
}

/// The number of machines replaced by a move between two releases of the same Kubernetes minor. A move to another minor
/// replaces all machines, whatever the path.
pub type ReplacedMachines<'a> = &'a dyn Fn(usize, usize) -> u64;

struct Label {
    release: usize,
    base: Cost,
    addons: Vec<Reached>,
    before: Option<usize>,
}

struct Search<'a> {
    situation: &'a Situation,
    kept: &'a Kept,
    machines: Option<ReplacedMachines<'a>>,
    /// The maximum number of steps.
    most: u64,
    /// For each release, the minimum number of moves to the goal; none if the goal cannot be reached.
    ahead: Vec<Option<u64>>,
    labels: Vec<Label>,
    by_release: BTreeMap<usize, Vec<usize>>,
    /// The minimum cost, whether the label has reached the goal, and the label.
    open: BinaryHeap<Reverse<(Cost, bool, usize)>>,
}

/// Finds the cheapest plan that satisfies the constraints. `machines` is called only for moves that could be part of a plan
/// with the fewest steps.
pub fn search(
    situation: &Situation,
    kept: &Kept,
    machines: Option<ReplacedMachines<'_>>,
) -> Result<ReleasePath, NotFound> {
    let found = Search::new(situation, kept, None, u64::MAX).run()?;
    match machines {
        Some(machines) if found.path.len() > 1 => {
            Search::new(situation, kept, Some(machines), found.cost.steps).run()
        }
        _ => Ok(found),
    }
}

impl<'a> Search<'a> {
    fn new(
        situation: &'a Situation,
        kept: &'a Kept,
        machines: Option<ReplacedMachines<'a>>,
        most: u64,
    ) -> Self {
        let (open, ahead) = (BinaryHeap::new(), ahead(situation, kept));
        Self { situation, kept, machines, most, ahead, labels: Vec::new(), by_release: BTreeMap::new(), open }
    }

    fn ways(&self) -> impl Iterator<Item = Way<'a>> + use<'a> {
        let (situation, kept) = (self.situation, self.kept);
        situation.addons.iter().map(move |track| Way { situation, track, kept })
    }

    fn run(mut self) -> Result<ReleasePath, NotFound> {
        let start = self.situation.start;
        let mut addons: Vec<Reached> = self.ways().map(Way::begin).collect();
        self.close(start, &mut addons);
        self.add(Label { release: start, base: Cost::default(), addons, before: None });
        while let Some(Reverse((cost, has_arrived, at))) = self.open.pop() {
            if has_arrived {
                return self.found(cost, at).ok_or(NotFound::Impossible);
            }
            self.go_on(at);
            if self.labels.len() > LABELS {
                return Err(NotFound::TooMany);
            }
        }
        Err(NotFound::Impossible)
    }

    fn close(&self, release: usize, addons: &mut [Reached]) {
        for (way, reached) in self.ways().zip(addons) {
            way.close(release, reached);
        }
    }

    /// Extends a label to all releases that can follow.
    fn go_on(&mut self, at: usize) {
        let from = self.labels[at].release;
        let situation = self.situation;
        for ((_, to), broken) in situation.moves.range((from, 0)..=(from, usize::MAX)) {
            if !self.kept.allows(broken) {
                continue;
            }
            let label = &self.labels[at];
            let mut addons: Vec<Reached> =
                self.ways().zip(&label.addons).map(|(way, reached)| way.moved(from, *to, reached)).collect();
            self.close(*to, &mut addons);
            let one = Cost { steps: 1, age: situation.releases[*to].age, ..Cost::default() };
            let mut label = Label { release: *to, base: label.base.and(one), addons, before: Some(at) };
            if self.least(&label).is_none_or(|least| least.steps > self.most) {
                continue;
            }
            if let Some(machines) = self.machines
                && situation.minor(from) == situation.minor(*to)
            {
                label.base.machines += machines(from, *to);
            }
            self.add(label);
        }
    }

    /// The minimum cost of any plan that extends a label; none if there is no such plan.
    fn least(&self, label: &Label) -> Option<Cost> {
        let ahead = Cost { steps: self.ahead[label.release]?, ..Cost::default() };
        let mut sum = label.base.and(ahead);
        for reached in &label.addons {
            sum = sum.and(*reached.iter().flatten().min()?);
        }
        Some(sum)
    }

    fn add(&mut self, label: Label) {
        let Some(least) = self.least(&label) else { return };
        let known = self.by_release.entry(label.release).or_default();
        if known.iter().any(|one| self.labels[*one].is_nowhere_dearer(&label)) {
            return;
        }
        let at = self.labels.len();
        known.push(at);
        if self.situation.is_goal(label.release) {
            let ends = self.ways().zip(&label.addons).map(|(way, reached)| way.end(label.release, reached));
            let all: Option<Vec<Cost>> = ends.map(|end| end.map(|(_, cost)| cost)).collect();
            if let Some(all) = all {
                let cost = all.into_iter().fold(label.base, Cost::and);
                self.open.push(Reverse((cost, true, at)));
            }
        }
        self.open.push(Reverse((least, false, at)));
        self.labels.push(label);
    }

    fn found(&self, cost: Cost, at: usize) -> Option<ReleasePath> {
        let mut path = Vec::new();
        let mut next = Some(at);
        while let Some(one) = next {
            path.push(self.labels[one].release);
            next = self.labels[one].before;
        }
        path.reverse();
        let ways = self.ways().map(|way| way.trace(&path)).collect::<Option<_>>()?;
        Some(ReleasePath { path, cost, ways })
    }
}

impl Label {
    fn is_nowhere_dearer(&self, other: &Self) -> bool {
        let is_at_most = |own: &Option<Cost>, other: &Option<Cost>| match (own, other) {
            (_, None) => true,
            (Some(own), Some(other)) => own <= other,
            (None, Some(_)) => false,
        };
        self.base <= other.base
            && self
                .addons
                .iter()
                .zip(&other.addons)
                .all(|(own, other)| own.iter().zip(other).all(|(own, other)| is_at_most(own, other)))
    }
}

/// For each release, the minimum number of moves to the goal, ignoring addons.
fn ahead(situation: &Situation, kept: &Kept) -> Vec<Option<u64>> {
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); situation.releases.len()];
    for ((from, to), _) in situation.moves.iter().filter(|(_, broken)| kept.allows(broken)) {
        before[*to].push(*from);
    }
    let mut ahead = vec![None; situation.releases.len()];
    let mut next: Vec<usize> = (0..situation.releases.len()).filter(|one| situation.is_goal(*one)).collect();
    for moves in 0.. {
        next.retain(|one| ahead[*one].is_none());
        if next.is_empty() {
            break;
        }
        for one in &next {
            ahead[*one] = Some(moves);
        }
        next = next.iter().flat_map(|one| before[*one].iter().copied()).collect();
    }
    ahead
}
