//! Commit messages: a subject with the changes, lists for people, and trailers for programs.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use crate::tree::{Changes, FileChange, PartChange, PartId};

/// The greatest length of a subject; forges cut it there.
pub(super) const SUBJECT: usize = 72;

/// The greatest number of names in a list of the body.
pub(super) const LISTED: usize = 20;

/// The greatest number of trailers of one kind. Programs that need all changes of a larger commit must read the tree.
const TRAILERS: usize = 200;

/// What happened to a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    Added,
    Changed,
    Removed,
}

impl Fate {
    const ALL: [Self; 3] = [Self::Added, Self::Changed, Self::Removed];

    fn of(change: FileChange) -> Option<Self> {
        match change {
            FileChange::Added => Some(Self::Added),
            FileChange::Changed => Some(Self::Changed),
            FileChange::Removed => Some(Self::Removed),
            FileChange::Unchanged => None,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Changed => "changed",
            Self::Removed => "removed",
        }
    }
}

/// Writes the message of a commit with these changes.
pub fn generated(changes: &Changes) -> String {
    let fates = fates(changes);
    let mut text = if changes.files.is_empty() && !changes.sources.is_empty() {
        subject_of_sources(changes)
    } else {
        subject(&fates)
    };
    text.push('\n');
    for (noun, wanted) in [("Clusters", Kind::Cluster), ("Releases", Kind::Release)] {
        for fate in Fate::ALL {
            list(&mut text, noun, fate, &names(&fates, wanted, Some(fate)));
        }
    }
    for fate in Fate::ALL {
        let sources = changes.sources.iter().filter(|(_, change)| Fate::of(**change) == Some(fate));
        list(&mut text, "Sources", fate, &sources.map(|(path, _)| path.clone()).collect::<Vec<_>>());
    }
    trailers(&mut text, &fates);
    text
}

/// The subject for a change of sources that leaves the tree unchanged, such as a comment.
fn subject_of_sources(changes: &Changes) -> String {
    let sources: Vec<_> = changes.sources.iter().collect();
    if let [(path, change)] = sources.as_slice()
        && let Some(fate) = Fate::of(**change)
    {
        let short = format!("generate: {path} {}", fate.word());
        if short.chars().count() <= SUBJECT {
            return short;
        }
    }
    let noun = if sources.len() == 1 { "source" } else { "sources" };
    format!("generate: {} {noun} changed, the tree unchanged", sources.len())
}

/// The kinds of parts that a message names, the most important first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Cluster,
    Release,
    Namespace,
    Management,
}

impl Kind {
    fn of(part: &PartId) -> Option<Self> {
        match part {
            PartId::Root => None,
            PartId::Release(_) => Some(Self::Release),
            PartId::Management(_) => Some(Self::Management),
            PartId::Namespace { .. } => Some(Self::Namespace),
            PartId::Cluster { .. } => Some(Self::Cluster),
        }
    }

    fn noun(self, count: usize) -> &'static str {
        match (self, count) {
            (Self::Cluster, 1) => "cluster",
            (Self::Cluster, _) => "clusters",
            (Self::Release, 1) => "release",
            (Self::Release, _) => "releases",
            (Self::Namespace, 1) => "namespace",
            (Self::Namespace, _) => "namespaces",
            (Self::Management, 1) => "management cluster",
            (Self::Management, _) => "management clusters",
        }
    }
}

fn fates(changes: &Changes) -> BTreeMap<PartId, Fate> {
    let touched: BTreeSet<PartId> = changes
        .files
        .iter()
        .filter(|(_, change)| **change == FileChange::Removed)
        .filter_map(|(path, _)| PartId::of_path(path))
        .collect();
    let mut fates = BTreeMap::new();
    for (part, counts) in &changes.parts {
        let PartChange { added, changed, unchanged } = *counts;
        let shrunk = touched.contains(part);
        if added > 0 && changed + unchanged == 0 && !shrunk {
            fates.insert(part.clone(), Fate::Added);
        } else if added + changed > 0 || shrunk {
            fates.insert(part.clone(), Fate::Changed);
        }
    }
    fates.extend(changes.removed_parts().into_iter().map(|part| (part, Fate::Removed)));
    fates
}

/// The names of parts of one kind. The management cluster is omitted if there is only one.
fn names(fates: &BTreeMap<PartId, Fate>, kind: Kind, fate: Option<Fate>) -> Vec<String> {
    let several = managements(fates) > 1;
    fates
        .iter()
        .filter(|(part, found)| Kind::of(part) == Some(kind) && fate.is_none_or(|fate| fate == **found))
        .map(|(part, _)| match part {
            PartId::Root => String::new(),
            PartId::Release(name) | PartId::Management(name) => name.clone(),
            PartId::Namespace { management, namespace } if several => format!("{management}/{namespace}"),
            PartId::Namespace { namespace, .. } => namespace.clone(),
            PartId::Cluster { management, namespace, cluster } if several => {
                format!("{management}/{namespace}/{cluster}")
            }
            PartId::Cluster { namespace, cluster, .. } => format!("{namespace}/{cluster}"),
        })
        .collect()
}

