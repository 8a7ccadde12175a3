//! Definitions that a command skipped because of errors; for commands that need only a part of the fleet.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use super::SkippedDefinition;
use crate::{
    model::{StackId, is_called},
    note::{Diagnostic, Halted, LEFT_OUT, Notes, Severity},
};

/// The definitions that a run skipped, and their errors.
#[derive(Debug, Default)]
pub struct LeftOut {
    left: Vec<SkippedDefinition>,
    faults: Notes,
}

impl LeftOut {
    /// Extracts the errors from the messages of a run; the other messages go to `notes`.
    pub(crate) fn new(left: Vec<SkippedDefinition>, found: &Notes, notes: &mut Notes) -> Self {
        let mut faults = Notes::new();
        for note in found.iter() {
            let to = if note.severity == Severity::Error { &mut faults } else { &mut *notes };
            to.push(note.clone());
        }
        Self { left, faults }
    }

    /// Reports whether nothing was skipped.
    pub fn is_empty(&self) -> bool {
        self.faults.errors() == 0
    }

    /// Reports whether a stack was skipped.
    pub fn has_stacks(&self) -> bool {
        self.faults
            .iter()
            .any(|note| note.place.as_ref().is_some_and(|place| place.file.starts_with("stacks/")))
    }

    /// Reports whether a definition or the defaults of a folder were skipped.
    pub fn has_definitions(&self) -> bool {
        self.files().iter().any(|file| file.starts_with("clusters/"))
    }

    /// Reports the errors of stacks that were skipped, for commands that need all of them.
    pub fn refuse_stacks(&self, notes: &mut Notes) -> Result<(), Halted> {
        self.refuse_below("stacks/", notes)
    }

    /// Reports the errors of rollouts that were skipped, for commands that take steps: a rollout that cannot be read may own a
    /// cluster.
    pub fn refuse_rollouts(&self, notes: &mut Notes) -> Result<(), Halted> {
        self.refuse_below("rollouts/", notes)
    }

    fn refuse_below(&self, folder: &str, notes: &mut Notes) -> Result<(), Halted> {
        let before = notes.errors();
        let is_below =
            |note: &Diagnostic| note.place.as_ref().is_some_and(|place| place.file.starts_with(folder));
        notes.append_if(self.faults.clone(), is_below);
        if notes.errors() > before { Err(notes.halted()) } else { Ok(()) }
    }

    /// Reports the errors of a stack if it was skipped.
    pub fn blame_stack(&self, stack: &StackId, notes: &mut Notes) -> bool {
        let own = format!("stacks/{stack}/");
        let before = notes.errors();
        let is_own =
            |note: &Diagnostic| note.place.as_ref().is_some_and(|place| place.file.starts_with(&own));
        self.faults.iter().filter(|note| is_own(note)).for_each(|note| notes.push(note.clone()));
        notes.errors() > before
    }

    /// Ends a run about one stack, unless all errors are in other stacks and their clusters. A definition with errors of its
    /// own might use any stack.
    pub fn only_other_stacks(&self, stack: Option<&StackId>, notes: &mut Notes) -> Result<(), Halted> {
        let own = stack.map(|stack| format!("stacks/{stack}/"));
        let is_other = |note: &Diagnostic| match (&own, &note.place) {
            (Some(own), Some(place)) => place.file.starts_with("stacks/") && !place.file.starts_with(own),
            _ => false,
        };
        if self.faults.iter().all(is_other) {
            self.warn(notes);
        } else {
            notes.append(self.faults.clone());
        }
        notes.halt(())
    }

    /// The reason why a definition was skipped.
    pub fn why(&self, file: &str) -> Option<&str> {
        self.left.iter().find(|left| left.file == file).map(|left| left.why.as_str())
    }

    /// All errors in the skipped units.
    pub fn faults(&self) -> &Notes {
        &self.faults
    }

    /// The files with errors, and the definitions that depend on them.
    fn files(&self) -> BTreeSet<&str> {
        let faulty = self.faults.iter().filter_map(|note| Some(note.place.as_ref()?.file.as_str()));
        self.left.iter().map(|left| left.file.as_str()).chain(faulty).collect()
    }

