//! Applies the `migrations` of a release to definitions: renames variables and converts their values to the new types.
//!
//! A value is changed where it is written, in a definition or in the defaults of a folder. Defaults change only if all
//! clusters below the folder need the same change, because the others would lose the value. Ambiguous conversions are
//! refused. Deliberately absent: the disk, which `cli` changes.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::{
    definition::{self, Layer},
    edit::{self, Locator},
    generate::Understood,
    model::{Cluster, ClusterId, Migration, ValueType},
    note::{Notes, Place},
    release::Release,
    world::Input,
    yaml::{Mapping, Node, Value},
};

/// A migrated file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Migrated {
    /// Its path.
    pub file: String,
    /// Its current text.
    pub before: String,
    /// Its new text.
    pub after: String,
    /// The affected clusters.
    pub clusters: BTreeSet<ClusterId>,
}

/// Computes the changes to the files that define the selected clusters; obstacles go to `notes`. `all` holds every file that
/// was read, including definitions that were left out because of errors.
pub fn migrate(
    fleet: &Understood,
    all: &Input,
    is_meant: &dyn Fn(&Cluster) -> bool,
    notes: &mut Notes,
) -> Vec<Migrated> {
    let definitions = &fleet.definitions;
    let by_file: BTreeMap<&str, &Layer> =
        definitions.clusters.iter().map(|layer| (&*layer.source.path, layer)).collect();
    let mut files: BTreeMap<&str, File<'_>> = BTreeMap::new();
    for cluster in &fleet.model.clusters {
        let Some(own) = by_file.get(&*cluster.file) else { continue };
        let release = fleet.releases.of(cluster, &mut Notes::new());
        for layer in definition::layers(definitions, own) {
            let file = files.entry(&layer.source.path);
            let file = file.or_insert_with(|| File { layer, users: Vec::new() });
            file.users.push(User { cluster, release: release.clone(), is_meant: is_meant(cluster) });
        }
    }
    let is_needed = |file: &&File<'_>| file.users.iter().any(|user| user.is_meant);
    let needed = files.values().filter(is_needed);
    needed.filter_map(|file| file.migrate(&by_file, &fleet.input, all, notes)).collect()
}

/// A file, with the clusters that are made from it.
struct File<'a> {
    layer: &'a Layer,
    users: Vec<User<'a>>,
}

struct User<'a> {
    cluster: &'a Cluster,
    release: Option<Arc<Release>>,
    is_meant: bool,
}

/// One edit.
#[derive(Clone, Debug, PartialEq)]
struct Change {
    /// The path of the map of variables.
    variables: Vec<LocatorPart>,
    /// The key within the map.
    name: String,
    what: What,
}

#[derive(Clone, Debug, PartialEq)]
enum What {
    Rename(String),
    Convert(Node),
}

/// A step of the path to a map of variables, as owned data.
#[derive(Clone, Debug, PartialEq)]
enum LocatorPart {
    Key(&'static str),
    Pool(String),
}

impl LocatorPart {
    fn step(&self) -> Locator<'_> {
        match self {
            Self::Key(key) => Locator::Key(key),
            Self::Pool(name) => Locator::Named(name),
        }
    }
}

