//! Plans of upgrades for random situations, compared with exhaustive search. Each plan is valid and as cheap as any. If
//! there is no plan, no smaller set of constraints rules out all plans.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
};

use stackloom::{
    generate,
    model::{AddonVersion, Cluster, KubernetesVersion, Minor},
    note::Notes,
    upgrade::{
        Candidate, Constraint, ConstraintKind, Goal, Kept, Listing, NotFound, PlanningFleet, Situation,
        StepChange, Track, UpgradeTarget, Version, conflict, search, steps,
    },
};

use super::support::{self, random::Random};

/// A release, and the version of each addon.
type State = (usize, Vec<Option<usize>>);

/// Steps, machines, untested combinations, and minors that addons move.
type Price = (u64, u64, u64, u64);

fn constraint(constraints: &mut Vec<Constraint>, kind: ConstraintKind) -> usize {
    constraints.push(Constraint { kind, text: String::new(), origin: None, lift: String::new() });
    constraints.len() - 1
}

fn releases(random: &mut Random) -> Vec<Candidate> {
    let mut found = Vec::new();
    for minor in 30..31 + 1 + random.below(3) {
        let count = if minor == 30 { 1 + random.below(2) } else { random.below(3) };
        for number in 0..count {
            let kubernetes = KubernetesVersion::parse(&format!("1.{minor}.{number}")).unwrap();
            let age = (count - number - 1) as u64;
            found.push(Candidate { name: format!("r-{minor}-{number}"), kubernetes, age });
        }
    }
    found
}

fn track(name: usize, releases: &[Candidate], all: &mut Vec<Constraint>, random: &mut Random) -> Track {
    let is_special = random.below(6) == 0;
    let mut versions = Vec::new();
    for number in 0..=random.below(4) {
        let text = ["1.0.0", "1.1.0", "1.1.1", "1.2.0", "2.0.0"][(number + random.below(2)).min(4)];
        let version = AddonVersion::parse(text).unwrap();
        versions.push(Version { version, is_special: is_special && number == 0 });
    }
    // For each version, a range of minors that it supports.
    let ranges: Vec<(u64, u64, usize)> = versions
        .iter()
        .map(|_| {
            let low = 30 + random.below(3) as u64;
            (low, low + random.below(4) as u64, constraint(all, ConstraintKind::Range))
        })
        .collect();
    let rule = constraint(all, ConstraintKind::Rule);
    let limit = [None, Some(1), Some(0)][random.below(3)];
    let is_missing = random.below(4) == 0;
    let listings = releases.iter().map(|release| {
        let minor = release.kubernetes.minor().minor;
        let broken = ranges.iter().map(|(low, high, range)| {
            let is_wide = random.below(3) == 0;
            let mut broken = Vec::new();
            if !(*low..=*high).contains(&minor) && !is_wide {
                broken.push(*range);
            }
            if random.below(8) == 0 {
                broken.push(rule);
            }
            broken
        });
        let broken: Vec<_> = broken.collect();
        let is_there = !(is_missing && random.below(2) == 0);
        let plain: Vec<usize> = (0..versions.len()).filter(|one| !versions[*one].is_special).collect();
        let own = plain.get(random.below(plain.len().max(1))).copied().unwrap_or(0);
        let doubts = versions.iter().map(|_| (random.below(3) == 0).then_some(0)).collect();
        is_there.then_some(Listing { own, limit, broken, doubts })
    });
    let listings: Vec<_> = listings.collect();
    let start = listings[0].is_some().then(|| random.below(versions.len()));
    let held = versions[0].is_special || random.below(4) == 0;
    let step = constraint(all, ConstraintKind::MinorStep);
    let back = constraint(all, ConstraintKind::Downgrade);
    Track { name: format!("addon-{name}"), held, start, versions, listings, after: Vec::new(), step, back }
}

