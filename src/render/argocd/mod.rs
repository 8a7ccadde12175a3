//! Argo CD: the engine's own objects, separate from the objects that it applies.
//!
//! One entry applies the projects, and an Application for each release and each namespace. Another Application per namespace
//! applies the Applications of its clusters, since a single folder with all of them would be more than Argo CD reads at
//! once. None of these waits for another, because a waiting sync ignores new commits. If something is applied too early, it
//! is retried.

mod application;
mod exclusions;
pub mod health;
mod project;
mod provenance;

use super::{
    AppliedFolder, ComposedField, Drawn, Object, Provenance, Purpose, Target, cluster as cluster_part,
    engine,
    flux::{self, sources},
    folders::{cluster_folder as part_folder, management_folder, release_folder},
    namespace as namespace_part,
};
use crate::{
    model::{Cluster, Destination, Engine, Label, ManagementCluster, is_cluster_wide},
    plan::{ClusterPart, ClusterPlan, ManagementPlan, NamespacePlan, Phase, Unit, charts_of},
    tree::{PartId, TreePath},
    yaml::{Mapping, Node},
};

pub(super) use application::{Application, Source, in_repository, name_in, registry, whole_cluster};
pub(super) use exclusions::is_excluded;
pub(super) use project::{addons_name, chart_address};

/// Keeps Argo CD from deleting an object when it leaves git or along with its Application.
const KEEP: (&str, &str) = ("argocd.argoproj.io/sync-options", "Prune=false,Delete=false");

/// Make an object a hook. By default, Argo CD deletes a hook before it creates it anew, at every sync, whatever [`KEEP`] says.
///
/// Source: `IsHook` in `pkg/sync/hook/hook.go` and `deleteHooks` in `pkg/sync/sync_context.go` of the gitops engine of 3.5.1.
pub(super) const HOOKS: [&str; 2] = ["argocd.argoproj.io/hook", "helm.sh/hook"];

/// The setting for the names under which workload clusters are registered.
pub(super) const NAMES_SETTING: &str = "argocd.clusterNames";

/// The renderer for Argo CD.
pub(super) struct ArgoCd;

impl engine::Engine for ArgoCd {
    fn engine(&self) -> Engine {
        Engine::ArgoCd
    }

    fn management(&self, fleet: &Label, plan: &ManagementPlan, drawn: &mut Drawn) {
        management(plan, drawn);
        if charts_of(&plan.charts, Engine::Flux).is_some() {
            flux_sources(fleet, plan, drawn);
        }
    }

    fn namespace(&self, plan: &NamespacePlan, delivered: &[(&str, &str)], drawn: &mut Drawn) {
        namespace(plan, delivered, drawn);
    }

    fn cluster(&self, plan: &ClusterPlan, drawn: &mut Drawn) {
        cluster(plan, drawn);
    }

    fn cluster_folder(&self, plan: &ClusterPlan) -> TreePath {
        clusters_folder(&plan.cluster.management, &plan.cluster.namespace).join(plan.cluster.name.as_str())
    }

    fn annotations(&self, _object: &Node, kept: bool) -> Vec<(&'static str, &'static str)> {
        kept.then_some(KEEP).into_iter().collect()
    }

    fn release_annotations(&self) -> Vec<(&'static str, &'static str)> {
        // The Application of a release protects all of its objects.
        Vec::new()
    }

