//! Releases of other repositories. One tag is fetched with the user's own `git`, which has their credentials and proxies,
//! into a temporary repository, and read there.

use std::{
    collections::BTreeMap,
    path::Path,
    process::{Command, Output},
};

use git2::{ObjectType, Oid};

use super::trees::{FILE, RELEASES, RUNNABLE};
use crate::{io::program, note::Fault};

/// A release from a tag of another repository.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// The files, by their paths in the release's folder.
    pub files: BTreeMap<String, Vec<u8>>,
    /// The commit that the tag points to.
    pub commit: String,
}

/// The largest file, in bytes; the limit is that of every source.
const FILE_LIMIT: usize = 4 * 1024 * 1024;

/// The maximum number of folders to search for the fleet.
const FOLDER_LIMIT: usize = 100_000;

pub fn fetch_release(url: &str, tag: &str) -> Result<Fetched, Fault> {
    let folder = tempfile::Builder::new()
        .prefix("stackloom-fetch-")
        .tempdir()
        .map_err(|error| Fault::because("cannot create a folder for the download", error))?;
    let path = folder.path().join("repository.git");
    let shown = path.to_string_lossy();
    let made =
        git(folder.path(), &["init", "--quiet", "--bare", "--template=", "--object-format=sha1", &shown])?;
    check_success(&made, "cannot create a repository for the download")?;
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
    check_success(&git(&path, &arguments)?, &format!("cannot fetch the tag `{tag}` of `{url}`"))?;
    read(&path, url, tag)
}

/// The names of all tags of a repository.
pub fn list_tags(url: &str) -> Result<Vec<String>, Fault> {
    let folder = std::env::temp_dir();
    let output = git(&folder, &["ls-remote", "--quiet", "--refs", "--tags", "--", url])?;
    check_success(&output, &format!("cannot list the tags of `{url}`"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let name = |line: &str| Some(line.split_once("\trefs/tags/")?.1.to_owned());
    Ok(text.lines().filter_map(name).collect())
}

/// Runs the user's `git` in one of our folders. Environment variables about the current repository, as set in hooks, are
/// removed.
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
    program::run_prepared(command, b"")
        .map_err(|fault| fault.hint("install git: it fetches releases from other repositories"))
}

fn check_success(output: &Output, what: &str) -> Result<(), Fault> {
    if output.status.success() {
        return Ok(());
    }
    Err(Fault::new(format!("{what}: {}", program::words(output)))
        .hint("git uses your own configuration for this: run `git ls-remote --tags` with the same address to see what it finds"))
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
                "the tag `{tag}` of `{url}` has no release: it does not contain `{RELEASES}/{tag}`"
            ))
            .hint(
                "the tag of a release has the name of the release; run `git ls-remote --tags` for a list",
            ));
        }
        [(one, _), (other, _), ..] => {
            return Err(Fault::new(format!(
                "the tag `{tag}` of `{url}` has the release twice: `{one}` and `{other}`"
            ))
            .hint("ask the publisher for an OCI artifact: here, it is unclear which of them is meant"));
        }
    };
    let mut files = BTreeMap::new();
    collect(&repository, folder, "", &mut files).map_err(|reported| match reported {
        RefusedTree::Git(error) => failed(error),
        RefusedTree::Kind(path) => Fault::new(format!(
            "`{path}` of the release in `{url}` is not a plain file, or is larger than a source may be"
        ))
        .hint("releases are made only by `stackloom release`: ask the publisher"),
    })?;
    Ok(Fetched { files, commit: commit.id().to_string() })
}

/// Searches for the folder of a release: the fleet may be anywhere in its repository.
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
        return Err(git2::Error::from_str("it has too many folders to search"));
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

/// The reason that a tree is refused.
enum RefusedTree {
    Git(git2::Error),
    Kind(String),
}

impl From<git2::Error> for RefusedTree {
    fn from(error: git2::Error) -> Self {
        Self::Git(error)
    }
}

fn collect(
    repository: &git2::Repository,
    tree: Oid,
    prefix: &str,
    files: &mut BTreeMap<String, Vec<u8>>,
) -> Result<(), RefusedTree> {
    for entry in &repository.find_tree(tree)? {
        let path = format!("{prefix}{}", String::from_utf8_lossy(entry.name_bytes()));
        match (entry.kind(), entry.filemode_raw()) {
            (Some(ObjectType::Tree), _) => collect(repository, entry.id(), &format!("{path}/"), files)?,
            // Only the content of an executable file counts, not its mode.
            (Some(ObjectType::Blob), FILE | RUNNABLE) => {
                let blob = repository.find_blob(entry.id())?;
                if blob.size() > FILE_LIMIT {
                    return Err(RefusedTree::Kind(path));
                }
                files.insert(path, blob.content().to_vec());
            }
            _ => return Err(RefusedTree::Kind(path)),
        }
    }
    Ok(())
}
