//! Releases: a stack for one Kubernetes minor, resolved and frozen; what clusters are made from, and nothing else of a
//! stack.
//!
//! A head release (channel `hash`) is made from the stack as it stands and named by its content; a numbered one is read
//! from the tree. `read(write(r)) == r`. The hash is taken with a stand-in for the release's own name.

mod artifact;
mod assets;
mod brought;
mod lifecycle;
mod list;
mod class;
mod content;
mod cut;
mod difference;
mod freeze;
mod images;
mod impact;
mod manifest;
mod matrix;
mod nameless;
mod newer;
mod notes_text;
mod number;
mod read;
mod readers;
mod requires;
mod rebases;
mod schema;
mod record;
mod standing;
mod take;
mod template_node;
mod unmet;
mod write;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

pub use artifact::{ARCHIVE_LIMIT, Archived, folder_digest, pack, sha256, unpack};
pub use assets::{ChartFiles, assets, assets_folder, charts_of_assets, check_assets, unpack_chart};
pub use brought::{Brought, Where, brought, full_kind, group_of};
pub use class::{ClassVariable, ClusterClass};
pub use content::Content;
pub use cut::{Considered, Cut, Foretell, Request, cut};
pub use difference::{Component, Difference, differences};
pub use images::{Images, images_of};
pub use impact::{Effect, Impact, impact};
pub use lifecycle::{AHEAD, Lifecycle, lifecycles};
pub use list::{Listed, ReleaseList, release_list};
pub use manifest::{Artifact, Layer, MANIFEST_TYPE, Provenance, artifact, layer};
pub use matrix::{AddonRow, Cell, Column, Fit, Pin, StackMatrix, VersionRow, fleet_matrix, stack_matrix};
pub use newer::{Newer, newer, newest, stack_and_minor};
pub use notes_text::tag_message;
pub use number::check as check_version;
pub use read::read;
pub use rebases::{Rebase, Rebases};
pub use schema::{definition_schema, head_schema_file, schema_file};
pub use standing::{AddonDifference, Standing, addon_differences, line, standing};
pub use take::{Arrival, Taken, published, take};
pub use unmet::{Unmet, Unsupported};
pub use write::{Body, Page, digests_of, pages, write};

use crate::{
    definition::{Channel, StackTemplate, closest, read_lock},
    model::{
        Addon, AddonVersion, ChartVersion, Cluster, CompatibilityRule, Digest, KubernetesVersion, Lock,
        LockedChart, Migration, Minor, NodeImage, ReleaseRef, Requirements, StackId, Subdomain,
    },
    note::{Halted, Notes},
    resolve::Resolution,
    template::{Recorder, Text, Visible},
    world::{Input, LOCK, numbered_releases},
    yaml::{Mapping, Node, Origin, Source},
};

/// The format of a release's files. The files of a release do not depend on the engine that applies them.
pub const FORMAT: i64 = 2;

/// An immutable, resolved freeze of a stack for one Kubernetes minor.
#[derive(Clone, Debug, PartialEq)]
pub struct Release {
    /// Its name, such as `openstack-scs-1-35-v7`; that of its cluster class, too.
    pub name: String,
    /// Its channel.
    pub channel: Channel,
    /// Its version in its channel.
    pub version: String,
    /// The stack.
    pub stack: StackId,
    /// The exact Kubernetes version.
    pub kubernetes: KubernetesVersion,
    /// The objects of its class, without a namespace.
    pub objects: Vec<Node>,
    /// What clusters need to know of its class.
    pub class: ClusterClass,
    /// Templates once per namespace.
    pub namespace: Vec<StackTemplate>,
    /// Templates once per cluster.
    pub cluster: Vec<StackTemplate>,
    /// Its addons, by name.
    pub addons: Vec<Arc<ReleaseAddon>>,
    /// Its node images, by name.
    pub images: Vec<NodeImage>,
    /// Combinations that do not work.
    pub compatibility: Vec<CompatibilityRule>,
    /// Variables that have another name or type than before.
    pub migrations: Vec<Migration>,
    /// What it needs of a management cluster.
    pub requires: Requirements,
    /// Content hashes.
    pub content: Content,
    /// The level of the template language.
    pub language: u32,
    /// What the lock says of images that its own objects and templates name. No content, as is all that is locked.
    pub image_digests: BTreeMap<String, Digest>,
    /// The versions of its components.
    pub components: Components,
    /// How it came about; head releases have none.
    pub history: Option<History>,
}

