//! Simulates a rollout of 200 clusters in 5 waves, hour by hour for three months, with weekends, freezes, a pause, and a
//! failing cluster. No window or limit may be violated. The log of decisions is compared with `tests/rollout/log.txt`, which
//! `UPDATE=1` rewrites.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use chrono::{DateTime, Datelike as _, NaiveDate, TimeDelta, Timelike as _, Utc, Weekday};
use stackloom::{
    definition,
    model::{ClusterId, Rollout},
    note::Notes,
    rollout::{
        ClusterHealth, Decision, Next, Obstacle, RolloutFacts, RolloutPhase, SeenCluster, WaveSeen,
        WaveState, decide,
    },
    world::{Files, World as _},
};

use super::{
    sandbox,
    support::{self, random::Random},
};

const STEPS: usize = 3;
const MOST_CLUSTERS: usize = 24;
const MOST_MACHINES: usize = 320;
const WAVES: [(&str, usize, i64); 5] =
    [("canary", 4, 3), ("dev", 26, 2), ("eu", 60, 5), ("us", 60, 5), ("rest", 50, 0)];

fn rollout() -> Rollout {
    let mut text = String::from(
        "apiVersion: stackloom.dev/v1alpha1\nkind: Rollout\nmetadata: { name: k136 }\nspec:\n  \
         reason: 1.35 gets no patches from February on\n  target: { kubernetes: \"1.36\" }\n  timeZone: Europe/Berlin\n  \
         requireHealth: true\n  timeout: 3d\n",
    );
    writeln!(text, "  maxClusters: {MOST_CLUSTERS}\n  maxMachines: {MOST_MACHINES}").unwrap();
    text.push_str("  windows:\n    - { days: [mon, tue, wed, thu], from: \"09:00\", to: \"15:00\" }\n");
    text.push_str(
        "  freezes:\n    - { reason: the autumn sale, from: \"2026-10-12\", to: \"2026-10-20\" }\n  waves:\n",
    );
    for (name, _, soak) in WAVES {
        let selector = if name == "rest" { String::new() } else { format!("selector: wave={name}, ") };
        writeln!(text, "    - {{ name: {name}, {selector}soak: {soak}d }}").unwrap();
    }
    let fleet = std::fs::read_to_string(support::package().join("tests/cases/_base/stackloom.yaml")).unwrap();
    let files = [("stackloom.yaml".to_owned(), fleet), ("rollouts/k136.yaml".to_owned(), text)];
    let mut notes = Notes::new();
    let input = Files(files.into_iter().collect()).read(&mut notes).unwrap();
    let definitions = definition::parse(&input, &mut notes);
    let model = definition::lower(&definitions, &input, &semver::Version::new(0, 1, 0), &mut notes);
    let found = notes.iter().map(|note| note.message.clone()).collect::<Vec<_>>();
    let mut model = model.unwrap_or_else(|_| panic!("{found:?}"));
    model.rollouts.remove(0)
}

/// A cluster of the simulated fleet.
struct Real {
    wave: usize,
    machines: usize,
    steps: usize,
    changed: Option<DateTime<Utc>>,
    healthy_from: DateTime<Utc>,
    /// The time at which a proposed step is merged.
    proposed: Option<DateTime<Utc>>,
}

struct Fleet {
    clusters: BTreeMap<ClusterId, Real>,
    random: Random,
}

impl Fleet {
    fn new() -> Self {
        let mut random = Random::new(7);
        let mut clusters = BTreeMap::new();
        for (wave, (_, count, _)) in WAVES.iter().enumerate() {
            for _ in 0..*count {
                let name = format!("c-{:03}", clusters.len());
                let machines = 3 + random.below(30);
                let real = Real {
                    wave,
                    machines,
                    steps: 0,
                    changed: None,
                    healthy_from: DateTime::UNIX_EPOCH,
                    proposed: None,
                };
                clusters.insert(id(&name), real);
            }
        }
        Self { clusters, random }
    }

    fn seen(&self, now: DateTime<Utc>) -> RolloutFacts {
        let wave = |(at, (name, _, soak)): (usize, &(&str, usize, i64))| WaveSeen {
            name: (*name).to_owned(),
            soak: TimeDelta::days(*soak),
            is_selective: false,
            clusters: self
                .clusters
                .iter()
                .filter(|(_, real)| real.wave == at)
                .map(|one| of(one, now))
                .collect(),
            unread: Vec::new(),
            gone: 0,
        };
        RolloutFacts { now, has_errors: false, waves: WAVES.iter().enumerate().map(wave).collect() }
    }

