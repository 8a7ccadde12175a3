//! Finds where each field that the program composes comes from, and why it is written.
//!
//! Copied values know their own origins and are not listed here. For any other field, the answer is what the object is
//! written for.

use super::{
    resolve::Resolver,
    scope::{PartOwner, Scope},
    source::{Role, SourcePlace, Words},
};
use crate::{
    model::{AUTOSCALER_MAX, AUTOSCALER_MIN, EngineSource, GitReference},
    plan::{AddonPlan, ClusterPart, Unit, addons_before},
    render::{self, AppliedFolder, ChartProvenance, ComposedField, Facts, Provenance, Purpose},
    yaml::{Node, Path, Segment},
};

/// A field of an object composed by the program.
#[derive(Debug)]
pub(super) struct Field<'f, 'a> {
    pub(super) resolver: &'f Resolver<'f, 'a>,
    pub(super) object: &'f Node,
    pub(super) path: &'f Path,
    pub(super) node: &'f Node,
    /// What is known about the object beside its text.
    pub(super) facts: &'f Facts,
}

/// Concatenates the sources of one value.
#[expect(clippy::unnecessary_wraps, reason = "other arms of the same match have no answer")]
fn all(sources: impl IntoIterator<Item = Vec<SourcePlace>>) -> Option<Vec<SourcePlace>> {
    Some(sources.into_iter().flatten().collect())
}

impl Field<'_, '_> {
    /// Where a composed field comes from; none if the field's own origin is enough.
    pub(super) fn sources(&self) -> Option<Vec<SourcePlace>> {
        let names = self.path.names();
        if let Some(parts) = render::provenance(&self.composed()) {
            let sources: Option<Vec<_>> = parts.into_iter().map(|part| self.sources_of(&part)).collect();
            return all(sources?);
        }
        if let Purpose::ReadyMarker | Purpose::Marker = self.facts.purpose {
            return self.marker(&names);
        }
        match self.object.get("kind").and_then(Node::as_str).unwrap_or_default() {
            "Cluster" => self.cluster(&names),
            "Release" => self.release(&names),
            "" => self.metadata(&names),
            "Namespace" if names == ["metadata", "name"] => Some(self.resolver.scope.namespace_name()),
            _ => None,
        }
    }

