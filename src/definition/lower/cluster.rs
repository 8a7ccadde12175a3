//! Lowers clusters: each one merged over its folders' defaults, and then the rules that concern several clusters.

use std::sync::Arc;

use super::{Lowering, accept, cluster_settings, engine::delivery_of, fleet::Lowered, label, removal};
use crate::{
    definition::{
        ClusterSpec, Identity, Merged, closest,
        layers::{FolderDefaults, OF_HEAD, merged},
        parse::Layer,
    },
    model::{
        AddonDelivery, Cluster, Companion, Engine, Label, ManagementCluster, Minor, ReleaseRef, Removal,
        RemovalStep, StackId, Subdomain,
    },
    note::{Diagnostic, Notes, Place},
    world::{Input, KUSTOMIZATIONS},
    yaml::{Node, Origin},
};

/// The namespaces of Kubernetes itself.
const SYSTEM: [&str; 3] = ["kube-node-lease", "kube-public", "kube-system"];

pub(super) fn lower_all(
    context: &Lowering<'_>,
    fleet: &Lowered,
    input: &Input,
    notes: &mut Notes,
) -> Vec<Cluster> {
    use rayon::prelude::*;
    let defaults = FolderDefaults::new(context.definitions);
    let one = |layer: &Layer| {
        let mut own = Notes::new();
        let merged = Merged::decode(defaults.merged(layer)).ok();
        let cluster = merged
            .and_then(|merged| ClusterLowering { context, fleet, input, layer, merged }.lower(&mut own));
        if !own.is_empty() {
            own.concern(&Identity::new(context.definitions, layer).name);
        }
        (cluster.ok_or_else(|| layer.source.path.clone()), own)
    };
    let known = context.definitions.clusters.iter().filter(|layer| !has_broken_defaults(context, layer));
    let known: Vec<&Layer> = known.collect();
    let lowered: Vec<_> = known.into_par_iter().map(one).collect();
    // Clusters are large: a list of ten thousand that grows moves them several times.
    let mut clusters = Vec::with_capacity(lowered.len());
    let mut lost = Vec::new();
    for (cluster, own) in lowered {
        match cluster {
            Ok(cluster) => clusters.push(cluster),
            Err(file) => lost.push(file),
        }
        notes.append(own);
    }
    // A cluster that is dropped without an error would be deleted from the tree.
    let has_errors = notes.errors() > 0;
    for file in lost.iter().filter(|_| !has_errors) {
        notes
            .error(
                "not-understood",
                Place::file(&**file),
                "this definition produced neither a cluster nor an error",
            )
            .hint("this is a bug of stackloom; please report it with the definition");
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
    for layer in unused(context).filter(|layer| !has_broken_defaults(context, layer)) {
        if let Ok(merged) = Merged::decode(merged(context.definitions, layer)) {
            ClusterLowering { context, fleet, input, layer, merged }.check_unused(notes);
        }
    }
    removal::check_defaults(context, notes);
    accept::check(context, notes);
    clusters
}

/// Reports whether a folder's defaults have errors, so that the settings of the clusters below are unknown.
fn has_broken_defaults(context: &Lowering<'_>, layer: &Layer) -> bool {
    if context.definitions.broken.is_empty() {
        return false;
    }
    let path = &layer.source.path;
    let folders = path.match_indices('/').map(|(at, _)| &path[..at]);
    let mut files =
        folders.flat_map(|folder| ["yaml", "yml"].map(|ending| format!("{folder}/_defaults.{ending}")));
    files.any(|file| context.is_broken(&file))
}

/// The defaults of folders without clusters. Otherwise, nothing would check them before the first cluster is added.
fn unused<'a>(context: &Lowering<'a>) -> impl Iterator<Item = &'a Layer> {
    let sources = context.sources;
    let is_used = move |folder: &str| {
        sources.below(folder).any(|source| {
            let name = source.path.rsplit('/').next().unwrap_or_default();
            !matches!(name, "_defaults.yaml" | "_defaults.yml")
        })
    };
    context.definitions.defaults.iter().filter(move |(folder, _)| !is_used(folder)).map(|(_, layer)| layer)
}

