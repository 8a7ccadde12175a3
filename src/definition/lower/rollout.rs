//! Lowers `rollouts/*.yaml`.

use std::collections::{BTreeMap, BTreeSet};

use chrono::TimeDelta;

use super::{Lowering, calendar, label, place_at, stack::check_date};
use crate::{
    definition::{self as written, parse::Written},
    model::{Calendar, Date, Freeze, Frozen, Minor, Rollout, RolloutTarget, RolloutWave, Selector},
    note::{Notes, Place},
};

/// Lowers all rollouts, and drops those with errors.
pub(super) fn lower_all(context: &Lowering<'_>, notes: &mut Notes) -> Vec<Rollout> {
    let mut found: Vec<Rollout> = Vec::new();
    for file in &context.definitions.rollouts {
        let Some(rollout) = lower(file, notes) else { continue };
        if found.iter().any(|other| other.name == rollout.name) {
            notes
                .error(
                    "duplicate",
                    place_at(file, &["metadata", "name"]),
                    format!("there are two rollouts `{}`", rollout.name),
                )
                .hint("give each its own name");
        } else {
            found.push(rollout);
        }
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    note_shared(&found, context, notes);
    found
}

/// Reports clusters that two active rollouts contain.
fn note_shared(rollouts: &[Rollout], context: &Lowering<'_>, notes: &mut Notes) {
    let mut owners: BTreeMap<&str, &Rollout> = BTreeMap::new();
    for rollout in rollouts.iter().filter(|one| one.is_active()) {
        let shared = rollout.clusters().find_map(|name| Some((name, *owners.get(name)?)));
        owners.extend(rollout.clusters().map(|name| (name, rollout)));
        let Some((cluster, other)) = shared else { continue };
        let file = context.definitions.rollouts.iter().find(|file| *file.source.path == *rollout.file);
        let place = file.map(|file| place_at(file, &["status", "waves"]));
        let message =
            format!("the cluster {cluster} is in two rollouts at once: {} and {}", rollout.name, other.name);
        notes.error("rollout-overlap", place, message).hint("abort one of them with `stackloom rollout abort NAME --reason REASON`; if one is over, set `status.done: true` in its file");
    }
}

/// Lowers a rollout; none if it has errors.
fn lower(file: &Written<written::Rollout>, notes: &mut Notes) -> Option<Rollout> {
    let one = RolloutLowering(file);
    let spec = &file.value.spec;
    let before = notes.errors();
    let name =
        label(&file.value.metadata.name, "the rollout's name", Some(one.place(&["metadata", "name"])), notes);
    let target = one.target(notes);
    let selector = one.selector(spec.selector.as_deref(), &["spec", "selector"], notes);
    let waves = one.waves(notes);
    let calendar = one.calendar(notes);
    let settle = one.duration(spec.settle.as_deref(), "1h", &["spec", "settle"], notes);
    let timeout = one.duration(spec.timeout.as_deref(), "7d", &["spec", "timeout"], notes);
    if let (Some(settle), Some(timeout), None) =
        (settle, timeout, spec.require_health.filter(|required| *required))
        && settle > timeout
    {
        notes
            .error(
                "wrong-duration",
                one.place(&["spec", if spec.settle.is_some() { "settle" } else { "timeout" }]),
                "a step would time out before it counts as done: `settle` is longer than `timeout`",
            )
            .hint(match spec.timeout {
                Some(_) => "shorten `settle`, or raise `timeout`",
                None => "shorten `settle`, or raise `timeout`, which is 7d by default",
            });
    }
    let frozen = one.frozen(notes);
    let count = |count: Option<u32>| count.map(|count| count as usize);
    let rollout = Rollout {
        name: name?,
        file: file.source.path.to_string(),
        reason: spec.reason.clone(),
        target: target?,
        selector,
        waves,
        calendar: calendar?,
        max_clusters: count(spec.max_clusters),
        max_machines: count(spec.max_machines),
        settle: settle?,
        timeout: timeout?,
        requires_health: spec.require_health == Some(true),
        paused: spec.pause.as_ref().map(|stop| stop.reason.clone()),
        aborted: spec.abort.as_ref().map(|stop| stop.reason.clone()),
        frozen,
    };
    (notes.errors() == before).then_some(rollout)
}

struct RolloutLowering<'a>(&'a Written<written::Rollout>);

