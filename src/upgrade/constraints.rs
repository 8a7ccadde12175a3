//! Derives the situation of a cluster from definitions and releases.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    addon,
    charts::ChartRanges,
    distinct_releases::distinct,
    requirements,
    situation::{Candidate, Constraint, ConstraintKind, Goal, Situation},
};
use crate::{
    definition::{Channel, Model},
    generate::Understood,
    model::{Cluster, ClusterId, Label, Maturity, Minor, ReleaseRef},
    note::Notes,
    release::{self, Release, Releases},
    topology::TopologyPart,
    world::{Input, release_line},
};

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UpgradeTarget {
    Release(ReleaseRef),
    /// Any release of this Kubernetes minor.
    Minor(Minor),
    /// The newest release of the cluster's own Kubernetes minor.
    Newest,
    /// The newest release of the newest Kubernetes minor that is neither preview nor expired.
    Latest,
}

/// The fleet that plans are made for.
#[derive(Debug)]
pub struct PlanningFleet<'a> {
    pub model: &'a Model,
    /// The releases that clusters can use.
    pub releases: &'a Releases,
    /// The input of the run.
    pub input: &'a Input,
    /// Whether plans may pass through expired Kubernetes minors.
    pub through_expired: bool,
    /// The releases that plans keep to. Where a stack and minor has none of them, plans use any release.
    frozen: BTreeSet<String>,
    pub(super) behind: PoolsBehind,
    charts: ChartRanges<'a>,
}

/// The pools that run an older Kubernetes version than their Cluster, with that version, by cluster and pool.
pub type PoolsBehind = BTreeMap<ClusterId, BTreeMap<TopologyPart, String>>;

/// Clusters with equal keys get the same plan.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SituationKey {
    release: ReleaseRef,
    /// The management cluster; none if it supports all releases that the cluster could use.
    management: Option<Label>,
    addons: Vec<(String, addon::AddonSettings)>,
}

/// The starting point for planning a cluster.
#[derive(Clone, Debug)]
pub enum Situated {
    /// A plan must be searched for.
    IndexedSituation(Box<IndexedSituation>),
    /// The cluster already has a later Kubernetes minor than the target.
    Ahead,
    /// The cluster cannot use the target.
    NoTarget(Constraint),
}

/// A situation, and the releases that its indexes refer to.
#[derive(Clone, Debug)]
pub struct IndexedSituation {
    /// The situation, in which releases are numbers.
    pub situation: Situation,
    /// The releases that these numbers mean.
    pub releases: Vec<Arc<Release>>,
    /// Why the plan ends where it does.
    pub reason: GoalReason,
}

/// Why a plan ends with its release or Kubernetes minor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GoalReason {
    /// It was asked for.
    Asked,
    /// The release is the newest one of its minor.
    Newest,
    /// A rollout for the latest releases has been frozen to it.
    Frozen,
}

impl<'a> PlanningFleet<'a> {
    /// Creates a fleet from the result of reading the definitions.
    pub fn new(understood: &'a Understood, through_expired: bool) -> Self {
        let Understood { input, model, releases, .. } = understood;
        let charts = ChartRanges::new(&model.lock, input);
        Self {
            model,
            releases,
            input,
            through_expired,
            frozen: BTreeSet::new(),
            behind: PoolsBehind::new(),
            charts,
        }
    }

    /// Plans keep to these releases: where a stack and minor has some of them, plans use no others.
    #[must_use]
    pub fn keeping_to(self, frozen: BTreeSet<String>) -> Self {
        Self { frozen, ..self }
    }

    /// These pools run an older version than their Cluster.
    #[must_use]
    pub fn with_pools_behind(self, behind: PoolsBehind) -> Self {
        Self { behind, ..self }
    }

