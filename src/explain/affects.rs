//! Finds out what a source affects, by explaining all lines of the tree in reverse.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use super::{RecordedFleet, SourcePlace, part::Part, scope::SourceQuery};
use crate::{
    model::ClusterId,
    note::Notes,
    render::{self, PartSubject},
};

/// The effects of a source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceEffects {
    /// The affected clusters.
    pub clusters: BTreeSet<ClusterId>,
    pub files: BTreeMap<String, AffectedFile>,
}

/// The effects of a source on one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AffectedFile {
    /// The cluster that the file belongs to.
    pub cluster: Option<ClusterId>,
    /// Whether the file's path or existence depends on the source.
    pub moves: bool,
    /// The lines generated from the source, counted from 1.
    pub lines: Vec<usize>,
}

impl RecordedFleet {
    /// Finds what a line of a source affects, or any of its lines if `line` is none.
    pub fn affects(
        &self,
        file: &str,
        line: Option<usize>,
        progress: crate::generate::Progress<'_>,
        notes: &mut Notes,
    ) -> SourceEffects {
        let mut subjects = render::subjects(&self.plan);
        subjects.retain(|subject| self.may_reach(file, *subject));
        let done = std::sync::atomic::AtomicUsize::new(0);
        let found: Vec<_> = subjects
            .par_iter()
            .map(|subject| {
                let mut own = Notes::new();
                let files = self.reached(*subject, file, line, &mut own);
                let done = done.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                progress(done + 1, subjects.len());
                (files, own)
            })
            .collect();
        let mut reaches = SourceEffects::default();
        for (files, own) in found {
            notes.append(own);
            reaches.files.extend(files);
        }
        reaches.clusters = reaches.files.values().filter_map(|reached| reached.cluster.clone()).collect();
        reaches
    }

    fn reached(
        &self,
        subject: PartSubject<'_>,
        file: &str,
        line: Option<usize>,
        notes: &mut Notes,
    ) -> Vec<(String, AffectedFile)> {
        let cluster = match subject {
            PartSubject::Cluster(plan) => Some(plan.cluster.id()),
            _ => None,
        };
        let meant = |source: &SourcePlace| source.decides && self.stands_for(source, file, line);
        let mut files = Vec::new();
        let part = Part::looking(self, subject, Some(SourceQuery { file, line }), notes);
        for made in part.files.iter().filter(|made| part.may_come_from(made, file)) {
            let lines = part.lines_from(made, meant);
            if !lines.is_empty() {
                let moves = lines.first() == Some(&1);
                files.push((made.path.clone(), AffectedFile { cluster: cluster.clone(), moves, lines }));
            }
        }
        files
    }

    /// Whether a part may depend on a source. A cluster does not depend on the definitions of others, nor on stacks and
    /// releases that it does not use. Shared parts may depend on all definitions of their clusters.
    fn may_reach(&self, file: &str, subject: PartSubject<'_>) -> bool {
        let PartSubject::Cluster(plan) = subject else { return true };
        let release = &plan.release;
        let borrows = plan.cluster.addons.values().any(|choice| choice.release.is_some());
        let (folder, name) = file.rsplit_once('/').unwrap_or(("", file));
        let is_in = |folder: &str| file.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
        match file.split('/').next() {
            Some("clusters") if matches!(name, "_defaults.yaml" | "_defaults.yml") => {
                plan.cluster.file.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
            }
            Some("clusters") => *plan.cluster.file == *file,
            Some("stacks") if borrows => true,
            Some("stacks") if release.is_head() => {
                let folder = self.definitions.stacks.get(&release.stack.to_string());
                let folder = folder.and_then(|folder| folder.stack.source.path.rsplit_once('/'));
                folder.is_none_or(|(folder, _)| is_in(folder))
            }
            Some("stacks") => false,
            Some("generated") => borrows || is_in(&format!("generated/releases/{}", release.name)),
            _ => true,
        }
    }

    /// Whether a source covers a line of a file, or any of its lines if `line` is none.
    pub(super) fn stands_for(&self, source: &SourcePlace, file: &str, line: Option<usize>) -> bool {
        match (&source.release, line) {
            (_, Some(line)) => self.covers(source, file, line),
            (None, None) => source.file == *file,
            (Some(release), None) => self.content(release).is_some_and(|content| content.contains_key(file)),
        }
    }
}