impl RolloutLowering<'_> {
    fn place(&self, path: &[&str]) -> Place {
        place_at(self.0, path)
    }

    fn target(&self, notes: &mut Notes) -> Option<RolloutTarget> {
        let written::RolloutTarget { kubernetes, release, latest } = &self.0.value.spec.target;
        match (kubernetes, release, latest) {
            (Some(text), None, None) => {
                let minor = Minor::parse(text);
                if minor.is_none() {
                    notes
                        .error(
                            "wrong-version",
                            self.place(&["spec", "target", "kubernetes"]),
                            format!("`{text}` is not a Kubernetes minor"),
                        )
                        .hint("write it as \"1.36\", in quotes");
                }
                minor.map(RolloutTarget::Minor)
            }
            (None, Some(release), None) => Some(RolloutTarget::Release(release.clone())),
            (None, None, Some(true)) => Some(RolloutTarget::Latest),
            _ => {
                notes
                    .error(
                        "rollout-target",
                        self.place(&["spec", "target"]),
                        "a rollout needs exactly one target",
                    )
                    .hint("set one of `kubernetes`, `release` and `latest: true`");
                None
            }
        }
    }

    fn selector(&self, text: Option<&str>, path: &[&str], notes: &mut Notes) -> Option<Selector> {
        Selector::parse(text?)
            .map_err(|why| {
                notes
                    .error("wrong-selector", self.place(path), why)
                    .hint("write it as kubectl does: `env=prod,region in (eu,us)`");
            })
            .ok()
    }

    fn waves(&self, notes: &mut Notes) -> Vec<RolloutWave> {
        let waves = &self.0.value.spec.waves;
        let mut names = BTreeSet::new();
        let mut found = Vec::new();
        for (at, wave) in waves.iter().enumerate() {
            let at_text = at.to_string();
            let path = |key: &'static str| ["spec", "waves", &at_text, key].map(str::to_owned);
            let refer = |path: &[String; 4]| self.place(&path.each_ref().map(String::as_str));
            if !names.insert(&wave.name) {
                notes
                    .error("duplicate", refer(&path("name")), format!("there are two waves `{}`", wave.name))
                    .hint("give each its own name");
            }
            if wave.selector.is_none() && at + 1 < waves.len() {
                notes
                    .error(
                        "empty-wave",
                        refer(&path("name")),
                        format!("the wave `{}` takes all clusters, but others follow it", wave.name),
                    )
                    .hint("give it a `selector`, or make it the last one");
            }
            let place = path("selector");
            let selector =
                self.selector(wave.selector.as_deref(), &place.each_ref().map(String::as_str), notes);
            let place = path("soak");
            let soak =
                self.duration(wave.soak.as_deref(), "0m", &place.each_ref().map(String::as_str), notes);
            found.push(RolloutWave { name: wave.name.clone(), selector, soak: soak.unwrap_or_default() });
        }
        found
    }

    fn calendar(&self, notes: &mut Notes) -> Option<Calendar> {
        let spec = &self.0.value.spec;
        let place = |path: &[&str]| Some(self.place(&[&["spec"], path].concat()));
        let windows = spec.windows.as_deref().unwrap_or_default();
        let calendar = calendar::lower(spec.time_zone.as_deref(), windows, &place, notes);
        let freezes = spec
            .freezes
            .iter()
            .flatten()
            .enumerate()
            .filter_map(|(at, freeze)| self.freeze(at, freeze, notes));
        let freezes = freezes.collect();
        Some(Calendar { freezes, ..calendar? })
    }

    fn freeze(&self, at: usize, freeze: &written::RolloutFreeze, notes: &mut Notes) -> Option<Freeze> {
        let at = at.to_string();
        for (key, text) in [("from", &freeze.from), ("to", &freeze.to)] {
            check_date(Some(text), &self.place(&["spec", "freezes", &at, key]), notes);
        }
        let (first, last) = (Date::parse(&freeze.from)?, Date::parse(&freeze.to)?);
        if last < first {
            notes
                .error(
                    "wrong-date",
                    self.place(&["spec", "freezes", &at, "to"]),
                    "this freeze ends before it begins",
                )
                .hint("`from` is the first day, and `to` the last one");
        }
        Some(Freeze { reason: freeze.reason.clone(), first, last })
    }

    fn duration(
        &self,
        text: Option<&str>,
        default: &str,
        path: &[&str],
        notes: &mut Notes,
    ) -> Option<TimeDelta> {
        let text = text.unwrap_or(default);
        let found = duration(text);
        if found.is_none() {
            notes
                .error("wrong-duration", self.place(path), format!("`{text}` is not a time span"))
                .hint("write a number and a unit: `30m`, `12h`, `3d` or `2w`");
        }
        found
    }

    fn frozen(&self, notes: &mut Notes) -> Option<Frozen> {
        let status = self.0.value.status.as_ref()?;
        let spec = &self.0.value.spec;
        let is_other_wave =
            !status.waves.iter().map(|wave| &wave.name).eq(spec.waves.iter().map(|wave| &wave.name));
        let is_other_target = status.target.as_ref().is_some_and(|target| *target != spec.target);
        let mut changed = |is_changed: bool, key: &str, what: &str| {
            if is_changed && spec.abort.is_none() {
                let message = format!("{what} since the rollout began");
                notes.error("rollout-frozen", self.place(&["status", key]), message).hint(format!(
                    "undo the change of `spec.{key}`; for another plan, abort this rollout and write another"
                ));
            }
        };
        changed(is_other_wave, "waves", "the waves have changed");
        changed(is_other_target, "target", "the target has changed");
        let waves: Vec<Vec<String>> = status.waves.iter().map(|wave| wave.clusters.clone()).collect();
        let mut all = BTreeSet::new();
        if let Some(twice) = waves.iter().flatten().find(|name| !all.insert(*name)) {
            notes
                .error("duplicate", self.place(&["status", "waves"]), format!("{twice} is listed twice"))
                .hint("restore `status` as `stackloom rollout next` wrote it");
        }
        let releases = status.releases.iter().flatten().cloned().collect();
        Some(Frozen { waves, releases, is_done: status.done == Some(true) })
    }
}

/// Parses `30m`, `12h`, `3d`, `2w`.
fn duration(text: &str) -> Option<TimeDelta> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let number: u32 = number.parse().ok().filter(|_| number.bytes().all(|byte| byte.is_ascii_digit()))?;
    let minutes = match unit {
        "m" => 1,
        "h" => 60,
        "d" => 24 * 60,
        "w" => 7 * 24 * 60,
        _ => return None,
    };
    TimeDelta::try_minutes(i64::from(number) * minutes).filter(|delta| delta.num_days() <= 3650)
}
