//! Versions of releases and of their components: what comes after which, in each channel.

use semver::Version;

use crate::{definition::Channel, model::Versioning};

/// How much of a semantic version a release moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// Nothing that runs changes.
    Patch,
    /// What runs in clusters changes, their machines stay.
    Minor,
    /// Machines are replaced, or it is not known that they are not.
    Major,
}

/// Whether a text is a version of a channel; the error says how one looks.
pub fn check(channel: Channel, version: &str) -> Result<(), &'static str> {
    let sound = match channel {
        Channel::Stable => stable(version).is_some(),
        Channel::Beta => beta(version).is_some(),
        Channel::Hash => version.starts_with("v0-sha."),
        Channel::Custom => custom(version).is_some(),
    };
    let form = match channel {
        Channel::Stable => "v<number>, or v<major>.<minor>.<patch>",
        Channel::Beta => "v0-beta.<number>",
        Channel::Hash => "v0-sha.<hash>",
        Channel::Custom => {
            "v<number>-<word>.<number>, such as v7-hotfix.1; the word is neither `beta` nor `sha`"
        }
    };
    if sound { Ok(()) } else { Err(form) }
}

/// What versions of a channel are sorted by.
pub(super) fn order(channel: Channel, version: &str) -> (u64, u64, u64, String) {
    let plain = |(major, minor, patch)| (major, minor, patch, String::new());
    match channel {
        Channel::Stable => stable(version).map(plain),
        Channel::Beta => beta(version).map(|number| (0, 0, number, String::new())),
        Channel::Custom => custom(version).map(|(major, word, number)| (major, 0, number, word)),
        Channel::Hash => None,
    }
    .unwrap_or((0, 0, 0, version.to_owned()))
}

/// The version after `previous`, which is none for the first one.
pub(super) fn next(channel: Channel, versioning: Versioning, previous: Option<&str>, step: Step) -> String {
    match (channel, versioning) {
        (Channel::Beta, _) => {
            format!("v0-beta.{}", previous.and_then(beta).map_or(0, |number| number) + 1)
        }
        (_, Versioning::Sequential) => {
            format!("v{}", previous.and_then(stable).map_or(0, |(major, ..)| major) + 1)
        }
        (_, Versioning::Semver) => match previous.and_then(stable) {
            None => "v1.0.0".to_owned(),
            Some((major, minor, patch)) => match step {
                Step::Major => format!("v{}.0.0", major + 1),
                Step::Minor => format!("v{major}.{}.0", minor + 1),
                Step::Patch => format!("v{major}.{minor}.{}", patch + 1),
            },
        },
    }
}

/// `v7` or `v1.2.3`.
fn stable(version: &str) -> Option<(u64, u64, u64)> {
    let rest = version.strip_prefix('v')?;
    if let Some(number) = number(rest) {
        return Some((number, 0, 0));
    }
    let version = Version::parse(rest).ok()?;
    (version.pre.is_empty() && version.build.is_empty()).then_some((
        version.major,
        version.minor,
        version.patch,
    ))
}

fn beta(version: &str) -> Option<u64> {
    number(version.strip_prefix("v0-beta.")?)
}

fn custom(version: &str) -> Option<(u64, String, u64)> {
    let (major, rest) = version.strip_prefix('v')?.split_once('-')?;
    let (word, last) = rest.split_once('.')?;
    let plain =
        !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase()) && !matches!(word, "beta" | "sha");
    Some((number(major)?, plain.then(|| word.to_owned())?, number(last)?))
}

fn number(text: &str) -> Option<u64> {
    let plain = text.bytes().all(|b| b.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    if plain { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_channel_counts_in_its_own_way() {
        let (stable, beta) = (Channel::Stable, Channel::Beta);
        let sequential = Versioning::Sequential;
        assert_eq!(next(stable, sequential, None, Step::Major), "v1");
        assert_eq!(next(stable, sequential, Some("v9"), Step::Patch), "v10");
        assert_eq!(next(beta, sequential, None, Step::Patch), "v0-beta.1");
        assert_eq!(next(beta, sequential, Some("v0-beta.2"), Step::Patch), "v0-beta.3");
        let semver = |previous, step| next(stable, Versioning::Semver, previous, step);
        assert_eq!(semver(None, Step::Patch), "v1.0.0");
        assert_eq!(semver(Some("v1.2.3"), Step::Patch), "v1.2.4");
        assert_eq!(semver(Some("v1.2.3"), Step::Minor), "v1.3.0");
        assert_eq!(semver(Some("v1.2.3"), Step::Major), "v2.0.0");
        assert_eq!(semver(Some("v7"), Step::Minor), "v7.1.0", "a stack that took up semantic versions");
    }

    #[test]
    fn numbers_are_compared_as_numbers() {
        assert!(order(Channel::Stable, "v10") > order(Channel::Stable, "v9"));
        assert!(order(Channel::Stable, "v1.10.0") > order(Channel::Stable, "v1.9.9"));
        assert!(order(Channel::Beta, "v0-beta.10") > order(Channel::Beta, "v0-beta.9"));
        assert!(order(Channel::Custom, "v7-hotfix.10") > order(Channel::Custom, "v7-hotfix.9"));
    }

    #[test]
    fn what_is_no_version_of_its_channel_is_refused() {
        for version in ["v0-beta.1", "v7-sha.a", "v7-hotfix", "7-hotfix.1", "v7-Hot.1", "v7-hotfix.01"] {
            assert!(check(Channel::Custom, version).is_err(), "{version}");
        }
        assert!(check(Channel::Custom, "v7-hotfix.1").is_ok());
        for version in ["v07", "v1.2", "v1.2.3-rc.1", "v"] {
            assert!(check(Channel::Stable, version).is_err(), "{version}");
        }
    }
}