    fn composed(&self) -> ComposedField<'_> {
        ComposedField { object: self.object, path: self.path, node: self.node, facts: self.facts }
    }

    /// The sources of a part of a field; none if it is not written anywhere.
    fn sources_of(&self, part: &Provenance<'_>) -> Option<Vec<SourcePlace>> {
        let scope = self.resolver.scope;
        let addon = |keys: &[&str]| Some(scope.addon(self.resolver.addon?, keys));
        match part {
            Provenance::Definition(keys) => Some(scope.keys(keys)),
            Provenance::Namespace => Some(scope.namespace_name()),
            Provenance::Management => Some(scope.management_name()),
            Provenance::FleetName => Some(scope.fleet_name()),
            Provenance::Fleet(keys) => Some(scope.fleet_value(keys)),
            Provenance::SourceReference => Some(self.source_reference()),
            Provenance::Source(key) => Some(self.tree_source(key)),
            Provenance::Unit(unit) => Some(self.unit(unit)),
            Provenance::Applied(applied) => Some(self.applied(applied)),
            Provenance::Folder(applied) => self.folder(applied),
            Provenance::Dependencies { charts, of_stages } => Some(self.dependencies(*charts, *of_stages)),
            Provenance::Installer(name) => self.installer(name),
            Provenance::Suspension => self.suspended(),
            Provenance::AddonRemoval => {
                Some(scope.set(&Path::of(&["spec", "addons", self.resolver.addon?, "removal", "reason"])))
            }
            Provenance::ReleaseChoice => Some(scope.choice()),
            Provenance::Addon(keys) => addon(keys),
            Provenance::AddonVersion => Some(scope.addon_version(self.resolver.addon?)),
            Provenance::AddonRepository => self.chart_repository(self.resolver.addon?),
            Provenance::Repository(address) => Some(self.repository(address)),
            Provenance::AddonValues => self.values(self.resolver.addon?),
            Provenance::AddonValuesFrom(key) => self.values_from(self.resolver.addon?, key),
            Provenance::Chart(name, what) => Some(self.chart(name, *what)),
            Provenance::Program(why) => Some(scope.program(why)),
        }
    }

    #[expect(clippy::unnecessary_wraps, reason = "other arms of the same match have no answer")]
    fn program(&self, why: &str) -> Option<Vec<SourcePlace>> {
        Some(self.resolver.scope.program(why))
    }

    fn cluster(&self, names: &[&str]) -> Option<Vec<SourcePlace>> {
        let scope = self.resolver.scope;
        match names {
            ["metadata", "name"] => Some(scope.keys(&["metadata", "name"])),
            ["metadata", "namespace"] => Some(scope.keys(&["metadata", "namespace"])),
            ["metadata", "annotations", "stackloom.dev/suspended"] => Some(scope.keys(&["spec", "suspend"])),
            ["metadata", "annotations", "stackloom.dev/standby"] => Some(scope.fleet_value(&["standby"])),
            ["metadata", "annotations", "stackloom.dev/removal"] => {
                Some(scope.keys(&["spec", "removal", "reason"]))
            }
            ["spec", "paused"] => self.suspended(),
            ["spec", "topology", "classRef", "name"] => Some(scope.release_name()),
            ["spec", "topology", "classRef", "namespace"] => Some(scope.fleet_value(&["classNamespace"])),
            ["spec", "topology", "version"] => Some(scope.kubernetes()),
            ["spec", "topology", "variables"] => all([scope.keys(&["spec", "variables"]), scope.choice()]),
            ["spec", "topology", "variables", "", rest @ ..] => self.variable(rest),
            ["spec", "topology", "workers", _, "", "metadata", "annotations", size]
                if matches!(*size, AUTOSCALER_MIN | AUTOSCALER_MAX) =>
            {
                self.autoscale(if *size == AUTOSCALER_MIN { "min" } else { "max" })
            }
            _ => None,
        }
    }

    /// A variable or a value inside it. Those that the definition sets know their origins.
    fn variable(&self, rest: &[&str]) -> Option<Vec<SourcePlace>> {
        let item = Path::default();
        let item = self.path.segments()[..4].iter().fold(item, |path, segment| path.to(segment.clone()));
        let name = item.find(self.object)?.get("name")?.as_str()?;
        let scope = self.resolver.scope;
        match rest {
            ["value", ..] if scope.layer(self.node.origin).is_none() => {
                Some(self.resolver.variable(name, &self.path.segments()[5..]))
            }
            ["name"] | [] => all([self.resolver.variable(name, &[]), self.declared(name)]),
            _ => None,
        }
    }

    /// The declaration of a variable: the class decides which variables exist.
    fn declared(&self, name: &str) -> Vec<SourcePlace> {
        let path = Path::of(&["spec", "variables", name]);
        let declared = self.resolver.declared(name, &path);
        let what = |source: SourcePlace| match source.role {
            Role::Default => {
                SourcePlace { what: "the class has this variable".into(), role: Role::Stack, ..source }
            }
            _ => source,
        };
        declared.into_iter().map(what).collect()
    }

    fn autoscale(&self, bound: &str) -> Option<Vec<SourcePlace>> {
        let layer = self.resolver.scope.layer(self.node.origin)?;
        let path = super::source::locate(&layer.node, self.node.origin.offset, true)?;
        Some(self.resolver.scope.field(&path.key(bound)))
    }

    /// A key of the object that tells the engine where to read the tree.
    fn tree_source(&self, key: &str) -> Vec<SourcePlace> {
        let scope = self.resolver.scope;
        match scope.management.map(|management| &management.source) {
            // The object is part of the tree, because the fleet specifies the repository by URL.
            Some(EngineSource::Git { .. }) => {
                let name = if key == "name" { scope.fleet_name() } else { Vec::new() };
                [name, scope.fleet_value(&["source"])].concat()
            }
            _ => scope.fleet_value(&["source", "ref", key]),
        }
    }

    /// The folder of what an object applies.
    fn folder(&self, applied: &AppliedFolder) -> Option<Vec<SourcePlace>> {
        let scope = self.resolver.scope;
        let folder = Words::from("the folder of the tree that it applies");
        let fleet = scope.fleet_value(&["source", "path"]);
        let fleet = fleet.into_iter().map(|source| SourcePlace { what: folder.clone(), ..source });
        // The folder of the fleet is named after the management cluster alone.
        let own = if *applied == AppliedFolder::Fleet { Vec::new() } else { self.applied(applied) };
        all([own, scope.management_name(), fleet.collect()])
    }

    /// The name of the object that installs a dependency of the addon.
    fn installer(&self, name: &str) -> Option<Vec<SourcePlace>> {
        let (scope, addon) = (self.resolver.scope, self.resolver.addon?);
        let plan = scope.cluster()?;
        let addons = plan.addons.iter().map(|one| one.frozen.addon.name.as_str());
        // Long names are cut, so the name alone does not tell which addon it is.
        let other = addons.into_iter().find(|other| render::installs(plan, other, name))?;
        all([
            scope.addon(addon, &["dependsOn"]),
            scope.addon(addon, &["stage"]),
            scope.addon(other, &["stage"]),
            scope.addon_enabled(other),
            scope.keys(&["metadata", "name"]),
        ])
    }

    /// The sources of what an addon waits for, and of what it would wait for if the cluster had it.
    fn dependencies(&self, charts: bool, of_stages: bool) -> Vec<SourcePlace> {
        let scope = self.resolver.scope;
        let addons = scope.addons();
        let own = addons.iter().find(|one| Some(one.addon.name.as_str()) == self.resolver.addon);
        let Some(own) = own else { return Vec::new() };
        let name = own.addon.name.as_str();
        let mut sources = scope.addon(name, &["dependsOn"]);
        sources.extend(scope.addon(name, &["stage"]));
        for other in addons_before(addons.iter().copied(), (own, charts), of_stages) {
            sources.extend(scope.addon_enabled(other.addon.name.as_str()));
            sources.extend(scope.addon(other.addon.name.as_str(), &["stage"]));
        }
        sources
    }

    /// Where the branch or the tag that the engine reads comes from.
    fn source_reference(&self) -> Vec<SourcePlace> {
        let scope = self.resolver.scope;
        let source = scope.management.map(|management| &management.source);
        let is_tag = matches!(source, Some(EngineSource::Git { reference: GitReference::Tag(_), .. }));
        scope.fleet_value(&["source", if is_tag { "tag" } else { "branch" }])
    }

    /// Where the name of what an object applies comes from.
    fn applied(&self, applied: &AppliedFolder) -> Vec<SourcePlace> {
        let scope = self.resolver.scope;
        match applied {
            AppliedFolder::Fleet => scope.fleet_name(),
            AppliedFolder::Unit(unit) => self.unit(unit),
            AppliedFolder::ClustersOf(_) => scope.namespace_name(),
            AppliedFolder::Sources => Vec::new(),
        }
    }

    /// Where the name of a unit comes from.
    fn unit(&self, unit: &Unit) -> Vec<SourcePlace> {
        let scope = self.resolver.scope;
        match unit {
            Unit::Release { .. } => self.release_name(),
            Unit::Namespace { namespace } => {
                let own = scope.cluster().is_some_and(|plan| plan.cluster.namespace.as_str() == namespace);
                if own || matches!(scope.whose, PartOwner::Namespace(..)) {
                    scope.namespace_name()
                } else {
                    scope.fleet_value(&["classNamespace"])
                }
            }
            Unit::Cluster { part, .. } => {
                let mut sources = scope.keys(&["metadata", "name"]);
                sources.extend(scope.namespace_name());
                if let ClusterPart::Manifests { addon } = part {
                    sources.extend(scope.addon_enabled(addon));
                    sources.extend(scope.addon(addon, &["stage"]));
                }
                sources
            }
        }
    }

    /// The name of the release that an object is about. In the part of a management cluster, the release of the file.
    fn release_name(&self) -> Vec<SourcePlace> {
        let scope = self.resolver.scope;
        if scope.layers.is_some() {
            return scope.release_name();
        }
        scope.used(&Scope::release_name)
    }

    fn suspended(&self) -> Option<Vec<SourcePlace>> {
        let scope = self.resolver.scope;
        let standby = scope.management.is_some_and(|management| management.standby);
        let standby = if standby { scope.fleet_value(&["standby"]) } else { Vec::new() };
        let leaving =
            self.resolver.addon.map(|addon| scope.set(&Path::of(&["spec", "addons", addon, "removal"])));
        all([
            standby,
            scope.set(&Path::of(&["spec", "suspend"])),
            scope.set(&Path::of(&["spec", "removal"])),
            leaving.unwrap_or_default(),
        ])
    }

    /// The key `values`, which exists because of the addon's template and the cluster's own values.
    fn values(&self, addon: &str) -> Option<Vec<SourcePlace>> {
        let plan = self.resolver.scope.addon_plan(addon)?;
        let own = self.resolver.scope.set(&Path::of(&["spec", "addons", addon, "values"]));
        let template = plan.frozen.values.iter().map(|template| {
            let source = template.template.source();
            let line = first_line(&source.text);
            SourcePlace::lines(Role::Template, "", source, line, line)
        });
        Some(template.chain(own).collect())
    }

    fn values_from(&self, addon: &str, key: &str) -> Option<Vec<SourcePlace>> {
        let Some(Segment::Item(index)) = self.path.segments().get(2) else { return None };
        let written = match (key, self.node.as_str()) {
            ("name", _) => return None,
            ("kind", Some("Secret")) => "secret",
            ("kind", _) => "configMap",
            ("valuesKey", _) => "key",
            ("targetPath" | "literal", _) => "path",
            _ => key,
        };
        let path = Path::of(&["valuesFrom"]).item(*index).key(written);
        self.resolver.scope.addon_path(addon, &path, Role::Stack).map(|source| vec![source])
    }

    /// The URL of a chart's repository, and the mirror used instead.
    fn chart_repository(&self, addon: &str) -> Option<Vec<SourcePlace>> {
        let scope = self.resolver.scope;
        let mirrored = scope.management.is_some_and(|management| !management.mirrors.is_empty());
        let mirrors = if mirrored { scope.fleet_value(&["mirrors"]) } else { Vec::new() };
        let repository = scope.addon(addon, &["chart", "repository"]);
        let plan = scope
            .addon_plan(addon)
            .and_then(|plan| Some((plan.frozen.addon.chart.as_ref()?, scope.management?)));
        let exact = plan.and_then(|(chart, management)| {
            let mirror = management.mirror_of(&chart.repository)?;
            Some(scope.fleet_value(&["mirrors", mirror.from.as_str()]))
        });
        all([repository, exact.unwrap_or(mirrors)])
    }

    /// The fields of a ConfigMap that records what a cluster should have and keeps its folder from being empty.
    fn marker(&self, names: &[&str]) -> Option<Vec<SourcePlace>> {
        let scope = self.resolver.scope;
        let ready = self.facts.purpose == Purpose::ReadyMarker;
        match names {
            ["metadata", "name"] => Some(scope.keys(&["metadata", "name"])),
            ["metadata", "namespace"] => Some(scope.namespace_name()),
            ["data", "reason"] => Some(scope.keys(&["spec", "removal", "reason"])),
            ["data", "removal"] => Some(scope.keys(&["spec", "removal", "step"])),
            ["data", "release"] if ready => Some(scope.release_name()),
            ["data", "kubernetes"] if ready => Some(scope.kubernetes()),
            ["data"] if ready => self.program("what the cluster should have: git keeps no empty folder"),
            ["data"] => {
                let addons = scope.addons();
                let enabled = addons.iter().map(|addon| scope.addon_enabled(addon.addon.name.as_str()));
                all(enabled.chain([scope.choice()]))
            }
            ["data", addon] => all([scope.addon_version(addon), scope.addon_enabled(addon), scope.choice()]),
            _ => None,
        }
    }

    /// The URL of the fleet's repository, or of the repository of a chart that a cluster uses.
    fn repository(&self, address: &str) -> Vec<SourcePlace> {
        let scope = self.resolver.scope;
        let charts = scope.used_each(&|scope| {
            let addons = scope.cluster().map(|plan| plan.addons.as_slice()).unwrap_or_default();
            let is_from = |addon: &&AddonPlan| {
                addon.helm.as_ref().is_some_and(|helm| address.starts_with(&helm.chart.repository))
            };
            let name = |addon: &'_ AddonPlan| {
                scope.addon(addon.frozen.addon.name.as_str(), &["chart", "repository"])
            };
            addons.iter().filter(is_from).map(name).collect()
        });
        if charts.is_empty() { scope.fleet_value(&["source", "url"]) } else { charts }
    }

    /// A chart shared by all clusters, with the sources of each cluster that uses it.
    fn chart(&self, chart: &str, what: ChartProvenance) -> Vec<SourcePlace> {
        self.resolver.scope.used_each(&|scope| {
            let one = |name| {
                let version = || scope.addon_version(name);
                let key = |key| scope.addon(name, &["chart", key]);
                match what {
                    ChartProvenance::Identity => [version(), key("name"), key("repository")].concat(),
                    ChartProvenance::Version => version(),
                    ChartProvenance::Name => key("name"),
                    ChartProvenance::Repository => key("repository"),
                }
            };
            chart_users(scope, chart).into_iter().map(one).collect()
        })
    }
}

/// The addons of a cluster that use a chart or repository with this object name.
pub(super) fn chart_users<'a>(scope: &Scope<'a>, chart: &str) -> Vec<&'a str> {
    let addons = scope.cluster().map(|plan| plan.addons.as_slice()).unwrap_or_default();
    let uses = |addon: &&AddonPlan| {
        let source = addon.helm.as_ref().map(|helm| &helm.chart);
        source.is_some_and(|source| scope.fleet.is_chart(source, chart))
    };
    addons.iter().filter(uses).map(|addon| addon.frozen.addon.name.as_str()).collect()
}

/// The first significant line: statements count, comments and blank lines do not.
fn first_line(text: &str) -> usize {
    let counts = |line: &str| {
        let line = line.trim();
        let comment = line.starts_with('#') && !line.starts_with("#%");
        !(line.is_empty() || comment || line == "---")
    };
    text.lines().position(counts).map_or(1, |at| at + 1)
}
