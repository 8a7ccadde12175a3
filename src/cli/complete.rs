//! Shell completion: commands and options by clap, values by the names in the fleet.
//!
//! The shell calls the program with an environment variable set instead of a command. The candidates for an argument follow
//! from the name of its value, so a new command needs no code here. Faults of the fleet are ignored: the user is still
//! typing.

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use clap::{Command, CommandFactory as _, ValueHint};
use clap_complete::{
    ArgValueCandidates, ArgValueCompleter, CompleteEnv, CompletionCandidate, PathCompleter,
    engine::ValueCompleter as _,
};
use rayon::prelude::*;

use super::{Args, diff::UNANNOUNCED, new::worker_classes};
use crate::{
    definition::{self, Identity},
    explain::RecordedFleet,
    io::{disk::Workspace, git::Repository},
    note::Notes,
    report::Risk,
    world::{Input, World as _, is_head_release, is_input},
    yaml::{self, Node, Source},
};

/// The folder of numbered releases.
const RELEASES: &str = "generated/releases/";

/// The environment variable that requests completion.
pub(super) const VARIABLE: &str = "STACKLOOM_COMPLETE";

/// Collects the names in a fleet that can complete a value.
type Names = fn(&Input) -> BTreeSet<String>;

/// The candidates for an argument, by the name of its value in the help. Alternatives are separated by `|`.
const VALUES: [(&str, Names); 11] = [
    ("ADDON", addons),
    ("CLASS", classes),
    ("CLUSTER", clusters),
    ("FOLDER", folders),
    ("MANAGEMENT_CLUSTER", management_clusters),
    ("MINOR", minors),
    ("NAMESPACE", namespaces),
    ("POOL", pools),
    ("PROVIDER/STACK", stacks),
    ("RELEASE", releases),
    ("STACK", stacks),
];

/// Answers a request for completion. Returns whether there was one.
pub(super) fn answer() -> clap::error::Result<bool> {
    let here = std::env::current_dir().ok();
    CompleteEnv::with_factory(command).var(VARIABLE).try_complete(std::env::args_os(), here.as_deref())
}

/// The command line, with candidates for values.
pub(super) fn command() -> Command {
    with_values(Args::command())
}

/// The commands whose option `--release` also takes `head`.
const TAKE_HEAD: [&str; 3] = ["cluster", "clusters", "folder"];

fn with_values(command: Command) -> Command {
    let takes_head = TAKE_HEAD.contains(&command.get_name());
    let value = |arg: clap::Arg| {
        let name = arg.get_value_names().and_then(|names| names.first()).map(ToString::to_string);
        let Some(name) = name else { return arg };
        match name.as_str() {
            "DIR" => return arg.value_hint(ValueHint::DirPath),
            "FILE" => return arg.value_hint(ValueHint::FilePath),
            "FILE[:LINE]" => return arg.add(ArgValueCompleter::new(sources)),
            "CLUSTER|FILE[:LINE]" => return arg.add(ArgValueCompleter::new(clusters_and_tree)),
            "PATH" => return arg.add(ArgValueCompleter::new(values)),
            "REV" | "BASE" | "HEAD" => return arg.add(ArgValueCandidates::new(revisions)),
            "CLASS" if arg.get_id() == "fail_on" => return arg.add(ArgValueCandidates::new(risks)),
            _ => {}
        }
        let is_of = |value: &&str| name.split('|').any(|part| part == *value);
        let known: Vec<Names> =
            VALUES.iter().filter(|(value, _)| is_of(value)).map(|(_, names)| *names).collect();
        if known.is_empty() {
            return arg;
        }
        let takes_head = takes_head && arg.get_id() == "release";
        arg.add(ArgValueCandidates::new(move || {
            let head = takes_head.then(|| CompletionCandidate::new("head"));
            known.iter().flat_map(|names| candidates(*names)).chain(head).collect()
        }))
    };
    command.mut_args(value).mut_subcommands(with_values)
}

