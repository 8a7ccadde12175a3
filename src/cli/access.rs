//! How a command that may write has the repository.

use crate::{
    io::{
        disk::Workspace,
        git::{ReleaseRun, Repository},
    },
    note::Fault,
};

/// The repository, locked for a run, or to look at alone.
pub(super) enum Access {
    /// Other writers wait.
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

    /// The repository.
    pub(super) fn repository(&self) -> &Repository {
        match self {
            Self::Run(run) => run.repository(),
            Self::Look(repository) => repository,
        }
    }

    /// The run; a dry one has none.
    pub(super) fn into_run(self) -> Option<ReleaseRun> {
        match self {
            Self::Run(run) => Some(*run),
            Self::Look(_) => None,
        }
    }
}
