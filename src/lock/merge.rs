//! Merges lookup results into the lock. New entries are added, and entries that no stack needs are removed. An entry whose
//! content changed under the same name is rejected unless the user accepts it.

use std::collections::{BTreeMap, BTreeSet};

use super::Wanted;
use crate::{
    model::{AddonVersion, Chart, ChartVersion, Digest, Lock, LockedChart},
    note::{Notes, Place},
    release::Releases,
    world::LOCK,
    yaml::{Origin, Sources},
};

/// The results of looking up charts and images.
#[derive(Clone, Debug, Default)]
pub struct LookupResults {
    /// The charts that were found.
    pub charts: BTreeMap<ChartVersion, FoundChart>,
    /// Versions that their repository doesn't have.
    pub missing: BTreeSet<ChartVersion>,
    pub available: BTreeMap<Chart, BTreeSet<AddonVersion>>,
    /// The digests of images; none if the repository doesn't have the image.
    pub images: BTreeMap<String, Option<Digest>>,
}

/// The result of looking up a chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundChart {
    /// The digest of its archive, or of its manifest in a registry.
    pub digest: Digest,
    /// The images that it lists; none if the lock already has them.
    pub images: Option<BTreeSet<String>>,
    /// The description of its values from its archive, or the reason why there is none. None if the lock already has one.
    pub values: Option<Result<String, String>>,
}

impl LookupResults {
    /// Adds the results of another lookup.
    pub fn extend(&mut self, other: Self) {
        let Self { charts, missing, available, images } = other;
        self.charts.extend(charts);
        self.missing.extend(missing);
        self.available.extend(available);
        self.images.extend(images);
    }

    /// The images that the charts list.
    pub fn images_of_charts(&self, old: &Lock) -> BTreeSet<String> {
        let named = |(key, chart): (&ChartVersion, &FoundChart)| match &chart.images {
            Some(images) => images.clone(),
            None => old.charts.get(key).map(|old| old.images.keys().cloned().collect()).unwrap_or_default(),
        };
        self.charts.iter().flat_map(named).collect()
    }
}

/// A change to a lock entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockChange {
    /// The chart or image.
    pub what: String,
    /// The old digest; none if the entry is new.
    pub before: Option<Digest>,
    /// The new digest; none if no stack needs the entry any more.
    pub after: Option<Digest>,
}

/// A new lock, with its changes.
#[derive(Clone, Debug)]
pub struct MergedLock {
    pub lock: Lock,
    /// The changes from the old lock.
    pub changes: Vec<LockChange>,
}

/// Merges lookup results into a lock. `accept` names the charts and images whose content may have changed.
pub fn merge(
    old: &Lock,
    wanted: &Wanted,
    found: &LookupResults,
    accept: &BTreeSet<String>,
    releases: &Releases,
    sources: &Sources,
    notes: &mut Notes,
) -> MergedLock {
    let mut merger =
        Merger { old, found, accept, used: BTreeSet::new(), sources, notes, changes: Vec::new() };
    let mut lock = Lock { releases: old.releases.clone(), ..Lock::default() };
    for (key, listed) in &wanted.charts {
        merger.missing(key, listed);
        if let Some(mut chart) = merger.chart(key) {
            chart.replaces.retain(|digest| *digest != chart.digest && releases.records(key, digest));
            lock.charts.insert(key.clone(), chart);
        }
    }
    for image in wanted.images.keys() {
        lock.images.extend(merger.image(image, old.images.get(image)).map(|digest| (image.clone(), digest)));
    }
    let mut changes = std::mem::take(&mut merger.changes);
    if wanted.is_partial {
        // A stack that could not be read may need any of the old entries.
        for (key, chart) in &old.charts {
            lock.charts.entry(key.clone()).or_insert_with(|| chart.clone());
        }
        for (name, digest) in &old.images {
            lock.images.entry(name.clone()).or_insert_with(|| digest.clone());
        }
    }
    for unused in accept.difference(&merger.used) {
        notes
            .warning("nothing-to-accept", None, format!("`{unused}` has not changed"))
            .hint("give the name of a chart, or of an image as in the message");
    }
    changes.extend(gone(old, &lock));
    MergedLock { lock, changes }
}

/// Lists the entries that no stack needs any more.
fn gone(old: &Lock, new: &Lock) -> Vec<LockChange> {
    let charts = old.charts.iter().filter(|(key, _)| !new.charts.contains_key(*key));
    let charts = charts.map(|(key, chart)| (key.to_string(), chart.digest.clone()));
    let images = old.images.iter().filter(|(name, _)| !new.images.contains_key(*name));
    let images = images.map(|(name, digest)| (name.clone(), digest.clone()));
    let change = |(what, before)| LockChange { what, before: Some(before), after: None };
    charts.chain(images).map(change).collect()
}

struct Merger<'a> {
    old: &'a Lock,
    found: &'a LookupResults,
    accept: &'a BTreeSet<String>,
    used: BTreeSet<String>,
    sources: &'a Sources,
    notes: &'a mut Notes,
    changes: Vec<LockChange>,
}

