//! Access to the repository for commands with a dry run.

use crate::{
    io::{
        disk::Workspace,
        git::{ReleaseRun, Repository},
    },
    note::Fault,
};

/// The repository, either locked for a run or opened for reading.
pub(super) enum Access {
    /// Locked: other writers must wait.
    Run(Box<ReleaseRun>),
    /// A dry run takes no lock.
    Look(Box<Repository>),
}

impl Access {
    /// Opens the repository of a fleet.
    pub(super) fn open(world: &Workspace, dry_run: bool) -> Result<Self, Fault> {
        Ok(if dry_run {
            Self::Look(Box::new(Repository::discover(world)?))
        } else {
            Self::Run(Box::new(ReleaseRun::begin(world)?))
        })
    }

    pub(super) fn repository(&self) -> &Repository {
        match self {
            Self::Run(run) => run.repository(),
            Self::Look(repository) => repository,
        }
    }

    /// The run; None for a dry run.
    pub(super) fn into_run(self) -> Option<ReleaseRun> {
        match self {
            Self::Run(run) => Some(*run),
            Self::Look(_) => None,
        }
    }
}