/// Completes files and folders of the fleet whose paths, relative to its root, are wanted.
fn files(typed: &OsStr, is_wanted: impl Fn(&str) -> bool) -> Vec<CompletionCandidate> {
    let folder = directory(std::env::args_os());
    let found = PathCompleter::any().current_dir(folder.clone()).complete(typed);
    let Ok(world) = Workspace::find(&folder) else { return found };
    let is_meant = |candidate: &CompletionCandidate| {
        let path = candidate.get_value().to_string_lossy();
        let end = if path.ends_with('/') { "/" } else { "" };
        world.path(&path).is_some_and(|inside| is_wanted(&format!("{inside}{end}")))
    };
    found.into_iter().filter(is_meant).collect()
}

/// Completes sources. Of what is generated, only numbered releases are sources.
fn sources(typed: &OsStr) -> Vec<CompletionCandidate> {
    files(typed, |path| match path.strip_suffix('/') {
        Some(folder) => {
            let top = folder.split('/').next().unwrap_or_default();
            let is_of_releases = RELEASES.starts_with(path) || path.starts_with(RELEASES);
            matches!(top, "clusters" | "rollouts" | "stacks") || is_of_releases && !is_head_release(path)
        }
        None => is_input(path),
    })
}

/// Completes clusters, and generated files.
fn clusters_and_tree(typed: &OsStr) -> Vec<CompletionCandidate> {
    let start = typed.to_string_lossy();
    let names = candidates(clusters).into_iter();
    let names = names.filter(|one| one.get_value().to_string_lossy().starts_with(&*start));
    names.chain(files(typed, |path| path.starts_with("generated/"))).collect()
}

fn candidates(names: Names) -> Vec<CompletionCandidate> {
    let folder = directory(std::env::args_os());
    let Ok(world) = Workspace::find(&folder) else { return Vec::new() };
    let Ok(input) = world.read(&mut Notes::new()) else { return Vec::new() };
    let mut found = names(&input);
    if std::ptr::fn_addr_eq(names, folders as Names) {
        // Paths are relative to the current folder.
        let inside = |path: String| match world.here() {
            "" => Some(path),
            here => path.strip_prefix(here)?.strip_prefix('/').map(str::to_owned),
        };
        found = found.into_iter().filter_map(inside).collect();
    }
    found.into_iter().map(CompletionCandidate::new).collect()
}

/// The values of the cluster named earlier on the line; also without `spec.`, which may be left out.
fn values(typed: &OsStr) -> Vec<CompletionCandidate> {
    let folder = directory(std::env::args_os());
    let fleet = || RecordedFleet::read(&Workspace::find(&folder).ok()?, &mut Notes::new()).ok();
    let Some((fleet, _)) = fleet() else { return Vec::new() };
    let words: Vec<_> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let named = words.iter().find_map(|word| match fleet.clusters_called(word).as_slice() {
        [plan] => Some(*plan),
        _ => None,
    });
    let values = named.map(|plan| fleet.values(plan, &mut Notes::new())).unwrap_or_default();
    let typed = typed.to_string_lossy();
    let path = |path: String| {
        let short =
            path.strip_prefix("spec.").filter(|short| !typed.is_empty() && short.starts_with(&*typed));
        let short = short.map(str::to_owned);
        short.or_else(|| Some(path).filter(|path| path.starts_with(&*typed)))
    };
    values.into_iter().filter_map(|value| path(value.path)).map(CompletionCandidate::new).collect()
}

/// The folder that `-C` names on the line being completed.
fn directory(line: impl Iterator<Item = OsString>) -> PathBuf {
    let mut folder = PathBuf::from(".");
    let mut words = line.skip(1).peekable();
    while let Some(word) = words.next() {
        let text = word.to_string_lossy();
        if text == "-C" || text == "--directory" {
            folder = words.peek().map_or(folder, PathBuf::from);
        } else if let Some(path) = text.strip_prefix("--directory=").or_else(|| text.strip_prefix("-C")) {
            folder = PathBuf::from(path.trim_start_matches('='));
        }
    }
    folder
}

