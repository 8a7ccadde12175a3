//! What git recorded of the numbered releases that lie in the work tree.

use std::collections::BTreeMap;

use git2::{ObjectType, Oid};

use super::{
    Repository,
    release::blobs_of,
    tag::{self, Tagged},
    trees::RELEASES,
    usage::instant,
};
use crate::{
    note::Fault,
    world::{Drift, Record, Recorded, numbered_releases, unix_ends},
    yaml::Sources,
};

/// Where the tag of a release points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaggedCommit {
    /// The commit.
    pub commit: String,
    /// When it was made, as RFC 3339 has it, in UTC.
    pub made: String,
}

impl Repository {
    /// The commit that a tag names.
    pub fn tagged_commit(&self, name: &str) -> Result<TaggedCommit, Fault> {
        let failed = |error| Fault::because(format!("cannot read the tag `{name}`"), error);
        let reference = self.inner.find_reference(&format!("refs/tags/{name}")).map_err(failed)?;
        let commit = reference.peel_to_commit().map_err(failed)?;
        Ok(TaggedCommit { commit: commit.id().to_string(), made: instant(commit.time().seconds()) })
    }

    /// Whether there is a tag of a release's name here that names another content than these files.
    pub fn is_tagged_elsewhere(&self, name: &str, files: &BTreeMap<String, String>) -> Result<bool, Fault> {
        let mut sources = Sources::default();
        for (path, text) in files {
            sources.add(&format!("{RELEASES}/{name}/{path}"), text.as_str());
        }
        let recorded = self.recorded(&sources)?.remove(name);
        let is_same = |recorded: Recorded| recorded.drift.is_some_and(|drift| drift.is_empty());
        Ok(recorded.is_some_and(|recorded| recorded.by == Record::Tag && !is_same(recorded)))
    }

    /// Holds the files of each numbered release against its tag, else against the commit that added it, as far as the
    /// clone goes back, else against HEAD; a release that none of them has is left out.
    pub(in crate::io) fn recorded(&self, sources: &Sources) -> Result<BTreeMap<String, Recorded>, Fault> {
        let head = self.committed_releases()?;
        let tip = self.tip()?.commit();
        let mut locks = BTreeMap::new();
        let (mut found, mut untagged) = (BTreeMap::new(), BTreeMap::new());
        for name in numbered_releases(sources) {
            let tree = match tag::tagged(self, &name)? {
                Tagged::Tree(tree) => Some(tree),
                Tagged::Elsewhere => None,
                Tagged::Missing => {
                    untagged.extend(head.get(&name).map(|tree| (name, *tree)));
                    continue;
                }
            };
            let drift = tree.map(|tree| self.drift(&name, tree, sources)).transpose()?;
            let commit = self.inner.revparse_single(&format!("refs/tags/{name}^{{commit}}"));
            let lock = commit.ok().and_then(|commit| self.lock_at(commit.id(), &mut locks));
            let lock = lock.map(|text| (name.clone(), text));
            found.insert(name, Recorded { by: Record::Tag, drift, since: None, lock });
        }
        let added = self.added(untagged.clone());
        for (name, tree) in untagged {
            let added = added.get(&name);
            let short = added.map(|added| added.commit.to_string()[..12].to_owned());
            let (by, tree) = match added {
                Some(added) if added.tree != tree => {
                    (Record::Commit(short.clone().unwrap_or_default()), added.tree)
                }
                _ => (Record::Head, tree),
            };
            let drift = Some(self.drift(&name, tree, sources)?);
            let at = added.map(|added| added.commit).or(tip);
            let lock = at.and_then(|at| self.lock_at(at, &mut locks));
            let lock = lock.map(|text| (short.clone().unwrap_or_else(|| "HEAD".to_owned()), text));
            found.insert(name, Recorded { by, drift, since: short, lock });
        }
        Ok(found)
    }

    /// The files of a release that are not those of a tree, by their paths in its folder.
    fn drift(&self, name: &str, tree: Oid, sources: &Sources) -> Result<BTreeMap<String, Drift>, Fault> {
        let failed = |error| {
            Fault::because(format!("cannot read what was recorded of the release `{name}`"), error)
                .hint("in a partial clone its trees may be missing: `git fetch --refetch --filter=blob:none`")
        };
        let tree = self.inner.find_tree(tree).map_err(failed)?;
        let mut recorded = blobs_of(&self.inner, &tree, "").map_err(failed)?;
        let folder = format!("generated/releases/{name}");
        let mut drift = BTreeMap::new();
        for source in sources.below(&folder) {
            let path = source.path[folder.len() + 1..].to_owned();
            let id = Oid::hash_object(ObjectType::Blob, source.text.as_bytes()).map_err(failed)?;
            match recorded.remove(&path) {
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

/// The blob of a text as it would be without carriage returns; none if it has none.
fn with_unix_ends(text: &str) -> Result<Option<Oid>, Fault> {
    let Some(text) = unix_ends(text) else { return Ok(None) };
    let id = Oid::hash_object(ObjectType::Blob, text.as_bytes());
    id.map(Some).map_err(|error| Fault::because("cannot hash a file", error))
}
