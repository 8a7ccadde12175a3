//! Compares the classes of two releases and determines which machines a change replaces.
//!
//! Cluster API replaces machines when the spec of their template changes, or when a patch writes something else into it. New
//! names alone have no effect. A changed patch, or a changed default that a patch reads, counts as a change of every
//! template that the patch selects. Some clusters may turn out to be unaffected, but no machine is replaced without notice.

use std::collections::{BTreeMap, BTreeSet};

use super::{Effect, Impact};
use crate::{
    release::{Release, freeze, readers::readers},
    yaml::{Mapping, Node, to_json},
};

/// Adds the effects that a change of class has on machines.
pub(super) fn compare(old: &Release, new: &Release, impact: &mut Impact) {
    let (before, after) = (Class::of(old), Class::of(new));
    let mut comparison = Comparison { release: new, before: &before, after: &after, impact };
    comparison.class();
    comparison.templates();
}

/// The role of a template in a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Cluster,
    ControlPlane,
    ControlPlaneMachines,
    Workers,
    Pools,
}

/// The objects of a release, under its real name. If the spec of a template contains that name, the spec differs in every
/// release.
struct Class {
    objects: BTreeMap<(String, String), Node>,
    spec: Node,
}

impl Class {
    fn of(release: &Release) -> Self {
        let objects = &release.objects;
        let class =
            objects.iter().find(|object| object.get("kind").and_then(Node::as_str) == Some("ClusterClass"));
        let spec = class.and_then(|class| class.get("spec")).cloned();
        let spec = spec.unwrap_or_else(|| Mapping::new().into());
        let objects = objects.iter().map(|object| (freeze::identity(object), object.clone())).collect();
        Self { objects, spec }
    }

    /// Looks up the template that a reference points to.
    fn template(&self, holder: Option<&Node>) -> Option<&Node> {
        let reference = holder?.get("templateRef")?;
        let text = |key| reference.get(key).and_then(Node::as_str).unwrap_or_default().to_owned();
        self.objects.get(&(text("kind"), text("name")))
    }

    fn workers(&self, kind: &str) -> BTreeMap<&str, &Node> {
        let listed = self.spec.at(&["workers", kind]).and_then(Node::as_sequence).unwrap_or_default();
        listed.iter().filter_map(|one| Some((one.get("class")?.as_str()?, one))).collect()
    }

    fn named(&self, list: &str) -> BTreeMap<&str, &Node> {
        let listed = self.spec.get(list).and_then(Node::as_sequence).unwrap_or_default();
        listed.iter().filter_map(|one| Some((one.get("name")?.as_str()?, one))).collect()
    }
}

struct Comparison<'a> {
    release: &'a Release,
    before: &'a Class,
    after: &'a Class,
    impact: &'a mut Impact,
}

