//! No cycles between files of different folders: reading one folder must not require reading another that depends on the
//! first.
//!
//! A file may use the `mod.rs` of its parent folders, which define the vocabulary of its own module. Unit tests do not
//! count.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::{super::support, rust_files};

/// A module, by its path from the root of its crate.
type Path = Vec<String>;

#[derive(Default)]
struct Crate {
    /// The file of each module.
    files: BTreeMap<Path, String>,
    /// What each module exports that other modules define: the path of each, as written there.
    exports: BTreeMap<Path, BTreeMap<String, String>>,
    /// The modules that each module uses.
    uses: BTreeMap<Path, BTreeSet<Path>>,
}

/// The code of a file, without comments and unit tests.
fn code(text: &str) -> String {
    let text = text.split_once("\n#[cfg(test)]\nmod tests {").map_or(text, |(code, _)| code);
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

/// All paths in a text. Groups in braces are expanded.
fn paths(code: &str) -> Vec<String> {
    let (imports, rest): (Vec<_>, Vec<_>) =
        statements(code).into_iter().partition(|statement| statement.0 == "use");
    let mut found = Vec::new();
    for (_, tree) in imports {
        expand("", &tree.split_whitespace().collect::<String>(), &mut found);
    }
    for (_, text) in rest {
        let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
        let words = text.split(|c: char| !is_name(c));
        found.extend(words.filter(|word| word.contains("::")).map(str::to_owned));
    }
    found
}

/// What a module exports that it does not define, by name, with its path.
fn exports(code: &str) -> BTreeMap<String, String> {
    let mut found = Vec::new();
    let mut lines = code.lines();
    while let Some(line) = lines.next() {
        let bare = line.trim_start();
        let restricted = || bare.strip_prefix("pub(")?.split_once(") use ").map(|(_, tree)| tree);
        let Some(tree) = bare.strip_prefix("pub use ").or_else(restricted) else { continue };
        let mut tree = tree.to_owned();
        while !tree.contains(';') {
            let Some(more) = lines.next() else { break };
            tree.push_str(more);
        }
        let tree = tree.split(';').next().unwrap_or_default().replace(" as ", "@");
        expand("", &tree.split_whitespace().collect::<String>(), &mut found);
    }
    let name = |path: &String| path.rsplit("::").next().unwrap_or_default().to_owned();
    found.into_iter().map(|path| (name(&path), path)).collect()
}

/// Splits the text into imports (without the word `use`) and the rest.
fn statements(code: &str) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    let mut rest = String::new();
    let mut lines = code.lines();
    while let Some(line) = lines.next() {
        let bare = line.trim_start();
        let import = bare.strip_prefix("use ").or_else(|| bare.split_once(") use ").map(|(_, tree)| tree));
        let Some(tree) = import.or_else(|| bare.strip_prefix("pub use ")) else {
            rest.push_str(line);
            rest.push('\n');
            continue;
        };
        let mut tree = tree.to_owned();
        while !tree.contains(';') {
            let Some(more) = lines.next() else { break };
            tree.push_str(more);
        }
        found.push(("use", tree.replace(" as ", "@").split(';').next().unwrap_or_default().to_owned()));
    }
    found.push(("", rest));
    found
}

/// Expands the paths of an import tree.
fn expand(before: &str, tree: &str, found: &mut Vec<String>) {
    let Some((head, group)) = tree.split_once('{') else {
        let name = tree.split('@').next().unwrap_or_default();
        found.push(format!("{before}{}", name.trim_end_matches("::self")));
        return;
    };
    let group = group.rsplit_once('}').map_or(group, |(group, _)| group);
    let (mut depth, mut start) = (0_usize, 0);
    let parts = group.char_indices().filter_map(|(at, c)| {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                let part = &group[start..at];
                start = at + 1;
                return Some(part);
            }
            _ => {}
        }
        None
    });
    let mut parts: Vec<&str> = parts.collect();
    parts.push(&group[start..]);
    for part in parts.into_iter().filter(|part| !part.is_empty()) {
        expand(&format!("{before}{head}"), part, found);
    }
}

