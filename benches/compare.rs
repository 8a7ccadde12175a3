//! Measures the comparison of two states of a large fleet: CPU time and elapsed time.
//!
//! ```sh
//! cargo bench --bench compare                       # 10,000 clusters
//! cargo bench --bench compare -- --clusters 1000
//! ```
//!
//! On a busy machine, look at the CPU time.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark makes its own fleet and prints what it found"
)]

#[expect(dead_code, reason = "tests use the rest")]
#[path = "../tests/support/mod.rs"]
mod support;

use std::time::Instant;

use mimalloc::MiMalloc;
use nix::sys::{
    resource::{UsageWho, getrusage},
    time::TimeValLike,
};
use stackloom::{
    compare::{ClusterOutcome, Comparison, DefinedState, GeneratedTree, MemoryArchive, State, compare},
    generate::{self, Understood},
    note::Notes,
    tree,
    world::Files,
};

/// The program's allocator.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Edits to the classes that affect how machines are created: folder, old text and new text.
const CLASS: [(&str, &str, &str); 2] = [
    ("stacks/docker/scs/cluster-class/", "kubeadmConfigSpec:", "kubeadmConfigSpec:\n        verbosity: 3"),
    ("stacks/openstack/scs/cluster-class/", "kubeadmConfigSpec:", "kubeadmConfigSpec:\n        verbosity: 3"),
];

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let at = arguments.iter().position(|one| one == "--clusters");
    let count = at.map_or(10_000, |at| arguments[at + 1].parse().unwrap());
    let files = support::large::large(count);
    let before = understood(&files);
    let after = understood(&edited(&files));
    let old = definitions(&before);
    let new = definitions(&after);
    println!("{count} clusters{:>34}  {:>8}", "cores", "clock");
    measured(
        "a class that changes, Clusters alone",
        &old.clone().clusters_alone(),
        &new.clone().clusters_alone(),
    );
    measured("a class that changes, with addons", &old, &new);
    let tree = generated(&files);
    let tree = GeneratedTree::new(&tree, &before.model.fleet.management_clusters);
    measured("a tree, and nothing changed", &tree, &old);
    measured("a tree, and a class that changes", &tree, &new);
}

fn measured(what: &str, before: &dyn State, after: &dyn State) {
    let (start, cores) = (Instant::now(), on_cores());
    let found = compare(before, after).unwrap();
    let (clock, cores) = (start.elapsed().as_secs_f64(), on_cores() - cores);
    println!("{what:<40}{cores:>6.2} s  {clock:>6.2} s  {}", counted(&found));
}

fn counted(found: &Comparison) -> String {
    let judged = found.clusters.iter().filter(|one| matches!(one.outcome, ClusterOutcome::Judged(_))).count();
    let unknown =
        found.clusters.iter().filter(|one| matches!(one.outcome, ClusterOutcome::Unknown(_))).count();
    format!("{} the same, {judged} judged, {unknown} unknown", found.unchanged)
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
fn on_cores() -> f64 {
    let usage = getrusage(UsageWho::RUSAGE_SELF).unwrap();
    (usage.user_time() + usage.system_time()).num_microseconds() as f64 / 1e6
}

fn understood(files: &Files) -> Understood {
    generate::understand(files, &mut Notes::new()).unwrap()
}

fn definitions(fleet: &Understood) -> DefinedState<'_> {
    DefinedState::new(&fleet.model, &fleet.releases)
}

fn edited(files: &Files) -> Files {
    let mut files = files.clone();
    for (folder, from, to) in CLASS {
        let mut hit = false;
        for (_, text) in files.0.iter_mut().filter(|(path, _)| path.starts_with(folder)) {
            hit |= text.contains(from);
            *text = text.replace(from, to);
        }
        assert!(hit, "{folder} has no `{from}`");
    }
    files
}

fn generated(files: &Files) -> MemoryArchive {
    let mut sink = tree::MemorySink::default();
    generate::generate(files, &mut sink, &|_, _| {}, &mut Notes::new()).unwrap();
    let mut archive = MemoryArchive::default();
    for file in sink.files() {
        archive.add(file.path.as_str(), std::str::from_utf8(file.bytes()).unwrap());
    }
    archive
}