impl Comparison<'_> {
    /// Compares the class itself: variables, patches and machine settings.
    fn class(&mut self) {
        self.variables();
        let (before, after) = (self.before.named("patches"), self.after.named("patches"));
        for name in before.keys().chain(after.keys()).collect::<BTreeSet<_>>() {
            let (old, new) = (before.get(*name).copied(), after.get(*name).copied());
            let does = |patch: Option<&Node>| {
                let mut patch = patch.and_then(Node::as_mapping).cloned();
                patch.as_mut().map(|patch| patch.remove("description"));
                patch
            };
            if does(old) != does(new) {
                for patch in [old, new].into_iter().flatten() {
                    self.patch(patch, &format!("the patch `{name}`"));
                }
            } else if let Some(patch) = new.filter(|patch| reads(patch, "builtin.cluster.topology.class")) {
                self.patch(patch, &format!("the patch `{name}`, which reads the name of the class"));
            }
        }
        let (before, after) = (fields(Some(&self.before.spec)), fields(Some(&self.after.spec)));
        for name in before.keys().chain(after.keys()).collect::<BTreeSet<_>>() {
            let is_compared_apart = matches!(
                name.as_str(),
                "variables" | "patches" | "workers" | "controlPlane" | "infrastructure"
            );
            if !is_compared_apart && before.get(name) != after.get(name) {
                self.impact.add(Effect::Unknown, format!("the class' `{name}` changes"));
            }
        }
    }

    /// Compares variables. A default affects every cluster that doesn't set the variable, through the patches that read it.
    fn variables(&mut self) {
        let (before, after) = (self.before.named("variables"), self.after.named("variables"));
        for name in before.keys().chain(after.keys()).collect::<BTreeSet<_>>() {
            let (old, new) = (before.get(*name), after.get(*name));
            if old == new {
                continue;
            }
            let defaults = |one: Option<&&Node>| {
                let mut found = Vec::new();
                if let Some(one) = one {
                    defaults(one, "", &mut found);
                }
                found
            };
            if new.is_none() {
                let renamed = self.release.migrations.iter().find(|one| *one.variable == **name);
                let why = renamed.map_or_else(
                    || format!("the variable `{name}` is gone: clusters that set it are refused"),
                    |one| {
                        let now = one.target();
                        format!("the variable `{name}` is called `{now}`: clusters that set it are refused until `stackloom migrate` has changed their definitions")
                    },
                );
                self.impact.add(Effect::Unknown, why);
            } else if new.and_then(|new| new.get("required")).and_then(Node::as_bool) == Some(true)
                && old.is_none()
            {
                self.impact.add(
                    Effect::Unknown,
                    format!("the variable `{name}` is new, and every cluster must set it"),
                );
            }
            if defaults(old) == defaults(new) {
                self.impact.add(Effect::InPlace, format!("the variable `{name}`"));
                continue;
            }
            let mut read = false;
            for patch in self.after.named("patches").values().filter(|patch| reads(patch, name)) {
                read = true;
                self.patch(patch, &format!("the default of the variable `{name}`"));
            }
            for (effect, why) in readers(self.release, name) {
                read = true;
                self.impact.add(effect, why);
            }
            if !read {
                self.impact.add(
                    Effect::InPlace,
                    format!("the default of the variable `{name}`, which nothing reads"),
                );
            }
        }
    }

    /// Adds the effects of the templates that a patch can modify.
    fn patch(&mut self, patch: &Node, why: &str) {
        let Some(definitions) = patch.get("definitions").and_then(Node::as_sequence) else {
            self.impact.add(Effect::Unknown, format!("{why}: it is made outside of the class"));
            return;
        };
        for definition in definitions {
            let Some(selected) = definition.at(&["selector", "matchResources"]) else { continue };
            let is = |key: &str| selected.get(key).and_then(Node::as_bool) == Some(true);
            let kind = definition.at(&["selector", "kind"]).and_then(Node::as_str).unwrap_or_default();
            if is("controlPlane") {
                self.impact.add(Effect::ControlPlaneReplaced, why);
            }
            if is("infrastructureCluster") {
                self.impact.add(
                    Effect::Unknown,
                    format!("{why}: the provider decides what a change of `{kind}` does"),
                );
            }
            if selected.get("machineDeploymentClass").is_some() {
                self.impact.add(Effect::WorkersReplaced, why);
            }
            if selected.get("machinePoolClass").is_some() {
                self.impact.add(
                    Effect::Unknown,
                    format!("{why}: the provider decides what becomes of machine pools"),
                );
            }
        }
    }

    fn templates(&mut self) {
        self.pair(Role::Cluster, "the cluster's infrastructure", &["infrastructure"], None);
        self.pair(Role::ControlPlane, "the control plane", &["controlPlane"], None);
        let machines = ["controlPlane", "machineInfrastructure"];
        self.pair(Role::ControlPlaneMachines, "machines of the control plane", &machines, None);
        self.settings(
            "the control plane",
            self.before.spec.get("controlPlane"),
            self.after.spec.get("controlPlane"),
        );
        for (kind, role) in [("machineDeployments", Role::Workers), ("machinePools", Role::Pools)] {
            let (before, after) = (self.before.workers(kind), self.after.workers(kind));
            for class in before.keys().chain(after.keys()).collect::<BTreeSet<_>>() {
                match (before.get(*class), after.get(*class)) {
                    (Some(_), None) => {
                        let why = format!(
                            "the class of workers `{class}` is gone: clusters that use it are refused"
                        );
                        self.impact.add(Effect::Unknown, why);
                    }
                    (Some(old), Some(new)) => {
                        let what = format!("workers of the class `{class}`");
                        for part in ["bootstrap", "infrastructure"] {
                            self.pair(role, &what, &[part], Some((old, new)));
                        }
                        self.settings(&what, Some(old), Some(new));
                    }
                    (None, _) => {
                        self.impact.add(Effect::InPlace, format!("the class of workers `{class}` is new"));
                    }
                }
            }
        }
    }

    /// Compares the templates that two references point to.
    fn pair(&mut self, role: Role, what: &str, path: &[&str], inside: Option<(&Node, &Node)>) {
        let (old, new) = inside.unwrap_or((&self.before.spec, &self.after.spec));
        let before = self.before.template(old.at(path));
        let after = self.after.template(new.at(path));
        let spec = |node: Option<&Node>| node.and_then(|node| node.get("spec")).cloned();
        let kind = |node: Option<&Node>| node.and_then(|node| node.get("kind")).cloned();
        if kind(before) != kind(after) {
            self.impact.add(
                Effect::Unknown,
                format!("{what}: another kind of template, which Cluster API may refuse"),
            );
            return;
        }
        let version = |node: Option<&Node>| node.and_then(|node| node.get("apiVersion")).cloned();
        if version(before) != version(after) {
            self.impact.add(Effect::Unknown, format!("{what}: another version of the template's API"));
        }
        if spec(before) == spec(after) {
            return;
        }
        let kind = kind(after).and_then(|kind| kind.as_str().map(str::to_owned)).unwrap_or_default();
        match role {
            Role::ControlPlane if kind == "KubeadmControlPlaneTemplate" => {
                self.kubeadm_control_plane(
                    before.and_then(|node| node.get("spec")),
                    after.and_then(|node| node.get("spec")),
                );
            }
            Role::ControlPlaneMachines => {
                self.impact.add(Effect::ControlPlaneReplaced, format!("{what}: {kind}"));
            }
            Role::Workers => self.impact.add(Effect::WorkersReplaced, format!("{what}: {kind}")),
            Role::Cluster | Role::ControlPlane | Role::Pools => {
                self.impact.add(
                    Effect::Unknown,
                    format!("{what}: the provider decides what a change of `{kind}` does"),
                );
            }
        }
    }

    /// Compares kubeadm control plane templates. A changed machine configuration causes a rollout; other fields change in
    /// place.
    fn kubeadm_control_plane(&mut self, before: Option<&Node>, after: Option<&Node>) {
        const IN_PLACE: [&str; 3] = ["remediation", "machineNaming", "machineTemplate"];
        let inside = |node: Option<&Node>| fields(node.and_then(|node| node.at(&["template", "spec"])));
        let (old, new) = (inside(before), inside(after));
        if old == new {
            self.impact.add(Effect::InPlace, "metadata of the control plane");
        }
        for name in old.keys().chain(new.keys()).collect::<BTreeSet<_>>() {
            if old.get(name) == new.get(name) {
                continue;
            }
            let why = format!("the control plane: {name}");
            match name.as_str() {
                "kubeadmConfigSpec" => self.impact.add(Effect::ControlPlaneReplaced, why),
                "rollout" => self.rollout(old.get(name), new.get(name), &why),
                field if IN_PLACE.contains(&field) => self.impact.add(Effect::InPlace, why),
                _ => self.impact.add(Effect::Unknown, why),
            }
        }
    }

    /// Compares rollout settings. A changed strategy takes effect in place; any other change may replace machines now.
    fn rollout(&mut self, before: Option<&Node>, after: Option<&Node>, why: &str) {
        let (old, new) = (fields(before), fields(after));
        for name in old.keys().chain(new.keys()).filter(|name| old.get(*name) != new.get(*name)) {
            let effect = if name == "strategy" { Effect::InPlace } else { Effect::Unknown };
            self.impact.add(effect, format!("{why}.{name}"));
        }
    }

    /// Compares the settings of a class for machines, other than their templates.
    fn settings(&mut self, what: &str, before: Option<&Node>, after: Option<&Node>) {
        const IN_PLACE: [&str; 10] = [
            "metadata",
            "naming",
            "healthCheck",
            "deletion",
            "rollout",
            "minReadySeconds",
            "readinessGates",
            "taints",
            "machineHealthCheck",
            "namingStrategy",
        ];
        let (old, new) = (fields(before), fields(after));
        for name in old.keys().chain(new.keys()).collect::<BTreeSet<_>>() {
            let template = matches!(
                name.as_str(),
                "templateRef" | "machineInfrastructure" | "bootstrap" | "infrastructure"
            );
            if template || old.get(name) == new.get(name) {
                continue;
            }
            let why = format!("{what}: {name}");
            match name.as_str() {
                "failureDomain" => self.impact.add(Effect::WorkersReplaced, why),
                field if IN_PLACE.contains(&field) => self.impact.add(Effect::InPlace, why),
                _ => self.impact.add(Effect::Unknown, why),
            }
        }
    }
}

