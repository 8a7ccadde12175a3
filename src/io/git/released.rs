//! Compares the numbered releases in the work tree with what git recorded about them.

use std::{
    collections::{BTreeMap, BTreeSet},
    error::Error as _,
    sync::Arc,
};

use git2::{ObjectType, Oid};

use super::{
    Repository,
    added::{Added, Additions, Origin},
    folders::files_in,
    tag::{self, Tagged},
    trees::RELEASES,
    usage::instant,
};
use crate::{
    note::Fault,
    world::{Doubt, Drift, Record, Recorded, Taking, numbered_releases, unix_ends},
    yaml::Sources,
};

/// The commit that the tag of a release points to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaggedCommit {
    /// The ID of the commit.
    pub commit: String,
    /// The commit's time as RFC 3339, in UTC.
    pub made: String,
}

/// What the branch records about the releases.
struct BranchRecords {
    head: BTreeMap<String, Oid>,
    additions: Additions,
    /// Whether the branch's history could be read.
    walked: Result<(), git2::Error>,
    locks: BTreeMap<Oid, Arc<str>>,
    tip: Option<Oid>,
}

/// The record that a release is compared with.
struct ReleaseRecord {
    by: Record,
    /// The release's folder in the record; None if the tag points to something without it.
    tree: Option<Oid>,
    doubt: Option<Doubt>,
}

impl ReleaseRecord {
    fn by_commit(added: Added, doubt: Option<Doubt>) -> Self {
        Self { by: Record::Commit(short(added.commit)), tree: Some(added.tree), doubt }
    }
}

impl Repository {
    /// The commit that a tag points to.
    pub fn tagged_commit(&self, name: &str) -> Result<TaggedCommit, Fault> {
        let failed = |error| Fault::because(format!("cannot read the tag `{name}`"), error);
        let reference = self.inner.find_reference(&format!("refs/tags/{name}")).map_err(failed)?;
        let commit = reference.peel_to_commit().map_err(failed)?;
        Ok(TaggedCommit { commit: commit.id().to_string(), made: instant(commit.time().seconds()) })
    }

    /// Whether a local tag of this name exists whose content differs from these files.
    pub fn is_tagged_elsewhere(&self, name: &str, files: &BTreeMap<String, String>) -> Result<bool, Fault> {
        let sources = folder_with(name, files);
        Ok(match tag::tagged(self, name)? {
            Tagged::Missing => false,
            Tagged::Elsewhere => true,
            Tagged::Tree(tree) => !self.drift(name, tree, &sources)?.is_empty(),
        })
    }

    /// The commit that added a release of this name, if no commit added one with these files.
    pub fn is_added_otherwise(
        &self,
        name: &str,
        files: &BTreeMap<String, String>,
    ) -> Result<Option<String>, Fault> {
        let (mut additions, _) = self.additions();
        let origin = additions.remove(name).and_then(|additions| self.origin_of(name, &additions));
        let Some(Origin { added, others, .. }) = origin else { return Ok(None) };
        let files = folder_with(name, files);
        for one in others.iter().chain([&added]) {
            if self.drift(name, one.tree, &files)?.is_empty() {
                return Ok(None);
            }
        }
        Ok(Some(short(added.commit)))
    }

    /// Compares the files of each numbered release with the commit that added it and with its tag, as far as the clone has
    /// them, otherwise with HEAD. A release that none of them has is left out.
    pub(in crate::io) fn recorded(&self, sources: &Sources) -> Result<BTreeMap<String, Recorded>, Fault> {
        let head = self.committed_releases()?;
        let tags: BTreeMap<String, Result<Tagged, Fault>> = numbered_releases(sources)
            .into_iter()
            .map(|name| {
                let tagged = tag::tagged(self, &name);
                (name, tagged)
            })
            .collect();
        // Without releases in HEAD, no commit needs to be searched.
        let (additions, walked) = if head.is_empty() { (Additions::new(), Ok(())) } else { self.additions() };
        let mut known =
            BranchRecords { head, additions, walked, locks: BTreeMap::new(), tip: self.tip()?.commit() };
        let mut found = BTreeMap::new();
        for (name, tagged) in tags {
            let recorded = self.recorded_of(&name, &tagged, &mut known, sources);
            found.extend(recorded.map(|recorded| (name, recorded)));
        }
        Ok(found)
    }

