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
    note::Notes,
    world::Input,
    yaml::{self, FileId, Node, Source},
};

/// A cluster before and after a step.
#[derive(Clone, Debug)]
pub struct ClusterStep<'a> {
    /// Its current definition.
    pub before: &'a Cluster,
    /// Its definition after the step.
    pub after: Cluster,
}

/// The edits for some steps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edits {
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

/// Computes the edits for clusters that take a step. `all` holds every file that was read, including definitions that were
/// left out because of errors.
///
/// # Errors
///
/// Fails with the clusters whose files cannot be edited; `notes` says where and why.
pub fn edits(
    fleet: &Understood,
    all: &Input,
    taken: &[ClusterStep<'_>],
    notes: &mut Notes,
) -> Result<Edits, BTreeSet<ClusterId>> {
    let layers = Layers::of(fleet, all);
    let wanted: Wanted = taken.iter().map(|one| (one.before.id(), settings(one))).collect();
    let mut found: BTreeMap<&str, BTreeMap<Setting, BTreeSet<ClusterId>>> = BTreeMap::new();
    let mut overruled = BTreeSet::new();
    for (cluster, settings) in &wanted {
        let mut home = None;
        for setting in settings {
            // `check` reports a cluster whose settings have no place.
            let Some(place) = layers.place(cluster, setting, home, &wanted) else { continue };
            if setting.path == RELEASE {
                home = Some(place.layer);
            }
            overruled.extend(place.overruled.map(|layer| layer.source.path.to_string()));
            let settings = found.entry(&*place.layer.source.path).or_default();
            let nulls = layers.needless_nulls(&place);
            for setting in place.settings {
                settings.entry(setting).or_default().insert(cluster.clone());
            }
            for (file, setting) in nulls {
                found.entry(file).or_default().entry(setting).or_default().insert(cluster.clone());
            }
        }
    }
    overruled.retain(|file| !found.contains_key(file.as_str()));
    let (mut files, mut failed) = (Vec::new(), BTreeSet::new());
    for (file, settings) in found {
        let source = &layers.by_file[file].source;
        let mut edited = source.clone();
        // What a definition lacks is added at its end: the release comes before addons.
        let (addons, others): (Vec<_>, Vec<_>) =
            settings.iter().partition(|(setting, _)| setting.path.get(1).is_some_and(|key| key == "addons"));
        let done = others.into_iter().chain(addons).try_for_each(|(setting, clusters)| {
            edited = setting.apply(&edited, notes).ok_or(clusters)?;
            Ok(())
        });
        if let Err(clusters) = done {
            let clusters: &BTreeSet<ClusterId> = clusters;
            failed.extend(clusters.iter().cloned());
            continue;
        }
        let (before, after) = (source.text.to_string(), edited.text.to_string());
        let clusters = settings.into_values().flatten().collect();
        files.push(Edited { file: file.to_owned(), before, after, clusters });
    }
    if failed.is_empty() { Ok(Edits { files, overruled }) } else { Err(failed) }
}

/// Removes the release, and versions pinned for an upgrade, from the definitions of these clusters if the defaults above set
/// the same, or if they override nothing any more. An upgrade in waves leaves these behind. `before` holds their files as they
/// were before the upgrade. A setting that a file had then stays, and everything in a file that had another name.
pub fn fold(
    fleet: &Understood,
    all: &Input,
    clusters: &BTreeSet<ClusterId>,
    before: &BTreeMap<String, String>,
    notes: &mut Notes,
) -> Option<Edits> {
    let layers = Layers::of(fleet, all);
    let mut files = Vec::new();
    for cluster in clusters {
        let Some((own, above)) = layers.of.get(cluster).and_then(|all| all.split_last()) else { continue };
        let mut source = own.source.clone();
        let Some(earlier) = before.get(&*own.source.path) else { continue };
        let earlier = yaml::read(&Source::new(FileId(0), "", &**earlier), &mut Notes::new());
        for path in foldable(own) {
            let keys: Vec<&str> = path.iter().map(String::as_str).collect();
            if earlier.as_ref().is_some_and(|node| node.at(&keys).is_some()) {
                continue;
            }
            let inherited = above.iter().rev().find_map(|layer| at(layer, &path));
            let is_same =
                inherited.is_some_and(|node| node.as_str().is_some()) && at(own, &path) == inherited;
            let is_needless = is_interim(&path)
                && at(own, &path).is_some_and(Node::is_null)
                && inherited.is_none_or(Node::is_null);
            if is_same || is_needless {
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

/// The settings that an upgrade in waves writes into definitions.
fn foldable(own: &Layer) -> Vec<Vec<String>> {
    let addons = own.node.at(&["spec", "addons"]).and_then(Node::as_mapping);
    let names = addons.into_iter().flat_map(yaml::Mapping::iter).map(|entry| &*entry.key.name);
    let pins = names.flat_map(|addon| ["version", INTERIM].map(|key| path(&["spec", "addons", addon, key])));
    [path(&RELEASE), path(&["spec", "kubernetes"])].into_iter().chain(pins).collect()
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

/// The version of an addon, whether it is pinned for an upgrade, its release, and whether it is unlisted.
pub(super) type ChosenVersion = (Option<String>, bool, Option<String>, bool);

/// What a definition sets of an addon's version.
pub(super) fn chosen(choice: &AddonChoice) -> ChosenVersion {
    let version = choice.version.as_ref().map(|(version, _)| version.to_string());
    let release = choice.release.as_ref().map(|(release, _)| release.clone());
    (version, choice.interim, release, choice.unlisted.is_some())
}

const RELEASE: [&str; 2] = ["spec", "release"];
/// The version of an addon that is pinned for an upgrade.
pub(super) const INTERIM: &str = "interimVersion";

fn is_interim(path: &[String]) -> bool {
    path.last().is_some_and(|key| key == INTERIM)
}

fn path(keys: &[&str]) -> Vec<String> {
    keys.iter().map(|key| (*key).to_owned()).collect()
}

/// The settings that a step requires in a definition.
fn settings(one: &ClusterStep<'_>) -> Vec<Setting> {
    let (before, after) = (one.before, &one.after);
    let set = |keys: &[&str], value: Value| Setting { path: path(keys), value };
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
    let addons: BTreeSet<&String> = before.addons.keys().chain(after.addons.keys()).collect();
    for addon in addons {
        let side = |cluster: &Cluster| chosen(cluster.addons.get(addon).unwrap_or(&none));
        let (old, new) = (side(before), side(after));
        let key = |interim| if interim { INTERIM } else { "version" };
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

/// The settings that clusters need for their steps.
type Wanted = BTreeMap<ClusterId, Vec<Setting>>;

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
struct SettingPlace<'a> {
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
        wanted: &Wanted,
    ) -> Option<SettingPlace<'a>> {
        let layers = self.of.get(cluster)?;
        let own = *layers.last()?;
        let written = innermost(layers, &setting.path);
        let due = written.or(home).unwrap_or(own);
        // What stands above a null does not reach the cluster.
        let mut inner = layers.iter().rev().take_while(|layer| !is_same(layer, due));
        let due = if inner.any(|layer| cuts_off(layer, &setting.path)) { own } else { due };
        let changes_due = std::ptr::eq(due, own) || self.is_shared(due, setting, wanted);
        let is_inherited = !changes_due || self.uncovers(layers, due, setting, wanted);
        let value = match &setting.value {
            Value::Gone if is_inherited => Value::Null,
            value => value.clone(),
        };
        let (layer, overruled) = if changes_due { (due, None) } else { (own, written) };
        let settings = with_head(layer, &Setting { path: setting.path.clone(), value });
        Some(SettingPlace { layer, settings, overruled })
    }

    /// Reports whether all clusters that would inherit a setting from this layer want it. A cluster that drops its own value
    /// would inherit it, too.
    fn is_shared(&self, due: &Layer, setting: &Setting, wanted: &Wanted) -> bool {
        let mut users = self.users.get(&*due.source.path).into_iter().flatten();
        let all_want = users.all(|user| {
            let own = wanted.get(user).into_iter().flatten().find(|one| one.path == setting.path);
            let inner = || self.of[user].iter().rev().take_while(|layer| !is_same(layer, due));
            let is_overruled = inner().any(|layer| at(layer, &setting.path).is_some());
            let is_cut_off = inner().any(|layer| cuts_off(layer, &setting.path));
            is_cut_off
                || own == Some(setting)
                || is_overruled && own.is_none_or(|one| one.value != Value::Gone)
        });
        all_want && !self.unsure.contains(&*due.source.path)
    }

    /// Reports whether a value of an outer folder would take effect once this layer's is gone.
    fn uncovers(&self, layers: &[&Layer], due: &Layer, setting: &Setting, wanted: &Wanted) -> bool {
        let end = layers.iter().position(|layer| is_same(layer, due)).unwrap_or_default();
        let Some(outer) = innermost(&layers[..end], &setting.path) else { return false };
        let is_null = at(outer, &setting.path).is_some_and(Node::is_null);
        let goes = self.is_shared(outer, setting, wanted)
            && self.users.get(&*outer.source.path).into_iter().flatten().any(|user| {
                let written = innermost(&self.of[user], &setting.path);
                written.is_some_and(|layer| is_same(layer, outer))
            });
        !is_null && !goes
    }

    /// The nulls below a file of defaults that override a pin which this file no longer has, each with its file.
    fn needless_nulls(&self, put: &SettingPlace<'a>) -> Vec<(&'a str, Setting)> {
        let mut found = Vec::new();
        let is_gone = |one: &&Setting| one.value == Value::Gone && is_interim(&one.path);
        for setting in put.settings.iter().filter(is_gone) {
            for user in self.users.get(&*put.layer.source.path).into_iter().flatten() {
                let inner = self.of[user].iter().rev().take_while(|layer| !is_same(layer, put.layer));
                for layer in inner.filter(|layer| at(layer, &setting.path).is_some_and(Node::is_null)) {
                    found.push((&*layer.source.path, setting.clone()));
                }
            }
        }
        found
    }
}

/// The innermost layer that holds a path, unless a null further in keeps it away.
fn innermost<'a>(layers: &[&'a Layer], path: &[String]) -> Option<&'a Layer> {
    let mut inner = layers.iter().rev().copied();
    inner
        .find(|layer| at(layer, path).is_some() || cuts_off(layer, path))
        .filter(|layer| !cuts_off(layer, path))
}

/// Whether a layer has a null above a path, which keeps away what outer layers have there.
fn cuts_off(layer: &Layer, path: &[String]) -> bool {
    (1..path.len()).any(|length| at(layer, &path[..length]).is_some_and(Node::is_null))
}

fn is_same(one: &Layer, other: &Layer) -> bool {
    one.source.path == other.source.path
}

/// Removes the keys for head releases when setting a numbered release.
fn with_head(layer: &Layer, setting: &Setting) -> Vec<Setting> {
    let is_number = matches!(&setting.value, Value::Text(name) if setting.path == RELEASE && name != "head");
    let head = definition::OF_HEAD.iter().map(|key| vec!["spec".to_owned(), (*key).to_owned()]);
    let gone = head.filter(|path| is_number && at(layer, path).is_some());
    let gone = gone.map(|path| Setting { path, value: Value::Gone });
    std::iter::once(setting.clone()).chain(gone).collect()
}

fn at<'a>(layer: &'a Layer, path: &[String]) -> Option<&'a Node> {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    layer.node.at(&path)
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
        let edit = edit::remove_keeping_comments(source, path, notes)?;
        Some(source.with_text(edit.apply(&source.text)))
    }
}
