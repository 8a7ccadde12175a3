//! Gets the health of clusters: from a report, or from commit statuses.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
};

use serde::Deserialize;

use crate::{
    cli::Printer,
    generate::Understood,
    io::{
        disk::read_file,
        forge::ForgeRepository,
        git::{Changed, Repository},
        net,
    },
    model::Cluster,
    note::{Fault, Notes},
    pull_request, render, rollout,
};

/// The number of commits to look up, from the newest one back. Health after an older change is unknown.
const COMMITS: usize = 50;

/// The source that `--health` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// A report in a file.
    File(PathBuf),
    /// A report at an address.
    Address(String),
    /// The commit statuses that the engine's notifications publish.
    CommitStatuses,
}

impl Source {
    const COMMIT_STATUSES: &str = "commit-statuses";
}

impl FromStr for Source {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "" => return Err("name a file, an address, or `commit-statuses`".to_owned()),
            Self::COMMIT_STATUSES => Self::CommitStatuses,
            _ if ["https://", "http://"].iter().any(|scheme| text.starts_with(scheme)) => {
                Self::Address(text.to_owned())
            }
            _ => Self::File(PathBuf::from(text)),
        })
    }
}

/// Shows the option without its file or address, because an address may contain a secret.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::File(_) => "FILE",
            Self::Address(_) => "ADDRESS",
            Self::CommitStatuses => Self::COMMIT_STATUSES,
        })
    }
}

/// The health of clusters by name, each with the commit that it was reported for.
#[derive(Debug, Default)]
pub(super) struct Health(BTreeMap<String, (bool, Option<String>)>);

/// The JSON form of a report.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Report {
    clusters: Vec<Entry>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// `<namespace>/<name>`, optionally preceded by the management cluster.
    name: String,
    healthy: bool,
    /// The commit that the engine has applied.
    revision: Option<String>,
}

/// A request for health: the clusters that a rollout changed, each with its last change, and the newest commit.
pub(super) struct Asked<'a> {
    pub(super) fleet: &'a Understood,
    pub(super) clusters: &'a [&'a Cluster],
    pub(super) changed: &'a BTreeMap<String, Changed>,
    pub(super) repository: Option<(&'a Repository, &'a str)>,
    /// Prints the reason for a pause.
    pub(super) printer: &'a Printer,
}

impl Health {
    pub(super) fn read(source: &Source, asked: &Asked<'_>, notes: &mut Notes) -> Result<Self, Fault> {
        match source {
            Source::File(path) => {
                let shown = format!("`{}`", path.display());
                Ok(Self::parse(&of_file(path)?, &shown)?.without_ambiguous(asked.fleet, &shown, notes))
            }
            Source::Address(address) => {
                let shown = "the answer of --health";
                Ok(Self::parse(&net::health_report(address)?, shown)?.without_ambiguous(
                    asked.fleet,
                    shown,
                    notes,
                ))
            }
            Source::CommitStatuses => Self::of_statuses(asked, notes),
        }
    }

    fn parse(bytes: &[u8], shown: &str) -> Result<Self, Fault> {
        let report: Report = serde_json::from_slice(bytes).map_err(|error| {
            Fault::because(format!("{shown} is not a report on the health of clusters"), error)
                .hint(
                    "write `{\"clusters\": [{\"name\": \"team-a/prod-1\", \"healthy\": true, \"revision\": \"main@sha1:<commit>\"}]}`; \
                     docs/upgrades.md shows how to make one",
                )
        })?;
        let mut found = BTreeMap::new();
        for Entry { name, healthy, revision } in report.clusters {
            if !name.contains('/') {
                return Err(Fault::new(format!("{shown} names the cluster `{name}` without its namespace"))
                    .hint("write `<namespace>/<name>`; clusters of other fleets may be in the report, too"));
            }
            if let Some(wrong) =
                revision.as_deref().filter(|revision| !is_commit(render::commit_in_revision(revision)))
            {
                return Err(Fault::new(format!(
                    "{shown} has the revision `{wrong}` for `{name}`, which names no commit"
                ))
                .hint("report the full ID of the commit that the engine has applied, such as `main@sha1:<40 digits>`"));
            }
            if found.insert(name.clone(), (healthy, revision)).is_some() {
                return Err(Fault::new(format!("{shown} has two entries for `{name}`")).hint(
                    "report each cluster once; name the management cluster if two have clusters of one name",
                ));
            }
        }
        Ok(Self(found))
    }

