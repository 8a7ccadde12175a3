//! The origin of a new cluster: a numbered release, or the head of a stack.

use std::{cmp::Reverse, collections::BTreeSet};

use super::{inherit::Inherited, stack::stack_id};
use crate::{
    definition::{self, Definitions, Maturity, closest},
    model::{Date, KubernetesVersion, Minor, StackId},
    note::Notes,
    release::{self, Lifecycle},
    world::{Input, numbered_releases},
    yaml::{self, Mapping, Node, Source},
};

/// The word for a stack's current, unreleased state.
const HEAD: &str = "head";

/// The class of workers in the stacks of this program.
const USUAL_CLASS: &str = "default-worker";

#[derive(Debug, Default, clap::Args)]
pub(super) struct OriginArgs {
    /// A numbered release, or `head` to follow the stack in this repository
    #[arg(long, value_name = "RELEASE")]
    pub(super) release: Option<String>,
    /// The stack, as <provider>/<stack>
    #[arg(long, value_name = "PROVIDER/STACK")]
    pub(super) stack: Option<String>,
    /// The Kubernetes minor, such as 1.35
    #[arg(long, value_name = "MINOR")]
    pub(super) kubernetes: Option<String>,
}

impl OriginArgs {
    pub(super) fn is_empty(&self) -> bool {
        self.release.is_none() && self.stack.is_none() && self.kubernetes.is_none()
    }

    /// The given options.
    pub(super) fn options(&self) -> Vec<(&'static str, String)> {
        [("--release", &self.release), ("--stack", &self.stack), ("--kubernetes", &self.kubernetes)]
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.clone()?)))
            .collect()
    }
}

/// The origin of a cluster.
pub(super) enum Origin {
    Numbered(String),
    /// The current state of a stack, for one minor.
    Head(StackId, Minor),
}

impl Origin {
    /// The fields of a definition that set the origin, without those that the folder already sets.
    pub(super) fn spec(&self, inherited: &Inherited) -> Mapping {
        let mut spec = Mapping::new();
        let mut put = |key: &str, value: String| {
            spec.set_some(key, inherited.unless_inherited(&["spec", key], Some(&value), || None));
        };
        match self {
            Self::Numbered(name) => put("release", name.clone()),
            Self::Head(stack, minor) => {
                put("stack", stack.to_string());
                put("kubernetes", minor.to_string());
                put("release", HEAD.to_owned());
            }
        }
        spec
    }

    /// Adds the fields of the folder's defaults that have no effect on a cluster with this origin.
    pub(super) fn override_inherited(&self, spec: &mut Mapping) {
        if let Self::Numbered(name) = self {
            let own = [("stack", release::stack_and_minor(name).map(|(stack, _)| stack.to_string()))];
            let minor = release::stack_and_minor(name).map(|(_, minor)| minor.to_string());
            for (key, value) in own.into_iter().chain([("kubernetes", minor)]) {
                spec.set_some(key, value);
            }
        }
    }

    /// Describes the origin in words.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Numbered(name) if !release::is_stable(name) => {
                format!("made from the release {name}, which is not a stable one")
            }
            Self::Numbered(name) => format!("made from the release {name}"),
            Self::Head(stack, minor) => {
                format!("made from the head of {stack} for Kubernetes {minor} (`release: head`)")
            }
        }
    }

    /// The file name of the schema for definitions with this origin.
    pub(super) fn schema_file(&self) -> String {
        match self {
            Self::Numbered(name) => format!("{name}.schema.json"),
            Self::Head(stack, minor) => release::head_schema_file(stack, *minor),
        }
    }

    /// The classes of workers, as far as the files show.
    pub(super) fn worker_classes(&self, input: &Input) -> Vec<String> {
        let folders = match self {
            Self::Numbered(name) => vec![format!("generated/releases/{name}/cluster-class")],
            Self::Head(stack, minor) => {
                let base = format!("stacks/{stack}");
                vec![format!("{base}/{}/cluster-class", minor.dashed()), format!("{base}/cluster-class")]
            }
        };
        worker_classes(folders.iter().flat_map(|folder| input.sources.below(folder)))
    }

    /// The class of workers for a pool that names none.
    pub(super) fn usual_class(&self, input: &Input) -> String {
        let known = self.worker_classes(input);
        let usual = known.iter().find(|class| *class == USUAL_CLASS).or(known.first());
        usual.cloned().unwrap_or_else(|| USUAL_CLASS.to_owned())
    }
}

