//! Lowering: converts definitions as written into the model. Defaults are applied only here. Names, versions and either-or
//! rules are checked here, too.

mod addon;
mod accept;
mod allowance;
mod argocd;
mod calendar;
mod assumptions;
mod cluster;
mod compatibility;
mod dependencies;
mod engine;
mod fleet;
mod images;
mod lock;
mod pools;
mod raw;
mod cluster_settings;
mod removal;
mod requirements;
mod rollout;
mod migrations;
mod sources;
mod stack;

use std::{collections::BTreeMap, sync::Arc};

use super::{
    kinds::Named,
    parse::{Definitions, Written},
};
use crate::{
    model::{
        AddonVersion, Allowance, Cluster, Fleet, Label, Lock, Minor, NameFault, Rollout, Stack, StackId,
        VersionRange, address,
    },
    note::{Halted, Notes, Place},
    template::Template,
    world::Input,
    yaml::{Node, Origin, Source, Sources},
};

/// A template of a stack, with its path in the stack's folder.
#[derive(Clone, Debug)]
pub struct StackTemplate {
    /// The path in the stack's folder.
    pub path: String,
    /// The parsed template.
    pub template: Arc<Template>,
}

/// The meaning of all definitions of a fleet.
#[derive(Clone, Debug)]
pub struct Model {
    /// The settings of the whole repository.
    pub fleet: Fleet,
    /// The stacks that clusters use by `release: head`, by minor.
    pub stacks: BTreeMap<(StackId, Minor), Stack<StackTemplate>>,
    /// All clusters, sorted by management cluster, namespace and name.
    pub clusters: Vec<Cluster>,
    /// The rollouts, by name.
    pub rollouts: Vec<Rollout>,
    /// The lock, with the digests of external inputs.
    pub lock: Lock,
}

impl Model {
    /// The lints that the classes of stacks may violate.
    pub fn allowed(&self) -> BTreeMap<StackId, Vec<Allowance>> {
        self.stacks.iter().map(|((id, _), stack)| (id.clone(), stack.allow.clone())).collect()
    }
}

/// Lowers all definitions, even if other files have errors. `program` is the version of this program.
pub fn lower(
    definitions: &Definitions,
    input: &Input,
    program: &semver::Version,
    notes: &mut Notes,
) -> Result<Model, Halted> {
    let context = Lowering { sources: &input.sources, definitions };
    let fleet = fleet::lower(&context, input, program, notes);
    let stacks = stack::lower_all(&context, notes);
    let clusters = cluster::lower_all(&context, &fleet, input, notes);
    let lock = lock::lower(definitions.lock.as_ref(), notes);
    let rollouts = rollout::lower_all(&context, notes);
    match fleet.whole() {
        Some(fleet) => notes.halt(Model { fleet, stacks, clusters, rollouts, lock }),
        None => Err(notes.halted()),
    }
}

pub use fleet::CLUSTER_API;
pub use stack::{FrozenParts, lower_frozen};

/// Reads and lowers only `stackloom.lock`; none if it has errors.
pub fn read_lock(source: &Source, notes: &mut Notes) -> Option<Lock> {
    let mut own = Notes::new();
    let written = super::parse::read(source, super::DefinitionKind::Lock, &mut own);
    let lock = lock::lower(written.as_ref(), &mut own);
    let sound = own.errors() == 0;
    notes.append(own);
    sound.then_some(lock)
}

/// The address at which the engine reads the fleet, for display to others; none if there is none or it contains a
/// credential.
pub fn published_source(definitions: &Definitions) -> Option<String> {
    let spec = &definitions.fleet.as_ref()?.value.spec;
    let own = spec.management_clusters.iter().filter_map(|one| one.source.as_ref());
    let url = spec.source.iter().chain(own).find_map(|source| source.url.clone())?;
    (!holds_credential(&url)).then_some(url)
}

/// The inputs that lowering uses for lookups.
struct Lowering<'a> {
    sources: &'a Sources,
    definitions: &'a Definitions,
}