    /// The skipped files that have errors, or that defaults do not fit; and the sound definitions that depend on them.
    fn causes(&self) -> (BTreeSet<&str>, Vec<&str>) {
        let is_unfit = |left: &&SkippedDefinition| left.unfit.is_some();
        // Defaults that do not fit some clusters are still those of others.
        let unfit: BTreeSet<&str> = self.left.iter().filter_map(|left| left.unfit.as_deref()).collect();
        let places = self.faults.iter().filter_map(|note| Some(note.place.as_ref()?.file.as_str()));
        let mut faulty: BTreeSet<&str> = places.filter(|file| !unfit.contains(file)).collect();
        faulty.extend(self.left.iter().filter(is_unfit).map(|left| left.file.as_str()));
        let files = self.left.iter().map(|left| left.file.as_str());
        let others = files.filter(|file| !faulty.contains(file)).collect();
        (faulty, others)
    }

    /// Warns once about everything that was skipped, unless the notes already contain all of its errors.
    pub fn warn(&self, notes: &mut Notes) {
        if self.faults.iter().all(|fault| notes.iter().any(|note| note.says_as(fault))) {
            return;
        }
        let (faulty, others) = self.causes();
        say_left_out(faulty.into_iter(), &others, notes);
    }

    /// Warns about skipped stacks; for commands that don't use clusters.
    pub fn warn_of_stacks(&self, notes: &mut Notes) {
        say_left_out(self.causes().0.into_iter().filter(|file| file.starts_with("stacks/")), &[], notes);
    }

    /// The skipped definitions: the file and the reason of each.
    pub fn definitions(&self) -> impl Iterator<Item = (&str, &str)> {
        self.left.iter().map(|left| (left.file.as_str(), left.why.as_str()))
    }

    /// The skipped definitions with their reasons, as JSON.
    pub fn document(&self) -> Json {
        self.left.iter().map(|left| json!({ "file": left.file, "why": left.why })).collect()
    }

    /// Reports the errors of a requested definition if it was skipped. `asked` is a file, or a cluster as
    /// `[[<management cluster>/]<namespace>/]<name>`.
    pub fn blame(&self, asked: &str, notes: &mut Notes) -> bool {
        let name = asked.rsplit('/').next().unwrap_or(asked);
        let is_stem = |file: &str| {
            let last = file.rsplit('/').next().unwrap_or(file);
            last.rsplit_once('.').is_some_and(|(stem, _)| stem == name)
        };
        let is_asked = |file: &str| file == asked || file.starts_with("clusters/") && is_stem(file);
        let is_named = |cluster: &String| is_called(cluster, asked);
        let own: Vec<_> = self.left.iter().filter(|left| is_asked(&left.file)).collect();
        let before = notes.errors();
        for note in self.faults.iter() {
            let file = note.place.as_ref().map_or("", |place| place.file.as_str());
            let concerns = is_asked(file) || note.clusters.iter().any(is_named);
            if concerns {
                notes.push(note.clone());
            }
        }
        if notes.errors() == before && !own.is_empty() {
            // The definition itself has no errors, but something that it depends on has.
            for note in self.faults.iter() {
                notes.push(note.clone());
            }
        }
        notes.errors() > before
    }
}

/// Warns about skipped files, and about other definitions that were skipped with them.
fn say_left_out<'a>(files: impl Iterator<Item = &'a str>, others: &[&str], notes: &mut Notes) {
    let files: Vec<_> = files.map(|file| format!("`{file}`")).collect();
    if files.is_empty() {
        return;
    }
    let many = if files.len() > 3 { format!(" and {} more", files.len() - 3) } else { String::new() };
    let first = files[..files.len().min(3)].join(", ");
    let (and, them) = if files.len() == 1 { (" and", "it") } else { (", and", "them") };
    let others = match others {
        [] => String::new(),
        [other] => format!("{and} `{other}`, which depends on {them}"),
        several => format!("{and} {} definitions that depend on {them}", several.len()),
    };
    notes
        .warning(LEFT_OUT, None, format!("skipped because of errors: {first}{many}{others}"))
        .hint("run `stackloom check` for details");
}
