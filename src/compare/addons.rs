//! The differences between the addons of a cluster.

use std::collections::{BTreeMap, BTreeSet};

use super::{FieldChange, ObjectChange, Objects, Pair, Section, fields::changed as fields};
use crate::{
    model::ClusterId,
    render,
    yaml::{Mapping, Node},
};

/// The differences of one addon.
#[derive(Clone, Debug, PartialEq)]
pub struct AddonChange {
    pub name: String,
    /// Its version before; none if the cluster did not have the addon.
    pub before: Option<String>,
    /// Its version after; none if the cluster no longer has the addon.
    pub after: Option<String>,
    /// The fields of its values that differ, if a chart installs it in both states.
    pub values: Vec<FieldChange>,
    /// The number of differing objects among its manifests and the objects that install it.
    pub objects: usize,
}

/// Whether a file is the list of a cluster's addons and their versions.
pub(super) fn is_list(file: &str, cluster: &str) -> bool {
    render::lists_addons_of(file) == Some(cluster)
}

/// The addons that differ, by name.
pub(super) fn changed(objects: &[ObjectChange], pair: &Pair<'_>) -> Vec<AddonChange> {
    let cluster = pair.cluster.name.as_str();
    let mut touched: BTreeMap<String, Vec<&ObjectChange>> = BTreeMap::new();
    for one in objects.iter().filter(|one| !is_list(&one.file, cluster)) {
        if let Some(name) = addon(&one.section, &one.file) {
            touched.entry(name).or_default().push(one);
        }
    }
    let (before, after) = (versions(&pair.before, cluster), versions(&pair.after, cluster));
    let is_other = |name: &&String| before.get(*name) != after.get(*name);
    let others = before.keys().chain(after.keys()).filter(is_other).cloned();
    let names: BTreeSet<String> = touched.keys().cloned().chain(others).collect();
    let change = |name: String| {
        let own = touched.remove(&name).unwrap_or_default();
        AddonChange {
            before: before.get(&name).cloned(),
            after: after.get(&name).cloned(),
            values: values(&name, &own, pair),
            objects: own.len(),
            name,
        }
    };
    names.into_iter().map(change).collect()
}

impl ObjectChange {
    /// The addon that the object installs or is a manifest of.
    pub fn addon(&self, cluster: &ClusterId) -> Option<String> {
        if self.is_list_of_addons(cluster) { None } else { addon(&self.section, &self.file) }
    }

    /// Whether the object is the list of the cluster's addons and their versions.
    pub fn is_list_of_addons(&self, cluster: &ClusterId) -> bool {
        is_list(&self.file, cluster.name.as_str())
    }
}

/// The addon that a file belongs to.
fn addon(section: &Section, file: &str) -> Option<String> {
    match section {
        Section::Manifests(addon) | Section::Values(addon) => Some(addon.clone()),
        Section::Installers => {
            let name = file.strip_prefix("addons/").filter(|name| crate::world::is_yaml(name))?;
            Some(render::addon_of_file(name).to_owned())
        }
        _ => None,
    }
}

fn versions(objects: &Objects, cluster: &str) -> BTreeMap<String, String> {
    let found = objects.values().find(|(file, _)| is_list(file, cluster));
    found.map(|(_, list)| listed_addons(list)).unwrap_or_default()
}

/// The versions in the list of a cluster's addons, by name.
pub fn listed_addons(list: &Node) -> BTreeMap<String, String> {
    let entries = list.get("data").and_then(Node::as_mapping).into_iter().flat_map(Mapping::iter);
    entries.filter_map(|one| Some((one.key.name.to_string(), one.value.as_str()?.to_owned()))).collect()
}

/// The differences of an addon's values: those in a file of their own, or in the object that installs the chart. A file that does
/// not differ is not among the objects.
fn values(addon: &str, own: &[&ObjectChange], pair: &Pair<'_>) -> Vec<FieldChange> {
    let of = |objects: &Objects| {
        let section = Section::Values(addon.to_owned());
        let address = section.address(&Node::from(Mapping::new()));
        let file = objects.get(&(section, address)).map(|(_, values)| values.clone());
        let in_object = |one: &&ObjectChange| {
            let (_, object) = objects.get(&(one.section.clone(), one.address.clone()))?;
            render::addon_values(object)
        };
        file.or_else(|| own.iter().find_map(in_object))
    };
    match (of(&pair.before), of(&pair.after)) {
        (Some(before), Some(after)) => fields(&before, &after),
        _ => Vec::new(),
    }
}