impl Merger<'_> {
    fn chart(&mut self, key: &ChartVersion) -> Option<LockedChart> {
        let old = self.old.charts.get(key);
        let Some(found) = self.found.charts.get(key) else { return old.cloned() };
        let mut chart = LockedChart {
            digest: found.digest.clone(),
            replaces: old.map(|old| old.replaces.clone()).unwrap_or_default(),
            images: BTreeMap::new(),
            values: match &found.values {
                Some(described) => described.as_deref().ok().and_then(super::values::digest),
                None => old.and_then(|old| old.values.clone()),
            },
            origin: old.map_or(Origin::NOWHERE, |old| old.origin),
        };
        match old {
            Some(old) if old.digest != found.digest => {
                if !self.accepted(&key.chart.name) {
                    self.refuse(
                        &key.to_string(),
                        &key.chart.name,
                        Some(old.origin),
                        &old.digest,
                        &found.digest,
                    );
                    return Some(old.clone());
                }
                chart.replaces.insert(old.digest.clone());
                self.changed(key.to_string(), Some(&old.digest), &found.digest);
            }
            Some(_) => {}
            None => self.changed(key.to_string(), None, &found.digest),
        }
        let known = || old.map(|old| old.images.keys().cloned().collect()).unwrap_or_default();
        for image in found.images.clone().unwrap_or_else(known) {
            let before = old.and_then(|old| old.images.get(&image));
            let digest = self.image(&image, before);
            chart.images.extend(digest.map(|digest| (image, digest)));
        }
        Some(chart)
    }

    fn image(&mut self, name: &str, old: Option<&Digest>) -> Option<Digest> {
        match (old, self.found.images.get(name)) {
            (old, None) => old.cloned(),
            (old, Some(None)) => {
                self.no_image(name);
                old.cloned()
            }
            (Some(old), Some(Some(new))) if old != new => {
                if self.accepted(name) {
                    self.changed(name.to_owned(), Some(old), new);
                    return Some(new.clone());
                }
                self.refuse(name, name, None, old, new);
                Some(old.clone())
            }
            (None, Some(Some(new))) => {
                self.changed(name.to_owned(), None, new);
                Some(new.clone())
            }
            (Some(old), Some(Some(_))) => Some(old.clone()),
        }
    }

    fn accepted(&mut self, name: &str) -> bool {
        let accepted = self.accept.contains(name);
        if accepted {
            self.used.insert(name.to_owned());
        }
        accepted
    }

    /// Records a change. Several charts may use the same image, so duplicates are skipped.
    fn changed(&mut self, what: String, before: Option<&Digest>, after: &Digest) {
        let change = LockChange { what, before: before.cloned(), after: Some(after.clone()) };
        if !self.changes.contains(&change) {
            self.changes.push(change);
        }
    }

    fn refuse(&mut self, what: &str, name: &str, origin: Option<Origin>, old: &Digest, new: &Digest) {
        let place = origin.and_then(|origin| self.sources.place(origin));
        let message = format!("{what} has changed: it was locked as `{old}`, and is now `{new}`");
        self.notes
            .error("digest-changed", place.unwrap_or_else(|| Place::file(LOCK)), message)
            .hint("other content was published under the same version: ask the publisher, and check it")
            .hint(format!("if the change is intended: `stackloom update --accept {name}`"));
    }

    fn missing(&mut self, key: &ChartVersion, listed: &BTreeSet<Origin>) {
        if !self.found.missing.contains(key) {
            return;
        }
        let ChartVersion { chart, version } = key;
        let known = self.found.available.get(chart).into_iter().flatten().rev().take(5);
        let known: Vec<_> = known.map(ToString::to_string).collect();
        for origin in listed {
            let message = format!("`{}` has no version {version} of `{}`", chart.repository, chart.name);
            let note = self.notes.error("no-chart", self.sources.place(*origin), message);
            match known.as_slice() {
                [] => note.hint("check the repository and the name of the chart"),
                _ => note.hint(format!("its newest versions are {}", known.join(", "))),
            };
        }
    }

    fn no_image(&mut self, name: &str) {
        self.notes
            .warning("no-image", None, format!("the image `{name}` does not exist under this name"))
            .hint("check the name: a node that does not have the image cannot start it");
    }
}

