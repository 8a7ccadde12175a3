//! Lowering: definitions as written to the model as meant. Defaults are applied here and nowhere else; names, versions
//! and either-or rules are checked here.

mod addon;
mod accept;
mod allowance;
mod assumptions;
mod cluster;
mod dependencies;
mod engine;
mod fleet;
mod images;
mod lock;
mod pools;
mod raw;
mod settings;
mod removal;
mod requirements;
mod rollout;
mod migrations;
mod rules;
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
    yaml::{Origin, Source, Sources},
};

/// A template of a stack, with its path inside the stack.
#[derive(Clone, Debug)]
pub struct StackTemplate {
    /// Its path inside the stack.
    pub path: String,
    /// What it is.
    pub template: Arc<Template>,
}

/// A fleet as meant.
#[derive(Clone, Debug)]
pub struct Model {
    /// What holds for the whole repository.
    pub fleet: Fleet,
    /// The stacks that clusters use by `release: head`, per minor.
    pub stacks: BTreeMap<(StackId, Minor), Stack<StackTemplate>>,
    /// All clusters, by management cluster, namespace and name.
    pub clusters: Vec<Cluster>,
    /// The rollouts, by name.
    pub rollouts: Vec<Rollout>,
    /// What comes from elsewhere, and which bytes it was.
    pub lock: Lock,
}

impl Model {
    /// Lints that classes of stacks may trip.
    pub fn allowed(&self) -> BTreeMap<StackId, Vec<Allowance>> {
        self.stacks.iter().map(|((id, _), stack)| (id.clone(), stack.allow.clone())).collect()
    }
}

/// Lowers all definitions, also those beside faulty files; `program` is the version of this program.
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

/// Reads the addons, rules and images that a `release.yaml` froze, with the same checks as a stack's.
pub use fleet::CLUSTER_API;
pub use stack::{FrozenParts, lower_frozen};

/// Reads and lowers `stackloom.lock` alone; none where it is at fault.
pub fn read_lock(source: &Source, notes: &mut Notes) -> Option<Lock> {
    let mut own = Notes::new();
    let written = super::parse::read(source, super::Kind::Lock, &mut own);
    let lock = lock::lower(written.as_ref(), &mut own);
    let sound = own.errors() == 0;
    notes.append(own);
    sound.then_some(lock)
}

/// The address at which the engine reads the fleet, for others to see where it is; none where there is none, or where it
/// carries a credential.
pub fn published_source(definitions: &Definitions) -> Option<String> {
    let spec = &definitions.fleet.as_ref()?.value.spec;
    let own = spec.management_clusters.iter().filter_map(|one| one.source.as_ref());
    let url = spec.source.iter().chain(own).find_map(|source| source.url.clone())?;
    (!holds_credential(&url)).then_some(url)
}

/// What lowering looks things up in.
struct Lowering<'a> {
    sources: &'a Sources,
    definitions: &'a Definitions,
}

impl Lowering<'_> {
    fn place(&self, origin: Origin) -> Option<Place> {
        self.sources.place(origin)
    }

    /// Whether a file is at fault, so that what it would say is not known.
    fn is_broken(&self, path: &str) -> bool {
        self.definitions.broken.contains(path)
    }
}

/// The place of a path of keys in a definition: that of the deepest key which is there.
fn place_at<T>(written: &Written<T>, path: &[&str]) -> Place {
    let mut node = &written.node;
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
    written.source.word(node.origin.offset as usize)
}

fn label(text: &str, what: &str, place: Option<Place>, notes: &mut Notes) -> Option<Label> {
    Label::new(text).map_err(|fault| name_error(text, what, place, &fault, notes)).ok()
}

fn name_error(text: &str, what: &str, place: Option<Place>, fault: &NameFault, notes: &mut Notes) {
    notes
        .error("wrong-name", place, format!("{what} `{text}` is not a name that Kubernetes accepts: {fault}"))
        .hint("use lower-case letters, digits and dashes, at most 63, beginning and ending with a letter or digit");
}

/// Whether an address carries a credential: what stands before the `@`, save the plain user of an ssh address.
fn holds_credential(url: &str) -> bool {
    let Some((scheme, rest)) = url.split_once("://") else { return false };
    let host = rest.split('/').next().unwrap_or_default();
    host.rsplit_once('@').is_some_and(|(user, _)| scheme != "ssh" || user.contains(':'))
}

/// Whether an address leads to one place for all who read it.
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
    let found = VersionRange::parse(text);
    found
        .map_err(|fault| {
            notes
                .error("wrong-range", place, format!("`{text}` is not a version range: {fault}"))
                .hint("write it like `>=1.32 <1.37`; alternatives are joined by `||`");
        })
        .ok()
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
                format!("this is called `{}`, and its folder `{expected}`", metadata.name),
            )
            .hint(format!("write `name: {expected}`, or rename the folder"));
    }
}
