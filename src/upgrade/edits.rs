//! Computes the edits that the steps of plans make to definitions and to the defaults of folders.
//!
//! A value is changed where it is written. Defaults change only if every cluster that inherits the value makes the same
//! change. Otherwise the definitions of the clusters that change override them. Deliberately absent: the disk and the tree.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::{
    definition::{self, Layer},
    edit::{self, Locator},
    generate::Understood,
    model::{AddonChoice, Cluster, ClusterId, ReleaseRef},
    note::{Notes, Place},
    world::Input,
    yaml::{self, Node, Source},
};

/// A cluster before and after a step.
#[derive(Clone, Debug)]
pub struct Taken<'a> {
    /// Its current definition.
    pub before: &'a Cluster,
    /// Its definition after the step.
    pub after: Cluster,
}

/// The edits for some steps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edits {
    /// The edited files.
    pub files: Vec<Edited>,
    /// Files of defaults that stay unchanged because not all clusters below them take the step. Definitions override them
    /// now.
    pub overruled: BTreeSet<String>,
}

/// An edited file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edited {
    /// Its path.
    pub file: String,
    /// Its current text.
    pub before: String,
    /// Its new text.
    pub after: String,
    /// The clusters for which it is edited.
    pub clusters: BTreeSet<ClusterId>,
}

/// One value of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Setting {
    path: Vec<String>,
    value: Value,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Value {
    Text(String),
    /// Overrides the defaults of an outer folder.
    Null,
    Gone,
}