/// A small situation.
fn situation(random: &mut Random) -> Situation {
    let releases = releases(random);
    let mut constraints = Vec::new();
    let skip: BTreeMap<u64, usize> =
        (30..35).map(|minor| (minor, constraint(&mut constraints, ConstraintKind::Minor))).collect();
    let old = constraint(&mut constraints, ConstraintKind::OlderRelease);
    let expired = constraint(&mut constraints, ConstraintKind::Maturity);
    let expired_minor = 31 + random.below(6) as u64;
    let goal = releases.len() - 1;
    let number = |at: usize| releases[at].kubernetes.minor().minor;
    let mut moves = BTreeMap::new();
    for from in 0..releases.len() {
        for to in (0..releases.len()).filter(|to| *to != from) {
            let mut broken: Vec<usize> = (number(from) + 1..number(to)).map(|minor| skip[&minor]).collect();
            broken.extend((to < from).then_some(old));
            let is_passed = number(to) == expired_minor && number(to) != number(goal);
            broken.extend(is_passed.then_some(expired));
            moves.insert((from, to), broken);
        }
    }
    let mut addons = Vec::new();
    for name in 0..random.below(4) {
        addons.push(track(name, &releases, &mut constraints, random));
    }
    let goal = if random.below(2) == 0 {
        Goal::Release(goal)
    } else {
        Goal::Minor(Minor { major: 1, minor: number(goal) })
    };
    Situation { releases, addons, constraints, doubts: vec![String::new()], start: 0, goal, moves }
}

/// The number of machines replaced between two releases of one minor.
fn machines(from: usize, to: usize) -> u64 {
    ((from * 7 + to * 3) % 4) as u64
}

/// A naive model of a situation with the constraints in force.
struct Plain<'a>(&'a Situation, &'a Kept);