/// The versions of the components that have one of their own; the class has that of the release.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Components {
    /// Of the addons.
    pub cluster_addon: String,
    /// Of the node images.
    pub node_image: String,
}

/// How a numbered release came about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// The release of its channel before it.
    pub previous: Option<String>,
    /// The commit that its sources are of.
    pub commit: Option<String>,
    /// The components that have another version than before.
    pub bumped: BTreeSet<Component>,
    /// What it means for a cluster that moves to it from the previous one; each effect with why.
    pub impact: Option<BTreeMap<Effect, BTreeSet<String>>>,
}

/// An addon of a release.
#[derive(Clone, Debug, PartialEq)]
pub struct ReleaseAddon {
    /// What it is.
    pub addon: Addon,
    /// The version that the release pins.
    pub version: Option<AddonVersion>,
    /// The names of the objects that its values come from, in the order of `addon.values_from`.
    pub values_objects: Vec<Arc<Text>>,
    /// Its values.
    pub values: Option<StackTemplate>,
    /// Its manifests.
    pub manifests: Vec<StackTemplate>,
    /// What the lock says of its chart, by version.
    pub locked: BTreeMap<AddonVersion, LockedChart>,
}

impl Release {
    /// Whether it is made anew by every run.
    pub fn is_head(&self) -> bool {
        self.channel == Channel::Hash
    }

    /// An addon by name.
    pub fn addon(&self, name: &str) -> Option<&Arc<ReleaseAddon>> {
        self.addons.iter().find(|addon| addon.addon.name.as_str() == name)
    }

    /// The name that stands for its own where content is compared.
    pub fn stand_in(&self) -> String {
        freeze::stand_in(&self.stack, &self.kubernetes)
    }

    /// The objects of its class, with the stand-in for its name.
    pub fn nameless(&self) -> Vec<Node> {
        let stand_in = self.stand_in();
        self.objects.iter().map(|object| nameless::renamed(object, &self.name, &stand_in)).collect()
    }

    /// What every template of the release sees: the stack, the release, Kubernetes and the node images.
    pub fn context(&self) -> Mapping {
        freeze::context(&self.stack, &self.name, &self.version, &self.kubernetes, &self.images)
    }
}

impl PartialEq for StackTemplate {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path && self.template == other.template
    }
}

/// The releases that clusters of a fleet can be made from.
#[derive(Clone, Debug, Default)]
pub struct Releases {
    heads: BTreeMap<(StackId, Minor), Arc<Release>>,
    named: BTreeMap<String, Arc<Release>>,
    /// Folders that are refused, each with why.
    refused: BTreeMap<String, Notes>,
    /// Numbered releases of which git knows neither a tag nor the commit that added them.
    untagged: BTreeSet<String>,
}

impl Releases {
    /// The head releases, by stack and minor, to be kept.
    pub fn shared_heads(&self) -> impl Iterator<Item = &Arc<Release>> {
        self.heads.values()
    }

    /// Whether a release is the newest of its stack, minor and channel; of one word, in the channel `custom`.
    fn is_newest(&self, release: &Release) -> bool {
        let key = |one: &Release| {
            let line = number::line(one.channel, &one.version);
            (one.stack.clone(), one.kubernetes.minor(), one.channel, line)
        };
        let (own, order) = (key(release), |one: &Release| number::order(one.channel, &one.version));
        let mut others = self.named.values().filter(|one| key(one) == own);
        !others.any(|one| order(one) > order(release))
    }

    /// The numbered releases of the same stack and channel, of every minor; of the channel `custom`, of the same word.
    fn line_of(&self, release: &Release) -> impl Iterator<Item = &Arc<Release>> {
        let line = |one: &Release| number::line(one.channel, &one.version);
        let (stack, channel, own) = (release.stack.clone(), release.channel, line(release));
        self.named
            .values()
            .filter(move |one| (&one.stack, one.channel) == (&stack, channel) && line(one) == own)
    }

    /// The name of the release, sound or not, that a next one of a stack and minor follows.
    fn last(&self, stack: &StackId, minor: Minor, channel: Channel, next: Option<&str>) -> Option<String> {
        let prefix = freeze::name(stack, minor, "");
        let names = self.named.keys().chain(self.refused.keys());
        let versions: Vec<&str> = names.filter_map(|name| name.strip_prefix(&prefix)).collect();
        number::last(channel, next, &versions).map(|version| format!("{prefix}{version}"))
    }

    /// Whether git knows neither a tag nor the commit that added a numbered release.
    pub fn is_untagged(&self, name: &str) -> bool {
        self.untagged.contains(name)
    }