/// The texts at a path in each of the selected files.
fn texts<'a>(input: &Input, chosen: impl Fn(&str) -> bool, at: &'a [&'a str]) -> BTreeSet<String> {
    documents(input, chosen).iter().filter_map(|root| root.at(at)?.as_str().map(str::to_owned)).collect()
}

fn documents(input: &Input, chosen: impl Fn(&str) -> bool) -> Vec<Node> {
    let chosen: Vec<_> = input.sources.iter().filter(|source| chosen(&source.path)).collect();
    chosen.par_iter().filter_map(|source| yaml::read(source, &mut Notes::new())).collect()
}

/// What `diff` can fail on.
fn risks() -> Vec<CompletionCandidate> {
    let risks = Risk::ALL.into_iter().map(Risk::as_str).chain([UNANNOUNCED]);
    risks.map(CompletionCandidate::new).collect()
}

/// Branches, including remote ones, and tags.
fn revisions() -> Vec<CompletionCandidate> {
    let folder = directory(std::env::args_os());
    let names = || match Repository::find(&Workspace::open(&folder)?)? {
        Some(repository) => repository.revisions(),
        None => Ok(BTreeSet::new()),
    };
    names().unwrap_or_default().into_iter().map(CompletionCandidate::new).collect()
}

/// The folders of definitions, and their parent folders.
fn folders(input: &Input) -> BTreeSet<String> {
    let below = |source: &Source| {
        let ends: Vec<_> =
            source.path.match_indices('/').map(|(at, _)| source.path[..at].to_owned()).collect();
        ends
    };
    input.sources.below("clusters").flat_map(below).collect()
}

fn is_definition(path: &str) -> bool {
    path.starts_with("clusters/") && !is_defaults(path)
}

fn is_defaults(path: &str) -> bool {
    path.starts_with("clusters/") && Path::new(path).file_stem().is_some_and(|stem| stem == "_defaults")
}

/// The names of clusters, also with their namespace; a shell shows those that match the typed prefix.
fn clusters(input: &Input) -> BTreeSet<String> {
    let definitions = definition::parse(input, &mut Notes::new());
    let full = Identity::all(&definitions).into_iter().map(|identity| identity.name);
    let with_namespace = full.filter_map(|name| Some(name.split_once('/')?.1.to_owned()));
    let named = texts(input, is_definition, &["metadata", "name"]);
    with_namespace.filter(|name| !name.starts_with('/')).chain(named).collect()
}

fn pools(input: &Input) -> BTreeSet<String> {
    let definitions = documents(input, is_definition);
    let pools =
        definitions.iter().filter_map(|root| root.at(&["spec", "nodePools"])?.as_sequence()).flatten();
    pools.filter_map(|pool| pool.get("name")?.as_str().map(str::to_owned)).collect()
}

fn namespaces(input: &Input) -> BTreeSet<String> {
    texts(input, |path| path.starts_with("clusters/"), &["metadata", "namespace"])
}

fn management_clusters(input: &Input) -> BTreeSet<String> {
    let fleets = documents(input, |path| path == "stackloom.yaml");
    let listed = fleets.iter().filter_map(|fleet| fleet.at(&["spec", "managementClusters"])?.as_sequence());
    listed.flatten().filter_map(|entry| entry.get("name")?.as_str().map(str::to_owned)).collect()
}

fn stacks(input: &Input) -> BTreeSet<String> {
    let paths = input.sources.iter().filter_map(|source| source.path.strip_prefix("stacks/"));
    paths.filter_map(|path| path.strip_suffix("/stack.yaml").map(str::to_owned)).collect()
}

/// The addons of all stacks.
fn addons(input: &Input) -> BTreeSet<String> {
    let paths = input.sources.iter().filter_map(|source| source.path.strip_prefix("stacks/"));
    let names = paths.filter_map(|path| path.strip_suffix("/addon.yaml")?.rsplit_once("/addons/"));
    names.map(|(_, name)| name.to_owned()).collect()
}

