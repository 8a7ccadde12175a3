//! Releases. A release is a stack for one Kubernetes minor, resolved and frozen. Clusters are made from releases only, never
//! directly from a stack.
//!
//! A head release (channel `hash`) is made from the current state of the stack and named after its content. A numbered
//! release is read from the tree. `read(write(r)) == r`. Hashes are computed with a placeholder instead of the release's own
//! name.

mod artifact;
mod assets;
mod brought;
mod lifecycle;
mod list;
mod chosen_addon;
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
mod namespaced;
mod newer;
mod notes_text;
mod number;
mod read;
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
pub use brought::{ProvidedObject, TEMPLATE_GROUPS, TEMPLATE_KINDS, Where, brought, full_kind, group_of};
pub use chosen_addon::ChosenAddon;
pub use class::{ClassVariable, ClusterClass};
pub use content::Content;
pub use cut::{Cut, CutOutcome, CutRequest, RebaseForecast, RebaseForecaster, Stacks, cut};
pub use difference::{Component, Difference, differences};
pub use images::{Images, images_of};
pub use impact::{Impact, RebaseEffect, impact};
pub use lifecycle::{AHEAD, Lifecycle, lifecycles};
pub use list::{Listed, ReleaseList, release_list};
pub use manifest::{Artifact, ArtifactLayer, MANIFEST_TYPE, ReleaseOrigin, artifact, layer};
pub use matrix::{
    AddonRow, Cell, Column, Compatibility, OfChart, PinningRelease, StackMatrix, VersionRow, fleet_matrix,
    stack_matrix,
};
pub use namespaced::{is_namespaced, namespaced_kinds};
pub use newer::{Newer, is_stable, newer, newest, stack_and_minor};
pub use notes_text::tag_message;
pub use number::check as check_version;
pub use read::{parts, read};
pub use rebases::{Rebase, Rebases};
pub use record::note_deleted;
pub use schema::{definition_schema, head_schema_file, schema_file};
pub use standing::{AddonDifference, Standing, addon_differences, line, standing};
pub use take::{Arrival, Taken, published, take};
pub use unmet::{Unmet, Unsupported};
pub use write::{Body, ReleaseFile, digests_of, pages, write};

use crate::{
    definition::{Channel, Model, StackTemplate, closest, read_lock},
    model::{
        Addon, AddonVersion, ChartVersion, Cluster, CompatibilityRule, Digest, KubernetesVersion, Lock,
        LockedChart, Migration, Minor, NodeImage, ReleaseRef, Requirements, StackId, Subdomain,
    },
    note::{At, Halted, Notes},
    resolve::Resolution,
    template::{Recorder, Text, Visible},
    world::{Input, LOCK, numbered_releases},
    yaml::{Mapping, Node, Origin, Source},
};

/// The format of a release's files. The files of a release do not depend on the engine that applies them.
pub const FORMAT: i64 = 2;

/// An immutable, resolved snapshot of a stack for one Kubernetes minor.
#[derive(Clone, Debug, PartialEq)]
pub struct Release {
    /// The name, such as `openstack-scs-1-35-v7`; also the name of its cluster class.
    pub name: String,
    pub channel: Channel,
    /// The version within the channel.
    pub version: String,
    pub stack: StackId,
    /// The exact Kubernetes version.
    pub kubernetes: KubernetesVersion,
    /// The objects of the cluster class, without a namespace.
    pub objects: Vec<Node>,
    /// The parts of the cluster class that clusters refer to.
    pub class: ClusterClass,
    /// Templates rendered once per namespace.
    pub namespace: Vec<StackTemplate>,
    /// Templates rendered once per cluster.
    pub cluster: Vec<StackTemplate>,
    pub addons: Vec<Arc<ReleaseAddon>>,
    pub images: Vec<NodeImage>,
    /// Combinations of addon and Kubernetes versions that don't work.
    pub compatibility: Vec<CompatibilityRule>,
    /// Variables whose name or type differs from that in earlier releases.
    pub migrations: Vec<Migration>,
    /// The requirements on a management cluster.
    pub requires: Requirements,
    /// Content hashes.
    pub content: Content,
    /// The level of the template language.
    pub language: u32,
    /// The locked digests of images that its own objects and templates name. Like all locked data, they don't count as
    /// content.
    pub image_digests: BTreeMap<String, Digest>,
    /// The versions of its components.
    pub components: Components,
    /// The origin of a numbered release; none for head releases.
    pub history: Option<History>,
}