    fn recorded_of(
        &self,
        name: &str,
        tagged: &Result<Tagged, Fault>,
        known: &mut BranchRecords,
        sources: &Sources,
    ) -> Option<Recorded> {
        let additions = known.additions.remove(name).unwrap_or_default();
        let origin = self.origin_of(name, &additions);
        let head = known.head.get(name).copied();
        let tagged_commit = tag::commit_of(self, name);
        let held = match tagged {
            Ok(Tagged::Tree(tree)) => self.held_by_tag(*tree, origin.as_ref(), tagged_commit, known.tip),
            Ok(Tagged::Elsewhere) => ReleaseRecord { by: Record::Tag, tree: None, doubt: None },
            Ok(Tagged::Missing) => self.held_by_branch(None, origin.as_ref(), head, &known.walked)?,
            Err(fault) => self.held_by_branch(Some(fault), origin.as_ref(), head, &known.walked)?,
        };
        let ReleaseRecord { by, tree, mut doubt } = held;
        let drift = tree.map(|tree| {
            let found = self.drift(name, tree, sources).and_then(|mut drift| {
                for path in self.other_modes(name, tree, head)? {
                    drift.entry(path).or_insert(Drift::Mode);
                }
                Ok(drift)
            });
            found.unwrap_or_else(|fault| {
                doubt = Some(self.doubt(reason(&fault)));
                BTreeMap::new()
            })
        });
        let is_tag = by == Record::Tag;
        let locks = self.locks_of(&additions, tagged_commit.filter(|_| is_tag), known);
        let since = origin.map(|origin| short(origin.added.commit)).filter(|_| !is_tag);
        let unseen = drift.as_ref().map(|drift| self.unseen(name, drift)).unwrap_or_default();
        Some(Recorded { by, drift, since, locks, unseen, doubt })
    }

    /// The tag is decisive, unless it was moved away from what the branch added.
    fn held_by_tag(
        &self,
        tree: Oid,
        origin: Option<&Origin>,
        tagged: Option<Oid>,
        tip: Option<Oid>,
    ) -> ReleaseRecord {
        let doubt = origin.and_then(|origin| self.tag_doubt(origin, tree, tagged, tip));
        match (origin, &doubt) {
            (Some(origin), Some(Doubt::Moved { .. })) => ReleaseRecord::by_commit(origin.added, doubt),
            _ => ReleaseRecord { by: Record::Tag, tree: Some(tree), doubt },
        }
    }

    /// Without a readable tag, HEAD is decisive, or the commit that added a release that HEAD has lost or changed. None if
    /// neither has the release.
    fn held_by_branch(
        &self,
        unread: Option<&Fault>,
        origin: Option<&Origin>,
        head: Option<Oid>,
        walked: &Result<(), git2::Error>,
    ) -> Option<ReleaseRecord> {
        let doubt = match (unread, walked) {
            (Some(fault), _) => Some(self.doubt(reason(fault))),
            (None, Err(error)) => Some(self.doubt(error.message().to_owned())),
            (None, Ok(())) => origin.and_then(|origin| {
                let (taken, other) = (short(origin.added.commit), short(origin.others.first()?.commit));
                Some(Doubt::TwoLines { taken, other, is_tagged: false })
            }),
        };
        if head.is_none() && doubt.is_none() {
            return None;
        }
        Some(match origin {
            Some(origin) if Some(origin.added.tree) != head => ReleaseRecord::by_commit(origin.added, doubt),
            _ => ReleaseRecord { by: Record::Head, tree: head, doubt },
        })
    }

    /// The doubt about a tag with this content, compared with the commits that added the release. None if the tag agrees
    /// with what was merged.
    fn tag_doubt(&self, origin: &Origin, tree: Oid, tagged: Option<Oid>, tip: Option<Oid>) -> Option<Doubt> {
        let firsts = || [&origin.added].into_iter().chain(&origin.others);
        let Some(taken) = firsts().find(|one| one.tree == tree) else {
            let is_here = tagged.zip(tip).is_some_and(|(tagged, tip)| self.descends(tip, tagged));
            let (tagged, added) = (tagged.map(short).unwrap_or_default(), short(origin.added.commit));
            return Some(Doubt::Moved { tagged, added, is_here });
        };
        if origin.unedited.is_some_and(|unedited| unedited.tree == tree) {
            return None;
        }
        let other = firsts().find(|one| one.tree != tree)?;
        Some(Doubt::TwoLines { taken: short(taken.commit), other: short(other.commit), is_tagged: true })
    }