/// The Kubernetes minors of all stacks.
fn minors(input: &Input) -> BTreeSet<String> {
    let stacks = documents(input, |path| path.starts_with("stacks/") && path.ends_with("/stack.yaml"));
    let listed = stacks.iter().filter_map(|stack| stack.at(&["spec", "kubernetes"])?.as_sequence()).flatten();
    let versions = listed.filter_map(|entry| entry.get("version")?.as_str());
    versions.filter_map(|version| Some(version.rsplit_once('.')?.0.to_owned())).collect()
}

/// The worker classes of all stacks and releases.
fn classes(input: &Input) -> BTreeSet<String> {
    let is_class = |source: &&Source| source.path.contains("/cluster-class/");
    worker_classes(input.sources.iter().filter(is_class)).into_iter().collect()
}

/// Numbered releases; a head release is named `head`.
fn releases(input: &Input) -> BTreeSet<String> {
    let paths = input.sources.iter().filter_map(|source| source.path.strip_prefix("generated/releases/"));
    let names = paths.filter_map(|path| Some(path.split_once('/')?.0.to_owned()));
    names.filter(|name| !is_head_release(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::Files;

    fn fleet() -> Input {
        let files = [
            ("stackloom.yaml", "spec: {managementClusters: [{name: mgmt}, {name: other}]}"),
            ("stacks/docker/scs/stack.yaml", "spec: {kubernetes: [{version: 1.35.10}, {version: 1.34.2}]}"),
            (
                "clusters/dev/_defaults.yaml",
                "{apiVersion: stackloom.dev/v1alpha1, kind: ClusterDefaults, metadata: {namespace: team-a}}",
            ),
            ("stacks/docker/scs/addons/cilium/addon.yaml", "kind: Addon"),
            ("clusters/dev/one.yaml", "{metadata: {name: one}, spec: {nodePools: [{name: md-0}]}}"),
            (
                "clusters/dev/deep/two.yml",
                "{apiVersion: stackloom.dev/v1alpha1, kind: ClusterDefinition, metadata: {name: two, namespace: team-b}, spec: {}}",
            ),
            ("clusters/dev/broken.yaml", "metadata: ["),
            ("generated/releases/docker-scs-1-35-v1/release.yaml", "kind: Release"),
            (
                "stacks/docker/scs/cluster-class/class.yaml",
                "{kind: ClusterClass, spec: {workers: {machineDeployments: [{class: gpu}]}}}",
            ),
        ];
        let files = files.into_iter().map(|(path, text)| (path.to_owned(), text.to_owned())).collect();
        Files(files).read(&mut Notes::new()).unwrap()
    }

    #[test]
    fn names_come_from_what_can_be_read() {
        let expected: [(&str, &[&str]); 11] = [
            ("ADDON", &["cilium"]),
            ("CLASS", &["gpu"]),
            ("CLUSTER", &["one", "team-b/two", "two"]),
            ("FOLDER", &["clusters", "clusters/dev", "clusters/dev/deep"]),
            ("MANAGEMENT_CLUSTER", &["mgmt", "other"]),
            ("MINOR", &["1.34", "1.35"]),
            ("NAMESPACE", &["team-a", "team-b"]),
            ("POOL", &["md-0"]),
            ("PROVIDER/STACK", &["docker/scs"]),
            ("RELEASE", &["docker-scs-1-35-v1"]),
            ("STACK", &["docker/scs"]),
        ];
        for ((value, names), (expected_value, expected)) in VALUES.iter().zip(expected) {
            let found = names(&fleet());
            assert_eq!(
                (*value, found.iter().map(String::as_str).collect::<Vec<_>>()),
                (expected_value, expected.to_vec())
            );
        }
    }

    #[test]
    fn the_folder_is_that_of_the_line() {
        for (line, folder) in [
            ("stackloom check", "."),
            ("stackloom -C fleet check", "fleet"),
            ("stackloom -Cfleet check", "fleet"),
            ("stackloom check --directory fleet", "fleet"),
            ("stackloom --directory=fleet check", "fleet"),
            ("stackloom check -C", "."),
        ] {
            assert_eq!(directory(line.split(' ').map(OsString::from)), Path::new(folder), "{line}");
        }
    }
}