fn managements(fates: &BTreeMap<PartId, Fate>) -> usize {
    let all: BTreeSet<&str> = fates
        .keys()
        .filter_map(|part| match part {
            PartId::Root | PartId::Release(_) => None,
            PartId::Management(management)
            | PartId::Namespace { management, .. }
            | PartId::Cluster { management, .. } => Some(management.as_str()),
        })
        .collect();
    all.len()
}

/// The subject: names if they fit, or else numbers. Parts that follow from clusters and releases are omitted.
fn subject(fates: &BTreeMap<PartId, Fate>) -> String {
    let named_kinds: Vec<(Kind, Vec<String>)> =
        [Kind::Cluster, Kind::Release].into_iter().map(|kind| (kind, names(fates, kind, None))).collect();
    let named_kinds = if named_kinds.iter().any(|(_, names)| !names.is_empty()) {
        named_kinds
    } else {
        [Kind::Namespace, Kind::Management].into_iter().map(|kind| (kind, names(fates, kind, None))).collect()
    };
    let named_kinds: Vec<_> = named_kinds.into_iter().filter(|(_, names)| !names.is_empty()).collect();
    if named_kinds.is_empty() {
        return "generate: files of the tree itself".to_owned();
    }
    let suffix = suffix(fates);
    let by_name: Vec<String> = named_kinds.iter().map(|(kind, names)| named(*kind, names)).collect();
    let short = format!("generate: {}{suffix}", by_name.join(", "));
    if short.chars().count() <= SUBJECT {
        return short;
    }
    let counts: Vec<String> = named_kinds
        .iter()
        .map(|(kind, names)| format!("{} {}", names.len(), kind.noun(names.len())))
        .collect();
    let suffix = if suffix.is_empty() { " changed" } else { suffix };
    format!("generate: {}{suffix}", counts.join(", "))
}

fn named(kind: Kind, names: &[String]) -> String {
    match kind {
        Kind::Cluster => names.join(", "),
        Kind::Release | Kind::Namespace | Kind::Management => {
            format!("{} {}", kind.noun(names.len()), names.join(", "))
        }
    }
}

/// The suffix that says whether all named parts were added, or all removed.
fn suffix(fates: &BTreeMap<PartId, Fate>) -> &'static str {
    let clusters_or_releases =
        fates.iter().any(|(part, _)| matches!(Kind::of(part), Some(Kind::Cluster | Kind::Release)));
    let found: BTreeSet<Fate> = fates
        .iter()
        .filter(|(part, _)| {
            let telling = matches!(Kind::of(part), Some(Kind::Cluster | Kind::Release));
            telling == clusters_or_releases && **part != PartId::Root
        })
        .map(|(_, fate)| *fate)
        .collect();
    match found.into_iter().collect::<Vec<_>>().as_slice() {
        [Fate::Added] => " added",
        [Fate::Removed] => " removed",
        _ => "",
    }
}

fn list(text: &mut String, noun: &str, fate: Fate, names: &[String]) {
    if names.is_empty() {
        return;
    }
    let mut add = |line: String| {
        text.push_str(&line);
        text.push('\n');
    };
    add(format!("\n{noun} {}:", fate.word()));
    for name in names.iter().take(LISTED) {
        add(format!("- {name}"));
    }
    if names.len() > LISTED {
        add(format!("- and {} more", names.len() - LISTED));
    }
}

fn trailers(text: &mut String, fates: &BTreeMap<PartId, Fate>) {
    let clusters = fates.keys().filter_map(|part| match part {
        PartId::Cluster { management, namespace, cluster } => {
            Some(format!("{management}/{namespace}/{cluster}"))
        }
        PartId::Root | PartId::Release(_) | PartId::Management(_) | PartId::Namespace { .. } => None,
    });
    let mut lines = trailer("Cluster", clusters.collect());
    lines.push_str(&trailer("Release", names(fates, Kind::Release, None)));
    if !lines.is_empty() {
        text.push('\n');
        text.push_str(&lines);
    }
}

