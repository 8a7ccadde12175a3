//! Whether the tree that is there is already that of a step.

use std::collections::BTreeMap;

use super::Leaver;
use crate::{
    note::Notes,
    plan::ClusterPlan,
    render::{self, Subject},
    world::Input,
    yaml::{self, Mapping, Node},
};

/// The generated files that speak of what leaves, with what they are to hold by the definition as it stands; none where
/// there is to be no such file.
pub fn drawn(plan: &ClusterPlan, leaver: &Leaver, input: &Input) -> Vec<(String, Option<String>)> {
    let part = render::draw(Subject::Cluster(plan), input, &mut Notes::new()).into_part();
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

/// Whether what is there of such a file is what is meant, as far as it concerns what leaves.
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
    pools(cluster(text).as_ref()).into_iter().find(|((_, its), _)| its == name).map(|(_, pool)| pool)
}

/// A Cluster as written in its file.
pub(super) fn cluster(text: &str) -> Option<Node> {
    let mut sources = yaml::Sources::default();
    let id = sources.add("cluster", text);
    sources.get(id).and_then(|source| yaml::read(source, &mut Notes::new()))
}

/// The node pools of a Cluster, by the list that each is in and its name.
pub(super) fn pools(cluster: Option<&Node>) -> BTreeMap<(String, String), Node> {
    let workers = cluster.and_then(|cluster| cluster.at(&["spec", "topology", "workers"])?.as_mapping());
    let mut found = BTreeMap::new();
    for entry in workers.into_iter().flat_map(Mapping::iter) {
        for pool in entry.value.as_sequence().into_iter().flatten() {
            if let Some(name) = pool.get("name").and_then(Node::as_str) {
                found.insert((entry.key.name.to_string(), name.to_owned()), pool.clone());
            }
        }
    }
    found
}
