//! A public type has a name of its own within its crate, so that a reader need not ask which one is meant.

use std::{collections::BTreeMap, fs};

use super::{rust_files, support};

/// The kinds as users write them: they have the names of what they mean.
const AS_WRITTEN: &str = "src/definition/";

/// Names that several types of the program share, and why.
const SHARED: [(&str, &str); 0] = [];

/// The public types that a text declares at the top level.
fn public_types(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let declared = line.strip_prefix("pub ")?;
        let rest =
            ["struct ", "enum ", "trait ", "type "].iter().find_map(|kind| declared.strip_prefix(kind))?;
        rest.split(|c: char| !(c.is_alphanumeric() || c == '_')).next()
    })
}

#[test]
fn no_two_public_types_of_a_crate_have_the_same_name() {
    let crates = fs::read_dir(support::package().join("crates")).unwrap();
    let names = crates.map(|one| one.unwrap().file_name().into_string().unwrap());
    let folders = names.map(|name| format!("crates/{name}/src")).chain(["src".to_owned()]);
    let mut found = Vec::new();
    for folder in folders {
        let mut files: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (path, text) in rust_files(&folder) {
            if !path.starts_with(AS_WRITTEN) {
                public_types(&text)
                    .for_each(|name| files.entry(name.to_owned()).or_default().push(path.clone()));
            }
        }
        let is_shared = |name: &str| SHARED.iter().any(|(shared, _)| *shared == name);
        let twice = files.into_iter().filter(|(name, files)| files.len() > 1 && !is_shared(name));
        found.extend(twice.map(|(name, files)| format!("{name}: {}", files.join(", "))));
    }
    assert!(found.is_empty(), "types with the same name:\n{}", found.join("\n"));
}