    pub(super) fn charts(&self) -> &ChartRanges<'a> {
        &self.charts
    }

    /// Everything that decides the plan of a cluster. `is_limited` says whether its management cluster rules releases out.
    pub fn key(&self, cluster: &Cluster, is_limited: bool) -> SituationKey {
        let addons =
            cluster.addons.iter().map(|(name, choice)| (name.clone(), addon::AddonSettings::of(choice)));
        // Many clusters change only the values of an addon.
        let addons = addons.filter(|(_, chosen)| *chosen != addon::AddonSettings::default()).collect();
        let management = is_limited.then(|| cluster.management.name.clone());
        SituationKey { release: cluster.release.clone(), management, addons }
    }

    /// Whether the management cluster of a cluster rules out releases that it could use.
    pub(super) fn is_limited(&self, cluster: &Cluster, target: &UpgradeTarget) -> bool {
        let mut notes = Notes::new();
        let mut of = |release: &ReleaseRef| {
            let one = Cluster { release: release.clone(), ..cluster.clone() };
            self.releases.of(&one, &mut notes)
        };
        let named = if let UpgradeTarget::Release(target) = target { of(target) } else { None };
        let Some(own) = of(&cluster.release) else { return true };
        let line = |of: &Release| release::line(self.releases, of);
        let releases = line(&own).into_iter().chain(named.iter().flat_map(|one| line(one)));
        let mut releases = releases.chain([own.clone()]).chain(named.clone());
        releases.any(|one| requirements::are_unmet(&one, &cluster.management))
    }

    /// The situation of a cluster; none if its release has errors, which are in the notes.
    pub fn situation(
        &self,
        cluster: &Cluster,
        target: &UpgradeTarget,
        notes: &mut Notes,
    ) -> Option<Situated> {
        let own = self.releases.of(cluster, notes)?;
        let mut line = release::line(self.releases, &own);
        let mut reason = GoalReason::Asked;
        let goal = match target {
            UpgradeTarget::Release(target) => {
                let named = Cluster { release: target.clone(), ..cluster.clone() };
                let target = self.releases.of(&named, notes)?;
                if target.stack != own.stack {
                    return Some(Situated::NoTarget(other_stack(&own, &target)));
                }
                if line.iter().all(|one| one.name != target.name) {
                    line.extend(release::line(self.releases, &target));
                    line.sort_by_key(|one| one.kubernetes.minor());
                }
                (target.kubernetes.minor(), Some(target.name.clone()))
            }
            UpgradeTarget::Minor(minor) => (*minor, None),
            UpgradeTarget::Newest => {
                reason = GoalReason::Newest;
                let minor = own.kubernetes.minor();
                let newest = line.iter().rfind(|one| one.kubernetes.minor() == minor).unwrap_or(&own);
                (minor, Some(newest.name.clone()))
            }
            UpgradeTarget::Latest => {
                let frozen: Vec<_> = line.iter().filter(|one| self.is_frozen(one)).cloned().collect();
                reason = if frozen.is_empty() { GoalReason::Newest } else { GoalReason::Frozen };
                let newest = match frozen.iter().rfind(|one| one.kubernetes.minor() >= own.kubernetes.minor())
                {
                    Some(last) => last.clone(),
                    None if frozen.is_empty() => self.newest(&line, &own),
                    None => own.clone(),
                };
                (newest.kubernetes.minor(), Some(newest.name.clone()))
            }
        };
        self.keep_to_frozen(&mut line, [Some(&*own.name), goal.1.as_deref()]);
        Some(self.between(cluster, (&own, line), &goal, reason))
    }

    /// Leaves out the releases that plans do not use: if a minor has frozen ones, all others but the named ones.
    fn keep_to_frozen(&self, line: &mut Vec<Arc<Release>>, named: [Option<&str>; 2]) {
        let frozen = line.iter().filter(|one| self.is_frozen(one));
        let minors: BTreeSet<Minor> = frozen.map(|one| one.kubernetes.minor()).collect();
        line.retain(|one| {
            !minors.contains(&one.kubernetes.minor())
                || self.is_frozen(one)
                || named.contains(&Some(&*one.name))
        });
    }

    fn is_frozen(&self, release: &Release) -> bool {
        self.frozen.contains(&*release_line(&release.name))
    }

    /// The newest release of the newest minor that is neither preview nor expired, and never of an older minor than the
    /// cluster's.
    fn newest(&self, line: &[Arc<Release>], own: &Arc<Release>) -> Arc<Release> {
        let minor = own.kubernetes.minor();
        let is_meant = |one: &&Arc<Release>| {
            let of = one.kubernetes.minor();
            let is_relied = !matches!(self.maturity(one), Some(Maturity::Preview | Maturity::Expired));
            of == minor || of > minor && is_relied
        };
        line.iter().rfind(is_meant).unwrap_or(own).clone()
    }

    fn maturity(&self, release: &Release) -> Option<Maturity> {
        let key = (release.stack.clone(), release.kubernetes.minor());
        self.model.stacks.get(&key).map(|stack| stack.maturity)
    }

    fn between(
        &self,
        cluster: &Cluster,
        (own, mut line): (&Arc<Release>, Vec<Arc<Release>>),
        (minor, name): &(Minor, Option<String>),
        reason: GoalReason,
    ) -> Situated {
        let first = own.kubernetes.minor();
        if name.is_none() && first > *minor {
            return Situated::Ahead;
        }
        let (low, high) = (first.min(*minor), first.max(*minor));
        line.retain(|one| (low..=high).contains(&one.kubernetes.minor()));
        if line.iter().all(|one| one.name != own.name) {
            line.insert(0, own.clone());
        }
        let line = distinct(line, own, name.as_deref());
        if line.iter().all(|one| one.kubernetes.minor() != *minor) {
            return Situated::NoTarget(self.missing(own, *minor));
        }
        let (line, uncut) = self.with_uncut(line, own, (low, high));
        let goal = match name {
            None => Goal::Minor(*minor),
            Some(name) => Goal::Release(line.iter().position(|one| one.name == *name).unwrap_or_default()),
        };
        let start = line.iter().position(|one| one.name == own.name).unwrap_or_default();
        let releases = candidates(&line);
        let mut constraints = Vec::new();
        let mut moves = self.moves((&line, start), *minor, &uncut, &mut constraints);
        if let Some(name) = name {
            forbid_return((&line, own), name, &uncut, &mut moves);
        }
        requirements::forbid((&line, start), &cluster.management, &mut moves, &mut constraints);
        let mut doubts = Vec::new();
        let addons = addon::tracks(cluster, &line, start, self, (&mut constraints, &mut doubts));
        let situation = Situation { releases, addons, constraints, doubts, start, goal, moves };
        Situated::IndexedSituation(Box::new(IndexedSituation { situation, releases: line, reason }))
    }

    /// Adds the head of the stack for each minor in between that has no release, in order, and returns those minors. No plan
    /// uses such a head. It stands for the release that the stack could cut.
    fn with_uncut(
        &self,
        mut line: Vec<Arc<Release>>,
        own: &Release,
        (low, high): (Minor, Minor),
    ) -> (Vec<Arc<Release>>, BTreeSet<Minor>) {
        let mut uncut = BTreeSet::new();
        for number in low.minor + 1..high.minor {
            let minor = Minor { minor: number, ..low };
            let place = line.partition_point(|one| one.kubernetes.minor() < minor);
            let is_there = line.get(place).is_some_and(|one| one.kubernetes.minor() == minor);
            if let Some(head) = self.releases.head(&own.stack, minor).filter(|_| !is_there) {
                line.insert(place, head.clone());
                uncut.insert(minor);
            }
        }
        (line, uncut)
    }

    /// The possible moves between releases.
    fn moves(
        &self,
        (line, start): (&[Arc<Release>], usize),
        goal: Minor,
        uncut: &BTreeSet<Minor>,
        constraints: &mut Vec<Constraint>,
    ) -> BTreeMap<(usize, usize), Vec<usize>> {
        let mut add = |constraint| {
            constraints.push(constraint);
            constraints.len() - 1
        };
        let [downgrade, back] = [
            (
                "a cluster does not go back to an older Kubernetes version",
                "not possible: Kubernetes cannot be downgraded",
            ),
            (
                "plans do not go back to an older release",
                "name that release in the definition; `stackloom diff` shows what that replaces",
            ),
        ]
        .map(|(text, lift)| {
            let (text, lift) = (text.to_owned(), lift.to_owned());
            add(Constraint { kind: ConstraintKind::OlderRelease, text, origin: None, lift })
        });
        let minor = |at: usize| line[at].kubernetes.minor();
        let (first, last) = (minor(start).min(goal), minor(start).max(goal));
        let mut skipped = BTreeMap::new();
        let mut passed = BTreeMap::new();
        for number in first.minor + 1..last.minor {
            let one = Minor { minor: number, ..first };
            let there = line.iter().find(|release| release.kubernetes.minor() == one);
            skipped.insert(one, add(self.skip(&line[start], one, there.is_some())));
            let not_passed = match there {
                Some(_) if uncut.contains(&one) => Some(self.missing(&line[start], one)),
                Some(release) => self.not_passed(release),
                None => None,
            };
            if let Some(constraint) = not_passed {
                passed.insert(one, add(constraint));
            }
        }
        let mut moves = BTreeMap::new();
        for from in 0..line.len() {
            for to in (0..line.len()).filter(|to| *to != from) {
                let between = skipped.iter().filter(|(one, _)| minor(from) < **one && **one < minor(to));
                let mut broken: Vec<usize> = between.map(|(_, constraint)| *constraint).collect();
                let is_downgrade = line[to].kubernetes < line[from].kubernetes;
                broken.extend(is_downgrade.then_some(downgrade));
                broken.extend((to < from && !is_downgrade).then_some(back));
                broken.extend(passed.get(&minor(to)));
                moves.insert((from, to), broken);
            }
        }
        moves
    }

    /// The constraint that a minor cannot be skipped. `is_there` says whether a release of it is in the line.
    fn skip(&self, own: &Release, minor: Minor, is_there: bool) -> Constraint {
        if is_there {
            return Constraint {
                kind: ConstraintKind::Minor,
                text: format!(
                    "Kubernetes {minor} cannot be skipped: Kubernetes is upgraded one minor at a time"
                ),
                origin: None,
                lift: "not possible: Cluster API refuses it".to_owned(),
            };
        }
        let missing = self.missing(own, minor);
        let text = format!("{}, and Kubernetes is upgraded one minor at a time", missing.text);
        Constraint { text, ..missing }
    }

    /// The constraint that a minor has no release.
    fn missing(&self, own: &Release, minor: Minor) -> Constraint {
        let stack = &own.stack;
        let served = self.model.stacks.get(&(stack.clone(), minor));
        let channel = match own.channel {
            Channel::Beta => Some("beta"),
            Channel::Custom => Some("custom"),
            Channel::Stable | Channel::Hash => None,
        };
        let option = channel.map(|channel| format!(" --channel {channel}")).unwrap_or_default();
        let release = format!("`stackloom release {stack} --kubernetes {minor}{option}` cuts one");
        let (state, way) = match served.map(|stack| stack.maturity) {
            _ if own.is_head() => (" in stack.yaml", "add the minor to stack.yaml".to_owned()),
            Some(Maturity::Expired) => {
                (", which is `expired`", format!("set another `maturity` in stack.yaml; then {release}"))
            }
            Some(Maturity::Preview) => {
                (", which is `preview`", format!("set another `maturity` in stack.yaml; then {release}"))
            }
            Some(_) => ("", release),
            None if self.model.stacks.keys().any(|(known, _)| known == stack) => {
                ("", format!("add the minor to stack.yaml; then {release}"))
            }
            None => (
                "",
                "its own repository cuts releases, and `stackloom pull` takes them from there".to_owned(),
            ),
        };
        let channel = channel.map(|channel| format!(" in the channel {channel}")).unwrap_or_default();
        Constraint {
            kind: ConstraintKind::MissingRelease,
            text: format!("there is no release of {stack} for Kubernetes {minor}{channel}{state}"),
            origin: served.map(|stack| stack.kubernetes_origin),
            lift: format!("the stack {stack}: {way}"),
        }
    }

    /// The constraint that keeps plans from passing through a minor because of its maturity, if any.
    fn not_passed(&self, release: &Release) -> Option<Constraint> {
        let key = (release.stack.clone(), release.kubernetes.minor());
        let stack = self.model.stacks.get(&key)?;
        let (word, lift) = match stack.maturity {
            Maturity::Expired if !self.through_expired => {
                ("expired", "you: `--through-expired` plans over it".to_owned())
            }
            Maturity::Preview => {
                ("preview", format!("the stack {}: set another `maturity` in stack.yaml", release.stack))
            }
            _ => return None,
        };
        Some(Constraint {
            kind: ConstraintKind::Maturity,
            text: format!("plans do not pass Kubernetes {}, which is `{word}` in {}", key.1, release.stack),
            origin: Some(stack.kubernetes_origin),
            lift,
        })
    }
}