    fn reserved_annotations(&self) -> &'static [&'static str] {
        &[
            KEEP.0,
            "argocd.argoproj.io/compare-options",
            HOOKS[0],
            "argocd.argoproj.io/hook-delete-policy",
            "argocd.argoproj.io/ignore-healthcheck",
            "argocd.argoproj.io/installation-id",
            "argocd.argoproj.io/sync-wave",
            "argocd.argoproj.io/tracking-id",
            HOOKS[1],
            "helm.sh/hook-delete-policy",
            "helm.sh/hook-weight",
            // It keeps Argo CD from deleting the object, even in the last step of a removal.
            "helm.sh/resource-policy",
        ]
    }

    fn skipping_text(&self) -> Option<&'static str> {
        // `skipFileRenderingMarker` in `reposerver/repository/repository.go` of 3.5.1.
        Some("+argocd:skip-file-rendering")
    }

    fn excludes(&self, group: &str, kind: &str) -> Option<&'static str> {
        is_excluded(group, kind)
            .then_some("apply it apart from the fleet, or change `resource.exclusions` in `argocd-cm`")
    }

    fn is_setting(&self, file_name: &str) -> bool {
        // `mergeSourceParameters` in `reposerver/repository/repository.go` of 3.5.1.
        file_name.starts_with(".argocd-source") && crate::world::is_yaml(file_name)
    }

    fn hook_annotations(&self) -> &'static [&'static str] {
        &HOOKS
    }

    fn bookkeeping(&self) -> &'static [&'static str] {
        &["argocd.argoproj.io/tracking-id", "argocd.argoproj.io/installation-id"]
    }

    fn applying_groups(&self) -> &'static [&'static str] {
        &["argoproj.io"]
    }

    fn is_kept(&self, text: &str) -> bool {
        let (name, value) = KEEP;
        text.lines().any(|line| line.trim_start().starts_with(name) && line.contains(value))
    }

    fn sign_of_protection(&self) -> &'static str {
        KEEP.1
    }

    fn classes_of(&self, releases: &[String]) -> String {
        // Argo CD adds no label to the objects that it applies. A class is named after its release.
        releases.join(" ")
    }

    fn decryption_missing(&self, management: &ManagementCluster) -> Option<&'static str> {
        let plugin = management.decryption.as_ref().and_then(|decryption| decryption.plugin.as_ref());
        let hint = "Argo CD decrypts nothing itself: use ExternalSecrets or SealedSecrets, or name a plugin that decrypts: `decryption: { provider: sops, plugin: <name> }`";
        plugin.is_none().then_some(hint)
    }

    fn needs_namespaces(&self) -> bool {
        // Their Application has a destination, whose namespace they get.
        false
    }

    fn refused_beside(&self, group: &str, kind: &str) -> Option<&'static str> {
        let is_refused = group == "argoproj.io" || is_cluster_wide(group, kind);
        is_refused.then_some("the project of these objects in Argo CD permits no cluster-scoped kinds and none of Argo CD's own, so nothing in the folder would be applied")
    }

    fn suspension_at(&self) -> (&'static [&'static str], Option<bool>) {
        (&["spec", "syncPolicy", "automated"], None)
    }

    fn deletion_at(&self) -> &'static [&'static str] {
        &["metadata", "finalizers"]
    }

    fn reads(&self, api_version: &str) -> bool {
        api_version.starts_with("argoproj.io/")
    }

    fn provenance<'a>(&self, field: &ComposedField<'a>) -> Option<Vec<Provenance<'a>>> {
        provenance::of(field)
    }

    fn appliers(&self) -> &'static str {
        "Applications"
    }

    fn merged(&self, current: &str, made: &str) -> Option<String> {
        project::merged(current, made)
    }

    fn by_hand(&self, plan: &ClusterPlan, parts: &[ClusterPart], deletes: bool) -> Vec<String> {
        by_hand(&plan.cluster, parts, deletes)
    }

    fn unread_secret(&self) -> Option<engine::UnreadSecret> {
        Some(engine::UnreadSecret {
            reason: "an Application of Argo CD cannot refer to a Secret",
            hint: "remove `secret`, and register the repository with its credentials: `argocd repo add`",
        })
    }

    fn names_target(&self, path: &str) -> bool {
        path.contains("/argocd/fleet/namespaces/")
    }

    fn target(&self, text: &str) -> Option<engine::EngineTarget> {
        let mut lines = text.lines().skip_while(|line| *line != "  destination:").skip(1);
        let mut own = lines.by_ref().take_while(|line| line.starts_with("    "));
        let value = |line: &str| {
            let (key, value) = line.trim_start().split_once(": ")?;
            ["name", "server"].contains(&key).then(|| value.to_owned())
        };
        let cluster = own.find_map(value)?;
        let unquoted = |text: &str| text.trim_matches(['\'', '"']).to_owned();
        let cluster = match unquoted(&cluster).trim_end_matches('/') {
            Destination::OWN_NAME => Destination::OWN_SERVER.to_owned(),
            other => other.to_owned(),
        };
        let metadata = text.lines().skip_while(|line| *line != "metadata:").skip(1);
        let mut metadata = metadata.take_while(|line| line.starts_with(' '));
        let namespace = metadata.find_map(|line| line.strip_prefix("  namespace: "));
        let namespace = unquoted(namespace?);
        let runs = text.contains("\n    automated:");
        Some(engine::EngineTarget {
            cluster,
            namespace,
            settings: ["argocd.destination", "argocd.namespace"],
            runs,
        })
    }

    fn allowed_names(&self, management: &ManagementCluster, namespace: &str) -> Option<String> {
        let pattern = management.argocd.cluster_names.of(management.name.as_str(), namespace, "*");
        (pattern != "*").then_some(pattern)
    }

    fn cluster_names(&self, management: &ManagementCluster) -> Option<engine::NamesSetting> {
        let pattern = management.argocd.cluster_names.as_str().to_owned();
        Some(engine::NamesSetting { path: NAMES_SETTING, pattern, of_hub: "argocd.destination: in-cluster" })
    }

    fn entry_files(&self) -> &'static [&'static str] {
        &["argocd/fleet/entry.yaml"]
    }

    fn first_settings(&self) -> &'static str {
        "      argocd:\n        # What registers workload clusters: docs/argocd-health.md.\n        registration: capi2argo\n"
    }

    fn list_command(&self) -> &'static str {
        "argocd app list"
    }

    fn may_be_one(&self, registry: &str, other: &str) -> bool {
        application::may_be_one(registry, other)
    }

    fn taken_names(&self, management: &ManagementCluster) -> Vec<(String, String)> {
        application::taken_names(management)
    }

    fn health_of(&self, cluster: &Cluster) -> String {
        name_in(&cluster.management, &Unit::cluster(cluster, ClusterPart::Cluster).name())
    }
}

