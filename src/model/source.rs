//! Locations of releases: addresses of registries and git repositories.

use std::{fmt, net::IpAddr};

/// A repository of OCI artifacts: `oci://registry.example.org/platform/releases`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OciRepository {
    /// The registry's host, with its port if it has one.
    pub registry: String,
    /// The path in the registry.
    pub path: String,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReleaseRepository {
    /// A registry repository: releases are artifacts, identified by tags.
    Oci(OciRepository),
    /// A git repository: releases are folders, identified by tags. Holds the address that `git` accepts.
    Git(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReleaseAddress {
    /// An artifact.
    Oci {
        repository: OciRepository,
        tag: Option<String>,
        /// The digest of its manifest.
        digest: Option<String>,
    },
    /// A tag of a git repository.
    Git {
        /// The address that `git` accepts.
        url: String,
        /// The tag, which is the release's name.
        tag: String,
    },
}

/// The permitted forms of an address.
const FORMS: &str = "write `oci://<registry>/<path>` or `git+https://<repository>`";

impl OciRepository {
    /// Parses an address that ends with the path.
    pub fn parse(text: &str) -> Result<Self, String> {
        let rest =
            text.strip_prefix("oci://").ok_or_else(|| format!("`{text}` does not begin with `oci://`"))?;
        let parts = rest.trim_end_matches('/').split_once('/');
        let (registry, path) = parts.ok_or_else(|| {
            format!(
                "`{text}` has no path: a registry holds many repositories, so write `oci://<registry>/<path>`"
            )
        })?;
        if registry.contains('@') {
            return Err("an address must not contain credentials: use `docker login`".to_owned());
        }
        let (host, port) = split_port(registry);
        let is_host = |c: char| c.is_ascii_alphanumeric() || ".-[]:".contains(c);
        let sound_port = port.is_none_or(|port| port.parse::<u16>().is_ok());
        // Docker's convention: a first part without a dot or a port would be a namespace in its own registry.
        let sound_host = host == "localhost" || port.is_some() || host.contains('.') || host.starts_with('[');
        if !sound_host || !sound_port || host.is_empty() || !host.chars().all(is_host) {
            return Err(format!(
                "`{registry}` in `{text}` is not a registry: write its host, such as `registry.example.org`"
            ));
        }
        let is_part = |part: &str| {
            let is_edge = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
            part.starts_with(is_edge)
                && part.ends_with(is_edge)
                && part.chars().all(|c| is_edge(c) || "._-".contains(c))
        };
        if !path.split('/').all(is_part) {
            return Err(format!(
                "`{path}` in `{text}` is not a path in a registry: use lower-case letters, digits, `.`, `_` and `-`"
            ));
        }
        Ok(Self { registry: registry.to_owned(), path: path.to_owned() })
    }

    /// Reports whether the registry runs on this machine and is therefore accessed without encryption.
    pub fn is_local(&self) -> bool {
        is_local(&self.registry)
    }

    /// The name of an artifact in the notation of container tools.
    pub fn image(&self, digest: &str) -> String {
        format!("{}/{}@{digest}", self.registry, self.path)
    }
}

impl fmt::Display for OciRepository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "oci://{}/{}", self.registry, self.path)
    }
}

impl ReleaseRepository {
    /// Parses an address.
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Some(url) = text.strip_prefix("git+") {
            return git(url).map(Self::Git);
        }
        if text.starts_with("oci://") {
            return OciRepository::parse(text).map(Self::Oci);
        }
        Err(format!("`{text}` is not an address of releases: {FORMS}"))
    }
}

impl fmt::Display for ReleaseRepository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Oci(repository) => repository.fmt(f),
            Self::Git(url) => write!(f, "git+{url}"),
        }
    }
}

impl ReleaseAddress {
    /// Parses an address with the tag or digest of a release.
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Some(rest) = text.strip_prefix("git+") {
            let (url, tag) = rest.split_once('#').unwrap_or((rest, ""));
            if tag.is_empty() {
                return Err(format!(
                    "`{text}` names no release: write the tag after a `#`, as `git+{url}#<release>`"
                ));
            }
            if !is_tag(tag) {
                return Err(format!("`{tag}` in `{text}` is not a release name"));
            }
            return Ok(Self::Git { url: git(url)?, tag: tag.to_owned() });
        }
        let (rest, digest) = match text.split_once("@sha256:") {
            Some((rest, digest)) => (rest, Some(format!("sha256:{digest}"))),
            None => (text, None),
        };
        let is_digit = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
        if digest.as_ref().is_some_and(|digest| digest.len() != 71 || !digest[7..].chars().all(is_digit)) {
            return Err(format!(
                "`{text}` has no complete digest: write `sha256:` and 64 hexadecimal digits"
            ));
        }
        let (name, tag) = match rest.rsplit_once('/') {
            Some((_, last)) if last.contains(':') && rest.matches('/').count() > 2 => {
                let (name, tag) = rest.rsplit_once(':').unwrap_or((rest, ""));
                (name, Some(tag))
            }
            _ => (rest, None),
        };
        if tag.is_some_and(|tag| !is_tag(tag)) {
            return Err(format!("`{text}` has a tag that is not the name of a release"));
        }
        if !text.starts_with("oci://") {
            return Err(format!(
                "`{text}` is not an address of a release: write `oci://<registry>/<path>@sha256:<digest>` or `git+https://<repository>#<release>`"
            ));
        }
        Ok(Self::Oci { repository: OciRepository::parse(name)?, tag: tag.map(str::to_owned), digest })
    }

    /// The repository that contains the release.
    pub fn repository(&self) -> ReleaseRepository {
        match self {
            Self::Oci { repository, .. } => ReleaseRepository::Oci(repository.clone()),
            Self::Git { url, .. } => ReleaseRepository::Git(url.clone()),
        }
    }
}

