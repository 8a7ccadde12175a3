//! Flux: the engine's own objects, separate from the objects that it applies.
//!
//! One entry applies the whole folder. Each release, namespace and cluster has its own Kustomizations, so that a stuck one
//! blocks no others. Those that wait do so only briefly.

mod kustomization;
mod provenance;
pub(super) mod sources;

use super::{
    ComposedField, Drawn, Object, Provenance, Purpose, Target, cluster as cluster_part, engine,
    folders::{cluster_folder as part_folder, management_folder, release_folder},
    namespace as namespace_part,
};
use crate::{
    model::{Cluster, Engine, Label, ManagementCluster},
    plan::{ClusterPart, ClusterPlan, ManagementPlan, NamespacePlan, Phase, Unit},
    tree::TreePath,
    yaml::{Mapping, Node},
};

use kustomization::Health;

pub(super) use kustomization::{Kustomization, OnDeletion, secret_reference};

/// The namespace of Flux and of its objects that belong to no tenant.
pub(super) const NAMESPACE: &str = "flux-system";

/// Keeps Flux from deleting an object when it leaves git.
const PRUNE: (&str, &str) = ("kustomize.toolkit.fluxcd.io/prune", "disabled");
/// Keeps Flux from replacing `${…}` in an object.
const SUBSTITUTE: (&str, &str) = ("kustomize.toolkit.fluxcd.io/substitute", "disabled");

/// The renderer for Flux.
pub(super) struct Flux;

impl engine::Engine for Flux {
    fn engine(&self) -> Engine {
        Engine::Flux
    }

    fn management(&self, fleet: &Label, plan: &ManagementPlan, drawn: &mut Drawn) {
        management(fleet, plan, drawn);
    }

    fn namespace(&self, plan: &NamespacePlan, _delivered: &[(&str, &str)], drawn: &mut Drawn) {
        namespace(plan, drawn);
    }

    fn cluster(&self, plan: &ClusterPlan, drawn: &mut Drawn) {
        cluster(plan, drawn);
    }

    fn cluster_folder(&self, plan: &ClusterPlan) -> TreePath {
        cluster_folder(plan)
    }

    fn annotations(&self, object: &Node, kept: bool) -> Vec<(&'static str, &'static str)> {
        let literal = holds_variable(object);
        kept.then_some(PRUNE).into_iter().chain(literal.then_some(SUBSTITUTE)).collect()
    }

    fn release_annotations(&self) -> Vec<(&'static str, &'static str)> {
        vec![PRUNE, SUBSTITUTE]
    }

    fn reserved_annotations(&self) -> &'static [&'static str] {
        &[
            // Kustomize, which builds the folder, leaves such an object out.
            "config.kubernetes.io/local-config",
            // It deletes an object and creates it anew if a field cannot be changed.
            "kustomize.toolkit.fluxcd.io/force",
            PRUNE.0,
            // It stops Flux from applying the object, or decides which fields it applies.
            "kustomize.toolkit.fluxcd.io/reconcile",
            "kustomize.toolkit.fluxcd.io/ssa",
            SUBSTITUTE.0,
        ]
    }

    fn bookkeeping(&self) -> &'static [&'static str] {
        &["kustomize.toolkit.fluxcd.io/name", "kustomize.toolkit.fluxcd.io/namespace"]
    }

    fn applying_groups(&self) -> &'static [&'static str] {
        &["fluxcd.controlplane.io", "helm.toolkit.fluxcd.io", "kustomize.toolkit.fluxcd.io"]
    }

    fn is_kept(&self, text: &str) -> bool {
        let (name, value) = PRUNE;
        text.contains(&format!("{name}: {value}"))
    }

    fn sign_of_protection(&self) -> &'static str {
        PRUNE.0
    }

    fn classes_of(&self, releases: &[String]) -> String {
        let names: Vec<_> = releases.iter().map(|release| Unit::release(release).name()).collect();
        format!("--selector 'kustomize.toolkit.fluxcd.io/name in ({})'", names.join(","))
    }

    fn decryption_missing(&self, management: &ManagementCluster) -> Option<&'static str> {
        let hint = "add `decryption: { provider: sops, secret: <name> }` to the management cluster in stackloom.yaml; the Secret holds the keys";
        management.decryption.is_none().then_some(hint)
    }

    fn needs_namespaces(&self) -> bool {
        // Their Kustomization has no target namespace, which would also move objects of other namespaces.
        true
    }

    fn suspension_at(&self) -> (&'static [&'static str], Option<bool>) {
        (&["spec", "suspend"], Some(true))
    }

    fn deletion_at(&self) -> &'static [&'static str] {
        &["spec", "deletionPolicy"]
    }

    fn reads(&self, api_version: &str) -> bool {
        api_version.contains("fluxcd.io")
    }

    fn provenance<'a>(&self, field: &ComposedField<'a>) -> Option<Vec<Provenance<'a>>> {
        provenance::of(field)
    }

    fn appliers(&self) -> &'static str {
        "Kustomizations"
    }

    fn entry_files(&self) -> &'static [&'static str] {
        &["flux/source.yaml", "flux/entry.yaml"]
    }

    fn list_command(&self) -> &'static str {
        "flux get kustomizations"
    }

    fn health_of(&self, cluster: &Cluster) -> String {
        Unit::cluster(cluster, ClusterPart::Ready).name()
    }
}

