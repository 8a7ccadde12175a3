//! Clusters whose definitions have errors. Nothing is generated for them, so what happens to them is unknown.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    check::without_secret,
    compare::{BlobId, ByAddress, ClassName, ClusterFiles, FolderId, Running, State, Unread},
    definition::{self, Identity},
    model::{ClusterId, Label, ManagementCluster},
    note::{Diagnostic, Fault, Notes, RepeatedId, Severity},
    partial::SkippedDefinition,
    topology::SharedClass,
    world::Input,
};

/// The definitions that were left out, with their clusters.
#[derive(Clone, Debug, Default)]
pub struct LeftClusters {
    named: BTreeMap<ClusterId, Cause>,
    /// Why the clusters of the other left-out definitions are unknown.
    nameless: Option<Cause>,
}

/// Why a definition was left out.
#[derive(Clone, Debug)]
struct Cause {
    text: String,
    /// The errors that the text repeats.
    errors: Vec<RepeatedId>,
}

impl LeftClusters {
    /// Finds the clusters that the definitions belong to. A definition that does not say so belongs to the cluster that the
    /// same file defined `before`. The errors that are repeated as causes get their IDs.
    pub fn find(
        left: &[SkippedDefinition],
        input: &Input,
        before: &dyn Fn() -> Result<Input, Fault>,
        notes: &mut Notes,
    ) -> Result<Self, Fault> {
        let mut found = Self::default();
        if left.is_empty() {
            return Ok(found);
        }
        let mut ids = (0..).map(RepeatedId::Definition);
        notes.change(|note| note.repeated_id = ids.next());
        let identities = Identity::all(&definition::parse(input, &mut Notes::new()));
        let mut unnamed = Vec::new();
        // A rollout that was left out belongs to no cluster.
        for one in left.iter().filter(|one| one.file.starts_with("clusters/")) {
            let identity = identities.iter().find(|identity| identity.file == one.file);
            let why = cause(one, identity.map(|identity| &*identity.name), notes);
            match identity.and_then(Identity::id) {
                Some(id) => drop(found.named.insert(id, why)),
                None => unnamed.push((&*one.file, why)),
            }
        }
        if unnamed.is_empty() {
            return Ok(found);
        }
        let former = Identity::all(&definition::parse(&before()?, &mut Notes::new()));
        // Another file may define the cluster now.
        let is_taken = |id: &ClusterId| identities.iter().any(|now| now.id().as_ref() == Some(id));
        for (file, why) in unnamed {
            let id = former.iter().find(|identity| identity.file == file).and_then(Identity::id);
            match id.filter(|id| !is_taken(id)) {
                Some(id) => drop(found.named.insert(id, why)),
                None => found.nameless = Some(why),
            }
        }
        Ok(found)
    }

    /// Whether no definition was left out.
    pub fn is_empty(&self) -> bool {
        self.named.is_empty() && self.nameless.is_none()
    }

    /// Why nothing is generated for a cluster that the run did not generate.
    pub fn why(&self, cluster: &ClusterId) -> Option<&str> {
        self.cause(cluster).map(|cause| &*cause.text)
    }

    /// The errors that [`Self::why`] repeats.
    pub(super) fn errors(&self, cluster: &ClusterId) -> &[RepeatedId] {
        self.cause(cluster).map_or(&[], |cause| &cause.errors)
    }

    fn cause(&self, cluster: &ClusterId) -> Option<&Cause> {
        self.named.get(cluster).or(self.nameless.as_ref())
    }
}

/// The maximum number of errors to show as reasons.
const ERRORS: usize = 3;

/// Why a definition was left out: the errors in it, or in the defaults of its folders, or else what was recorded.
fn cause(left: &SkippedDefinition, cluster: Option<&str>, notes: &Notes) -> Cause {
    let is_above = |file: &str| {
        let defaults = file.rsplit_once('/').filter(|(_, name)| name.starts_with("_defaults."));
        file == left.file || defaults.is_some_and(|(folder, _)| left.file.starts_with(&format!("{folder}/")))
    };
    let is_of_others = |note: &Diagnostic| {
        !note.clusters.is_empty() && cluster.is_some_and(|cluster| !note.clusters.contains(cluster))
    };
    let errors = notes.iter().filter(|note| note.severity == Severity::Error && !is_of_others(note));
    let own = errors.filter_map(|note| {
        let place = note.place.as_ref().filter(|place| is_above(&place.file))?;
        Some((format!("{place}: {}", without_secret(note).message), note.repeated_id?))
    });
    let own: Vec<(String, RepeatedId)> = own.collect();
    let mut texts: Vec<String> = own.iter().map(|(text, _)| text.clone()).collect();
    texts.dedup();
    let more = texts.len().saturating_sub(ERRORS);
    texts.truncate(ERRORS);
    let errors = own.iter().filter(|(text, _)| texts.contains(text)).map(|(_, id)| *id).collect();
    if texts.is_empty() {
        texts.push(format!("{}: {}", left.file, left.why));
    }
    if more > 0 {
        texts.push(format!("{more} more"));
    }
    Cause { text: texts.join("; "), errors }
}

/// A state in which some clusters are refused.
pub(super) struct Sound<'a> {
    pub(super) inner: &'a dyn State,
    pub(super) before: &'a dyn State,
    /// Whether the run generated a cluster.
    pub(super) is_made: &'a (dyn Fn(&ClusterId) -> bool + Sync),
    pub(super) left: &'a LeftClusters,
}

impl State for Sound<'_> {
    fn clusters(&self) -> Result<Vec<ClusterId>, Fault> {
        Ok(self.inner.clusters()?.into_iter().chain(self.left.named.keys().cloned()).collect())
    }

    fn files(&self, cluster: &ClusterId) -> Result<ClusterFiles, Fault> {
        let found = self.inner.files(cluster)?;
        if let Some(why) = self.left.named.get(cluster) {
            return Ok(ClusterFiles::Refused(why.text.clone()));
        }
        if let Some(why) = self.left.nameless.as_ref().filter(|_| !(self.is_made)(cluster)) {
            // An unreadable definition can only belong to a cluster that existed before.
            if matches!(self.before.files(cluster)?, ClusterFiles::Known(files) if !files.is_empty()) {
                return Ok(ClusterFiles::Refused(why.text.clone()));
            }
        }
        Ok(found)
    }

    fn content(&self, cluster: &ClusterId) -> Result<Option<FolderId>, Fault> {
        // A cluster that was left out is refused, whatever its files.
        if self.left.is_empty() { self.inner.content(cluster) } else { Ok(None) }
    }

    fn text(&self, id: &BlobId) -> Result<String, Fault> {
        self.inner.text(id)
    }

    fn releases(&self) -> Result<Vec<String>, Fault> {
        self.inner.releases()
    }

    fn class_objects(&self, release: &str) -> Result<Result<ByAddress, Unread>, Fault> {
        self.inner.class_objects(release)
    }

    fn class(
        &self,
        class: &ClassName,
        management: &ManagementCluster,
    ) -> Result<Result<SharedClass, Unread>, Fault> {
        self.inner.class(class, management)
    }

    fn management(&self, name: &Label) -> Option<Arc<ManagementCluster>> {
        self.inner.management(name)
    }

    fn running(&self, cluster: &ClusterId) -> Option<Running> {
        self.inner.running(cluster)
    }
}
