//! Cutting releases: finds the stacks and minors whose content differs from their last release of a channel, and makes their
//! next release with its version, component versions, differences and impact.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    Component, Components, Difference, History, Impact, Lifecycle, Rebases, Release, Releases,
    difference::locked_differences,
    differences, freeze, impact, notes_text,
    number::{self, Bump},
    read::{self, read},
    write::{write, write_numbered},
};
use crate::{
    definition::{Channel, Definitions, closest},
    model::{KubernetesVersion, Maturity, Minor, StackId, Versioning},
    note::{Notes, Place},
    resolve::{ResolvedStack, StackKey},
    topology::predict::class_change::ClassForecast,
    yaml,
};

/// A request to cut releases.
#[derive(Clone, Debug)]
pub struct CutRequest {
    /// The stack; all stacks if not specified.
    pub stack: Option<StackId>,
    /// The minor; all minors if not specified.
    pub minor: Option<Minor>,
    /// The channel of the releases to cut.
    pub channel: Channel,
    /// The version; only for the channel `custom`.
    pub version: Option<String>,
    /// Names that tags already use, in addition to the releases of the tree.
    pub taken: BTreeSet<String>,
    /// The `metadata.yaml` of tagged releases, by name, even of those no longer in the tree.
    pub tagged: BTreeMap<String, String>,
    /// The commit of the sources.
    pub commit: Option<String>,
}

/// The result for a stack and minor.
#[derive(Clone, Debug)]
pub struct CutOutcome {
    /// The stack that was looked at.
    pub stack: StackId,
    pub kubernetes: KubernetesVersion,
    /// The release that the next one follows: the last one of the channel. For a custom version, its name determines which
    /// one.
    pub last: Option<String>,
    pub standing: Option<Arc<Release>>,
    /// The next release; none if nothing changed.
    pub cut: Option<Cut>,
    /// How long the Kubernetes minor remains usable.
    pub lifecycle: Lifecycle,
}

/// A release to add to the tree.
#[derive(Clone, Debug)]
pub struct Cut {
    /// The release itself.
    pub release: Release,
    /// The differences from the last release; none for the first one.
    pub differences: Vec<Difference>,
    /// The consequences for the clusters that use the last release.
    pub rebases: Rebases,
    /// The release notes, as Markdown.
    pub notes: String,
    /// The files, by path within the release's folder.
    pub files: BTreeMap<String, String>,
}

/// Predicts what happens to clusters that move from the first release to the second.
pub type RebaseForecaster<'a> = &'a dyn Fn(&Release, &Release) -> RebaseForecast;

/// What happens to clusters that move from a release to another.
#[derive(Clone, Debug, Default)]
pub struct RebaseForecast {
    /// Because of the class, whichever clusters they are: once for each way in which management clusters are set up.
    pub classes: Vec<ClassForecast>,
    /// To the clusters of the fleet.
    pub rebases: Rebases,
}

/// The inputs for cutting releases.
#[derive(Clone, Copy)]
struct Sources<'a> {
    releases: &'a Releases,
    request: &'a CutRequest,
    definitions: &'a Definitions,
    predict: RebaseForecaster<'a>,
}

/// Every stack for every minor.
pub type Stacks<'a> = [(&'a StackKey, ResolvedStack<'a>)];