/// Reports `<cluster>.d` folders without a definition next to them, because no engine would apply them.
fn check_folders(context: &Lowering<'_>, input: &Input, notes: &mut Notes) {
    for folder in &input.companions {
        let stem = folder.strip_suffix(".d").unwrap_or(folder);
        let beside = [".yaml", ".yml"].map(|ending| format!("{stem}{ending}"));
        if !beside.iter().any(|path| context.sources.at(path).is_some()) {
            notes
                .error(
                    "stray-folder",
                    Place::file(folder.as_str()),
                    format!("`{stem}.yaml` defines no cluster, so no engine applies this folder"),
                )
                .hint("give the folder the name of the definition's file, with `.d` instead of `.yaml`")
                .hint("if `stackloom rename` was interrupted, run it again with `--move-file`: it undoes what was moved");
        }
    }
}

struct ClusterLowering<'a> {
    context: &'a Lowering<'a>,
    fleet: &'a Lowered,
    input: &'a Input,
    layer: &'a Layer,
    merged: Merged,
}

impl ClusterLowering<'_> {
    fn lower(&self, notes: &mut Notes) -> Option<Cluster> {
        let path = &self.layer.source.path;
        let name_node = self.merged.node.at(&["metadata", "name"])?;
        let name = label(name_node.as_str()?, "the cluster", self.place(name_node), notes);
        let namespace = self.namespace(notes);
        let management = self.management(notes);
        let namespace = namespace.filter(|one| self.is_free(one, management.as_deref(), notes));
        let release = self.release(notes);
        let settings = cluster_settings::lower(self.context, &self.merged, notes);
        let (release, release_origin) = release?;
        let settings = settings?;
        let management = management?;
        Some(Cluster {
            name: name?,
            namespace: namespace?,
            origin: name_node.origin,
            file: path.clone(),
            addon_delivery: self.addon_delivery(&management, notes)?,
            management,
            release,
            release_origin,
            owners: crate::definition::owners(&self.merged.node),
            labels: settings.labels,
            annotations: settings.annotations,
            control_plane: settings.control_plane,
            node_pools: settings.node_pools,
            network: settings.network,
            variables: settings.variables,
            addons: settings.addons,
            availability_gates: settings.availability_gates,
            suspend: settings.suspend,
            upgrades: settings.upgrades,
            removal: self.removal(notes),
            raw: settings.raw,
            companion: self.companion(),
        })
    }

    /// The folder with the user's own objects next to the definition.
    fn companion(&self) -> Option<Companion> {
        let (stem, _) = self.layer.source.path.rsplit_once('.')?;
        let folder = format!("{stem}.d");
        let is_built =
            KUSTOMIZATIONS.iter().any(|name| self.input.beside.at(&format!("{folder}/{name}")).is_some());
        self.input.companions.contains(&folder).then_some(Companion { folder, is_built })
    }

    /// Checks the settings in defaults that no cluster uses yet.
    fn check_unused(&self, notes: &mut Notes) {
        let spec = &self.merged.spec;
        if self.merged.namespace.is_some() {
            self.namespace(notes);
        }
        if spec.management_cluster.is_some() {
            self.management(notes);
        }
        let is_head = spec.release.is_some() && spec.stack.is_some() && spec.kubernetes.is_some();
        if is_head || spec.release.as_ref().is_some_and(|release| release != "head") {
            self.release(notes);
        }
        cluster_settings::lower(self.context, &self.merged, notes);
    }

    fn place(&self, node: &Node) -> Option<Place> {
        self.context.place(node.origin)
    }

    /// The place for errors about something that the definition lacks.
    fn own_place(&self) -> Place {
        let node = self.layer.node.get("spec").or_else(|| self.layer.node.at(&["metadata", "name"]));
        let node = node.unwrap_or(&self.layer.node);
        self.layer.source.word(node.origin.offset as usize)
    }

    /// Reports an error in values that come from several layers. The message points to the definition if it contains one of
    /// the values, or if something is missing; otherwise, it points to the innermost folder defaults. It also lists the
    /// other places.
    fn fault_of<'n>(
        &self,
        settings: &[(&Node, &str)],
        code: &'static str,
        message: String,
        notes: &'n mut Notes,
    ) -> &'n mut Diagnostic {
        let in_own_file = |(node, _): &(&Node, &str)| node.origin.file == self.layer.source.id;
        let own = settings.iter().position(in_own_file);
        // Contradictions within folder defaults are not the cluster's fault, but that of the innermost folder.
        let own = own.or_else(|| (settings.len() > 1).then(|| self.innermost(settings)));
        let place = own.map_or_else(|| Some(self.own_place()), |at| self.place(settings[at].0));
        let note = notes.error(code, place, message);
        for (at, (node, what)) in settings.iter().enumerate() {
            if let Some(place) = self.place(node).filter(|_| own != Some(at)) {
                note.related(*what, place);
            }
        }
        note
    }

    /// The first of the values in the defaults of the innermost folder.
    fn innermost(&self, settings: &[(&Node, &str)]) -> usize {
        let depth =
            |(node, _): &(&Node, &str)| self.place(node).map_or(0, |place| place.file.split('/').count());
        let most = settings.iter().map(depth).max().unwrap_or_default();
        settings.iter().position(|setting| depth(setting) == most).unwrap_or_default()
    }

    fn namespace(&self, notes: &mut Notes) -> Option<Label> {
        let node = self.merged.node.at(&["metadata", "namespace"]);
        let (Some(name), Some(node)) = (self.merged.namespace.as_deref(), node) else {
            let metadata = self.layer.node.at(&["metadata", "name"]).unwrap_or(&self.layer.node);
            let place = self.layer.source.word(metadata.origin.offset as usize);
            notes
                .error("missing-key", place, "the cluster has no namespace")
                .hint("add `metadata.namespace` to it, or to the folder's `_defaults.yaml`");
            return None;
        };
        label(name, "the namespace", self.place(node), notes)
    }

    /// Whether clusters may be in a namespace. Kubernetes and the engines keep some for themselves.
    fn is_free(&self, namespace: &Label, management: Option<&ManagementCluster>, notes: &mut Notes) -> bool {
        let engines = Engine::ALL.into_iter().flat_map(Engine::own_namespaces);
        let mut taken = SYSTEM.iter().chain(engines).copied();
        let by_setting = management.and_then(ManagementCluster::engine_namespace);
        if by_setting != Some(namespace) && !taken.any(|one| one == namespace.as_str()) {
            return true;
        }
        let place = self.merged.node.at(&["metadata", "namespace"]).and_then(|node| self.place(node));
        notes
            .error(
                "reserved-namespace",
                place,
                format!("`{namespace}` belongs to the management cluster itself"),
            )
            .hint(
                "use a namespace of its own for clusters: stackloom writes and labels it, and it may be deleted one day",
            );
        false
    }

    fn management(&self, notes: &mut Notes) -> Option<Arc<ManagementCluster>> {
        let known = &self.fleet.management_clusters;
        let node = self.merged.at("managementCluster");
        let (Some(name), Some(node)) = (self.merged.spec.management_cluster.as_deref(), node) else {
            if let ([only], false) = (known.as_slice(), self.fleet.broken) {
                return Some(only.clone());
            }
            if self.fleet.broken {
                return None;
            }
            let note =
                notes.error("missing-key", self.own_place(), "no management cluster is set for the cluster");
            let first = known.first().map_or("…", |cluster| cluster.name.as_str());
            note.hint(format!(
                "add `managementCluster: {first}` to its spec, or to the folder's `_defaults.yaml`"
            ));
            return None;
        };
        if let Some(found) = known.iter().find(|cluster| cluster.name.as_str() == name) {
            return Some(found.clone());
        }
        if self.fleet.broken {
            return None;
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

    fn addon_delivery(&self, management: &ManagementCluster, notes: &mut Notes) -> Option<AddonDelivery> {
        let Some(word) = &self.merged.spec.addon_delivery else { return Some(management.addon_delivery) };
        let place = self.merged.at("addonDelivery").and_then(|node| self.place(node));
        delivery_of(word, management.engine, place, notes)
    }

    fn release(&self, notes: &mut Notes) -> Option<(ReleaseRef, Origin)> {
        let (Some(name), Some(node)) = (self.merged.spec.release.as_deref(), self.merged.at("release"))
        else {
            notes
                .error("missing-key", self.own_place(), "no release is set for the cluster")
                .hint("add `release: <name>`; or, for development, `stack: <provider>/<stack>`, `kubernetes: \"1.35\"` and `release: head`");
            return None;
        };
        if name == "head" {
            return self.head(node, notes).map(|found| (found, node.origin));
        }
        // If the release doesn't exist, only that is reported.
        let exists = self.input.sources.below(&format!("generated/releases/{name}")).next().is_some()
            || self.input.damaged.contains_key(name);
        let of_head = OF_HEAD.iter().filter_map(|key| Some((*key, self.merged.at(key)?)));
        let of_head: Vec<(&str, &Node)> = of_head.filter(|_| exists).collect();
        if !of_head.is_empty() {
            let keys: Vec<_> = of_head.iter().map(|(key, _)| format!("`{key}`")).collect();
            let (keys, are) = (keys.join(" and "), if keys.len() == 1 { "is" } else { "are" });
            let message = format!("{keys} {are} only for `release: head`, but this cluster uses `{name}`");
            let mut settings = vec![(node, "the release is named here")];
            settings.extend(of_head.iter().map(|(_, other)| (*other, "it is set here")));
            self.fault_of(&settings, "release", message, notes)
                .hint(format!("remove {keys}, or write `release: head`"));
        }
        match Subdomain::new(name) {
            Ok(found) => Some((ReleaseRef::Named(found), node.origin)),
            Err(fault) => {
                notes
                    .error("wrong-name", self.place(node), format!("`{name}` is not a release name: {fault}"))
                    .hint("write the name of a release, such as `openstack-scs-1-35-v7`");
                None
            }
        }
    }

    fn head(&self, release: &Node, notes: &mut Notes) -> Option<ReleaseRef> {
        let ClusterSpec { stack: stack_text, kubernetes: minor_text, .. } = &self.merged.spec;
        let nodes = (self.merged.at("stack"), self.merged.at("kubernetes"));
        let ((Some(stack_text), Some(minor_text)), (Some(stack), Some(kubernetes))) =
            ((stack_text, minor_text), nodes)
        else {
            let message = "`release: head` needs a stack and a Kubernetes minor".to_owned();
            self.fault_of(&[(release, "the head is named here")], "missing-key", message, notes)
                .hint("add `stack: <provider>/<stack>` and `kubernetes: \"1.35\"`");
            return None;
        };
        let id = StackId::parse(stack_text);
        if id.is_none() {
            notes
                .error("wrong-name", self.place(stack), format!("`{stack_text}` is not a valid stack name"))
                .hint("write it as `<provider>/<stack>`, such as `openstack/scs`");
        }
        let minor = Minor::parse(minor_text);
        if minor.is_none() {
            notes
                .error(
                    "wrong-version",
                    self.place(kubernetes),
                    format!("`{minor_text}` is not a Kubernetes minor"),
                )
                .hint("write it as \"1.35\"; the stack sets the patch version");
        }
        let (id, minor) = (id?, minor?);
        let serves = |folder: &crate::definition::parse::StackFolder| {
            let listed = folder.stack.value.spec.kubernetes.iter();
            let mut listed = listed.map(|release| release.version.trim_start_matches('v'));
            // A malformed version is reported where it is written, and not again here.
            listed.any(|version| version == minor.to_string() || version.starts_with(&format!("{minor}.")))
        };
        match self.context.definitions.stacks.get(&id.to_string()) {
            None if self.context.is_broken(&format!("stacks/{id}/stack.yaml")) => None,
            None => {
                let known = self.context.definitions.stacks.keys().map(String::as_str);
                let similar = closest(&id.to_string(), known).map(str::to_owned);
                let note =
                    notes.error("unknown-stack", self.place(stack), format!("there is no stack `{id}`"));
                match similar {
                    Some(similar) => note.hint(format!("did you mean `{similar}`?")),
                    None => {
                        note.hint(format!("run `stackloom new stack {id}` to create it in `stacks/{id}`"))
                    }
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
                        format!("the stack `{id}` does not support Kubernetes {minor}"),
                    )
                    .hint(format!("it supports {}", served.join(", ")));
                None
            }
            Some(_) => Some(ReleaseRef::Head(id, minor)),
        }
    }

    /// Lowers the removal of a cluster. A paused Cluster can't be deleted, because Cluster API ignores it.
    fn removal(&self, notes: &mut Notes) -> Option<Removal> {
        let written = self.merged.spec.removal.as_ref();
        let removal = removal::lower(self.context, written, self.merged.node.get("spec")?, notes)?;
        if let Some(suspend) = self.merged.at("suspend").filter(|_| removal.step == RemovalStep::Delete) {
            let message = "a suspended cluster cannot be deleted: Cluster API ignores it".to_owned();
            self.fault_of(&[(suspend, "it is suspended here")], "removal", message, notes)
                .hint("remove `suspend`; if a folder's defaults set it, write `suspend: null` here");
        }
        Some(removal)
    }
}
