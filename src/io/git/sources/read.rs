//! Maps the sources that a run has read to their paths in git, across links and submodules.

use std::{
    collections::{BTreeMap, VecDeque},
    fs,
    path::Path,
    sync::Arc,
};

use crate::{
    io::disk::{own_text, read_plain},
    note::Fault,
    world::{Input, release_of},
};

/// The maximum number of links on the way to a file; git and operating systems have similar limits.
const HOPS: usize = 40;

/// The files that a run has read, by their paths in git.
#[derive(Debug, Default)]
pub(super) struct Read {
    /// Plain files, with the bytes that were read.
    pub(super) files: BTreeMap<String, Bytes>,
    /// Links on the way to files, with their targets.
    pub(super) links: BTreeMap<String, Vec<u8>>,
    /// Folders that links point to, each with the path through the link.
    pub(super) folders: BTreeMap<String, String>,
    /// Files in nested repositories, by the folder of the repository.
    pub(super) nested: BTreeMap<String, BTreeMap<String, Bytes>>,
}

/// The content of a file as it was read.
pub(super) type Bytes = Arc<[u8]>;

/// The location of a file, once links are followed.
struct ResolvedFile {
    path: String,
    /// The folder of the innermost nested repository on the path.
    repository: Option<String>,
}

impl Read {
    /// Everything that an input was read from, except numbered releases, which have their own commits.
    pub(super) fn of(input: &Input, root: &Path) -> Result<Self, Fault> {
        let mut read = Self::default();
        for source in input.sources.iter().filter(|source| release_of(&source.path).is_none()) {
            read.take(root, &source.path, source.text.as_bytes().into())?;
        }
        for source in input.beside.iter() {
            let now = read_plain(&root.join(&*source.path)).map_err(|_| changed(&source.path))?;
            // Only the text of these files was kept.
            if own_text(&now) != *source.text {
                return Err(changed(&source.path));
            }
            read.take(root, &source.path, now.into())?;
        }
        Ok(read)
    }

    fn take(&mut self, root: &Path, path: &str, bytes: Bytes) -> Result<(), Fault> {
        let found = self.follow(root, path)?;
        // A link may have changed since; then these are not the bytes of its target.
        if found.path != path && read_plain(&root.join(path)).ok().as_deref() != Some(&*bytes) {
            return Err(changed(path));
        }
        match found.repository {
            None => self.files.insert(found.path, bytes),
            Some(folder) => {
                let inside = found.path[folder.len() + 1..].to_owned();
                self.nested.entry(folder).or_default().insert(inside, bytes)
            }
        };
        Ok(())
    }

    /// Follows the links on the path to a file.
    fn follow(&mut self, root: &Path, path: &str) -> Result<ResolvedFile, Fault> {
        let mut left: VecDeque<String> = path.split('/').map(str::to_owned).collect();
        let mut at: Vec<String> = Vec::new();
        let mut repository = None;
        let mut hops = 0;
        while let Some(name) = left.pop_front() {
            at.push(name);
            let here = at.join("/");
            let Ok(found) = fs::symlink_metadata(root.join(&here)) else { continue };
            if found.is_dir() && root.join(&here).join(".git").symlink_metadata().is_ok() {
                repository = Some(here);
            } else if found.is_symlink() {
                hops += 1;
                let target = target(root, &here).filter(|_| hops <= HOPS).ok_or_else(|| changed(path))?;
                at = along(root, &here, &target).ok_or_else(|| leads_out(path))?;
                // For a nested repository, only the commit is recorded here.
                if repository.take().is_none() {
                    self.links.insert(here, target.into_bytes());
                }
                let rest: Vec<String> = left.drain(..).collect();
                if !rest.is_empty() {
                    let alias = path.strip_suffix(&rest.join("/")).unwrap_or(path);
                    self.folders.insert(at.join("/"), alias.trim_end_matches('/').to_owned());
                }
                // The target of the link may itself be behind links.
                left.extend(std::mem::take(&mut at));
                left.extend(rest);
            }
        }
        Ok(ResolvedFile { path: at.join("/"), repository })
    }
}

/// The path that a link points to; None if it is outside the fleet.
fn along(root: &Path, link: &str, target: &str) -> Option<Vec<String>> {
    let (mut at, target) = match Path::new(target).strip_prefix(root) {
        Ok(inside) => (Vec::new(), inside.to_str()?),
        Err(_) if target.starts_with('/') => return None,
        Err(_) => {
            let mut folder: Vec<String> = link.split('/').map(str::to_owned).collect();
            folder.pop();
            (folder, target)
        }
    };
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(at.pop()?),
            name => at.push(name.to_owned()),
        }
    }
    Some(at)
}

fn target(root: &Path, link: &str) -> Option<String> {
    Some(fs::read_link(root.join(link)).ok()?.to_str()?.replace('\\', "/"))
}

/// The fault for a source that has changed since it was read.
pub(super) fn changed(path: &str) -> Fault {
    Fault::new(format!("`{path}` changed while this ran, so nothing was committed")).hint("run this again")
}

fn leads_out(path: &str) -> Fault {
    Fault::new(format!("the path to `{path}` has a link that leads out of the fleet's folder"))
        .hint("keep the link within the fleet, or commit the sources with git, and then run `stackloom generate --commit`")
}