impl File<'_> {
    fn migrate(
        &self,
        known: &BTreeMap<&str, &Layer>,
        input: &Input,
        all: &Input,
        notes: &mut Notes,
    ) -> Option<Migrated> {
        let mut found: Option<Vec<Change>> = None;
        let mut clusters = BTreeSet::new();
        let mut without = Vec::new();
        for user in &self.users {
            // Errors of clusters that were not selected are not reported.
            let mut quiet = Notes::new();
            let target = if user.is_meant { &mut *notes } else { &mut quiet };
            let changes = user.release.as_deref().map_or_else(Vec::new, |release| {
                LayerChanges { release, input, changes: Vec::new() }.all(&self.layer.node, target)
            });
            if changes.is_empty() {
                without.push(user);
                continue;
            }
            clusters.insert(user.cluster.id());
            match &found {
                Some(others) if *others != changes => without.push(user),
                _ => found = Some(changes),
            }
        }
        let changes = found?;
        let unknown = self.unknown(known, all);
        if let Some(why) = obstacle(&without, &unknown) {
            let place = self.place(&changes[0], input);
            notes
                .error(
                    "migration",
                    place,
                    format!("`{}` cannot change here, because {why}", changes[0].name),
                )
                .hint("move these clusters to the release as well; or write the value into the definitions that need it, and remove it here");
            return None;
        }
        let mut source = self.layer.source.clone();
        for change in &changes {
            let path: Vec<Locator<'_>> =
                change.variables.iter().map(LocatorPart::step).chain([Locator::Key(&change.name)]).collect();
            let edit = match &change.what {
                What::Rename(to) => edit::rename(&source, &path, to, notes),
                What::Convert(value) => edit::set(&source, &path, value, notes),
            }?;
            source = source.with_text(edit.apply(&source.text));
        }
        let before = self.layer.source.text.to_string();
        Some(Migrated { file: source.path.to_string(), before, after: source.text.to_string(), clusters })
    }

    /// Definitions with errors below a folder of defaults, whose requirements are unknown.
    fn unknown<'b>(&self, known: &BTreeMap<&str, &Layer>, all: &'b Input) -> Vec<&'b str> {
        let path = &self.layer.source.path;
        let Some((folder, "_defaults.yaml" | "_defaults.yml")) = path.rsplit_once('/') else {
            return Vec::new();
        };
        let below = all.sources.below(folder).map(|source| &*source.path);
        let is_defaults = |path: &str| path.ends_with("/_defaults.yaml") || path.ends_with("/_defaults.yml");
        below.filter(|path| !is_defaults(path) && !known.contains_key(path)).collect()
    }

    fn place(&self, change: &Change, input: &Input) -> Option<Place> {
        let mut node = &self.layer.node;
        for part in &change.variables {
            node = match part {
                LocatorPart::Key(key) => node.get(key)?,
                LocatorPart::Pool(name) => node.as_sequence()?.iter().find(|pool| is_named(pool, name))?,
            };
        }
        let mapping = node.as_mapping()?;
        let entry = mapping.iter().find(|entry| *entry.key.name == *change.name)?;
        input.sources.place(entry.key.origin)
    }
}

fn is_named(pool: &Node, name: &str) -> bool {
    pool.get("name").and_then(Node::as_str) == Some(name)
}

/// The maximum number of clusters that are named.
const NAMED: usize = 3;

/// The reason why defaults cannot change, if any.
fn obstacle(without: &[&User<'_>], unknown: &[&str]) -> Option<String> {
    let listed = |names: Vec<String>| {
        let more = names.len().saturating_sub(NAMED);
        let first = names.into_iter().take(NAMED).collect::<Vec<_>>().join(", ");
        if more > 0 { format!("{first} and {more} more") } else { first }
    };
    if !without.is_empty() {
        let name = |user: &&User<'_>| {
            let release = user.release.as_ref().map_or("a release with errors", |release| &release.name);
            format!("{} ({release})", user.cluster.id())
        };
        let names = listed(without.iter().map(name).collect());
        return Some(format!("other clusters below the folder do not need the same change: {names}"));
    }
    if unknown.is_empty() {
        return None;
    }
    let names = listed(unknown.iter().map(|file| format!("`{file}`")).collect());
    Some(format!("definitions below the folder have errors: {names}"))
}

/// Collects the changes that a release requires in a layer.
struct LayerChanges<'a> {
    release: &'a Release,
    input: &'a Input,
    changes: Vec<Change>,
}

