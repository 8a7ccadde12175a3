//! Lowering clusters: each over its folders' defaults, one by one; what concerns several of them comes last.

use std::{collections::BTreeMap, sync::Arc};

use super::{Lowering, label, pools, text};
use crate::{
    definition::{closest, layers::merged, parse::Layer},
    model::{
        AddonChoice, Cluster, ControlPlane, Fleet, Label, ManagementCluster, Minor, Network, ReleaseRef,
        StackId, Subdomain,
    },
    note::{Notes, Place},
    world::Input,
    yaml::{Mapping, Node, Origin},
};

pub(super) fn lower_all(
    context: &Lowering<'_>,
    fleet: &Fleet,
    input: &Input,
    notes: &mut Notes,
) -> Vec<Cluster> {
    use rayon::prelude::*;
    let one = |layer: &Layer| {
        let mut own = Notes::new();
        let cluster =
            One { context, fleet, input, layer, node: merged(context.definitions, layer) }.lower(&mut own);
        (cluster, own)
    };
    let lowered: Vec<_> = context.definitions.clusters.par_iter().map(one).collect();
    let mut clusters = Vec::new();
    for (cluster, own) in lowered {
        clusters.extend(cluster);
        notes.append(own);
    }
    let identity = |cluster: &Cluster| {
        (cluster.management.name.clone(), cluster.namespace.clone(), cluster.name.clone())
    };
    clusters.sort_by_cached_key(|cluster| (identity(cluster), cluster.file.clone()));
    for pair in clusters.windows(2) {
        if identity(&pair[0]) == identity(&pair[1]) {
            let message =
                format!("there are two clusters `{}` in the namespace `{}`", pair[1].name, pair[1].namespace);
            let note = notes.error("duplicate", context.place(pair[1].origin), message);
            note.hint("give one of them another name or namespace");
            if let Some(place) = context.place(pair[0].origin) {
                note.related("the other one", place);
            }
        }
    }
    check_folders(context, input, notes);
    clusters
}

/// A `<cluster>.d` folder beside no definition would be applied by nobody.
fn check_folders(context: &Lowering<'_>, input: &Input, notes: &mut Notes) {
    for folder in &input.companions {
        let stem = folder.trim_end_matches(".d");
        let beside = |layer: &Layer| {
            let path = &*layer.source.path;
            path.strip_prefix(stem).is_some_and(|rest| rest == ".yaml" || rest == ".yml")
        };
        if !context.definitions.clusters.iter().any(beside) {
            notes
                .error("stray-folder", Place::file(folder.as_str()), format!("no cluster is defined in `{stem}.yaml`, so nobody applies this folder"))
                .hint("name the folder after the file of a cluster definition, with `.d` in the place of `.yaml`");
        }
    }
}

struct One<'a> {
    context: &'a Lowering<'a>,
    fleet: &'a Fleet,
    input: &'a Input,
    layer: &'a Layer,
    node: Node,
}

