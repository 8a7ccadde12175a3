//! Risk classes of changes. Each change has one; they are ordered, and a cluster has the highest of its changes.
//!
//! Unknown effects rank above any replacement of machines and never count as safe.

use crate::topology::{Meaning, TopologyPart};

/// The risk of a change, lowest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Risk {
    /// Nothing happens.
    #[default]
    Nothing,
    /// Labels and annotations change.
    Metadata,
    /// Something is created or changed in place. No machine is removed and no workload restarts.
    InPlace,
    /// Addons change, so their workloads may restart.
    Restarts,
    /// The number of machines shrinks, without replacements.
    ScaleDown,
    /// Machines of a pool are replaced.
    Pools,
    /// Machines of a control plane are replaced.
    ControlPlane,
    /// The effect is unknown.
    Unknown,
    /// A cluster, a pool, an addon or another object is deleted or no longer managed.
    Deletes,
    /// The change is refused or gets stuck halfway.
    Refused,
}

impl Risk {
    /// All classes, worst first.
    pub const ALL: [Self; 10] = [
        Self::Refused,
        Self::Deletes,
        Self::Unknown,
        Self::ControlPlane,
        Self::Pools,
        Self::ScaleDown,
        Self::Restarts,
        Self::InPlace,
        Self::Metadata,
        Self::Nothing,
    ];

    /// The word for options and machine-readable output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Deletes => "deletes",
            Self::Unknown => "unknown",
            Self::ControlPlane => "control-plane",
            Self::Pools => "pools",
            Self::ScaleDown => "scale-down",
            Self::Restarts => "restarts",
            Self::InPlace => "in-place",
            Self::Metadata => "metadata",
            Self::Nothing => "nothing",
        }
    }

    /// The heading in reports.
    pub fn title(self) -> &'static str {
        match self {
            Self::Refused => "Refused or stuck",
            Self::Deletes => "Deletes or leaves unmanaged",
            Self::Unknown => "Unknown",
            Self::ControlPlane => "Replaces control plane machines",
            Self::Pools => "Replaces pool machines",
            Self::ScaleDown => "Removes machines (scales down)",
            Self::Restarts => "May restart workloads (addons)",
            Self::InPlace => "In place",
            Self::Metadata => "Metadata only (labels, annotations)",
            Self::Nothing => "Nothing",
        }
    }

    /// Parses the word used in options and machine-readable output.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == word)
    }

    /// The risk of a verdict on a part of a cluster.
    pub fn of(part: &TopologyPart, meaning: &Meaning) -> Self {
        let machines = match part {
            TopologyPart::ControlPlane => Self::ControlPlane,
            TopologyPart::Pool(_) => Self::Pools,
            // Neither has machines that could be identified.
            TopologyPart::Infrastructure | TopologyPart::Cluster => Self::Unknown,
        };
        match meaning {
            Meaning::NoChange => Self::Nothing,
            Meaning::MetadataOnly => Self::Metadata,
            Meaning::InPlace | Meaning::Create => Self::InPlace,
            Meaning::Scale { from, to } if from <= to => Self::InPlace,
            Meaning::Scale { .. } if machines == Self::Unknown => Self::Unknown,
            Meaning::Scale { .. } => Self::ScaleDown,
            Meaning::Rollout { .. } | Meaning::Upgrade { .. } => machines,
            Meaning::ProviderDependent | Meaning::Opaque => Self::Unknown,
            Meaning::Delete => Self::Deletes,
            Meaning::Rejected | Meaning::Wedged => Self::Refused,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::PoolKind;

    #[test]
    fn the_order_is_that_of_reports() {
        assert!(Risk::ALL.windows(2).all(|pair| pair[0] > pair[1]));
        assert_eq!(Risk::ALL.len(), Risk::ALL[0] as usize + 1, "a class is missing");
        assert!(Risk::ALL.iter().all(|one| Risk::parse(one.as_str()) == Some(*one)));
    }

    #[test]
    fn every_class_of_a_change_can_be_accepted() {
        for risk in Risk::ALL.into_iter().filter(|one| *one != Risk::Nothing) {
            let word = serde_json::Value::from(risk.as_str());
            let read = serde_json::from_value::<crate::definition::AcceptedRisk>(word);
            assert!(read.is_ok(), "{}", risk.as_str());
        }
    }

    fn meanings() -> Vec<(Meaning, [Risk; 4])> {
        use Risk::{ControlPlane, Deletes, InPlace, Metadata, Nothing, Pools, Refused, ScaleDown, Unknown};
        let rollout = |machines, on_delete| Meaning::Rollout {
            machines,
            least: 0,
            surge: None,
            together_with: Vec::new(),
            on_delete,
        };
        let upgrade = Meaning::Upgrade {
            from: "1".into(),
            to: "2".into(),
            times: 1,
            unaided: 1,
            surge: None,
            on_delete: false,
        };
        let replaced = [Unknown, ControlPlane, Unknown, Pools];
        vec![
            (Meaning::NoChange, [Nothing; 4]),
            (Meaning::MetadataOnly, [Metadata; 4]),
            (Meaning::InPlace, [InPlace; 4]),
            (Meaning::Create, [InPlace; 4]),
            (Meaning::Scale { from: 1, to: 3 }, [InPlace; 4]),
            (Meaning::Scale { from: 3, to: 1 }, [Unknown, ScaleDown, Unknown, ScaleDown]),
            (rollout(3, false), replaced),
            // It is not certain that there will be no machine by then.
            (rollout(0, true), replaced),
            (upgrade, replaced),
            (Meaning::ProviderDependent, [Unknown; 4]),
            (Meaning::Opaque, [Unknown; 4]),
            (Meaning::Delete, [Deletes; 4]),
            (Meaning::Rejected, [Refused; 4]),
            (Meaning::Wedged, [Refused; 4]),
        ]
    }

    #[test]
    fn every_verdict_on_every_part_has_its_class() {
        let pool = TopologyPart::pool(PoolKind::MachineDeployment, "md-0");
        let parts = [TopologyPart::Cluster, TopologyPart::ControlPlane, TopologyPart::Infrastructure, pool];
        for (meaning, expected) in meanings() {
            let found = parts.clone().map(|part| Risk::of(&part, &meaning));
            assert_eq!(found, expected, "{meaning:?}");
        }
    }
}
