//! Identifies the forge and the repository of a git remote.

use crate::model::{Forge, ForgeKind};

/// A repository on a forge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepositoryAddress {
    pub kind: ForgeKind,
    /// The forge's start page, without a trailing slash.
    pub url: String,
    /// The repository, such as `platform/fleet`.
    pub project: String,
}

impl RepositoryAddress {
    /// The base URL of the API: <https://docs.github.com/en/rest>, <https://docs.gitlab.com/api/rest/>,
    /// <https://forgejo.org/docs/latest/user/api-usage/>.
    pub fn api(&self) -> String {
        match self.kind {
            ForgeKind::GitHub if self.url == "https://github.com" => "https://api.github.com".to_owned(),
            ForgeKind::GitHub => format!("{}/api/v3", self.url),
            ForgeKind::GitLab => format!("{}/api/v4", self.url),
            ForgeKind::Forgejo => format!("{}/api/v1", self.url),
        }
    }

    /// The page for opening a request for a branch by hand.
    pub fn page(&self, base: &str, branch: &str) -> String {
        let Self { kind, url, project } = self;
        match kind {
            ForgeKind::GitHub => format!("{url}/{project}/compare/{base}...{branch}?expand=1"),
            ForgeKind::GitLab => {
                let branch = branch.replace('/', "%2F");
                format!("{url}/{project}/-/merge_requests/new?merge_request%5Bsource_branch%5D={branch}")
            }
            ForgeKind::Forgejo => format!("{url}/{project}/compare/{base}...{branch}"),
        }
    }
}

/// The repository of a remote; none if its host is not a known forge and `given` does not specify one. `Err` explains what
/// is wrong.
pub fn address(remote: &str, given: Option<&Forge>) -> Result<Option<RepositoryAddress>, String> {
    let found = host_and_path(remote);
    let known = found.as_ref().and_then(|(host, _)| match host.as_str() {
        "https://github.com" => Some(ForgeKind::GitHub),
        "https://gitlab.com" => Some(ForgeKind::GitLab),
        "https://codeberg.org" => Some(ForgeKind::Forgejo),
        _ => None,
    });
    let Some(kind) = given.map(|forge| forge.kind).or(known) else { return Ok(None) };
    let (host, path) = found.unzip();
    let url = given.and_then(|forge| forge.url.clone()).or(host);
    let project = given.and_then(|forge| forge.project.clone()).or(path);
    let (Some(url), Some(project)) = (url, project) else {
        return Err(
            "the git remote has no host: write `url` and `project` of `forge` in stackloom.yaml".to_owned()
        );
    };
    let parts: Vec<&str> = project.split('/').collect();
    let is_right = match kind {
        ForgeKind::GitLab => parts.len() >= 2,
        ForgeKind::GitHub | ForgeKind::Forgejo => parts.len() == 2,
    };
    if !is_right || parts.iter().any(|part| part.is_empty() || matches!(*part, "." | "..")) {
        return Err(format!("`{project}` is not the name of a repository at {}", kind.name()));
    }
    Ok(Some(RepositoryAddress { kind, url, project }))
}

/// The start page of a remote's host, and the path of the repository: `https://git@host/a/b.git`, `ssh://git@host:22/a/b`,
/// `git@host:a/b.git`.
fn host_and_path(remote: &str) -> Option<(String, String)> {
    let (start, path) = if let Some((scheme, rest)) = remote.split_once("://") {
        let (authority, path) = rest.split_once('/')?;
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        match scheme {
            "https" | "http" => (format!("{scheme}://{host}"), path),
            "ssh" => (format!("https://{}", host.split(':').next()?), path),
            _ => return None,
        }
    } else {
        let (authority, path) = remote.split_once(':')?;
        if authority.contains('/') || authority.len() < 2 {
            return None;
        }
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        (format!("https://{host}"), path)
    };
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    (!path.is_empty()).then(|| (start, path.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(remote: &str) -> Option<(ForgeKind, String, String)> {
        address(remote, None).unwrap().map(|one| (one.kind, one.url, one.project))
    }

    #[test]
    fn remotes_of_known_forges() {
        let github = Some((ForgeKind::GitHub, "https://github.com".to_owned(), "a/b".to_owned()));
        for remote in [
            "https://github.com/a/b",
            "https://github.com/a/b.git",
            "https://token@github.com/a/b.git",
            "git@github.com:a/b.git",
            "ssh://git@github.com/a/b.git",
            "ssh://git@github.com:22/a/b",
        ] {
            assert_eq!(found(remote), github, "{remote}");
        }
        assert_eq!(found("git@gitlab.com:a/b/c.git").unwrap().2, "a/b/c");
        assert_eq!(found("https://codeberg.org/a/b").unwrap().0, ForgeKind::Forgejo);
        for remote in [
            "/srv/git/fleet.git",
            "../fleet.git",
            "file:///srv/fleet.git",
            "C:/fleet",
            "https://git.example.org/a/b",
        ] {
            assert_eq!(found(remote), None, "{remote}");
        }
    }

    #[test]
    fn what_is_written_outranks_the_remote() {
        let mut given = Forge { kind: ForgeKind::GitLab, url: None, project: None };
        let one = address("ssh://git@git.example.org:2222/a/b/c.git", Some(&given)).unwrap().unwrap();
        assert_eq!((one.api().as_str(), one.project.as_str()), ("https://git.example.org/api/v4", "a/b/c"));
        assert!(address("/srv/fleet.git", Some(&given)).unwrap_err().contains("has no host"));
        given = Forge {
            kind: ForgeKind::GitHub,
            url: Some("https://ghe.example.org".to_owned()),
            project: Some("a/b".to_owned()),
        };
        let one = address("/srv/fleet.git", Some(&given)).unwrap().unwrap();
        assert_eq!(one.api(), "https://ghe.example.org/api/v3");
        assert_eq!(one.page("main", "x/y"), "https://ghe.example.org/a/b/compare/main...x/y?expand=1");
        given.project = Some("a/b/c".to_owned());
        assert!(address("/srv/fleet.git", Some(&given)).is_err());
    }
}