    /// The lock at each time the release was added: in the commits that added it, otherwise in its tag's commit or in HEAD.
    fn locks_of(&self, additions: &[Added], tagged: Option<Oid>, known: &mut BranchRecords) -> Vec<Taking> {
        let mut commits: Vec<(String, Oid)> =
            additions.iter().map(|added| (short(added.commit), added.commit)).collect();
        if commits.is_empty() {
            let tagged = tagged.map(|tagged| (short(tagged), tagged));
            commits.extend(tagged.or(known.tip.map(|tip| ("HEAD".to_owned(), tip))));
        }
        let is_last = |commit: Oid| {
            let added = additions.iter().find(|added| added.commit == commit);
            added.is_none_or(|added| !additions.iter().any(|other| self.follows(other, added)))
        };
        let mut lock = |commit| self.lock_at(commit, &mut known.locks);
        let found = commits.into_iter().filter_map(|(at, commit)| Some((at, commit, lock(commit)?)));
        found.map(|(at, commit, text)| Taking { at, text, is_last: is_last(commit) }).collect()
    }

    /// The drifted files that git was told not to check.
    fn unseen(&self, name: &str, drift: &BTreeMap<String, Drift>) -> BTreeSet<String> {
        if drift.is_empty() {
            return BTreeSet::new();
        }
        let folder = format!("{RELEASES}/{name}");
        let paths = self.overlooked(std::slice::from_ref(&folder)).unwrap_or_default();
        let inside = paths.iter().filter_map(|path| path.strip_prefix(&format!("{folder}/")));
        inside.filter(|path| drift.contains_key(*path)).map(str::to_owned).collect()
    }

    /// The doubt if an object cannot be read: in a partial clone it can be fetched, elsewhere it is broken.
    fn doubt(&self, why: String) -> Doubt {
        if self.is_partial() { Doubt::NotFetched } else { Doubt::Unreadable(why) }
    }

    /// The files of a release that differ from a tree, by their paths in the release's folder.
    fn drift(&self, name: &str, tree: Oid, sources: &Sources) -> Result<BTreeMap<String, Drift>, Fault> {
        let failed = |error| {
            Fault::because(format!("cannot read what git recorded about the release `{name}`"), error)
                .hint("in a partial clone, get missing trees with `git fetch --refetch --filter=blob:none`")
        };
        let tree = self.inner.find_tree(tree).map_err(failed)?;
        let mut recorded = files_in(&self.inner, &tree, "").map_err(failed)?;
        let folder = format!("generated/releases/{name}");
        let mut drift = BTreeMap::new();
        for source in sources.below(&folder) {
            let path = source.path[folder.len() + 1..].to_owned();
            let id = Oid::hash_object(ObjectType::Blob, source.text.as_bytes()).map_err(failed)?;
            match recorded.remove(&path).map(|(known, _)| known) {
                Some(known) if known == id => {}
                Some(known) if with_unix_ends(&source.text)? == Some(known) => {
                    drift.insert(path, Drift::LineEnds);
                }
                Some(_) => {
                    drift.insert(path, Drift::Changed);
                }
                None => {
                    drift.insert(path, Drift::Added);
                }
            }
        }
        drift.extend(recorded.into_keys().map(|path| (path, Drift::Missing)));
        Ok(drift)
    }
}

/// The folder of a release with these files.
fn folder_with(name: &str, files: &BTreeMap<String, String>) -> Sources {
    let mut sources = Sources::default();
    for (path, text) in files {
        sources.add(&format!("{RELEASES}/{name}/{path}"), text.as_str());
    }
    sources
}

fn reason(fault: &Fault) -> String {
    fault.source().map_or_else(|| fault.to_string(), |source| format!("{fault}: {source}"))
}

fn short(commit: Oid) -> String {
    commit.to_string()[..12].to_owned()
}

/// The blob ID of a text without its carriage returns; None if it has none.
fn with_unix_ends(text: &str) -> Result<Option<Oid>, Fault> {
    let Some(text) = unix_ends(text) else { return Ok(None) };
    let id = Oid::hash_object(ObjectType::Blob, text.as_bytes());
    id.map(Some).map_err(|error| Fault::because("cannot hash a file", error))
}
