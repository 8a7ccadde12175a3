//! What differs between two states of the fleet, cluster by cluster, and what Cluster API makes of it.
//!
//! A [`State`] is one side: the definitions as they are now, or with another release ([`Definitions`]), or a tree that was
//! generated before ([`Tree`]). [`compare`] pairs their clusters and says for each which objects and fields differ, what
//! that means for its machines, and what becomes of its addons.
//!
//! Files of the same content are never read. Objects are compared as data: comments, layout and the order of keys do not
//! count. Each class is read and judged once for all clusters that use it.
//!
//! Absent on purpose: words, which each report has its own, and refusals, which guards decide.

mod addons;
mod address;
mod along;
mod definitions;
mod facts;
mod fields;
mod given;
mod answers;
mod pair;
mod secrets;
mod state;
mod tree;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use rayon::prelude::*;

use crate::{
    model::{ClusterId, ManagementCluster},
    note::Fault,
    render, topology,
    yaml::{Node, to_json},
};

pub use addons::AddonChange;
pub use address::{Address, Section};
pub use along::Change;
pub use answers::{
    Answer, Answers, Running, Written, created, desired, forecast, gates, gates_of_any, made, settings,
};
pub use definitions::Definitions;
pub use facts::Facts;
pub use fields::{FieldChange, FieldPath, PathSegment, changed};
pub use given::{Given, all_running};
pub use secrets::{Needs, is_made_by_cluster_api, refer};
pub use state::{BlobId, ByAddress, ClassName, Classes, File, Files, State, Unread};
pub use tree::{Archive, Memory, Tree};

/// What differs between two states of the fleet.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// The clusters that differ, in order.
    pub clusters: Vec<ClusterChange>,
    /// How many clusters are the same in both states.
    pub unchanged: usize,
}

/// What differs of one cluster.
#[derive(Clone, Debug)]
pub struct ClusterChange {
    /// The cluster; where it moved, as it is called after.
    pub cluster: ClusterId,
    /// What becomes of it as a whole.
    pub fate: Fate,
    /// What its Cluster said before; none if there was none.
    pub before: Option<Facts>,
    /// What its Cluster says after; none if there is none.
    pub after: Option<Facts>,
    /// The objects that differ, in order. Of a cluster that is created or gone, all.
    pub objects: Vec<ObjectChange>,
    /// The addons that differ, by name.
    pub addons: Vec<AddonChange>,
    /// What Cluster API makes of it.
    pub outcome: Outcome,
    /// The Secrets that it refers to, and did not before.
    pub secrets: Needs,
}

/// What becomes of a cluster as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is new.
    Created,
    /// It was there, and is.
    Changed,
    /// Its Cluster object goes, and its other files stay until its infrastructure is gone.
    Deleted,
    /// All its files go.
    Gone,
    /// It is the cluster that was called otherwise. Git moves only files.
    Moved {
        /// What it was called.
        from: ClusterId,
    },
}

/// What Cluster API makes of a cluster's change.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Neither its Cluster nor its class differs: no machine is touched.
    Untouched,
    /// It was judged.
    Judged(Arc<Answer>),
    /// The Cluster is gone, or was; there is nothing to judge.
    Absent,
    /// It is not known what becomes of it.
    Unknown(Unknown),
}

/// Why it is not known what becomes of a cluster.
#[derive(Clone, Debug, PartialEq)]
pub enum Unknown {
    /// In a state, nothing would be written for it.
    Refused {
        /// Which state.
        side: Which,
        /// Why.
        why: String,
    },
    /// The state before is at fault: nothing runs that could be compared with.
    Faulty(Vec<topology::Refusal>),
    /// A file of a state cannot be used.
    Unread {
        /// Which state.
        side: Which,
        /// The file.
        file: Unread,
    },
    /// Nothing says which Cluster API its management cluster runs.
    NoManagementCluster,
}

/// One of the two states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Which {
    /// That before.
    Before,
    /// That after.
    After,
}

/// An object that differs.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectChange {
    /// What it is there for.
    pub section: Section,
    /// What it is called.
    pub address: Address,
    /// Its file, in the folder of the cluster: that after, else that before.
    pub file: String,
    /// What becomes of it.
    pub kind: ObjectChangeKind,
}