impl Plain<'_> {
    fn allows(&self, broken: &[usize]) -> bool {
        !broken.iter().any(|one| self.1.0[*one])
    }

    fn fits(&self, release: usize, addon: usize, version: Option<usize>) -> bool {
        match (&self.0.addons[addon].listings[release], version) {
            (Some(listing), Some(version)) => self.allows(&listing.broken[version]),
            (None, None) => true,
            _ => false,
        }
    }

    fn fit(&self, (release, versions): &State) -> bool {
        versions.iter().enumerate().all(|(addon, version)| self.fits(*release, addon, *version))
    }

    /// Whether all addons fit on the release before a move. Those that the cluster has today need not, if the minor stays.
    fn may_leave(&self, (release, versions): &State, to: usize) -> bool {
        let minor = |at: usize| self.0.releases[at].kubernetes.minor();
        let may_mend = *release == self.0.start && minor(*release) == minor(to);
        versions.iter().enumerate().all(|(addon, version)| {
            self.fits(*release, addon, *version) || may_mend && *version == self.0.addons[addon].start
        })
    }

    fn minors(&self, addon: usize, from: usize, to: usize) -> u64 {
        let of = |at: usize| self.0.addons[addon].versions[at].version.as_semver().clone();
        let (low, high) = (of(from).min(of(to)), of(from).max(of(to)));
        if low.major == high.major { high.minor - low.minor } else { high.major - low.major + high.minor }
    }

    /// Whether an addon may make this change on a release.
    fn may_change(&self, release: usize, addon: usize, from: usize, to: usize) -> bool {
        let track = &self.0.addons[addon];
        let listing = track.listings[release].as_ref().unwrap();
        let of = |at: usize| track.versions[at].version.as_semver();
        let is_back = of(to) < of(from);
        let is_far = listing.limit.is_some_and(|limit| self.minors(addon, from, to) > limit);
        from != to
            && !track.versions[to].is_special
            && self.fits(release, addon, Some(to))
            && !(is_back && self.1.0[track.back])
            && !(is_far && self.1.0[track.step])
    }

    fn is_untested(&self, release: usize, addon: usize, version: usize) -> bool {
        self.0.addons[addon].listings[release].as_ref().unwrap().doubts[version].is_some()
    }

    /// All states that are one step away, with the price of the step.
    fn next(&self, state: &State) -> Vec<(State, Price)> {
        let (release, versions) = state;
        let mut found = Vec::new();
        for (addon, from) in versions.iter().enumerate() {
            let (Some(from), Some(_)) = (*from, &self.0.addons[addon].listings[*release]) else { continue };
            for to in 0..self.0.addons[addon].versions.len() {
                if self.may_change(*release, addon, from, to) {
                    let mut versions = versions.clone();
                    versions[addon] = Some(to);
                    let untested = u64::from(self.is_untested(*release, addon, to));
                    found.push(((*release, versions), (1, 0, untested, self.minors(addon, from, to))));
                }
            }
        }
        for ((from, to), broken) in &self.0.moves {
            if from == release && self.allows(broken) && self.may_leave(state, *to) {
                found.extend(self.along(*to, state));
            }
        }
        found
    }

    fn along(&self, to: usize, (from, versions): &State) -> Vec<(State, Price)> {
        let minor = |at: usize| self.0.releases[at].kubernetes.minor();
        let is_same = minor(*from) == minor(to);
        let mut all = vec![Vec::new()];
        for (addon, version) in versions.iter().enumerate() {
            let track = &self.0.addons[addon];
            let mut choices = Vec::new();
            match (&track.listings[to], *version) {
                (None, _) => choices.push(None),
                (Some(listing), None) => choices.push(Some(listing.own)),
                (Some(listing), Some(version)) => {
                    choices.push(Some(version));
                    if is_same && !track.held && self.may_change(to, addon, version, listing.own) {
                        choices.push(Some(listing.own));
                    }
                }
            }
            let longer = |before: &Vec<Option<usize>>| {
                let with = |choice: &Option<usize>| [before.as_slice(), &[*choice]].concat();
                choices.iter().map(with).collect::<Vec<_>>()
            };
            all = all.iter().flat_map(longer).collect();
        }
        let machines = if is_same { machines(*from, to) } else { 0 };
        let untested = |versions: &[Option<usize>]| {
            let each = versions.iter().enumerate();
            each.filter(|(addon, one)| one.is_some_and(|one| self.is_untested(to, *addon, one))).count()
                as u64
        };
        let moved = |after: &[Option<usize>]| -> u64 {
            let each = versions.iter().zip(after).enumerate();
            each.filter_map(|(addon, (from, to))| Some(self.minors(addon, (*from)?, (*to)?))).sum()
        };
        let priced = |versions: Vec<Option<usize>>| {
            let price = (1, machines, untested(&versions), moved(&versions));
            ((to, versions), price)
        };
        all.into_iter().map(priced).filter(|(state, _)| self.fit(state)).collect()
    }

    fn is_goal(&self, state: &State) -> bool {
        let (release, versions) = state;
        let is_there = match self.0.goal {
            Goal::Release(goal) => goal == *release,
            Goal::Minor(minor) => self.0.releases[*release].kubernetes.minor() == minor,
        };
        let follows = |(addon, version): (usize, &Option<usize>)| {
            let track = &self.0.addons[addon];
            let (Some(listing), Some(version)) = (&track.listings[*release], *version) else { return true };
            let of = |at: usize| track.versions[at].version.as_semver();
            track.held || matches!(self.0.goal, Goal::Minor(_)) || of(version) >= of(listing.own)
        };
        is_there && self.fit(state) && versions.iter().enumerate().all(follows)
    }

    /// The lowest price of any plan.
    fn cheapest(&self) -> Option<Price> {
        let start = (self.0.start, self.0.addons.iter().map(|track| track.start).collect());
        let mut open: BTreeSet<(Price, State)> = BTreeSet::from([((0, 0, 0, 0), start)]);
        let mut done = BTreeSet::new();
        while let Some((price, state)) = open.pop_first() {
            if self.is_goal(&state) {
                return Some(price);
            }
            if done.insert(state.clone()) {
                for (next, (steps, machines, untested, minors)) in self.next(&state) {
                    let price = (price.0 + steps, price.1 + machines, price.2 + untested, price.3 + minors);
                    open.insert((price, next));
                }
            }
        }
        None
    }
}

