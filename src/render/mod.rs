//! Renders a plan into parts: lays out the planned objects as files. Makes no decisions.
//!
//! A part is first drawn as objects, so that the checks see what will be written. It is converted to bytes once they pass.

mod argocd;
mod cluster;
pub(crate) mod context;
mod delivery;
mod drawn;
mod engine;
mod engine_table;
mod facts;
mod file_names;
mod folders;
mod generated_text;
mod git_attributes;
mod flux;
mod namespace;
mod provenance;

pub use argocd::health as argocd_health;
pub use cluster::{REMOVAL, STANDBY, SUSPENDED, addon_lists, lists_addons_of};
pub(crate) use delivery::UnmarkedNode;
pub use drawn::{ChartValues, Drawn, Inlaid, Object, Target, ValuesFile};
pub use engine::{EngineTarget, NamesSetting, RegisteredName, UnreadSecret};
pub use engine_table::{applying_groups, selecting_kinds};
pub use facts::{AddonPart, AppliedFolder, Facts, Installs, Purpose};
pub use folders::{cluster_folder, folder_of_cluster, release_folder};
pub use generated_text::{
    Installer, addon_of, addon_of_file, installer_of, installs_manifests, is_addon_file, is_leaving,
    is_on_standby, is_protected, is_protection, keeper, keeper_by, leaves_behind, may_name_target, target_of,
};
pub use git_attributes::GITATTRIBUTES;
pub use provenance::{ChartProvenance, ComposedField, Provenance};

use file_names::tell_apart;

use crate::{
    model::{Cluster, Engine, EngineSource, ManagementCluster},
    note::{Notes, Severity},
    plan::{ClusterPart, ClusterPlan, ManagementPlan, NamespacePlan, Phase, Plan},
    release::{self, Release},
    template::Recorder,
    tree::{HEADER, PartId, TreePath},
    yaml::{Node, Origin},
};

/// The subject of a part.
#[derive(Clone, Copy, Debug)]
pub enum PartSubject<'a> {
    /// The tree as a whole.
    Root,
    /// A head release.
    Release(&'a Release),
    /// A management cluster.
    Management(&'a Plan, &'a ManagementPlan),
    Namespace(&'a NamespacePlan),
    Cluster(&'a ClusterPlan),
}

/// Lists all parts of a plan, in the order in which they are drawn.
pub fn subjects(plan: &Plan) -> Vec<PartSubject<'_>> {
    let mut subjects = vec![PartSubject::Root];
    subjects.extend(plan.heads.iter().map(|release| PartSubject::Release(release)));
    subjects.extend(plan.management.iter().map(|management| PartSubject::Management(plan, management)));
    subjects.extend(plan.namespaces.iter().map(PartSubject::Namespace));
    subjects.extend(plan.clusters.iter().map(PartSubject::Cluster));
    subjects
}

impl PartSubject<'_> {
    /// The management cluster that applies it; `None` if any of them may.
    fn management(&self) -> Option<&ManagementCluster> {
        match self {
            Self::Root | Self::Release(_) => None,
            Self::Management(_, plan) => Some(&plan.management),
            Self::Namespace(plan) => Some(&plan.management),
            Self::Cluster(plan) => Some(&plan.cluster.management),
        }
    }

    /// The ID of the part drawn from it.
    pub fn id(&self) -> PartId {
        match self {
            Self::Root => PartId::Root,
            Self::Release(release) => PartId::Release(release.name.clone()),
            Self::Management(_, management) => PartId::Management(management.management.name.to_string()),
            Self::Namespace(namespace) => PartId::Namespace {
                management: namespace.management.name.to_string(),
                namespace: namespace.name.to_string(),
            },
            Self::Cluster(plan) => PartId::Cluster {
                management: plan.cluster.management.name.to_string(),
                namespace: plan.cluster.namespace.to_string(),
                cluster: plan.cluster.name.to_string(),
            },
        }
    }
}

/// Draws a part; template errors go to `notes`.
pub fn draw(subject: PartSubject<'_>, notes: &mut Notes) -> Drawn {
    draw_recorded(subject, None, notes)
}

