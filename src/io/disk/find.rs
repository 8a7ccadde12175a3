//! Finds the fleet from any folder below its root, and resolves paths given in that folder.

use std::path::{Component, Path};

use super::Workspace;
use crate::note::Fault;

/// The file that marks a folder as the root of a fleet.
pub const FLEET: &str = "stackloom.yaml";

/// A path given as an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathArgument {
    /// Relative to the root of the fleet.
    pub path: String,
    /// Whether anything exists at the path, inside or outside the fleet.
    pub is_there: bool,
    /// Whether it is a folder of the fleet.
    pub is_folder: bool,
}

impl Workspace {
    /// Opens the fleet that a folder belongs to: the nearest folder with a `stackloom.yaml`, starting with the folder
    /// itself. The search ends at the top of the git repository, so that a repository inside a fleet does not count as part
    /// of it. If there is no fleet, the folder itself is opened.
    pub fn find(folder: &Path) -> Result<Self, Fault> {
        let start = Self::open(folder)?;
        for above in start.root.ancestors() {
            if above.join(FLEET).symlink_metadata().is_ok() {
                let inside = start.root.strip_prefix(above).unwrap_or(Path::new(""));
                let parts: Option<Vec<_>> = inside.iter().map(|part| part.to_str()).collect();
                let Some(parts) = parts else { break };
                return Ok(Self { root: above.to_owned(), here: parts.join("/") });
            }
            if above.join(".git").exists() {
                break;
            }
        }
        Ok(start)
    }

    /// A file in a folder without a fleet that is named almost like that of a fleet, such as `stackloom.yml`.
    pub fn misnamed_fleet(&self) -> Option<String> {
        let names = self.root.read_dir().ok()?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let is_meant = |name: &String| {
            let lower = name.to_lowercase();
            name != FLEET && (lower == FLEET || lower == "stackloom.yml")
        };
        names.filter(is_meant).min().filter(|_| !self.holds(FLEET))
    }

    /// The current folder, relative to the root; empty at the root.
    pub fn here(&self) -> &str {
        &self.here
    }

    /// Resolves a file name against the current folder or, if there is no such file, against the root, as in messages.
    pub fn file(&self, given: &str) -> String {
        let is_there = |path: &String| self.holds(path);
        let here = self.path(given);
        let as_shown = || Some(given.to_owned()).filter(is_there);
        here.clone().filter(is_there).or_else(as_shown).or(here).unwrap_or_else(|| given.to_owned())
    }

    /// Resolves a path given as an argument. If the fleet has no such path, it is resolved against the folder in which the
    /// program was started: hooks pass their files from there, even if `-C` names the fleet.
    pub fn given(&self, name: &str) -> PathArgument {
        let mut path = self.file(name);
        let whole = Path::new(name).canonicalize().ok();
        if !self.holds(&path)
            && let Some(inside) = whole.as_ref().and_then(|whole| self.path(whole.to_str()?))
            && self.holds(&inside)
        {
            path = inside;
        }
        let path = path.trim_end_matches('/').to_owned();
        let is_there = self.holds(&path) || whole.is_some();
        PathArgument { is_there, is_folder: self.root.join(&path).is_dir(), path }
    }

    /// Whether anything exists at a path relative to the root.
    pub fn holds(&self, path: &str) -> bool {
        self.root.join(path).symlink_metadata().is_ok()
    }

    /// Resolves a path against the current folder, relative to the root. `None` if it leads out of the fleet.
    pub fn path(&self, given: &str) -> Option<String> {
        let given = Path::new(given);
        let whole = match given.strip_prefix(&self.root) {
            Ok(inside) => inside.to_owned(),
            Err(_) => Path::new(&self.here).join(given),
        };
        let mut parts = Vec::new();
        for part in whole.components() {
            match part {
                Component::Normal(part) => parts.push(part.to_str()?),
                Component::CurDir => {}
                Component::ParentDir => drop(parts.pop()?),
                Component::RootDir | Component::Prefix(_) => return None,
            }
        }
        Some(parts.join("/"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_of_where_one_stands() {
        let at = |here: &str| Workspace { root: "/fleet".into(), here: here.to_owned() };
        for (here, given, expected) in [
            ("", "clusters/dev", Some("clusters/dev")),
            ("", "./clusters/dev/", Some("clusters/dev")),
            ("clusters", "dev/one.yaml", Some("clusters/dev/one.yaml")),
            ("clusters/dev", "../../stacks", Some("stacks")),
            ("clusters/dev", ".", Some("clusters/dev")),
            ("clusters/dev", "../../../other", None),
            ("clusters", "/fleet/stacks/a", Some("stacks/a")),
            ("clusters", "/fleet-2/stacks", None),
            ("clusters", "/etc", None),
            ("clusters", "../..", None),
            ("", "clusters/../../out", None),
        ] {
            assert_eq!(at(here).path(given).as_deref(), expected, "{here}: {given}");
        }
    }
}
