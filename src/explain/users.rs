//! Combines the sources of clusters that share a file.

use std::{cell::OnceCell, collections::BTreeSet};

use super::{
    scope::{Scope, SourceQuery},
    source::{Role, SourcePlace},
};
use crate::plan::ClusterPlan;

impl<'a> Scope<'a> {
    /// The combined sources of several clusters. A source decides only if all clusters have it in the same place; otherwise
    /// some would remain.
    pub(super) fn used(&self, of: &dyn Fn(&Scope<'a>) -> Vec<SourcePlace>) -> Vec<SourcePlace> {
        if self.layers.is_some() {
            return of(self);
        }
        self.used_each(&|scope| vec![of(scope)])
    }

    /// The same if a cluster may have several uses.
    pub(super) fn used_each(&self, of: &dyn Fn(&Scope<'a>) -> Vec<Vec<SourcePlace>>) -> Vec<SourcePlace> {
        let theirs = self.theirs.get_or_init(|| self.users.iter().map(|_| OnceCell::new()).collect());
        let scope = |(plan, scope): (&&'a ClusterPlan, &OnceCell<Scope<'a>>)| {
            of(scope.get_or_init(|| Scope::of_cluster(self.fleet, plan)))
        };
        let found = self.users.iter().zip(theirs).flat_map(scope);
        if let Some(sought) = self.sought {
            return self.used_there(sought, found);
        }
        let found: Vec<Vec<SourcePlace>> = found.collect();
        let mut all: Vec<SourcePlace> = Vec::new();
        let mut seen = BTreeSet::new();
        for source in found.iter().flatten() {
            let place = (source.file.clone(), source.line, source.release.clone());
            if !seen.insert(place) {
                continue;
            }
            let same = |other: &SourcePlace| {
                other.decides && (&other.file, other.line) == (&source.file, source.line)
            };
            let every = found.iter().all(|one| one.iter().any(same));
            match (source.decides, every) {
                (true, true) => all.push(source.clone()),
                (true, false) => all.push(source.clone().aside(Role::User)),
                (false, _) => {}
            }
        }
        all
    }

    /// The same for a search: the sources there that all clusters share, or else one that does not decide. Usually the first
    /// cluster settles it.
    fn used_there(
        &self,
        sought: SourceQuery<'_>,
        found: impl Iterator<Item = Vec<SourcePlace>>,
    ) -> Vec<SourcePlace> {
        let is_sought =
            |source: &&SourcePlace| source.decides && self.fleet.stands_for(source, sought.file, sought.line);
        let (mut user, mut all) = (None, None::<Vec<SourcePlace>>);
        for one in found {
            let same = |source: &SourcePlace, other: &SourcePlace| {
                other.decides && (&other.file, other.line) == (&source.file, source.line)
            };
            match &mut all {
                None => all = Some(one.iter().filter(is_sought).cloned().collect()),
                Some(all) => all.retain(|source| one.iter().any(|other| same(source, other))),
            }
            user = user.or_else(|| one.into_iter().find(|source| source.decides));
            if user.is_some() && all.as_ref().is_some_and(Vec::is_empty) {
                break;
            }
        }
        match all {
            Some(all) if !all.is_empty() => all,
            _ => user.map(|source| source.aside(Role::User)).into_iter().collect(),
        }
    }
}