/// Whether a smaller set of constraints rules out all plans. If any does, so does one of the largest smaller size.
fn is_ruled_out_by_fewer(situation: &Situation, size: usize) -> bool {
    let listings = situation.addons.iter().flat_map(|track| track.listings.iter().flatten());
    let broken = listings.flat_map(|listing| &listing.broken).chain(situation.moves.values()).flatten();
    let of_steps = situation.addons.iter().flat_map(|track| [&track.step, &track.back]);
    let all: BTreeSet<usize> = broken.chain(of_steps).copied().collect();
    let mut sets = vec![Vec::new()];
    for _ in 1..size.min(all.len() + 1) {
        let longer = |set: &Vec<usize>| {
            let from = set.last().map_or(0, |last| last + 1);
            all.range(from..).map(|one| [set.as_slice(), &[*one]].concat()).collect::<Vec<_>>()
        };
        sets = sets.iter().flat_map(longer).collect();
    }
    sets.iter().any(|set| Plain(situation, &situation.only(set)).cheapest().is_none())
}

/// Checks that exhaustive search knows each step of a plan, and that the last step reaches the goal.
fn replay(situation: &Situation, found: &stackloom::upgrade::ReleasePath) {
    let all = situation.all();
    let plain = Plain(situation, &all);
    let mut state: State = (situation.start, situation.addons.iter().map(|track| track.start).collect());
    let plan = steps(situation, found);
    assert_eq!(plan.steps.len() as u64, plan.cost.steps);
    for step in plan.steps {
        let next = (step.release, step.versions.clone());
        assert!(plain.next(&state).iter().any(|(one, _)| *one == next), "{state:?} to {next:?}");
        if let StepChange::Addon { addon, from, to } = step.change {
            assert_eq!((state.1[addon], next.1[addon]), (Some(from), Some(to)));
        }
        state = next;
    }
    assert!(plain.is_goal(&state), "{state:?}");
}

#[test]
fn plans_are_as_good_as_trying_everything_and_reasons_are_the_fewest() {
    let count = env::var("STACKLOOM_PLANS").ok().map_or(150, |count| count.parse().unwrap());
    let (mut planned, mut refused, mut sizes) = (0, 0, BTreeMap::new());
    for seed in 0..count {
        let situation = situation(&mut Random::new(seed));
        let all = situation.all();
        let expected = Plain(&situation, &all).cheapest();
        match search(&situation, &all, Some(&machines)) {
            Ok(found) => {
                let cost = found.cost;
                assert_eq!(
                    Some((cost.steps, cost.machines, cost.untested, cost.minors)),
                    expected,
                    "seed {seed}: {situation:#?}"
                );
                replay(&situation, &found);
                planned += 1;
            }
            Err(why) => {
                assert_eq!((why, expected), (NotFound::Impossible, None), "seed {seed}: {situation:#?}");
                let Some(conflict) = conflict(&situation).unwrap() else {
                    let none = situation.only(&[]);
                    assert_eq!(Plain(&situation, &none).cheapest(), None, "seed {seed}");
                    continue;
                };
                let named: Vec<usize> = conflict.constraints.iter().map(|one| one.constraint).collect();
                assert_eq!(
                    Plain(&situation, &situation.only(&named)).cheapest(),
                    None,
                    "seed {seed}: {named:?}"
                );
                let is_smaller = is_ruled_out_by_fewer(&situation, named.len());
                assert!(!is_smaller, "seed {seed}: {named:?} of {situation:#?}");
                for one in &conflict.constraints {
                    let mut kept = situation.all();
                    kept.0[one.constraint] = false;
                    let is_possible = Plain(&situation, &kept).cheapest().is_some();
                    let is_law = situation.constraints[one.constraint].kind.is_law();
                    let expected = (!is_law).then_some(is_possible);
                    assert_eq!(one.is_enough, expected, "seed {seed}: {one:?}");
                }
                *sizes.entry(named.len()).or_insert(0) += 1;
                refused += 1;
            }
        }
    }
    // Otherwise the situations would prove little.
    assert!(planned > count / 4 && refused > count / 8, "{planned} planned, {refused} refused: {sizes:?}");
    assert!(sizes.len() > 2, "{sizes:?}");
}