    /// The events of an hour: requests are merged, and machines replaced.
    fn pass(&mut self, now: DateTime<Utc>) {
        for (id, real) in &mut self.clusters {
            if real.proposed.is_some_and(|merged| merged <= now) {
                real.changed = real.proposed.take();
                real.steps += 1;
                let hours = 1 + self.random.below(6);
                real.healthy_from = now + TimeDelta::hours(i64::try_from(hours).unwrap());
                if id.name.as_str() == "c-044" && real.steps == 2 {
                    // A machine does not start until somebody intervenes.
                    real.healthy_from = now + TimeDelta::days(9);
                }
            }
        }
    }
}

fn id(name: &str) -> ClusterId {
    let label = |text: &str| stackloom::model::Label::new(text).unwrap();
    ClusterId { management: label("mgmt"), namespace: label("fleet"), name: label(name) }
}

fn of((id, real): (&ClusterId, &Real), now: DateTime<Utc>) -> SeenCluster {
    SeenCluster {
        id: id.clone(),
        is_there: real.steps == STEPS,
        is_leaving: false,
        owner: None,
        changed: real.changed,
        earlier: None,
        unpublished: None,
        health: if real.changed.is_some() && real.healthy_from <= now {
            ClusterHealth::Healthy
        } else {
            ClusterHealth::Unhealthy
        },
        obstacle: None,
        is_suspended: false,
        machines: real.machines,
    }
}

/// Whether steps may be proposed, computed independently of the program.
fn may_propose(now: DateTime<Utc>) -> bool {
    let local = now.with_timezone(&chrono_tz::Europe::Berlin);
    let is_working = !matches!(local.weekday(), Weekday::Fri | Weekday::Sat | Weekday::Sun);
    let day = |month, day| NaiveDate::from_ymd_opt(2026, month, day).unwrap();
    let is_frozen = (day(10, 12)..=day(10, 20)).contains(&local.date_naive());
    is_working && (9..15).contains(&local.hour()) && !is_frozen
}

/// Checks the conditions for taking steps.
fn check(rollout: &Rollout, fleet: &Fleet, taken: &[ClusterId], now: DateTime<Utc>) {
    assert!(may_propose(now), "{now}: outside of the windows");
    assert!(rollout.paused.is_none(), "{now}: paused");
    let wave = fleet.clusters[&taken[0]].wave;
    let taken: BTreeSet<&ClusterId> = taken.iter().collect();
    let is_busy = |(id, real): &(&ClusterId, &Real)| {
        let is_open = real.steps < STEPS || real.healthy_from > now;
        taken.contains(id) || real.proposed.is_some() || real.changed.is_some() && is_open
    };
    let busy: Vec<&Real> = fleet.clusters.iter().filter(is_busy).map(|(_, real)| real).collect();
    let machines: usize = busy.iter().map(|real| real.machines).sum();
    assert!(busy.len() <= MOST_CLUSTERS, "{now}: {} clusters at once", busy.len());
    assert!(machines <= MOST_MACHINES || busy.len() == 1, "{now}: {machines} machines at once");
    for (id, real) in &fleet.clusters {
        assert!(!taken.contains(id) || real.wave == wave, "{now}: two waves at once");
        if real.wave < wave {
            let soak = TimeDelta::days(WAVES[wave - 1].2);
            let since = real.changed.unwrap();
            assert!(real.steps == STEPS && real.healthy_from <= now, "{now}: {id} is not done");
            assert!(real.wave + 1 < wave || now >= since + soak, "{now}: the wave before soaks");
        }
    }
}

fn line(decision: &Decision) -> String {
    let waves: Vec<String> = WAVES
        .iter()
        .zip(&decision.waves)
        .filter(|(_, (state, _))| !matches!(state, WaveState::Waiting | WaveState::Done))
        .map(|((name, _, _), (_, phases))| {
            let done = phases.iter().filter(|phase| matches!(phase, RolloutPhase::Done(_))).count();
            format!("{name} {done}/{}", phases.len())
        })
        .collect();
    let until = |until: &Option<DateTime<Utc>>| {
        until.map(|at| format!(" until {}", at.format("%a %F %H:%M"))).unwrap_or_default()
    };
    let next = match &decision.next {
        Next::Take(clusters) => format!(
            "next step of {}",
            clusters.iter().map(|one| one.name.as_str()).collect::<Vec<_>>().join(" ")
        ),
        Next::Wait(why, at) => format!("wait{}: {why}", until(at)),
        Next::Paused(why) => format!("paused: {why}"),
        Next::Aborted(why) => format!("aborted: {why}"),
        Next::Failed(why) => format!("stopped: {why}"),
        Next::Blocked(why) => format!("blocked: {why}"),
        Next::Close => "close".to_owned(),
        Next::Done => "done".to_owned(),
    };
    format!("{:<14} {next}", waves.join(" "))
}

