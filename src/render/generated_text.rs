//! What the files of a generated tree say about their objects: for trees of other runs, which are read from git or from the disk.
//!
//! A run knows what it draws without reading it (`Object`, `Facts`). The guards read both sides, because they also judge
//! commits, which no run has drawn.

use super::{
    REMOVAL, STANDBY, delivery, engine,
    engine::{EngineTarget, RegisteredName},
    engine_table,
};
use crate::{
    model::{AddonDelivery, Engine},
    tree::TreePath,
};

/// The engine that protects the object of a file from deletion through git alone, if any.
pub fn keeper(text: &str) -> Option<Engine> {
    engine_table::all().find(|engine| engine.is_kept(text)).map(engine::Engine::engine)
}

/// Whether the object of a file is protected from deletion through git alone.
pub fn is_protected(text: &str) -> bool {
    keeper(text).is_some()
}

/// Whether an annotation protects its object from deletion through git alone.
pub fn is_protection(name: &str, value: &str) -> bool {
    keeper_by(name, value).is_some()
}

/// The engine that an annotation keeps from deleting its object, if any.
pub fn keeper_by(name: &str, value: &str) -> Option<Engine> {
    keeper(&format!("{name}: {value}"))
}

/// Whether the management cluster of the Cluster in a file is on standby: its engine does nothing.
pub fn is_on_standby(text: &str) -> bool {
    text.contains(&format!("\n    {STANDBY}: "))
}

/// Whether the object of a file announces its removal.
pub fn is_leaving(text: &str) -> bool {
    let entry = format!("    {REMOVAL}: ");
    let mut lines = text.lines().skip_while(|line| *line != "metadata:").skip(1);
    lines.by_ref().take_while(|line| line.starts_with(' ')).any(|line| line.starts_with(&entry))
}

/// What a file says about the object in it, which installs an addon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installer {
    /// The deliveries that may have written it.
    pub writers: Vec<AddonDelivery>,
    /// Its group, kind, name and namespace.
    object: [String; 4],
    /// The cluster in which it installs; none if it finds the cluster in another way.
    cluster: Option<RegisteredName>,
}

impl Installer {
    /// Whether the object of the same file is now another one. An engine would prune this one. If it is the same, the engine changes
    /// it, and whatever it installed stays.
    pub fn is_replaced_by(&self, other: &Self) -> bool {
        self.object != other.object
    }

    /// Whether the object of the same file is the same, but installs in a cluster with another registered name.
    pub fn has_other_cluster(&self, other: &Self) -> bool {
        self.object == other.object && self.cluster != other.cluster
    }

    /// The cluster in which it installs; none if it finds the cluster in another way.
    pub fn cluster(&self) -> Option<&RegisteredName> {
        self.cluster.as_ref()
    }

    /// The namespace of the object.
    pub fn namespace(&self) -> &str {
        let [.., namespace] = &self.object;
        namespace
    }
}

/// What a file says about the object in it; none if the object installs no addons.
pub fn installer_of(text: &str) -> Option<Installer> {
    let writers = delivery::writers(text);
    let at = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default();
    let (group, _) = at("apiVersion: ").rsplit_once('/').unwrap_or_default();
    let metadata = || text.lines().skip_while(|line| *line != "metadata:").skip(1);
    let metadata = |key: &str| {
        let mut own = metadata().take_while(|line| line.starts_with(' '));
        own.find_map(|line| line.strip_prefix(key)).unwrap_or_default()
    };
    let object = [group, at("kind: "), metadata("  name: "), metadata("  namespace: ")].map(str::to_owned);
    let cluster = delivery::registered_cluster(text);
    (!writers.is_empty()).then_some(Installer { writers, object, cluster })
}

/// Whether a guard looks for the target of an engine's object in a file.
pub fn may_name_target(path: &TreePath) -> bool {
    engine_table::all().any(|engine| engine.names_target(path.as_str()))
}

/// The management cluster to which the object of such a file applies others.
pub fn target_of(text: &str) -> Option<EngineTarget> {
    engine_table::all().find_map(|engine| engine.target(text))
}

/// Whether objects applied to a workload cluster by the object of a file stay there when the file is deleted.
pub fn leaves_behind(text: &str) -> bool {
    delivery::leaves_behind(text)
}

/// Whether a file is among those that install the addons of a cluster.
pub fn is_addon_file(path: &TreePath) -> bool {
    let parts: Vec<&str> = path.as_str().splitn(8, '/').collect();
    matches!(*parts.as_slice(), [_, "management", _, "clusters", _, _, "addons", _])
}

/// The addon that a file below `addons/` installs: `<addon>.yaml`, `<addon>.manifests.yaml`.
pub fn addon_of(path: &TreePath) -> &str {
    addon_of_file(path.as_str())
}

/// The addon of a file with this path. Names of addons have no dots.
pub fn addon_of_file(path: &str) -> &str {
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    name.split_once('.').map_or(name, |(addon, _)| addon)
}

/// Whether a file below `addons/` installs the manifests of an addon, and not its chart.
pub fn installs_manifests(path: &TreePath) -> bool {
    path.as_str().ends_with(".manifests.yaml")
}