/// What becomes of an object.
#[derive(Clone, Debug, PartialEq)]
pub enum ObjectChangeKind {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// It differs in these fields.
    Changed(Vec<FieldChange>),
}

/// Says what differs between two states.
pub fn compare(before: &dyn State, after: &dyn State) -> Result<Comparison, Fault> {
    let comparing = Comparing::new(before, after)?;
    let all = pair::all(before, after)?;
    let found = all.par_iter().map(|cluster| comparing.cluster(cluster, cluster));
    let found: Vec<_> = found.collect::<Result<_, Fault>>()?;
    let mut clusters: Vec<ClusterChange> = found.into_iter().flatten().collect();
    let unchanged = all.len() - clusters.len();
    let moved = pair::moved(&clusters);
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

/// The Cluster of a state with its class; none where the state has no such Cluster.
pub fn written(
    state: &dyn State,
    cluster: &ClusterId,
    management: &Arc<ManagementCluster>,
) -> Result<Result<Option<Written>, Unread>, Fault> {
    let files = match state.files(cluster)? {
        Files::Known(files) => files,
        Files::Refused(why) => {
            let path = render::folder_of_cluster(cluster).to_string();
            return Ok(Err(Unread { path, line: None, message: why }));
        }
    };
    let own = files.into_iter().filter(|file| file.path == CLUSTER).collect();
    let objects = match objects(cluster, own, state)? {
        Ok(objects) => objects,
        Err(unread) => return Ok(Err(unread)),
    };
    let Some(node) = cluster_of(&objects) else { return Ok(Ok(None)) };
    Ok(with_class(state, cluster, node, management)?.map(Some))
}

fn with_class(
    state: &dyn State,
    id: &ClusterId,
    cluster: &Node,
    management: &Arc<ManagementCluster>,
) -> Result<Result<Written, Unread>, Fault> {
    let class = state.class(&ClassName::of(cluster), management)?;
    let running = state.running(id);
    Ok(class.map(|class| Written {
        cluster: to_json(cluster),
        class,
        management: management.clone(),
        running,
    }))
}

/// A cluster as two states have it, each with its files as objects.
struct Pair<'a> {
    from: &'a ClusterId,
    cluster: &'a ClusterId,
    before: Objects,
    after: Objects,
}

/// The objects of files that differ, and the Cluster in any case.
type Objects = BTreeMap<(Section, Address), (String, Node)>;

struct Comparing<'a> {
    before: &'a dyn State,
    after: &'a dyn State,
    answers: Answers,
    /// Releases that have another class in each state, though they have one name.
    edited: BTreeSet<String>,
}

impl<'a> Comparing<'a> {
    fn new(before: &'a dyn State, after: &'a dyn State) -> Result<Self, Fault> {
        let edited = edited(before, after)?;
        Ok(Self { before, after, answers: Answers::default(), edited })
    }

    /// What differs of a cluster; none where nothing does.
    fn cluster(&self, from: &ClusterId, cluster: &ClusterId) -> Result<Option<ClusterChange>, Fault> {
        let (old, new) = (self.before.files(from)?, self.after.files(cluster)?);
        let (old, new) = match (old, new) {
            (Files::Known(old), Files::Known(new)) => (old, new),
            (Files::Refused(why), _) => return Ok(Some(refused(cluster, Which::Before, why))),
            (_, Files::Refused(why)) => return Ok(Some(refused(cluster, Which::After, why))),
        };
        if is_equal(&old, &new) && self.edited.is_empty() {
            return Ok(None);
        }
        let own = [differing(&old, &new, cluster), differing(&new, &old, cluster)];
        let fate = match (old.is_empty(), new.is_empty()) {
            (true, _) => Fate::Created,
            (_, true) => Fate::Gone,
            _ => Fate::Changed,
        };
        let [old, new] = own;
        let before = match objects(from, old, self.before)? {
            Ok(objects) => in_namespace(objects, cluster),
            Err(file) => return Ok(Some(unread(cluster, fate, Which::Before, file))),
        };
        let after = match objects(cluster, new, self.after)? {
            Ok(objects) => objects,
            Err(file) => return Ok(Some(unread(cluster, fate, Which::After, file))),
        };
        self.objects(&Pair { from, cluster, before, after }, fate)
    }

