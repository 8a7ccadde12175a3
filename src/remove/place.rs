//! Finds the line of a definition behind a guard's finding. Guards look at generated files, which nobody edits.

use std::collections::BTreeMap;

use super::guard::UNDEFINED;
use crate::{
    definition::{self, Definitions, Identity},
    model::{ClusterId, Label, RemovalStep},
    note::{About, Diagnostic, Notes, Place, Severity},
    tree::{PartId, TreePath},
    world::Input,
    yaml::{Node, Sources},
};

/// The release of a cluster that follows its stack.
const HEAD: &str = "head";

/// The definitions of a fleet, by cluster.
#[derive(Debug)]
pub struct Defined<'a> {
    input: &'a Input,
    definitions: Definitions,
    /// The index of each cluster's definition.
    clusters: BTreeMap<ClusterId, usize>,
}

impl<'a> Defined<'a> {
    /// Reads the definitions of an input. Errors in them are not reported.
    pub fn read(input: &'a Input) -> Self {
        let definitions = definition::parse(input, &mut Notes::new());
        let identities = Identity::all(&definitions);
        let clusters =
            identities.iter().enumerate().filter_map(|(at, identity)| Some((identity.id()?, at))).collect();
        Self { input, definitions, clusters }
    }

    /// The sources of the definitions.
    pub fn sources(&self) -> &Sources {
        &self.input.sources
    }

    /// The file of a cluster's definition.
    pub fn file(&self, cluster: &ClusterId) -> Option<&str> {
        Some(&self.definitions.clusters.get(*self.clusters.get(cluster)?)?.source.path)
    }

    /// The files of all definitions.
    pub fn files(&self) -> impl Iterator<Item = (&ClusterId, &str)> {
        self.clusters.keys().filter_map(|cluster| Some((cluster, self.file(cluster)?)))
    }

    pub fn owners(&self, cluster: &ClusterId) -> Vec<String> {
        self.merged(cluster).map(|node| definition::owners(&node)).unwrap_or_default()
    }

    pub fn all_owners(&self) -> BTreeMap<ClusterId, Vec<String>> {
        self.clusters.keys().map(|cluster| (cluster.clone(), self.owners(cluster))).collect()
    }

    /// The definition of a cluster, merged with the defaults of its folders.
    pub fn merged(&self, cluster: &ClusterId) -> Option<Node> {
        let layer = self.definitions.clusters.get(*self.clusters.get(cluster)?)?;
        Some(definition::merged(&self.definitions, layer))
    }

    /// Whether the definition of a cluster has the last step of a removal.
    pub fn is_deleted(&self, cluster: &ClusterId) -> bool {
        let node = self.merged(cluster);
        let step =
            node.as_ref().and_then(|node| node.at(&["spec", "removal", "step"])).and_then(Node::as_str);
        step.and_then(RemovalStep::parse) == Some(RemovalStep::Delete)
    }

    fn at(&self, file: &str) -> Option<&ClusterId> {
        self.clusters.keys().find(|cluster| self.file(cluster) == Some(file))
    }

    /// The place of the first of these keys that a cluster's definition or the defaults of its folders set.
    fn place(&self, cluster: &ClusterId, paths: &[&[&str]]) -> Option<Place> {
        let node = self.merged(cluster)?;
        let found = paths.iter().find_map(|path| node.at(path))?;
        self.input.sources.place(found.origin)
    }