/// Removes the moves from the channel of the target back to that of the cluster.
fn forbid_return(
    (line, own): (&[Arc<Release>], &Release),
    target: &str,
    uncut: &BTreeSet<Minor>,
    moves: &mut BTreeMap<(usize, usize), Vec<usize>>,
) {
    let Some(aim) = line.iter().find(|one| one.name == target).map(|one| one.channel) else { return };
    if aim != own.channel {
        let is_away = |at: usize| line[at].channel != aim && !uncut.contains(&line[at].kubernetes.minor());
        moves.retain(|(from, to), _| line[*from].channel != aim || !is_away(*to));
    }
}

fn candidates(line: &[Arc<Release>]) -> Vec<Candidate> {
    let newer = |at: usize| {
        let minor = line[at].kubernetes.minor();
        line[at + 1..].iter().filter(|one| one.kubernetes.minor() == minor).count() as u64
    };
    let one = |(at, release): (usize, &Arc<Release>)| Candidate {
        name: release.name.clone(),
        kubernetes: release.kubernetes.clone(),
        age: newer(at),
    };
    line.iter().enumerate().map(one).collect()
}

fn other_stack(own: &Release, target: &Release) -> Constraint {
    Constraint {
        kind: ConstraintKind::MissingRelease,
        text: format!(
            "`{}` is a release of {}, and the cluster uses {}",
            target.name, target.stack, own.stack
        ),
        origin: None,
        lift: format!("you: name a release of {}", own.stack),
    }
}