impl LayerChanges<'_> {
    fn all(mut self, layer: &Node, notes: &mut Notes) -> Vec<Change> {
        if self.release.migrations.is_empty() {
            return Vec::new();
        }
        let spec = layer.get("spec");
        for keys in [&["variables"] as &[&'static str], &["controlPlane", "variables"]] {
            let path: Vec<_> = [&["spec"], keys].concat().into_iter().map(LocatorPart::Key).collect();
            self.map(spec.and_then(|spec| spec.at(keys)), &path, notes);
        }
        let pools = spec.and_then(|spec| spec.at(&["nodePools"])).and_then(Node::as_sequence);
        for pool in pools.unwrap_or_default() {
            let Some(name) = pool.get("name").and_then(Node::as_str) else { continue };
            let pools =
                [LocatorPart::Key("spec"), LocatorPart::Key("nodePools"), LocatorPart::Pool(name.to_owned())];
            let path: Vec<_> = pools.into_iter().chain([LocatorPart::Key("variables")]).collect();
            self.map(pool.get("variables"), &path, notes);
        }
        self.changes
    }

    fn map(&mut self, variables: Option<&Node>, path: &[LocatorPart], notes: &mut Notes) {
        let Some(variables) = variables.and_then(Node::as_mapping) else { return };
        let mut values: BTreeMap<String, Node> = BTreeMap::new();
        values
            .extend(Mapping::iter(variables).map(|entry| (entry.key.name.to_string(), entry.value.clone())));
        for one in &self.release.migrations {
            let Some(value) = values.get(&*one.variable).cloned() else { continue };
            let mut name = one.variable.to_string();
            if let Some(to) = &one.rename_to {
                if self.kind(&name).is_some() {
                    // The release has a variable with this name: a different one, or the old one was restored.
                    continue;
                }
                if values.contains_key(&**to) {
                    self.refuse(
                        &value,
                        notes,
                        &format!(
                            "`{name}` is called `{to}` in the release `{}`, and both are set here",
                            self.release.name
                        ),
                        "keep one of the two values under the new name",
                    );
                    continue;
                }
                self.push(path, &name, What::Rename(to.to_string()));
                values.remove(&name);
                name = to.to_string();
                values.insert(name.clone(), value.clone());
            }
            if let Some(converted) = self.converted(one, &name, &value, notes) {
                self.push(path, &name, What::Convert(converted.clone()));
                values.insert(name, converted);
            }
        }
    }

    fn push(&mut self, path: &[LocatorPart], name: &str, what: What) {
        self.changes.push(Change { variables: path.to_vec(), name: name.to_owned(), what });
    }

    /// The type of a variable in the class; empty if its schema has none.
    fn kind(&self, name: &str) -> Option<&str> {
        let variable = self.release.class.variables.iter().find(|variable| variable.name == name)?;
        Some(variable.schema.get("type").and_then(Node::as_str).unwrap_or_default())
    }

    /// The converted value; none if no conversion is needed or possible.
    fn converted(&self, one: &Migration, name: &str, value: &Node, notes: &mut Notes) -> Option<Node> {
        let wanted = one.value_type?;
        let is_current = self.kind(name).is_none_or(|kind| kind == wanted.as_str());
        if value.is_null() || !is_current || is_of(value, wanted) {
            return None;
        }
        let converted = convert(value, wanted);
        if converted.is_none() {
            let message = format!(
                "`{name}` is of type {} in the release `{}`, and this value is not",
                wanted.as_str(),
                self.release.name
            );
            self.refuse(
                value,
                notes,
                &message,
                "write the value by hand: it can be read in more than one way",
            );
        }
        converted
    }

    fn refuse(&self, value: &Node, notes: &mut Notes, message: &str, hint: &str) {
        notes.error("migration", self.input.sources.place(value.origin), message).hint(hint);
    }
}

fn is_of(value: &Node, wanted: ValueType) -> bool {
    match wanted {
        ValueType::String => value.as_str().is_some(),
        ValueType::Integer => value.as_int().is_some(),
        ValueType::Number => value.as_int().is_some() || matches!(value.value, Value::Float(_)),
        ValueType::Boolean => value.as_bool().is_some(),
    }
}

/// Converts a value to another type if there is only one way to read it.
fn convert(value: &Node, wanted: ValueType) -> Option<Node> {
    let whole = |text: &str| text.parse::<i64>().ok().filter(|number| number.to_string() == text);
    match wanted {
        ValueType::String => {
            let whole = value.as_int().map(|number| number.to_string());
            whole.or_else(|| Some(value.as_bool()?.to_string())).map(|text| Node::from(text.as_str()))
        }
        ValueType::Integer | ValueType::Number => Some(Node::from(whole(value.as_str()?)?)),
        ValueType::Boolean => match value.as_str()? {
            "true" => Some(Node::from(true)),
            "false" => Some(Node::from(false)),
            _ => None,
        },
    }
}
