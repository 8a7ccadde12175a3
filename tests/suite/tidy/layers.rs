//! The modules in `src/lib.rs` are in layers: each uses only those above it.

use std::fs;

use super::{super::support, rust_files};

/// The modules and the crates of the workspace, in the order of `lib.rs`.
fn order(lib: &str) -> Vec<String> {
    let module = |line: &str| {
        let line = line.strip_suffix(';')?;
        let name =
            line.strip_prefix("pub mod ").or_else(|| line.strip_prefix("pub use ")?.split(" as ").nth(1));
        name.map(str::to_owned)
    };
    lib.lines().filter_map(module).collect()
}

/// All modules of the crate that a text uses. Doc comments count: for readers, a link is a use.
fn uses(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, start) in text.match_indices("crate::") {
        let before = &text[..at];
        let in_path = before.ends_with("in ") || before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        if !in_path {
            found.extend(heads(&text[at + start.len()..]));
        }
    }
    found.sort();
    found.dedup();
    found
}

/// The first name of a path, or the names at the top of a group in braces.
fn heads(path: &str) -> Vec<String> {
    let name = |text: &str| {
        let text = text.trim_start();
        let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len());
        text[..end].to_owned()
    };
    let Some(group) = path.strip_prefix('{') else { return vec![name(path)] };
    let (mut depth, mut start, mut names) = (0_usize, 0, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                names.push(name(&group[start..at]));
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                names.push(name(&group[start..at]));
                start = at + 1;
            }
            _ => {}
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

/// The uses of modules that are not above the module.
fn breaches(order: &[String], module: &str, text: &str) -> Vec<String> {
    let rank = |name: &str| order.iter().position(|listed| listed == name);
    let Some(own) = rank(module) else { return vec![format!("`{module}` is not in lib.rs")] };
    let breach = |used: String| match rank(&used) {
        _ if used == module => None,
        None => Some(format!("`{module}` uses `{used}`, which is not a module")),
        Some(other) if other > own => Some(format!("`{module}` uses `{used}` below it")),
        Some(_) => None,
    };
    uses(text).into_iter().filter_map(breach).collect()
}

#[test]
fn a_module_uses_only_those_above_it() {
    let lib = fs::read_to_string(support::package().join("src/lib.rs")).unwrap();
    let order = order(&lib);
    assert!(order.len() > 10, "{order:?}");
    let mut found = Vec::new();
    for (path, text) in rust_files("src") {
        let inside = path.strip_prefix("src/").unwrap();
        let module = inside.split(['/', '.']).next().unwrap();
        if !matches!(module, "lib" | "main") {
            found.extend(
                breaches(&order, module, &text).into_iter().map(|breach| format!("{path}: {breach}")),
            );
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn a_use_of_what_is_below_is_caught_however_it_is_written() {
    let order = order("pub mod note;\npub mod plan;\npub mod cli;\n");
    let caught = [
        "use crate::cli;",
        "use crate::{note::Notes, cli::{self, Args}};",
        "use crate::{\n    note::{Fault, Notes},\n    cli,\n};",
        "fn f() -> crate::cli::Exit { todo() }",
        "/// See [`crate::cli`].",
    ];
    for text in caught {
        assert_eq!(breaches(&order, "plan", text), ["`plan` uses `cli` below it"], "{text}");
    }
    for text in ["use crate::note::Notes;", "use crate::{note, plan::x};", "pub(in crate::cli) fn f() {}"] {
        assert!(breaches(&order, "plan", text).is_empty(), "{text}");
    }
    assert_eq!(
        breaches(&order, "plan", "use crate::planner;"),
        ["`plan` uses `planner`, which is not a module"]
    );
    assert_eq!(breaches(&order, "other", ""), ["`other` is not in lib.rs"]);
}

/// The table of ARCHITECTURE.md says that a module uses only those above it.
#[test]
fn architecture_lists_the_modules_in_the_same_order() {
    let read = |file: &str| fs::read_to_string(support::package().join(file)).unwrap();
    let modules = order(&read("src/lib.rs"));
    let text = read("ARCHITECTURE.md");
    let (_, table) = text.split_once("| module | what | invariants |").unwrap();
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let listed: Vec<&str> = rows.filter_map(|row| row.strip_prefix("| `")?.split('`').next()).collect();
    let expected: Vec<&str> = modules.iter().map(String::as_str).filter(|name| *name != "topology").collect();
    assert_eq!(listed, expected);
}
