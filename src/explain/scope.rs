//! What the files of a part are composed from, and where it is written.

use std::{
    cell::{OnceCell, RefCell},
    collections::BTreeMap,
    sync::Arc,
};

use super::{
    RecordedFleet,
    addon_rows::AddonRows,
    layers::{Layers, shown},
    source::{Role, SourcePlace, Spot, Words, deepest, spot},
};
use crate::{
    definition::{StackFiles, StackFolder},
    model::{ManagementCluster, ReleaseRef},
    plan::{AddonPlan, ClusterPlan, NamespacePlan},
    release::{Release, ReleaseAddon},
    yaml::{Node, Origin, Path, Source as File},
};

/// The subject of a part.
#[derive(Clone, Copy, Debug)]
pub(super) enum PartOwner<'a> {
    /// The tree, or a management cluster.
    Management,
    /// A head release.
    Release(&'a Release),
    /// A namespace, and the release whose templates rendered the file.
    Namespace(&'a NamespacePlan, Option<&'a Release>),
    Cluster(&'a ClusterPlan),
}

/// The context for finding where the fields of a part come from.
#[derive(Debug)]
pub(super) struct Scope<'a> {
    pub(super) fleet: &'a RecordedFleet,
    pub(super) whose: PartOwner<'a>,
    pub(super) management: Option<&'a ManagementCluster>,
    pub(super) layers: Option<Layers<'a>>,
    /// The clusters that need the part.
    pub(super) users: Vec<&'a ClusterPlan>,
    /// The scopes of these clusters.
    pub(super) theirs: OnceCell<Vec<OnceCell<Scope<'a>>>>,
    /// A cache, because many generated lines depend on the same few.
    pub(super) known: Known,
    /// The only place to search for, if any; all others are ignored.
    pub(super) sought: Option<SourceQuery<'a>>,
}

/// A file, and optionally a line of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct SourceQuery<'a> {
    pub(super) file: &'a str,
    pub(super) line: Option<usize>,
}

#[derive(Debug, Default)]
pub(super) struct Known {
    chosen: OnceCell<Vec<SourcePlace>>,
    choice: OnceCell<Vec<SourcePlace>>,
    kubernetes: OnceCell<Vec<SourcePlace>>,
    management_name: OnceCell<Vec<SourcePlace>>,
    namespace_name: OnceCell<Vec<SourcePlace>>,
    anchor: OnceCell<Vec<SourcePlace>>,
    pub(super) rows: RefCell<BTreeMap<String, AddonRows>>,
}

impl<'a> Scope<'a> {
    pub(super) fn of_cluster(fleet: &'a RecordedFleet, plan: &'a ClusterPlan) -> Self {
        let management = Some(&*plan.cluster.management);
        let layers = Layers::of(&fleet.definitions, &plan.cluster.file);
        Self { layers, ..Self::shared(fleet, PartOwner::Cluster(plan), management, vec![plan]) }
    }

    /// The scope of something that several clusters share.
    pub(super) fn shared(
        fleet: &'a RecordedFleet,
        whose: PartOwner<'a>,
        management: Option<&'a ManagementCluster>,
        users: Vec<&'a ClusterPlan>,
    ) -> Self {
        let (theirs, known) = (OnceCell::new(), Known::default());
        Self { fleet, whose, management, layers: None, users, theirs, known, sought: None }
    }

    /// Restricts the scope to a search for one place. Other users of shared parts are then ignored.
    pub(super) fn looking(self, sought: Option<SourceQuery<'a>>) -> Self {
        Self { sought, ..self }
    }

