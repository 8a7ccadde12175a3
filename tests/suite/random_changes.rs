//! Laws of `stackloom diff` over random fleets and random changes of them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use proptest::prelude::*;
use stackloom::{
    compare::MemoryArchive,
    note::Notes,
    report::{self, ClusterReport, Report, Risk},
    world::{Files, Snapshot},
};

use super::{sandbox, support};

/// What a definition says.
#[derive(Clone, Debug)]
struct Spec {
    minor: u8,
    control_plane: u8,
    pools: BTreeMap<u8, u8>,
    color: u8,
    tier: u8,
    has_extra: bool,
    is_suspended: bool,
    removal: Option<&'static str>,
}

fn specs() -> impl Strategy<Value = Spec> {
    let pools = prop::collection::btree_map(0..3_u8, 0..4_u8, 0..3);
    let removal = prop_oneof![6 => Just(None), 1 => Just(Some("detach")), 1 => Just(Some("delete"))];
    let plain = (35..37_u8, prop_oneof![Just(1_u8), Just(3)], pools, 0..2_u8, 0..2_u8);
    (plain, any::<bool>(), prop::bool::weighted(0.1), removal).prop_map(
        |((minor, control_plane, pools, color, tier), has_extra, is_suspended, removal)| Spec {
            minor,
            control_plane,
            pools,
            color,
            tier,
            has_extra,
            // A suspended cluster cannot be deleted.
            is_suspended: is_suspended && removal.is_none(),
            removal,
        },
    )
}

/// A cluster before and after; none where there is no definition.
type Sides = [Option<Spec>; 2];

fn changes() -> impl Strategy<Value = Vec<Sides>> {
    let one = prop_oneof![
        2 => specs().prop_map(|one| [Some(one.clone()), Some(one)]),
        4 => (specs(), specs()).prop_map(|(before, after)| [Some(before), Some(after)]),
        1 => specs().prop_map(|one| [Some(one), None]),
        1 => specs().prop_map(|one| [None, Some(one)]),
    ];
    prop::collection::vec(one, 1..5)
}

impl Spec {
    /// The definition. What `index` says differs between all clusters, so that none takes the place of another.
    fn text(&self, index: usize) -> String {
        let mut text = format!(
            "apiVersion: stackloom.dev/v1alpha1\nkind: ClusterDefinition\nmetadata:\n  name: c{index}\n  namespace: n{}\n  \
             labels: {{ tier: t{} }}\nspec:\n  kubernetes: \"1.{}\"\n  controlPlane: {{ replicas: {} }}\n  variables: {{ \
             motd: cluster {index} }}\n  addons:\n    demo: {{ values: {{ color: c{} }} }}\n    extra: {{ enabled: {} }}\n",
            index % 2,
            self.tier,
            self.minor,
            self.control_plane,
            self.color,
            self.has_extra,
        );
        if !self.pools.is_empty() {
            text.push_str("  nodePools:\n");
        }
        for (name, replicas) in &self.pools {
            writeln!(text, "    - {{ name: p{name}, class: default-worker, replicas: {replicas} }}").unwrap();
        }
        if self.is_suspended {
            text.push_str("  suspend: a test\n");
        }
        if let Some(step) = self.removal {
            writeln!(text, "  removal: {{ reason: a test, step: {step} }}").unwrap();
        }
        text
    }
}

/// A fleet with the side of each cluster that `side` picks.
fn fleet(all: &[Sides], side: impl Fn(usize) -> usize) -> Files {
    let mut files = support::many(0);
    for (index, sides) in all.iter().enumerate() {
        if let Some(spec) = &sides[side(index)] {
            files.0.insert(format!("clusters/c{index}.yaml"), spec.text(index));
        }
    }
    files
}

fn archive(files: &Files) -> MemoryArchive {
    remembered(stored(files).iter())
}

/// The generated files of a commit, and its definitions.
fn stored(files: &Files) -> Vec<(String, String)> {
    let definitions = files.0.iter().filter(|(path, _)| path.starts_with("clusters/"));
    let definitions = definitions.map(|(path, text)| (path.clone(), text.clone()));
    sandbox::tree(files).into_iter().chain(definitions).collect()
}

fn remembered<'a>(files: impl Iterator<Item = &'a (String, String)>) -> MemoryArchive {
    let mut memory = MemoryArchive::default();
    files.for_each(|(path, text)| memory.add(path, text));
    memory
}

fn drawn(before: &MemoryArchive, after: &Files) -> Report {
    let snapshot = Snapshot::read(after).unwrap();
    report::drawn([before, before], &snapshot, None, &[], &|_, _| {}, &mut Notes::new()).unwrap()
}

fn risks(clusters: &[ClusterReport]) -> BTreeSet<Risk> {
    clusters.iter().flat_map(|one| one.changes.iter().map(|change| change.risk)).collect()
}

/// The clusters without the numbers of the messages that their changes repeat, which count all messages of a run.
fn unnumbered(clusters: &[ClusterReport]) -> Vec<ClusterReport> {
    let mut clusters = clusters.to_vec();
    for change in clusters.iter_mut().flat_map(|one| &mut one.changes) {
        change.repeats.clear();
    }
    clusters
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_change_is_the_sum_of_its_clusters(all in changes()) {
        let before = fleet(&all, |_| 0);
        let (tree, after) = (archive(&before), fleet(&all, |_| 1));
        prop_assert!(drawn(&tree, &before).is_empty());
        let whole = drawn(&tree, &after);
        let mut split = Vec::new();
        for one in 0..all.len() {
            let alone = drawn(&tree, &fleet(&all, |index| usize::from(index == one)));
            let others = alone.clusters.iter().filter(|report| report.cluster.name.as_str() != format!("c{one}"));
            prop_assert_eq!(others.count(), 0);
            split.extend(alone.clusters);
        }
        split.sort_by(|a, b| a.cluster.cmp(&b.cluster));
        prop_assert_eq!(risks(&whole.clusters), risks(&split));
        prop_assert_eq!(unnumbered(&whole.clusters), unnumbered(&split));
        let grouped: usize = whole.groups.iter().map(|group| group.clusters.len()).sum();
        prop_assert_eq!(grouped, split.len());
    }

    #[test]
    fn the_digest_depends_on_no_order_of_files(all in changes()) {
        let before = fleet(&all, |_| 0);
        let (tree, after) = (archive(&before), fleet(&all, |_| 1));
        let first = report::digest(&drawn(&tree, &after));
        let reversed = remembered(stored(&before).iter().rev());
        prop_assert_eq!(&report::digest(&drawn(&reversed, &after)), &first);
        // Definitions in files that are read in another order.
        let mut renamed = after.clone();
        for index in 0..all.len() {
            if let Some(text) = renamed.0.remove(&format!("clusters/c{index}.yaml")) {
                renamed.0.insert(format!("clusters/{:02}.yaml", all.len() - index), text);
            }
        }
        prop_assert_eq!(&report::digest(&drawn(&tree, &renamed)), &first);
    }
}