    /// What is wrong with refused releases that no cluster uses.
    pub fn refused_and_unused(&self, used: &BTreeSet<&str>) -> Notes {
        let mut found = Notes::new();
        for (_, why) in self.refused.iter().filter(|(name, _)| !used.contains(name.as_str())) {
            found.append(why.clone());
        }
        found
    }

    /// The stacks as they stand.
    pub fn heads(&self) -> impl Iterator<Item = &Release> {
        self.heads.values().map(|release| &**release)
    }

    /// Whether a numbered release was cut when a chart had this digest.
    pub fn records(&self, key: &ChartVersion, digest: &Digest) -> bool {
        let addons = self.named.values().flat_map(|release| &release.addons);
        let of_chart = addons.filter(|one| one.addon.chart.as_ref() == Some(&key.chart));
        of_chart.filter_map(|one| one.locked.get(&key.version)).any(|locked| locked.digest == *digest)
    }

    /// Whether there is a folder of this name, sound or not.
    fn has(&self, name: &str) -> bool {
        self.named.contains_key(name) || self.refused.contains_key(name)
    }

    /// The release that a cluster names; an unknown one is reported.
    pub fn of(&self, cluster: &Cluster, notes: &mut Notes) -> Option<Arc<Release>> {
        let name = match &cluster.release {
            ReleaseRef::Head(stack, minor) => return self.heads.get(&(stack.clone(), *minor)).cloned(),
            ReleaseRef::Named(name) => name.as_str(),
        };
        self.named(name, cluster.release_origin, notes)
    }

    /// A numbered release by its name; one that is unknown or refused is reported.
    pub fn named(&self, name: &str, origin: Origin, notes: &mut Notes) -> Option<Arc<Release>> {
        if let Some(found) = self.named.get(name) {
            return Some(found.clone());
        }
        if let Some(why) = self.refused.get(name) {
            notes.append(why.clone());
            notes
                .error(
                    "release-refused",
                    origin,
                    format!("the release `{name}` is not what it was when it was cut"),
                )
                .hint("put it back as the other messages say, or move the cluster to another release");
            return None;
        }
        let note = notes.error("unknown-release", origin, format!("there is no release `{name}`"));
        let known = self.named.keys().map(String::as_str);
        note.hint(match closest(name, known.clone()) {
            Some(similar) if known.clone().count() == 1 => format!("did you mean `{similar}`?"),
            Some(similar) => format!("did you mean `{similar}`? {}", known_releases(known)),
            None => known_releases(known),
        });
        note.hint(
            "`release: head`, with `stack` and `kubernetes`, follows a stack without a numbered release",
        );
        note.hint(format!(
            "if it was pruned and `git tag --list {name}` shows its tag: `git checkout {name} -- generated/releases/{name}`"
        ))
        .hint("if another repository publishes it: `stackloom pull` takes it from there");
        None
    }

    /// What a cluster would say to be made from the release of a name. A head release answers to its name without the
    /// version, too: that changes with every edit.
    pub fn find(&self, name: &str) -> Option<ReleaseRef> {
        if self.named.contains_key(name) {
            return Subdomain::new(name).ok().map(ReleaseRef::Named);
        }
        let is_meant = |release: &Release| {
            let rest = release.name.strip_prefix(name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("-v0-sha."))
        };
        let mut heads = self.heads.iter().filter(|(_, release)| is_meant(release));
        heads.next().map(|((stack, minor), _)| ReleaseRef::Head(stack.clone(), *minor))
    }

    /// The release of a name; of a head release, with its version.
    pub fn by_name(&self, name: &str) -> Option<&Release> {
        let head = || self.heads().find(|head| head.name == name);
        self.named.get(name).map(|release| &**release).or_else(head)
    }

    /// The names of all of them, in order.
    pub fn names(&self) -> Vec<&str> {
        let heads = self.heads.values().map(|release| release.name.as_str());
        let mut names: Vec<_> = self.named.keys().map(String::as_str).chain(heads).collect();
        names.sort_unstable();
        names
    }
}

/// Which numbered releases there are, as far as a message has room for them.
fn known_releases<'a>(known: impl Iterator<Item = &'a str>) -> String {
    const ROOM: usize = 6;
    let names: Vec<_> = known.map(|name| format!("`{name}`")).collect();
    match names.len() {
        0 => "the fleet has no numbered release yet: `stackloom release` creates the first ones".to_owned(),
        count if count <= ROOM => format!("the fleet has {}", names.join(", ")),
        count => format!(
            "the fleet has {} and {} more: `stackloom releases` lists them",
            names[..ROOM].join(", "),
            count - ROOM
        ),
    }
}

