//! The classes of changes that make a run fail (`--fail-on`).

use std::{collections::BTreeSet, fmt, str::FromStr};

use crate::report::{Report, Risk};

/// What is deleted without the steps of `stackloom remove`.
pub(in crate::cli) const UNANNOUNCED: &str = "unannounced-deletes";

/// How many names a message has.
const SHOWN: usize = 3;

/// The changes that make a run fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FailOn {
    /// Changes of this class.
    Risk(Risk),
    /// Objects that are deleted without the steps of a removal.
    UnannouncedDeletes,
}

impl FromStr for FailOn {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        if word == UNANNOUNCED {
            return Ok(Self::UnannouncedDeletes);
        }
        let known: Vec<_> = Risk::ALL.into_iter().map(Risk::as_str).collect();
        Risk::parse(word)
            .map(Self::Risk)
            .ok_or_else(|| format!("there is no such class; use {}, {UNANNOUNCED}", known.join(", ")))
    }
}

impl fmt::Display for FailOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Risk(risk) => risk.as_str(),
            Self::UnannouncedDeletes => UNANNOUNCED,
        })
    }
}

impl FailOn {
    /// Where a report has changes of this class, in words; none if nowhere.
    pub(super) fn found_in(self, report: &Report) -> Option<String> {
        let mut clusters = BTreeSet::new();
        for one in &report.clusters {
            let is_it = |risk: Risk, unannounced: bool| match self {
                Self::Risk(class) => risk == class,
                Self::UnannouncedDeletes => unannounced,
            };
            let mut open = one.changes.iter().filter(|change| change.accepted.is_none());
            if open.any(|change| is_it(change.risk, change.is_unannounced())) {
                clusters.insert(one.shown_name());
            }
        }
        let beside = report.beside.iter().filter(|one| match self {
            Self::Risk(class) => one.accepted.is_none() && one.risk == class,
            Self::UnannouncedDeletes => report.is_unannounced(one),
        });
        let beside = beside.count();
        let count = clusters.len();
        let names = clusters.into_iter().take(SHOWN).collect::<Vec<_>>().join(", ");
        let more = if count > SHOWN { format!(" and {} more", count - SHOWN) } else { String::new() };
        let outside = match beside {
            0 => String::new(),
            1 => "1 change outside clusters".to_owned(),
            many => format!("{many} changes outside clusters"),
        };
        match (count, beside) {
            (0, 0) => None,
            (0, _) => Some(outside),
            (_, 0) => Some(format!("{names}{more}")),
            _ => Some(format!("{names}{more}; {outside}")),
        }
    }
}
