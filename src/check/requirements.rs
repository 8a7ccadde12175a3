//! What a release needs of the management cluster, and what is there.

use std::collections::{BTreeMap, BTreeSet};

use super::{Check, Finder, Rule};
use crate::{
    model::{ManagementCluster, VersionRange},
    plan::ClusterPlan,
    release::{Release, group_of},
    yaml::{Node, Origin},
};

pub(super) static RULE: Rule = Rule {
    name: "requirements",
    docs: "A release needs a version of Cluster API or of a provider, a feature gate or a version of an API that the \
           management cluster does not have. Its clusters could not be built or changed. Where `stackloom.yaml` does not say \
           what is there, that is a warning.",
    check: Check::Cluster(check),
};

/// The name of Cluster API itself among its providers.
const CORE: &str = "cluster-api";

fn check(plan: &ClusterPlan, _drawn: &Node, finder: &mut Finder<'_>) {
    if plan.phase.leaves() {
        return;
    }
    let (release, management) = (&*plan.release, &*plan.cluster.management);
    let mut judge = Judge { release, management, finder };
    for (provider, range) in &release.requires.providers {
        judge.provider(provider, range);
    }
    for gate in release.needed_gates() {
        judge.gate(&gate);
    }
    judge.api_versions();
}

struct Judge<'a, 'f, 'i> {
    release: &'a Release,
    management: &'a ManagementCluster,
    finder: &'f mut Finder<'i>,
}

impl Judge<'_, '_, '_> {
    fn provider(&mut self, provider: &str, range: &VersionRange) {
        let (release, name) = (&self.release.name, &self.management.name);
        if let Some((version, origin)) = self.management.provided.providers.get(provider) {
            if !range.contains(version) {
                self.refuse(
                    *origin,
                    format!("the release `{release}` needs {provider} {range}, and `{name}` has {version}"),
                    &format!("upgrade {provider} in `{name}`, and change its version in stackloom.yaml"),
                );
            }
            return;
        }
        if provider == CORE {
            let minor = self.management.cluster_api;
            // Of the minor alone, the first and the last patch version are known.
            let patch = |patch| semver::Version::new(minor.major, minor.minor, patch);
            if !range.contains(&patch(0)) && !range.contains(&patch(9_999)) {
                self.refuse(
                    self.own_place(),
                    format!("the release `{release}` needs Cluster API {range}, and `{name}` has {minor}"),
                    &format!("upgrade Cluster API in `{name}`, and change `clusterApi` in stackloom.yaml"),
                );
            }
            return;
        }
        self.doubt(
            format!("the release `{release}` needs {provider} {range}, and stackloom.yaml does not say what `{name}` has"),
            &format!("add it to the management cluster: `providers: {{ {provider}: <version> }}`"),
        );
    }

    fn gate(&mut self, gate: &str) {
        let (release, name) = (&self.release.name, &self.management.name);
        match self.management.gate(gate) {
            Some(true) => {}
            Some(false) => self.refuse(
                self.own_place(),
                format!("the release `{release}` needs the feature gate `{gate}` of Cluster API, and it is off in `{name}`"),
                &format!("turn it on in `{name}`, and write `featureGates: {{ {gate}: true }}` in stackloom.yaml"),
            ),
            None => self.doubt(
                format!("the release `{release}` needs the feature gate `{gate}` of Cluster API, and stackloom.yaml does not say whether it is on in `{name}`"),
                &format!("once it is on, write so: `featureGates: {{ {gate}: true }}`"),
            ),
        }
    }

    /// The kinds that the release brings, and templates of clusters are made of.
    fn api_versions(&mut self) {
        let known = &self.management.provided.api_versions;
        let used: BTreeSet<&str> =
            self.release.objects.iter().filter_map(|object| object.get("apiVersion")?.as_str()).collect();
        let mut missing: BTreeMap<&str, &str> = BTreeMap::new();
        for version in used {
            let (group, short) = (group_of(version), version.rsplit('/').next().unwrap_or_default());
            if known.get(group).is_some_and(|served| !served.contains(short)) {
                missing.insert(version, group);
            }
        }
        for (version, group) in missing {
            let served: Vec<_> = known[group].iter().map(String::as_str).collect();
            let (release, name) = (&self.release.name, &self.management.name);
            self.refuse(
                self.own_place(),
                format!("the release `{release}` has objects of `{version}`, and `{name}` serves {} of that group", served.join(", ")),
                "upgrade the provider, and change `apiVersions` in stackloom.yaml",
            );
        }
    }

    fn own_place(&self) -> Origin {
        self.management.provided.origin
    }

    fn refuse(&mut self, origin: Origin, message: String, way: &str) {
        self.finder
            .notes
            .error("requirements", origin, message)
            .hint(way)
            .hint("or move these clusters to a release that works with what is there; do so before the management cluster changes");
    }

    fn doubt(&mut self, message: String, way: &str) {
        let place = self.own_place();
        self.finder.notes.warning("requirements", place, message).hint(way);
    }
}
