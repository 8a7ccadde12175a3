//! Describes what each step of a plan changes, by name, for people, documents and edits.

use super::{
    plan::{Step, StepChange, UpgradePlan},
    situation::{Situation, Track},
};
use crate::model::AddonVersion;

/// The changes of a step.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StepDescription {
    /// The release or addon that changes.
    pub change: DescribedChange,
    /// Addons that keep their version although the release has another. Each with its own version and that of the release.
    pub keeps: Vec<(String, AddonVersion, AddonVersion)>,
    /// Addons that change with the release, each with its version before and after.
    pub follows: Vec<(String, AddonVersion, AddonVersion)>,
    /// Addons that the release adds.
    pub arrives: Vec<(String, AddonVersion)>,
    /// Addons that the release no longer has.
    pub leaves: Vec<String>,
    /// The versions that the definition pins after the step, where this differs from before. None means that the addon
    /// follows its release from then on.
    pub pins: Vec<(String, Option<AddonVersion>)>,
    /// Why the step leaves addons in untested combinations that they were not in before.
    pub untested: Vec<String>,
}

/// The main change of a step.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DescribedChange {
    Release {
        /// The release before.
        before: String,
        /// The release after.
        after: String,
        /// The Kubernetes version before.
        kubernetes_before: String,
        /// The Kubernetes version after.
        kubernetes_after: String,
    },
    Addon {
        addon: String,
        before: AddonVersion,
        after: AddonVersion,
    },
}

pub fn describe(situation: &Situation, plan: &UpgradePlan) -> Vec<StepDescription> {
    let start = Step {
        change: StepChange::Release { from: situation.start },
        release: situation.start,
        versions: situation.addons.iter().map(|track| track.start).collect(),
    };
    let before = std::iter::once(&start).chain(&plan.steps);
    before.zip(&plan.steps).map(|(before, step)| of_step(situation, before, step)).collect()
}

fn of_step(situation: &Situation, before: &Step, step: &Step) -> StepDescription {
    let release = |at: usize| &situation.releases[at];
    let change = match step.change {
        StepChange::Release { from } => DescribedChange::Release {
            before: release(from).name.clone(),
            after: release(step.release).name.clone(),
            kubernetes_before: release(from).kubernetes.to_string(),
            kubernetes_after: release(step.release).kubernetes.to_string(),
        },
        StepChange::Addon { addon, from, to } => {
            let track = &situation.addons[addon];
            DescribedChange::Addon {
                addon: track.name.clone(),
                before: version(track, from),
                after: version(track, to),
            }
        }
    };
    let mut description = StepDescription {
        change,
        keeps: Vec::new(),
        follows: Vec::new(),
        arrives: Vec::new(),
        leaves: Vec::new(),
        pins: Vec::new(),
        untested: untested(situation, before, step),
    };
    for (addon, track) in situation.addons.iter().enumerate() {
        description.add(track, (before, before.versions[addon]), (step, step.versions[addon]));
    }
    description
}

/// The doubts about the addons of a step that were none before.
fn untested(situation: &Situation, before: &Step, step: &Step) -> Vec<String> {
    let doubt = |track: &Track, step: &Step, version: Option<usize>| {
        *track.listings[step.release].as_ref()?.doubts.get(version?)?
    };
    let addons = situation.addons.iter().enumerate();
    let new = addons.filter_map(|(addon, track)| {
        let found = doubt(track, step, step.versions[addon])?;
        (doubt(track, before, before.versions[addon]) != Some(found)).then(|| situation.doubts[found].clone())
    });
    new.collect()
}

fn version(track: &Track, at: usize) -> AddonVersion {
    track.versions[at].version.clone()
}

/// The version that a definition must pin an addon to, if any.
fn pin(track: &Track, release: usize, at: Option<usize>) -> Option<usize> {
    let own = track.listings[release].as_ref()?.own;
    at.filter(|at| track.held || *at != own)
}

impl StepDescription {
    fn add(&mut self, track: &Track, old: (&Step, Option<usize>), new: (&Step, Option<usize>)) {
        let name = || track.name.clone();
        let ((before, was), (step, is)) = (old, new);
        let (old_pin, new_pin) = (pin(track, before.release, was), pin(track, step.release, is));
        // Without the addon, there is nothing that its version could follow.
        if old_pin != new_pin && track.listings[step.release].is_some() {
            self.pins.push((name(), new_pin.map(|at| version(track, at))));
        }
        if matches!(self.change, DescribedChange::Addon { .. }) {
            return;
        }
        match (was, is) {
            (None, Some(is)) => self.arrives.push((name(), version(track, is))),
            (Some(_), None) => self.leaves.push(name()),
            (Some(was), Some(is)) if was != is => {
                self.follows.push((name(), version(track, was), version(track, is)));
            }
            (Some(_), Some(is)) => {
                let own = track.listings[step.release].as_ref().map(|listing| listing.own);
                if let Some(own) =
                    own.filter(|own| *own != is && !version(track, *own).is_same(&version(track, is)))
                {
                    self.keeps.push((name(), version(track, is), version(track, own)));
                }
            }
            (None, None) => {}
        }
    }
}