/// Cuts every requested stack and minor whose content changed.
pub fn cut(
    stacks: &Stacks<'_>,
    releases: &Releases,
    request: &CutRequest,
    definitions: &Definitions,
    predict: RebaseForecaster<'_>,
    notes: &mut Notes,
) -> Vec<CutOutcome> {
    let sources = Sources { releases, request, definitions, predict };
    let asked = |stack: &StackId, minor: Minor| {
        request.stack.as_ref().is_none_or(|one| one == stack) && request.minor.is_none_or(|one| one == minor)
    };
    let found: Vec<_> = stacks.iter().filter(|((stack, minor), _)| asked(stack, *minor)).collect();
    if found.is_empty() {
        note_nothing(stacks, request, notes);
    }
    let mut all = Vec::new();
    for (key, resolved) in found.into_iter().copied() {
        let Some(head) = releases.heads.get(key) else { continue };
        if resolved.stack.maturity == Maturity::Expired {
            note_expired(resolved, request, notes);
            continue;
        }
        let last = releases.last(&key.0, key.1, request.channel, request.version.as_deref());
        if let Some((name, why)) = last.as_ref().and_then(|name| releases.refused.get_key_value(name)) {
            notes.append(why.clone());
            note_broken(name, notes);
            continue;
        }
        let last = last.and_then(|name| releases.named.get(&name));
        let cut = match &last {
            Some(last) if last.content == head.content && locked_differences(last, head).is_empty() => None,
            _ => match next(resolved, head, last.map(AsRef::as_ref), sources, notes) {
                Some(cut) => Some(cut),
                None => continue,
            },
        };
        let (stack, kubernetes) = (head.stack.clone(), head.kubernetes.clone());
        let last = last.map(|last| last.name.clone());
        let standing = last.as_ref().and_then(|name| releases.named.get(name)).cloned();
        let lifecycle = Lifecycle::of(sources.definitions, &stack, kubernetes.minor());
        all.push(CutOutcome { stack, kubernetes, last, standing, cut, lifecycle });
    }
    all
}

/// Reports that no release is cut for a minor whose maturity is `expired`.
fn note_expired(resolved: ResolvedStack<'_>, request: &CutRequest, notes: &mut Notes) {
    let stack = resolved.stack;
    let (origin, minor) = (stack.kubernetes_origin, stack.kubernetes.minor());
    let message = format!("cannot release Kubernetes {minor} of `{}`: its maturity is `expired`", stack.id);
    let note = match request.minor {
        Some(_) => notes.error("expired", origin, message),
        None => notes.warning("expired", origin, message),
    };
    note.hint("remove the minor from stack.yaml once no cluster follows it; its releases stay")
        .hint("to release it anyway, set its maturity to `deprecated`");
}

/// Makes the next release of a stack and minor.
fn next(
    resolved: ResolvedStack<'_>,
    head: &Release,
    last: Option<&Release>,
    sources: Sources<'_>,
    notes: &mut Notes,
) -> Option<Cut> {
    let Sources { releases, request, predict, .. } = sources;
    let versioning = resolved.stack.versioning;
    let differences = last.map(|last| differences(last, head)).unwrap_or_default();
    // The prediction uses the head release, which has the same content. The name of the next release depends on the result.
    let RebaseForecast { classes, rebases } = last.map(|last| predict(last, head)).unwrap_or_default();
    let impact = last.map(|_| {
        let mut impact = impact(head, &differences, &classes);
        impact.join(&rebases);
        impact
    });
    let bump = impact.as_ref().map_or(Bump::Major, Impact::bump);
    let is_taken = |version: &str| {
        let name = freeze::name(&head.stack, head.kubernetes.minor(), version);
        releases.has(&name) || request.taken.contains(&name)
    };
    let version = version(request, versioning, last, bump, &is_taken, head, notes)?;
    let bumped = bumped(last, head);
    let used = used_components(releases, request, head);
    let components = components(&version, &bumped, last, &used, request.channel, versioning, bump);
    let history = History {
        previous: last.map(|last| last.name.clone()),
        commit: request.commit.clone(),
        bumped,
        impact: impact.map(|impact| impact.effects),
    };
    let release = freeze::cut(resolved, head, request.channel, version, components, history, notes)?;
    let rebases = rebases.renamed(&head.name, &release.name);
    let text = notes_text::text(&release, last, &differences, &rebases);
    let files = write_numbered(&release, &text);
    check_readable(&release, &files, notes)?;
    Some(Cut { release, differences, rebases, notes: text, files })
}

