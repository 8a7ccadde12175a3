//! Why a verdict is as it is: [`Reason`].

use std::cmp::Ordering;
use std::fmt;

/// A reason for a verdict. It prints as words, those of Cluster API where it has any.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// Machines run another Kubernetes version than the one required.
    Version {
        /// The version that they run.
        from: String,
        /// The required version.
        to: String,
    },
    /// Machines were made from an object that has changed since.
    NotUpToDate {
        /// Its kind, without `Template`.
        kind: String,
    },
    /// Machines are in another failure domain than the one required. An empty name means that none is set.
    FailureDomain {
        /// The failure domain that they are in.
        from: String,
        /// The required failure domain.
        to: String,
    },
    /// `rollout.after` is a new time, and it is unknown whether it has come.
    RolloutAfter {
        /// The kind of the object that sets it.
        kind: &'static str,
        /// The time, as written.
        at: String,
    },
    /// The time of `rollout.after` has come since the machines were created.
    RolloutAfterExpired {
        /// The kind of the object that sets it.
        kind: &'static str,
    },
    /// Machines are replaced if their certificates expire soon.
    CertificatesExpire {
        /// How soon that is, in days.
        days: i64,
    },
    /// What a machine pool makes its machines from changes.
    MachinePoolChanged(MachinePoolPart),
    /// A remark on the rollout.
    Note(Note),
    /// A rollout was under way, and the change may take back what it is for.
    MayRevert {
        /// The number of machines that were not replaced yet.
        left: i64,
    },
    /// A control plane of a provider's own kind is no longer paused.
    ChangesWhilePaused {
        /// The kind of the control plane's object.
        kind: String,
    },
    /// Machines were outdated already, and nothing keeps them any more.
    Released {
        /// What kept them.
        keeper: Keeper,
        /// Their number.
        count: i64,
    },
    /// Nothing keeps outdated machines any more, but whether there are any is unknown.
    PerhapsReleased {
        /// What kept them.
        keeper: Keeper,
        /// The kind of the object whose status would show them.
        kind: String,
        /// Whether that status was read, but is older than the object.
        is_late: bool,
    },
    /// The part scales.
    Scales {
        /// The number of machines before.
        from: i64,
        /// The number of machines after.
        to: i64,
        /// Whether that comes on top of the verdict.
        is_added: bool,
    },
    /// Nothing sets the number of machines of a pool before the change, so it is unknown.
    Uncounted {
        /// Whether an autoscaler sets it.
        is_autoscaled: bool,
        /// The number that the change sets, if nothing else does.
        set_to: Option<i64>,
    },
    /// The infrastructure provider refuses to change a field.
    Immutable {
        /// The path of the field below `spec`.
        path: Vec<String>,
    },
    /// The part is new, and its health check counts healthy machines as unhealthy.
    ReplacesHealthy {
        /// How the check describes these machines, in words.
        machines: String,
    },
    /// Anything else, in words: refusals, unknown facts and remarks.
    Words(String),
}

/// What the machines of a machine pool are made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MachinePoolPart {
    /// `spec.template`, which says how machines are made.
    MachineTemplate,
    /// The object that the machines boot with.
    Bootstrap,
    /// The object of the infrastructure provider.
    Infrastructure,
}

/// What kept outdated machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeper {
    /// The part was paused.
    Pause,
    /// The strategy of the pool was `OnDelete`.
    OnDelete,
}

