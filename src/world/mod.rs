//! What the flow may read of the outside world, and a world in memory for tests.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::{
    note::{Fault, Notes},
    yaml::Sources,
};

/// What was found where charts, images and releases come from.
pub const LOCK: &str = "stackloom.lock";

/// Everything that `generate` reads.
#[derive(Clone, Debug, Default)]
pub struct Input {
    /// `stackloom.yaml`, `stackloom.lock`, what charts say of their values (`charts/values/`), every file below `stacks/`, the definitions below `clusters/` and `rollouts/`, and the numbered releases below
    /// `generated/releases/`. Nothing in a `<cluster>.d/` folder.
    pub sources: Sources,
    /// The `<cluster>.d/` folders that hold something to apply, as paths from the root of the fleet.
    pub companions: BTreeSet<String>,
    /// The files in such folders. Nothing is made from them; the checks look for secrets in them.
    pub beside: Sources,
    /// Where the fleet lies in the git repository around it, empty for its top; none outside of a repository. It makes
    /// nothing, and only says whether the engine would look in the right folder.
    pub folder: Option<String>,
    /// What of numbered releases cannot be read (links, binary files …), by name. A cluster that uses one is refused.
    pub damaged: BTreeMap<String, Notes>,
    /// What git recorded of the numbered releases, by name; those that it knows nothing of are left out.
    pub recorded: BTreeMap<String, Recorded>,
}

/// What git recorded of a numbered release, compared with its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// What it is recorded by.
    pub by: Record,
    /// The files that are not as they were recorded, by their paths in the release's folder; none if the tag names
    /// something that has no such folder.
    pub drift: Option<BTreeMap<String, Drift>>,
    /// The commit that added it, where there is no tag, and the clone goes back as far.
    pub since: Option<String>,
    /// What the lock said when the release was taken; the newest first, where it was taken more than once.
    pub locks: Vec<Taking>,
    /// The files that are not as they were recorded, and that git was told to look away from, by the same paths.
    pub unseen: BTreeSet<String>,
    /// What keeps it from being known.
    pub doubt: Option<Doubt>,
}

/// The lock of a commit that took a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taking {
    /// The commit.
    pub at: String,
    /// Its lock, where that is in this clone.
    pub text: Option<Arc<str>>,
    /// Whether no later commit took the release again, knowing of this one.
    pub is_last: bool,
}

/// Whether the name of a release stands in a text, and not as the beginning of a longer one.
pub fn stands_in(name: &str, text: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        !before.is_some_and(|c| c.is_ascii_alphanumeric())
            && !after.is_some_and(|c| c.is_ascii_alphanumeric())
    })
}

/// How git is had to look at a file that it was told to look away from.
pub fn look_again(path: &str) -> String {
    format!(
        "git was told to look away from it; `git update-index --no-assume-unchanged {path}` and \
         `git update-index --no-skip-worktree {path}` have it look again"
    )
}

/// Why what a release is recorded by is not to be relied on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// Its tag has it as this commit has it, and the commit that added it has it otherwise.
    Moved {
        /// The commit that the tag names.
        tagged: String,
        /// The commit that added it.
        added: String,
        /// Whether the tag's commit is one of the branch, so that nothing but the tag can be wrong.
        is_here: bool,
    },
    /// Two lines of the history added it, not the same.
    TwoLines {
        /// The commit that added the one that counts: as its tag has it, else as it is here.
        taken: String,
        /// The commit that added the other.
        other: String,
        /// Whether it is the tag that says so.
        is_tagged: bool,
    },
    /// Its tag or the history of the branch cannot be read, and why.
    Unreadable(String),
    /// Its tag or the history of the branch is not in this partial clone.
    NotFetched,
}

/// What a release is recorded by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// The tag of its name.
    Tag,
    /// The commit that is checked out: there is no such tag here.
    Head,
    /// The commit that added it, and which HEAD no longer agrees with: there is no such tag here.
    Commit(String),
}

/// What became of a file since it was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drift {
    /// It has another content.
    Changed,
    /// It has other line ends, and else the same content.
    LineEnds,
    /// It may be run, or no longer be run, and has the same content.
    Mode,
    /// It was not there.
    Added,
    /// It is gone.
    Missing,
}