/// The worker classes of the cluster classes in some files.
pub(in crate::cli) fn worker_classes<'a>(sources: impl Iterator<Item = &'a Source>) -> Vec<String> {
    let documents =
        sources.filter_map(|source| yaml::read_raw(source, &mut Notes::new()).map(|found| (source, found)));
    let nodes = documents.flat_map(|(source, found)| {
        found.into_iter().filter_map(|document| Node::from_raw(&document.root, source, &mut Notes::new()))
    });
    let mut classes = Vec::new();
    for class in nodes.filter(|node| node.get("kind").and_then(Node::as_str) == Some("ClusterClass")) {
        let workers = class.at(&["spec", "workers", "machineDeployments"]).and_then(Node::as_sequence);
        let names = workers.into_iter().flatten().filter_map(|one| one.get("class")?.as_str());
        classes.extend(names.map(str::to_owned));
    }
    classes
}

/// The possible origins of a fleet's clusters, and the requested one.
pub(super) struct Origins<'a> {
    pub(super) args: &'a OriginArgs,
    pub(super) definitions: &'a Definitions,
    pub(super) input: &'a Input,
}

impl Origins<'_> {
    /// Chooses the origin: the requested one, otherwise that of the folder, otherwise the newest numbered release.
    pub(super) fn choose(&self, inherited: &Inherited, notes: &mut Notes) -> Option<Origin> {
        let preset = inherited.text(&["spec", "release"]);
        let names = numbered_releases(&self.input.sources);
        match (self.args.release.as_deref(), preset) {
            (Some(HEAD), _) | (None, Some(HEAD)) => self.head(inherited, &names, notes),
            (Some(asked), _) => self.numbered(asked, &names, notes),
            (None, Some(preset)) if self.args.is_empty() => Some(Origin::Numbered(preset.to_owned())),
            // Without any release, only the head is available.
            (None, _) if names.is_empty() => self.head(inherited, &names, notes),
            (None, _) => self.newest(inherited, &names, notes),
        }
    }

    fn head(&self, inherited: &Inherited, names: &[String], notes: &mut Notes) -> Option<Origin> {
        let stack = self.stack(inherited, notes)?;
        let minor = self.minor(&stack, inherited, names, false, notes)?;
        Some(Origin::Head(stack, minor))
    }

    fn numbered(&self, asked: &str, names: &[String], notes: &mut Notes) -> Option<Origin> {
        if self.input.deleted.contains(asked) {
            release::note_deleted(asked, notes);
            return None;
        }
        if !names.iter().any(|name| name == asked) {
            let note = notes.error("unknown-release", None, format!("there is no release `{asked}`"));
            match closest(asked, names.iter().map(String::as_str)) {
                Some(similar) => note.hint(format!("did you mean `{similar}`?")),
                None if names.is_empty() => {
                    note.hint("the fleet has none yet: `stackloom release` creates the first ones")
                }
                None => note.hint(format!("available: {}", names.join(", "))),
            };
            return None;
        }
        let own = release::stack_and_minor(asked);
        let stack = self.args.stack.as_deref().map(|text| (text, own.as_ref().map(|one| one.0.to_string())));
        let minor =
            self.args.kubernetes.as_deref().map(|text| (text, own.as_ref().map(|one| one.1.to_string())));
        for (option, (asked_for, own)) in [("--stack", stack), ("--kubernetes", minor)]
            .into_iter()
            .filter_map(|(option, one)| Some((option, one?)))
        {
            if own.as_deref() != Some(asked_for) {
                let message = format!("`{option} {asked_for}` does not match the release `{asked}`");
                notes
                    .error("wrong-value", None, message)
                    .hint(format!("omit `{option}`, or name another release"));
                return None;
            }
        }
        Some(Origin::Numbered(asked.to_owned()))
    }

    fn newest(&self, inherited: &Inherited, names: &[String], notes: &mut Notes) -> Option<Origin> {
        let stack = self.stack(inherited, notes)?;
        let minor = self.minor(&stack, inherited, names, true, notes)?;
        if let Some(name) = release::newest(names, &stack, minor) {
            return Some(Origin::Numbered(name.to_owned()));
        }
        let of_stack = |name: &&String| release::stack_and_minor(name).is_some_and(|(own, _)| own == stack);
        let others: Vec<_> = names.iter().filter(of_stack).map(String::as_str).collect();
        let message = format!("there is no numbered release of `{stack}` for Kubernetes {minor}");
        let note = notes.error("unknown-release", None, message);
        if !others.is_empty() {
            note.hint(format!("available: {}; choose one with `--release`", others.join(", ")));
        }
        note.hint("`stackloom release` creates one");
        note.hint("for development, `--release head` follows the stack in this repository");
        None
    }

    /// The stacks in this repository, and those with releases here.
    fn stacks(&self) -> BTreeSet<String> {
        let names = numbered_releases(&self.input.sources);
        let released = names.iter().filter_map(|name| release::stack_and_minor(name));
        self.definitions.stacks.keys().cloned().chain(released.map(|(stack, _)| stack.to_string())).collect()
    }

    fn stack(&self, inherited: &Inherited, notes: &mut Notes) -> Option<StackId> {
        let known = self.stacks();
        let list = || known.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let named = inherited.text(&["spec", "release"]).and_then(release::stack_and_minor);
        let preset = inherited.text(&["spec", "stack"]).map(str::to_owned);
        let preset = preset.or_else(|| named.map(|(stack, _)| stack.to_string()));
        let (stack, asked) = match (self.args.stack.clone(), preset, known.len()) {
            (Some(asked), ..) => (asked, true),
            (None, Some(preset), _) => (preset, false),
            (None, None, 1) => (known.first()?.clone(), false),
            (None, None, 0) => {
                notes
                    .error("missing-value", None, "the fleet has no stack")
                    .hint("`stackloom new stack docker/scs` adds one");
                return None;
            }
            (None, None, _) => {
                notes
                    .error("missing-value", None, "no stack given")
                    .hint(format!("choose one with `--stack`: {}", list()));
                return None;
            }
        };
        if asked && !known.contains(&stack) && StackId::parse(&stack).is_some() {
            let note = notes.error("unknown-stack", None, format!("there is no stack `{stack}`"));
            match closest(&stack, known.iter().map(String::as_str)) {
                Some(similar) => note.hint(format!("did you mean `{similar}`?")),
                None if known.is_empty() => {
                    note.hint("the fleet has no stack without errors: `stackloom check` shows them")
                }
                None => note.hint(format!("the fleet has {}", list())),
            };
            note.hint(format!("`stackloom new stack {stack}` adds it"));
            return None;
        }
        stack_id(&stack, notes)
    }

    fn minor(
        &self,
        stack: &StackId,
        inherited: &Inherited,
        names: &[String],
        released: bool,
        notes: &mut Notes,
    ) -> Option<Minor> {
        let named = inherited.text(&["spec", "release"]).and_then(release::stack_and_minor);
        let named = named.filter(|(own, _)| own == stack).map(|(_, minor)| minor.to_string());
        let preset = inherited.text(&["spec", "kubernetes"]).map(str::to_owned).or(named);
        let preset = preset.filter(|_| {
            self.args.stack.is_none() || inherited.text(&["spec", "stack"]) == self.args.stack.as_deref()
        });
        if let Some(text) = self.args.kubernetes.clone().or(preset) {
            let minor = Minor::parse(&text);
            match minor {
                None => {
                    notes
                        .error("wrong-version", None, format!("`{text}` is not a Kubernetes minor"))
                        .hint("write it as 1.35; the stack defines the patch version");
                }
                Some(minor) => self.supported(stack, minor, names, released, notes)?,
            }
            return minor;
        }
        let is_released = |minor: &Minor| release::newest(names, stack, *minor).is_some();
        let served = self.served(stack);
        let found =
            served.iter().copied().find(|minor| !released || is_released(minor)).or(served.first().copied());
        let of_stack =
            || names.iter().filter_map(|name| release::stack_and_minor(name)).filter(|(own, _)| own == stack);
        let found = found.or_else(|| of_stack().map(|(_, minor)| minor).max());
        if found.is_none() {
            notes
                .error("missing-value", None, format!("no Kubernetes minor given for `{stack}`"))
                .hint("choose one with `--kubernetes`");
        }
        found
    }

    /// Refuses a minor that the stack neither supports nor has a release for. For a stack outside this repository, only the
    /// releases are known.
    fn supported(
        &self,
        stack: &StackId,
        minor: Minor,
        names: &[String],
        released: bool,
        notes: &mut Notes,
    ) -> Option<()> {
        let served = self.served(stack);
        if served.is_empty()
            || served.contains(&minor)
            || released && release::newest(names, stack, minor).is_some()
        {
            return Some(());
        }
        let option = if self.args.kubernetes.is_some() { "`--kubernetes`: " } else { "" };
        let message = format!("{option}the stack `{stack}` does not support Kubernetes {minor}");
        let minors: Vec<_> = served.iter().map(Minor::to_string).collect();
        notes.error("unknown-minor", None, message).hint(format!("it supports {}", minors.join(", ")));
        None
    }

    /// The minors of a stack: supported ones first, expired ones last, and newest first within each group.
    fn served(&self, stack: &StackId) -> Vec<Minor> {
        let folder = self.definitions.stacks.get(&stack.to_string());
        let releases = folder.map(|folder| folder.stack.value.spec.kubernetes.as_slice()).unwrap_or_default();
        let rank = |maturity| match maturity {
            Maturity::Supported => 0,
            Maturity::Preview | Maturity::Deprecated => 1,
            Maturity::Expired => 2,
        };
        let place = |one: &definition::KubernetesRelease| {
            let version = KubernetesVersion::parse(&one.version).ok()?;
            Some((rank(one.maturity), Reverse(version.minor())))
        };
        let mut minors: Vec<_> = releases.iter().filter_map(place).collect();
        minors.sort();
        minors.into_iter().map(|(_, Reverse(minor))| minor).collect()
    }

    /// Refuses a Kubernetes minor that is expired in the stack. Returns warnings about one that should not be used for long.
    pub(super) fn lifecycle(&self, origin: &Origin, today: Date, notes: &mut Notes) -> Notes {
        let mut warnings = Notes::new();
        let of = match origin {
            Origin::Numbered(name) => release::stack_and_minor(name),
            Origin::Head(stack, minor) => Some((stack.clone(), *minor)),
        };
        let Some((stack, minor)) = of else { return warnings };
        let lifecycle = Lifecycle::of(self.definitions, &stack, minor);
        let is_better = |one: &Minor| {
            let other = Lifecycle::of(self.definitions, &stack, *one);
            other.maturity == Some(Maturity::Supported) && *one > minor && !other.needs_attention(today)
        };
        let better = self.served(&stack).into_iter().find(is_better);
        match lifecycle.maturity {
            Some(Maturity::Expired) => {
                let message = format!(
                    "cannot create a cluster with Kubernetes {minor}: its maturity in `{stack}` is `expired`"
                );
                let note = notes.error("expired", None, message);
                note.hint(way_of(better));
            }
            Some(Maturity::Preview) => {
                let message =
                    format!("Kubernetes {minor} of `{stack}` is a preview: for tests, not for production");
                warnings.warning("preview", None, message);
            }
            _ => {}
        }
        if let (0, Some(note)) = (notes.errors(), lifecycle.warn(today, &mut warnings)) {
            note.hint(way_of(better));
        }
        warnings
    }
}

fn way_of(better: Option<Minor>) -> String {
    match better {
        Some(better) => format!("the stack also supports Kubernetes {better}: use `--kubernetes {better}`"),
        None => "add a later minor to stack.yaml".to_owned(),
    }
}
