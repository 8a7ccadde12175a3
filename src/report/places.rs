//! Finds the line of a definition that causes a change: in the file of the cluster or the defaults of its folders, the line
//! of the release, the version, the pool or the addon.
//!
//! Deliberately absent: the former line. A change of a stack is shown where a cluster selects that stack.

use super::{
    ClusterReport,
    change::{Change, Effect, Subject},
};
use crate::{
    model::ClusterId,
    note::Place,
    remove::Defined,
    render,
    topology::{Pool, TopologyPart},
    world::Input,
    yaml::{Mapping, Node, Sources, Value},
};

/// The definitions of both sides.
#[derive(Debug)]
pub struct Places<'a> {
    before: Defined<'a>,
    after: Defined<'a>,
}

impl<'a> Places<'a> {
    /// Reads the definitions before and after the change.
    pub fn new(before: &'a Input, after: &'a Input) -> Self {
        Self { before: Defined::read(before), after: Defined::read(after) }
    }

    /// The place of a change of a cluster. If its definition is gone or unreadable, the place is its former file.
    pub(super) fn of(&self, cluster: &ClusterReport, change: &Change) -> Place {
        if let Some(file) = self.after.file(&cluster.cluster) {
            return self.line(cluster, change).unwrap_or_else(|| Place::file(file));
        }
        let from = match &change.effect {
            Effect::Moved { from, .. } => from,
            _ => &cluster.cluster,
        };
        self.before.file(from).map_or_else(|| made(&cluster.cluster), Place::file)
    }

    fn line(&self, cluster: &ClusterReport, change: &Change) -> Option<Place> {
        // A guard knows what it refuses.
        if let Some(place) = change.about.as_ref().and_then(|about| self.after.of(&cluster.cluster, about)) {
            return Some(place);
        }
        let node = self.after.merged(&cluster.cluster)?;
        let is_numbered = self.after.is_numbered(&cluster.cluster);
        let mut wanted = wanted(cluster, change, is_numbered);
        if change.subject == Subject::Whole {
            // The cause of a refusal of the whole cluster is in one of its parts.
            let parts = cluster.changes.iter().filter(|other| other.subject != Subject::Whole);
            wanted.extend(parts.flat_map(|other| self::wanted(cluster, other, is_numbered)));
        }
        wanted.push(Wanted::Key(&["metadata", "name"]));
        wanted.iter().find_map(|wanted| wanted.find(&node, self.after.sources()))
    }
}

/// The generated Cluster object, for a cluster without a definition.
fn made(id: &ClusterId) -> Place {
    let ClusterId { management, namespace, name } = id;
    Place::file(format!(
        "generated/management/{management}/clusters/{namespace}/{name}/{}",
        render::CLUSTER_FILE
    ))
}

/// What to look for.
enum Wanted<'a> {
    Key(&'static [&'static str]),
    Pool(&'a str),
    Addon(&'a str),
}

impl Wanted<'_> {
    fn find(&self, node: &Node, sources: &Sources) -> Option<Place> {
        match self {
            Self::Key([path @ .., key]) => entry(node.at(path)?.as_mapping()?, key, sources),
            Self::Key([]) => None,
            Self::Pool(name) => {
                let mut pools = node.at(&["spec", "nodePools"])?.as_sequence()?.iter();
                let own =
                    pools.find_map(|pool| pool.get("name").filter(|found| found.as_str() == Some(name)))?;
                sources.place(own.origin)
            }
            Self::Addon(name) => entry(node.at(&["spec", "addons"])?.as_mapping()?, name, sources),
        }
    }
}

/// The place of a key's value if it is a scalar, otherwise of the key.
fn entry(mapping: &Mapping, key: &str, sources: &Sources) -> Option<Place> {
    let entry = mapping.entry(key)?;
    let is_block = matches!(entry.value.value, Value::Mapping(_) | Value::Sequence(_));
    let own = if is_block { entry.key.origin } else { entry.value.origin };
    sources.place(own).or_else(|| sources.place(entry.key.origin))
}

/// The lines that may cause a change, likeliest first.
fn wanted<'a>(cluster: &ClusterReport, change: &'a Change, is_numbered: bool) -> Vec<Wanted<'a>> {
    let mut found = match (&change.subject, &change.effect) {
        (Subject::Whole, Effect::Paused | Effect::Resumed) => vec![Wanted::Key(&["spec", "suspend"])],
        (Subject::Whole, Effect::Gone(_) | Effect::Detached | Effect::Attached) => {
            vec![Wanted::Key(&["spec", "removal"])]
        }
        (Subject::Whole, Effect::Moved { .. }) => return vec![Wanted::Key(&["metadata", "name"])],
        (_, Effect::Ignored) => return vec![Wanted::Key(&["spec", "network"])],
        _ => Vec::new(),
    };
    // A numbered release overrides the stack and the version in the defaults of folders.
    if cluster.kubernetes.differs() && !is_numbered {
        found.push(Wanted::Key(&["spec", "kubernetes"]));
    }
    if cluster.release.differs() || cluster.kubernetes.differs() {
        found.push(Wanted::Key(&["spec", "release"]));
        found.push(Wanted::Key(&["spec", "stack"]));
    }
    match &change.subject {
        Subject::Part(TopologyPart::ControlPlane) => found.push(Wanted::Key(&["spec", "controlPlane"])),
        Subject::Part(TopologyPart::Pool(Pool { name, .. })) => {
            found.push(Wanted::Pool(name));
            found.push(Wanted::Key(&["spec", "nodePools"]));
        }
        // An addon that is turned off has a line of its own, whatever else changes.
        Subject::Addon(name) => found.insert(0, Wanted::Addon(name)),
        _ => {}
    }
    found
}