    fn objects(&self, pair: &Pair<'_>, fate: Fate) -> Result<Option<ClusterChange>, Fault> {
        let objects = pair.changed();
        let [before, after] = [&pair.before, &pair.after].map(cluster_of);
        let outcome = self.outcome(pair, before, after)?;
        if objects.is_empty() && outcome == Outcome::Untouched {
            return Ok(None);
        }
        let is_deleted = fate == Fate::Changed && before.is_some() && after.is_none();
        let addons = addons::changed(&objects, pair);
        let secrets = self.new_secrets(pair, &outcome)?;
        Ok(Some(ClusterChange {
            cluster: pair.cluster.clone(),
            fate: if is_deleted { Fate::Deleted } else { fate },
            before: before.map(Facts::of),
            after: after.map(Facts::of),
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
    ) -> Result<Outcome, Fault> {
        let Pair { from, cluster: id, .. } = *pair;
        let Some(new) = after else { return Ok(Outcome::Absent) };
        let is_edited = self.edited.contains(&ClassName::of(new).name);
        // What runs may be behind what was written.
        if before == after && !is_edited && self.before.running(from).is_none() {
            return Ok(Outcome::Untouched);
        }
        let unknown = |why| Ok(Outcome::Unknown(why));
        let management =
            [self.after, self.before].into_iter().find_map(|state| state.management(&id.management));
        let Some(management) = management else { return unknown(Unknown::NoManagementCluster) };
        let new = match with_class(self.after, id, new, &management)? {
            Ok(new) => new,
            Err(file) => return unknown(Unknown::Unread { side: Which::After, file }),
        };
        let Some(old) = before else { return Ok(Outcome::Judged(Arc::new(created(new).into()))) };
        let old = match with_class(self.before, from, old, &management)? {
            Ok(old) => old,
            Err(file) => return unknown(Unknown::Unread { side: Which::Before, file }),
        };
        match self.answers.of(old, new) {
            Ok(answer) => Ok(Outcome::Judged(answer)),
            Err(faults) => unknown(Unknown::Faulty(faults)),
        }
    }
}

/// The path of the Cluster in its folder.
const CLUSTER: &str = "cluster/cluster.yaml";

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
                Some(ObjectChange { section, address, file: file.clone(), kind })
            })
            .collect();
        found.sort_by(|a, b| (&a.section, &a.address).cmp(&(&b.section, &b.address)));
        found
    }
}

/// Whether two states have the same files.
fn is_equal(old: &[File], new: &[File]) -> bool {
    old.len() == new.len() && old.iter().zip(new).all(|(old, new)| old.path == new.path && old.is_same(new))
}

/// The files that another state does not have like this; with those that tell what the others mean.
fn differing(files: &[File], others: &[File], cluster: &ClusterId) -> Vec<File> {
    let is_same = |one: &File| others.iter().any(|other| other.path == one.path && other.is_same(one));
    let mut own: Vec<File> = files.iter().filter(|one| !is_same(one)).cloned().collect();
    let is_needed = |file: &&File| file.path == CLUSTER || addons::is_list(&file.path, cluster.name.as_str());
    for needed in files.iter().filter(is_needed) {
        if own.iter().all(|file| file.path != needed.path) {
            own.push(needed.clone());
        }
    }
    own
}

fn objects(
    cluster: &ClusterId,
    files: Vec<File>,
    state: &dyn State,
) -> Result<Result<Objects, Unread>, Fault> {
    let mut objects = Objects::new();
    for file in files {
        match file.object(state)? {
            Ok(object) => {
                let key = (Section::of(&file.path), Address::of(&object));
                objects.insert(key, (file.path, object));
            }
            Err(unread) => {
                let path = format!("{}/{}", render::folder_of_cluster(cluster), unread.path);
                return Ok(Err(Unread { path, ..unread }));
            }
        }
    }
    Ok(Ok(objects))
}

/// The objects as they would be in the namespace of a cluster: one that moved is compared with itself.
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
        outcome: Outcome::Unknown(why),
        secrets: Needs::new(),
    }
}