/// The versions of the components that have their own version. The class has the version of the release.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Components {
    /// The version of the addons.
    pub cluster_addon: String,
    /// The version of the node images.
    pub node_image: String,
}

/// The origin of a numbered release.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// The previous release of its channel.
    pub previous: Option<String>,
    /// The commit of its sources.
    pub commit: Option<String>,
    /// The components whose version differs from that in the previous release.
    pub bumped: BTreeSet<Component>,
    /// The effects on a cluster that moves here from the previous release, each with its reasons.
    pub impact: Option<BTreeMap<RebaseEffect, BTreeSet<String>>>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ReleaseAddon {
    /// The definition of the addon.
    pub addon: Addon,
    /// The version that the release pins.
    pub version: Option<AddonVersion>,
    /// The names of the objects that supply values, in the order of `addon.values_from`.
    pub values_objects: Vec<Arc<Text>>,
    /// The Helm values.
    pub values: Option<StackTemplate>,
    /// Templates of objects for the workload cluster.
    pub manifests: Vec<StackTemplate>,
    /// The locked entries of its chart, by version.
    pub locked: BTreeMap<AddonVersion, LockedChart>,
}

impl Release {
    /// Reports whether it is a head release, which every run makes anew.
    pub fn is_head(&self) -> bool {
        self.channel == Channel::Hash
    }

    /// Looks up an addon by name.
    pub fn addon(&self, name: &str) -> Option<&Arc<ReleaseAddon>> {
        self.addons.iter().find(|addon| addon.addon.name.as_str() == name)
    }

    /// The placeholder for its name when content is compared.
    pub fn stand_in(&self) -> String {
        freeze::stand_in(&self.stack, &self.kubernetes)
    }

    /// The objects of its class, with the placeholder instead of its name.
    pub fn nameless(&self) -> Vec<Node> {
        let stand_in = self.stand_in();
        self.objects.iter().map(|object| nameless::renamed(object, &self.name, &stand_in)).collect()
    }

    /// The values that every template of the release can read: stack, release, Kubernetes and node images.
    pub fn context(&self) -> Mapping {
        freeze::context(&self.stack, &self.name, &self.version, &self.kubernetes, &self.images)
    }
}

impl PartialEq for StackTemplate {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path && self.template == other.template
    }
}

/// The releases that the clusters of a fleet can use.
#[derive(Clone, Debug, Default)]
pub struct Releases {
    heads: BTreeMap<(StackId, Minor), Arc<Release>>,
    named: BTreeMap<String, Arc<Release>>,
    /// Folders that were rejected, each with the errors.
    refused: BTreeMap<String, Notes>,
    /// Numbered releases for which git has neither a tag nor the commit that added them.
    untagged: BTreeSet<String>,
}

impl Releases {
    /// The head releases by stack and minor, as shared references.
    pub fn shared_heads(&self) -> impl Iterator<Item = &Arc<Release>> {
        self.heads.values()
    }

    /// Reports whether a release is the newest of its stack, minor and channel; in the channel `custom`, of its word.
    fn is_newest(&self, release: &Release) -> bool {
        let key = |one: &Release| {
            let line = number::line(one.channel, &one.version);
            (one.stack.clone(), one.kubernetes.minor(), one.channel, line)
        };
        let (own, order) = (key(release), |one: &Release| number::order(one.channel, &one.version));
        let mut others = self.named.values().filter(|one| key(one) == own);
        !others.any(|one| order(one) > order(release))
    }

    /// The numbered releases of the same stack and channel, for every minor; in the channel `custom`, of the same word.
    fn line_of(&self, release: &Release) -> impl Iterator<Item = &Arc<Release>> {
        let line = |one: &Release| number::line(one.channel, &one.version);
        let (stack, channel, own) = (release.stack.clone(), release.channel, line(release));
        self.named
            .values()
            .filter(move |one| (&one.stack, one.channel) == (&stack, channel) && line(one) == own)
    }

