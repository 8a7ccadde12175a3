//! What a cluster costs once its class is read: admission, and the desired state with all patches. The class is that of the
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

use criterion::{Criterion, criterion_group, criterion_main};
use serde_json::Value;
use stackloom::topology::{
    class::Catalog,
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
    let blueprint = create::blueprint(&admitted, &catalog).unwrap();
    let mut group = criterion.benchmark_group("topology");
    group.bench_function("class, validated", |bencher| {
        bencher.iter(|| black_box(create::apply_classes(&objects, &Catalog::default(), &[])));
    });
    group.bench_function("class, read", |bencher| {
        bencher.iter(|| black_box(create::blueprint(&admitted, &catalog).unwrap()));
    });
    group.bench_function("cluster, admitted", |bencher| {
        bencher.iter(|| black_box(create::admit(&cluster, &catalog)));
    });
    group.bench_function("cluster, desired", |bencher| {
        bencher.iter(|| {
            black_box(
                generate(&Input {
                    blueprint: &blueprint,
                    cluster: &admitted,
                    current: None,
                    draw: Draw(1),
                    version: settings.patches(),
                })
                .unwrap(),
            )
        });
    });
    group.finish();
}

criterion_group!(benches, topology);
criterion_main!(benches);
