//! Versions of Kubernetes and of addons.

use std::{fmt, sync::Arc};

use semver::Version;

/// Why a text is not a valid version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VersionFault {
    /// It has a major and a minor version only.
    NoPatch,
    /// It begins with a `v`, which is added where needed.
    LeadingV,
    /// It is invalid in any other way.
    Malformed,
}

impl VersionFault {
    /// Explains how to correct `text`.
    pub fn hint(&self, text: &str) -> String {
        match self {
            Self::NoPatch => format!("write the exact patch version, such as {text}.0"),
            Self::LeadingV => format!("write {} without the v", text.trim_start_matches('v')),
            Self::Malformed => "write it as <major>.<minor>.<patch>, such as 1.35.10".to_owned(),
        }
    }
}

/// An exact version of Kubernetes, such as 1.35.10.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KubernetesVersion(Version);

impl KubernetesVersion {
    /// Parses an exact version without a leading `v`.
    pub fn parse(text: &str) -> Result<Self, VersionFault> {
        if text.starts_with('v') {
            return Err(VersionFault::LeadingV);
        }
        if text.split('.').count() == 2 && text.split('.').all(|part| part.parse::<u64>().is_ok()) {
            return Err(VersionFault::NoPatch);
        }
        Version::parse(text).map(Self).map_err(|_| VersionFault::Malformed)
    }

    pub fn minor(&self) -> Minor {
        Minor { major: self.0.major, minor: self.0.minor }
    }

    /// The version as a semantic version.
    pub fn as_semver(&self) -> &Version {
        &self.0
    }
}

impl fmt::Display for KubernetesVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An exact version of an addon, and therefore of its chart. It keeps its original spelling: in a registry, a version is a
/// tag, and `v1.19.1` and `1.19.1` are two different tags. Ranges and rules compare the parsed versions.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AddonVersion {
    version: Version,
    text: Arc<str>,
}

impl AddonVersion {
    /// Parses a semantic version, with or without a leading `v`.
    pub fn parse(text: &str) -> Result<Self, semver::Error> {
        let version = Version::parse(text.strip_prefix('v').unwrap_or(text))?;
        Ok(Self { version, text: text.into() })
    }

    /// Parses a tag of a registry. A tag cannot contain a plus sign; Helm writes an underscore instead.
    pub fn of_tag(tag: &str) -> Result<Self, semver::Error> {
        Self::parse(&tag.replacen('_', "+", 1))
    }

    /// The parsed version, without a `v`.
    pub fn as_semver(&self) -> &Version {
        &self.version
    }

    /// Reports whether two spellings denote the same version.
    pub fn is_same(&self, other: &Self) -> bool {
        self.version == other.version
    }

    /// The number of minor versions between two versions, in either direction. The first minor of a major version is assumed
    /// to follow the last minor of the previous one, whichever that is: from 1.20 it is one minor to 2.0, and two to 2.1.
    pub fn minors_apart(&self, other: &Self) -> u64 {
        let place = |one: &Self| (one.version.major, one.version.minor);
        let (low, high) = (place(self).min(place(other)), place(self).max(place(other)));
        if low.0 == high.0 { high.1 - low.1 } else { high.0 - low.0 + high.1 }
    }

    /// The tag of a chart with this version in a registry.
    pub fn tag(&self) -> String {
        self.text.replace('+', "_")
    }
}

impl fmt::Display for AddonVersion {
    /// Writes the version as it was spelled.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A minor version of Kubernetes or Cluster API, such as 1.35.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Minor {
    /// The first number.
    pub major: u64,
    /// The second number.
    pub minor: u64,
}

impl Minor {
    /// Parses `<major>.<minor>`.
    pub fn parse(text: &str) -> Option<Self> {
        Self::split(text, '.')
    }

    /// Parses `<major>-<minor>`, the form in folder and release names.
    pub fn parse_dashed(text: &str) -> Option<Self> {
        Self::split(text, '-')
    }

    fn split(text: &str, separator: char) -> Option<Self> {
        let number = |part: &str| {
            let plain = !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
            (plain && (part == "0" || !part.starts_with('0'))).then(|| part.parse().ok()).flatten()
        };
        let (major, minor) = text.split_once(separator)?;
        Some(Self { major: number(major)?, minor: number(minor)? })
    }

    /// The form `<major>-<minor>`.
    pub fn dashed(self) -> String {
        format!("{}-{}", self.major, self.minor)
    }
}

impl fmt::Display for Minor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_exact_and_says_what_it_lacks() {
        assert_eq!(KubernetesVersion::parse("1.35.10").map(|v| v.minor().to_string()), Ok("1.35".to_owned()));
        assert_eq!(KubernetesVersion::parse("1.35"), Err(VersionFault::NoPatch));
        assert_eq!(KubernetesVersion::parse("v1.35.10"), Err(VersionFault::LeadingV));
        assert_eq!(KubernetesVersion::parse("1.35.010"), Err(VersionFault::Malformed));
        assert_eq!(Minor::parse("1.35"), Minor::parse_dashed("1-35"));
        assert_eq!(Minor::parse("1.035"), None);
    }

    #[test]
    fn minors_are_counted_in_both_directions() {
        let distance = |one, other| {
            let read = |text| AddonVersion::parse(text).unwrap();
            assert_eq!(read(one).minors_apart(&read(other)), read(other).minors_apart(&read(one)));
            read(one).minors_apart(&read(other))
        };
        assert_eq!((distance("1.18.9", "v1.18.2"), distance("1.18.9", "1.19.0")), (0, 1));
        assert_eq!(
            (distance("1.17.4", "1.20.2"), distance("1.20.2", "2.0.1"), distance("1.20.2", "3.1.0")),
            (3, 1, 3)
        );
    }

    #[test]
    fn a_version_of_an_addon_is_spelled_as_it_was_written() {
        let read = |text| AddonVersion::parse(text).unwrap();
        let (with, without) = (read("v1.19.1"), read("1.19.1"));
        assert!(with.is_same(&without) && with != without);
        assert_eq!((with.to_string().as_str(), with.tag().as_str()), ("v1.19.1", "v1.19.1"));
        assert_eq!(without.tag(), "1.19.1");
        assert_eq!(read("v1.0.0+up.1").tag(), "v1.0.0_up.1");
        assert_eq!(AddonVersion::of_tag("v1.0.0_up.1").unwrap(), read("v1.0.0+up.1"));
        assert!(read("v1.2.0") < read("1.10.0") && read("1.2.0-rc.1") < read("v1.2.0"));
        assert!(AddonVersion::parse("vv1.2.0").is_err() && AddonVersion::parse("V1.2.0").is_err());
    }
}
