//! Fleets in memory, for tests and benchmarks.

pub(crate) mod large;
pub(crate) mod random;

use std::{
    fs,
    path::{Path, PathBuf},
};

use stackloom::world::Files;

/// The folder of the package, which is also a fleet.
pub(crate) fn package() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The sources of a fleet on disk, without numbered releases.
pub(crate) fn fleet(root: &Path) -> Files {
    let mut files = Files::default();
    read(root, &root.join("stackloom.yaml"), &mut files);
    read(root, &root.join("stacks"), &mut files);
    read(root, &root.join("clusters"), &mut files);
    files
}

/// The folders of a fleet's numbered releases.
pub(crate) fn numbered(root: &Path) -> Vec<PathBuf> {
    let Ok(folders) = fs::read_dir(root.join("generated/releases")) else { return Vec::new() };
    let mut all: Vec<_> = folders.map(|folder| folder.unwrap().path()).collect();
    all.retain(|folder| !folder.to_str().unwrap().contains("-v0-sha."));
    all.sort();
    all
}

fn read(root: &Path, path: &Path, files: &mut Files) {
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            read(root, &entry.unwrap().path(), files);
        }
    } else {
        let inside = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        files.0.insert(inside, fs::read_to_string(path).unwrap());
    }
}

/// This repository's own fleet, with every cluster on the head release of its stack.
pub(crate) fn own() -> Files {
    let mut files = fleet(&package());
    for (_, text) in files.0.iter_mut().filter(|(path, _)| path.starts_with("clusters/")) {
        let unpinned = |line: &str| {
            let (stack, rest) = line.strip_prefix("  release: ")?.split_once("-scs-1-")?;
            let (minor, _) = rest.split_once("-v")?;
            Some(format!("  stack: {stack}/scs\n  kubernetes: \"1.{minor}\"\n  release: head\n"))
        };
        let lines = text.lines().map(|line| unpinned(line).unwrap_or_else(|| format!("{line}\n")));
        *text = lines.collect();
    }
    files
}

/// The small fleet on the in-memory provider.
pub(crate) fn inmemory() -> Files {
    fleet(&package().join("tests/fleets/inmemory"))
}

/// The number of clusters per namespace.
const PER_NAMESPACE: usize = 50;

/// The stack of the small fleet, with any number of different clusters.
pub(crate) fn many(count: usize) -> Files {
    let mut files = inmemory();
    files.0.retain(|path, _| !path.starts_with("clusters/") || path == "clusters/_defaults.yaml");
    for index in 0..count {
        let (path, text) = cluster(index);
        files.0.insert(path, text);
    }
    files
}

/// The path and text of one cluster of [`many`].
pub(crate) fn cluster(index: usize) -> (String, String) {
    let namespace = index / PER_NAMESPACE;
    let path = format!("clusters/team-{namespace:03}/cluster-{index:05}.yaml");
    let minor = if index.is_multiple_of(3) { "1.35" } else { "1.36" };
    let workers = index % 7;
    let text = format!(
        "apiVersion: stackloom.dev/v1alpha1\n\
         kind: ClusterDefinition\n\
         metadata:\n\
         \x20 name: cluster-{index:05}\n\
         \x20 namespace: team-{namespace:03}\n\
         \x20 labels:\n\
         \x20   number: \"{index}\"\n\
         spec:\n\
         \x20 kubernetes: \"{minor}\"\n\
         \x20 nodePools:\n\
         \x20   - name: md-0\n\
         \x20     class: default-worker\n\
         \x20     replicas: {workers}\n\
         \x20 variables:\n\
         \x20   motd: cluster {index}\n\
         \x20 addons:\n\
         \x20   demo:\n\
         \x20     values:\n\
         \x20       color: \"{index:06x}\"\n"
    );
    (path, text)
}
