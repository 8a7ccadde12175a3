//! Lists what to change in the definition of a cluster that moves to another release: variables and worker classes that
//! differ.
//!
//! If the cluster can move, its notes list the differences. If its definition does not fit the new release, it is refused.
//! The reasons then name the lines to change, and say whether `stackloom migrate` changes them.

use std::collections::{BTreeMap, BTreeSet};

use super::{After, change::Effect, cluster::ClusterReport};
use crate::{
    compare::{Archive, ClassName},
    model::ClusterId,
    note::{Fault, Notes},
    remove::Defined,
    render,
    world::Input,
    yaml::{self, FileId, Node, Source},
};

/// What a class requires from clusters.
#[derive(Debug, Default, PartialEq, Eq)]
struct Class {
    variables: BTreeMap<String, Variable>,
    workers: BTreeSet<String>,
    migrations: Vec<Migration>,
}

/// A release's record of a variable whose name or type changed.
#[derive(Debug, PartialEq, Eq)]
struct Migration {
    variable: String,
    rename_to: Option<String>,
    kind: Option<String>,
}

#[derive(Debug, PartialEq, Eq)]
struct Variable {
    is_required: bool,
    kind: String,
}

/// A difference between two classes.
#[derive(Debug, PartialEq, Eq)]
enum Difference<'a> {
    Gone(&'a str),
    Renamed(&'a str, &'a str),
    Converted(&'a str, &'a str, &'a str),
    Required(&'a str),
    Retyped(&'a str, &'a str, &'a str),
    NoWorker(&'a str),
}

impl Difference<'_> {
    fn words(&self, release: &str) -> String {
        match self {
            Self::Gone(name) => format!("the variable `{name}` is gone in {release}"),
            Self::Renamed(old, new) => format!("the variable `{old}` is called `{new}` in {release}"),
            Self::Required(name) => {
                format!("the variable `{name}` is required in {release}, and was not before")
            }
            Self::Retyped(name, old, new) | Self::Converted(name, old, new) => {
                format!("the variable `{name}` is of type {new} in {release}, and was of type {old}")
            }
            Self::NoWorker(name) => format!("the worker class `{name}` is gone in {release}"),
        }
    }

    /// The command that adapts a definition, if any.
    fn advice(&self) -> &'static str {
        match self {
            Self::Renamed(..) | Self::Converted(..) => ": `stackloom migrate` changes it",
            Self::Gone(_) | Self::Required(_) | Self::Retyped(..) | Self::NoWorker(_) => "",
        }
    }

    /// The nodes of a definition that do not fit; none if the difference does not affect it.
    fn nodes<'n>(&self, definition: &'n Node) -> Vec<&'n Node> {
        let spec = |path: &[&str]| definition.get("spec").and_then(|spec| spec.at(path));
        let pools = || spec(&["nodePools"]).and_then(Node::as_sequence).unwrap_or_default();
        let set = |name: &str| {
            let of_pools = pools().iter().filter_map(|pool| pool.at(&["variables", name]));
            let own = [spec(&["variables", name]), spec(&["controlPlane", "variables", name])];
            own.into_iter().flatten().chain(of_pools).collect::<Vec<_>>()
        };
        match self {
            Self::Gone(name)
            | Self::Retyped(name, ..)
            | Self::Renamed(name, _)
            | Self::Converted(name, ..) => set(name),
            Self::Required(name) if set(name).is_empty() => {
                spec(&["variables"]).or_else(|| definition.get("spec")).into_iter().collect()
            }
            Self::Required(_) => Vec::new(),
            Self::NoWorker(name) => {
                let classes = pools().iter().filter_map(|pool| pool.get("class"));
                classes.filter(|class| class.as_str() == Some(name)).collect()
            }
        }
    }
}

impl Class {
    fn read(archive: &dyn Archive, release: &str) -> Result<Option<Self>, Fault> {
        for (path, id) in archive.list(&format!("generated/releases/{release}/cluster-class"))? {
            let read = yaml::read(&Source::new(FileId(0), &*path, archive.read(&id)?), &mut Notes::new());
            let class = read.filter(|one| one.get("kind").and_then(Node::as_str) == Some("ClusterClass"));
            if let Some(class) = class {
                let migrations = Migration::read(archive, release)?;
                return Ok(Some(Self { migrations, ..Self::of(&class) }));
            }
        }
        Ok(None)
    }