/// Computes the edits for clusters that take a step; obstacles go to `notes`. `all` holds every file that was read,
/// including definitions that were left out because of errors.
pub fn edits(fleet: &Understood, all: &Input, taken: &[Taken<'_>], notes: &mut Notes) -> Option<Edits> {
    let layers = Layers::of(fleet, all);
    let wanted: BTreeMap<ClusterId, Vec<Setting>> =
        taken.iter().map(|one| (one.before.id(), settings(one))).collect();
    let mut found: BTreeMap<&str, (BTreeSet<Setting>, BTreeSet<ClusterId>)> = BTreeMap::new();
    let mut overruled = BTreeSet::new();
    for one in taken {
        let cluster = one.before.id();
        let mut home = None;
        for setting in &wanted[&cluster] {
            let place = layers.place(&cluster, setting, home, &wanted)?;
            if setting.path == RELEASE {
                home = Some(place.layer);
            }
            overruled.extend(place.overruled.map(|layer| layer.source.path.to_string()));
            let (settings, clusters) = found.entry(&*place.layer.source.path).or_default();
            settings.extend(place.settings);
            clusters.insert(cluster.clone());
        }
    }
    let mut files = Vec::new();
    for (file, (settings, clusters)) in found {
        let source = &layers.by_file.get(file)?.source;
        let edited = settings.iter().try_fold(source.clone(), |source, one| one.apply(&source, notes))?;
        let (before, after) = (source.text.to_string(), edited.text.to_string());
        files.push(Edited { file: file.to_owned(), before, after, clusters });
    }
    Some(Edits { files, overruled })
}

/// Removes the release from the definitions of these clusters if the defaults above set the same. An upgrade in waves leaves
/// such duplicates behind.
pub fn fold(
    fleet: &Understood,
    all: &Input,
    clusters: &BTreeSet<ClusterId>,
    notes: &mut Notes,
) -> Option<Edits> {
    let layers = Layers::of(fleet, all);
    let mut files = Vec::new();
    for cluster in clusters {
        let Some((own, above)) = layers.of.get(cluster).and_then(|all| all.split_last()) else { continue };
        let mut source = own.source.clone();
        for path in [&RELEASE[..], &["spec", "kubernetes"]] {
            let value = |layer: &&Layer| layer.node.at(path).filter(|node| node.as_str().is_some()).cloned();
            let inherited = above.iter().rev().find_map(value);
            if inherited.is_some() && value(own) == inherited {
                let path = path.iter().map(|key| (*key).to_owned()).collect();
                source = Setting { path, value: Value::Gone }.apply(&source, notes)?;
            }
        }
        if source.text != own.source.text {
            let (before, after) = (own.source.text.to_string(), source.text.to_string());
            files.push(Edited {
                file: own.source.path.to_string(),
                before,
                after,
                clusters: [cluster.clone()].into(),
            });
        }
    }
    Some(Edits { files, overruled: BTreeSet::new() })
}

/// Applies edits to everything that was read.
pub fn with_edits(all: &Input, edits: &Edits) -> Input {
    let mut files: BTreeMap<String, String> =
        all.sources.iter().map(|source| (source.path.to_string(), source.text.to_string())).collect();
    for edited in &edits.files {
        files.insert(edited.file.clone(), edited.after.clone());
    }
    Input { sources: yaml::Sources::new(files), ..all.clone() }
}

/// Checks that the edited definitions mean what the steps require, and that all other clusters stay the same.
pub fn check(fleet: &Understood, taken: &[Taken<'_>], edited: &Understood, notes: &mut Notes) {
    let mut due: BTreeMap<ClusterId, &Cluster> =
        fleet.model.clusters.iter().map(|cluster| (cluster.id(), cluster)).collect();
    due.extend(taken.iter().map(|one| (one.before.id(), &one.after)));
    for cluster in &edited.model.clusters {
        let is_due = due.remove(&cluster.id()).is_some_and(|due| said(due) == said(cluster));
        if !is_due {
            let place = Place::file(&*cluster.file);
            notes
                .error(
                    "edit",
                    place,
                    format!("the edits would not give {} what the step asks for", cluster.id()),
                )
                .hint("make this step by hand; nothing was changed");
        }
    }
}

/// The release and the addon versions that a definition sets.
fn said(cluster: &Cluster) -> (&ReleaseRef, Vec<(&str, Chosen)>) {
    let addons = cluster.addons.iter().map(|(name, choice)| (name.as_str(), chosen(choice)));
    (&cluster.release, addons.filter(|(_, chosen)| *chosen != Chosen::default()).collect())
}

/// The version of an addon, whether it is pinned for an upgrade, its release, and whether it is unlisted.
type Chosen = (Option<String>, bool, Option<String>, bool);

fn chosen(choice: &AddonChoice) -> Chosen {
    let version = choice.version.as_ref().map(|(version, _)| version.to_string());
    let release = choice.release.as_ref().map(|(release, _)| release.clone());
    (version, choice.interim, release, choice.unlisted.is_some())
}

const RELEASE: [&str; 2] = ["spec", "release"];

/// The settings that a step requires in a definition.
fn settings(one: &Taken<'_>) -> Vec<Setting> {
    let (before, after) = (one.before, &one.after);
    let set = |path: &[&str], value: Value| Setting {
        path: path.iter().map(|key| (*key).to_owned()).collect(),
        value,
    };
    let mut settings = Vec::new();
    if before.release != after.release {
        match (&before.release, &after.release) {
            (_, ReleaseRef::Named(name)) => settings.push(set(&RELEASE, Value::Text(name.to_string()))),
            (old, ReleaseRef::Head(stack, minor)) => {
                if !matches!(old, ReleaseRef::Head(..)) {
                    settings.push(set(&RELEASE, Value::Text("head".to_owned())));
                    settings.push(set(&["spec", "stack"], Value::Text(stack.to_string())));
                }
                settings.push(set(&["spec", "kubernetes"], Value::Text(minor.to_string())));
            }
        }
    }
    let none = AddonChoice::default();
    for (addon, choice) in &after.addons {
        let (old, new) = (chosen(before.addons.get(addon).unwrap_or(&none)), chosen(choice));
        let key = |interim| if interim { "interimVersion" } else { "version" };
        let mut differ = |key: &str, old: &Option<String>, new: &Option<String>| {
            if old != new {
                let value = new.clone().map_or(Value::Gone, Value::Text);
                settings.push(set(&["spec", "addons", addon, key], value));
            }
        };
        if old.1 == new.1 || old.0.is_none() || new.0.is_none() {
            differ(key(if new.0.is_some() { new.1 } else { old.1 }), &old.0, &new.0);
        } else {
            differ(key(old.1), &old.0, &None);
            differ(key(new.1), &None, &new.0);
        }
        differ("release", &old.2, &new.2);
        if old.3 && !new.3 {
            differ("unlisted", &Some(String::new()), &None);
        }
    }
    settings
}

/// The files that define clusters, and the files that each cluster is made from.
struct Layers<'a> {
    by_file: BTreeMap<&'a str, &'a Layer>,
    of: BTreeMap<ClusterId, Vec<&'a Layer>>,
    /// The clusters below each file of defaults.
    users: BTreeMap<&'a str, Vec<ClusterId>>,
    /// Files of defaults above definitions with errors.
    unsure: BTreeSet<&'a str>,
}

/// The place for a setting.
struct Put<'a> {
    layer: &'a Layer,
    settings: Vec<Setting>,
    /// The defaults that could not be changed.
    overruled: Option<&'a Layer>,
}

