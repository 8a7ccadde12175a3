//! Clusters that take the place of another: a changed name or namespace. Cluster API cannot rename a Cluster, so git would build
//! a second one and leave the first without a definition.

use std::collections::BTreeMap;

use super::{
    drawn::facts,
    replaced::{self, Former},
};
use crate::{
    compare::{ClusterFacts, UnpairedCluster, paired},
    model::ClusterId,
    note::{About, Notes, Place, in_words},
    tree::{PartId, TreePath},
};

/// The clusters that are new in a management cluster, by namespace and name: the management cluster, and whether on standby.
pub(super) type Arrivals<'a> = BTreeMap<(&'a str, &'a str), (&'a str, bool)>;

/// The clusters that may take the place of one that loses its definition.
pub(super) enum Successor {
    /// Its definition has another name or namespace.
    InItsFile(ClusterId),
    /// A definition in another file has its spec, and no other cluster may have turned into that one.
    Moved(ClusterId),
    /// A new cluster in another namespace has its name, and differs in more than that.
    Namesake(ClusterId),
    /// New clusters are equal to it, and more than one cluster may have turned into them.
    Possible(Vec<ClusterId>),
}

/// The clusters that appear and disappear in a run.
pub(super) struct Heirs {
    /// The clusters whose definition has another name or namespace, in the same file.
    in_their_files: BTreeMap<ClusterId, ClusterId>,
    /// The other clusters that lose their definitions.
    gone: BTreeMap<ClusterId, Option<ClusterFacts>>,
    /// The other new clusters.
    created: BTreeMap<ClusterId, Option<ClusterFacts>>,
    /// The new ID of each cluster that certainly moved.
    moved: BTreeMap<ClusterId, ClusterId>,
}

impl Heirs {
    /// `gone` are the clusters that lose their definitions, with the former texts of their Clusters; `created` the new ones,
    /// with their texts.
    pub(super) fn new<'a>(
        gone: impl Iterator<Item = (ClusterId, String)>,
        created: impl Iterator<Item = (ClusterId, &'a str)>,
        formers: &[Former],
    ) -> Self {
        let mut in_their_files = BTreeMap::new();
        let mut others = BTreeMap::new();
        for (old, text) in gone {
            match in_its_file(&old, formers) {
                Some(heir) => drop(in_their_files.insert(old, heir)),
                None => drop(others.insert(old, facts(&text))),
            }
        }
        let is_free = |(id, _): &(ClusterId, &str)| {
            !replaced::is_renamed(formers, (id.namespace.as_str(), id.name.as_str()))
        };
        let created: BTreeMap<_, _> = created.filter(is_free).map(|(id, text)| (id, facts(text))).collect();
        let moved = paired(&unpaired(&others), &unpaired(&created));
        let moved = moved.into_iter().map(|(new, old)| (old, new)).collect();
        Self { in_their_files, gone: others, created, moved }
    }

    /// The clusters that may take the place of one that loses its definition.
    pub(super) fn of(&self, old: &ClusterId) -> Option<Successor> {
        if let Some(heir) = self.in_their_files.get(old) {
            return Some(Successor::InItsFile(heir.clone()));
        }
        if let Some(heir) = self.moved.get(old) {
            return Some(Successor::Moved(heir.clone()));
        }
        // Another namespace may have other defaults, so a cluster that changes its namespace may change in more.
        let is_meant = |new: &&ClusterId| new.management == old.management && new.name == old.name;
        if let Some(namesake) = self.created.keys().find(is_meant) {
            return Some(Successor::Namesake(namesake.clone()));
        }
        let (id, old) = self.gone.get_key_value(old)?;
        let old = UnpairedCluster { id, facts: old.as_ref() };
        let equal = unpaired(&self.created).into_iter().filter(|new| old.may_be(new));
        let equal: Vec<ClusterId> = equal.map(|new| new.id.clone()).collect();
        (!equal.is_empty()).then_some(Successor::Possible(equal))
    }
}

/// The cluster that the file of another one defines now.
fn in_its_file(old: &ClusterId, formers: &[Former]) -> Option<ClusterId> {
    let (namespace, cluster) = replaced::in_its_file(formers, (old.namespace.as_str(), old.name.as_str()))?;
    ClusterId::of_part(&PartId::Cluster { management: old.management.to_string(), namespace, cluster })
}

fn unpaired(all: &BTreeMap<ClusterId, Option<ClusterFacts>>) -> Vec<UnpairedCluster<'_>> {
    all.iter().map(|(id, facts)| UnpairedCluster { id, facts: facts.as_ref() }).collect()
}

/// Refuses to build a second cluster from the definition of another.
pub(super) fn refuse(successor: Successor, path: &TreePath, old: &ClusterId, notes: &mut Notes) {
    let ClusterId { management, name: cluster, .. } = old;
    let rest = format!(
        "a new cluster with machines of its own, and `{cluster}` would keep running in `{management}`, unmanaged"
    );
    let (heir, message) = match successor {
        Successor::InItsFile(heir) => {
            let message = format!("the definition of `{old}` now defines `{heir}`: that would be {rest}");
            (heir, message)
        }
        Successor::Moved(heir) => {
            let message = format!(
                "the cluster `{old}` no longer has a definition, and `{heir}`, which has the same spec, is new: that would be {rest}"
            );
            (heir, message)
        }
        Successor::Namesake(heir) => {
            let message = format!(
                "the cluster `{old}` no longer has a definition, and it may have turned into `{heir}`, which has its name and is new: \
                 that would be {rest}"
            );
            (heir, message)
        }
        Successor::Possible(all) => {
            let named: Vec<_> = all.iter().map(|one| format!("`{one}`")).collect();
            let named = in_words(&named, "or");
            let message = format!(
                "the cluster `{old}` no longer has a definition, and it may have turned into {named}, which is equal and new: \
                 that would be {rest}"
            );
            let Some(first) = all.into_iter().next() else { return };
            (first, message)
        }
    };
    let former = match (heir.namespace == old.namespace, heir.name == *cluster) {
        (false, true) => format!("the namespace `{}`", old.namespace),
        (true, _) => format!("the name `{cluster}`"),
        (false, false) => format!("the name `{cluster}` and the namespace `{}`", old.namespace),
    };
    notes
        .error("renamed", Place::file(path.as_str()), message)
        .about(About::Heir { namespace: heir.namespace.to_string(), name: heir.name.to_string() })
        .hint(format!("restore {former}: a cluster keeps its name and namespace (`stackloom rename` moves the file of its definition)"))
        .hint(format!("to replace the cluster, define the new one in a file of its own (`stackloom new cluster`), move the workloads, and remove `{cluster}` in steps: `stackloom remove {cluster} --reason …`"))
        .hint(format!("to leave `{cluster}` running without a definition, first remove its definition alone and run `stackloom generate --commit --all`, then write the new one"));
}
