//! Explains the steps of a plan in words.

use super::{
    constraints::{GoalReason, IndexedSituation},
    plan::{StepChange, UpgradePlan},
    situation::{Goal, Situation, Track},
};

/// The reason for each step.
pub fn reasons(open: &IndexedSituation, plan: &UpgradePlan) -> Vec<String> {
    (0..plan.steps.len()).map(|at| Why { open, situation: &open.situation, plan }.reason(at)).collect()
}

struct Why<'a> {
    open: &'a IndexedSituation,
    situation: &'a Situation,
    plan: &'a UpgradePlan,
}

impl Why<'_> {
    fn reason(&self, at: usize) -> String {
        match self.plan.steps[at].change {
            StepChange::Release { from } => self.of_release(at, from),
            StepChange::Addon { addon, from, to } => self.of_addon(at, (addon, from, to)),
        }
    }

    fn of_release(&self, at: usize, from: usize) -> String {
        let to = self.plan.steps[at].release;
        if let Some(mended) = self.mended(at, from) {
            return format!("{mended}; `{}` resolves that", self.name(to));
        }
        let last = self.plan.steps.iter().rev().find_map(|step| match step.change {
            StepChange::Release { .. } => Some(step.release),
            StepChange::Addon { .. } => None,
        });
        let minor = self.situation.minor(to);
        if last != Some(to) {
            return if self.situation.minor(from) == minor {
                let lists =
                    || format!("a later step needs what `{}` lists", self.situation.releases[to].name);
                self.of_moved_addon(at).unwrap_or_else(lists)
            } else {
                "Kubernetes is upgraded one minor at a time".to_owned()
            };
        }
        match self.situation.goal {
            Goal::Release(_) => match self.open.reason {
                GoalReason::Asked => "this release was asked for".to_owned(),
                GoalReason::Newest => format!("it is the newest release for Kubernetes {minor}"),
                GoalReason::Frozen => "the rollout leads to this release".to_owned(),
            },
            Goal::Minor(_) if self.situation.minor(from) == minor => {
                format!("addons need what `{}` lists", self.situation.releases[to].name)
            }
            Goal::Minor(_) => format!("Kubernetes {minor} was asked for"),
        }
    }

    /// Why an addon does not fit today, if the first step is a release that it fits.
    fn mended(&self, at: usize, from: usize) -> Option<String> {
        let tracks = self.situation.addons.iter().filter(|_| at == 0);
        tracks.filter_map(|track| Some((track, track.start?))).find_map(|(track, today)| {
            (!broken(track, today, from).is_empty()).then(|| self.text(track, today, from))
        })
    }

    /// Why an addon that moves along with a release must move. None if all could stay.
    fn of_moved_addon(&self, at: usize) -> Option<String> {
        let before = at.checked_sub(1).map(|before| &self.plan.steps[before].versions);
        let tracks = self.situation.addons.iter().enumerate();
        tracks.zip(&self.plan.steps[at].versions).find_map(|((addon, track), after)| {
            let from = before.map_or(track.start, |versions| versions[addon])?;
            let (step, release) = self.first_refusal(track, from, at).filter(|_| *after != Some(from))?;
            Some(self.refused_later(track, from, step, release))
        })
    }

    fn refused_later(&self, track: &Track, version: usize, step: usize, release: usize) -> String {
        let text = self.text(track, version, release);
        format!("{text}; step {} brings {}", step + 1, self.situation.releases[release].kubernetes)
    }

    fn of_addon(&self, at: usize, (addon, from, to): (usize, usize, usize)) -> String {
        let track = &self.situation.addons[addon];
        if track.versions[from].is_special {
            return format!(
                "{} is taken from another release; it must come from the cluster's own before Kubernetes changes",
                track.name
            );
        }
        let here = self.plan.steps[at].release;
        let stays = |version: usize| self.first_refusal(track, version, at);
        let is_broken_today = !broken(track, from, here).is_empty();
        let goes_on = self.plan.steps[at + 1..].iter().find_map(|step| {
            matches!(step.change, StepChange::Addon { addon: other, .. } if other == addon).then_some(())
        });
        let reason = if is_broken_today {
            let text = self.text(track, from, here);
            format!("{text}; the cluster has {}", self.situation.releases[here].kubernetes)
        } else if let Some((step, release)) = stays(from) {
            self.refused_later(track, from, step, release)
        } else {
            let own = track.listings[here].as_ref().map(|listing| listing.own);
            if own == Some(to) {
                format!("`{}` has {} {}", self.name(here), track.name, track.versions[to].version)
            } else {
                format!("a later step needs {} to be newer", track.name)
            }
        };
        match goes_on.filter(|()| stays(to).is_some() || is_broken_today || own_is_further(track, here, to)) {
            Some(()) => format!("{reason}; {}", self.situation.constraints[track.step].text),
            None => reason,
        }
    }

    fn name(&self, release: usize) -> &str {
        &self.situation.releases[release].name
    }

    /// The first later step whose release refuses a version.
    fn first_refusal(&self, track: &Track, version: usize, at: usize) -> Option<(usize, usize)> {
        let later = self.plan.steps.iter().enumerate().skip(at + 1);
        let mut releases = later.map(|(step, one)| (step, one.release));
        releases.find(|(_, release)| !broken(track, version, *release).is_empty())
    }

    /// Why a release refuses a version.
    fn text(&self, track: &Track, version: usize, release: usize) -> String {
        let broken = broken(track, version, release);
        let number = &track.versions[version].version;
        let frozen = self.open.releases[release].addon(&track.name);
        let row = frozen.and_then(|frozen| frozen.addon.row(number));
        let is_range = |one: &&usize| self.situation.constraints[**one].kind.is_about_range();
        match (broken.iter().find(is_range), row, broken.first()) {
            (Some(_), Some(row), _) => {
                format!("{} {number} works with Kubernetes {}", track.name, row.kubernetes)
            }
            (Some(_), None, _) => format!("`{}` does not list {} {number}", self.name(release), track.name),
            (None, _, Some(rule)) => self.situation.constraints[*rule].text.clone(),
            (None, _, None) => String::new(),
        }
    }
}

/// The constraints that a version breaks on a release.
fn broken(track: &Track, version: usize, release: usize) -> Vec<usize> {
    track.listings[release].as_ref().map(|listing| listing.broken[version].clone()).unwrap_or_default()
}

/// Whether the release lists a newer version as its own.
fn own_is_further(track: &Track, release: usize, version: usize) -> bool {
    let of = |at: usize| track.versions[at].version.as_semver();
    track.listings[release].as_ref().is_some_and(|listing| of(listing.own) > of(version))
}
