//! Measures the cost of running the program as a separate process. Only for benchmarks that call [`measure_if_asked`] first.

use std::{
    fs,
    io::{BufRead as _, BufReader},
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
/// The same for `watch`, which ends only when it is stopped. The file to edit follows, the text to replace, and its
/// replacement.
const WATCH: &str = "--measure-watch";

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

/// Runs the program in a folder, with additional environment variables. Panics if it ends with any other exit code than these.
///
/// The peak memory of a process is only available after it has ended, and for children only for all of them together. So
/// each run gets its own parent process, which is this benchmark again.
pub(crate) fn of(folder: &Path, arguments: &[&str], exits: &[i32], environment: &[(&str, &str)]) -> Cost {
    asked(folder, MEASURE, arguments, exits, environment)
}

/// Runs `watch`, edits a file after the first run, and measures until the second run is done. The time on the clock is that
/// of the second run alone; CPU time and memory are those of both.
pub(crate) fn of_watch(folder: &Path, (file, from, to): (&str, &str, &str)) -> Cost {
    asked(folder, WATCH, &[file, from, to], &[0], &[])
}

fn asked(folder: &Path, how: &str, arguments: &[&str], exits: &[i32], environment: &[(&str, &str)]) -> Cost {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.envs(environment.iter().copied());
    let measured = command.current_dir(folder).arg(how).args(arguments).output().unwrap();
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
    let mut command = Command::new(env!("CARGO_BIN_EXE_stackloom"));
    command.stdin(Stdio::null());
    let (done, clock) = match arguments.next().as_deref() {
        Some(MEASURE) => {
            let start = Instant::now();
            let done = command.args(arguments).stdout(Stdio::null()).status().unwrap();
            (done.code(), start.elapsed().as_secs_f64())
        }
        Some(WATCH) => {
            let [file, from, to] = arguments.collect::<Vec<_>>().try_into().expect("a file and two texts");
            (Some(0), watched(command.arg("watch"), &file, &from, &to))
        }
        _ => return,
    };
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
    let cores = usage.user_time() + usage.system_time();
    #[expect(clippy::cast_precision_loss, reason = "both are far below 2^52")]
    let (cores, memory) = (cores.num_microseconds() as f64 / 1e6, usage.max_rss() as f64 / 1e3);
    eprintln!("{} {cores} {clock} {memory}", done.unwrap_or(-1));
    exit(0);
}

/// Seconds from an edit to the line that `watch` prints about it.
fn watched(command: &mut Command, file: &str, from: &str, to: &str) -> f64 {
    let mut watch = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    lines.next().unwrap().unwrap();
    let text = fs::read_to_string(file).unwrap();
    assert!(text.contains(from), "{file} has no `{from}`");
    let start = Instant::now();
    fs::write(file, text.replace(from, to)).unwrap();
    lines.next().unwrap().unwrap();
    let clock = start.elapsed().as_secs_f64();
    // Nothing is visible half-way: the run has just ended, and the next one has nothing to do.
    watch.kill().unwrap();
    watch.wait().unwrap();
    clock
}
