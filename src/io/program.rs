//! Runs other programs: those that git's settings name for signing, `git` itself for fetching, and `cosign` for verifying
//! signatures.

use std::{
    io::{self, Read, Write as _},
    path::Path,
    process::{Child, Command, Output, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError, Sender},
    thread,
    time::{Duration, Instant},
};

use crate::note::Fault;

/// Limits on the output and the running time of a program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Maximum bytes of standard output, and of standard error.
    pub(super) bytes: usize,
    /// None if only the user knows how long it may take: fetching depends on the network.
    pub(super) time: Option<Duration>,
}

impl Limits {
    /// For programs that transfer data.
    pub(super) const WIDE: Self = Self { bytes: 256 * 1024 * 1024, time: None };
}

/// Runs a program in a folder with this input, and captures its output. Programs that ask for a passphrase do so on the
/// terminal.
pub(super) fn run(
    program: &str,
    arguments: &[&str],
    folder: &Path,
    input: &[u8],
    limits: Limits,
) -> Result<Output, Fault> {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder);
    let child = start(&mut command)
        .map_err(|fault| fault.hint("install it, or configure a different program in git"))?;
    attend(child, program, input, limits)
}

/// Runs a prepared command with this input, and captures its output.
pub(super) fn run_prepared(mut command: Command, input: &[u8]) -> Result<Output, Fault> {
    let child = start(&mut command)?;
    attend(child, &command.get_program().to_string_lossy(), input, Limits::WIDE)
}

fn start(command: &mut Command) -> Result<Child, Fault> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let spawned = command.spawn();
    spawned.map_err(|error| cannot_run(&command.get_program().to_string_lossy(), error))
}

fn cannot_run(program: &str, error: io::Error) -> Fault {
    Fault::because(format!("cannot run `{program}`"), error)
}

/// An output stream of a program.
#[derive(Clone, Copy)]
enum Stream {
    Output,
    Errors,
}

/// A message from the threads that read a program's output.
enum Message {
    Read(Stream, Vec<u8>),
    Closed,
    TooMuch,
}

/// How long to wait for the end of the output after a program's own end: a process that it started may keep the pipes open.
const AFTER_END: Duration = Duration::from_secs(1);
/// How often to see whether a program has ended.
const POLL: Duration = Duration::from_millis(5);

fn attend(mut child: Child, program: &str, input: &[u8], limits: Limits) -> Result<Output, Fault> {
    let messages = listen(&mut child, input.to_vec(), limits.bytes);
    let end = limits.time.map(|time| Instant::now() + time);
    let done = finish(&mut child, &messages, end).map_err(|error| cannot_run(program, error))?;
    done.map_err(|why| {
        // It may have ended by itself in the meantime.
        child.kill().ok();
        child.wait().ok();
        match why {
            Stopped::WritesTooMuch => {
                Fault::new(format!("stopped `{program}`: it wrote more than {} bytes", limits.bytes))
            }
            Stopped::Hangs => Fault::new(format!(
                "stopped `{program}`: it took longer than {} s",
                limits.time.unwrap_or_default().as_secs()
            )),
        }
    })
}

/// Why a program was stopped.
enum Stopped {
    WritesTooMuch,
    Hangs,
}

/// Writes the input of a program and reads its output, each stream in a thread of its own, so that a program that does not
/// read cannot block. The threads end when its pipes are closed.
fn listen(child: &mut Child, input: Vec<u8>, limit: usize) -> Receiver<Message> {
    let (sender, receiver) = mpsc::channel();
    if let Some(mut stdin) = child.stdin.take() {
        // If a program ends before it has read everything, it reports the reason itself.
        thread::spawn(move || stdin.write_all(&input).ok());
    }
    if let Some(stdout) = child.stdout.take() {
        read_stream(stdout, limit, sender.clone(), Stream::Output);
    }
    if let Some(stderr) = child.stderr.take() {
        read_stream(stderr, limit, sender, Stream::Errors);
    }
    receiver
}

fn read_stream(mut from: impl Read + Send + 'static, limit: usize, to: Sender<Message>, stream: Stream) {
    thread::spawn(move || {
        let (mut buffer, mut total) = (vec![0; 64 * 1024], 0);
        loop {
            let message = match from.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Ok(0) | Err(_) => Message::Closed,
                Ok(count) => {
                    total += count;
                    let is_too_much = total > limit;
                    if is_too_much {
                        Message::TooMuch
                    } else {
                        Message::Read(stream, buffer[..count].to_vec())
                    }
                }
            };
            let is_last = !matches!(message, Message::Read(..));
            // After the program has ended or was stopped, nothing receives this.
            if to.send(message).is_err() || is_last {
                return;
            }
        }
    });
}

/// Waits until the program has ended and its output is complete.
fn finish(
    child: &mut Child,
    messages: &Receiver<Message>,
    end: Option<Instant>,
) -> io::Result<Result<Output, Stopped>> {
    let (mut stdout, mut stderr, mut open) = (Vec::new(), Vec::new(), 2);
    let mut ended = None;
    loop {
        if ended.is_none() {
            ended = child.try_wait()?.map(|status| (status, Instant::now() + AFTER_END));
        }
        match ended {
            Some((status, limit)) if open == 0 || Instant::now() >= limit => {
                return Ok(Ok(Output { status, stdout, stderr }));
            }
            None if end.is_some_and(|end| Instant::now() >= end) => return Ok(Err(Stopped::Hangs)),
            _ => {}
        }
        if open == 0 {
            thread::sleep(POLL);
            continue;
        }
        match messages.recv_timeout(POLL) {
            Ok(Message::Read(Stream::Output, bytes)) => stdout.extend(bytes),
            Ok(Message::Read(Stream::Errors, bytes)) => stderr.extend(bytes),
            Ok(Message::Closed) => open -= 1,
            Ok(Message::TooMuch) => return Ok(Err(Stopped::WritesTooMuch)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(io::Error::other("cannot read its output")),
        }
    }
}

/// Describes why a program failed: the last three lines of its standard error, or its exit status.
pub(super) fn words(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<_> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(3)..];
    if last.is_empty() { format!("it ended with {}", output.status) } else { last.join("; ") }
}