/// The syncs that a person starts, and where `kubectl` finds the Applications of a hub.
fn by_hand(cluster: &Cluster, parts: &[ClusterPart], deletes: bool) -> Vec<String> {
    let management = &cluster.management;
    let mut names: Vec<String> =
        parts.iter().map(|part| Unit::cluster(cluster, part.clone()).name()).collect();
    if names.is_empty() {
        names.push(format!("clusters.{}", cluster.namespace));
    }
    let prune = if deletes { " --prune" } else { "" };
    let sync = |name: &String| {
        format!(
            "`argocd.automated` is false: start the sync with `argocd app sync {}{prune}`",
            name_in(management, name)
        )
    };
    let syncs = names.iter().map(sync).filter(|_| !management.argocd.automated);
    let hub = (!management.argocd.destination.is_own()).then(|| {
        format!(
            "Argo CD runs in another cluster (`argocd.destination`): use its context for Applications, and that of `{}` for everything else",
            management.name
        )
    });
    syncs.chain(hub).collect()
}

/// The folder that the entry applies.
fn entry_folder(management: &ManagementCluster) -> TreePath {
    management_folder(management).join("argocd").join("fleet")
}

/// The folder of the Applications of a namespace's clusters.
fn clusters_folder(management: &ManagementCluster, namespace: &Label) -> TreePath {
    management_folder(management).join("argocd").join("clusters").join(namespace.as_str())
}

