//! Compares two states of the fleet, cluster by cluster, and forecasts how Cluster API acts on the differences.
//!
//! A [`State`] is one side of the comparison: the current definitions, the definitions with another release
//! ([`DefinedState`]), a tree generated earlier ([`GeneratedTree`]), or files of the user ([`UserFiles`]). [`compare`] pairs the clusters of both states. For each
//! cluster it reports the objects and fields that differ, the effect on its machines, and the changes of its addons.
//!
//! Files with equal content are never read. Objects are compared as data, so comments, layout and key order are ignored.
//! Each class is read and judged once for all clusters that use it.
//!
//! Deliberately absent: wording, which is up to each report, and refusals, which are up to the guards.

mod addons;
mod address;
mod answers;
mod cluster_facts;
mod definitions;
mod fields;
mod live;
mod pair;
mod placeholders;
mod plan_steps;
mod secret_references;
mod state;
mod tree;
mod unchanged_pools;
mod user_files;
mod written;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use rayon::prelude::*;
use sha2::{Digest as _, Sha256};

use crate::{
    model::{ClusterId, hex},
    note::Fault,
    render, topology,
    yaml::{Node, emit},
};

pub use addons::{AddonChange, listed_addons};
pub use address::{Address, Section};
pub use answers::{
    Answer, Answers, Running, WrittenCluster, created, desired, forecast, gates, gates_of_any, made, settings,
};
pub use cluster_facts::{ClusterFacts, is_paused, kubernetes_of, release_of};
pub use definitions::DefinedState;
pub use fields::{FieldChange, FieldPath, PathSegment, changed};
pub use live::{Export, Live};
pub use pair::{UnpairedCluster, former_id, paired};
pub use plan_steps::StepDifference;
pub use secret_references::{Needs, is_made_by_cluster_api, refer};
pub use state::{
    BlobId, ByAddress, ClassCache, ClassName, ClusterFile, ClusterFiles, FolderId, ReadFiles, State, Unread,
};
pub use tree::{Archive, GeneratedTree, MemoryArchive, Outline, cluster_folder, is_cluster_folder};
pub use user_files::{UserFiles, all_running};
pub use written::{written, written_as};

use written::with_class;

/// The differences between two states of the fleet.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// The clusters that differ, in order.
    pub clusters: Vec<ClusterChange>,
    /// The number of clusters that are equal in both states.
    pub unchanged: usize,
}

/// The differences of one cluster.
#[derive(Clone, Debug)]
pub struct ClusterChange {
    /// The cluster. If it moved, its new ID.
    pub cluster: ClusterId,
    /// What happens to the cluster as a whole.
    pub fate: Fate,
    /// The facts of its Cluster object before; none if there was no Cluster.
    pub before: Option<ClusterFacts>,
    /// The facts of its Cluster object after; none if there is no Cluster.
    pub after: Option<ClusterFacts>,
    /// The objects that differ, in order. All objects if the cluster is created or gone.
    pub objects: Vec<ObjectChange>,
    /// The addons that differ, by name.
    pub addons: Vec<AddonChange>,
    /// How Cluster API acts on the change.
    pub outcome: ClusterOutcome,
    /// Secrets that the cluster refers to now, but did not before.
    pub secrets: Needs,
}

impl ClusterChange {
    /// Whether the state before has files of the cluster, but not its Cluster object, and the state after has one.
    pub fn lacks_cluster_before(&self) -> bool {
        self.fate == Fate::Changed && self.before.is_none() && self.after.is_some()
    }
}

/// What happens to a cluster as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The cluster is new.
    Created,
    /// The cluster exists in both states.
    Changed,
    /// Its Cluster object is deleted. Its other files stay until its infrastructure is gone.
    Deleted,
    /// All its files are deleted.
    Gone,
    /// The cluster had another ID before. Git moves only its files.
    Moved {
        /// Its former ID.
        from: ClusterId,
    },
}

/// How Cluster API acts on the change of a cluster.
#[derive(Clone, Debug, PartialEq)]
pub enum ClusterOutcome {
    /// Neither the Cluster nor its class differs: no machine is touched.
    Untouched,
    /// The topology library forecast the outcome.
    Judged(Arc<Answer>),
    /// One of the states has no Cluster, so there is nothing to forecast.
    Absent,
    Unknown(Unknown),
}