    /// Leaves out names without a management cluster that several clusters have.
    fn without_ambiguous(mut self, fleet: &Understood, shown: &str, notes: &mut Notes) -> Self {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for cluster in &fleet.model.clusters {
            *counts.entry(cluster.id().to_string()).or_default() += 1;
        }
        let is_clear = |name: &String| counts.get(name).is_none_or(|count| *count == 1);
        for name in self.0.keys().filter(|name| !is_clear(name)) {
            let message = format!(
                "{shown} names `{name}`, but several management clusters have it, so the entry counts for none"
            );
            notes
                .warning("ambiguous-status", None, message)
                .hint("write the management cluster, too: `<management cluster>/<namespace>/<name>`");
        }
        self.0.retain(|name, _| is_clear(name));
        self
    }

    /// Reads commit statuses. A status counts only on a commit that contains the cluster's last change.
    fn of_statuses(asked: &Asked<'_>, notes: &mut Notes) -> Result<Self, Fault> {
        let mut open = asked.objects(notes);
        let mut found = Self::default();
        if open.is_empty() {
            return Ok(found);
        }
        let (Some((repository, tip)), forge) = (asked.repository, asked.forge()?) else { return Ok(found) };
        let mut is_known = false;
        for commit in repository.first_parents(tip, COMMITS)? {
            if open.is_empty() {
                break;
            }
            if let Some(statuses) = forge.statuses(&commit)? {
                is_known = true;
                let health = rollout::health(&statuses);
                for (name, object, _) in &open {
                    if let Some(is_healthy) = health.get(object.as_str()) {
                        found.0.insert(name.clone(), (*is_healthy, Some(commit.clone())));
                    }
                }
            }
            open.retain(|(name, _, changed)| !found.0.contains_key(name) && *changed != commit);
        }
        if !is_known {
            return Err(Fault::new("the forge does not have the commits of this branch")
                .hint("push them; check that `forge` in stackloom.yaml names the right repository, and that the token may see it"));
        }
        Ok(found)
    }

    /// The reported health of a cluster, and the commit that it was reported for.
    pub(super) fn of(&self, cluster: &Cluster) -> Option<(bool, Option<&str>)> {
        let entry = self.0.get(&cluster.full_name()).or_else(|| self.0.get(&cluster.id().to_string()));
        entry.map(|(is_healthy, revision)| (*is_healthy, revision.as_deref()))
    }
}

/// Whether a text is the full ID of a commit, with SHA-1 or SHA-256. A branch or `HEAD` would name a commit of this clone.
fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

impl<'a> Asked<'a> {
    /// The changed clusters: the name, the engine's object that shows the health, the commit. Leaves out objects that several
    /// clusters share.
    fn objects(&self, notes: &mut Notes) -> Vec<(String, String, &'a str)> {
        let (mut all, mut shared) = (BTreeSet::new(), BTreeSet::new());
        for object in self.fleet.model.clusters.iter().map(render::health_of) {
            if !all.insert(object.clone()) {
                shared.insert(object);
            }
        }
        let mut found = Vec::new();
        for cluster in self.clusters {
            let Some(changed) = self.changed.get(&cluster.full_name()) else { continue };
            let object = render::health_of(cluster);
            if shared.contains(&object) {
                let message = format!(
                    "commit statuses cannot distinguish the cluster {} from one of the same name in another management cluster",
                    cluster.id()
                );
                notes
                    .warning("ambiguous-status", None, message)
                    .hint("use a report that names the management cluster");
            } else {
                found.push((cluster.full_name(), object, changed.commit.as_str()));
            }
        }
        found
    }

    fn forge(&self) -> Result<ForgeRepository<'a>, Fault> {
        let (repository, _) = self.repository.ok_or_else(|| Fault::new("there is no git repository"))?;
        forge(repository, self.fleet, self.printer)
    }
}

/// The forge of the git remote.
pub(super) fn forge<'a>(
    repository: &Repository,
    fleet: &Understood,
    printer: &'a Printer,
) -> Result<ForgeRepository<'a>, Fault> {
    let remote = repository.remote()?;
    let hint = "set `forge` in stackloom.yaml to where the repository is";
    let address = pull_request::address(&remote.url, fleet.model.fleet.forge.as_ref());
    let address = address.map_err(|why| Fault::new(why).hint(hint))?.ok_or_else(|| {
        Fault::new(format!("the git remote `{}` is not known to be on a forge", remote.name)).hint(hint)
    })?;
    ForgeRepository::open(&address, |words| printer.talk(words))
}

fn of_file(path: &Path) -> Result<Vec<u8>, Fault> {
    read_file(path)?.ok_or_else(|| {
        Fault::new(format!("there is no file `{}`", path.display())).hint(
            "--health names a report on the health of clusters: a file, an address, or `commit-statuses`",
        )
    })
}
