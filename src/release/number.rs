//! Version numbers of releases and their components, and their order in each channel.

use semver::Version;

use crate::{definition::Channel, model::Versioning};

/// The part of a semantic version that a release increments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bump {
    /// Nothing changes in running clusters.
    Patch,
    /// Something changes in running clusters, but their machines stay.
    Minor,
    /// Machines are replaced, or may be.
    Major,
}

/// Validates a version of a channel. The error describes the expected form.
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

/// The sort key for versions of a channel.
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

/// The sequence within a channel that a version belongs to. Versions of one sequence follow each other. The words of
/// `custom` versions have no defined order, so each word is a sequence of its own; the other channels have one sequence.
pub(super) fn line(channel: Channel, version: &str) -> String {
    let word = |version| custom(version).map(|(_, word, _)| word);
    if channel == Channel::Custom { word(version).unwrap_or_default() } else { String::new() }
}

/// The version that the next one follows: its base for comparison and counting. Usually this is the last version of the
/// channel.
///
/// A custom version follows the last one with the same number and word that isn't greater. If there is none, it follows the
/// last stable version up to its own number; `v0-…` follows the last stable version of all.
pub(super) fn last<'a>(channel: Channel, next: Option<&str>, all: &[&'a str]) -> Option<&'a str> {
    let own = all.iter().copied().filter(|version| check(channel, version).is_ok());
    let Some((major, word, number)) = next.filter(|_| channel == Channel::Custom).and_then(custom) else {
        return own.max_by_key(|version| order(channel, version));
    };
    let series = own.filter(|version| {
        custom(version).is_some_and(|(m, w, n)| (m, w.as_str()) == (major, word.as_str()) && n <= number)
    });
    let stable = all
        .iter()
        .copied()
        .filter(|version| stable(version).is_some_and(|(stable, ..)| major == 0 || stable <= major));
    series
        .max_by_key(|version| order(channel, version))
        .or_else(|| stable.max_by_key(|version| order(Channel::Stable, version)))
}

/// The version after `previous`, or the first version if there is none.
pub(super) fn next(channel: Channel, versioning: Versioning, previous: Option<&str>, bump: Bump) -> String {
    match (channel, versioning) {
        (Channel::Beta, _) => {
            format!("v0-beta.{}", previous.and_then(beta).map_or(0, |number| number) + 1)
        }
        (_, Versioning::Sequential) => {
            format!("v{}", previous.and_then(stable).map_or(0, |(major, ..)| major) + 1)
        }
        (_, Versioning::Semver) => match previous.and_then(stable) {
            None => "v1.0.0".to_owned(),
            Some((major, minor, patch)) => match bump {
                Bump::Major => format!("v{}.0.0", major + 1),
                Bump::Minor => format!("v{major}.{}.0", minor + 1),
                Bump::Patch => format!("v{major}.{minor}.{}", patch + 1),
            },
        },
    }
}

/// Parses `v7` or `v1.2.3`.
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
        assert_eq!(next(stable, sequential, None, Bump::Major), "v1");
        assert_eq!(next(stable, sequential, Some("v9"), Bump::Patch), "v10");
        assert_eq!(next(beta, sequential, None, Bump::Patch), "v0-beta.1");
        assert_eq!(next(beta, sequential, Some("v0-beta.2"), Bump::Patch), "v0-beta.3");
        let semver = |previous, bump| next(stable, Versioning::Semver, previous, bump);
        assert_eq!(semver(None, Bump::Patch), "v1.0.0");
        assert_eq!(semver(Some("v1.2.3"), Bump::Patch), "v1.2.4");
        assert_eq!(semver(Some("v1.2.3"), Bump::Minor), "v1.3.0");
        assert_eq!(semver(Some("v1.2.3"), Bump::Major), "v2.0.0");
        assert_eq!(semver(Some("v7"), Bump::Minor), "v7.1.0", "a stack that took up semantic versions");
    }

    #[test]
    fn numbers_are_compared_as_numbers() {
        assert!(order(Channel::Stable, "v10") > order(Channel::Stable, "v9"));
        assert!(order(Channel::Stable, "v1.10.0") > order(Channel::Stable, "v1.9.9"));
        assert!(order(Channel::Beta, "v0-beta.10") > order(Channel::Beta, "v0-beta.9"));
        assert!(order(Channel::Custom, "v7-hotfix.10") > order(Channel::Custom, "v7-hotfix.9"));
    }

    #[test]
    fn the_name_of_a_custom_version_says_what_it_follows() {
        let all =
            ["v6", "v7", "v8", "v7-hotfix.1", "v7-hotfix.2", "v7-hotfix.10", "v9-canary.1", "v0-beta.4"];
        let custom = |next| last(Channel::Custom, Some(next), &all);
        assert_eq!(custom("v7-hotfix.3"), Some("v7-hotfix.2"));
        assert_eq!(custom("v7-hotfix.2"), Some("v7-hotfix.2"), "it is there: is it the same?");
        assert_eq!(custom("v7-hotfix.11"), Some("v7-hotfix.10"));
        assert_eq!(custom("v7-other.1"), Some("v7"), "no other word");
        assert_eq!(custom("v8-hotfix.1"), Some("v8"));
        assert_eq!(custom("v9-next.1"), Some("v8"));
        assert_eq!(custom("v0-trial.1"), Some("v8"));
        assert_eq!(custom("v5-hotfix.1"), None);
        assert_eq!(
            last(Channel::Custom, Some("v1-hotfix.2"), &["v1.2.0", "v1.10.0", "v2.0.0"]),
            Some("v1.10.0")
        );
        assert_eq!(last(Channel::Stable, None, &all), Some("v8"));
        assert_eq!(last(Channel::Beta, None, &all), Some("v0-beta.4"));
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