impl Lowering<'_> {
    fn place(&self, origin: Origin) -> Option<Place> {
        self.sources.place(origin)
    }

    /// Reports whether a file has errors, so that its content is unknown.
    fn is_broken(&self, path: &str) -> bool {
        self.definitions.broken.contains(path)
    }
}

/// The place of a path of keys in a definition, or of the deepest existing key on that path.
fn place_at<T>(written: &Written<T>, path: &[&str]) -> Place {
    written.source.word(closest_at(&written.node, path).origin.offset as usize)
}

/// The value at a path of keys and indices, or the closest one around it.
fn closest_at<'a>(mut node: &'a Node, path: &[&str]) -> &'a Node {
    for name in path {
        let next = match name.parse::<usize>() {
            Ok(at) => node.as_sequence().and_then(|items| items.get(at)),
            Err(_) => node.get(name),
        };
        match next {
            Some(next) => node = next,
            None => break,
        }
    }
    node
}

fn label(text: &str, what: &str, place: Option<Place>, notes: &mut Notes) -> Option<Label> {
    Label::new(text).map_err(|fault| name_error(text, what, place, &fault, notes)).ok()
}

fn name_error(text: &str, what: &str, place: Option<Place>, fault: &NameFault, notes: &mut Notes) {
    notes.error("wrong-name", place, format!("{what} `{text}` is not a valid name: {fault}")).hint(
        "use lower-case letters, digits and dashes, at most 63, beginning and ending with a letter or digit",
    );
}

/// Reports whether an address contains a credential: a password, or a token in the place of the user.
fn holds_credential(url: &str) -> bool {
    let Some((scheme, rest)) = url.split_once("://") else { return false };
    let host = rest.split('/').next().unwrap_or_default();
    host.rsplit_once('@').is_some_and(|(user, _)| {
        let has_password = user.contains(':') || user.to_ascii_lowercase().contains("%3a");
        has_password || scheme != "ssh" && address::is_token(user)
    })
}

/// Checks that an address is valid and unambiguous.
fn check_address(
    form: address::Form,
    text: &str,
    code: &'static str,
    place: Place,
    notes: &mut Notes,
) -> bool {
    let Err(wrong) = form.check(text) else { return true };
    notes
        .error(code, place, format!("`{}` is not a valid address: {wrong}", text.escape_debug()))
        .hint("write the full address, such as `https://host.example.org/path`");
    false
}

fn range(text: &str, place: Place, notes: &mut Notes) -> Option<VersionRange> {
    match VersionRange::parse(text) {
        // A numbered release stays readable.
        Ok(found) if found.is_empty() && !place.file.starts_with("generated/") => {
            notes
                .error("wrong-range", place, format!("no version can be in the range `{text}`"))
                .hint("the comparisons of a range must all hold; alternatives are joined by `||`");
            None
        }
        Ok(found) => Some(found),
        Err(fault) => {
            notes
                .error("wrong-range", place, format!("`{text}` is not a version range: {fault}"))
                .hint("write it like `>=1.32 <1.37`; alternatives are joined by `||`");
            None
        }
    }
}

fn addon_version(text: &str, place: Place, notes: &mut Notes) -> Option<AddonVersion> {
    AddonVersion::parse(text)
        .map_err(|fault| {
            notes
                .error("wrong-version", place, format!("`{text}` is not a semantic version: {fault}"))
                .hint("write it as <major>.<minor>.<patch>, such as 1.18.9");
        })
        .ok()
}

fn check_named<T>(written: &Written<T>, metadata: &Named, expected: &str, notes: &mut Notes) {
    if metadata.name != expected {
        notes
            .error(
                "wrong-name",
                place_at(written, &["metadata", "name"]),
                format!("the name is `{}`, but the folder is `{expected}`", metadata.name),
            )
            .hint(format!("write `name: {expected}`, or rename the folder"));
    }
}