/// Why the outcome for a cluster is unknown.
#[derive(Clone, Debug, PartialEq)]
pub enum Unknown {
    /// In one of the states, no files would be generated for the cluster.
    Refused {
        /// The state.
        side: Which,
        /// The reason.
        why: String,
    },
    /// The state before is invalid, so nothing can be running that the new state could be compared with.
    Faulty(Vec<topology::Refusal>),
    /// A file of one of the states cannot be used.
    Unread {
        /// The state.
        side: Which,
        file: Unread,
    },
    /// The Cluster API version of its management cluster is unknown.
    NoManagementCluster,
}

/// One of the two states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Which {
    /// The state before.
    Before,
    /// The state after.
    After,
}

/// An object that differs.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectChange {
    /// Its purpose.
    pub section: Section,
    pub address: Address,
    /// Its file, relative to the folder of the cluster: the new file, or the old one if the object is gone.
    pub file: String,
    /// How it differs.
    pub kind: ObjectChangeKind,
    /// A digest of the object if it is new, otherwise empty. Of other objects, the fields that differ tell.
    pub content: String,
}

/// How an object differs.
#[derive(Clone, Debug, PartialEq)]
pub enum ObjectChangeKind {
    Added,
    /// The object is gone.
    Removed,
    /// These fields differ.
    Changed(Vec<FieldChange>),
}

/// Compares two states.
pub fn compare(before: &dyn State, after: &dyn State) -> Result<Comparison, Fault> {
    compare_apart(before, after, &BTreeSet::new())
}

/// The same. `known` are clusters that exist although the state before does not have them: no cluster has moved there.
pub fn compare_apart(
    before: &dyn State,
    after: &dyn State,
    known: &BTreeSet<ClusterId>,
) -> Result<Comparison, Fault> {
    let comparing = Comparing::new(before, after)?;
    let all = pair::all(before, after)?;
    let found = all.par_iter().map(|cluster| comparing.cluster(cluster, cluster));
    let found: Vec<_> = found.collect::<Result<_, Fault>>()?;
    let mut clusters: Vec<ClusterChange> = found.into_iter().flatten().collect();
    let unchanged = all.len() - clusters.len();
    let moved = pair::moved(&clusters, known);
    clusters.retain(|one| !moved.values().any(|old| *old == one.cluster));
    for one in &mut clusters {
        if let Some(old) = moved.get(&one.cluster)
            && let Some(change) = comparing.cluster(old, &one.cluster)?
        {
            *one = ClusterChange { fate: Fate::Moved { from: old.clone() }, ..change };
        }
    }
    Ok(Comparison { clusters, unchanged })
}

/// A cluster in both states, with its files parsed into objects.
struct Pair<'a> {
    from: &'a ClusterId,
    cluster: &'a ClusterId,
    before: Objects,
    after: Objects,
}

/// The objects of the files that differ. The Cluster is always included.
type Objects = BTreeMap<(Section, Address), (String, Node)>;

struct Comparing<'a> {
    before: &'a dyn State,
    after: &'a dyn State,
    answers: Answers,
    read: ReadFiles,
    /// Releases whose class differs between the states although the name is the same.
    edited: BTreeSet<String>,
}

impl<'a> Comparing<'a> {
    fn new(before: &'a dyn State, after: &'a dyn State) -> Result<Self, Fault> {
        let edited = edited(before, after)?;
        Ok(Self { before, after, answers: Answers::default(), read: ReadFiles::default(), edited })
    }

    /// Compares one cluster; none if nothing differs.
    fn cluster(&self, from: &ClusterId, cluster: &ClusterId) -> Result<Option<ClusterChange>, Fault> {
        let known = [self.before.content(from)?, self.after.content(cluster)?];
        // A cluster that moves differs, even if its files are equal.
        let may_be_equal = self.edited.is_empty() && from == cluster;
        if may_be_equal && matches!(known, [Some(old), Some(new)] if old == new) {
            return Ok(None);
        }
        let (old, new) = (self.before.files(from)?, self.after.files(cluster)?);
        let (old, new) = match (old, new) {
            (ClusterFiles::Known(old), ClusterFiles::Known(new)) => (old, new),
            (ClusterFiles::Refused(why), _) => return Ok(Some(refused(cluster, Which::Before, why))),
            (_, ClusterFiles::Refused(why)) => return Ok(Some(refused(cluster, Which::After, why))),
        };
        if may_be_equal && is_equal(&old, &new) {
            return Ok(None);
        }
        let [mut own_old, mut own_new] = [differing(&old, &new), differing(&new, &old)];
        // Only addons are interpreted by their list.
        let with_list = own_old.iter().chain(&own_new).any(|file| file.path != render::CLUSTER_FILE);
        for (all, own) in [(&old, &mut own_old), (&new, &mut own_new)] {
            add_needed(all, own, |file| {
                file.path == render::CLUSTER_FILE
                    || with_list && addons::is_list(&file.path, cluster.name.as_str())
            });
        }
        let fate = match (old.is_empty(), new.is_empty()) {
            (true, _) => Fate::Created,
            (_, true) => Fate::Gone,
            _ => Fate::Changed,
        };
        let before = match objects(from, own_old, self.before, &self.read)? {
            Ok(objects) => in_namespace(objects, cluster),
            Err(file) => return Ok(Some(unread(cluster, fate, Which::Before, file))),
        };
        let after = match objects(cluster, own_new, self.after, &self.read)? {
            Ok(objects) => objects,
            Err(file) => return Ok(Some(unread(cluster, fate, Which::After, file))),
        };
        self.objects(&Pair { from, cluster, before, after }, fate)
    }

