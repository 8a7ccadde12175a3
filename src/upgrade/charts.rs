//! The Kubernetes versions that charts support according to their `kubeVersion`. Helm refuses to install a chart on any
//! other.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use crate::{
    lock::values,
    model::{AddonVersion, Digest, Lock, VersionRange},
    plan,
    release::ReleaseAddon,
    world::Input,
    yaml::Origin,
};

/// The metadata of locked charts. Each chart is read once.
#[derive(Debug)]
pub struct ChartRanges<'a> {
    lock: &'a Lock,
    input: &'a Input,
    read: Mutex<BTreeMap<Digest, Option<VersionRange>>>,
}

impl<'a> ChartRanges<'a> {
    /// The charts of a fleet.
    pub fn new(lock: &'a Lock, input: &'a Input) -> Self {
        Self { lock, input, read: Mutex::default() }
    }

    /// The Kubernetes versions that the chart of an addon supports; none if it supports all, or nothing is known about it.
    pub fn kubernetes(&self, addon: &ReleaseAddon, version: &AddonVersion) -> Option<VersionRange> {
        let (digest, _) = plan::described(addon, version, self.lock)?;
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        read.entry(digest).or_insert_with_key(|digest| self.range(digest)).clone()
    }

    /// The lock's entry for the chart of an addon, if it describes the chart.
    pub fn origin(&self, addon: &ReleaseAddon, version: &AddonVersion) -> Option<Origin> {
        plan::described(addon, version, self.lock).map(|(_, origin)| origin)
    }

    /// A file that differs from the locked one is ignored; `check` reports it.
    fn range(&self, digest: &Digest) -> Option<VersionRange> {
        let source = self.input.sources.at(&values::file(digest))?;
        let is_same = values::digest(&source.text).as_ref() == Some(digest);
        values::kube_version(&source.text).filter(|_| is_same)
    }
}