/// What the tags of the numbered releases say: their notes. A release that is refused has none.
pub fn numbered_notes(input: &Input, notes: &mut Notes) -> BTreeMap<String, String> {
    let mut messages = BTreeMap::new();
    let lock = locked(input);
    for name in numbered_releases(&input.sources) {
        let files = files_of(&name, input);
        let text = files.get("NOTES.md").map(|source| tag_message(&source.text));
        let mut own = Notes::new();
        if verified(&name, input, &lock, &mut own).is_some() {
            messages.insert(name.clone(), text.unwrap_or(name));
        }
        notes.append(own);
    }
    messages
}

/// What is locked. Where the lock is at fault, that is reported when definitions are read, and nothing is made.
fn locked(input: &Input) -> Lock {
    let read = |source: &Source| read_lock(source, &mut Notes::new());
    input.sources.at(LOCK).and_then(read).unwrap_or_default()
}

/// Reads a numbered release, and compares it with its own digests, with what git recorded of it and with the lock.
fn verified(name: &str, input: &Input, lock: &Lock, notes: &mut Notes) -> Option<Release> {
    record::check_damaged(name, input, notes);
    record::check(name, input, notes);
    take::check_lock(name, input, lock, notes);
    let drifted = notes.errors() > 0;
    let reported: BTreeSet<String> =
        notes.iter().filter_map(|note| note.place.as_ref()).map(|place| place.file.clone()).collect();
    let mut own = Notes::new();
    let release = read(name, &files_of(name, input), &mut own);
    // What git says of a file already names it, and how to put it back.
    let is_reported = |file: &str| reported.iter().any(|reported| record::is_at(file, reported));
    notes.append_if(own, |note| !note.place.as_ref().is_some_and(|place| is_reported(&place.file)));
    release.filter(|_| !drifted)
}

/// Freezes every stack as it stands, and reads the numbered releases of the tree. One that is refused is no error here:
/// it concerns the clusters that use it, and nobody else.
pub fn releases(resolution: &Resolution<'_>, input: &Input, notes: &mut Notes) -> Result<Releases, Halted> {
    releases_recorded(resolution, input, None, notes)
}

/// The same, and tells what the templates of classes read.
pub fn releases_recorded(
    resolution: &Resolution<'_>,
    input: &Input,
    recorder: Option<&Recorder>,
    notes: &mut Notes,
) -> Result<Releases, Halted> {
    let mut releases = Releases::default();
    for (key, resolved) in &resolution.stacks {
        if let Some(release) = freeze::freeze(resolved, resolution.lock, input, recorder, notes) {
            releases.heads.insert(key.clone(), Arc::new(release));
        }
    }
    take::check_missing(input, resolution.lock, notes);
    // One of which nothing at all can be read is there, too.
    let names: BTreeSet<String> =
        numbered_releases(&input.sources).into_iter().chain(input.damaged.keys().cloned()).collect();
    for name in names {
        let mut own = Notes::new();
        if !record::is_known(&name, input) {
            releases.untagged.insert(name.clone());
        }
        match verified(&name, input, resolution.lock, &mut own) {
            Some(release) => {
                notes.append(own);
                releases.named.insert(name, Arc::new(release));
            }
            None => drop(releases.refused.insert(name, own)),
        }
    }
    notes.halt(releases)
}

/// The names of the objects that an addon's values come from, as texts that may hold expressions.
fn values_objects(addon: &Addon, source: &Source, level: u32, notes: &mut Notes) -> Vec<Arc<Text>> {
    let parse = |from: &crate::model::ValuesFrom, notes: &mut Notes| {
        let node = Node::from(from.name.as_str()).with_origin(from.origin);
        Text::parse(&node, source, level, Visible::Addon, notes)
    };
    addon.values_from.iter().filter_map(|from| parse(from, notes).map(Arc::new)).collect()
}

/// The files of a release, by their paths in its folder.
fn files_of(name: &str, input: &Input) -> BTreeMap<String, Source> {
    let folder = format!("generated/releases/{name}");
    let inside = |source: &Source| {
        source.path.strip_prefix(&folder).map(|path| path.trim_start_matches('/').to_owned())
    };
    input.sources.below(&folder).filter_map(|source| Some((inside(source)?, source.clone()))).collect()
}