/// Checks that the files read back as the same release, so that no release is made that this program would reject.
fn check_readable(release: &Release, files: &BTreeMap<String, String>, notes: &mut Notes) -> Option<()> {
    let mut sources = yaml::Sources::default();
    let mut source = |path: &String, text: &String| {
        let id = sources.add(path, text.as_str());
        sources.get(id).map(|source| (path.clone(), source.clone()))
    };
    let files = files.iter().filter_map(|(path, text)| source(path, text)).collect();
    let mut found = Notes::new();
    let found_again = read(&release.name, &files, &mut found);
    if found_again.as_ref() == Some(&as_recorded(release)) {
        return Some(());
    }
    let (file, why) = match (found.iter().next(), found_again) {
        (Some(note), _) => (note.place.as_ref().map(|place| place.file.clone()), note.message.clone()),
        (None, read) => {
            (read.and_then(|read| first_other(release, &read)), "the result is different".to_owned())
        }
    };
    let folder = format!("generated/releases/{}/", release.name);
    let file = file.map(|file| file.strip_prefix(&folder).map(str::to_owned).unwrap_or(file));
    let stack = format!("stacks/{}", release.stack);
    // The release has not been written, so the place is its source. Templates have the same path there.
    let place = match file.as_deref().and_then(|file| file.split_once('/').map(|(folder, _)| (folder, file)))
    {
        Some(("cluster-class", _)) => format!("{stack}/cluster-class"),
        Some((_, file)) => format!("{stack}/{file}"),
        None => stack,
    };
    let file = file.map(|file| format!(" (its `{file}`)")).unwrap_or_default();
    notes
        .error(
            "release-unreadable",
            Place::file(place),
            format!("the release `{}`{file} could not be read back: {why}", release.name),
        )
        .hint(
            "templates of a class can use the complete `release.name`, but nothing else that only this release has",
        )
        .hint("objects of the same name need kinds that differ in more than capitals: each object is a file of the release");
    None
}

/// The release as its files record it: they name the locked charts, but not the descriptions of their values.
fn as_recorded(release: &Release) -> Release {
    let mut release = release.clone();
    for addon in &mut release.addons {
        let addon = Arc::make_mut(addon);
        addon.locked.values_mut().for_each(|locked| locked.values = None);
    }
    release
}

/// Finds the first file that differs between the written forms of two releases.
fn first_other(one: &Release, other: &Release) -> Option<String> {
    let (one, other) = (write(one), write(other));
    let paths: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    paths.into_iter().find(|path| one.get(*path) != other.get(*path)).cloned()
}

/// The next version whose name is not taken.
fn version(
    request: &CutRequest,
    versioning: Versioning,
    last: Option<&Release>,
    bump: Bump,
    is_taken: &dyn Fn(&str) -> bool,
    head: &Release,
    notes: &mut Notes,
) -> Option<String> {
    if let Some(version) = &request.version {
        if is_taken(version) {
            let name = freeze::name(&head.stack, head.kubernetes.minor(), version);
            notes
                .error("release-exists", None, format!("there is already a release or a tag `{name}`"))
                .hint("a release never changes, and no name is used twice: choose another `--version`");
            return None;
        }
        return Some(version.clone());
    }
    let mut version = number::next(request.channel, versioning, last.map(|last| last.version.as_str()), bump);
    while is_taken(&version) {
        version = number::next(request.channel, versioning, Some(&version), bump);
    }
    Some(version)
}

/// The components whose content changed; all of them in a first release.
fn bumped(last: Option<&Release>, head: &Release) -> BTreeSet<Component> {
    let changed = |component: &Component| match last {
        None => true,
        // The class always has the version of the release.
        Some(last) => {
            *component == Component::ClusterClass
                || last.content.of(*component) != head.content.of(*component)
                || *component == Component::ClusterAddon && !locked_differences(last, head).is_empty()
        }
    };
    Component::ALL.into_iter().filter(changed).collect()
}

