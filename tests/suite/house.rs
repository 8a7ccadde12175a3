//! CI runs what `.ci/run` runs.

use std::{collections::BTreeSet, fs};

use super::support;

fn text(path: &str) -> String {
    fs::read_to_string(support::package().join(path)).unwrap()
}

/// The commands of the workflow's steps.
fn commands() -> Vec<String> {
    let text = text(".github/workflows/ci.yml");
    let runs =
        text.lines().filter_map(|line| line.trim_start().trim_start_matches("- ").strip_prefix("run: "));
    runs.map(|command| command.trim().to_owned()).collect()
}

/// Commands that `.ci/run` leaves out, because they install a program or belong only to the CI service.
const OF_THE_SERVICE: [&str; 2] = ["cargo install --locked --version 0.20.2 cargo-deny", "|"];

#[test]
fn the_workflow_runs_every_step_of_the_script_once_and_nothing_else() {
    let script = text(".ci/run");
    let list = script.lines().find_map(|line| line.strip_prefix("steps=(")).unwrap();
    let mut expected: Vec<&str> = list.trim_end_matches(')').split_whitespace().collect();
    let commands = commands();
    let mut found = Vec::new();
    for command in &commands {
        match command.strip_prefix("bash .ci/run ") {
            Some(steps) => found.extend(steps.split_whitespace()),
            None => assert!(OF_THE_SERVICE.contains(&command.as_str()), "CI alone runs `{command}`"),
        }
    }
    expected.sort_unstable();
    found.sort_unstable();
    assert_eq!(found, expected);
    let defined = |step: &&str| script.contains(&format!("\nstep_{}() {{", step.replace('-', "_")));
    let undefined: BTreeSet<_> = expected.iter().filter(|step| !defined(step)).collect();
    assert!(undefined.is_empty(), "{undefined:?} have no function in `.ci/run`");
}