impl Crate {
    /// Reads files by their paths relative to the crate's `src`.
    fn read(texts: &[(String, String)]) -> Self {
        let mut read = Self::default();
        for (file, _) in texts {
            let mut path: Path = file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
            let last = path.last().map(String::as_str);
            if matches!(last, Some("mod" | "lib")) {
                path.pop();
            }
            if last_is_not_main(&path) {
                read.files.insert(path, file.clone());
            }
        }
        let by_file: BTreeMap<&String, &String> = texts.iter().map(|(file, text)| (file, text)).collect();
        let exports = |(module, file): (&Path, &String)| (module.clone(), exports(&code(by_file[file])));
        read.exports = read.files.iter().map(exports).collect();
        for (module, file) in &read.files {
            let used =
                paths(&code(by_file[file])).iter().filter_map(|path| read.resolve(module, path)).collect();
            read.uses.insert(module.clone(), used);
        }
        read
    }

    /// The module that a path refers to; none for another crate, the module itself, and its parent folders.
    fn resolve(&self, module: &Path, path: &str) -> Option<Path> {
        let mut full = self.full(module, path)?;
        while let Some((exporter, path)) = self.exported(&full) {
            let rest = full.split_off(exporter.len() + 1);
            full = self.full(&exporter, &path)?;
            full.extend(rest);
        }
        while !self.files.contains_key(&full) {
            full.pop()?;
        }
        (!module.starts_with(&full)).then_some(full)
    }

    /// A path from the root of the crate; none for another crate.
    fn full(&self, module: &Path, path: &str) -> Option<Path> {
        let names: Vec<&str> = path.split("::").filter(|name| !name.is_empty()).collect();
        let (first, after) = names.split_first()?;
        let mut full = match *first {
            "crate" => Path::new(),
            "self" => module.clone(),
            "super" => module[..module.len().checked_sub(1)?].to_vec(),
            name => {
                let child: Path = module.iter().cloned().chain([name.to_owned()]).collect();
                if !self.files.contains_key(&child) {
                    return None;
                }
                child
            }
        };
        for name in after {
            match *name {
                "super" => drop(full.pop()),
                name => full.push(name.to_owned()),
            }
        }
        Some(full)
    }

    /// The module through which a path leads to another module, and the path of what it exports.
    fn exported(&self, full: &Path) -> Option<(Path, String)> {
        let lengths = (0..full.len()).rev();
        let module =
            lengths.map(|length| full[..length].to_vec()).find(|one| self.files.contains_key(one))?;
        let path = self.exports[&module].get(&full[module.len()])?.clone();
        (self.full(&module, &path).as_ref() != Some(full)).then_some((module, path))
    }