    fn objects(&self, pair: &Pair<'_>, fate: Fate) -> Result<Option<ClusterChange>, Fault> {
        let objects = pair.changed();
        let [before, after] = [&pair.before, &pair.after].map(cluster_of);
        let outcome = self.outcome(pair, before, after)?;
        if objects.is_empty() && outcome == ClusterOutcome::Untouched && pair.from == pair.cluster {
            return Ok(None);
        }
        let is_deleted = fate == Fate::Changed && before.is_some() && after.is_none();
        let addons = addons::changed(&objects, pair);
        let secrets = self.new_secrets(pair, &outcome)?;
        Ok(Some(ClusterChange {
            cluster: pair.cluster.clone(),
            fate: if is_deleted { Fate::Deleted } else { fate },
            before: before.map(ClusterFacts::of),
            after: after.map(ClusterFacts::of),
            objects,
            addons,
            outcome,
            secrets,
        }))
    }

    fn outcome(
        &self,
        pair: &Pair<'_>,
        before: Option<&Node>,
        after: Option<&Node>,
    ) -> Result<ClusterOutcome, Fault> {
        let Pair { from, cluster: id, .. } = *pair;
        let Some(new) = after else { return Ok(ClusterOutcome::Absent) };
        let is_edited = self.edited.contains(&ClassName::of(new).name);
        // The running objects may lag behind the manifests.
        if before == after && !is_edited && self.before.running(from).is_none() {
            return Ok(ClusterOutcome::Untouched);
        }
        let unknown = |why| Ok(ClusterOutcome::Unknown(why));
        let management =
            [self.after, self.before].into_iter().find_map(|state| state.management(&id.management));
        let Some(management) = management else { return unknown(Unknown::NoManagementCluster) };
        let new = match with_class(self.after, id, new, &management)? {
            Ok(new) => new,
            Err(file) => return unknown(Unknown::Unread { side: Which::After, file }),
        };
        let Some(old) = before else { return Ok(ClusterOutcome::Judged(Arc::new(created(new).into()))) };
        let old = match self.before.exported(from) {
            Some(live) => written(live, from, &management)?,
            None => with_class(self.before, from, old, &management)?.map(Some),
        };
        let old = match old {
            Ok(Some(old)) => old,
            Ok(None) => return Ok(ClusterOutcome::Judged(Arc::new(created(new).into()))),
            Err(file) => return unknown(Unknown::Unread { side: Which::Before, file }),
        };
        match self.answers.of(old, new) {
            Ok(answer) => Ok(ClusterOutcome::Judged(answer)),
            Err(faults) => unknown(Unknown::Faulty(faults)),
        }
    }
}

impl Pair<'_> {
    /// The objects that differ.
    fn changed(&self) -> Vec<ObjectChange> {
        let keys = self.before.keys().chain(self.after.keys().filter(|key| !self.before.contains_key(key)));
        let mut found: Vec<ObjectChange> = keys
            .filter_map(|key| {
                let (old, new) = (self.before.get(key), self.after.get(key));
                let kind = match (old, new) {
                    (Some((_, old)), Some((_, new))) if old == new => return None,
                    (Some((_, old)), Some((_, new))) => ObjectChangeKind::Changed(changed(old, new)),
                    (Some(_), None) => ObjectChangeKind::Removed,
                    (None, _) => ObjectChangeKind::Added,
                };
                let (section, address) = key.clone();
                let (file, _) = new.or(old)?;
                let content = match (&kind, new) {
                    (ObjectChangeKind::Added, Some((_, new))) => digest(new),
                    _ => String::new(),
                };
                Some(ObjectChange { section, address, file: file.clone(), kind, content })
            })
            .collect();
        found.sort_by(|a, b| (&a.section, &a.address).cmp(&(&b.section, &b.address)));
        found
    }
}