/// The outside world, as far as the flow may see it.
pub trait World {
    /// Reads the input. What is wrong with single files (links that lead out, no UTF-8, too large) goes to `notes`.
    fn read(&self, notes: &mut Notes) -> Result<Input, Fault>;
}

/// A world that was read already.
#[derive(Clone, Debug)]
pub struct Held {
    /// What was read.
    pub input: Input,
    /// What was wrong with single files.
    pub notes: Notes,
}

impl Held {
    /// Reads a world once, for several uses.
    pub fn read(world: &dyn World) -> Result<Self, Fault> {
        let mut notes = Notes::new();
        let input = world.read(&mut notes)?;
        Ok(Self { input, notes })
    }
}

impl World for Held {
    fn read(&self, notes: &mut Notes) -> Result<Input, Fault> {
        notes.append(self.notes.clone());
        Ok(self.input.clone())
    }
}

/// A world of files in memory.
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

/// A world that was read already: a run sees what was compared, whatever has been saved since.
#[derive(Debug)]
pub struct AlreadyRead(RefCell<Option<(Input, Notes)>>);

impl AlreadyRead {
    /// What was read, and what was found then.
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

/// The `<cluster>.d` folder that a path lies in: the user's own objects, which nothing is made from.
pub fn companion_folder(path: &str) -> Option<&str> {
    if !path.starts_with("clusters/") {
        return None;
    }
    let at = path.find(".d/")?;
    Some(&path[..at + 2])
}

/// Whether a file of a `<cluster>.d` folder is something that Flux applies: YAML with more in it than comments. What
/// else it holds is the user's own business.
pub fn holds_object(path: &str, bytes: &[u8]) -> bool {
    let file = std::path::Path::new(path);
    let yaml = is_yaml(path);
    let named = file.file_name().is_some_and(|name| name == "Kustomization");
    let says = |line: &[u8]| {
        let line = line.trim_ascii();
        let line = line.strip_prefix(b"---").unwrap_or(line).trim_ascii_start();
        !(line.is_empty() || line.starts_with(b"#") || line == b"...")
    };
    (yaml || named) && bytes.split(|byte| *byte == b'\n').any(says)
}

/// The names under which kustomize looks for its own file.
pub const KUSTOMIZATIONS: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// Whether a path ends as definitions do.
pub fn is_yaml(path: &str) -> bool {
    let extension = std::path::Path::new(path).extension();
    extension.is_some_and(|extension| extension == "yaml" || extension == "yml")
}

/// Whether a file is input: by its folder, and for releases by its name (head releases are output). Hidden files
/// are none: they belong to editors and operating systems. In a release they are, as whatever lies there: it was cut with
/// every one of its files, and engines apply hidden ones, too.
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

/// Where `update` puts what charts say of their values.
pub const CHART_VALUES: &str = "charts/values";

/// Whether a file says which values a chart takes: by its name, the digest of its content. A fleet may have charts of its own
/// beside it.
fn is_chart_values(path: &str) -> bool {
    let file = path.strip_prefix(CHART_VALUES).and_then(|file| file.strip_prefix('/'));
    let digest = file.and_then(|file| file.strip_suffix(".json"));
    digest.is_some_and(|digest| digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// The names of the numbered releases among the sources, in order.
pub fn numbered_releases(sources: &Sources) -> Vec<String> {
    let files = sources.below("generated/releases");
    let mut names: Vec<_> = files
        .filter_map(|source| source.path.strip_prefix("generated/releases/")?.split_once('/'))
        .map(|(name, _)| name.to_owned())
        .collect();
    names.dedup();
    names
}

/// The numbered release that a file lies in.
pub fn release_of(path: &str) -> Option<&str> {
    let (name, _) = path.strip_prefix("generated/releases/")?.split_once('/')?;
    (!is_head_release(name)).then_some(name)
}

/// Whether a release is a head release (channel `hash`), which is made anew by every run.
pub fn is_head_release(name: &str) -> bool {
    name.contains("-v0-sha.")
}

/// A text with the line ends that every file of a release was cut with; none if it has no others.
pub fn unix_ends(text: &str) -> Option<String> {
    text.contains("\r\n").then(|| text.replace("\r\n", "\n"))
}
