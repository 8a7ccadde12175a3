//! What a cluster costs: admission, and the desired state with all patches, for the first cluster of a class and for more. The class is that of the
//! largest worked example (OpenStack: 28 variables, 23 patches).
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "benchmarks read their own case and may panic"
)]

#[expect(dead_code, reason = "tests use the rest")]
#[path = "../tests/topology/case.rs"]
mod case;

use std::{hint::black_box, path::Path};

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use serde_json::Value;
use stackloom::topology::{
    class::{Blueprint, Catalog},
    desired::{Input, generate},
    names::Draw,
    predict::{Settings, create},
};

fn case() -> (Vec<Value>, Value) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/topology/cases");
    let cases = case::cases(&root);
    let one = cases.iter().find(|one| one.name == "stack-openstack/rebase-gpu-template").unwrap();
    (one.documents("input/class.yaml").unwrap(), one.document("input/cluster.yaml").unwrap())
}

fn topology(criterion: &mut Criterion) {
    let (objects, cluster) = case();
    let catalog = Catalog::new(objects.iter().cloned());
    let settings = Settings::new("1.14").unwrap();
    let admitted = create::admit(&cluster, &catalog).cluster;
    let mut group = criterion.benchmark_group("topology");
    group.bench_function("class, validated", |bencher| {
        bencher.iter(|| black_box(create::apply_classes(&objects, &Catalog::default(), &[])));
    });
    group.bench_function("class, read", |bencher| {
        // A catalog keeps what it has read, so each has its own.
        let fresh = || Catalog::new(objects.iter().cloned());
        bencher.iter_batched(
            fresh,
            |catalog| black_box(create::blueprint(&admitted, &catalog).unwrap()),
            BatchSize::LargeInput,
        );
    });
    group.bench_function("cluster, admitted", |bencher| {
        bencher.iter(|| black_box(create::admit(&cluster, &catalog)));
    });
    let desired = |cluster: &Value, blueprint: &Blueprint| {
        let version = settings.patches();
        generate(&Input { blueprint, cluster, current: None, draw: Draw(1), version }).unwrap()
    };
    group.bench_function("cluster, desired, the first of its class", |bencher| {
        let fresh = || create::blueprint(&admitted, &Catalog::new(objects.iter().cloned())).unwrap();
        bencher.iter_batched(
            fresh,
            |blueprint| black_box(desired(&admitted, &blueprint)),
            BatchSize::LargeInput,
        );
    });
    group.bench_function("cluster, desired, one more with another name", |bencher| {
        let blueprint = create::blueprint(&admitted, &catalog).unwrap();
        let mut number = 0;
        let mut other = || {
            number += 1;
            let mut cluster = admitted.clone();
            cluster["metadata"]["name"] = Value::from(format!("cluster-{number}"));
            cluster
        };
        bencher.iter_batched(
            &mut other,
            |cluster| black_box(desired(&cluster, &blueprint)),
            BatchSize::SmallInput,
        );
    });
    group.finish();
}

criterion_group!(benches, topology);
criterion_main!(benches);