fn management(plan: &ManagementPlan, drawn: &mut Drawn) {
    let management = &plan.management;
    let folder = entry_folder(management);
    let entry = Application::of_applications(management, AppliedFolder::Fleet, folder.as_str());
    // The entry is among the objects that it applies. If it were deleted along with them, it would wait for itself.
    add(folder.join("entry.yaml"), "stackloom.yaml", &entry, drawn).kept = true;
    for release in &plan.releases {
        let classes = release_folder(&release.name).join("cluster-class");
        let unit = AppliedFolder::Unit(Unit::release(&release.name));
        let application = Application {
            keeps_all: true,
            ..Application::new(management, unit, classes.as_str(), &management.class_namespace)
        };
        let file = folder.join("releases").join(&format!("{}.yaml", release.name));
        add(file, "stackloom.yaml", &application, drawn);
    }
}

fn add<'d>(
    file: TreePath,
    source: &str,
    application: &Application<'_>,
    drawn: &'d mut Drawn,
) -> &'d mut Object {
    drawn.add_engines(file, source, application.object()).with(application.purpose())
}

/// The objects that Flux needs to install addons in a management cluster whose engine is Argo CD.
fn flux_sources(fleet: &Label, plan: &ManagementPlan, drawn: &mut Drawn) {
    let management = &plan.management;
    let folder = management_folder(management).join("argocd").join("flux-sources");
    let name = Label::new(flux::NAMESPACE).expect("a label");
    let application = Application {
        watches: None,
        ..Application::new(management, AppliedFolder::Sources, folder.as_str(), &name)
    };
    add(entry_folder(management).join("flux-sources.yaml"), "stackloom.yaml", &application, drawn);
    if let Some(source) = sources::repository(fleet, management) {
        drawn.add_engines(folder.join("source.yaml"), "stackloom.yaml", source).with(Purpose::Source);
    }
    sources::draw_charts(&plan.charts, management.standby, &folder, drawn);
}

fn namespace(plan: &NamespacePlan, delivered: &[(&str, &str)], drawn: &mut Drawn) {
    let (management, name) = (&plan.management, plan.name.as_str());
    let folder = entry_folder(management);
    let file = |kind: &str| folder.join(kind).join(&format!("{name}.yaml"));
    let unit = AppliedFolder::Unit(Unit::namespace(name));
    let folder_of_namespace = namespace_part::folder(plan);
    let objects = Application {
        watches: None,
        ..Application::new(management, unit, folder_of_namespace.as_str(), &plan.name)
    };
    add(file("namespaces"), "stackloom.yaml", &objects, drawn);
    if plan.releases.is_empty() {
        return;
    }
    let clusters = clusters_folder(management, &plan.name);
    let clusters = Application {
        // It only contains Applications. Those of a cluster that stays have no finalizer of their own.
        cascade: true,
        ..Application::of_applications(
            management,
            AppliedFolder::ClustersOf(name.to_owned()),
            clusters.as_str(),
        )
    };
    add(file("clusters"), "stackloom.yaml", &clusters, drawn);
    let projects = folder.join("projects").join(name);
    let mut add = |file: &str, project, purpose| {
        // Argo CD deletes nothing of an Application whose project is gone, so projects outlive the Applications in them.
        drawn.add_engines(projects.join(file), "stackloom.yaml", project).with(purpose).kept = true;
    };
    add("clusters.yaml", project::of_clusters(plan, delivered), Purpose::ManagementProject);
    if plan.has_own_objects {
        add("objects.yaml", project::of_own_objects(plan), Purpose::ManagementProject);
    }
    if charts_of(&plan.charts, Engine::ArgoCd).is_some() {
        add("addons.yaml", project::of_addons(plan), Purpose::AddonProject);
    }
}

