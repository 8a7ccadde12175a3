//! Reads logins for chart repositories from helm's own configuration, written by `helm repo add`. Never printed.

use std::{collections::BTreeMap, env, path::PathBuf};

use crate::{
    io::disk,
    note::Fault,
    yaml::{PathStep, scan},
};

/// A user and a password.
pub(super) struct Login {
    pub(super) user: String,
    pub(super) password: String,
}

/// The login for a repository; None if helm has none.
pub(super) fn login(repository: &str) -> Result<Option<Login>, Fault> {
    let Some(path) = path() else { return Ok(None) };
    let Some(bytes) = disk::read_file(&path)? else { return Ok(None) };
    let found = login_in(&String::from_utf8_lossy(&bytes), repository);
    found.map_err(|why| {
        Fault::new(format!("cannot read the repositories of helm in `{}`: {why}", path.display()))
            .hint("run `helm repo list` to see what is wrong with it")
    })
}

/// The path of helm's list of repositories.
fn path() -> Option<PathBuf> {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(file) = set("HELM_REPOSITORY_CONFIG") {
        return Some(file);
    }
    let home = || {
        let folder = if cfg!(target_os = "macos") { "Library/Preferences" } else { ".config" };
        Some(set("HOME")?.join(folder))
    };
    let folder = set("HELM_CONFIG_HOME")
        .or_else(|| set("XDG_CONFIG_HOME").map(|folder| folder.join("helm")))
        .or_else(|| home().map(|folder| folder.join("helm")))?;
    Some(folder.join("repositories.yaml"))
}

fn login_in(text: &str, repository: &str) -> Result<Option<Login>, String> {
    let mut all: BTreeMap<usize, BTreeMap<String, String>> = BTreeMap::new();
    scan(text, |path, value| {
        if let [PathStep::Key(top), PathStep::Index(at), PathStep::Key(field)] = path
            && top == "repositories"
        {
            all.entry(*at).or_default().insert(field.clone(), value.to_owned());
        }
    })?;
    let is_meant = |entry: &&BTreeMap<String, String>| {
        entry.get("url").is_some_and(|url| url.trim_end_matches('/') == repository.trim_end_matches('/'))
    };
    let entry = all.values().find(is_meant);
    let field = |name: &str| entry?.get(name).filter(|text| !text.is_empty()).cloned();
    let (user, password) = (field("username"), field("password"));
    Ok(user.zip(password).map(|(user, password)| Login { user, password }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_is_that_of_the_repository() {
        let text = "apiVersion: \"\"\ngenerated: \"0001-01-01T00:00:00Z\"\nrepositories:\n\
            - {name: a, url: https://a.example.org/, username: u, password: p}\n\
            - {name: b, url: https://b.example.org, username: \"\", password: \"\"}\n";
        let login = login_in(text, "https://a.example.org").unwrap().unwrap();
        assert_eq!((login.user.as_str(), login.password.as_str()), ("u", "p"));
        assert!(login_in(text, "https://b.example.org").unwrap().is_none());
        assert!(login_in(text, "https://c.example.org").unwrap().is_none());
        assert!(login_in("repositories: [", "https://a.example.org").is_err());
    }
}
