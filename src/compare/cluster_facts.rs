//! The facts about a Cluster that reports and guards need.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use crate::{
    model::{Engine, KubernetesVersion, PAUSED},
    render,
    topology::{self, Pool, PoolKind, TopologyPart},
    yaml::{Mapping, Node, emit},
};

/// Facts read from a Cluster object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClusterFacts {
    /// Its class, which has the same name as its release.
    pub release: Option<String>,
    /// Its Kubernetes version as written, such as `v1.36.4`.
    pub kubernetes: Option<String>,
    /// Whether it has the annotation with which Cluster API accepts any version.
    pub any_version: bool,
    /// Whether reconciliation is paused.
    pub paused: bool,
    /// The engine that protects it from deletion through git alone, if any.
    pub keeper: Option<Engine>,
    /// Whether its management cluster is on standby.
    pub on_standby: bool,
    /// The reason for its removal, once it was detached.
    pub removal: Option<String>,
    /// The number of control plane machines.
    pub control_plane: Option<i64>,
    /// Whether an annotation pauses the control plane.
    pub control_plane_paused: bool,
    /// Its node pools, as written.
    pub pools: BTreeMap<Pool, Node>,
    /// The CIDR blocks of its pods.
    pub pods: Option<Vec<Node>>,
    /// The CIDR blocks of its services.
    pub services: Option<Vec<Node>>,
    /// A digest of its spec, without the namespace of its class.
    pub spec: [u8; 32],
}

impl ClusterFacts {
    /// Whether a Cluster with another identity is this one, moved: it has the same spec. One whose removal has begun leaves, and
    /// does not move.
    pub fn moves_to(&self, new: &Self) -> bool {
        self.removal.is_none() && self.spec == new.spec
    }

    /// Reads the facts from a Cluster object.
    pub fn of(cluster: &Node) -> Self {
        let blocks = |kind: &str| {
            let listed = cluster.at(&["spec", "clusterNetwork", kind, "cidrBlocks"]);
            listed.and_then(Node::as_sequence).filter(|all| !all.is_empty()).map(<[Node]>::to_vec)
        };
        let replicas = cluster.at(&["spec", "topology", "controlPlane", "replicas"]);
        Self {
            release: release_of(cluster),
            kubernetes: kubernetes_of(cluster),
            any_version: cluster.at(&["metadata", "annotations", topology::UNSAFE_VERSION]).is_some(),
            paused: is_paused(cluster),
            keeper: keeper(cluster),
            on_standby: cluster.at(&["metadata", "annotations", render::STANDBY]).is_some(),
            removal: text(cluster, &["metadata", "annotations", render::REMOVAL]),
            control_plane: replicas.and_then(Node::as_int),
            control_plane_paused: cluster.at(&["spec", "topology", "controlPlane"]).is_some_and(has_pause),
            pools: pools(cluster),
            pods: blocks("pods"),
            services: blocks("services"),
            spec: digest(cluster),
        }
    }

    /// Its parts that have machines.
    pub fn parts(&self) -> impl Iterator<Item = TopologyPart> {
        let pools = self.pools.keys().cloned().map(TopologyPart::Pool);
        std::iter::once(TopologyPart::ControlPlane).chain(pools)
    }

    /// Whether an annotation of its own pauses a part.
    pub fn pauses(&self, part: &TopologyPart) -> bool {
        match part {
            TopologyPart::ControlPlane => self.control_plane_paused,
            TopologyPart::Pool(pool) => self.pools.get(pool).is_some_and(has_pause),
            TopologyPart::Cluster | TopologyPart::Infrastructure => false,
        }
    }

    /// Its Kubernetes version, if it is valid.
    pub fn version(&self) -> Option<KubernetesVersion> {
        let text = self.kubernetes.as_deref()?;
        KubernetesVersion::parse(text.strip_prefix('v').unwrap_or(text)).ok()
    }

    /// The infrastructure provider. A class is named after its release, whose name begins with the provider.
    pub fn provider(&self) -> Option<&str> {
        Some(self.release.as_deref()?.split_once('-')?.0)
    }
}

/// The release of a Cluster: its class has the same name. A name that no object can have is none; a tree may be edited by hand.
pub fn release_of(cluster: &Node) -> Option<String> {
    let is_of_name =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.');
    let is_name =
        |name: &String| name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.bytes().all(is_of_name);
    text(cluster, &["spec", "topology", "classRef", "name"]).filter(is_name)
}

/// The Kubernetes version of a Cluster as written, such as `v1.36.4`.
pub fn kubernetes_of(cluster: &Node) -> Option<String> {
    text(cluster, &["spec", "topology", "version"])
}

/// Whether reconciliation of a Cluster is paused. The annotation pauses it with any value.
///
/// Source: `IsPaused` and `HasPaused` of Cluster API's `util/annotations/helpers.go`.
pub fn is_paused(cluster: &Node) -> bool {
    cluster.at(&["spec", "paused"]).and_then(Node::as_bool) == Some(true) || has_pause(cluster)
}

/// Whether the annotations of an object, or those that a topology gives to a part, pause it.
fn has_pause(object: &Node) -> bool {
    object.at(&["metadata", "annotations", PAUSED]).is_some()
}

fn keeper(cluster: &Node) -> Option<Engine> {
    let annotations = cluster.at(&["metadata", "annotations"]).and_then(Node::as_mapping);
    let mut annotations = annotations.into_iter().flat_map(Mapping::iter);
    annotations.find_map(|one| render::keeper_by(&one.key.name, one.value.as_str()?))
}

fn text(cluster: &Node, path: &[&str]) -> Option<String> {
    cluster.at(path).and_then(Node::as_str).map(str::to_owned)
}

fn digest(cluster: &Node) -> [u8; 32] {
    let mut spec = cluster.get("spec").cloned().unwrap_or_else(|| Mapping::new().into());
    let topology =
        spec.as_mapping_mut().and_then(|spec| spec.get_mut("topology")).and_then(Node::as_mapping_mut);
    if let Some(class) =
        topology.and_then(|topology| topology.get_mut("classRef")).and_then(Node::as_mapping_mut)
    {
        class.remove("namespace");
    }
    let mut text = String::new();
    emit(&spec, &mut text);
    Sha256::digest(text.as_bytes()).into()
}

fn pools(cluster: &Node) -> BTreeMap<Pool, Node> {
    let listed = |kind: PoolKind| {
        let list = cluster.at(&["spec", "topology", "workers", kind.list()]).and_then(Node::as_sequence);
        let pools = list.unwrap_or_default().iter();
        pools.filter_map(move |pool| {
            Some((Pool::new(kind, pool.get("name").and_then(Node::as_str)?), pool.clone()))
        })
    };
    PoolKind::ALL.into_iter().flat_map(listed).collect()
}