fn cluster(plan: &ClusterPlan, drawn: &mut Drawn) {
    let cluster = &plan.cluster;
    let management = &cluster.management;
    let part = part_folder(plan);
    let project = name_in(management, &project::clusters_name(cluster.namespace.as_str()));
    let unit = |part| AppliedFolder::Unit(Unit::cluster(cluster, part));
    let of = |part: ClusterPart, folder: &str| Application {
        project: project.clone(),
        in_tenant_project: true,
        labels: labels(plan),
        cascade: plan.phase == Phase::Deleted,
        watches: Some(whole_cluster(plan)),
        ..Application::new(management, unit(part), folder, &cluster.namespace)
    };
    let mut applications = vec![("cluster.yaml", of(ClusterPart::Cluster, part.join("cluster").as_str()))];
    if let Some(companion) = &cluster.companion {
        let plugin = management.decryption.as_ref().and_then(|decryption| decryption.plugin.clone());
        applications.push((
            "objects.yaml",
            Application {
                project: name_in(management, &project::own_objects_name(cluster.namespace.as_str())),
                source: Source::Folder {
                    folder: companion.folder.clone(),
                    built: companion.is_built,
                    plugin,
                },
                // It prunes nothing, so it need not see deletions.
                watches: Some(".".to_owned()),
                // The users' own objects include the cluster's credentials, which must last until the cluster is gone.
                keeps_all: true,
                ..of(ClusterPart::Objects, &companion.folder)
            },
        ));
    }
    let installers = part.join("addons");
    let addons = if cluster.addon_delivery.engine() == Some(Engine::ArgoCd) {
        Application {
            labels: labels(plan),
            watches: Some(whole_cluster(plan)),
            only_out_of_sync: false,
            ..Application::of_applications(management, unit(ClusterPart::Addons), installers.as_str())
        }
    } else {
        of(ClusterPart::Addons, installers.as_str())
    };
    let addons = Application {
        // When a cluster leaves, the objects that install its addons are deleted, but the installed addons stay.
        cascade: plan.phase.leaves(),
        // If the last addon is turned off, it should be uninstalled.
        may_be_empty: true,
        ..addons
    };
    applications.push(("addons.yaml", addons));
    let folder = clusters_folder(management, &cluster.namespace).join(cluster.name.as_str());
    for (file, application) in applications {
        add(folder.join(file), &cluster.file, &application, drawn);
    }
    markers(plan, &part, drawn);
}

/// Adds the objects that keep folders from being empty: git drops empty folders, and Argo CD prunes nothing if the folder is
/// missing.
fn markers(plan: &ClusterPlan, part: &TreePath, drawn: &mut Drawn) {
    let cluster = &plan.cluster;
    // The list is next to the Cluster, because the folder of the addons is not applied to the management cluster.
    let list = part.join("cluster").join(&cluster_part::addon_list_file(cluster));
    drawn.add(list, &cluster.file, Target::Management, cluster_part::addon_list(plan)).with(Purpose::Marker);
    if let Some(removal) = cluster.removal.as_ref().filter(|_| plan.phase == Phase::Deleted) {
        let file = part.join("cluster").join(&format!("configmap-{}.cluster.yaml", cluster.name));
        let marker = cluster_part::removal_marker(cluster, removal);
        drawn.add(file, &cluster.file, Target::Management, marker).with(Purpose::Marker);
    }
    if plan.addons.is_empty() {
        let id = PartId::Cluster {
            management: cluster.management.name.to_string(),
            namespace: cluster.namespace.to_string(),
            cluster: cluster.name.to_string(),
        };
        let text = format!("{}\nThis cluster has no addons.\n", super::header(&id, &cluster.file));
        drawn.texts.push((part.join("addons").join("none.txt"), text));
    }
}

/// The labels on every Application of a cluster, for finding them.
pub(super) fn labels(plan: &ClusterPlan) -> Mapping {
    let cluster = &plan.cluster;
    let mut labels = Mapping::new();
    labels.set("stackloom.dev/cluster", cluster.name.as_str());
    labels.set("stackloom.dev/management-cluster", cluster.management.name.as_str());
    labels.set("stackloom.dev/namespace", cluster.namespace.as_str());
    labels
}
