//! Moves definitions to other files: computes the fleet after the move, and the effects on the tree.
//!
//! A definition contains the name of its cluster, so it can move without changing the cluster. The cluster still changes if
//! other defaults apply in the new folder. This module does not predict that: it generates both sides and compares them.
//! Deliberately absent: the disk, which `cli` changes.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    generate::{self, Failure},
    note::{Notes, Place},
    partial::Scope,
    tree::MemorySink,
    world::{Input, Snapshot, companion_folder},
    yaml::Sources,
};

/// The move of a file or folder. Both paths are relative to the root of the fleet, without a trailing `/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The old path.
    pub from: String,
    /// The new path.
    pub to: String,
}

impl Move {
    /// The path of a file after the move, if it moves.
    fn target(&self, path: &str) -> Option<String> {
        let rest = path.strip_prefix(&self.from)?;
        (rest.is_empty() || rest.starts_with('/')).then(|| format!("{}{rest}", self.to))
    }
}

/// A generated file that a move changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFile {
    pub path: String,
    /// Its text before; none if it is new.
    pub before: Option<String>,
    /// Its text after; none if it is deleted.
    pub after: Option<String>,
    /// Whether the only difference is the path of a `.d` folder that moves as well.
    pub only_follows: bool,
}

/// Whether a path is a `.d` folder.
fn is_companion(path: &str) -> bool {
    companion_folder(&format!("{path}/")).is_some()
}

fn target(moves: &[Move], path: &str) -> Option<String> {
    moves.iter().find_map(|one| one.target(path))
}

/// The input after a move.
#[must_use]
pub fn moved(input: &Input, moves: &[Move]) -> Input {
    let files = |sources: &Sources, mend: bool| {
        let moved = sources.iter().map(|source| match target(moves, &source.path) {
            Some(to) if mend => {
                let text = mended(&source.path, &to, &source.text);
                (to, text.unwrap_or_else(|| source.text.to_string()))
            }
            Some(to) => (to, source.text.to_string()),
            None => (source.path.to_string(), source.text.to_string()),
        });
        Sources::new(moved.collect::<BTreeMap<_, _>>())
    };
    let companion = |folder: &String| target(moves, folder).unwrap_or_else(|| folder.clone());
    Input {
        sources: files(&input.sources, true),
        companions: input.companions.iter().map(companion).collect(),
        beside: files(&input.beside, false),
        ..input.clone()
    }
}

/// The new text of a file that moves, if needed: the path to the schema in its editor comment is relative.
fn mended(from: &str, to: &str, text: &str) -> Option<String> {
    const MARK: &str = "$schema=";
    let line = text.lines().take_while(|line| line.starts_with('#')).find(|line| line.contains(MARK))?;
    let (_, path) = line.split_once(MARK)?;
    let up = |path: &str| "../".repeat(path.matches('/').count());
    let (old, new) = (format!("{}schemas/", up(from)), format!("{}schemas/", up(to)));
    let is_ours = path.starts_with(&old) && old != new;
    is_ours.then(|| text.replacen(&format!("{MARK}{old}"), &format!("{MARK}{new}"), 1))
}

/// The new texts of files that change along with their path, by new path.
pub fn rewritten(input: &Input, moves: &[Move]) -> Vec<(String, String)> {
    let new = |path: &str, text: &str| {
        let to = target(moves, path)?;
        mended(path, &to, text).map(|text| (to, text))
    };
    input.sources.iter().filter_map(|source| new(&source.path, &source.text)).collect()
}