/// Finds versions that are newer than all that the stacks list, by chart. Pre-releases count only if the newest listed
/// version is one.
pub fn newer(wanted: &Wanted, found: &LookupResults) -> BTreeMap<Chart, Vec<AddonVersion>> {
    let mut newest: BTreeMap<&Chart, &AddonVersion> = BTreeMap::new();
    for key in wanted.charts.keys() {
        let known = newest.entry(&key.chart).or_insert(&key.version);
        *known = (*known).max(&key.version);
    }
    let mut newer = BTreeMap::new();
    for (chart, known) in newest {
        let is_preview = |one: &AddonVersion| !one.as_semver().pre.is_empty();
        let is_meant = |one: &&AddonVersion| {
            one.as_semver() > known.as_semver() && (!is_preview(one) || is_preview(known))
        };
        let all = found.available.get(chart).into_iter().flatten();
        let all: Vec<_> = all.filter(is_meant).cloned().collect();
        if !all.is_empty() {
            newer.insert(chart.clone(), all);
        }
    }
    newer
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(digit: char) -> Digest {
        Digest::new(&format!("sha256:{}", digit.to_string().repeat(64))).unwrap()
    }

    fn key(version: &str) -> ChartVersion {
        let chart = Chart { repository: "https://charts.example.org".to_owned(), name: "notes".to_owned() };
        ChartVersion { chart, version: AddonVersion::parse(version).unwrap() }
    }

    fn wanted(versions: &[&str]) -> Wanted {
        let one = |version: &&str| (key(version), BTreeSet::from([Origin::NOWHERE]));
        Wanted { charts: versions.iter().map(one).collect(), ..Wanted::default() }
    }

    fn found(all: &[(&str, char)]) -> LookupResults {
        let one = |(version, digit): &(&str, char)| {
            let images = Some(BTreeSet::from(["registry.example.org/notes:1".to_owned()]));
            (key(version), FoundChart { digest: digest(*digit), images, values: None })
        };
        let images = BTreeMap::from([("registry.example.org/notes:1".to_owned(), Some(digest('1')))]);
        LookupResults { charts: all.iter().map(one).collect(), images, ..LookupResults::default() }
    }

    fn run(old: &Lock, wanted: &Wanted, found: &LookupResults, accept: &[&str]) -> (MergedLock, Notes) {
        let mut notes = Notes::new();
        let accept = accept.iter().map(|name| (*name).to_owned()).collect();
        let (releases, sources) = (Releases::default(), Sources::default());
        let merged = merge(old, wanted, found, &accept, &releases, &sources, &mut notes);
        (merged, notes)
    }

    #[test]
    fn new_entries_are_added_and_unused_ones_removed() {
        let (first, notes) =
            run(&Lock::default(), &wanted(&["1.0.0", "1.1.0"]), &found(&[("1.0.0", 'a')]), &[]);
        assert!(notes.is_empty(), "{notes:?}");
        assert_eq!(first.lock.charts.keys().collect::<Vec<_>>(), [&key("1.0.0")]);
        assert_eq!(first.changes.len(), 2, "the chart, and once its image");
        let (second, _) = run(&first.lock, &wanted(&["1.1.0"]), &LookupResults::default(), &[]);
        assert!(second.lock.is_empty());
        assert_eq!(second.changes[0].after, None);
        let partial = Wanted { is_partial: true, ..wanted(&["1.1.0"]) };
        let (third, _) = run(&first.lock, &partial, &LookupResults::default(), &[]);
        assert_eq!((third.lock, third.changes), (first.lock, Vec::new()));
    }

    #[test]
    fn the_same_again_changes_nothing() {
        let (wanted, found) = (wanted(&["1.0.0"]), found(&[("1.0.0", 'a')]));
        let (first, _) = run(&Lock::default(), &wanted, &found, &[]);
        let (second, notes) = run(&first.lock, &wanted, &found, &[]);
        assert_eq!((second.lock, second.changes), (first.lock.clone(), Vec::new()));
        assert!(notes.is_empty());
        // If a repository is unreachable, its entries stay.
        let (third, _) = run(&first.lock, &wanted, &LookupResults::default(), &[]);
        assert_eq!(third.lock, first.lock);
    }

    #[test]
    fn other_bytes_under_the_same_version_are_refused_until_they_are_accepted() {
        let wanted = wanted(&["1.0.0"]);
        let (first, _) = run(&Lock::default(), &wanted, &found(&[("1.0.0", 'a')]), &[]);
        let other = found(&[("1.0.0", 'b')]);
        let (refused, notes) = run(&first.lock, &wanted, &other, &[]);
        assert_eq!(refused.lock, first.lock);
        let note = notes.iter().next().unwrap();
        assert_eq!(note.code, "digest-changed");
        assert!(note.message.contains(digest('a').as_str()) && note.message.contains(digest('b').as_str()));
        let (accepted, notes) = run(&first.lock, &wanted, &other, &["notes"]);
        assert!(notes.is_empty(), "{notes:?}");
        let chart = &accepted.lock.charts[&key("1.0.0")];
        // No release was cut with the old digest, so it need not be recorded.
        assert_eq!((&chart.digest, chart.replaces.len()), (&digest('b'), 0));
        let (_, notes) = run(&first.lock, &wanted, &other, &["notes", "nothing"]);
        assert_eq!(notes.iter().map(|note| note.code).collect::<Vec<_>>(), ["nothing-to-accept"]);
    }

    #[test]
    fn newer_is_what_no_stack_lists_yet() {
        let mut found = LookupResults::default();
        let all =
            ["0.9.0", "1.0.0", "1.0.1", "1.1.0-rc.1", "1.1.0"].map(|text| AddonVersion::parse(text).unwrap());
        found.available.insert(key("1.0.0").chart, all.into());
        let newer = newer(&wanted(&["0.9.0", "1.0.0"]), &found);
        assert_eq!(newer[&key("1.0.0").chart].len(), 2);
    }
}
