//! Measures the cost of clusters: admission, and the desired state with all patches, for the first cluster of a class and
//! for further ones. The class is that of the largest worked example (OpenStack: 28 variables, 23 patches).
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "benchmarks read their own case and may panic"
)]

#[expect(dead_code, reason = "tests use the rest")]
#[path = "../tests/topology/case.rs"]
mod case;

use std::collections::{BTreeMap, BTreeSet};
use std::{
    hint::black_box,
    path::Path,
    time::{Duration, Instant},
};

use capi_topology::{
    Catalog, Created, Settings,
    predict::create,
    testing::{
        change::{self, After, Before, Instants, Writing},
        desired,
    },
};
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use mimalloc::MiMalloc;
use serde_json::{Value, json};

/// The program's allocator.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn case() -> (Vec<Value>, Value) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/topology/cases");
    let cases = case::cases(&root);
    let one = cases.iter().find(|one| one.name == "stack-openstack/rebase-gpu-template").unwrap();
    (one.documents("input/class.yaml").unwrap(), one.document("input/cluster.yaml").unwrap())
}

/// The same cluster with a different name.
fn renamed(cluster: &Value, number: usize) -> Value {
    let mut cluster = cluster.clone();
    cluster["metadata"]["name"] = json!(format!("cluster-{number}"));
    cluster
}

/// A cluster with values that no other cluster has, so that no template of the class has the same result as before.
fn unlike(cluster: &Value, number: usize) -> Value {
    let mut cluster = renamed(cluster, number);
    let topology = &mut cluster["spec"]["topology"];
    topology["controlPlane"]["replicas"] = json!(number);
    topology["workers"]["machineDeployments"][0]["replicas"] = json!(number);
    topology["workers"]["machineDeployments"][1]["variables"]["overrides"][0]["value"] =
        json!(format!("GPU-{number}"));
    let own = [
        ("controlPlaneFlavor", json!(format!("SCS-{number}V"))),
        ("workerFlavor", json!(format!("SCS-{number}V"))),
        ("nodeCIDR", json!(format!("10.{}.{}.0/24", (number >> 8) & 255, number & 255))),
        ("externalId", json!(format!("f6ff1d8e-2c1c-4d0a-9d5a-{number:012x}"))),
        ("certSANs", json!([format!("api.cluster-{number}.example")])),
        ("nodeLabels", json!({ "zone": "north", "cluster": format!("cluster-{number}") })),
    ];
    let variables = topology["variables"].as_array_mut().unwrap();
    variables.retain(|variable| own.iter().all(|(name, _)| variable["name"] != *name));
    variables.extend(own.map(|(name, value)| json!({ "name": name, "value": value })));
    cluster
}

fn class(criterion: &mut Criterion) {
    let (objects, cluster) = case();
    // A catalog caches what it has read, so each run gets its own.
    let fresh = || Catalog::new(objects.iter().cloned());
    let settings = Settings::new("1.14").unwrap();
    let mut group = criterion.benchmark_group("class");
    group.bench_function("validated", |bencher| {
        bencher.iter(|| black_box(create::apply_classes(&objects, &Catalog::default(), &[])));
    });
    group.bench_function("read", |bencher| {
        bencher.iter_batched(
            fresh,
            |catalog| black_box(catalog.blueprint(&cluster).unwrap().unwrap()),
            BatchSize::LargeInput,
        );
    });
    group.bench_function("read, with its first cluster", |bencher| {
        bencher.iter_batched(
            fresh,
            |catalog| black_box(create::create(cluster.clone(), &catalog, &settings)),
            BatchSize::LargeInput,
        );
    });
    group.finish();
}

