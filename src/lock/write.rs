//! Writes the lock file in canonical form: the same lookup results yield the same bytes.

use crate::{
    model::{ChartVersion, Digest, Lock, LockedChart, LockedRelease},
    release::digests_of,
    yaml::{Mapping, Node, emit},
};

/// The comment at the top of the file.
const HEADER: &str = "\
# Written by stackloom: what charts, images and releases were when `stackloom update` or `stackloom pull` looked.
# Commit it. A changed line under an unchanged version says that someone changed what was published.
";

pub fn write(lock: &Lock) -> String {
    let mut spec = Mapping::new();
    spec.set_filled("charts", lock.charts.iter().map(|(key, one)| chart(key, one)).collect::<Vec<_>>());
    spec.set_filled("images", digests_of(&lock.images));
    spec.set_filled(
        "releases",
        lock.releases.iter().map(|(name, one)| release(name, one)).collect::<Vec<_>>(),
    );
    let mut root = Mapping::new();
    root.set("apiVersion", "stackloom.dev/v1alpha1");
    root.set("kind", "Lock");
    root.set("spec", spec);
    let mut text = HEADER.to_owned();
    emit(&Node::from(root), &mut text);
    text
}

fn chart(key: &ChartVersion, locked: &LockedChart) -> Node {
    let mut mapping = Mapping::new();
    mapping.set("repository", key.chart.repository.as_str());
    mapping.set("name", key.chart.name.as_str());
    mapping.set("version", key.version.to_string());
    mapping.set("digest", locked.digest.as_str());
    let replaces = locked.replaces.iter().map(|digest| Node::from(digest.as_str()));
    mapping.set_filled("replaces", replaces.collect::<Vec<_>>());
    mapping.set_filled("images", digests_of(&locked.images));
    mapping.set_some("values", locked.values.as_ref().map(Digest::as_str));
    mapping.into()
}

fn release(name: &str, locked: &LockedRelease) -> Node {
    let mut mapping = Mapping::new();
    mapping.set("name", name);
    mapping.set("source", locked.source.as_str());
    mapping.set("digest", locked.digest.as_str());
    mapping.set_some("key", locked.key.as_deref());
    mapping.into()
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::{
        definition::read_lock,
        model::{AddonVersion, Chart},
        note::Notes,
        yaml::{Origin, Sources},
    };

    fn digest(digit: char) -> Digest {
        Digest::new(&format!("sha256:{}", digit.to_string().repeat(64))).unwrap()
    }

    fn read(text: &str) -> (Option<Lock>, Notes) {
        let mut sources = Sources::default();
        let id = sources.add("stackloom.lock", text);
        let mut notes = Notes::new();
        let lock = read_lock(sources.get(id).unwrap(), &mut notes);
        (lock, notes)
    }

    fn locked() -> Lock {
        let chart = |repository: &str, version| ChartVersion {
            chart: Chart { repository: repository.to_owned(), name: "cilium".to_owned() },
            version: AddonVersion::parse(version).unwrap(),
        };
        let locked = |replaces: &[Digest]| LockedChart {
            digest: digest('a'),
            replaces: replaces.iter().cloned().collect::<BTreeSet<_>>(),
            images: BTreeMap::from([("quay.io/cilium/cilium:v1.18.9".to_owned(), digest('b'))]),
            values: replaces.first().cloned(),
            origin: Origin::NOWHERE,
        };
        Lock {
            charts: BTreeMap::from([
                (chart("https://helm.cilium.io", "1.18.9"), locked(&[digest('c')])),
                (chart("oci://registry.example.org/charts", "1.10.0+build.1"), locked(&[])),
            ]),
            images: BTreeMap::from([("registry.k8s.io/pause:3.10".to_owned(), digest('d'))]),
            releases: BTreeMap::from([(
                "openstack-scs-1-35-v7".to_owned(),
                LockedRelease {
                    source: format!("oci://registry.example.org/stacks@{}", digest('e')),
                    digest: digest('f'),
                    key: Some("keys/stacks.pub".to_owned()),
                    origin: Origin::NOWHERE,
                },
            )]),
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        for lock in [locked(), Lock::default()] {
            let text = write(&lock);
            let (found, notes) = read(&text);
            assert!(notes.is_empty(), "{notes:?}");
            assert_eq!(found.unwrap(), lock);
            assert_eq!(write(&read(&text).0.unwrap()), text);
        }
    }

    #[test]
    fn invalid_digests_are_refused_with_their_place() {
        let text = write(&locked()).replacen(digest('a').as_str(), "sha256:short", 1);
        let (lock, notes) = read(&text);
        assert!(lock.is_none());
        let note = notes.iter().next().unwrap();
        assert_eq!((note.code, note.place.as_ref().unwrap().line), ("wrong-value", 8), "{note:?}");
    }
}