/// Draws a part and records what its templates read.
pub fn draw_recorded(subject: PartSubject<'_>, recorder: Option<Recorder>, notes: &mut Notes) -> Drawn {
    let (objects, texts, frozen) = (Vec::new(), Vec::new(), Vec::new());
    let (embedded, inlaid, values) = (Vec::new(), Vec::new(), Vec::new());
    let (id, values_files) = (subject.id(), Vec::new());
    let mut drawn = Drawn { id, objects, texts, values_files, frozen, embedded, inlaid, values, recorder };
    match subject {
        PartSubject::Root => {
            drawn.texts.push((TreePath::root().join(".gitattributes"), GITATTRIBUTES.to_owned()));
        }
        PartSubject::Release(release) => {
            drawn.texts.extend(release_files(release));
            drawn.frozen.clone_from(&release.objects);
        }
        PartSubject::Management(plan, management) => {
            engine_of(&management.management).management(&plan.fleet, management, &mut drawn);
        }
        PartSubject::Namespace(namespace) => {
            namespace::draw(namespace, &mut drawn, notes);
            engine_of(&namespace.management).namespace(namespace, &delivery::kinds(), &mut drawn);
        }
        PartSubject::Cluster(plan) => {
            cluster::draw(plan, &mut drawn, notes);
            engine_of(&plan.cluster.management).cluster(plan, &mut drawn);
            delivery::draw(plan, &mut drawn, notes);
        }
    }
    if let Some(management) = subject.management() {
        drawn.shield(engine_of(management));
    }
    tell_apart(&mut drawn.objects);
    drawn
}

/// The first line of a file. In a cluster's files it names the cluster. It names neither the release, which would change all
/// files at once, nor the definition's file, which may move.
pub(crate) fn header(part: &PartId, source: &str) -> String {
    let from = match part {
        PartId::Cluster { namespace, cluster, .. } => {
            format!("the definition of cluster {namespace}/{cluster}")
        }
        PartId::Namespace { namespace, .. } => format!("the definitions of namespace {namespace}"),
        PartId::Root | PartId::Release(_) | PartId::Management(_) => source.to_owned(),
    };
    format!("{HEADER}{from}; do not edit")
}

fn engine_of(management: &ManagementCluster) -> &'static dyn engine::Engine {
    engine_table::of(management.engine)
}

fn release_files(release: &Release) -> Vec<(TreePath, String)> {
    let root = release_folder(&release.name);
    let at = |path: &str| path.split('/').fold(root.clone(), |folder, part| folder.join(part));
    release::write(release).into_iter().map(|(path, text)| (at(&path), text)).collect()
}

pub use cluster::is_cluster_file;

/// The file of the Cluster below the folder of a cluster's objects.
pub const CLUSTER_FILE: &str = "cluster/cluster.yaml";

/// The first line of each file of a cluster.
pub fn first_line(plan: &ClusterPlan) -> String {
    header(&PartSubject::Cluster(plan).id(), &plan.cluster.file)
}

/// The values in an object that installs an addon's chart; none for other objects.
pub fn addon_values(object: &Node) -> Option<Node> {
    delivery::values(object)
}

/// Whether objects of a kind hold the values of an addon's chart at a key of their `spec`.
pub fn holds_addon_values(kind: &str, key: &str) -> bool {
    delivery::holds_values(kind, key)
}

/// Where a field that an engine or an addon delivery reads comes from; none if the field's own origin is enough.
pub fn provenance<'a>(field: &ComposedField<'a>) -> Option<Vec<Provenance<'a>>> {
    if field.addon().is_some() && field.path.names() == ["metadata", "annotations", REMOVAL] {
        return Some(vec![Provenance::AddonRemoval]);
    }
    engine_table::all()
        .find_map(|engine| engine.provenance(field))
        .or_else(|| delivery::provenance::of(field))
}

/// The engine that reads objects with this `apiVersion`.
pub fn reader(api_version: &str) -> Option<Engine> {
    engine_table::all().find(|engine| engine.reads(api_version)).map(engine::Engine::engine)
}

/// The paths of a chart's values in objects that install charts.
pub fn addon_values_at() -> impl Iterator<Item = &'static [&'static str]> {
    delivery::values_at()
}

/// Whether a field with this new value stops an engine from looking at what an object applies or installs.
pub fn is_suspension(is_below: impl Fn(&[&str]) -> bool, after: Option<&serde_json::Value>) -> bool {
    engine_table::all().any(|engine| {
        let (path, suspends) = engine.suspension_at();
        is_below(path) && after == suspends.map(serde_json::Value::Bool).as_ref()
    })
}

/// Whether a field only decides what the deletion of an engine's object does.
pub fn is_about_deletion(is_below: impl Fn(&[&str]) -> bool) -> bool {
    engine_table::all().map(engine::Engine::deletion_at).any(is_below)
}

/// The folders that hold a cluster's files and no others.
pub fn cluster_folders(plan: &ClusterPlan) -> [TreePath; 2] {
    [cluster_folder(plan), engine_of(&plan.cluster.management).cluster_folder(plan)]
}