/// Each result is dropped before the next one is created, as in a run over a fleet. Holding hundreds of results at once
/// would measure memory allocation instead.
fn one_more(criterion: &mut Criterion) {
    let (objects, cluster) = case();
    let catalog = Catalog::new(objects);
    let settings = Settings::new("1.14").unwrap();
    let made = |cluster: Value| create::create(cluster, &catalog, &settings);
    let sound = |created: &Created| created.desired.is_some() && created.faults.is_empty();
    assert!(sound(&made(cluster.clone())) && sound(&made(unlike(&cluster, 1))));
    let mut group = criterion.benchmark_group("one more cluster");
    for (what, other) in
        [("another name", renamed as fn(&Value, usize) -> Value), ("values of its own", unlike)]
    {
        let mut numbers = 2..;
        let mut next = || other(&cluster, numbers.next().unwrap());
        group.bench_function(BenchmarkId::new("admitted", what), |bencher| {
            bencher.iter_batched(
                &mut next,
                |cluster| black_box(create::admit(cluster, &catalog)),
                BatchSize::PerIteration,
            );
        });
        group.bench_function(BenchmarkId::new("desired", what), |bencher| {
            bencher.iter_batched(
                || create::admit(next(), &catalog).cluster,
                |cluster| black_box(desired::generate(cluster, &catalog, &settings).unwrap()),
                BatchSize::PerIteration,
            );
        });
        group.bench_function(BenchmarkId::new("admitted and desired", what), |bencher| {
            bencher.iter_batched(&mut next, |cluster| black_box(made(cluster)), BatchSize::PerIteration);
        });
    }
    group.finish();
}

/// Everything runs on one core, including reading the class. The time to create the Clusters is excluded.
fn fleet(criterion: &mut Criterion) {
    const SIZE: usize = 10_000;
    const PORTION: usize = 100;
    let (objects, cluster) = case();
    let settings = Settings::new("1.14").unwrap();
    let mut group = criterion.benchmark_group("10,000 clusters");
    group.sample_size(10).throughput(Throughput::Elements(SIZE as u64));
    for (what, other) in
        [("equal but for names", renamed as fn(&Value, usize) -> Value), ("all different", unlike)]
    {
        group.bench_function(what, |bencher| {
            let whole = || {
                let catalog = Catalog::new(objects.iter().cloned());
                let mut took = Duration::ZERO;
                for first in (1..=SIZE).step_by(PORTION) {
                    let portion: Vec<Value> =
                        (first..first + PORTION).map(|number| other(&cluster, number)).collect();
                    let start = Instant::now();
                    for cluster in portion {
                        black_box(create::create(cluster, &catalog, &settings));
                    }
                    took += start.elapsed();
                }
                took
            };
            bencher.iter_custom(|times| (0..times).map(|_| whole()).sum());
        });
    }
    group.finish();
}

/// Measures the verdict on an upgrade, which is computed pool by pool: ten times the pools take ten times the passes.
fn upgrade(criterion: &mut Criterion) {
    let (objects, cluster) = case();
    let settings = Settings::new("1.14").unwrap();
    let mut group = criterion.benchmark_group("an upgrade of pools");
    group.sample_size(10);
    for count in [2, 20, 200] {
        let mut written = cluster.clone();
        let pools = &mut written["spec"]["topology"]["workers"]["machineDeployments"];
        let named = |number: usize| {
            let mut pool = cluster["spec"]["topology"]["workers"]["machineDeployments"][number % 2].clone();
            pool["name"] = json!(format!("pool-{number}"));
            pool
        };
        *pools = (0..count).map(named).collect();
        let catalog = Catalog::new(objects.iter().cloned());
        let created = create::create(written.clone(), &catalog, &settings);
        let mut after = written.clone();
        after["spec"]["topology"]["version"] = json!("v1.34.1");
        let running = change::run(&created.desired.unwrap());
        let (others, all) = (Value::Null, std::sync::Arc::default());
        let (set_by_others, upgrading) = (BTreeMap::new(), BTreeSet::new());
        let before =
            Before { catalog, written, others, all, running, set_by_others, upgrading, settles: true };
        let after = After { classes: &objects, cluster: Some(&after), writing: Writing::Apply };
        let changed = || change::change(&before, after, &settings, Instants::UNKNOWN);
        assert_eq!(changed().steps.len(), count + 1);
        group.bench_function(BenchmarkId::from_parameter(count), |bencher| {
            bencher.iter(|| black_box(changed()));
        });
    }
    group.finish();
}

criterion_group!(benches, class, one_more, fleet, upgrade);
criterion_main!(benches);