/// The component versions of all known releases of a stack and minor. Tags supply those of pruned and reverted releases.
fn used_components(
    releases: &Releases,
    request: &CutRequest,
    head: &Release,
) -> BTreeSet<(Component, String)> {
    let prefix = freeze::name(&head.stack, head.kubernetes.minor(), "");
    let is_own = |name: &str| name.starts_with(&prefix);
    let named = releases.named.iter().filter(|(name, _)| is_own(name));
    let here = named.map(|(_, release)| release.components.clone());
    let tagged = request.tagged.iter().filter(|(name, _)| is_own(name));
    let tagged = tagged.filter_map(|(_, text)| {
        let mut sources = yaml::Sources::default();
        let id = sources.add("metadata.yaml", text.as_str());
        read::components(sources.get(id)?, &mut Notes::new())
    });
    let both = |one: Components| {
        [(Component::ClusterAddon, one.cluster_addon), (Component::NodeImage, one.node_image)]
    };
    here.chain(tagged).flat_map(both).collect()
}

/// The versions of the components. A changed component gets the next free version after its own; the others keep theirs.
fn components(
    version: &str,
    bumped: &BTreeSet<Component>,
    last: Option<&Release>,
    used: &BTreeSet<(Component, String)>,
    channel: Channel,
    versioning: Versioning,
    bump: Bump,
) -> Components {
    let of = |component: Component, before: Option<&String>| match before {
        Some(before) if !bumped.contains(&component) => before.clone(),
        _ if channel == Channel::Custom => version.to_owned(),
        before => {
            let mut next = number::next(channel, versioning, before.map(String::as_str), bump);
            while used.contains(&(component, next.clone())) {
                next = number::next(channel, versioning, Some(&next), bump);
            }
            next
        }
    };
    Components {
        cluster_addon: of(Component::ClusterAddon, last.map(|last| &last.components.cluster_addon)),
        node_image: of(Component::NodeImage, last.map(|last| &last.components.node_image)),
    }
}

fn note_nothing(resolved: &Stacks<'_>, request: &CutRequest, notes: &mut Notes) {
    let stacks: BTreeSet<String> = resolved.iter().map(|((stack, _), _)| stack.to_string()).collect();
    let minors = |stack: &StackId| -> Vec<String> {
        let keys = resolved.iter().map(|(key, _)| key);
        keys.filter(|(one, _)| one == stack).map(|(_, minor)| minor.to_string()).collect()
    };
    match (&request.stack, request.minor) {
        (Some(stack), _) if !stacks.contains(&stack.to_string()) => {
            let note = notes.error("unknown-stack", None, format!("there is no stack `{stack}`"));
            match closest(&stack.to_string(), stacks.iter().map(String::as_str)) {
                Some(similar) => note.hint(format!("did you mean `{similar}`?")),
                None => note.hint("stacks are the folders `stacks/<provider>/<stack>/`"),
            };
        }
        (Some(stack), Some(minor)) => {
            notes
                .error(
                    "unknown-minor",
                    None,
                    format!("the stack `{stack}` does not support Kubernetes {minor}"),
                )
                .hint(format!("it supports {}", minors(stack).join(", ")));
        }
        (None, Some(minor)) => {
            notes
                .error("unknown-minor", None, format!("no stack supports Kubernetes {minor}"))
                .hint("see `kubernetes` in a stack's stack.yaml for what it supports");
        }
        (_, None) => {
            notes
                .error("no-stack", None, "there is no stack to release")
                .hint("create one with `stackloom new stack <provider>/<stack>`");
        }
    }
}

fn note_broken(name: &str, notes: &mut Notes) {
    notes
        .error("release-refused", None, format!("the last release `{name}` was changed after it was cut"))
        .hint("restore it first: changes since a release can only be determined if it is intact");
}