    fn folder(&self, module: &Path) -> &str {
        self.files[module].rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// All modules reachable from a module.
    fn reached(&self, from: &Path) -> BTreeSet<&Path> {
        let mut reached = BTreeSet::new();
        let mut next: Vec<&Path> = self.uses[from].iter().collect();
        while let Some(module) = next.pop() {
            if reached.insert(module) {
                next.extend(&self.uses[module]);
            }
        }
        reached
    }

    /// The modules of each cycle.
    fn cycles(&self) -> BTreeSet<Vec<&Path>> {
        let reached: BTreeMap<&Path, BTreeSet<&Path>> =
            self.files.keys().map(|module| (module, self.reached(module))).collect();
        let mut found = BTreeSet::new();
        for (module, there) in &reached {
            let back: Vec<&Path> =
                there.iter().copied().filter(|other| reached[other].contains(module)).collect();
            if !back.is_empty() {
                found.insert(back);
            }
        }
        found
    }

    /// The same crate with all files below a top-level module taken together. The root of the crate is left out: it only
    /// re-exports.
    fn top_level(&self) -> Self {
        let top = |path: &Path| path.first().map(|first| vec![first.clone()]);
        let mut whole = Self::default();
        for (module, used) in &self.uses {
            let Some(own) = top(module) else { continue };
            whole.files.entry(own.clone()).or_insert_with(|| self.files[module].clone());
            let others = used.iter().filter_map(top).filter(|other| *other != own);
            whole.uses.entry(own.clone()).or_default().extend(others);
        }
        whole
    }

    /// The folders of each cycle across folders, with their files.
    fn cycles_of_folders(&self) -> BTreeMap<Vec<&str>, BTreeSet<&str>> {
        let mut found: BTreeMap<Vec<&str>, BTreeSet<&str>> = BTreeMap::new();
        for cycle in self.cycles() {
            let folders: BTreeSet<&str> = cycle.iter().map(|one| self.folder(one)).collect();
            if folders.len() > 1 {
                let files = cycle.iter().map(|one| self.files[*one].as_str());
                found.entry(folders.into_iter().collect()).or_default().extend(files);
            }
        }
        found
    }
}

fn last_is_not_main(path: &Path) -> bool {
    path.as_slice() != ["main"]
}

/// The `src` folders of the workspace.
fn sources() -> Vec<String> {
    let crates = fs::read_dir(support::package().join("crates")).unwrap();
    let mut all: Vec<String> = crates
        .map(|entry| format!("crates/{}/src", entry.unwrap().file_name().to_str().unwrap()))
        .chain(["src".to_owned()])
        .collect();
    all.sort();
    all
}

fn read(root: &str) -> Crate {
    let texts = rust_files(root).into_iter();
    let texts: Vec<_> = texts.map(|(path, text)| (path[root.len() + 1..].to_owned(), text)).collect();
    Crate::read(&texts)
}

#[test]
fn files_of_different_folders_use_each_other_one_way() {
    let mut found = Vec::new();
    for root in sources() {
        let read = read(&root);
        let cycles = read.cycles_of_folders().into_iter();
        found.extend(cycles.map(|(folders, files)| format!("{root}: {folders:?} in a cycle: {files:?}")));
    }
    assert!(found.is_empty(), "{found:#?}");
}

/// The rules of verdicts are read one file at a time, so this crate has no cycles within a folder either.
#[test]
fn files_of_the_topology_crate_use_each_other_one_way() {
    let read = read("crates/capi-topology/src");
    assert!(read.files.len() > 80, "{} files", read.files.len());
    assert!(read.cycles().is_empty(), "{:#?}", read.cycles());
}

#[test]
fn top_level_modules_of_the_topology_crate_use_each_other_one_way() {
    let read = read("crates/capi-topology/src").top_level();
    assert!(read.files.len() > 15, "{} modules", read.files.len());
    assert!(read.cycles().is_empty(), "{:#?}", read.cycles());
}

#[test]
fn a_cycle_of_modules_is_caught_even_if_no_file_is_in_one() {
    let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
    let texts = [
        file("a/mod.rs", "mod one;\nmod two;"),
        file("a/one.rs", "use crate::b::one::f;"),
        file("a/two.rs", ""),
        file("b/mod.rs", "mod one;\nmod two;"),
        file("b/one.rs", ""),
        file("b/two.rs", "use crate::a::two::f;"),
    ];
    let read = Crate::read(&texts);
    assert!(read.cycles().is_empty(), "{:?}", read.cycles());
    assert_eq!(read.top_level().cycles().len(), 1);
}

#[test]
fn a_cycle_is_caught_however_it_is_written() {
    let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
    let ways = [
        "use crate::b;",
        "use super::super::b::{self, X};",
        "pub(crate) use crate::{\n    b::X,\n};",
        "fn f() -> crate::b::X { todo() }",
        "use super::super::{b as other};",
    ];
    for way in ways {
        let texts = [file("a/mod.rs", ""), file("a/one.rs", way), file("b.rs", "use crate::a::one::f;")];
        let read = Crate::read(&texts);
        assert_eq!(read.cycles_of_folders().into_keys().collect::<Vec<_>>(), [["", "a"]], "{way}");
    }
    let exported = [
        file("a/mod.rs", "mod b;\nmod one;\npub use b::{X, f};"),
        file("a/one.rs", "use super::X;"),
        file("a/b/mod.rs", "mod two;\n"),
        file("a/b/two.rs", ""),
        file("a/b/three.rs", ""),
    ];
    let mut exported = exported.to_vec();
    exported[2].1.push_str("use crate::a::one::g;");
    assert_eq!(Crate::read(&exported).cycles_of_folders().len(), 1, "through what a folder exports");
    let harmless = [
        "use super::X;",
        "use crate::c;",
        "// crate::b",
        "#[cfg(test)]\nmod x;\n#[cfg(test)]\nmod tests {\n    use crate::b;\n}\n",
    ];
    for text in harmless {
        let texts = [file("a/mod.rs", ""), file("a/one.rs", text), file("b.rs", "use crate::a::one::f;")];
        assert!(Crate::read(&texts).cycles().is_empty(), "{text}");
    }
}