/// The folder of the engine's own objects.
fn flux_folder(management: &ManagementCluster) -> TreePath {
    management_folder(management).join("flux")
}

/// The folder of the engine's own objects for a cluster.
fn cluster_folder(plan: &ClusterPlan) -> TreePath {
    let cluster = &plan.cluster;
    let folder = flux_folder(&cluster.management).join("clusters");
    folder.join(cluster.namespace.as_str()).join(cluster.name.as_str())
}

/// Draws the objects of a management cluster: the entry, the source, the releases, the charts.
fn management(fleet: &Label, plan: &ManagementPlan, drawn: &mut Drawn) {
    let management = &plan.management;
    let folder = flux_folder(management);
    if let Some(source) = sources::repository(fleet, management) {
        drawn.add_engines(folder.join("source.yaml"), "stackloom.yaml", source).with(Purpose::Source);
    }
    let entry = Kustomization::entry(management, fleet, path(management, &folder));
    add(folder.join("entry.yaml"), "stackloom.yaml", &entry, drawn).named_after_fleet();
    for release in &plan.releases {
        let classes = path(management, &release_folder(&release.name).join("cluster-class"));
        let kustomization = Kustomization {
            target_namespace: Some(management.class_namespace.to_string()),
            depends_on: vec![Unit::namespace(management.class_namespace.as_str())],
            health: Health::All,
            annotations: vec![PRUNE, SUBSTITUTE],
            ..Kustomization::new(management, fleet, Unit::release(&release.name), classes)
        };
        let file = folder.join("releases").join(&format!("{}.yaml", release.name));
        add(file, "stackloom.yaml", &kustomization, drawn);
    }
    sources::draw_charts(&plan.charts, management.standby, &folder.join("charts"), drawn);
}

fn namespace(plan: &NamespacePlan, drawn: &mut Drawn) {
    let management = &plan.management;
    let unit = Unit::namespace(plan.name.as_str());
    let kustomization =
        Kustomization::new(management, &plan.fleet, unit, path(management, &namespace_part::folder(plan)));
    let file = flux_folder(management).join("namespaces").join(&format!("{}.yaml", plan.name));
    add(file, "stackloom.yaml", &kustomization, drawn);
}

fn add<'a>(
    file: TreePath,
    source: &str,
    kustomization: &Kustomization<'_>,
    drawn: &'a mut Drawn,
) -> &'a mut Object {
    drawn.add_engines(file, source, kustomization.object()).with(kustomization.purpose())
}