#[test]
fn a_rollout_over_three_months_keeps_to_windows_limits_and_order() {
    let mut rollout = rollout();
    let mut fleet = Fleet::new();
    let mut now = DateTime::parse_from_rfc3339("2026-09-14T00:17:00Z").unwrap().to_utc();
    let end = now + TimeDelta::days(100);
    let (mut log, mut last) = (String::new(), String::new());
    while now < end {
        let is_paused = now.date_naive() >= NaiveDate::from_ymd_opt(2026, 11, 2).unwrap()
            && now.date_naive() < NaiveDate::from_ymd_opt(2026, 11, 9).unwrap();
        rollout.paused = is_paused.then(|| "the team is at a conference".to_owned());
        fleet.pass(now);
        let decision = decide(&rollout, &fleet.seen(now));
        let entry = line(&decision);
        if entry != last {
            writeln!(log, "{}  {entry}", now.format("%a %F %H:%M")).unwrap();
            last = entry;
        }
        match decision.next {
            Next::Take(clusters) => {
                check(&rollout, &fleet, &clusters, now);
                for id in &clusters {
                    // A request that is already open stays as it is.
                    let real = fleet.clusters.get_mut(id).unwrap();
                    real.proposed = real.proposed.or(Some(now + TimeDelta::minutes(100)));
                }
            }
            Next::Close => break,
            _ => {}
        }
        now += TimeDelta::hours(1);
    }
    assert!(fleet.clusters.values().all(|real| real.steps == STEPS), "not all clusters are there:\n{log}");
    for part in [
        "the autumn sale",
        "the team is at a conference",
        "the wave eu has failed: fleet/c-044",
        "soaks for 5 d",
        "close",
    ] {
        assert!(log.contains(part), "{part}:\n{log}");
    }
    let mut wrong = String::new();
    sandbox::expect_file(&support::package().join("tests/rollout/log.txt"), &log, &mut wrong);
    assert!(wrong.is_empty(), "{wrong}");
}

/// Clusters of a later wave, whose last step is done, and how the first wave goes on beside them.
fn next_beside(changed: Option<DateTime<Utc>>, earlier: Option<DateTime<Utc>>, is_suspended: bool) -> Next {
    let now = DateTime::parse_from_rfc3339("2026-09-15T09:30:00Z").unwrap().to_utc();
    let seen = |name: &str| SeenCluster {
        id: id(name),
        is_there: false,
        is_leaving: false,
        owner: None,
        changed: None,
        earlier: None,
        unpublished: None,
        health: ClusterHealth::Healthy,
        obstacle: None,
        is_suspended: false,
        machines: 1,
    };
    let suspended =
        Obstacle { why: "suspended: broken disk".to_owned(), until: None, is_fault: false, is_final: false };
    let obstacle = is_suspended.then_some(suspended);
    let wave = |(at, (name, _, soak)): (usize, &(&str, usize, i64))| {
        let clusters = match at {
            0 => vec![seen("first")],
            1 => (0..MOST_CLUSTERS)
                .map(|at| SeenCluster {
                    changed,
                    earlier,
                    is_suspended,
                    obstacle: obstacle.clone(),
                    ..seen(&format!("c-{at}"))
                })
                .collect(),
            _ => vec![seen(name)],
        };
        let soak = TimeDelta::days(*soak);
        let name = (*name).to_owned();
        WaveSeen { name, soak, is_selective: true, clusters, unread: Vec::new(), gone: 0 }
    };
    let waves = WAVES.iter().enumerate().map(wave).collect();
    decide(&rollout(), &RolloutFacts { now, has_errors: false, waves }).next
}

#[test]
fn only_steps_of_the_rollout_count_once_they_are_done() {
    let yesterday = DateTime::parse_from_rfc3339("2026-09-14T09:00:00Z").unwrap().to_utc();
    assert_eq!(next_beside(None, None, false), Next::Take(vec![id("first")]));
    assert_eq!(next_beside(None, Some(yesterday), false), Next::Take(vec![id("first")]));
    let why = "the limits of the rollout are reached: 24 clusters, such as fleet/c-0, have begun in other waves, and must be \
               done first";
    assert_eq!(next_beside(Some(yesterday), None, false), Next::Wait(why.to_owned(), None));
    // Nothing happens to a cluster that was created suspended, but one that was suspended after a step may be half-way.
    let just_now = DateTime::parse_from_rfc3339("2026-09-15T09:00:00Z").unwrap().to_utc();
    assert_eq!(next_beside(None, Some(just_now), true), Next::Take(vec![id("first")]));
    assert_eq!(next_beside(Some(just_now), None, true), Next::Wait(why.to_owned(), None));
}
