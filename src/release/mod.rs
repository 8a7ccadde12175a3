//! Releases: a stack for one Kubernetes minor, resolved and frozen; what clusters are made from, and nothing else of a
//! stack.
//!
//! A head release (channel `hash`) is made from the stack as it stands and named by its content; a numbered one is read
//! from the tree. `read(write(r)) == r`. The hash is taken with a stand-in for the release's own name.

mod class;
mod content;
mod freeze;
mod read;
mod write;

use std::{collections::BTreeMap, sync::Arc};

use semver::Version;

pub use class::{ClassVariable, ClusterClass};
pub use content::Content;

use crate::{
    definition::{Channel, StackTemplate, closest},
    model::{
        Addon, Cluster, CompatibilityRule, KubernetesVersion, Minor, NodeImage, ReleaseRef, StackId,
        Subdomain,
    },
    note::{Halted, Notes},
    resolve::Resolution,
    template::{Recorder, Text, Visible},
    world::Input,
    yaml::Source,
    yaml::{Mapping, Node},
};

pub use read::read;
pub use write::{Body, Page, pages, write};

/// An immutable, resolved freeze of a stack for one Kubernetes minor.
#[derive(Clone, Debug, PartialEq)]
pub struct Release {
    /// Its name, such as `openstack-scs-1-35-v7`; that of its cluster class, too.
    pub name: String,
    /// How it came about.
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
    /// Content hashes.
    pub content: Content,
    /// The level of the template language.
    pub language: u32,
}

/// An addon of a release.
#[derive(Clone, Debug, PartialEq)]
pub struct ReleaseAddon {
    /// What it is.
    pub addon: Addon,
    /// The version that the release pins.
    pub version: Option<Version>,
    /// The names of the objects that its values come from, in the order of `addon.values_from`.
    pub values_objects: Vec<Arc<Text>>,
    /// Its values.
    pub values: Option<StackTemplate>,
    /// Its manifests.
    pub manifests: Vec<StackTemplate>,
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
}

impl Releases {
    /// The release that a cluster names; an unknown one is reported.
    pub fn of(&self, cluster: &Cluster, input: &Input, notes: &mut Notes) -> Option<Arc<Release>> {
        let name = match &cluster.release {
            ReleaseRef::Head(stack, minor) => return self.heads.get(&(stack.clone(), *minor)).cloned(),
            ReleaseRef::Named(name) => name.as_str(),
        };
        if let Some(found) = self.named.get(name) {
            return Some(found.clone());
        }
        let place = input.sources.place(cluster.release_origin);
        let note = notes.error("unknown-release", place, format!("there is no release `{name}`"));
        match closest(name, self.named.keys().map(String::as_str)) {
            Some(similar) => note.hint(format!("did you mean `{similar}`?")),
            None => note.hint(
                "releases are folders of `generated/releases/`; `release: head` takes the stack as it stands",
            ),
        };
        None
    }
}

impl Releases {
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

    /// The names of all of them, in order.
    pub fn names(&self) -> Vec<&str> {
        let heads = self.heads.values().map(|release| release.name.as_str());
        let mut names: Vec<_> = self.named.keys().map(String::as_str).chain(heads).collect();
        names.sort_unstable();
        names
    }
}

/// Freezes every stack as it stands, and reads the numbered releases of the tree.
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
        if let Some(release) = freeze::freeze(resolved, input, recorder, notes) {
            releases.heads.insert(key.clone(), Arc::new(release));
        }
    }
    for name in numbered(input) {
        let prefix = format!("generated/releases/{name}/");
        let files = input.sources.below(prefix.trim_end_matches('/'));
        let files = files
            .map(|source| (source.path.strip_prefix(&prefix).unwrap_or_default().to_owned(), source.clone()));
        if let Some(release) = read(&name, &files.collect(), notes) {
            releases.named.insert(name, Arc::new(release));
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

/// The names of the numbered releases among the sources.
fn numbered(input: &Input) -> Vec<String> {
    let files = input.sources.below("generated/releases");
    let mut names: Vec<_> = files
        .filter_map(|source| source.path.strip_prefix("generated/releases/")?.split_once('/'))
        .map(|(name, _)| name.to_owned())
        .collect();
    names.dedup();
    names
}
