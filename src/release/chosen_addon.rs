//! Decides what a cluster makes of an addon of its release: whether it has the addon, in which version, and from which release.

use super::ReleaseAddon;
use crate::{
    model::{AddonChoice, AddonVersion, RemovalStep},
    yaml::Origin,
};

/// An addon as a cluster chooses it.
#[derive(Clone, Copy, Debug)]
pub struct ChosenAddon<'a> {
    /// Whether the cluster has it.
    pub is_enabled: bool,
    /// The version that the definition asks for; none if that of the release applies.
    pub asked: Option<&'a (AddonVersion, Origin)>,
    /// The other release that supplies it.
    pub taken_from: Option<&'a str>,
    released: Option<&'a AddonVersion>,
}

impl<'a> ChosenAddon<'a> {
    /// `addon` is that of the release that supplies it; none if the release lacks it.
    pub fn new(addon: Option<&'a ReleaseAddon>, choice: Option<&'a AddonChoice>) -> Self {
        let step = choice.and_then(|choice| choice.removal.as_ref()).map(|removal| removal.step);
        let is_on = addon
            .is_some_and(|addon| choice.and_then(|choice| choice.enabled).unwrap_or(addon.addon.enabled));
        Self {
            is_enabled: is_on && step != Some(RemovalStep::Delete),
            asked: choice.and_then(|choice| choice.version.as_ref()),
            taken_from: choice.and_then(|choice| choice.release.as_ref()).map(|(name, _)| name.as_str()),
            released: addon.and_then(|addon| addon.version.as_ref()),
        }
    }

    /// The version of the addon, if it has one. Only the plan knows whether the cluster can have it.
    pub fn version(&self) -> Option<&'a AddonVersion> {
        self.asked.map(|(version, _)| version).or(self.released)
    }
}