/// The entries of a mapping.
fn fields(node: Option<&Node>) -> BTreeMap<String, Node> {
    let own = node.and_then(Node::as_mapping).into_iter().flat_map(Mapping::iter);
    own.map(|entry| (entry.key.name.to_string(), entry.value.clone())).collect()
}

/// Collects every default in the schema of a variable, with its path.
fn defaults(node: &Node, path: &str, found: &mut Vec<(String, String)>) {
    if let Some(mapping) = node.as_mapping() {
        for entry in mapping.iter() {
            let path = format!("{path}/{}", entry.key.name);
            if &*entry.key.name == "default" {
                found.push((path, to_json(&entry.value).to_string()));
            } else {
                defaults(&entry.value, &path, found);
            }
        }
    }
    for item in node.as_sequence().into_iter().flatten() {
        defaults(item, path, found);
    }
    found.sort();
}

/// Reports whether a patch uses a variable, either as a value or in a template.
fn reads(patch: &Node, name: &str) -> bool {
    let inside = |text: &str| {
        text.match_indices(name).any(|(at, _)| {
            let word = |c: char| c.is_alphanumeric() || c == '_';
            let before = text[..at].chars().next_back();
            let after = text[at + name.len()..].chars().next();
            !before.is_some_and(word) && !after.is_some_and(word)
        })
    };
    patch.as_str().is_some_and(inside)
        || patch.as_sequence().is_some_and(|items| items.iter().any(|item| reads(item, name)))
        || patch.as_mapping().is_some_and(|mapping| mapping.iter().any(|entry| reads(&entry.value, name)))
}