/// The generated files of the moving clusters that a move changes.
pub fn changes(world: &Snapshot, moves: &[Move], notes: &mut Notes) -> Result<Vec<ChangedFile>, Failure> {
    let [from, to] = [|one: &Move| one.from.clone(), |one: &Move| one.to.clone()];
    let definitions = |end: fn(&Move) -> String| -> Vec<String> {
        moves.iter().map(end).filter(|path| !is_companion(path)).collect()
    };
    let before = made(world, definitions(from), notes)?;
    let after = Snapshot { input: moved(&world.input, moves), notes: world.notes.clone() };
    let mut found = Notes::new();
    let after = made(&after, definitions(to), &mut found);
    if after.is_err() {
        refuse(&found, moves, notes);
    }
    // Messages about both sides are reported only once.
    let after = after?;
    let companions: Vec<(&String, String)> =
        world.input.companions.iter().filter_map(|folder| Some((folder, target(moves, folder)?))).collect();
    let follows =
        |text: &str| companions.iter().fold(text.to_owned(), |text, (old, new)| text.replace(*old, new));
    let paths: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let changed = paths.into_iter().filter(|path| before.get(*path) != after.get(*path)).map(|path| {
        let (old, new) = (before.get(path).cloned(), after.get(path).cloned());
        let only_follows = old.as_deref().map(follows).is_some_and(|text| Some(&text) == new.as_ref());
        ChangedFile { path: path.clone(), before: old, after: new, only_follows }
    });
    Ok(changed.collect())
}

/// Reports why the fleet has errors after a move. Messages name the files where they are now.
fn refuse(found: &Notes, moves: &[Move], notes: &mut Notes) {
    let back: Vec<Move> =
        moves.iter().map(|one| Move { from: one.to.clone(), to: one.from.clone() }).collect();
    let now = |place: &mut Place| {
        if let Some(path) = target(&back, &place.file) {
            place.file = path;
        }
    };
    let mut missing: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for note in found.iter() {
        let is_moved = |place: &&Place| target(&back, &place.file).is_some();
        match note.place.as_ref().filter(is_moved) {
            // What a definition lacks after the move comes from the defaults that it leaves.
            Some(place) if note.code == "missing-key" => {
                missing.entry(place.file.clone()).or_default().push(&note.message);
            }
            _ => {
                let mut note = note.clone();
                note.place.iter_mut().for_each(now);
                note.related.iter_mut().for_each(|(_, place)| now(place));
                notes.push(note);
            }
        }
    }
    for (to, lacks) in missing {
        let from = target(&back, &to).unwrap_or_else(|| to.clone());
        let folder = to.rsplit_once('/').map_or("", |(folder, _)| folder);
        notes
            .error(
                "effect",
                Place::file(from),
                format!("the defaults of `{folder}` lack what this definition needs: {}", lacks.join("; ")),
            )
            .hint(format!(
                "first write these values into the definition or into `{folder}/_defaults.yaml`, then move it"
            ));
    }
}

/// The generated files of some clusters, by path.
fn made(world: &Snapshot, only: Vec<String>, notes: &mut Notes) -> Result<BTreeMap<String, String>, Failure> {
    let mut made = MemorySink::default();
    let scope = Scope { only, ..Scope::default() };
    generate::generate_some(world, &scope, &mut made, &|_, _| {}, notes)?;
    Ok(made.files().map(|file| (file.path.to_string(), file.text().to_string())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_comment_for_editors_leads_to_the_same_schema() {
        let text = |up: &str| format!("# yaml-language-server: $schema={up}schemas/a.json\nkind: x\n");
        for (from, to, before, after) in [
            ("clusters/a.yaml", "clusters/eu/prod/a.yaml", "../", Some("../../../")),
            ("clusters/eu/a.yaml", "clusters/a.yaml", "../../", Some("../")),
            ("clusters/eu/a.yaml", "clusters/us/a.yaml", "../../", None),
            ("clusters/eu/a.yaml", "clusters/a.yaml", "https://example.org/", None),
            ("clusters/eu/a.yaml", "clusters/a.yaml", "../", None),
        ] {
            assert_eq!(mended(from, to, &text(before)), after.map(text), "{from} {to}");
        }
        assert_eq!(mended("clusters/a.yaml", "clusters/b/a.yaml", "kind: x\n# $schema=../schemas/\n"), None);
    }

    #[test]
    fn a_name_that_begins_like_another_one_stays() {
        let one = Move { from: "clusters/a.d".to_owned(), to: "clusters/b.d".to_owned() };
        assert_eq!(one.target("clusters/a.d/x.yaml").as_deref(), Some("clusters/b.d/x.yaml"));
        assert_eq!(one.target("clusters/a.dx"), None);
    }
}
