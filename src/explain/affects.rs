//! What a source reaches: the answers for all lines of the tree, the other way round.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use super::{Fleet, Source};
use crate::{
    model::ClusterId,
    note::Notes,
    render::{self, Subject},
};

/// What a source reaches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reaches {
    /// The clusters.
    pub clusters: BTreeSet<ClusterId>,
    /// The generated files.
    pub files: BTreeMap<String, Reached>,
}

/// What it reaches in one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reached {
    /// The cluster that the file belongs to.
    pub cluster: Option<ClusterId>,
    /// Whether the file's path, or whether there is such a file, depends on it.
    pub moves: bool,
    /// The lines that were made from it, counted from 1.
    pub lines: Vec<usize>,
}

impl Fleet {
    /// What a line of a source reaches; what any of its lines reaches where none is given.
    pub fn affects(
        &self,
        file: &str,
        line: Option<usize>,
        progress: crate::generate::Progress<'_>,
        notes: &mut Notes,
    ) -> Reaches {
        let subjects = render::subjects(&self.plan);
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
        let mut reaches = Reaches::default();
        for (files, own) in found {
            notes.append(own);
            reaches.files.extend(files);
        }
        reaches.clusters = reaches.files.values().filter_map(|reached| reached.cluster.clone()).collect();
        reaches
    }

    fn reached(
        &self,
        subject: Subject<'_>,
        file: &str,
        line: Option<usize>,
        notes: &mut Notes,
    ) -> Vec<(String, Reached)> {
        let cluster = match subject {
            Subject::Cluster(plan) => Some(plan.cluster.id()),
            _ => None,
        };
        let meant = |source: &Source| source.decides && self.stands_for(source, file, line);
        let mut files = Vec::new();
        for (path, explained) in self.part(subject, notes) {
            let numbered = explained.iter().enumerate();
            let made = numbered.filter(|(_, line)| line.sources.iter().any(meant));
            let lines: Vec<_> = made.map(|(at, _)| at + 1).collect();
            if !lines.is_empty() {
                let moves = lines.first() == Some(&1);
                files.push((path, Reached { cluster: cluster.clone(), moves, lines }));
            }
        }
        files
    }

    /// Whether a source stands for a line of a file, or for any of its lines.
    fn stands_for(&self, source: &Source, file: &str, line: Option<usize>) -> bool {
        match (&source.release, line) {
            (_, Some(line)) => self.covers(source, file, line),
            (None, None) => source.file == file,
            (Some(release), None) => {
                let first = (file.to_owned(), 0);
                let content = self.content(release);
                content.is_some_and(|content| content.range(first..).next().is_some_and(|at| at.0 == file))
            }
        }
    }
}
