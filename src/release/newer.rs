//! Finds releases in other repositories that are newer than the local ones, and the clusters that could use them.

use std::collections::{BTreeMap, BTreeSet};

use super::{ReleaseList, number};
use crate::{
    definition::Channel,
    model::{ClusterId, Minor, StackId},
};

/// A release that is not in this repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Newer {
    /// Its name there, such as `openstack-scs-1-35-v7`.
    pub name: String,
    pub stack: StackId,
    /// Its Kubernetes minor.
    pub minor: Minor,
    pub channel: Channel,
    /// The newest local release of its stack, minor and channel.
    pub here: Option<String>,
    /// The clusters that use an older release of the same stack, minor and channel.
    pub clusters: Vec<ClusterId>,
}

/// The parsed name of a numbered release.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ParsedName {
    stack: StackId,
    minor: Minor,
    channel: u8,
    version: String,
}

/// The key of a sequence of releases: stack, minor, channel (its index in `CHANNELS`), and the sequence within the channel.
type Line = (StackId, Minor, u8, String);

const CHANNELS: [Channel; 3] = [Channel::Stable, Channel::Beta, Channel::Custom];

/// Selects the names of releases that are newer than all local ones of their stack, minor and channel (for `custom`, of
/// their word). If there is no local one, selects the newest. A non-empty `stacks` limits the result.
pub fn newer(names: &[String], stacks: &BTreeSet<StackId>, release_list: &ReleaseList) -> Vec<Newer> {
    let mut groups: BTreeMap<Line, Vec<(String, String)>> = BTreeMap::new();
    for name in names {
        let Some(ParsedName { stack, minor, channel, version }) = named(name) else { continue };
        if stacks.is_empty() || stacks.contains(&stack) {
            let line = number::line(CHANNELS[usize::from(channel)], &version);
            groups.entry((stack, minor, channel, line)).or_default().push((version, name.clone()));
        }
    }
    let mut found = Vec::new();
    for ((stack, minor, channel, line), mut versions) in groups {
        let channel = CHANNELS[usize::from(channel)];
        versions.sort_by_cached_key(|(version, _)| number::order(channel, version));
        let is_own = |release: &super::Release| {
            (&release.stack, release.kubernetes.minor(), release.channel) == (&stack, minor, channel)
                && number::line(channel, &release.version) == line
        };
        let own: Vec<_> = release_list.listed.iter().filter(|one| is_own(&one.release)).collect();
        let newest = own.iter().max_by_key(|one| number::order(channel, &one.release.version));
        if newest.is_none() {
            versions.drain(..versions.len() - 1);
        }
        for (version, name) in versions {
            let order = number::order(channel, &version);
            let is_older = |one: &&super::Listed| number::order(channel, &one.release.version) < order;
            if newest.is_some_and(|newest| !is_older(newest)) || release_list.refused.contains(&name) {
                continue;
            }
            let clusters: BTreeSet<_> =
                own.iter().copied().filter(is_older).flat_map(|one| &one.clusters).collect();
            found.push(Newer {
                name,
                stack: stack.clone(),
                minor,
                channel,
                here: newest.map(|one| one.release.name.clone()),
                clusters: clusters.into_iter().cloned().collect(),
            });
        }
    }
    found
}

/// Selects the newest of the numbered releases of a stack and minor, by name: the newest stable one, or else the newest
/// beta, or else the newest custom one.
pub fn newest<'a>(names: &'a [String], stack: &StackId, minor: Minor) -> Option<&'a str> {
    let of_stack = names.iter().filter_map(|name| Some((name, named(name)?)));
    let mut found: Vec<_> = of_stack.filter(|(_, one)| (&one.stack, one.minor) == (stack, minor)).collect();
    let first = found.iter().map(|(_, one)| one.channel).min()?;
    found.retain(|(_, one)| one.channel == first);
    let order = |one: &ParsedName| number::order(CHANNELS[usize::from(one.channel)], &one.version);
    found.into_iter().max_by_key(|(_, one)| order(one)).map(|(name, _)| name.as_str())
}

/// Whether a numbered release belongs to the stable channel, judged by its name.
pub fn is_stable(name: &str) -> bool {
    named(name).is_some_and(|one| CHANNELS[usize::from(one.channel)] == Channel::Stable)
}

/// The stack and minor of a numbered release, parsed from its name.
pub fn stack_and_minor(name: &str) -> Option<(StackId, Minor)> {
    named(name).map(|one| (one.stack, one.minor))
}

/// Parses the name of a numbered release; none if it is invalid.
fn named(name: &str) -> Option<ParsedName> {
    let mut parts = name.splitn(5, '-');
    let stack = StackId::new(parts.next()?, parts.next()?).ok()?;
    let minor = Minor::parse_dashed(&format!("{}-{}", parts.next()?, parts.next()?))?;
    let version = parts.next()?.to_owned();
    let channel = CHANNELS.iter().position(|channel| number::check(*channel, &version).is_ok())?;
    Some(ParsedName { stack, minor, channel: u8::try_from(channel).ok()?, version })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_release_is_the_newest_stable_one() {
        let names =
            ["v9", "v10", "v0-beta.12", "v10-hotfix.1"].map(|version| format!("docker-scs-1-35-{version}"));
        let stack = StackId::parse("docker/scs").unwrap();
        let minor = Minor { major: 1, minor: 35 };
        assert_eq!(newest(&names, &stack, minor), Some("docker-scs-1-35-v10"));
        assert_eq!(newest(&names[2..], &stack, minor), Some("docker-scs-1-35-v0-beta.12"));
        assert_eq!(newest(&names[3..], &stack, minor), Some("docker-scs-1-35-v10-hotfix.1"));
        assert_eq!(newest(&names, &stack, Minor { major: 1, minor: 36 }), None);
    }

    #[test]
    fn a_name_says_stack_minor_channel_and_version() {
        for (name, expected) in [
            ("openstack-scs-1-35-v7", Some(("openstack/scs", "1.35", 0, "v7"))),
            ("openstack-scs-1-35-v1.2.3", Some(("openstack/scs", "1.35", 0, "v1.2.3"))),
            ("docker-scs-1-35-v0-beta.2", Some(("docker/scs", "1.35", 1, "v0-beta.2"))),
            ("docker-scs-1-35-v7-hotfix.1", Some(("docker/scs", "1.35", 2, "v7-hotfix.1"))),
            ("docker-scs-1-35-v0-sha.a1b2c3d4", None),
            ("v1.2.3", None),
            ("release-2026", None),
        ] {
            let found = named(name)
                .map(|one| (one.stack.to_string(), one.minor.to_string(), one.channel, one.version));
            let expected = expected.map(|(stack, minor, channel, version): (&str, &str, u8, &str)| {
                (stack.to_owned(), minor.to_owned(), channel, version.to_owned())
            });
            assert_eq!(found, expected, "{name}");
        }
    }
}