impl One<'_> {
    fn lower(&self, notes: &mut Notes) -> Option<Cluster> {
        let path = &self.layer.source.path;
        let name_node = self.node.at(&["metadata", "name"])?;
        let name = label(name_node.as_str()?, "the cluster", self.place(name_node), notes);
        let namespace = self.namespace(notes);
        let management = self.management(notes);
        let release = self.release(notes);
        let control_plane = self.control_plane(notes);
        let node_pools = pools::lower_all(self.context, self.spec("nodePools"), notes);
        let metadata = |key| self.node.at(&["metadata", key]);
        let labels = self.metadata(metadata("labels"), true, notes);
        let annotations = self.metadata(metadata("annotations"), false, notes);
        let addons = self.addons(notes);
        let (release, release_origin) = release?;
        let companion = path.rsplit_once('.').map(|(stem, _)| format!("{stem}.d"));
        Some(Cluster {
            name: name?,
            namespace: namespace?,
            origin: name_node.origin,
            file: path.clone(),
            management: management?,
            release,
            release_origin,
            labels: labels?,
            annotations: annotations?,
            control_plane: control_plane?,
            node_pools: node_pools?,
            network: self.network(notes)?,
            variables: mapping(self.spec("variables")),
            addons: addons?,
            availability_gates: self.spec("availabilityGates").cloned(),
            suspend: text(self.spec("suspend")).map(str::to_owned),
            raw: self.spec("raw").cloned(),
            companion: companion.filter(|folder| self.input.companions.contains(folder)),
        })
    }

    fn spec(&self, key: &str) -> Option<&Node> {
        self.node.at(&["spec", key])
    }

    fn place(&self, node: &Node) -> Option<Place> {
        self.context.place(node.origin)
    }

    /// The place of the definition itself, for what it lacks.
    fn own_place(&self) -> Place {
        let node = self.layer.node.get("spec").or_else(|| self.layer.node.at(&["metadata", "name"]));
        let node = node.unwrap_or(&self.layer.node);
        self.layer.source.word(node.origin.offset as usize)
    }

    /// The place of a node of the definition itself; of the definition where a folder's defaults said it.
    fn definition_place(&self, node: &Node) -> Option<Place> {
        let own = node.origin.file == self.layer.source.id;
        if own { self.place(node) } else { Some(self.own_place()) }
    }

    fn namespace(&self, notes: &mut Notes) -> Option<Label> {
        let Some(node) = self.node.at(&["metadata", "namespace"]) else {
            notes
                .error("missing-key", self.own_place(), "the cluster has no namespace")
                .hint("add `metadata.namespace` to it, or to the folder's `_defaults.yaml`");
            return None;
        };
        label(node.as_str()?, "the namespace", self.place(node), notes)
    }

    fn management(&self, notes: &mut Notes) -> Option<Arc<ManagementCluster>> {
        let known = &self.fleet.management_clusters;
        let Some(node) = self.spec("managementCluster") else {
            let note = notes.error(
                "missing-key",
                self.own_place(),
                "nothing says which management cluster builds the cluster",
            );
            let first = known.first().map_or("…", |cluster| cluster.name.as_str());
            note.hint(format!(
                "add `managementCluster: {first}` to its spec, or to the folder's `_defaults.yaml`"
            ));
            return None;
        };
        let name = node.as_str()?;
        if let Some(found) = known.iter().find(|cluster| cluster.name.as_str() == name) {
            return Some(found.clone());
        }
        let note = notes.error(
            "unknown-management-cluster",
            self.place(node),
            format!("stackloom.yaml has no management cluster `{name}`"),
        );
        match closest(name, known.iter().map(|cluster| cluster.name.as_str())) {
            Some(similar) => note.hint(format!("did you mean `{similar}`?")),
            None => note.hint("add it to `managementClusters` there"),
        };
        None
    }

    fn release(&self, notes: &mut Notes) -> Option<(ReleaseRef, Origin)> {
        let Some(node) = self.spec("release") else {
            notes
                .error("missing-key", self.own_place(), "nothing says which release the cluster is made from")
                .hint("add `release: <name>`; or, for development, `stack: <provider>/<stack>`, `kubernetes: \"1.35\"` and `release: head`");
            return None;
        };
        let name = node.as_str()?;
        if name == "head" {
            return self.head(node, notes).map(|found| (found, node.origin));
        }
        for key in ["stack", "kubernetes"] {
            if let Some(other) = self.spec(key) {
                let note = notes.error(
                    "release",
                    self.definition_place(node),
                    format!("`{key}` goes with `release: head`, and this cluster takes `{name}`"),
                );
                note.hint(format!("remove it; where a folder's defaults set it, write `{key}: null` here"));
                if let Some(place) = self.place(other) {
                    note.related("it is set here", place);
                }
            }
        }
        match Subdomain::new(name) {
            Ok(found) => Some((ReleaseRef::Named(found), node.origin)),
            Err(fault) => {
                notes
                    .error(
                        "wrong-name",
                        self.place(node),
                        format!("`{name}` is no name of a release: {fault}"),
                    )
                    .hint("releases are called like `openstack-scs-1-35-v7`");
                None
            }
        }
    }

    fn head(&self, release: &Node, notes: &mut Notes) -> Option<ReleaseRef> {
        let (stack, kubernetes) = (self.spec("stack"), self.spec("kubernetes"));
        let (Some(stack), Some(kubernetes)) = (stack, kubernetes) else {
            notes
                .error(
                    "missing-key",
                    self.definition_place(release),
                    "`release: head` needs a stack and a Kubernetes minor",
                )
                .hint("add `stack: <provider>/<stack>` and `kubernetes: \"1.35\"`");
            return None;
        };
        let id = StackId::parse(stack.as_str()?);
        if id.is_none() {
            notes
                .error("wrong-name", self.place(stack), format!("`{}` names no stack", stack.as_str()?))
                .hint("write it as `<provider>/<stack>`, such as `openstack/scs`");
        }
        let minor = Minor::parse(kubernetes.as_str()?);
        if minor.is_none() {
            notes
                .error(
                    "wrong-version",
                    self.place(kubernetes),
                    format!("`{}` is no Kubernetes minor", kubernetes.as_str()?),
                )
                .hint("write it as \"1.35\"; the stack says which patch version that is");
        }
        let (id, minor) = (id?, minor?);
        let serves = |folder: &crate::definition::parse::StackFolder| {
            let listed = folder.stack.value.spec.kubernetes.iter();
            let mut listed = listed.map(|release| release.version.trim_start_matches('v'));
            // A version that is written wrongly is told where it stands, and not here as well.
            listed.any(|version| version == minor.to_string() || version.starts_with(&format!("{minor}.")))
        };
        match self.context.definitions.stacks.get(&id.to_string()) {
            None => {
                let known = self.context.definitions.stacks.keys().map(String::as_str);
                let similar = closest(&id.to_string(), known).map(str::to_owned);
                let note =
                    notes.error("unknown-stack", self.place(stack), format!("there is no stack `{id}`"));
                match similar {
                    Some(similar) => note.hint(format!("did you mean `{similar}`?")),
                    None => note.hint(format!("its folder would be `stacks/{id}`")),
                };
                None
            }
            Some(folder) if !serves(folder) => {
                let served: Vec<_> = folder
                    .stack
                    .value
                    .spec
                    .kubernetes
                    .iter()
                    .map(|release| release.version.as_str())
                    .collect();
                notes
                    .error(
                        "unknown-minor",
                        self.place(kubernetes),
                        format!("the stack `{id}` does not serve Kubernetes {minor}"),
                    )
                    .hint(format!("it serves {}", served.join(", ")));
                None
            }
            Some(_) => Some(ReleaseRef::Head(id, minor)),
        }
    }

    fn control_plane(&self, notes: &mut Notes) -> Option<ControlPlane> {
        let Some(node) = self.spec("controlPlane") else { return Some(ControlPlane::default()) };
        let replicas = node.get("replicas");
        Some(ControlPlane {
            replicas: replicas.and_then(Node::as_int),
            replicas_origin: replicas.map(|node| node.origin),
            labels: self.metadata(node.get("labels"), true, notes)?,
            annotations: self.metadata(node.get("annotations"), false, notes)?,
            variables: mapping(node.get("variables")),
            settings: pools::settings(node),
        })
    }

    fn metadata(&self, node: Option<&Node>, labels: bool, notes: &mut Notes) -> Option<Mapping> {
        pools::metadata(self.context, node, labels, notes)
    }

    fn network(&self, notes: &mut Notes) -> Option<Network> {
        let get = |key| self.spec("network").and_then(|network| network.get(key));
        let mut sound = true;
        for key in ["pods", "services"] {
            for block in get(key).and_then(Node::as_sequence).unwrap_or_default() {
                if block.as_str().is_some_and(|text| !is_cidr(text)) {
                    sound = false;
                    notes
                        .error(
                            "wrong-cidr",
                            self.place(block),
                            format!("`{}` is no CIDR block", block.as_str().unwrap_or_default()),
                        )
                        .hint("write it like 10.96.0.0/12 or fd00:10:96::/112");
                }
            }
        }
        let network = Network {
            pods: get("pods").cloned(),
            services: get("services").cloned(),
            service_domain: get("serviceDomain").cloned(),
            api_server_port: get("apiServerPort").cloned(),
        };
        sound.then_some(network)
    }

    fn addons(&self, notes: &mut Notes) -> Option<BTreeMap<String, AddonChoice>> {
        let mut choices = BTreeMap::new();
        let mut sound = true;
        for entry in self.spec("addons").and_then(Node::as_mapping).into_iter().flat_map(Mapping::iter) {
            let node = &entry.value;
            let version = match node.get("version") {
                None => None,
                Some(version) => {
                    let place = self.place(version).unwrap_or_else(|| self.own_place());
                    let Some(found) = super::semantic_version(version.as_str()?, place, notes) else {
                        sound = false;
                        continue;
                    };
                    Some((found, version.origin))
                }
            };
            let choice = AddonChoice {
                origin: Some(entry.key.origin),
                enabled: node.get("enabled").and_then(Node::as_bool),
                version,
                unlisted: text(node.get("unlisted")).map(str::to_owned),
                release: node.get("release").and_then(|one| Some((one.as_str()?.to_owned(), one.origin))),
                values: node.get("values").cloned(),
            };
            choices.insert(entry.key.name.to_string(), choice);
        }
        sound.then_some(choices)
    }
}

/// An address of either family and a prefix within its length.
fn is_cidr(text: &str) -> bool {
    let Some((address, prefix)) = text.split_once('/') else { return false };
    let Ok(address) = address.parse::<std::net::IpAddr>() else { return false };
    let limit = if address.is_ipv4() { 32 } else { 128 };
    prefix.parse::<u8>().is_ok_and(|length| length <= limit) && !(prefix.len() > 1 && prefix.starts_with('0'))
}

fn mapping(node: Option<&Node>) -> Mapping {
    node.and_then(Node::as_mapping).cloned().unwrap_or_default()
}