fn digest(object: &Node) -> String {
    let mut text = String::new();
    emit(object, &mut text);
    hex(&Sha256::digest(text.as_bytes())[..8])
}

/// Whether two states have the same files.
fn is_equal(old: &[ClusterFile], new: &[ClusterFile]) -> bool {
    old.len() == new.len() && old.iter().zip(new).all(|(old, new)| old.path == new.path && old.is_same(new))
}

/// The files that `others` lacks or has with other content.
fn differing(files: &[ClusterFile], others: &[ClusterFile]) -> Vec<ClusterFile> {
    let is_same = |one: &ClusterFile| others.iter().any(|other| other.path == one.path && other.is_same(one));
    files.iter().filter(|one| !is_same(one)).cloned().collect()
}

/// Adds the files that are needed to interpret those that differ.
fn add_needed(files: &[ClusterFile], own: &mut Vec<ClusterFile>, is_needed: impl Fn(&ClusterFile) -> bool) {
    for needed in files.iter().filter(|file| is_needed(file)) {
        if own.iter().all(|file| file.path != needed.path) {
            own.push(needed.clone());
        }
    }
}

fn objects(
    cluster: &ClusterId,
    files: Vec<ClusterFile>,
    state: &dyn State,
    known: &ReadFiles,
) -> Result<Result<Objects, Unread>, Fault> {
    let mut objects = Objects::new();
    for file in files {
        match file.object(state, known)? {
            Ok(object) => {
                let section = Section::of(&file.path);
                let address = section.address(&object);
                objects.insert((section, address), (file.path, object));
            }
            Err(unread) => {
                let path = format!("{}/{}", render::folder_of_cluster(cluster), unread.path);
                return Ok(Err(Unread { path, ..unread }));
            }
        }
    }
    Ok(Ok(objects))
}

/// Moves the objects to the namespace of the cluster, so that a cluster that moved is compared with its former self.
fn in_namespace(objects: Objects, cluster: &ClusterId) -> Objects {
    let Some(own) =
        cluster_of(&objects).map(Address::of).filter(|own| own.namespace != cluster.namespace.as_str())
    else {
        return objects;
    };
    let renamed = |((section, mut address), (file, mut object)): ((Section, Address), (String, Node))| {
        let metadata = object.as_mapping_mut().and_then(|root| root.get_mut("metadata"));
        if address.namespace == own.namespace
            && let Some(metadata) = metadata.and_then(Node::as_mapping_mut)
        {
            metadata.set("namespace", cluster.namespace.as_str());
            cluster.namespace.as_str().clone_into(&mut address.namespace);
        }
        ((section, address), (file, object))
    };
    objects.into_iter().map(renamed).collect()
}

fn cluster_of(objects: &Objects) -> Option<&Node> {
    let is_cluster = |((section, address), _): &(&(Section, Address), _)| {
        *section == Section::Cluster && address.is_cluster()
    };
    objects.iter().find(is_cluster).map(|(_, (_, node))| node)
}

/// Releases of one name whose classes differ between two states.
fn edited(before: &dyn State, after: &dyn State) -> Result<BTreeSet<String>, Fault> {
    let old: BTreeSet<String> = before.releases()?.into_iter().collect();
    let both: Vec<String> = after.releases()?.into_iter().filter(|name| old.contains(name)).collect();
    let is_edited = |name: &String| Ok(before.class_objects(name)? != after.class_objects(name)?);
    let edited: Vec<bool> = both.par_iter().map(is_edited).collect::<Result<_, Fault>>()?;
    Ok(both.into_iter().zip(edited).filter_map(|(name, edited)| edited.then_some(name)).collect())
}

fn refused(cluster: &ClusterId, side: Which, why: String) -> ClusterChange {
    unknown(cluster, Fate::Changed, Unknown::Refused { side, why })
}

fn unread(cluster: &ClusterId, fate: Fate, side: Which, file: Unread) -> ClusterChange {
    unknown(cluster, fate, Unknown::Unread { side, file })
}

fn unknown(cluster: &ClusterId, fate: Fate, why: Unknown) -> ClusterChange {
    ClusterChange {
        cluster: cluster.clone(),
        fate,
        before: None,
        after: None,
        objects: Vec::new(),
        addons: Vec::new(),
        outcome: ClusterOutcome::Unknown(why),
        secrets: Needs::new(),
    }
}