    /// The line that decides what a guard's message is about.
    pub fn of(&self, cluster: &ClusterId, about: &About) -> Option<Place> {
        let name: &[&str] = &["metadata", "name"];
        let release: &[&str] =
            if self.is_numbered(cluster) { &["spec", "release"] } else { &["spec", "stack"] };
        let kubernetes: &[&str] =
            if self.is_numbered(cluster) { &["spec", "release"] } else { &["spec", "kubernetes"] };
        match about {
            About::Cluster => self.place(cluster, &[&["spec", "removal"], name]),
            About::Pool(pool) => self
                .pool(cluster, pool)
                .or_else(|| self.pools(cluster))
                .or_else(|| self.place(cluster, &[&["spec"], name])),
            About::Addon(addon) => self.place(cluster, &[&["spec", "addons", addon], release, name]),
            About::AddonVersion(addon) => {
                let version: &[&str] = &["spec", "addons", addon, "version"];
                let interim: &[&str] = &["spec", "addons", addon, "interimVersion"];
                let own: &[&str] = &["spec", "addons", addon, "release"];
                self.place(cluster, &[version, interim, own, kubernetes, release, name])
            }
            About::Patch(version) => {
                self.patch(cluster, version).or_else(|| self.of(cluster, &About::Kubernetes))
            }
            About::Release => self.place(cluster, &[release, name]),
            About::Kubernetes => self.place(cluster, &[kubernetes, name]),
            About::Network(kind) => {
                self.place(cluster, &[&["spec", "network", kind], &["spec", "network"], name])
            }
            About::Heir { namespace, name } => {
                let heir = ClusterId {
                    management: cluster.management.clone(),
                    namespace: Label::new(namespace).ok()?,
                    name: Label::new(name).ok()?,
                };
                self.renamed(cluster, self.clusters.get_key_value(&heir)?.0)
            }
            About::ManagementCluster => self.place(cluster, &[&["spec", "managementCluster"], name]),
            About::Setting { management, path } => self.setting_of(management, path),
            About::Engine => self.setting(cluster, "engine"),
            About::Delivery => self
                .place(cluster, &[&["spec", "addonDelivery"]])
                .or_else(|| self.setting(cluster, "addonDelivery"))
                .or_else(|| self.setting(cluster, "engine")),
        }
    }

    /// The line of the fleet file with a setting of the cluster's management cluster.
    fn setting(&self, cluster: &ClusterId, key: &str) -> Option<Place> {
        self.setting_of(cluster.management.as_str(), key)
    }

    /// The line of the fleet file with a setting of a management cluster, or of the fleet for it.
    fn setting_of(&self, management: &str, path: &str) -> Option<Place> {
        let path: Vec<&str> = path.split('.').collect();
        let spec = self.definitions.fleet.as_ref()?.node.get("spec")?;
        let mut all = spec.get("managementClusters").and_then(Node::as_sequence).into_iter().flatten();
        let is_own = |one: &&Node| one.get("name").and_then(Node::as_str) == Some(management);
        let own = all.find(is_own).and_then(|one| one.at(&path));
        self.input.sources.place(own.or_else(|| spec.at(&path))?.origin)
    }

    /// Whether a cluster uses a numbered release. It overrides the stack and the version in the defaults of folders.
    pub fn is_numbered(&self, cluster: &ClusterId) -> bool {
        let node = self.merged(cluster);
        let release = node.as_ref().and_then(|node| node.at(&["spec", "release"])).and_then(Node::as_str);
        release.is_some_and(|release| release != HEAD)
    }

    fn pool(&self, cluster: &ClusterId, pool: &str) -> Option<Place> {
        let node = self.merged(cluster)?;
        let mut pools = node.at(&["spec", "nodePools"])?.as_sequence()?.iter();
        let found = pools.find(|one| one.get("name").and_then(Node::as_str) == Some(pool))?;
        self.input.sources.place(found.get("removal").unwrap_or(found).origin)
    }

    /// The key of the list of pools. Its first entry is another pool than the one that is missing.
    fn pools(&self, cluster: &ClusterId) -> Option<Place> {
        let node = self.merged(cluster)?;
        let key = node.get("spec")?.as_mapping()?.entry("nodePools")?.key.origin;
        self.input.sources.place(key)
    }