/// The file of a cluster's Cluster object. It exists as long as the cluster should exist.
pub fn cluster_file(plan: &ClusterPlan) -> TreePath {
    CLUSTER_FILE.split('/').fold(cluster_folder(plan), |folder, name| folder.join(name))
}

/// The files of the objects that install an addon: one for its chart, one for its manifests.
pub fn addon_files(plan: &ClusterPlan, addon: &str) -> [TreePath; 2] {
    let folder = cluster_folder(plan).join("addons");
    [folder.join(&format!("{addon}.yaml")), folder.join(&format!("{addon}.manifests.yaml"))]
}

/// The Cluster object of a cluster; none once it is being deleted.
pub fn cluster_object(plan: &ClusterPlan) -> Option<Node> {
    let object = (plan.phase != Phase::Deleted).then(|| cluster::object(plan))?;
    let annotations = engine_of(&plan.cluster.management).annotations(&object, cluster::is_kept(plan));
    Some(engine::annotated(object, &annotations))
}

/// What to know before an addon is uninstalled from a running cluster.
pub fn on_uninstalling_addon(plan: &ClusterPlan, addon: &str) -> Vec<String> {
    delivery::on_uninstalling(plan, addon)
}

/// Whether the engine of a management cluster refuses the objects beside a Cluster if one of a namespaced kind has no namespace.
pub fn needs_namespaces(management: &ManagementCluster) -> bool {
    engine_of(management).needs_namespaces()
}

/// The objects of a release as the engine of a management cluster applies them.
pub fn applied_class(release: &Release, management: &ManagementCluster) -> Vec<Node> {
    let annotations = class_annotations(management);
    release.objects.iter().map(|object| engine::annotated(object.clone(), &annotations)).collect()
}

/// The annotations on every object of a class once the engine of a management cluster has applied it.
pub fn class_annotations(management: &ManagementCluster) -> Vec<(&'static str, &'static str)> {
    engine_of(management).release_annotations()
}

/// The annotations that control how engines treat an object. Templates of a release must not set them.
pub fn reserved_annotations() -> Vec<&'static str> {
    engine_table::all().flat_map(engine::Engine::reserved_annotations).copied().collect()
}

/// The annotations with which an engine deletes an object and creates it anew whenever it applies it.
pub fn hook_annotations() -> impl Iterator<Item = &'static str> {
    engine_table::all().flat_map(engine::Engine::hook_annotations).copied()
}

/// The same, for the engine of a cluster.
pub fn hook_annotations_of(cluster: &Cluster) -> &'static [&'static str] {
    engine_of(&cluster.management).hook_annotations()
}

/// The texts that make an engine leave out a file, wherever they are in it.
pub fn skipping_texts() -> impl Iterator<Item = &'static str> {
    engine_table::all().filter_map(engine::Engine::skipping_text)
}

/// What to do about an object of a kind that the engine of a cluster, as it is installed, does not apply; none if it does.
pub fn excludes(cluster: &Cluster, group: &str, kind: &str) -> Option<&'static str> {
    engine_of(&cluster.management).excludes(group, kind)
}

/// Whether a file of this name changes how an engine builds the folder that it is in.
pub fn is_setting(file_name: &str) -> bool {
    engine_table::all().any(|engine| engine.is_setting(file_name))
}

/// The labels and annotations that engines add to what they apply, for their own bookkeeping.
pub fn bookkeeping() -> impl Iterator<Item = &'static str> {
    engine_table::all().flat_map(engine::Engine::bookkeeping).copied()
}

/// The arguments for `kubectl` that select the classes of some releases in a management cluster.
pub fn classes_of(engine: Engine, releases: &[String]) -> String {
    engine_table::of(engine).classes_of(releases)
}

/// The name of the engine's object that is healthy once a cluster is as its definition says. With Flux, clusters of the same
/// namespace and name in two management clusters share one.
pub fn health_of(cluster: &Cluster) -> String {
    engine_of(&cluster.management).health_of(cluster)
}

/// The engine's word for the objects that apply a cluster.
pub fn appliers(management: &ManagementCluster) -> &'static str {
    engine_of(management).appliers()
}

/// The object that installs an addon: its namespace, and its name for `kubectl`.
pub fn installer(plan: &ClusterPlan, addon: &str) -> (String, String) {
    delivery::installer(plan, addon)
}

/// Whether an object of this name, next to a cluster, installs the chart or the manifests of an addon.
pub fn installs(plan: &ClusterPlan, addon: &str, name: &str) -> bool {
    delivery::installs(plan, addon, name)
}