    fn of(class: &Node) -> Self {
        let list = |path: &[&str]| class.at(path).and_then(Node::as_sequence).unwrap_or_default();
        let variable = |one: &Node| {
            let kind = one.at(&["schema", "openAPIV3Schema", "type"]).and_then(Node::as_str);
            let is_required = one.get("required").and_then(Node::as_bool) == Some(true);
            let kind = kind.unwrap_or("any").to_owned();
            Some((one.get("name")?.as_str()?.to_owned(), Variable { is_required, kind }))
        };
        let workers = ["machineDeployments", "machinePools"].map(|kind| list(&["spec", "workers", kind]));
        let name = |one: &Node| Some(one.get("class")?.as_str()?.to_owned());
        Self {
            variables: list(&["spec", "variables"]).iter().filter_map(variable).collect(),
            workers: workers.into_iter().flatten().filter_map(name).collect(),
            migrations: Vec::new(),
        }
    }

    /// The name in this class of a variable from an earlier release.
    fn current<'a>(&'a self, name: &'a str) -> &'a str {
        self.migrations.iter().fold(name, |name, one| match &one.rename_to {
            Some(to) if one.variable == name && !self.variables.contains_key(name) => to,
            _ => name,
        })
    }

    /// Whether a migration converts a variable to a type.
    fn converts(&self, name: &str, kind: &str) -> bool {
        let is_it = |one: &Migration| one.rename_to.as_deref().unwrap_or(&one.variable) == name;
        self.migrations.iter().any(|one| is_it(one) && one.kind.as_deref() == Some(kind))
    }

    fn differences<'a>(&'a self, new: &'a Self) -> Vec<Difference<'a>> {
        let gone = self.variables.keys().filter(|name| !new.variables.contains_key(*name));
        let mut earlier: BTreeMap<&str, &Variable> = BTreeMap::new();
        let mut found = Vec::new();
        for name in gone {
            let current = new.current(name);
            if new.variables.contains_key(current) {
                earlier.extend(self.variables.get(name).map(|variable| (current, variable)));
                found.push(Difference::Renamed(name, current));
            } else {
                found.push(Difference::Gone(name));
            }
        }
        for (name, now) in &new.variables {
            let before = self.variables.get(name).or_else(|| earlier.get(name.as_str()).copied());
            if now.is_required && before.is_none_or(|before| !before.is_required) {
                found.push(Difference::Required(name));
            }
            if let Some(before) = before.filter(|before| before.kind != now.kind) {
                let is_converted = new.converts(name, &now.kind);
                let difference = if is_converted { Difference::Converted } else { Difference::Retyped };
                found.push(difference(name, &before.kind, &now.kind));
            }
        }
        found.extend(self.workers.difference(&new.workers).map(|name| Difference::NoWorker(name)));
        found
    }
}

impl Migration {
    fn read(archive: &dyn Archive, release: &str) -> Result<Vec<Self>, Fault> {
        let path = format!("generated/releases/{release}/release.yaml");
        let Some(id) = archive.list(&format!("generated/releases/{release}"))?.remove(&path) else {
            return Ok(Vec::new());
        };
        let read = yaml::read(&Source::new(FileId(0), &*path, archive.read(&id)?), &mut Notes::new());
        let listed = read.as_ref().and_then(|node| node.at(&["spec", "migrations"])?.as_sequence());
        let one = |node: &Node| {
            let text = |key: &str| node.get(key).and_then(Node::as_str).map(str::to_owned);
            Some(Self { variable: text("variable")?, rename_to: text("renameTo"), kind: text("type") })
        };
        Ok(listed.unwrap_or_default().iter().filter_map(one).collect())
    }
}

/// The classes of both sides, by release. Each is read once.
struct Classes<'a> {
    sides: [&'a dyn Archive; 2],
    read: BTreeMap<(usize, String), Option<Class>>,
}

impl Classes<'_> {
    fn learn(&mut self, releases: [&str; 2]) -> Result<(), Fault> {
        for (side, release) in releases.into_iter().enumerate() {
            let key = (side, release.to_owned());
            if !self.read.contains_key(&key) {
                self.read.insert(key, Class::read(self.sides[side], release)?);
            }
        }
        Ok(())
    }

    fn differences(&self, [old, new]: [&str; 2]) -> Vec<Difference<'_>> {
        let side = |side: usize, release: &str| self.read.get(&(side, release.to_owned()))?.as_ref();
        match (side(0, old), side(1, new)) {
            (Some(old), Some(new)) => old.differences(new),
            _ => Vec::new(),
        }
    }
}