    /// The line of the stack with a version of Kubernetes, for a cluster that follows the stack's head.
    fn patch(&self, cluster: &ClusterId, version: &str) -> Option<Place> {
        let node = self.merged(cluster)?;
        let stack = node.at(&["spec", "stack"]).and_then(Node::as_str)?;
        let stack = self.definitions.stacks.get(stack).filter(|_| !self.is_numbered(cluster))?;
        let versions = stack.stack.node.at(&["spec", "kubernetes"])?.as_sequence()?.iter();
        let found =
            versions.filter_map(|one| one.get("version")).find(|one| one.as_str() == Some(version))?;
        self.input.sources.place(found.origin)
    }

    /// The place of the name, namespace or management cluster that turned a definition into another cluster.
    fn renamed(&self, old: &ClusterId, new: &ClusterId) -> Option<Place> {
        let name: &[&str] = &["metadata", "name"];
        if old.name != new.name {
            return self.place(new, &[name]);
        }
        if old.namespace != new.namespace {
            return self.place(new, &[&["metadata", "namespace"], name]);
        }
        self.place(new, &[&["spec", "managementCluster"], name])
    }
}

/// Makes the guards' messages point to the deciding line of a definition. `before` holds the definitions before the change,
/// if known; only they tell where a deleted cluster was defined.
pub fn place_in_definitions(notes: &mut Notes, after: &Defined<'_>, before: Option<&Defined<'_>>) {
    notes.change(|note| {
        let Some(about) = note.about.clone() else { return };
        let place = match (&about, cluster_of(note)) {
            (About::Setting { management, path }, _) => after.setting_of(management, path),
            (_, Some(cluster)) => after
                .of(&cluster, &about)
                .or_else(|| of_moved(&cluster, after).filter(|_| about == About::ManagementCluster))
                .or_else(|| of_gone(&cluster, after, before?)),
            (_, None) => None,
        };
        let Some(place) = place else { return };
        if let Some(generated) = note.place.replace(place) {
            note.related("generated from it", generated);
        }
    });
}

/// Corrects the guards' messages about clusters that have a definition, but no generated files any more.
pub fn correct_lost(notes: &mut Notes, after: &Defined<'_>) {
    notes.change(|note| {
        let Some(cluster) = cluster_of(note).filter(|cluster| is_lost(note) && after.file(cluster).is_some())
        else {
            return;
        };
        note.message = note.message.replace(UNDEFINED, "no longer has generated files");
        if note.severity == Severity::Error {
            let management = &cluster.management;
            note.hints = vec![
                "it still has a definition: run `stackloom generate`, and commit the files that it writes".to_owned(),
                format!("until then, the cluster itself does not change, and nothing in git reaches it in `{management}`"),
            ];
            note.missing_commit = None;
        }
    });
}

/// Whether a guard found that a cluster left git without any step.
pub fn is_lost(note: &Diagnostic) -> bool {
    note.code == "abandoned" && note.about == Some(About::Cluster)
}

/// Whether a guard's message still points to a generated file.
pub fn is_unplaced(note: &Diagnostic) -> bool {
    note.about.is_some() && cluster_of(note).is_some()
}

/// The cluster that owns the generated file of a message.
pub fn cluster_of(note: &Diagnostic) -> Option<ClusterId> {
    ClusterId::of_part(&PartId::of_path(&TreePath::parse(&note.place.as_ref()?.file)?)?)
}

/// The place of a cluster with the same namespace and name in another management cluster.
fn of_moved(cluster: &ClusterId, after: &Defined<'_>) -> Option<Place> {
    let is_same = |one: &&ClusterId| one.namespace == cluster.namespace && one.name == cluster.name;
    after.renamed(cluster, after.clusters.keys().find(is_same)?)
}

fn of_gone(cluster: &ClusterId, after: &Defined<'_>, before: &Defined<'_>) -> Option<Place> {
    let file = before.file(cluster)?;
    match after.at(file) {
        Some(new) => after.renamed(cluster, new),
        None => Some(Place::file(file)),
    }
}
