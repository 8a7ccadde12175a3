//! `stackloom upgrade plan`: each folder is a case, laid over a small fleet.
//!
//! Each line of `commands.txt` contains the arguments of one run (`-` for none). `plan.txt` contains the output of these
//! runs, with messages last. `UPDATE=1` rewrites the expected files.

use std::fs;

use rayon::prelude::*;

use super::{cli::ran, overlay, sandbox, support};

fn laid(over: &std::path::Path, case: &std::path::Path) -> tempfile::TempDir {
    let root = sandbox::folder();
    overlay::apply(over, case, root.path()).unwrap_or_else(|error| panic!("{}: {error}", case.display()));
    for own in ["commands.txt", "plan.txt"] {
        fs::remove_file(root.path().join(own)).ok();
    }
    root
}

#[test]
fn plans_are_shown_as_expected() {
    let cases = support::package().join("tests/upgrade");
    let base = laid(&support::package().join("tests/cases/_base"), &cases.join("_base"));
    let folders = sandbox::folders(&cases).into_par_iter().filter(|case| sandbox::name(case) != "_base");
    let reported = folders.map(|case| {
        let root = laid(base.path(), &case);
        let commands = fs::read_to_string(case.join("commands.txt")).unwrap();
        let mut found = String::new();
        for line in commands.lines() {
            let words = line.split(' ').filter(|word| *word != "-");
            let arguments: Vec<&str> = ["upgrade", "plan"].into_iter().chain(words).collect();
            let reported = ran(root.path(), &arguments);
            let is_narrow = |line: &str| line.chars().count() <= 80 || !line.trim().contains(' ');
            let is_data = arguments.contains(&"json");
            assert!(is_data || reported.out.lines().all(is_narrow), "{}", reported.out);
            let line = format!(
                "$ stackloom {}\n{}{}exit {}\n\n",
                arguments.join(" "),
                reported.out,
                reported.err,
                reported.code
            );
            found.push_str(&line);
        }
        let hashed = regex::Regex::new("v0-sha\\.[a-z0-9]{8}").unwrap();
        (case, hashed.replace_all(&found, "v0-sha.00000000").into_owned())
    });
    let mut wrong = String::new();
    for (case, found) in reported.collect::<Vec<_>>() {
        sandbox::expect_file(&case.join("plan.txt"), &found, &mut wrong);
    }
    assert!(wrong.is_empty(), "{wrong}");
}