impl<'a> Layers<'a> {
    fn of(fleet: &'a Understood, all: &Input) -> Self {
        let definitions = &fleet.definitions;
        let own: BTreeMap<&str, &Layer> =
            definitions.clusters.iter().map(|layer| (&*layer.source.path, layer)).collect();
        let mut found = Self {
            by_file: own.clone(),
            of: BTreeMap::new(),
            users: BTreeMap::new(),
            unsure: BTreeSet::new(),
        };
        for cluster in &fleet.model.clusters {
            let Some(definition) = own.get(&*cluster.file) else { continue };
            let layers = definition::layers(definitions, definition);
            for layer in &layers {
                found.users.entry(&layer.source.path).or_default().push(cluster.id());
            }
            found.of.insert(cluster.id(), layers);
        }
        let known: BTreeSet<&str> = fleet.model.clusters.iter().map(|cluster| &*cluster.file).collect();
        for (folder, layer) in &definitions.defaults {
            found.by_file.insert(&layer.source.path, layer);
            let is_lost = |source: &Source| {
                let name = source.path.rsplit('/').next().unwrap_or_default();
                !name.starts_with("_defaults.") && !known.contains(&*source.path)
            };
            if all.sources.below(folder).any(is_lost) {
                found.unsure.insert(&layer.source.path);
            }
        }
        found
    }

    /// Finds the place for a setting of a cluster. A new setting goes where the cluster's release is set, which is its
    /// `home`.
    fn place(
        &self,
        cluster: &ClusterId,
        setting: &Setting,
        home: Option<&'a Layer>,
        wanted: &BTreeMap<ClusterId, Vec<Setting>>,
    ) -> Option<Put<'a>> {
        let layers = self.of.get(cluster)?;
        let own = *layers.last()?;
        let written = layers.iter().rev().copied().find(|layer| holds(layer, &setting.path));
        let due = written.or(home).unwrap_or(own);
        let is_shared = self.users.get(&*due.source.path).into_iter().flatten().all(|user| {
            let inner = self.of[user].iter().rev().take_while(|layer| layer.source.path != due.source.path);
            let is_overruled = inner.clone().any(|layer| holds(layer, &setting.path));
            is_overruled || wanted.get(user).is_some_and(|settings| settings.contains(setting))
        });
        if is_shared && !self.unsure.contains(&*due.source.path) || std::ptr::eq(due, own) {
            return Some(Put { layer: due, settings: with_head(due, setting), overruled: None });
        }
        let value = match &setting.value {
            Value::Gone => Value::Null,
            value => value.clone(),
        };
        let settings = with_head(own, &Setting { path: setting.path.clone(), value });
        Some(Put { layer: own, settings, overruled: Some(due) })
    }
}

/// Removes the keys for head releases when setting a numbered release.
fn with_head(layer: &Layer, setting: &Setting) -> Vec<Setting> {
    let is_number = matches!(&setting.value, Value::Text(name) if setting.path == RELEASE && name != "head");
    let head = definition::OF_HEAD.iter().map(|key| vec!["spec".to_owned(), (*key).to_owned()]);
    let gone = head.filter(|path| is_number && holds(layer, path));
    let gone = gone.map(|path| Setting { path, value: Value::Gone });
    std::iter::once(setting.clone()).chain(gone).collect()
}

fn holds(layer: &Layer, path: &[String]) -> bool {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    layer.node.at(&path).is_some()
}

impl Setting {
    fn apply(&self, source: &Source, notes: &mut Notes) -> Option<Source> {
        let path: Vec<Locator<'_>> = self.path.iter().map(|key| Locator::Key(key)).collect();
        let edit = match &self.value {
            Value::Text(text) => edit::set(source, &path, &Node::from(text.as_str()), notes),
            Value::Null => edit::set(source, &path, &Node::from(yaml::Value::Null), notes),
            Value::Gone => return self.remove(source, &path, notes),
        }?;
        Some(source.with_text(edit.apply(&source.text)))
    }

    /// Removes a key and the maps that become empty, unless a comment would be lost.
    fn remove(&self, source: &Source, path: &[Locator<'_>], notes: &mut Notes) -> Option<Source> {
        let document = yaml::read(source, notes)?;
        let entries = |keys: &[String]| {
            let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
            document.at(&keys).and_then(Node::as_mapping).map(yaml::Mapping::len)
        };
        let mut outermost = path.len();
        while outermost > 2 && entries(&self.path[..outermost - 1]) == Some(1) {
            outermost -= 1;
        }
        let none = Node::from(yaml::Value::Mapping(Arc::default()));
        let says_nothing = |edit: &edit::Edit| !source.text[edit.range.clone()].contains('#');
        for length in outermost..path.len() {
            let gone = edit::remove(source, &path[..length], &mut Notes::new()).filter(says_nothing);
            let emptied =
                || edit::set(source, &path[..length], &none, &mut Notes::new()).filter(says_nothing);
            if let Some(edit) = gone.or_else(emptied) {
                return Some(source.with_text(edit.apply(&source.text)));
            }
        }
        let edit = match path.len() - outermost {
            0 => edit::remove(source, path, notes),
            _ => edit::set(source, &path[..path.len() - 1], &none, notes),
        }?;
        Some(source.with_text(edit.apply(&source.text)))
    }
}
