//! Small changes to scalars in sources, each of which leaves the fleet valid.

use std::collections::BTreeMap;

use stackloom::{note::Notes, render, world::Files};

/// A line of a source with a scalar.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) file: String,
    pub(super) line: usize,
}

/// All lines that may contain a scalar.
pub(super) fn places(files: &Files) -> Vec<Place> {
    let mut places = Vec::new();
    for (file, text) in &files.0 {
        for (at, line) in text.lines().enumerate() {
            let content = line.trim();
            if content.is_empty() || content.starts_with("# ") || file.contains(".d/") {
                continue;
            }
            places.push(Place { file: file.clone(), line: at + 1 });
        }
    }
    places
}

/// The new line and the resulting tree; none if no change is valid or has an effect.
pub(super) fn changed(files: &Files, place: &Place) -> Option<(String, BTreeMap<String, String>)> {
    let text = &files.0[&place.file];
    let old = text.lines().nth(place.line - 1)?;
    candidates(old).into_iter().find_map(|new| {
        let lines = text.lines().enumerate();
        let lines: Vec<_> =
            lines.map(|(at, line)| if at + 1 == place.line { new.as_str() } else { line }).collect();
        let mut files = files.clone();
        files.0.insert(place.file.clone(), lines.join("\n") + "\n");
        sound_tree(&files).map(|tree| (new, tree))
    })
}

fn sound_tree(files: &Files) -> Option<BTreeMap<String, String>> {
    let mut notes = Notes::new();
    let stackloom::generate::Planned { plan, .. } = stackloom::generate::prepare(files, &mut notes).ok()?;
    let mut tree = BTreeMap::new();
    for subject in render::subjects(&plan) {
        let part = render::draw(subject, &mut notes).to_part();
        for file in part.files {
            tree.insert(file.path.to_string(), String::from_utf8(file.bytes().to_vec()).unwrap());
        }
    }
    (notes.errors() == 0).then_some(tree)
}

/// Possible replacements of a line, smallest change first.
fn candidates(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (from, to) in [("true", "false"), ("false", "true")] {
        if let Some(head) = line.trim_end().strip_suffix(from).filter(|head| head.ends_with(' ')) {
            found.push(format!("{head}{to}"));
        }
    }
    if let Some(end) = line.rfind(|c: char| c.is_ascii_digit()) {
        let digits = line[..=end].rfind(|c: char| !c.is_ascii_digit()).map_or(0, |at| at + 1);
        if let Ok(number) = line[digits..=end].parse::<u64>() {
            for other in [number + 1, number.saturating_sub(1)] {
                found.push(format!("{}{other}{}", &line[..digits], &line[end + 1..]));
            }
        }
    }
    let trimmed = line.trim_end();
    if let Some(head) = trimmed.strip_suffix('"') {
        found.push(format!("{head}x\""));
    } else if let Some(head) = trimmed.strip_suffix('\'') {
        found.push(format!("{head}x'"));
    } else if trimmed.ends_with(|c: char| c.is_ascii_alphanumeric()) {
        found.push(format!("{trimmed}x"));
    } else if let Some(head) = trimmed.strip_suffix("}}") {
        found.push(format!("{head}}}x"));
        found.push(format!("{trimmed}x"));
    }
    found.retain(|other| other != line);
    found
}

/// The lines of a text, counted from 1, that another text does not have.
pub(super) fn gone(old: &str, new: &str) -> Vec<usize> {
    let (old, new): (Vec<_>, Vec<_>) = (old.lines().collect(), new.lines().collect());
    let mut table = vec![vec![0_usize; new.len() + 1]; old.len() + 1];
    for (at, line) in old.iter().enumerate().rev() {
        for (other, line_there) in new.iter().enumerate().rev() {
            table[at][other] = if line == line_there {
                table[at + 1][other + 1] + 1
            } else {
                table[at + 1][other].max(table[at][other + 1])
            };
        }
    }
    let (mut at, mut other, mut gone) = (0, 0, Vec::new());
    while at < old.len() {
        if other < new.len() && old[at] == new[other] {
            (at, other) = (at + 1, other + 1);
        } else if other < new.len() && table[at][other + 1] > table[at + 1][other] {
            other += 1;
        } else {
            gone.push(at + 1);
            at += 1;
        }
    }
    gone
}
