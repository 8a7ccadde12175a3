//! The interface through which the flow reads the outside world, and an in-memory implementation for tests.

use std::{
    borrow::Cow,
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::{
    note::{Fault, Notes, Place},
    yaml::Sources,
};

/// The lock: the results of looking up charts, images and releases.
pub const LOCK: &str = "stackloom.lock";

/// The complete input of `generate`.
#[derive(Clone, Debug, Default)]
pub struct Input {
    /// The sources: `stackloom.yaml`, `stackloom.lock`, the descriptions of chart values (`charts/values/`), every file
    /// below `stacks/`, the definitions below `clusters/` and `rollouts/`, and the numbered releases below
    /// `generated/releases/`. The `<cluster>.d/` folders are excluded.
    pub sources: Sources,
    /// The `<cluster>.d/` folders that contain objects to apply, as paths relative to the root of the fleet.
    pub companions: BTreeSet<String>,
    /// The files in these folders. Nothing is generated from them, but they are checked for secrets.
    pub beside: Sources,
    /// The folder of the fleet within the surrounding git repository: empty at the top, none outside a repository. It
    /// doesn't affect the output, but is used to check whether the engine would read the right folder.
    pub folder: Option<String>,
    /// Problems with unreadable parts of numbered releases (links, binary files …), by release. Clusters that use such a
    /// release are rejected.
    pub damaged: BTreeMap<String, Notes>,
    /// Git's record of the numbered releases, by name. Releases unknown to git are missing.
    pub recorded: BTreeMap<String, Recorded>,
    /// Numbered releases that HEAD has and the work tree does not. `stackloom release prune` removes them from both.
    pub deleted: BTreeSet<String>,
}

/// Reports that the current folder belongs to no fleet. `misnamed` is a file there that may be meant as that of a fleet.
pub fn note_no_fleet(misnamed: Option<&str>, notes: &mut Notes) {
    let note = notes.error(
        "no-fleet",
        Place::file("stackloom.yaml"),
        "found no `stackloom.yaml` here or in a folder above",
    );
    if let Some(name) = misnamed {
        note.hint(format!("rename `{name}`: `mv {name} stackloom.yaml`"));
    } else {
        note.hint("create a fleet with `stackloom init`, or name the folder of one with `-C DIR`");
    }
}

/// Git's record of a numbered release, compared with its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    pub by: Record,
    /// The files that differ from the record, by path within the release's folder; none if the tag points to something
    /// without such a folder.
    pub drift: Option<BTreeMap<String, Drift>>,
    /// The commit that added it, if there is no tag and the clone's history contains the commit.
    pub since: Option<String>,
    /// The lock in each commit that imported the release, newest first.
    pub locks: Vec<Taking>,
    /// Files that differ from the record but that git was told to ignore, by path within the release's folder.
    pub unseen: BTreeSet<String>,
    /// The reason why the record is unreliable, if it is.
    pub doubt: Option<Doubt>,
}

/// The lock in a commit that imported a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taking {
    /// The commit ID.
    pub at: String,
    /// The text of the lock, if this clone has it.
    pub text: Option<Arc<str>>,
    /// Whether no later commit with knowledge of this one imported the release again.
    pub is_last: bool,
}

/// Reports whether a text contains the name of a release, and not just as part of a longer name.
pub fn stands_in(name: &str, text: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        !before.is_some_and(|c| c.is_ascii_alphanumeric())
            && !after.is_some_and(|c| c.is_ascii_alphanumeric())
    })
}

/// The hint for making git look again at a file that it was told to ignore.
pub fn look_again(path: &str) -> String {
    format!(
        "git is set to ignore its changes: turn that off with `git update-index --no-assume-unchanged {path}` and `git \
         update-index --no-skip-worktree {path}`"
    )
}

/// Why the record of a release is unreliable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// The content at the tag differs from the content in the commit that added the release.
    Moved {
        /// The commit that the tag points to.
        tagged: String,
        /// The commit that added the release.
        added: String,
        /// Whether the tagged commit is part of the branch, so that only the tag can be wrong.
        is_here: bool,
    },
    /// Two lines of the history added the release with different content.
    TwoLines {
        /// The commit that added the version that counts: the tagged one, or else the one in the work tree.
        taken: String,
        /// The commit that added the other version.
        other: String,
        /// Whether the tag decides which one counts.
        is_tagged: bool,
    },
    /// Its tag or the history of the branch can't be read; holds the reason.
    Unreadable(String),
    /// Its tag or the history of the branch is missing from this partial clone.
    NotFetched,
}

