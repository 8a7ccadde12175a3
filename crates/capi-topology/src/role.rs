//! The parts of a cluster, and the roles of its objects.
//!
//! These are types rather than text such as `md.<name>.bootstrap`: pool names may contain dots, so such text is ambiguous.
//! [`TopologyPart`]'s and [`Role`]'s `Display` produce text for output only; nothing parses it.

use std::fmt;

/// Machine deployments or machine pools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PoolKind {
    /// Cluster API creates each machine, and replaces it in a rollout.
    MachineDeployment,
    /// The infrastructure provider manages the machines as a group.
    MachinePool,
}

impl PoolKind {
    /// Both kinds, in the order in which the controller reconciles them.
    pub const ALL: [Self; 2] = [Self::MachineDeployment, Self::MachinePool];

    /// The kind of the objects.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MachineDeployment => "MachineDeployment",
            Self::MachinePool => "MachinePool",
        }
    }

    /// The field that lists them, below `spec.topology.workers` of a Cluster and below `spec.workers` of a class.
    pub fn list(self) -> &'static str {
        match self {
            Self::MachineDeployment => "machineDeployments",
            Self::MachinePool => "machinePools",
        }
    }

    /// The prefix in displayed names.
    fn short(self) -> &'static str {
        match self {
            Self::MachineDeployment => "md",
            Self::MachinePool => "mp",
        }
    }
}

/// A pool of a topology. A machine deployment and a machine pool may share a name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Pool {
    /// Machine deployment or machine pool.
    pub kind: PoolKind,
    /// Its name in the topology.
    pub name: String,
}

impl Pool {
    /// Creates a pool from its kind and name.
    pub fn new(kind: PoolKind, name: &str) -> Self {
        Self { kind, name: name.to_owned() }
    }

    /// The role of one of its objects.
    pub fn role(self, object: PoolObject) -> Role {
        Role::Pool(self, object)
    }
}

/// The role of an object within a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PoolObject {
    /// The machine deployment or machine pool itself.
    Own,
    /// Its bootstrap template, or the bootstrap config of a machine pool.
    Bootstrap,
    /// The `MachineHealthCheck` that replaces its unhealthy machines.
    HealthCheck,
    /// Its machine template, or the infrastructure of a machine pool.
    Infrastructure,
}

/// A part of a cluster that changes on its own and gets its own verdict.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TopologyPart {
    /// The Cluster; in a verdict, it stands for the whole cluster.
    Cluster,
    /// The control plane with its machines.
    ControlPlane,
    /// The infrastructure cluster.
    Infrastructure,
    /// A pool with its machines.
    Pool(Pool),
}

impl TopologyPart {
    /// Creates a part for a pool of this kind and name.
    pub fn pool(kind: PoolKind, name: &str) -> Self {
        Self::Pool(Pool::new(kind, name))
    }

    /// The role of the part's main object. A part also has other objects.
    pub fn own(&self) -> Role {
        match self {
            Self::Cluster => Role::Cluster,
            Self::ControlPlane => Role::ControlPlane,
            Self::Infrastructure => Role::Infrastructure,
            Self::Pool(pool) => Role::Pool(pool.clone(), PoolObject::Own),
        }
    }

    /// The pool, if the part is one.
    pub fn as_pool(&self) -> Option<&Pool> {
        match self {
            Self::Pool(pool) => Some(pool),
            _ => None,
        }
    }

    /// Reports whether the part is a pool of this kind.
    pub fn is_of(&self, kind: PoolKind) -> bool {
        self.as_pool().is_some_and(|pool| pool.kind == kind)
    }

    /// Describes the part in words.
    pub fn in_words(&self) -> String {
        match self {
            Self::Cluster => "cluster".to_owned(),
            Self::ControlPlane => "control plane".to_owned(),
            Self::Infrastructure => "infrastructure".to_owned(),
            Self::Pool(Pool { kind: PoolKind::MachineDeployment, name }) => format!("pool {name}"),
            Self::Pool(Pool { kind: PoolKind::MachinePool, name }) => format!("machine pool {name}"),
        }
    }
}

/// The role of an object within a cluster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// The Cluster that holds the topology.
    Cluster,
    /// The object that owns the machines of the control plane, such as a `KubeadmControlPlane`.
    ControlPlane,
    /// The `MachineHealthCheck` that replaces unhealthy machines of the control plane.
    ControlPlaneHealthCheck,
    /// The template of the control plane's machines.
    ControlPlaneMachines,
    /// The infrastructure cluster.
    Infrastructure,
    /// A pool's own object, or one that belongs to it.
    Pool(Pool, PoolObject),
}

