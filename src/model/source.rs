//! Where releases are to be had: addresses of registries and of git repositories.

use std::{fmt, net::IpAddr};

/// A repository of artifacts in a registry: `oci://registry.example.org/platform/releases`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OciRepository {
    /// The registry's host, with its port if it has one.
    pub registry: String,
    /// The path in it.
    pub path: String,
}

/// A repository that releases are looked for in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReleaseRepository {
    /// A registry has them as artifacts, by tags.
    Oci(OciRepository),
    /// A git repository has them as folders, by tags: the address, as `git` takes it.
    Git(String),
}

/// One release in a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReleaseAddress {
    /// An artifact.
    Oci {
        /// Its repository.
        repository: OciRepository,
        /// Its tag.
        tag: Option<String>,
        /// The digest of its manifest.
        digest: Option<String>,
    },
    /// A tag of a git repository.
    Git {
        /// The address, as `git` takes it.
        url: String,
        /// The tag, which is the release's name.
        tag: String,
    },
}

/// How addresses are written.
const FORMS: &str = "write `oci://<registry>/<path>` or `git+https://<repository>`";

impl OciRepository {
    /// Takes an address with nothing after the path.
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
            return Err("an address holds no credentials: they come from `docker login`".to_owned());
        }
        let (host, port) = split_port(registry);
        let is_host = |c: char| c.is_ascii_alphanumeric() || ".-[]:".contains(c);
        let sound_port = port.is_none_or(|port| port.parse::<u16>().is_ok());
        // As everywhere in this field: a first part without a dot or a port would be a folder of Docker's own registry.
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
                "`{path}` in `{text}` is not a path in a registry: it is of lower-case letters, digits, `.`, `_` and `-`"
            ));
        }
        Ok(Self { registry: registry.to_owned(), path: path.to_owned() })
    }

    /// Whether the registry runs on this machine, and so is spoken to without encryption.
    pub fn is_local(&self) -> bool {
        is_local(&self.registry)
    }

    /// How container tools name something in it.
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
    /// Takes an address.
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
    /// Takes an address with what names the release in it.
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
            return Err(format!("`{text}` has no whole digest: it is `sha256:` and 64 hexadecimal digits"));
        }
        let (name, tag) = match rest.rsplit_once('/') {
            Some((_, last)) if last.contains(':') && rest.matches('/').count() > 2 => {
                let (name, tag) = rest.rsplit_once(':').unwrap_or((rest, ""));
                (name, Some(tag))
            }
            _ => (rest, None),
        };
        if tag.is_some_and(|tag| !is_tag(tag)) {
            return Err(format!("`{text}` has a tag that no release has"));
        }
        if !text.starts_with("oci://") {
            return Err(format!(
                "`{text}` is not an address of a release: write `oci://<registry>/<path>@sha256:<digest>` or `git+https://<repository>#<release>`"
            ));
        }
        Ok(Self::Oci { repository: OciRepository::parse(name)?, tag: tag.map(str::to_owned), digest })
    }

    /// The repository that it is in.
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

/// Whether a text can be the tag of a release, in git and in registries.
fn is_tag(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
    text.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
        && text.len() <= 128
        && text.chars().all(plain)
        && !text.contains("..")
        && !text.ends_with('.')
}

/// An address that `git` takes, if it is of a kind that is fetched from.
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
        _ => return Err(format!("`git+{url}`: releases are had by https, ssh or file")),
    };
    if user.is_some_and(|user| scheme != "ssh" || user.contains(':') || user.starts_with('-')) {
        return Err("an address holds no credentials: git's own configuration has them".to_owned());
    }
    if !sound || url.contains(|c: char| c.is_whitespace() || c.is_control()) || url.contains('#') {
        return Err(format!("`git+{url}` is not an address of a git repository"));
    }
    Ok(url.to_owned())
}

/// A host and its port.
fn split_port(authority: &str) -> (&str, Option<&str>) {
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (authority, None),
    }
}

/// Whether a host, with or without a port, is this machine.
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
    fn what_is_no_address_is_refused_in_words() {
        for (text, expected) in [
            ("registry.example.org/r", "not an address"),
            ("oci://registry.example.org", "no path"),
            ("oci://platform/releases", "not a registry"),
            ("oci://user:word@registry.example.org/r", "no credentials"),
            ("oci://registry.example.org/Upper", "not a path in a registry"),
            ("oci://registry.example.org/r@sha256:abc", "no whole digest"),
            ("oci://registry.example.org/r:Tag", "no release has"),
            ("git+https://git.example.org/r", "names no release"),
            ("git+https://git.example.org/r#-x", "not a release name"),
            ("git+http://git.example.org/r#x", "not encrypted"),
            ("git+https://me:word@git.example.org/r#x", "no credentials"),
            ("git+ssh://-oProxyCommand=x/r#x", "not an address of a git"),
            ("git+ext://sh -c x#x", "https, ssh or file"),
        ] {
            let reported = ReleaseAddress::parse(text).unwrap_err();
            assert!(reported.contains(expected), "{text}: {reported}");
        }
    }
}