impl fmt::Display for ReleaseAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Git { url, tag } => write!(f, "git+{url}#{tag}"),
            Self::Oci { repository, tag, digest } => {
                write!(f, "{repository}")?;
                if let Some(tag) = tag {
                    write!(f, ":{tag}")?;
                }
                digest.as_ref().map_or(Ok(()), |digest| write!(f, "@{digest}"))
            }
        }
    }
}

/// Reports whether a text is valid as the tag of a release, both in git and in registries.
fn is_tag(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
    text.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
        && text.len() <= 128
        && text.chars().all(plain)
        && !text.contains("..")
        && !text.ends_with('.')
}

/// Validates an address for `git`, and accepts only the supported protocols.
fn git(url: &str) -> Result<String, String> {
    let Some((scheme, rest)) = url.split_once("://") else {
        return Err(format!("`git+{url}` is not an address of releases: {FORMS}"));
    };
    let (host, _) = rest.split_once('/').unwrap_or((rest, ""));
    let (user, host) = host.rsplit_once('@').map_or((None, host), |(user, host)| (Some(user), host));
    let sound = match scheme {
        "https" | "ssh" => !host.is_empty() && !host.starts_with('-'),
        "http" if is_local(host) => true,
        "http" => return Err(format!("`git+{url}` is not encrypted: write `git+https://`")),
        "file" => host.is_empty() && rest.len() > 1,
        _ => return Err(format!("`git+{url}` has a scheme that is not supported: use https, ssh or file")),
    };
    if user.is_some_and(|user| scheme != "ssh" || user.contains(':') || user.starts_with('-')) {
        return Err("an address must not contain credentials: use git's own configuration".to_owned());
    }
    if !sound || url.contains(|c: char| c.is_whitespace() || c.is_control()) || url.contains('#') {
        return Err(format!("`git+{url}` is not an address of a git repository"));
    }
    Ok(url.to_owned())
}

/// Splits an authority into host and port.
fn split_port(authority: &str) -> (&str, Option<&str>) {
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (authority, None),
    }
}

/// Reports whether a host, with or without a port, is this machine.
fn is_local(authority: &str) -> bool {
    let (host, _) = split_port(authority);
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_they_are_written() {
        let digest = format!("sha256:{}", "a".repeat(64));
        for text in [
            format!("oci://registry.example.org/platform/releases@{digest}"),
            format!("oci://localhost:5000/r:openstack-scs-1-35-v7@{digest}"),
            "oci://127.0.0.1:5000/r:openstack-scs-1-35-v7".to_owned(),
            "oci://[::1]:5000/r".to_owned(),
            "git+https://git.example.org/platform/stacks.git#openstack-scs-1-35-v7".to_owned(),
            "git+ssh://git@git.example.org/stacks#openstack-scs-1-35-v1.0.0".to_owned(),
            "git+file:///srv/stacks.git#openstack-scs-1-35-v7-hotfix.1".to_owned(),
        ] {
            assert_eq!(ReleaseAddress::parse(&text).unwrap().to_string(), text);
        }
        let local = |text: &str| OciRepository::parse(text).unwrap().is_local();
        assert!(local("oci://localhost/r") && local("oci://127.0.0.2:5000/r") && local("oci://[::1]:5000/r"));
        assert!(!local("oci://registry.example.org:5000/r") && !local("oci://10.0.0.1:5000/r"));
        assert!(!local("oci://127.0.0.1.example.org/r"));
    }

    #[test]
    fn invalid_addresses_are_refused_with_a_reason() {
        for (text, expected) in [
            ("registry.example.org/r", "not an address"),
            ("oci://registry.example.org", "no path"),
            ("oci://platform/releases", "not a registry"),
            ("oci://user:word@registry.example.org/r", "not contain credentials"),
            ("oci://registry.example.org/Upper", "not a path in a registry"),
            ("oci://registry.example.org/r@sha256:abc", "no complete digest"),
            ("oci://registry.example.org/r:Tag", "not the name of a release"),
            ("git+https://git.example.org/r", "names no release"),
            ("git+https://git.example.org/r#-x", "not a release name"),
            ("git+http://git.example.org/r#x", "not encrypted"),
            ("git+https://me:word@git.example.org/r#x", "not contain credentials"),
            ("git+ssh://-oProxyCommand=x/r#x", "not an address of a git"),
            ("git+ext://sh -c x#x", "https, ssh or file"),
        ] {
            let error = ReleaseAddress::parse(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