/// Adds to the reports what moving to another release requires. `input` holds the definitions after the change.
pub(super) fn add(
    clusters: &mut [ClusterReport],
    before: &dyn Archive,
    after: &After<'_>,
    input: &Input,
) -> Result<(), Fault> {
    let mut classes = Classes { sides: [before, after], read: BTreeMap::new() };
    for one in clusters.iter_mut() {
        if let (Some(old), Some(new), true) = (&one.release.before, &one.release.after, one.release.differs())
        {
            classes.learn([old, new])?;
            let found = classes.differences([old, new]);
            one.notes.extend(found.iter().map(|difference| difference.words(new)));
        }
    }
    let is_refused = |one: &&mut ClusterReport| {
        let refused = one.changes.iter().any(|change| change.effect == Effect::Refused && !change.guarded);
        refused && one.release.after.is_none()
    };
    let refused: Vec<_> = clusters.iter_mut().filter(is_refused).collect();
    if refused.is_empty() {
        return Ok(());
    }
    let defined = Defined::read(input);
    for one in refused {
        let Some(definition) = defined.merged(&one.cluster) else { continue };
        let Some(new) = definition.at(&["spec", "release"]).and_then(Node::as_str) else { continue };
        let Some(old) = release_before(&one.cluster, before, after)?.filter(|old| old != new) else {
            continue;
        };
        classes.learn([&old, new])?;
        let mut reasons = Vec::new();
        for difference in classes.differences([&old, new]) {
            let places = difference.nodes(&definition).into_iter();
            let places = places.filter_map(|node| input.sources.place(node.origin));
            reasons.extend(
                places.map(|place| format!("{place}: {}{}", difference.words(new), difference.advice())),
            );
        }
        if let Some(change) = one.changes.iter_mut().find(|change| change.effect == Effect::Refused) {
            change.reasons.extend(reasons);
        }
    }
    Ok(())
}

/// The former release of a cluster.
fn release_before(
    cluster: &ClusterId,
    before: &dyn Archive,
    after: &After<'_>,
) -> Result<Option<String>, Fault> {
    let path = format!("{}/{}", render::folder_of_cluster(cluster), render::CLUSTER_FILE);
    let Some(id) = after.id_before(&path)? else { return Ok(None) };
    let read = yaml::read(&Source::new(FileId(0), &*path, before.read(&id)?), &mut Notes::new());
    Ok(read.map(|cluster| ClassName::of(&cluster).name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(text: &str) -> Node {
        yaml::read(&Source::new(FileId(0), "test", text.to_owned()), &mut Notes::new()).unwrap()
    }

    const OLD: &str = "
spec:
  variables:
    - { name: flavor, required: true, schema: { openAPIV3Schema: { type: string } } }
    - { name: size, schema: { openAPIV3Schema: { type: string } } }
    - { name: same, schema: { openAPIV3Schema: { type: string } } }
  workers: { machineDeployments: [{ class: default-worker }, { class: gpu }] }
";
    const NEW: &str = "
spec:
  variables:
    - { name: workerFlavor, required: true, schema: { openAPIV3Schema: { type: string } } }
    - { name: size, schema: { openAPIV3Schema: { type: integer } } }
    - { name: same, schema: { openAPIV3Schema: { type: string } } }
  workers: { machineDeployments: [{ class: default-worker }] }
";
    const DEFINITION: &str = "
spec:
  release: b
  nodePools:
    - { name: md-0, class: gpu, variables: { size: big } }
    - { name: md-1, class: default-worker }
  variables: { flavor: large, same: yes-it-is }
";

    #[test]
    fn what_does_not_fit_another_class_is_named_with_its_lines() {
        let (old, new, definition) = (Class::of(&node(OLD)), Class::of(&node(NEW)), node(DEFINITION));
        let source = Source::new(FileId(0), "c.yaml", DEFINITION.to_owned());
        let mut lines = Vec::new();
        for difference in old.differences(&new) {
            for found in difference.nodes(&definition) {
                let line = source.word(found.origin.offset as usize).line;
                lines.push(format!("{line}: {}", difference.words("b")));
            }
        }
        assert_eq!(
            lines,
            [
                "7: the variable `flavor` is gone in b",
                "5: the variable `size` is of type integer in b, and was of type string",
                "7: the variable `workerFlavor` is required in b, and was not before",
                "5: the worker class `gpu` is gone in b",
            ]
        );
        assert!(old.differences(&old).is_empty());
    }
}