    /// The name of the release that the next one of a stack and minor follows. It may be a rejected one.
    fn last(&self, stack: &StackId, minor: Minor, channel: Channel, next: Option<&str>) -> Option<String> {
        let prefix = freeze::name(stack, minor, "");
        let names = self.named.keys().chain(self.refused.keys());
        let versions: Vec<&str> = names.filter_map(|name| name.strip_prefix(&prefix)).collect();
        number::last(channel, next, &versions).map(|version| format!("{prefix}{version}"))
    }

    /// Reports whether git has neither a tag of a numbered release nor the commit that added it.
    pub fn is_untagged(&self, name: &str) -> bool {
        self.untagged.contains(name)
    }

    /// The errors of rejected releases that no cluster uses.
    pub fn refused_and_unused(&self, used: &BTreeSet<&str>) -> Notes {
        let mut found = Notes::new();
        for (_, why) in self.refused.iter().filter(|(name, _)| !used.contains(name.as_str())) {
            found.append(why.clone());
        }
        found
    }

    /// The head release of a stack for a Kubernetes minor; none if the stack does not serve it or has errors.
    pub fn head(&self, stack: &StackId, minor: Minor) -> Option<&Arc<Release>> {
        self.heads.get(&(stack.clone(), minor))
    }

    /// Whether any stack has a release, or a head, for this Kubernetes minor.
    pub fn has_minor(&self, minor: Minor) -> bool {
        self.heads.keys().any(|(_, one)| *one == minor)
            || self.named.values().any(|release| release.kubernetes.minor() == minor)
    }

    pub fn heads(&self) -> impl Iterator<Item = &Release> {
        self.heads.values().map(|release| &**release)
    }

    /// Reports whether some numbered release was cut when a chart had this digest.
    pub fn records(&self, key: &ChartVersion, digest: &Digest) -> bool {
        let addons = self.named.values().flat_map(|release| &release.addons);
        let of_chart = addons.filter(|one| one.addon.chart.as_ref() == Some(&key.chart));
        of_chart.filter_map(|one| one.locked.get(&key.version)).any(|locked| locked.digest == *digest)
    }

    /// Reports whether a release folder of this name exists, valid or not.
    fn has(&self, name: &str) -> bool {
        self.named.contains_key(name) || self.refused.contains_key(name)
    }

    /// The release that a cluster uses. An unknown release is reported.
    pub fn of(&self, cluster: &Cluster, notes: &mut Notes) -> Option<Arc<Release>> {
        let name = match &cluster.release {
            ReleaseRef::Head(stack, minor) => return self.head(stack, *minor).cloned(),
            ReleaseRef::Named(name) => name.as_str(),
        };
        self.named(name, cluster.release_origin, notes)
    }

    /// Looks up a numbered release. An unknown or rejected release is reported.
    pub fn named(&self, name: &str, origin: Origin, notes: &mut Notes) -> Option<Arc<Release>> {
        if let Some(found) = self.named.get(name) {
            return Some(found.clone());
        }
        if self.note_refused(name, origin, notes) {
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
            "use `release: head`, with `stack` and `kubernetes`, to follow a stack without a numbered release",
        );
        note.hint(format!(
            "if it was pruned and `git tag --list {name}` shows its tag: `git checkout {name} -- generated/releases/{name}`"
        ))
        .hint("if another repository publishes it, get it with `stackloom pull`");
        None
    }

    /// Reports why a release is refused; false if it is not.
    pub fn note_refused(&self, name: &str, at: impl Into<At>, notes: &mut Notes) -> bool {
        let Some(why) = self.refused.get(name) else { return false };
        notes.append(why.clone());
        notes
            .error("release-refused", at, format!("the release `{name}` does not match its records"))
            .hint("restore it as the other messages say, or choose another release");
        true
    }

    /// Why no release of this name can be used, in words.
    pub fn why_missing(&self, name: &str) -> String {
        if self.refused.contains_key(name) {
            format!("the release `{name}` does not match its records")
        } else {
            format!("there is no release `{name}`")
        }
    }

    /// The reference that a cluster would use for the release of this name. A head release is also found without its
    /// version, which changes with every edit.
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

    /// Looks up a release by name. For a head release, the name includes the version.
    pub fn by_name(&self, name: &str) -> Option<&Release> {
        let head = || self.heads().find(|head| head.name == name);
        self.named.get(name).map(|release| &**release).or_else(head)
    }

