//! Checks whether the existing tree already reflects a step.

use super::RemovalTarget;
use crate::{
    compare::ClusterFacts,
    note::Notes,
    plan::ClusterPlan,
    render::{self, Object, PartSubject},
    yaml::{self, Node},
};

/// A generated file about the object of a removal, as the current definition means it.
#[derive(Clone, Debug)]
pub struct DefinedFile {
    /// The path of the file.
    pub path: String,
    /// The object in the file, and the text; none if the file should not exist.
    drawn: Option<(Object, String)>,
}

/// The generated files about the object of a removal.
pub fn drawn(plan: &ClusterPlan, leaver: &RemovalTarget) -> Vec<DefinedFile> {
    let drawn = render::draw(PartSubject::Cluster(plan), &mut Notes::new());
    let part = drawn.to_part();
    let paths = match leaver {
        RemovalTarget::Cluster | RemovalTarget::Pool(_) => vec![render::cluster_file(plan)],
        RemovalTarget::Addon(name) => render::addon_files(plan, name).to_vec(),
    };
    let meant = |path: &crate::tree::TreePath| {
        let object = drawn.objects.iter().find(|object| object.path == *path)?;
        let file = part.files.iter().find(|file| file.path == *path)?;
        Some((object.clone(), file.text().to_string()))
    };
    paths.iter().map(|path| DefinedFile { path: path.to_string(), drawn: meant(path) }).collect()
}

impl DefinedFile {
    /// Whether an existing file matches this one, as far as the removal is concerned.
    pub fn is_drawn(&self, leaver: &RemovalTarget, there: Option<&str>) -> bool {
        match (&self.drawn, there) {
            (Some((object, text)), Some(there)) => match leaver {
                RemovalTarget::Cluster => object.kept == render::is_protected(there),
                RemovalTarget::Pool(name) => {
                    let there = facts(there);
                    let there = there.as_ref().and_then(|there| pool(there, name));
                    pool(&ClusterFacts::of(&object.node), name) == there
                }
                RemovalTarget::Addon(_) => text == there,
            },
            (drawn, there) => drawn.is_none() && there.is_none(),
        }
    }
}

fn pool<'a>(cluster: &'a ClusterFacts, name: &str) -> Option<&'a Node> {
    cluster.pools.iter().find(|(pool, _)| pool.name == name).map(|(_, pool)| pool)
}

/// The facts of a Cluster in a text; none if it cannot be read.
pub fn facts(text: &str) -> Option<ClusterFacts> {
    read(text).map(|cluster| ClusterFacts::of(&cluster))
}

/// Whether a text is an object with everything that identifies it in a namespace.
pub(super) fn is_readable(text: &str) -> bool {
    let keys: [&[&str]; 4] = [&["apiVersion"], &["kind"], &["metadata", "name"], &["metadata", "namespace"]];
    read(text).is_some_and(|object| {
        keys.iter().all(|key| object.at(key).and_then(Node::as_str).is_some_and(|text| !text.is_empty()))
    })
}

fn read(text: &str) -> Option<Node> {
    let mut sources = yaml::Sources::default();
    let id = sources.add("object", text);
    sources.get(id).and_then(|source| yaml::read(source, &mut Notes::new()))
}
