//! Runs the commands in the documents in order, and checks their output.
//!
//! In a block marked `console`, `sh` runs each line `$ command`. The lines below it are the complete output of both streams;
//! `…` stands for any text, even across lines. The blocks of a document share one folder, which is empty at first, and `cd`
//! applies to the following lines.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::super::{cli, sandbox, support};

/// A command with its expected output.
#[derive(Debug, PartialEq, Eq)]
struct Step {
    line: usize,
    command: String,
    output: String,
}

fn steps(text: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut inside = false;
    for (at, line) in text.lines().enumerate() {
        if line.starts_with("```") {
            inside = !inside && line == "```console";
        } else if let (true, Some(command)) = (inside, line.strip_prefix("$ ")) {
            steps.push(Step { line: at + 1, command: command.to_owned(), output: String::new() });
        } else if let (true, Some(step)) = (inside, steps.last_mut()) {
            step.output.extend([line, "\n"]);
        }
    }
    steps
}

/// Whether a text matches a pattern, in which `…` stands for any text.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('…') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(start) else { return false };
    let parts: Vec<_> = rest.split('…').collect();
    let (last, middle) = parts.split_last().unwrap();
    for part in middle {
        let Some(at) = text.find(part) else { return false };
        text = &text[at + part.len()..];
    }
    text.ends_with(last)
}

/// The current folder of the shell, and the path for finding the program.
struct Shell {
    folder: PathBuf,
    path: String,
}

impl Shell {
    fn new(root: &Path) -> Self {
        let program = Path::new(env!("CARGO_BIN_EXE_stackloom")).parent().unwrap().to_str().unwrap();
        let path = format!("{program}:{}", std::env::var("PATH").unwrap());
        Self { folder: root.to_path_buf(), path }
    }

    fn run(&mut self, command: &str) -> String {
        const MARK: &str = "the shell is in ";
        let mut shell = Command::new("sh");
        cli::environment(&mut shell);
        let script = format!("{{ {command}\n}} 2>&1; echo; echo \"{MARK}$PWD\"");
        let output =
            shell.arg("-c").arg(script).current_dir(&self.folder).env("PATH", &self.path).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let (printed, folder) = text.rsplit_once(&format!("\n{MARK}")).unwrap();
        self.folder = PathBuf::from(folder.trim_end());
        printed.to_owned()
    }
}

#[test]
fn the_readme_shows_what_happens() {
    follow("README.md");
}

#[test]
fn the_tutorial_shows_what_happens() {
    follow("docs/start.md");
}

#[test]
fn the_second_day_shows_what_happens() {
    follow("docs/second-day.md");
}

#[test]
fn the_page_on_releases_shows_what_happens() {
    follow("docs/releases.md");
}

#[test]
fn the_page_on_deliveries_shows_what_happens() {
    follow("docs/deliveries.md");
}

#[test]
fn the_page_on_topologies_shows_what_happens() {
    follow("docs/topology.md");
}

fn follow(document: &str) {
    let text = fs::read_to_string(support::package().join(document)).unwrap();
    let steps = steps(&text);
    assert!(!steps.is_empty(), "{document} shows no command");
    let root = sandbox::folder();
    let mut shell = Shell::new(root.path());
    for Step { line, command, output } in steps {
        let printed = shell.run(&command);
        assert!(
            matches(&output, &printed),
            "{document}:{line}: $ {command}\nshould print\n{output}\nand prints\n{printed}"
        );
    }
}

#[test]
fn blocks_become_steps() {
    let text = "# A\n```console\n$ one\nout\n$ two\n```\nnot this\n```sh\n$ no\n```\n```console\n$ three\na\nb\n```\n";
    let found: Vec<_> = steps(text).into_iter().map(|step| (step.line, step.command, step.output)).collect();
    let expected = [(3, "one", "out\n"), (5, "two", ""), (12, "three", "a\nb\n")];
    assert_eq!(found, expected.map(|(line, command, output)| (line, command.to_owned(), output.to_owned())));
}

#[test]
fn an_ellipsis_stands_for_anything() {
    for (pattern, text) in
        [("a\n", "a\n"), ("…\n", "\n"), ("a…d\n", "ab\ncd\n"), ("a…c…e", "abcde"), ("…", ""), ("a…", "a")]
    {
        assert!(matches(pattern, text), "{pattern} {text}");
    }
    for (pattern, text) in [("a\n", "b\n"), ("a…c", "ab"), ("a…b…c", "abd"), ("…x", "y")] {
        assert!(!matches(pattern, text), "{pattern} {text}");
    }
}

#[test]
fn the_shell_keeps_its_folder() {
    let root = sandbox::folder();
    let mut shell = Shell::new(root.path());
    assert_eq!(shell.run("mkdir inside && cd inside"), "");
    assert_eq!(shell.run("basename \"$PWD\"; echo wrong >&2"), "inside\nwrong\n");
    assert!(shell.run("stackloom --version").starts_with("stackloom "));
}