    /// The names of all releases, sorted.
    pub fn names(&self) -> Vec<&str> {
        let heads = self.heads.values().map(|release| release.name.as_str());
        let mut names: Vec<_> = self.named.keys().map(String::as_str).chain(heads).collect();
        names.sort_unstable();
        names
    }
}

/// Lists the numbered releases, as many as fit into a message.
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

/// The notes of numbered releases, as their tags contain them. Rejected releases are left out.
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

/// Reads the lock. Errors in the lock are reported when definitions are read, and nothing is made then.
fn locked(input: &Input) -> Lock {
    let read = |source: &Source| read_lock(source, &mut Notes::new());
    input.sources.at(LOCK).and_then(read).unwrap_or_default()
}

/// Reads a numbered release, and compares it with its own digests, with git's record of it and with the lock.
fn verified(name: &str, input: &Input, lock: &Lock, notes: &mut Notes) -> Option<Release> {
    record::check_damaged(name, input, notes);
    record::check(name, input, notes);
    take::check_lock(name, input, lock, notes);
    let drifted = notes.errors() > 0;
    let drifted_files: BTreeSet<String> =
        notes.iter().filter_map(|note| note.place.as_ref()).map(|place| place.file.clone()).collect();
    let mut own = Notes::new();
    let release = read(name, &files_of(name, input), &mut own);
    // The comparison with git has already reported these files and how to restore them.
    let is_named = |file: &str| drifted_files.iter().any(|drifted_files| record::is_at(file, drifted_files));
    notes.append_if(own, |note| !note.place.as_ref().is_some_and(|place| is_named(&place.file)));
    release.filter(|_| !drifted)
}

/// Freezes the current state of every stack, and reads the numbered releases of the tree. A rejected release is not an error
/// here; it matters only to the clusters that use it.
pub fn releases(
    model: &Model,
    resolution: &Resolution,
    input: &Input,
    notes: &mut Notes,
) -> Result<Releases, Halted> {
    releases_recorded(model, resolution, input, None, notes)
}

/// Like [`releases`], but also records what the templates of classes read.
pub fn releases_recorded(
    model: &Model,
    resolution: &Resolution,
    input: &Input,
    recorder: Option<&Recorder>,
    notes: &mut Notes,
) -> Result<Releases, Halted> {
    let mut releases = Releases::default();
    for (key, resolved) in resolution.stacks(model) {
        if let Some(release) = freeze::freeze(resolved, &model.lock, input, recorder, notes) {
            releases.heads.insert(key.clone(), Arc::new(release));
        }
    }
    take::check_missing(input, &model.lock, notes);
    // Includes releases whose files are all unreadable.
    let names: BTreeSet<String> =
        numbered_releases(&input.sources).into_iter().chain(input.damaged.keys().cloned()).collect();
    for name in names {
        let mut own = Notes::new();
        if !record::is_known(&name, input) {
            releases.untagged.insert(name.clone());
        }
        match verified(&name, input, &model.lock, &mut own) {
            Some(release) => {
                notes.append(own);
                releases.named.insert(name, Arc::new(release));
            }
            None => drop(releases.refused.insert(name, own)),
        }
    }
    for name in &input.deleted {
        let mut own = Notes::new();
        record::note_deleted(name, &mut own);
        releases.refused.entry(name.clone()).or_insert(own);
    }
    notes.halt(releases)
}

/// The names of the objects that supply an addon's values, parsed as texts that may contain expressions.
fn values_objects(addon: &Addon, source: &Source, level: u32, notes: &mut Notes) -> Vec<Arc<Text>> {
    let parse = |from: &crate::model::ValuesFrom, notes: &mut Notes| {
        let node = Node::from(from.name.as_str()).with_origin(from.origin);
        Text::parse(&node, source, level, Visible::Addon, notes)
    };
    addon.values_from.iter().filter_map(|from| parse(from, notes).map(Arc::new)).collect()
}

/// The files of a release, by path within its folder.
fn files_of(name: &str, input: &Input) -> BTreeMap<String, Source> {
    let folder = format!("generated/releases/{name}");
    let inside = |source: &Source| {
        source.path.strip_prefix(&folder).map(|path| path.trim_start_matches('/').to_owned())
    };
    input.sources.below(&folder).filter_map(|source| Some((inside(source)?, source.clone()))).collect()
}