    pub(super) fn cluster(&self) -> Option<&'a ClusterPlan> {
        match self.whose {
            PartOwner::Cluster(plan) => Some(plan),
            _ => None,
        }
    }

    /// The release that the part is generated from.
    pub(super) fn release(&self) -> Option<&'a Release> {
        match self.whose {
            PartOwner::Cluster(plan) => Some(&plan.release),
            PartOwner::Release(release) | PartOwner::Namespace(_, Some(release)) => Some(release),
            PartOwner::Management | PartOwner::Namespace(_, None) => None,
        }
    }

    /// The release that supplies an addon.
    pub(super) fn supplier(&self, addon: &str) -> Option<&'a Release> {
        let other = self.cluster().and_then(|plan| plan.suppliers.get(addon));
        other.map(|release| &**release).or_else(|| self.release())
    }

    /// The addons of the release, each as its supplier has it.
    pub(super) fn addons(&self) -> Vec<&'a Arc<ReleaseAddon>> {
        let addons = self.release().map(|release| release.addons.as_slice()).unwrap_or_default();
        let supplied = |addon: &'a Arc<ReleaseAddon>| {
            let name = addon.addon.name.as_str();
            self.supplier(name).and_then(|release| release.addon(name)).unwrap_or(addon)
        };
        addons.iter().map(supplied).collect()
    }

    /// The settings of a value in the cluster's layers, or of its closest parent if no layer sets it.
    pub(super) fn field(&self, path: &Path) -> Vec<SourcePlace> {
        let Some(layers) = &self.layers else { return Vec::new() };
        let mut at = path.clone();
        loop {
            let settings = layers.settings(&at);
            if settings.iter().any(|source| source.role == Role::Set) {
                if at != *path {
                    let value = shown(&layers.named(path));
                    return settings.into_iter().map(|source| source.unset(&value)).collect();
                }
                return settings;
            }
            match at.parent() {
                Some(above) => at = above,
                None => return settings,
            }
        }
    }

    /// The settings of a value in the definition; empty if no layer sets it.
    pub(super) fn set(&self, path: &Path) -> Vec<SourcePlace> {
        let settings = self.layers.as_ref().map(|layers| layers.settings(path)).unwrap_or_default();
        if settings.iter().any(|source| source.role == Role::Set) { settings } else { Vec::new() }
    }

    pub(super) fn keys(&self, keys: &[&str]) -> Vec<SourcePlace> {
        self.field(&Path::of(keys))
    }

    /// The settings that select the release, without the release's content.
    pub(super) fn choice(&self) -> Vec<SourcePlace> {
        self.known.choice.get_or_init(|| self.find_choice()).clone()
    }

    fn find_choice(&self) -> Vec<SourcePlace> {
        let Some(plan) = self.cluster() else { return Vec::new() };
        let keys: &[&str] = match plan.cluster.release {
            ReleaseRef::Head(..) => &["release", "stack", "kubernetes"],
            ReleaseRef::Named(_) => &["release"],
        };
        let settings = keys.iter().flat_map(|key| self.keys(&["spec", key]));
        let set = settings.filter(|source| source.role == Role::Set);
        set.map(|source| SourcePlace { role: Role::Release, ..source }).collect()
    }

    /// The settings that select the release, for all clusters that need the part.
    pub(super) fn chosen(&self) -> Vec<SourcePlace> {
        self.known.chosen.get_or_init(|| self.used(&Scope::choice)).clone()
    }

    /// The sources of the release's name. The name of a head release is a hash of its content.
    pub(super) fn release_name(&self) -> Vec<SourcePlace> {
        let mut settings = self.choice();
        settings.extend(self.release().and_then(|release| self.content(release)));
        settings
    }

    /// A single source for all lines that determine the content of a head release.
    pub(super) fn content(&self, release: &Release) -> Option<SourcePlace> {
        let folder = self.stack(release)?;
        let what = format!("the content of {}, of which the release's name is a hash", release.name);
        let first = folder.stack.source.clone();
        let mut source = SourcePlace::lines(Role::Content, what, &first, 1, 1);
        source.release = Some(release.name.as_str().into());
        Some(source)
    }

    /// The stack folder of a head release.
    pub(super) fn stack(&self, release: &Release) -> Option<&'a StackFolder> {
        let folder = self.fleet.definitions.stacks.get(&release.stack.to_string());
        folder.filter(|_| release.is_head())
    }

    /// The `release.yaml` of a numbered release.
    fn frozen(&self, release: &Release) -> Option<(&'a File, &'a Node)> {
        if release.is_head() {
            return None;
        }
        let path = super::frozen_file(release);
        Some((self.fleet.input.sources.at(&path)?, self.fleet.frozen(&path)?))
    }

    /// The files for a release's minor, which override the shared files of the stack.
    fn files(&self, release: &Release) -> [Option<&'a StackFiles>; 2] {
        let Some(folder) = self.stack(release) else { return [None, None] };
        [folder.overrides.get(&release.kubernetes.minor()), Some(&folder.shared)]
    }

    /// A value in `stack.yaml`. A numbered release has it under another key.
    pub(super) fn stack_value(&self, head: &[&str], frozen: &[&str]) -> Vec<SourcePlace> {
        let Some(release) = self.release() else { return Vec::new() };
        if let Some(folder) = self.stack(release) {
            let spot = deepest(&folder.stack.node, &Path::of(head));
            return vec![spot.source(Role::Stack, head.join("."), &folder.stack.source)];
        }
        let Some((file, node)) = self.frozen(release) else { return Vec::new() };
        vec![deepest(node, &Path::of(frozen)).source(Role::Stack, frozen.join("."), file)]
    }

    /// The sources of the exact Kubernetes version.
    pub(super) fn kubernetes(&self) -> Vec<SourcePlace> {
        self.known.kubernetes.get_or_init(|| self.find_kubernetes()).clone()
    }

    fn find_kubernetes(&self) -> Vec<SourcePlace> {
        let Some(release) = self.release() else { return Vec::new() };
        let mut settings = Vec::new();
        match self.stack(release) {
            None => settings.extend(self.stack_value(&[], &["spec", "kubernetes"])),
            Some(folder) => {
                let versions = folder.stack.node.at(&["spec", "kubernetes"]).and_then(Node::as_sequence);
                let wanted = release.kubernetes.to_string();
                for item in versions.unwrap_or_default() {
                    let Some(version) = spot(item, &Path::of(&["version"])) else { continue };
                    if version.node.as_str().is_some_and(|text| text.trim_start_matches('v') == wanted) {
                        settings.push(version.source(Role::Stack, "kubernetes", &folder.stack.source));
                    }
                }
            }
        }
        settings.extend(self.choice());
        settings
    }

    /// A value in an addon's definition, at a path of its spec, or of the closest parent.
    pub(super) fn addon(&self, addon: &str, keys: &[&str]) -> Vec<SourcePlace> {
        self.addon_path(addon, &Path::of(keys), Role::Stack).into_iter().collect()
    }

    pub(super) fn addon_path(&self, addon: &str, path: &Path, role: Role) -> Option<SourcePlace> {
        let what = if path.segments().is_empty() { addon.to_owned() } else { format!("{addon}: {path}") };
        self.in_addon(addon, |spec, file| {
            let source = deepest(spec, path).source(role, what, file);
            Some(match spot(spec, path) {
                Some(_) => source,
                None => {
                    let value = source.what.to_string();
                    SourcePlace { decides: false, ..source.unset(&value) }
                }
            })
        })
    }

    /// Looks at the spec of an addon, in the stack or in the numbered release.
    pub(super) fn in_addon<T>(&self, addon: &str, look: impl FnOnce(&Node, &File) -> Option<T>) -> Option<T> {
        let release = self.supplier(addon)?;
        if self.stack(release).is_some() {
            let written = self.files(release).into_iter().flatten().find_map(|files| files.addons.get(addon));
            return written.and_then(|written| {
                look(written.node.get("spec").unwrap_or(&written.node), &written.source)
            });
        }
        let (file, node) = self.frozen(release)?;
        look(deepest(node, &Path::of(&["spec", "addons", addon])).node, file)
    }

    /// The sources that decide whether the cluster has an addon.
    pub(super) fn addon_enabled(&self, addon: &str) -> Vec<SourcePlace> {
        let path = Path::of(&["spec", "addons", addon, "enabled"]);
        let settings = self.set(&path);
        let default = self.addon_path(addon, &Path::of(&["enabled"]), Role::Default);
        let mut default: Vec<_> = default.into_iter().collect();
        if !settings.is_empty() {
            default = default.into_iter().map(|source| source.aside(Role::Overridden)).collect();
        }
        default.extend(settings);
        default
    }

    /// A value in a migration of a head release, by index.
    pub(super) fn migration(&self, index: usize, keys: &[&str]) -> Option<Vec<SourcePlace>> {
        let folder = self.stack(self.release()?)?;
        let item = folder.stack.node.at(&["spec", "migrations"])?.as_sequence()?.get(index)?;
        let spot = deepest(item, &Path::of(keys));
        Some(vec![spot.source(Role::Stack, "a migration", &folder.stack.source)])
    }

    /// A value in a node image, by its index in the release; empty if there is no such image.
    pub(super) fn image(&self, index: Option<usize>, keys: &[&str]) -> Vec<SourcePlace> {
        let Some(release) = self.release() else { return Vec::new() };
        let wanted: Vec<_> = match index {
            Some(index) => release.images.get(index).into_iter().collect(),
            None => release.images.iter().collect(),
        };
        let (file, node) = match self.stack(release) {
            Some(_) => {
                let mut files = self.files(release).into_iter().flatten();
                let Some(written) = files.find_map(|files| files.node_images.as_ref()) else {
                    return Vec::new();
                };
                (&written.source, &written.node)
            }
            None => match self.frozen(release) {
                Some(found) => found,
                None => return Vec::new(),
            },
        };
        let items = node.at(&["spec", "images"]).and_then(Node::as_sequence).unwrap_or_default();
        let mut sources = Vec::new();
        for image in wanted {
            let kubernetes = image.kubernetes.to_string();
            let is_it = |item: &&Node| {
                let text = |key| item.get(key).and_then(Node::as_str).unwrap_or_default();
                text("name") == image.name && text("kubernetes").trim_start_matches('v') == kubernetes
            };
            let Some(item) = items.iter().find(is_it) else { continue };
            let what = format!("images: {} {}", image.name, keys.join("."));
            sources.push(deepest(item, &Path::of(keys)).source(Role::Stack, what.trim_end(), file));
            if let Some(version) = spot(item, &Path::of(&["kubernetes"])) {
                sources.push(version.source(Role::Stack, "images: which Kubernetes it is for", file));
            }
        }
        sources
    }

    /// A value in `stackloom.yaml`: the management cluster's own, otherwise the shared one.
    pub(super) fn fleet_value(&self, keys: &[&str]) -> Vec<SourcePlace> {
        let written = &self.fleet.written;
        let shared = Path::of(&[&["spec"], keys].concat());
        let own = self.management.and_then(|management| {
            let list = Path::of(&["spec", "managementClusters", management.name.as_str()]);
            let item = spot(&written.node, &list)?;
            let found = spot(item.node, &Path::of(&keys[..1]))?;
            Some(match spot(found.node, &Path::of(&keys[1..])) {
                Some(deeper) if deeper.key.is_some() => deeper,
                _ => found,
            })
        });
        let found = own.or_else(|| spot(&written.node, &shared));
        let found = found.unwrap_or_else(|| self.management_spot());
        vec![found.source(Role::Fleet, keys.join("."), &written.source)]
    }

    /// Whether `stackloom.yaml` sets a value for the management cluster.
    pub(super) fn is_in_fleet(&self, key: &str) -> bool {
        let name = self.management.map_or("", |one| one.name.as_str());
        let ways = [&["spec", "managementClusters", name, key][..], &["spec", key]];
        ways.iter().any(|way| spot(&self.fleet.written.node, &Path::of(way)).is_some())
    }

    /// The place of the management cluster.
    fn management_spot(&self) -> Spot<'a> {
        let node = &self.fleet.written.node;
        let name = self.management.map_or("", |management| management.name.as_str());
        let path = Path::of(&["spec", "managementClusters", name, "name"]);
        spot(node, &path).unwrap_or_else(|| deepest(node, &Path::of(&["metadata", "name"])))
    }

    pub(super) fn fleet_name(&self) -> Vec<SourcePlace> {
        let written = &self.fleet.written;
        let spot = deepest(&written.node, &Path::of(&["metadata", "name"]));
        vec![spot.source(Role::Fleet, "metadata.name", &written.source)]
    }

    /// The sources of the management cluster: its entry, and the clusters that name it.
    pub(super) fn management_name(&self) -> Vec<SourcePlace> {
        self.known.management_name.get_or_init(|| self.find_management_name()).clone()
    }

    fn find_management_name(&self) -> Vec<SourcePlace> {
        let written = &self.fleet.written;
        let own = self.management_spot().source(Role::Fleet, "managementClusters", &written.source);
        let mut settings = vec![own];
        settings.extend(self.used(&|scope| scope.keys(&["spec", "managementCluster"])));
        settings
    }

    /// The sources of the namespace: the clusters in it.
    pub(super) fn namespace_name(&self) -> Vec<SourcePlace> {
        self.known.namespace_name.get_or_init(|| self.find_namespace_name()).clone()
    }

    fn find_namespace_name(&self) -> Vec<SourcePlace> {
        let mut settings = self.used(&|scope| scope.keys(&["metadata", "namespace"]));
        if let PartOwner::Namespace(plan, _) = self.whose
            && plan.name == plan.management.class_namespace
        {
            settings = settings.into_iter().map(|source| source.aside(Role::User)).collect();
            settings.splice(0..0, self.fleet_value(&["classNamespace"]));
        }
        settings
    }

    /// The subject of the part, as a source for lines that the program writes on its own.
    pub(super) fn anchor(&self) -> Vec<SourcePlace> {
        self.known.anchor.get_or_init(|| self.find_anchor()).clone()
    }

    fn find_anchor(&self) -> Vec<SourcePlace> {
        let settings = match self.whose {
            PartOwner::Cluster(_) => self.keys(&["metadata", "name"]),
            PartOwner::Namespace(..) => self.namespace_name(),
            PartOwner::Release(_) => self.stack_value(&["metadata", "name"], &["metadata", "name"]),
            PartOwner::Management => Vec::new(),
        };
        let found = settings.into_iter().find(|source| source.role != Role::Overridden);
        let fleet = &self.fleet.written;
        let source = found.unwrap_or_else(|| {
            self.management_spot().source(Role::Fleet, "managementClusters", &fleet.source)
        });
        vec![source]
    }

    /// A source for something that the program writes: the reason, and the subject that it is written for.
    pub(super) fn program(&self, why: &str) -> Vec<SourcePlace> {
        let why = Words::from(why);
        let why = |source: SourcePlace| SourcePlace { what: why.clone(), ..source.aside(Role::Program) };
        self.anchor().into_iter().map(why).collect()
    }

    /// An addon of the cluster, by name.
    pub(super) fn addon_plan(&self, name: &str) -> Option<&'a AddonPlan> {
        self.cluster()?.addons.iter().find(|addon| addon.frozen.addon.name.as_str() == name)
    }

    /// The layer of the cluster that contains an origin, if any.
    pub(super) fn layer(&self, origin: Origin) -> Option<&'a crate::definition::Layer> {
        let file = self.fleet.input.sources.get(origin.file)?;
        self.layers.as_ref()?.file(&file.path)
    }
}