/// The record that a release is compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    Tag,
    /// The current commit, because this clone has no such tag.
    Head,
    /// The commit that added it, because this clone has no such tag and HEAD has different content.
    Commit(String),
}

/// The difference between a file and its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drift {
    /// The content differs.
    Changed,
    /// Only the line ends differ.
    LineEnds,
    /// Only the executable bit differs.
    Mode,
    /// The file was added.
    Added,
    /// The file is missing.
    Missing,
}

/// The outside world, as visible to the flow.
pub trait World {
    /// Reads the input. Problems with single files (links that lead outside, invalid UTF-8, excessive size) go to `notes`.
    fn read(&self, notes: &mut Notes) -> Result<Input, Fault>;
}

/// A world whose content was already read; can be used several times.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub input: Input,
    /// The problems with single files.
    pub notes: Notes,
}

impl Snapshot {
    /// Reads a world once, for repeated use.
    pub fn read(world: &dyn World) -> Result<Self, Fault> {
        let mut notes = Notes::new();
        let input = world.read(&mut notes)?;
        Ok(Self { input, notes })
    }
}

impl World for Snapshot {
    fn read(&self, notes: &mut Notes) -> Result<Input, Fault> {
        notes.append(self.notes.clone());
        Ok(self.input.clone())
    }
}

/// An in-memory world.
#[derive(Clone, Debug, Default)]
pub struct Files(pub BTreeMap<String, String>);

impl World for Files {
    fn read(&self, _notes: &mut Notes) -> Result<Input, Fault> {
        let mut sources = BTreeMap::new();
        let mut companions = BTreeSet::new();
        let mut beside = BTreeMap::new();
        for (path, text) in &self.0 {
            match companion_folder(path) {
                Some(folder) => {
                    if holds_object(path, text.as_bytes()) {
                        companions.insert(folder.to_owned());
                    }
                    beside.insert(path.clone(), text.clone());
                }
                None if is_input(path) => {
                    sources.insert(path.clone(), text.clone());
                }
                None => {}
            }
        }
        let (sources, beside) = (Sources::new(sources), Sources::new(beside));
        Ok(Input { sources, companions, beside, ..Input::default() })
    }
}

/// A world whose content was already read; can be used once. A run sees the content that was compared, even if files were
/// saved since.
#[derive(Debug)]
pub struct AlreadyRead(RefCell<Option<(Input, Notes)>>);

impl AlreadyRead {
    /// Wraps an input and the problems found while it was read.
    pub fn new(input: Input, notes: Notes) -> Self {
        Self(RefCell::new(Some((input, notes))))
    }
}

impl World for AlreadyRead {
    fn read(&self, notes: &mut Notes) -> Result<Input, Fault> {
        let (input, found) = self.0.take().ok_or_else(|| {
            Fault::new("the sources were read twice").hint("this is a bug of stackloom; please report it")
        })?;
        notes.append(found);
        Ok(input)
    }
}

/// The `<cluster>.d` folder that contains a path. It holds the user's own objects; nothing is generated from it.
pub fn companion_folder(path: &str) -> Option<&str> {
    if !path.starts_with("clusters/") {
        return None;
    }
    let at = path.find(".d/")?;
    Some(&path[..at + 2])
}

/// The definitions that a source may belong to: those beside its `<cluster>.d` folder, or the source itself.
pub fn definitions_of(path: &str) -> Vec<String> {
    match companion_folder(path).and_then(|folder| folder.strip_suffix(".d")) {
        Some(stem) => vec![format!("{stem}.yaml"), format!("{stem}.yml")],
        None => vec![path.to_owned()],
    }
}

