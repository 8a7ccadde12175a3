//! Measures the cost of running the program as a separate process. Only for benchmarks that call [`measure_if_asked`] first.

use std::{
    path::Path,
    process::{Command, Stdio, exit},
    time::Instant,
};

use nix::sys::{
    resource::{UsageWho, getrusage},
    time::TimeValLike,
};

/// The first argument of a process that measures another one.
const MEASURE: &str = "--measure";

/// The cost of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    /// CPU time in seconds.
    pub(crate) cores: f64,
    /// Elapsed time in seconds.
    pub(crate) clock: f64,
    /// Peak memory in megabytes.
    pub(crate) memory: f64,
}

/// Runs the program in a folder. Panics if it ends with any other exit code than these.
///
/// The peak memory of a process is only available after it has ended, and for children only for all of them together. So
/// each run gets its own parent process, which is this benchmark again.
pub(crate) fn of(folder: &Path, arguments: &[&str], exits: &[i32]) -> Cost {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let measured = command.current_dir(folder).arg(MEASURE).args(arguments).output().unwrap();
    let text = String::from_utf8_lossy(&measured.stderr);
    let last = text.lines().last().unwrap_or_default();
    let (exit, numbers) = last.split_once(' ').unwrap_or_default();
    let is_expected = exit.parse().is_ok_and(|exit: i32| exits.contains(&exit));
    let numbers: Vec<f64> = numbers.split(' ').filter_map(|one| one.parse().ok()).collect();
    match numbers[..] {
        [cores, clock, memory] if is_expected => Cost { cores, clock, memory },
        _ => panic!("{arguments:?} failed: {text}"),
    }
}

/// Runs the program instead of the benchmark if requested. [`of`] starts the benchmark this way.
pub(crate) fn measure_if_asked() {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() != Some(MEASURE) {
        return;
    }
    let start = Instant::now();
    let mut command = Command::new(env!("CARGO_BIN_EXE_stackloom"));
    let done = command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).status().unwrap();
    let clock = start.elapsed().as_secs_f64();
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
    let cores = usage.user_time() + usage.system_time();
    #[expect(clippy::cast_precision_loss, reason = "both are far below 2^52")]
    let (cores, memory) = (cores.num_microseconds() as f64 / 1e6, usage.max_rss() as f64 / 1e3);
    eprintln!("{} {cores} {clock} {memory}", done.code().unwrap_or(-1));
    exit(0);
}
