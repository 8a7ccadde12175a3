//! Checks whether the existing tree already reflects a step.

use super::Leaver;
use crate::{
    compare::ClusterFacts,
    note::Notes,
    plan::ClusterPlan,
    render::{self, Subject},
    yaml::{self, Node},
};

/// The generated files about the object of a removal, with their text according to the current definition; none if the file
/// should not exist.
pub fn drawn(plan: &ClusterPlan, leaver: &Leaver) -> Vec<(String, Option<String>)> {
    let part = render::draw(Subject::Cluster(plan), &mut Notes::new()).to_part();
    let files = match leaver {
        Leaver::Cluster | Leaver::Pool(_) => vec![render::cluster_file(plan)],
        Leaver::Addon(name) => render::addon_files(plan, name).to_vec(),
    };
    let meant = |path: &crate::tree::TreePath| {
        let file = part.files.iter().find(|file| file.path == *path)?;
        Some(String::from_utf8_lossy(&file.bytes).into_owned())
    };
    files.iter().map(|path| (path.to_string(), meant(path))).collect()
}

/// Whether an existing file matches the expected one, as far as the removal is concerned.
pub fn is_drawn(leaver: &Leaver, meant: Option<&str>, there: Option<&str>) -> bool {
    match (meant, there) {
        (Some(meant), Some(there)) => match leaver {
            Leaver::Cluster => render::is_protected(meant) == render::is_protected(there),
            Leaver::Pool(name) => pool(meant, name) == pool(there, name),
            Leaver::Addon(_) => meant == there,
        },
        (meant, there) => meant.is_none() && there.is_none(),
    }
}

/// A node pool of a Cluster.
fn pool(text: &str, name: &str) -> Option<Node> {
    facts(text)?.pools.into_iter().find(|((_, its), _)| its == name).map(|(_, pool)| pool)
}

/// Reads the facts from the text of a Cluster.
pub(super) fn facts(text: &str) -> Option<ClusterFacts> {
    let mut sources = yaml::Sources::default();
    let id = sources.add("cluster", text);
    let cluster = sources.get(id).and_then(|source| yaml::read(source, &mut Notes::new()));
    cluster.map(|cluster| ClusterFacts::of(&cluster))
}