fn trailer(key: &str, values: Vec<String>) -> String {
    let mut lines = String::new();
    let count = values.len();
    for value in values.into_iter().take(TRAILERS) {
        // Writing to a string cannot fail.
        writeln!(lines, "Stackloom-{key}: {value}").ok();
    }
    if count > TRAILERS {
        writeln!(lines, "Stackloom-{key}-Count: {count}").ok();
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::TreePath;

    fn path(path: &str) -> TreePath {
        TreePath::parse(&format!("generated/{path}")).unwrap()
    }

    fn cluster(management: &str, name: &str) -> (PartId, TreePath) {
        let (namespace, cluster) = ("team-a".to_owned(), name.to_owned());
        let at = path(&format!("management/{management}/clusters/team-a/{name}/cluster.yaml"));
        (PartId::Cluster { management: management.to_owned(), namespace, cluster }, at)
    }

    fn release(name: &str) -> (PartId, TreePath) {
        (PartId::Release(name.to_owned()), path(&format!("releases/{name}/release.yaml")))
    }

    fn changes(list: &[((PartId, TreePath), FileChange)]) -> Changes {
        let mut changes = Changes::default();
        for ((part, path), change) in list {
            match change {
                FileChange::Removed => changes.record_removed(path.clone()),
                _ => changes.record(part, path, *change),
            }
        }
        changes
    }

    fn subject_of(list: &[((PartId, TreePath), FileChange)]) -> String {
        generated(&changes(list)).lines().next().unwrap().to_owned()
    }

    use FileChange::{Added, Changed, Removed, Unchanged};

    #[test]
    fn a_subject_names_what_is_few() {
        let one = || cluster("mgmt", "one");
        assert_eq!(subject_of(&[(one(), Added)]), "generate: team-a/one added");
        assert_eq!(subject_of(&[(one(), Changed)]), "generate: team-a/one");
        assert_eq!(subject_of(&[(one(), Removed)]), "generate: team-a/one removed");
        let two = [
            (one(), Changed),
            (cluster("other", "one"), Added),
            (release("docker-scs-1-35-v0-sha.a1"), Unchanged),
        ];
        assert_eq!(subject_of(&two), "generate: mgmt/team-a/one, other/team-a/one");
        let mixed = [(one(), Added), (release("docker-scs-1-35-v0-sha.a1"), Added)];
        assert_eq!(subject_of(&mixed), "generate: team-a/one, release docker-scs-1-35-v0-sha.a1 added");
    }

    #[test]
    fn a_subject_counts_what_is_many() {
        let names: Vec<String> = (0..40).map(|number| format!("cluster-{number}")).collect();
        let mut list: Vec<_> = names.iter().map(|name| (cluster("mgmt", name), Changed)).collect();
        list.push((release("openstack-scs-1-35-v0-sha.a1b2c3d"), Added));
        assert_eq!(subject_of(&list), "generate: 40 clusters, 1 release changed");
    }

    #[test]
    fn a_subject_without_clusters_and_releases() {
        let namespace = PartId::Namespace { management: "mgmt".to_owned(), namespace: "team-a".to_owned() };
        let at = path("management/mgmt/namespaces/team-a/namespace.yaml");
        assert_eq!(subject_of(&[((namespace, at), Changed)]), "generate: namespace team-a");
        let management = (PartId::Management("mgmt".to_owned()), path("management/mgmt/flux/entry.yaml"));
        assert_eq!(subject_of(&[(management, Added)]), "generate: management cluster mgmt added");
        let root = (PartId::Root, path(".gitattributes"));
        assert_eq!(generated(&changes(&[(root, Added)])), "generate: files of the tree itself\n");
    }

    #[test]
    fn a_message_in_full() {
        let list = [
            (cluster("mgmt", "one"), Added),
            (cluster("mgmt", "two"), Unchanged),
            (cluster("mgmt", "three"), Changed),
            (cluster("mgmt", "four"), Removed),
            (release("docker-scs-1-35-v0-sha.a1"), Removed),
            (release("docker-scs-1-35-v0-sha.b2"), Added),
        ];
        let expected = "\
generate: 3 clusters, 2 releases changed

Clusters added:
- team-a/one

Clusters changed:
- team-a/three

Clusters removed:
- team-a/four

Releases added:
- docker-scs-1-35-v0-sha.b2

Releases removed:
- docker-scs-1-35-v0-sha.a1

Stackloom-Cluster: mgmt/team-a/four
Stackloom-Cluster: mgmt/team-a/one
Stackloom-Cluster: mgmt/team-a/three
Stackloom-Release: docker-scs-1-35-v0-sha.a1
Stackloom-Release: docker-scs-1-35-v0-sha.b2
";
        assert_eq!(generated(&changes(&list)), expected);
    }

    #[test]
    fn a_file_removed_from_a_part_that_stays_is_a_change() {
        let (part, kept) = cluster("mgmt", "one");
        let gone = path("management/mgmt/clusters/team-a/one/cilium.yaml");
        let list = [((part.clone(), kept), Unchanged), ((part, gone), Removed)];
        assert_eq!(subject_of(&list), "generate: team-a/one");
    }

    #[test]
    fn long_lists_are_cut_and_counted() {
        let names: Vec<String> = (0..500).map(|number| format!("c{number}")).collect();
        let list: Vec<_> = names.iter().map(|name| (cluster("mgmt", name), Added)).collect();
        let text = generated(&changes(&list));
        assert!(text.contains("\n- and 480 more\n"), "{text}");
        assert!(text.ends_with("\nStackloom-Cluster-Count: 500\n"), "{text}");
        assert_eq!(text.matches("Stackloom-Cluster: ").count(), TRAILERS);
    }
}