fn cluster(plan: &ClusterPlan, drawn: &mut Drawn) {
    let cluster = &plan.cluster;
    let unit = |part| Unit::cluster(cluster, part);
    let of_namespace = Unit::namespace(cluster.namespace.as_str());
    let management = &cluster.management;
    let part = part_folder(plan);
    let folder = cluster_folder(plan);
    let leaves = plan.phase.leaves();
    let of = |part: ClusterPart, at: String| Kustomization {
        on_deletion: if leaves { OnDeletion::Delete } else { OnDeletion::Orphan },
        ..Kustomization::new(management, &plan.fleet, unit(part), at)
    };
    let mut add = |file: &str, kustomization: Kustomization<'_>| {
        add(folder.join(file), &cluster.file, &kustomization, drawn);
    };
    let mut needed = vec![of_namespace.clone()];
    if !leaves {
        needed.insert(0, Unit::release(&plan.release.name));
    }
    add(
        "cluster.yaml",
        Kustomization {
            depends_on: needed,
            health: match plan.phase {
                Phase::Running => Health::ControlPlaneInitialized(cluster),
                // A paused Cluster does not update its observed generation, which Flux considers unhealthy regardless of the
                // expressions.
                Phase::Suspended | Phase::Detached | Phase::Deleted => Health::None,
            },
            ..of(ClusterPart::Cluster, path(management, &part.join("cluster")))
        },
    );
    add(
        "ready.yaml",
        Kustomization {
            depends_on: vec![unit(ClusterPart::Cluster)],
            health: if leaves { Health::None } else { Health::Available(cluster) },
            // Deleting a suspended Kustomization leaves its objects behind.
            suspended: plan.phase == Phase::Suspended,
            ..of(ClusterPart::Ready, path(management, &part.join("ready")))
        },
    );
    if let Some(companion) = &cluster.companion {
        add(
            "objects.yaml",
            Kustomization {
                depends_on: vec![of_namespace],
                decryption: management.decryption.as_ref(),
                // The users' own objects include the cluster's credentials. Git alone never deletes them, and they last
                // until the cluster is being deleted.
                prune: false,
                on_deletion: match plan.phase {
                    Phase::Deleted => OnDeletion::Delete,
                    Phase::Running | Phase::Suspended | Phase::Detached => OnDeletion::Orphan,
                },
                ..of(ClusterPart::Objects, user_path(management, &companion.folder))
            },
        );
    }
    // Also drawn without addons: if the last addon is turned off, it should be uninstalled, and deleting the Kustomization
    // would leave everything behind.
    add(
        "addons.yaml",
        Kustomization {
            depends_on: vec![unit(ClusterPart::Cluster)],
            ..of(ClusterPart::Addons, path(management, &part.join("addons")))
        },
    );
    markers(plan, &part, drawn);
}

/// Adds an object to each folder that states what the cluster should have: git drops empty folders, and a Kustomization
/// needs its folder.
fn markers(plan: &ClusterPlan, part: &TreePath, drawn: &mut Drawn) {
    let cluster = &plan.cluster;
    let mut ready = Mapping::new();
    ready.set("release", plan.release.name.as_str());
    ready.set("kubernetes", format!("v{}", plan.release.kubernetes));
    let file = part.join("ready").join(&format!("configmap-{}.ready.yaml", cluster.name));
    let marker = cluster_part::marker(cluster, "ready", ready);
    drawn.add(file, &cluster.file, Target::Management, marker).with(Purpose::ReadyMarker);
    let file = part.join("addons").join(&cluster_part::addon_list_file(cluster));
    drawn.add(file, &cluster.file, Target::Management, cluster_part::addon_list(plan)).with(Purpose::Marker);
    if let Some(removal) = cluster.removal.as_ref().filter(|_| plan.phase == Phase::Deleted) {
        let file = part.join("cluster").join(&format!("configmap-{}.cluster.yaml", cluster.name));
        let marker = cluster_part::removal_marker(cluster, removal);
        drawn.add(file, &cluster.file, Target::Management, marker).with(Purpose::Marker);
    }
}

/// The path of a folder of the tree, relative to the root of the repository.
pub(super) fn path(management: &ManagementCluster, folder: &TreePath) -> String {
    user_path(management, folder.as_str())
}

fn user_path(management: &ManagementCluster, folder: &str) -> String {
    match management.folder.as_str() {
        "" => format!("./{folder}"),
        fleet => format!("./{fleet}/{folder}"),
    }
}

/// Whether a string in an object looks like a variable to Flux.
fn holds_variable(node: &Node) -> bool {
    // Few texts have a dollar sign, and looking for one character is ten times faster.
    let inside = |text: &str| text.contains('$') && text.contains("${");
    node.as_str().is_some_and(inside)
        || node.as_sequence().is_some_and(|items| items.iter().any(holds_variable))
        || node.as_mapping().is_some_and(|mapping| {
            mapping.iter().any(|entry| inside(&entry.key.name) || holds_variable(&entry.value))
        })
}
