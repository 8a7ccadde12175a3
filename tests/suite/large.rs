//! `check` accepts the fleet used by the benchmarks.

use super::{sandbox, support};

#[test]
fn the_fleet_of_the_benchmarks_generates_and_has_a_tree_for_each_cluster() {
    let tree = sandbox::tree(&support::large::large(40));
    let clusters = tree.keys().filter(|path| path.ends_with("/cluster/cluster.yaml")).count();
    assert_eq!(clusters, 40);
}
