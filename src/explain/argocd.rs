//! Applications and projects of Argo CD: of which facts each field is made.

use super::{
    rules::{Field, all},
    scope::Whose,
    source::Source,
};
use crate::{plan::ChartSource, yaml::Node};

impl Field<'_, '_> {
    pub(super) fn application(&self, names: &[&str]) -> Option<Vec<Source>> {
        let scope = self.resolver.scope;
        match names {
            ["metadata", "name"] => self.application_name(),
            ["metadata", "namespace"] => Some(scope.fleet_value(&["argocd", "namespace"])),
            ["metadata", "labels", "stackloom.dev/management-cluster"] => Some(scope.management_name()),
            ["metadata", "labels", "stackloom.dev/namespace"] => Some(scope.namespace_name()),
            ["metadata", "labels", ..] => Some(scope.keys(&["metadata", "name"])),
            ["metadata", "finalizers", ..] => all([
                scope.program("deleting the Application deletes what it applied"),
                scope.cluster().map(|_| scope.set(&removal())).unwrap_or_default(),
            ]),
            ["metadata", "annotations", "argocd.argoproj.io/sync-wave"] => {
                let Some(addon) = self.resolver.addon else {
                    return self.program("projects come before the Applications that are in them");
                };
                all([scope.addon(addon, &["stage"]), scope.addon(addon, &["dependsOn"])])
            }
            ["metadata", "annotations", ..] => {
                self.program("how Argo CD compares and waits: see docs/argocd.md")
            }
            ["spec", "project"] => Some(self.project_of()),
            ["spec", "destination", "name" | "server"] => Some(self.destination()),
            ["spec", "destination", "namespace"] => Some(self.destination_namespace()),
            ["spec", "source", rest @ ..] => self.source_of(rest),
            ["spec", "syncPolicy", "automated"] => {
                all([scope.fleet_value(&["argocd", "automated"]), self.suspended().unwrap_or_default()])
            }
            ["spec", "syncPolicy", ..] => self.program("how Argo CD syncs: see docs/argocd.md"),
            _ => None,
        }
    }

    pub(super) fn app_project(&self, names: &[&str]) -> Option<Vec<Source>> {
        let scope = self.resolver.scope;
        match names {
            ["metadata", "name"] | ["spec", "description"] => {
                all([scope.management_name(), scope.namespace_name()])
            }
            ["metadata", "namespace"] => Some(scope.fleet_value(&["argocd", "namespace"])),
            ["metadata", "annotations", ..] => {
                self.program("projects come before the Applications that are in them")
            }
            ["spec", "destinations", "", "name" | "server"] => Some(if self.is_of_addons() {
                scope.fleet_value(&["argocd", "clusterNames"])
            } else {
                scope.fleet_value(&["argocd", "destination"])
            }),
            ["spec", "destinations", "", "namespace"] if !self.is_of_addons() => Some(scope.namespace_name()),
            ["spec", "sourceRepos", ""] if !self.is_of_addons() => Some(scope.fleet_value(&["source"])),
            ["spec", "sourceRepos", ""] => Some(self.repository(self.node.as_str().unwrap_or_default())),
            ["spec", ..] => self.program("what Applications of the project may apply: see docs/argocd.md"),
            _ => None,
        }
    }

    /// Whether the project is that of the addons.
    fn is_of_addons(&self) -> bool {
        let name = self.object.at(&["metadata", "name"]).and_then(Node::as_str);
        name.is_some_and(|name| name.ends_with(".addons"))
    }

    /// The address of the fleet's repository, or of a chart of some cluster.
    fn repository(&self, address: &str) -> Vec<Source> {
        let scope = self.resolver.scope;
        let charts = scope.used_each(&|scope| {
            let addons = scope.cluster().map(|plan| plan.addons.as_slice()).unwrap_or_default();
            let is_from = |chart: &ChartSource| address.starts_with(&chart.repository);
            let from =
                addons.iter().filter(|addon| addon.helm.as_ref().is_some_and(|helm| is_from(&helm.chart)));
            from.map(|addon| scope.addon(addon.frozen.addon.name.as_str(), &["chart", "repository"]))
                .collect()
        });
        if charts.is_empty() { scope.fleet_value(&["source"]) } else { charts }
    }

    /// The name of an Application begins with the management cluster's.
    fn application_name(&self) -> Option<Vec<Source>> {
        let scope = self.resolver.scope;
        let name = self.object.at(&["metadata", "name"]).and_then(Node::as_str)?;
        let management = scope.management.map(|management| management.name.as_str()).unwrap_or_default();
        let rest = name.strip_prefix(management).and_then(|rest| rest.strip_prefix('.')).unwrap_or(name);
        let rest = rest.strip_suffix(".manifests").unwrap_or(rest);
        all([self.named(rest).unwrap_or_default(), scope.management_name()])
    }

    fn project_of(&self) -> Vec<Source> {
        let scope = self.resolver.scope;
        if self.node.as_str().is_some_and(|name| name.contains(".namespace.")) {
            return [scope.management_name(), scope.namespace_name()].concat();
        }
        scope.fleet_value(&["argocd", "project"])
    }

    fn destination(&self) -> Vec<Source> {
        let scope = self.resolver.scope;
        if self.resolver.addon.is_some() {
            let names = scope.fleet_value(&["argocd", "clusterNames"]);
            return [names, scope.keys(&["metadata", "name"]), scope.namespace_name()].concat();
        }
        scope.fleet_value(&["argocd", "destination"])
    }

    fn destination_namespace(&self) -> Vec<Source> {
        let scope = self.resolver.scope;
        if let Some(addon) = self.resolver.addon {
            return scope.addon(addon, &["release", "namespace"]);
        }
        let own = self.object.at(&["metadata", "namespace"]).and_then(Node::as_str);
        match (scope.whose, self.node.as_str()) {
            (_, namespace) if namespace == own => scope.fleet_value(&["argocd", "namespace"]),
            (Whose::Management, _) => scope.fleet_value(&["classNamespace"]),
            _ => scope.namespace_name(),
        }
    }

    fn source_of(&self, names: &[&str]) -> Option<Vec<Source>> {
        let scope = self.resolver.scope;
        let is_chart = self.object.at(&["spec", "source", "helm"]).is_some();
        match (names, self.resolver.addon) {
            (["repoURL"], Some(addon)) if is_chart => self.chart_repository(addon),
            (["chart"], Some(addon)) => Some(scope.addon(addon, &["chart", "name"])),
            (["targetRevision"], Some(addon)) if is_chart => {
                all([scope.addon_version(addon), scope.choice()])
            }
            (["helm", "releaseName"], Some(addon)) => Some(scope.addon(addon, &["release", "name"])),
            (["helm", "valuesObject"], Some(addon)) => self.values(addon),
            (["repoURL"], _) => Some(scope.fleet_value(&["source", "url"])),
            (["targetRevision"], _) => Some(scope.fleet_value(&["source", "branch"])),
            (["path"], _) if !is_chart => {
                all([self.application_name().unwrap_or_default(), scope.fleet_value(&["source", "path"])])
            }
            (["plugin", ..], _) => Some(scope.fleet_value(&["decryption", "plugin"])),
            (["directory", ..], _) => self.program("the files of the folder are applied as they are"),
            _ => None,
        }
    }
}

fn removal() -> crate::yaml::Path {
    crate::yaml::Path::of(&["spec", "removal"])
}
