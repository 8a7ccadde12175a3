//! Finds where releases are named in committed and published files, and since when they no longer are.
//!
//! A name counts as used wherever it appears in a definition or in the tree of a management cluster, even in a comment:
//! keeping a release for too long does no harm.

use std::collections::{BTreeMap, BTreeSet};

use git2::{ErrorCode, ObjectType, Oid, Sort};

use super::Repository;
use crate::{note::Fault, world::stands_in};

/// Since when no definition has named a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unused {
    /// The first commit that no longer names it, or the commit that added it if none ever did.
    pub commit: String,
    /// Its day, as YYYY-MM-DD.
    pub day: String,
}

/// Finds names in blobs and trees; each object is read once.
struct Mentions<'a> {
    repository: &'a git2::Repository,
    names: &'a BTreeSet<String>,
    known: BTreeMap<Oid, BTreeSet<String>>,
}

impl Mentions<'_> {
    fn of(&mut self, id: Oid, kind: Option<ObjectType>) -> Result<BTreeSet<String>, git2::Error> {
        if let Some(found) = self.known.get(&id) {
            return Ok(found.clone());
        }
        let mut found = BTreeSet::new();
        match kind {
            Some(ObjectType::Tree) => {
                for entry in &self.repository.find_tree(id)? {
                    found.extend(self.of(entry.id(), entry.kind())?);
                }
            }
            Some(ObjectType::Blob) => {
                let blob = self.repository.find_blob(id)?;
                let text = String::from_utf8_lossy(blob.content());
                found.extend(self.names.iter().filter(|name| stands_in(name, &text)).cloned());
            }
            _ => {}
        }
        self.known.insert(id, found.clone());
        Ok(found)
    }

    /// The names that a commit has in these folders.
    fn in_commit(&mut self, commit: Oid, folders: &[String]) -> Result<BTreeSet<String>, git2::Error> {
        let tree = self.repository.find_commit(commit)?.tree()?;
        let mut found = BTreeSet::new();
        for folder in folders {
            match tree.get_path(folder.as_ref()) {
                Ok(entry) => found.extend(self.of(entry.id(), entry.kind())?),
                Err(error) if error.code() == ErrorCode::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }
}

impl Repository {
    /// The releases named by HEAD, its upstream or a published branch, each with the first place that names it.
    pub fn mentioned(
        &self,
        names: &BTreeSet<String>,
        branches: &BTreeSet<String>,
    ) -> Result<BTreeMap<String, String>, Fault> {
        let failed = |error| Fault::because("cannot search the published commits for releases", error);
        let folders = ["clusters", "rollouts", "generated/management"];
        let folders = folders.map(|folder| format!("{}{folder}", self.prefix));
        let mut mentions = Mentions { repository: &self.inner, names, known: BTreeMap::new() };
        let mut found = BTreeMap::new();
        for (place, commit) in self.published(branches).map_err(failed)? {
            for name in mentions.in_commit(commit, &folders).map_err(failed)? {
                found.entry(name).or_insert_with(|| place.clone());
            }
        }
        Ok(found)
    }

    /// HEAD, its upstream, and the branches that engines read, as last fetched.
    fn published(&self, branches: &BTreeSet<String>) -> Result<Vec<(String, Oid)>, git2::Error> {
        let mut found = Vec::new();
        if let Ok(head) = self.inner.head() {
            found.extend(head.target().map(|id| ("HEAD".to_owned(), id)));
            if let Some(upstream) =
                head.name().ok().and_then(|name| self.inner.branch_upstream_name(name).ok())
                && let Ok(reference) = self.inner.find_reference(&String::from_utf8_lossy(&upstream))
            {
                let name = reference.shorthand().unwrap_or("the upstream branch").to_owned();
                found.extend(reference.target().map(|id| (name, id)));
            }
        }
        for reference in self.inner.references()? {
            let reference = reference?;
            let Ok(name) = reference.name() else { continue };
            let branch = name.strip_prefix("refs/heads/").map(str::to_owned).or_else(|| {
                let (_, branch) = name.strip_prefix("refs/remotes/")?.split_once('/')?;
                Some(branch.to_owned())
            });
            if branch.is_some_and(|branch| branches.contains(&branch)) {
                let commit = reference.peel_to_commit()?.id();
                found.push((reference.shorthand().unwrap_or(name).to_owned(), commit));
            }
        }
        Ok(found)
    }

    /// Since when no definition along the first parents of HEAD has named these releases. Those that HEAD names are left
    /// out.
    pub fn unused_since(&self, names: &BTreeSet<String>) -> Result<BTreeMap<String, Unused>, Fault> {
        let failed = |error| {
            let fault = Fault::because("cannot search the history for releases", error);
            if self.is_partial() {
                fault.hint(
                    "this is a partial clone: get what is missing with `git fetch --refetch --no-filter`",
                )
            } else {
                fault
            }
        };
        let mut found = BTreeMap::new();
        let Some(head) = self.tip()?.commit() else { return Ok(found) };
        let folders = [format!("{}clusters", self.prefix)];
        let mut mentions = Mentions { repository: &self.inner, names, known: BTreeMap::new() };
        let mut walk = self.inner.revwalk().map_err(failed)?;
        walk.simplify_first_parent().map_err(failed)?;
        walk.set_sorting(Sort::TOPOLOGICAL).map_err(failed)?;
        walk.push(head).map_err(failed)?;
        let mut open: BTreeSet<String> = names.clone();
        let mut newer: Option<Oid> = None;
        for commit in walk {
            let commit = commit.map_err(failed)?;
            let used = mentions.in_commit(commit, &folders).map_err(failed)?;
            let mut done = Vec::new();
            for name in &open {
                if used.contains(name) || self.folder_of(commit, name)?.is_none() {
                    done.push(name.clone());
                }
            }
            for name in done {
                open.remove(&name);
                if let Some(newer) = newer {
                    found.insert(name, self.day_of(newer).map_err(failed)?);
                }
            }
            if open.is_empty() {
                break;
            }
            newer = Some(commit);
        }
        // In a shallow clone, earlier uses are unknown.
        if let Some(oldest) = newer.filter(|_| !self.is_shallow()) {
            for name in open {
                found.insert(name, self.day_of(oldest).map_err(failed)?);
            }
        }
        Ok(found)
    }

    fn day_of(&self, commit: Oid) -> Result<Unused, git2::Error> {
        let time = self.inner.find_commit(commit)?.time();
        Ok(Unused {
            commit: commit.to_string(),
            day: day(time.seconds() + i64::from(time.offset_minutes()) * 60),
        })
    }
}

/// Formats seconds since 1970 as RFC 3339, in UTC.
pub(super) fn instant(seconds: i64) -> String {
    let of_day = seconds.rem_euclid(86_400);
    format!("{}T{:02}:{:02}:{:02}Z", day(seconds), of_day / 3_600, of_day / 60 % 60, of_day % 60)
}

/// The day of a second since 1970, computed with years that begin in March.
fn day(seconds: i64) -> String {
    let days = seconds.div_euclid(86_400) + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let (day, month) = (of_year - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01"),
            (951_782_400, "2000-02-29"),
            (1_795_276_046, "2026-11-21"),
            (-1, "1969-12-31"),
        ] {
            assert_eq!(day(seconds), expected);
        }
        assert_eq!(instant(1_795_276_046), "2026-11-21T15:47:26Z");
        assert_eq!(instant(-1), "1969-12-31T23:59:59Z");
    }

    #[test]
    fn a_name_is_not_found_in_a_longer_number() {
        assert!(stands_in("a-1-35-v1", "release: a-1-35-v1\n"));
        assert!(stands_in("a-1-35-v1", "name: a-1-35-v1-control-plane"));
        assert!(!stands_in("a-1-35-v1", "release: a-1-35-v10"));
        assert!(!stands_in("a-1-35-v1", "release: ba-1-35-v1"));
    }
}
