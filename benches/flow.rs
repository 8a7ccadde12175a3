//! Measures each stage of the flow for 100 and for 1000 clusters.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "benchmarks read their own fleet and may panic"
)]

#[expect(dead_code, reason = "tests use the rest")]
#[path = "../tests/support/mod.rs"]
mod support;

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use mimalloc::MiMalloc;
use stackloom::{
    check, definition,
    generate::{Planned, Understood, generate},
    note::Notes,
    render::{self, Drawn},
    tree::MemorySink,
    world::{Files, Input, World},
};

/// The program's allocator.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

const SIZES: [usize; 2] = [100, 1000];

fn input(files: &Files) -> Input {
    files.read(&mut Notes::new()).unwrap()
}

fn planned(input: &Input, definitions: &definition::Definitions) -> Planned {
    let mut notes = Notes::new();
    let understood = Understood::of(input.clone(), definitions.clone(), &mut notes).unwrap();
    understood.planned(&mut notes).unwrap()
}

fn drawn(Planned { plan, .. }: &Planned) -> Vec<Drawn> {
    let mut notes = Notes::new();
    render::subjects(plan).into_iter().map(|subject| render::draw(subject, &mut notes)).collect()
}

fn checked(input: &Input, drawn: &[Drawn]) -> Notes {
    let (mut notes, mut index) = (Notes::new(), check::Index::default());
    for drawn in drawn {
        check::objects(drawn, input.into(), &mut notes);
        index.add(check::Identities::of(drawn), &mut notes);
    }
    notes
}

/// Each stage runs on one core, so that the numbers add up; `whole` uses all cores.
fn stages(criterion: &mut Criterion) {
    for size in SIZES {
        let files = support::many(size);
        let input = input(&files);
        let definitions = definition::parse(&input, &mut Notes::new());
        let planned_once = planned(&input, &definitions);
        let parts = drawn(&planned_once);
        let mut group = criterion.benchmark_group(format!("{size} clusters"));
        group.sample_size(10).throughput(Throughput::Elements(size as u64));
        group.bench_function(BenchmarkId::from_parameter("1 read"), |bencher| {
            bencher.iter(|| definition::parse(black_box(&input), &mut Notes::new()));
        });
        group.bench_function(BenchmarkId::from_parameter("2 lower to plan"), |bencher| {
            bencher.iter(|| planned(black_box(&input), &definitions));
        });
        group.bench_function(BenchmarkId::from_parameter("3 draw"), |bencher| {
            bencher.iter(|| drawn(black_box(&planned_once)));
        });
        group.bench_function(BenchmarkId::from_parameter("4 check"), |bencher| {
            bencher.iter(|| checked(black_box(&input), &parts));
        });
        group.bench_function(BenchmarkId::from_parameter("5 emit"), |bencher| {
            bencher.iter(|| black_box(&parts).iter().map(Drawn::to_part).collect::<Vec<_>>());
        });
        group.bench_function(BenchmarkId::from_parameter("whole"), |bencher| {
            bencher.iter(|| {
                generate(black_box(&files), &mut MemorySink::default(), &|_, _| {}, &mut Notes::new())
                    .unwrap()
            });
        });
        group.finish();
    }
}

criterion_group!(benches, stages);
criterion_main!(benches);
