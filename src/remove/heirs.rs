//! Clusters that take the place of another: a changed name or namespace. Cluster API cannot rename a Cluster, so git would build
//! a second one and leave the first without a definition.

use std::collections::BTreeMap;

use super::{
    drawn::facts,
    replaced::{self, Former},
};
use crate::{
    note::{About, Notes, Place, in_words},
    tree::{PartId, TreePath},
};

/// A namespace and a name.
type Name = (String, String);

/// The clusters that may take the place of one.
pub(super) enum Heirs {
    /// Its definition has another name or namespace.
    Renamed(Name),
    /// New clusters are equal to it, and more than one cluster may have turned into them.
    Equal(Vec<Name>),
}

/// The clusters that are new in a management cluster, by namespace and name: the management cluster, and whether on standby.
pub(super) type Arrivals<'a> = BTreeMap<(&'a str, &'a str), (&'a str, bool)>;

/// What a run changes around a cluster.
#[derive(Clone, Copy)]
pub(super) struct RunChanges<'a> {
    /// The new clusters.
    pub(super) arrivals: &'a Arrivals<'a>,
    /// The text of the Cluster of a new cluster.
    pub(super) new: &'a dyn Fn((&str, &str)) -> Option<&'a str>,
    /// The Clusters of the other clusters that lose their definitions.
    pub(super) others: &'a [&'a TreePath],
    /// The former text of a file.
    pub(super) text: &'a dyn Fn(&TreePath) -> String,
}

/// Finds the clusters that may take the place of a cluster without a definition, given its former text.
pub(super) fn find(part: &PartId, former: &str, formers: &[Former], around: RunChanges<'_>) -> Option<Heirs> {
    let PartId::Cluster { management, namespace, cluster } = part else { return None };
    if let Some(heir) = replaced::in_its_file(formers, (namespace, cluster)) {
        return Some(Heirs::Renamed(heir));
    }
    let there = around.arrivals.iter().filter(|(_, (there, _))| *there == management);
    let mut free = there.map(|(name, _)| *name).filter(|name| !replaced::is_renamed(formers, *name));
    let name = |(namespace, name): (&str, &str)| (namespace.to_owned(), name.to_owned());
    if let Some(moved) = free.clone().find(|(_, name)| name == cluster) {
        return Some(Heirs::Renamed(name(moved)));
    }
    let moves_to = |former: &str, new: (&str, &str)| {
        let facts = Some(former).and_then(facts).zip((around.new)(new).and_then(facts));
        facts.is_some_and(|(former, new)| former.moves_to(&new))
    };
    let equal: Vec<(&str, &str)> =
        free.by_ref().filter(|new| new.0 == namespace && moves_to(former, *new)).collect();
    let first = *equal.first()?;
    let is_rival = |path: &&&TreePath| {
        let of = PartId::of_path(path);
        let own = matches!(&of, Some(PartId::Cluster { management: there, namespace: own, cluster })
            if there == management && own == namespace
                && replaced::in_its_file(formers, (own, cluster)).is_none());
        own && moves_to(&(around.text)(path), first)
    };
    if equal.len() == 1 && !around.others.iter().any(|path| is_rival(&path)) {
        return Some(Heirs::Renamed(name(first)));
    }
    Some(Heirs::Equal(equal.into_iter().map(name).collect()))
}

impl Heirs {
    /// Refuses to build a second cluster from the definition of another.
    pub(super) fn refuse(self, path: &TreePath, part: &PartId, notes: &mut Notes) {
        let PartId::Cluster { management, namespace, cluster } = part else { return };
        let rest = format!(
            "a new cluster with machines of its own, and `{cluster}` would keep running in `{management}`, unmanaged"
        );
        let ((heirs, heir), message) = match self {
            Self::Renamed(heir) => {
                let message = format!(
                    "the definition of `{namespace}/{cluster}` now defines `{}/{}`: that would be {rest}",
                    heir.0, heir.1
                );
                (heir, message)
            }
            Self::Equal(all) => {
                let named: Vec<_> =
                    all.iter().map(|(namespace, name)| format!("`{namespace}/{name}`")).collect();
                let named = in_words(&named, "or");
                let message = format!(
                    "the cluster `{namespace}/{cluster}` no longer has a definition, and it may have turned into {named}, which is equal and new: \
                     that would be {rest}"
                );
                let Some(first) = all.into_iter().next() else { return };
                (first, message)
            }
        };
        let (what, old) = if heir == *cluster { ("namespace", namespace) } else { ("name", cluster) };
        notes
            .error("renamed", Place::file(path.as_str()), message)
            .about(About::Heir { namespace: heirs, name: heir })
            .hint(format!("restore the {what} `{old}`: a cluster keeps its name and namespace (`stackloom rename` moves the file of its definition)"))
            .hint(format!("to replace the cluster, define the new one in a file of its own (`stackloom new cluster`), move the workloads, and remove `{cluster}` in steps: `stackloom remove {cluster} --reason …`"))
            .hint(format!("to leave `{cluster}` running without a definition, first remove its definition alone and run `stackloom generate --commit --all`, then write the new one"));
    }
}