impl Role {
    /// The part that the object belongs to.
    pub fn part(&self) -> TopologyPart {
        match self {
            Self::Cluster => TopologyPart::Cluster,
            Self::ControlPlane | Self::ControlPlaneHealthCheck | Self::ControlPlaneMachines => {
                TopologyPart::ControlPlane
            }
            Self::Infrastructure => TopologyPart::Infrastructure,
            Self::Pool(pool, _) => TopologyPart::Pool(pool.clone()),
        }
    }

    /// Reports whether the object belongs to a part.
    pub fn is_of(&self, part: &TopologyPart) -> bool {
        match (self, part) {
            (Self::Pool(own, _), TopologyPart::Pool(pool)) => own == pool,
            (Self::Pool(..), _) | (_, TopologyPart::Pool(_)) => false,
            _ => self.part() == *part,
        }
    }

    /// Reports whether the object is a health check.
    pub fn is_health_check(&self) -> bool {
        matches!(self, Self::ControlPlaneHealthCheck | Self::Pool(_, PoolObject::HealthCheck))
    }
}

/// Writes `md.<name>`. Brackets enclose an empty name, and one that contains characters other than letters, digits and
/// dashes, like keys in Kubernetes field paths.
impl fmt::Display for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, name } = self;
        let is_plain = |one: u8| one.is_ascii_alphanumeric() || one == b'-';
        if !name.is_empty() && name.bytes().all(is_plain) {
            write!(f, "{}.{name}", kind.short())
        } else {
            write!(f, "{}[{name}]", kind.short())
        }
    }
}

impl fmt::Display for TopologyPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cluster => f.write_str("cluster"),
            Self::ControlPlane => f.write_str("control-plane"),
            Self::Infrastructure => f.write_str("infrastructure-cluster"),
            Self::Pool(pool) => pool.fmt(f),
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ControlPlaneHealthCheck => f.write_str("control-plane.health-check"),
            Self::ControlPlaneMachines => f.write_str("control-plane.machine-template"),
            Self::Cluster | Self::ControlPlane | Self::Infrastructure => self.part().fmt(f),
            Self::Pool(pool, PoolObject::Own) => pool.fmt(f),
            Self::Pool(pool, PoolObject::Bootstrap) => write!(f, "{pool}.bootstrap"),
            Self::Pool(pool, PoolObject::HealthCheck) => write!(f, "{pool}.health-check"),
            Self::Pool(pool, PoolObject::Infrastructure) => write!(f, "{pool}.infrastructure"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const NAMES: [&str; 9] = [
        "gpu",
        "gpu-a",
        "gpu.a",
        "gpu.bootstrap",
        "gpu.a.bootstrap",
        "gpu.infrastructure",
        "gpu.health-check",
        "md.gpu",
        "control-plane",
    ];
    const OBJECTS: [PoolObject; 4] =
        [PoolObject::Own, PoolObject::Bootstrap, PoolObject::HealthCheck, PoolObject::Infrastructure];

    #[test]
    fn no_two_roles_share_a_text() {
        let pools = PoolKind::ALL.into_iter().flat_map(|kind| NAMES.map(|name| Pool::new(kind, name)));
        let of_pools = pools.flat_map(|pool| OBJECTS.map(|object| pool.clone().role(object)));
        let others = [
            Role::Cluster,
            Role::ControlPlane,
            Role::ControlPlaneHealthCheck,
            Role::ControlPlaneMachines,
            Role::Infrastructure,
        ];
        let all: Vec<Role> = of_pools.chain(others).collect();
        let texts: BTreeSet<String> = all.iter().map(Role::to_string).collect();
        assert_eq!(texts.len(), all.len());
    }

    #[test]
    fn an_object_belongs_to_its_own_part_alone() {
        let of = |name, object| Pool::new(PoolKind::MachineDeployment, name).role(object);
        let part = |name| TopologyPart::pool(PoolKind::MachineDeployment, name);
        assert!(of("gpu", PoolObject::Bootstrap).is_of(&part("gpu")));
        assert!(!of("gpu.bootstrap", PoolObject::Own).is_of(&part("gpu")));
        assert!(!of("gpu.a", PoolObject::Bootstrap).is_of(&part("gpu")));
        assert!(!of("gpu", PoolObject::Own).is_of(&TopologyPart::pool(PoolKind::MachinePool, "gpu")));
        assert!(Role::ControlPlaneMachines.is_of(&TopologyPart::ControlPlane));
        assert!(!Role::Cluster.is_of(&TopologyPart::ControlPlane));
    }
}