/// A remark on a rollout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Note {
    /// The strategy is `OnDelete`: nothing is replaced before someone deletes it.
    OnDelete,
    /// Only machines older than `rollout.after` are replaced.
    Older,
    /// Only the one machine that joined is replaced.
    TheJoined,
    /// Only machines that joined are replaced.
    Joined,
    /// Only the machine that kubeadm init created is replaced.
    Init,
    /// The provider decides.
    Provider,
    /// The part is new.
    Created,
    /// The part goes.
    Deleted,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version { from, to } => write!(f, "Version {from}, {to} required"),
            Self::NotUpToDate { kind } => write!(f, "{kind} is not up-to-date"),
            Self::FailureDomain { from, to } => write!(f, "Failure domain {from}, {to} required"),
            Self::RolloutAfter { kind, at } => write!(f, "{kind} spec.rollout.after is {at}"),
            Self::RolloutAfterExpired { kind } => write!(f, "{kind} spec.rolloutAfter expired"),
            Self::CertificatesExpire { days } => write!(
                f,
                "spec.rollout.before: machines whose certificates expire within {days} days are replaced; \
                 whether there are any is not known offline"
            ),
            Self::MachinePoolChanged(part) => write!(f, "{} changed", part.words()),
            Self::Note(note) => note.fmt(f),
            Self::MayRevert { left } => write!(
                f,
                "machines are already being replaced: if the change reverts that, the remaining ones ({left}) stay"
            ),
            Self::ChangesWhilePaused { kind } => {
                write!(f, "{}: changes to its {kind} in the meantime take effect now", Keeper::Pause.ends())
            }
            Self::Released { keeper, count } => write!(
                f,
                "{}: the machines that an earlier change made outdated ({count}) are replaced now",
                keeper.ends()
            ),
            Self::PerhapsReleased { keeper, kind, is_late } => {
                write!(
                    f,
                    "{}: machines that an earlier change made outdated are replaced now{}; whether there are any is not known",
                    keeper.ends(),
                    if *keeper == Keeper::Pause { ", and missing ones are created" } else { "" }
                )?;
                match is_late {
                    true => f.write_str(": its status is older than its last change"),
                    false => write!(f, "; the status of its running {kind} would show that"),
                }
            }
            Self::Scales { from, to, is_added } => {
                write!(f, "it scales from {from} to {to}{}", if *is_added { ", too" } else { "" })
            }
            Self::Uncounted { is_autoscaled, set_to } => {
                f.write_str(if *is_autoscaled {
                    "the autoscaler sets the number of machines, so the current number is unknown"
                } else {
                    "no replica count was set before, so the current number of machines is unknown"
                })?;
                set_to.map_or(Ok(()), |count| write!(f, ": now it is set to {count}"))
            }
            Self::Immutable { path } => write!(f, "spec.{} is immutable", path.join(".")),
            Self::ReplacesHealthy { machines } => write!(
                f,
                "its MachineHealthCheck deletes and replaces machines {machines}: that includes healthy machines, so it keeps \
                 replacing them as far as its limits allow"
            ),
            Self::Words(words) => f.write_str(words),
        }
    }
}

impl MachinePoolPart {
    fn words(self) -> &'static str {
        match self {
            Self::MachineTemplate => "machine template",
            Self::Bootstrap => "bootstrap config",
            Self::Infrastructure => "infrastructure",
        }
    }
}

impl Keeper {
    fn ends(self) -> &'static str {
        match self {
            Self::Pause => "it is no longer paused",
            Self::OnDelete => "its strategy is no longer OnDelete",
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OnDelete => "machines are replaced when they are deleted",
            Self::Older => "only machines created before that time, once it has come",
            Self::TheJoined => "only the joined machine",
            Self::Joined => {
                "only machines that joined: the one that kubeadm init created stays, if it still runs"
            }
            Self::Init => "only the machine that kubeadm init created, if it still runs",
            Self::Provider => "decided by the infrastructure provider",
            Self::Created => "created with its machines",
            Self::Deleted => "deleted with its machines",
        })
    }
}

/// Reasons of one rule are shown in the order of their words.
impl Ord for Reason {
    fn cmp(&self, other: &Self) -> Ordering {
        self.to_string().cmp(&other.to_string())
    }
}

impl PartialOrd for Reason {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl From<Note> for Reason {
    fn from(note: Note) -> Self {
        Self::Note(note)
    }
}

impl From<String> for Reason {
    fn from(words: String) -> Self {
        Self::Words(words)
    }
}

impl From<&String> for Reason {
    fn from(words: &String) -> Self {
        Self::Words(words.clone())
    }
}

impl From<&str> for Reason {
    fn from(words: &str) -> Self {
        Self::Words(words.to_owned())
    }
}