/// The command that lists the objects that install a cluster's addons, with their suspension.
pub fn list_installers(plan: &ClusterPlan) -> String {
    delivery::list_installers(plan)
}

/// A limitation of a delivery for a cluster.
#[derive(Clone, Debug)]
pub struct Limit {
    /// An error if the cluster cannot have the feature at all, a warning if it gets less than it asks for.
    pub severity: Severity,
    /// The place where the addon asks for it.
    pub origin: Origin,
    pub message: String,
    /// Alternatives.
    pub hints: Vec<String>,
}

/// The limitations of the delivery of a cluster's addons.
pub fn limits(plan: &ClusterPlan) -> Vec<Limit> {
    delivery::limits(plan)
}

/// The text of an object that lists what the clusters of a namespace need, with what the current one lists as well; none for
/// other objects.
pub fn merged(current: &str, made: &str) -> Option<String> {
    engine_table::all().find_map(|engine| engine.merged(current, made))
}

/// What a person has to do so that a change of these parts of a cluster is applied; of the cluster as a whole, if there are none.
/// `deletes` says whether the change deletes objects.
pub fn by_hand(plan: &ClusterPlan, parts: &[ClusterPart], deletes: bool) -> Vec<String> {
    engine_of(&plan.cluster.management).by_hand(plan, parts, deletes)
}

/// Why nothing reads the Secret that the source of a management cluster names: neither its engine, nor an addon delivery that
/// reads the repository itself. None if something reads it, or if the source names none.
pub fn unread_secret(plan: &ManagementPlan) -> Option<UnreadSecret> {
    let management = &plan.management;
    let is_named = matches!(&management.source, EngineSource::Git { secret: Some(_), .. });
    let unread = engine_of(management).unread_secret().filter(|_| is_named)?;
    let mut deliveries = plan.charts.keys().filter_map(|delivery| delivery.engine());
    deliveries.all(|engine| engine_table::of(engine).unread_secret().is_some()).then_some(unread)
}

/// The names of the clusters that the project for the addons of a namespace allows, with `*` for any text; none if it has no such
/// project, or excludes management clusters by name.
pub fn allowed_names(management: &ManagementCluster, namespace: &str) -> Option<String> {
    engine_of(management).allowed_names(management, namespace)
}

/// Why the engine of a cluster does not apply an object of a kind beside it; none if it does.
pub fn refused_beside(cluster: &Cluster, group: &str, kind: &str) -> Option<&'static str> {
    engine_of(&cluster.management).refused_beside(group, kind)
}

/// The names under which a management cluster is registered itself, each with its registry.
pub fn taken_names(management: &ManagementCluster) -> Vec<(String, String)> {
    engine_of(management).taken_names(management)
}

/// Whether two registries of an engine may be one.
pub fn may_be_one(engine: Engine, registry: &str, other: &str) -> bool {
    engine_table::of(engine).may_be_one(registry, other)
}

/// The setting that decides under which names an engine knows workload clusters; none if it has no registry of its own.
pub fn cluster_names(engine: Engine, management: &ManagementCluster) -> Option<NamesSetting> {
    engine_table::of(engine).cluster_names(management)
}

/// What the annotation contains with which an engine protects an object, as a person sees it in the object.
pub fn sign_of_protection(engine: Engine) -> &'static str {
    engine_table::of(engine).sign_of_protection()
}

/// The commit in the revision that an engine reports. Flux writes `main@sha1:<commit>`, Argo CD the commit alone.
pub fn commit_in_revision(revision: &str) -> &str {
    revision.rsplit_once(':').map_or(revision, |(_, commit)| commit)
}

/// The files that hand a fleet to an engine, below the folder of its management cluster, in the order in which a person applies
/// them.
pub fn entry_files(engine: Engine) -> &'static [&'static str] {
    engine_table::of(engine).entry_files()
}

/// The settings of a management cluster in a new fleet, as text of its definition.
pub fn first_settings(engine: Engine) -> &'static str {
    engine_table::of(engine).first_settings()
}

/// The commands that list what each engine applies, with its state.
pub fn list_commands() -> impl Iterator<Item = &'static str> {
    engine_table::all().map(engine::Engine::list_command)
}

/// The registry and name under which a cluster must be registered to get its addons; none if no registration is needed.
pub fn registration(plan: &ClusterPlan) -> Option<(String, String)> {
    delivery::registration(plan)
}

/// What to add so that the engine decrypts files next to clusters; none if it already does.
pub fn decryption_missing(management: &ManagementCluster) -> Option<&'static str> {
    engine_of(management).decryption_missing(management)
}