/// Reports whether a file of a `<cluster>.d` folder is something that Flux applies: YAML that contains more than comments.
/// Other files are ignored.
pub fn holds_object(path: &str, bytes: &[u8]) -> bool {
    let file = std::path::Path::new(path);
    let yaml = is_yaml(path);
    let named = file.file_name().is_some_and(|name| name == "Kustomization");
    let has_content = |line: &[u8]| {
        let line = line.trim_ascii();
        let line = line.strip_prefix(b"---").unwrap_or(line).trim_ascii_start();
        !(line.is_empty() || line.starts_with(b"#") || line == b"...")
    };
    (yaml || named) && bytes.split(|byte| *byte == b'\n').any(has_content) && !is_sops_config(path, bytes)
}

/// Whether a file is the configuration of sops, which no engine applies: one leaves `.sops.yaml` out, the other skips files without
/// an object. A file of this name with a kind is an object.
pub fn is_sops_config(path: &str, bytes: &[u8]) -> bool {
    const OWN: [&str; 3] = ["creation_rules:", "destination_rules:", "stores:"];
    let is_named = path.rsplit('/').next() == Some(".sops.yaml");
    let begins = |words: &[&str]| {
        let mut lines = bytes.split(|byte| *byte == b'\n');
        lines.any(|line| words.iter().any(|word| line.starts_with(word.as_bytes())))
    };
    is_named && begins(&OWN) && !begins(&["apiVersion", "kind", "metadata", "\"", "'", "{", "- "])
}

/// The file names that kustomize recognizes.
pub const KUSTOMIZATIONS: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// Reports whether a path has the extension of a definition.
pub fn is_yaml(path: &str) -> bool {
    let extension = std::path::Path::new(path).extension();
    extension.is_some_and(|extension| extension == "yaml" || extension == "yml")
}

/// Reports whether a file is input. This depends on its folder and, for releases, on its name: head releases are output.
///
/// Hidden files are ignored, because they belong to editors and operating systems. In a release, they are input like all
/// other files: the release was cut with all of its files, and engines apply hidden files, too.
pub fn is_input(path: &str) -> bool {
    let yaml = is_yaml(path);
    if path.starts_with("generated/releases/") {
        return release_of(path).is_some();
    }
    if path.split('/').any(|part| part.starts_with('.')) {
        return false;
    }
    path == "stackloom.yaml"
        || path == LOCK
        || is_chart_values(path)
        || path.starts_with("stacks/")
        || (path.starts_with("clusters/") || path.starts_with("rollouts/")) && yaml
}

/// The folder in which `update` stores the descriptions of chart values.
pub const CHART_VALUES: &str = "charts/values";

/// Reports whether a file is a description of chart values. Its name is the digest of its content. The fleet may keep its
/// own charts next to it.
fn is_chart_values(path: &str) -> bool {
    let file = path.strip_prefix(CHART_VALUES).and_then(|file| file.strip_prefix('/'));
    let digest = file.and_then(|file| file.strip_suffix(".json"));
    digest.is_some_and(|digest| digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// The names of the numbered releases among the sources, sorted.
pub fn numbered_releases(sources: &Sources) -> Vec<String> {
    let files = sources.below("generated/releases");
    let mut names: Vec<_> = files
        .filter_map(|source| source.path.strip_prefix("generated/releases/")?.split_once('/'))
        .map(|(name, _)| name.to_owned())
        .collect();
    names.dedup();
    names
}

/// The numbered release that contains a file.
pub fn release_of(path: &str) -> Option<&str> {
    let (name, _) = path.strip_prefix("generated/releases/")?.split_once('/')?;
    (!is_head_release(name)).then_some(name)
}

/// Reports whether a name is that of a head release (channel `hash`), which every run makes anew.
pub fn is_head_release(name: &str) -> bool {
    name.contains("-v0-sha.")
}

/// The name of a release; for a head release, `…-head` in place of the digest of its content, which changes with the stack.
pub fn release_line(name: &str) -> Cow<'_, str> {
    match name.split_once("-v0-sha.") {
        Some((line, _)) => format!("{line}-head").into(),
        None => name.into(),
    }
}

/// Converts a text to the line ends that all release files have; none if it has them already.
pub fn unix_ends(text: &str) -> Option<String> {
    text.contains("\r\n").then(|| text.replace("\r\n", "\n"))
}
