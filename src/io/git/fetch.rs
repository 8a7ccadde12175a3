//! Releases of other repositories: one tag is fetched with the user's own `git`, which knows his credentials and
//! proxies, into a repository that goes again, and read there.

use std::{
    collections::BTreeMap,
    path::Path,
    process::{Command, Output},
};

use git2::{ObjectType, Oid};

use super::trees::{FILE, RELEASES, RUNNABLE};
use crate::{io::program, note::Fault};

/// A release as a tag of another repository has it.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// Its files, by their paths in its folder.
    pub files: BTreeMap<String, Vec<u8>>,
    /// The commit that the tag names.
    pub commit: String,
}

/// The longest file, as of any other source.
const FILE_LIMIT: usize = 4 * 1024 * 1024;

/// Folders that are looked into for the fleet of a repository that holds more.
const FOLDER_LIMIT: usize = 100_000;

/// Fetches the release that a tag is named after.
pub fn fetch_release(url: &str, tag: &str) -> Result<Fetched, Fault> {
    let folder = tempfile::Builder::new()
        .prefix("stackloom-fetch-")
        .tempdir()
        .map_err(|error| Fault::because("cannot make a folder for what is fetched", error))?;
    let path = folder.path().join("repository.git");
    let shown = path.to_string_lossy();
    let made =
        git(folder.path(), &["init", "--quiet", "--bare", "--template=", "--object-format=sha1", &shown])?;
    said_well(&made, "cannot make a repository for what is fetched")?;
    let reference = format!("+refs/tags/{tag}:refs/tags/{tag}");
    let arguments = [
        "fetch",
        "--quiet",
        "--no-tags",
        "--depth=1",
        "--no-recurse-submodules",
        "--no-write-fetch-head",
        "--",
        url,
        &reference,
    ];
    said_well(&git(&path, &arguments)?, &format!("cannot fetch the tag `{tag}` of `{url}`"))?;
    read(&path, url, tag)
}

/// The names of all tags of a repository.
pub fn list_tags(url: &str) -> Result<Vec<String>, Fault> {
    let folder = std::env::temp_dir();
    let output = git(&folder, &["ls-remote", "--quiet", "--refs", "--tags", "--", url])?;
    said_well(&output, &format!("cannot list the tags of `{url}`"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let name = |line: &str| Some(line.split_once("\trefs/tags/")?.1.to_owned());
    Ok(text.lines().filter_map(name).collect())
}

/// The user's `git` in a folder of ours. What the environment says of the repository that the program runs in, as it
/// does in hooks, is none of its business.
fn git(folder: &Path, arguments: &[&str]) -> Result<Output, Fault> {
    let mut command = Command::new("git");
    command.current_dir(folder).args(arguments);
    for name in [
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_NAMESPACE",
        "GIT_PREFIX",
    ] {
        command.env_remove(name);
    }
    command.env("GIT_ALLOW_PROTOCOL", "file:http:https:ssh");
    program::spoken(command, b"")
        .map_err(|fault| fault.hint("releases of other repositories are fetched with git: install it"))
}

fn said_well(output: &Output, what: &str) -> Result<(), Fault> {
    if output.status.success() {
        return Ok(());
    }
    Err(Fault::new(format!("{what}: {}", program::words(output)))
        .hint("git does this with your own configuration: `git ls-remote --tags` with the same address shows what it sees"))
}

fn read(path: &Path, url: &str, tag: &str) -> Result<Fetched, Fault> {
    let failed = |error| Fault::because(format!("cannot read the tag `{tag}` of `{url}`"), error);
    let repository = git2::Repository::open_bare(path).map_err(failed)?;
    let commit = repository
        .find_reference(&format!("refs/tags/{tag}"))
        .and_then(|reference| reference.peel_to_commit())
        .map_err(failed)?;
    let mut found = Vec::new();
    let mut looked_at = 0;
    let root = commit.tree_id();
    look(&repository, root, "", tag, &mut found, &mut looked_at).map_err(failed)?;
    let folder = match found.as_slice() {
        [(_, tree)] => *tree,
        [] => {
            return Err(Fault::new(format!(
                "the tag `{tag}` of `{url}` has no release: there is no `{RELEASES}/{tag}` in it"
            ))
            .hint("a release has a tag of its own name; `git ls-remote --tags` lists them"));
        }
        [(one, _), (other, _), ..] => {
            return Err(Fault::new(format!(
                "the tag `{tag}` of `{url}` has the release twice: `{one}` and `{other}`"
            ))
            .hint("which of them is meant cannot be said: have it published as an OCI artifact"));
        }
    };
    let mut files = BTreeMap::new();
    collect(&repository, folder, "", &mut files).map_err(|reported| match reported {
        Untaken::Git(error) => failed(error),
        Untaken::Kind(path) => Fault::new(format!(
            "`{path}` of the release in `{url}` is not a plain file, or is larger than a source may be"
        ))
        .hint("a release is made by `stackloom release`, and by nothing else"),
    })?;
    Ok(Fetched { files, commit: commit.id().to_string() })
}

/// Looks for the folder of a release: the fleet may lie anywhere in its repository.
fn look(
    repository: &git2::Repository,
    tree: Oid,
    prefix: &str,
    name: &str,
    found: &mut Vec<(String, Oid)>,
    looked_at: &mut usize,
) -> Result<(), git2::Error> {
    *looked_at += 1;
    if *looked_at > FOLDER_LIMIT {
        return Err(git2::Error::from_str("it has more folders than are looked into"));
    }
    let path = format!("{RELEASES}/{name}");
    for entry in &repository.find_tree(tree)? {
        if entry.kind() != Some(ObjectType::Tree) {
            continue;
        }
        let below = format!("{prefix}{}", String::from_utf8_lossy(entry.name_bytes()));
        if below == path || below.ends_with(&format!("/{path}")) {
            found.push((below, entry.id()));
        } else {
            look(repository, entry.id(), &format!("{below}/"), name, found, looked_at)?;
        }
    }
    Ok(())
}

/// Why a tree is not taken.
enum Untaken {
    Git(git2::Error),
    Kind(String),
}

impl From<git2::Error> for Untaken {
    fn from(error: git2::Error) -> Self {
        Self::Git(error)
    }
}

fn collect(
    repository: &git2::Repository,
    tree: Oid,
    prefix: &str,
    files: &mut BTreeMap<String, Vec<u8>>,
) -> Result<(), Untaken> {
    for entry in &repository.find_tree(tree)? {
        let path = format!("{prefix}{}", String::from_utf8_lossy(entry.name_bytes()));
        match (entry.kind(), entry.filemode_raw()) {
            (Some(ObjectType::Tree), _) => collect(repository, entry.id(), &format!("{path}/"), files)?,
            // What is in a file that may be run counts, not that it may.
            (Some(ObjectType::Blob), FILE | RUNNABLE) => {
                let blob = repository.find_blob(entry.id())?;
                if blob.size() > FILE_LIMIT {
                    return Err(Untaken::Kind(path));
                }
                files.insert(path, blob.content().to_vec());
            }
            _ => return Err(Untaken::Kind(path)),
        }
    }
    Ok(())
}