/// Two releases of the minor in between each list the next version of only one addon. If one addon moves, the other cannot.
#[test]
fn addons_that_block_one_another_are_named_together() {
    let kubernetes = |text| KubernetesVersion::parse(text).unwrap();
    let releases = [("r-30", "1.30.0"), ("r-31-v1", "1.31.0"), ("r-31-v2", "1.31.0"), ("r-32", "1.32.0")]
        .map(|(name, version)| Candidate { name: name.to_owned(), kubernetes: kubernetes(version), age: 0 });
    let mut all = Vec::new();
    let skip = constraint(&mut all, ConstraintKind::Minor);
    let older = constraint(&mut all, ConstraintKind::OlderRelease);
    let moves = [(0, 1), (0, 2), (1, 2), (2, 1), (1, 3), (2, 3), (0, 3)];
    let broken = |(from, to)| match (from, to) {
        (0, 3) => vec![skip],
        (2, 1) => vec![older],
        _ => Vec::new(),
    };
    let moves: BTreeMap<_, _> = moves.into_iter().map(|one| (one, broken(one))).collect();
    let mut addon = |name: &str, newer_in: usize| {
        let [old, new] = [0, 1].map(|_| constraint(&mut all, ConstraintKind::Range));
        let listings = (0..4).map(|release| {
            let fits_new = release == 3 || release == newer_in;
            let broken = vec![
                if release == 3 { vec![old] } else { vec![] },
                if fits_new { vec![] } else { vec![new] },
            ];
            Some(Listing { own: usize::from(release == 3), limit: None, broken, doubts: vec![None; 2] })
        });
        let version = |text| Version { version: AddonVersion::parse(text).unwrap(), is_special: false };
        let [step, back] = [0, 1].map(|_| constraint(&mut all, ConstraintKind::MinorStep));
        let versions = vec![version("1.0.0"), version("1.1.0")];
        let listings = listings.collect();
        let name = name.to_owned();
        Track { name, held: false, start: Some(0), versions, listings, after: Vec::new(), step, back }
    };
    let addons = vec![addon("first", 1), addon("second", 2)];
    let situation = Situation {
        releases: releases.to_vec(),
        addons,
        constraints: all,
        doubts: Vec::new(),
        start: 0,
        goal: Goal::Release(3),
        moves,
    };
    assert_eq!(search(&situation, &situation.all(), None), Err(NotFound::Impossible));
    let conflict = conflict(&situation).unwrap().unwrap();
    let named: Vec<(usize, Option<bool>)> =
        conflict.constraints.iter().map(|one| (one.constraint, one.is_enough)).collect();
    // Both versions of both addons: lifting any of these constraints is enough.
    assert_eq!(named, [2, 3, 6, 7].map(|one| (one, Some(true))));
    assert!(!is_ruled_out_by_fewer(&situation, named.len()));
}

/// Values of addons, and management clusters that rule nothing out, make no situation of their own.
#[test]
fn equal_situations_are_solved_once() {
    let mut files = support::large::large(40);
    for minor in ["1.35", "1.36"] {
        let defaults = files.0.get_mut(&format!("clusters/prod/eu-2/{minor}/_defaults.yaml")).unwrap();
        defaults.push_str("  managementCluster: lab\n");
    }
    let mut notes = Notes::new();
    let understood = generate::understand(&files, &mut notes).unwrap_or_else(|_| panic!("{notes:?}"));
    let clusters: Vec<&Cluster> = understood.model.clusters.iter().collect();
    let lab = clusters.iter().filter(|one| one.management.name.as_str() == "lab").count();
    assert_eq!((clusters.len(), lab), (40, 8));
    let solved = PlanningFleet::new(&understood, false).solve(&UpgradeTarget::Latest, &clusters);
    let sizes: usize = solved.iter().map(|one| one.clusters.len()).sum();
    // Two stacks with two minors each, and three of these without Metrics Server.
    assert_eq!((solved.len(), sizes), (7, 40));
}
