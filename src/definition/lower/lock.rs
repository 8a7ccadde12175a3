//! Lowers `stackloom.lock`. The program writes it, so an error in it comes from a manual edit or a failed merge.

use std::collections::{BTreeMap, BTreeSet, btree_map::Entry};

use super::{addon_version, holds_credential, place_at};
use crate::{
    definition::{self as written, parse::Written},
    model::{Chart, ChartVersion, Digest, Lock, LockedChart, LockedRelease, Subdomain},
    note::{Notes, Place},
    yaml::Origin,
};

const AGAIN: &str = "keep the right one; `stackloom update` rewrites the rest";

/// Lowers the lock, which may be missing.
pub(super) fn lower(written: Option<&Written<written::Lock>>, notes: &mut Notes) -> Lock {
    let Some(written) = written else { return Lock::default() };
    let spec = &written.value.spec;
    let lowering = LockLowering { written };
    Lock {
        charts: lowering.charts(spec.charts.as_deref().unwrap_or_default(), notes),
        images: lowering.images(&["spec", "images"], spec.images.as_deref().unwrap_or_default(), notes),
        releases: lowering.releases(spec.releases.as_deref().unwrap_or_default(), notes),
    }
}

struct LockLowering<'a> {
    written: &'a Written<written::Lock>,
}

impl LockLowering<'_> {
    fn place(&self, path: &[&str]) -> Place {
        place_at(self.written, path)
    }

    fn origin(&self, path: &[&str]) -> Origin {
        super::addon::origin_at(self.written, path)
    }

    fn charts(
        &self,
        written: &[written::LockedChart],
        notes: &mut Notes,
    ) -> BTreeMap<ChartVersion, LockedChart> {
        let mut charts = BTreeMap::new();
        for (at, one) in written.iter().enumerate() {
            let at = at.to_string();
            let path = ["spec", "charts", &at];
            let version = addon_version(&one.version, self.place(&["spec", "charts", &at, "version"]), notes);
            self.check_address(&one.repository, &["spec", "charts", &at, "repository"], notes);
            let images = one.images.as_deref().unwrap_or_default();
            let images = self.images(&["spec", "charts", &at, "images"], images, notes);
            let (Some(version), Some(digest)) = (version, Digest::new(&one.digest)) else { continue };
            let replaces = one.replaces.iter().flatten().filter_map(|text| Digest::new(text));
            let replaces: BTreeSet<Digest> = replaces.collect();
            let chart =
                Chart { repository: one.repository.trim_end_matches('/').to_owned(), name: one.name.clone() };
            let origin = self.origin(&[&path[..], &["digest"]].concat());
            let values = one.values.as_deref().and_then(Digest::new);
            let locked = LockedChart { digest, replaces, images, values, origin };
            let key = ChartVersion { chart, version };
            self.put(&mut charts, &key.to_string(), key, locked, &path, notes);
        }
        charts
    }

    fn images(
        &self,
        base: &[&str],
        written: &[written::LockedImage],
        notes: &mut Notes,
    ) -> BTreeMap<String, Digest> {
        let mut images = BTreeMap::new();
        for (at, one) in written.iter().enumerate() {
            let at = at.to_string();
            let path = [base, &[at.as_str()]].concat();
            let Some(digest) = Digest::new(&one.digest) else { continue };
            self.put(&mut images, &one.image, one.image.clone(), digest, &path, notes);
        }
        images
    }

    fn releases(
        &self,
        written: &[written::LockedRelease],
        notes: &mut Notes,
    ) -> BTreeMap<String, LockedRelease> {
        let mut releases = BTreeMap::new();
        for (at, one) in written.iter().enumerate() {
            let at = at.to_string();
            let path = ["spec", "releases", &at];
            if let Err(fault) = Subdomain::new(&one.name) {
                let place = self.place(&["spec", "releases", &at, "name"]);
                super::name_error(&one.name, "the release", Some(place), &fault, notes);
            }
            let address = one.source.strip_prefix("git+").unwrap_or(&one.source);
            let address = address.split_once("@sha256:").map_or(address, |(address, _)| address);
            self.check_address(address, &["spec", "releases", &at, "source"], notes);
            self.check_key(one.key.as_deref(), &at, notes);
            let Some(digest) = Digest::new(&one.digest) else { continue };
            let locked = LockedRelease {
                source: one.source.clone(),
                digest,
                key: one.key.clone(),
                origin: self.origin(&path),
            };
            self.put(&mut releases, &one.name, one.name.clone(), locked, &path, notes);
        }
        releases
    }

    fn put<K: Ord, V>(
        &self,
        map: &mut BTreeMap<K, V>,
        what: &str,
        key: K,
        value: V,
        path: &[&str],
        notes: &mut Notes,
    ) {
        match map.entry(key) {
            Entry::Vacant(free) => drop(free.insert(value)),
            Entry::Occupied(_) => {
                let message = format!("`{what}` appears twice in the lock");
                notes.error("duplicate", self.place(path), message).hint(AGAIN);
            }
        }
    }

    fn check_address(&self, address: &str, path: &[&str], notes: &mut Notes) {
        if holds_credential(address) {
            let place = Place { source: String::new(), ..self.place(path) };
            notes
                .error("secret", place, "the address holds a credential")
                .hint("remove it from the address: many people can read the lock");
        }
    }

    /// Checks that a key is in this repository, so that reviewers of the lock also review the key.
    fn check_key(&self, key: Option<&str>, at: &str, notes: &mut Notes) {
        let Some(key) = key else { return };
        if is_outside(key) {
            notes
                .error(
                    "wrong-key",
                    self.place(&["spec", "releases", at, "key"]),
                    format!("`{key}` is not the path of a file in this fleet"),
                )
                .hint(
                    "put the public key into the repository, and write its path from the root of the fleet",
                );
        }
    }
}

/// Reports whether a path leads outside the fleet.
pub(super) fn is_outside(path: &str) -> bool {
    path.starts_with('-')
        || path.contains('\\')
        || path.contains("://")
        || path.split('/').any(|part| part == ".." || part.is_empty())
}
