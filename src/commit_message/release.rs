//! The message of a commit that adds or removes releases.

use std::fmt::Write as _;

use super::generated::{LISTED, SUBJECT};
use crate::world::LOCK;

/// Writes the message of a commit that adds releases, each with its impact on clusters.
pub fn releases_added(releases: &[(String, String)]) -> String {
    let names: Vec<_> = releases.iter().map(|(name, _)| name.as_str()).collect();
    let mut text = format!("{}\n\n", subject("release", &names));
    // Writing to a string cannot fail.
    for (name, meaning) in releases.iter().take(LISTED) {
        writeln!(text, "- {name}: {meaning}").ok();
    }
    if releases.len() > LISTED {
        writeln!(text, "- and {} more", releases.len() - LISTED).ok();
    }
    trailers(&mut text, &names);
    text
}

/// Writes the message of a commit that removes releases.
pub fn releases_removed(names: &[String]) -> String {
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let mut text = format!("{}\n\nNo cluster uses them.\n", subject("release prune", &names));
    trailers(&mut text, &names);
    text
}

/// A release that was imported from another repository.
#[derive(Clone, Debug)]
pub struct Pulled {
    /// The name of the release.
    pub name: String,
    /// The source, with the digest or tag.
    pub source: String,
    /// The digest of the release's folder.
    pub digest: String,
    /// Other details of the source: a commit, a key.
    pub remark: Option<String>,
}

/// Writes the message of a commit that imports releases, or restores their lost lock entries.
pub fn releases_pulled(releases: &[Pulled], relocked: &[String]) -> String {
    let names: Vec<_> = releases.iter().map(|one| &one.name).chain(relocked).map(String::as_str).collect();
    let mut text = format!("{}\n\n", subject("pull", &names));
    // Writing to a string cannot fail.
    for Pulled { name, source, remark, .. } in releases {
        let remark = remark.as_ref().map(|remark| format!(", {remark}")).unwrap_or_default();
        writeln!(text, "- {name} from {source}{remark}").ok();
    }
    for name in relocked {
        writeln!(text, "- {name} was already here; added to {LOCK}").ok();
    }
    if !releases.is_empty() {
        text.push('\n');
    }
    for Pulled { name, source, digest, .. } in releases {
        writeln!(text, "Stackloom-Release: {name}\nStackloom-Source: {source}\nStackloom-Digest: {digest}")
            .ok();
    }
    text
}

fn subject(what: &str, names: &[&str]) -> String {
    let subject = format!("{what}: {}", names.join(", "));
    if subject.chars().count() <= SUBJECT { subject } else { format!("{what}: {} releases", names.len()) }
}

fn trailers(text: &mut String, names: &[&str]) {
    text.push('\n');
    for name in names {
        writeln!(text, "Stackloom-Release: {name}").ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_where_they_fit_and_numbers_where_they_do_not() {
        let one = [("docker-scs-1-35-v2".to_owned(), "addons change".to_owned())];
        assert_eq!(
            releases_added(&one),
            "release: docker-scs-1-35-v2\n\n- docker-scs-1-35-v2: addons change\n\nStackloom-Release: docker-scs-1-35-v2\n"
        );
        let pulled = Pulled {
            name: "docker-scs-1-35-v2".to_owned(),
            source: "oci://r.example.org/s@sha256:a".to_owned(),
            digest: "sha256:b".to_owned(),
            remark: Some("signed with cosign.pub".to_owned()),
        };
        assert_eq!(
            releases_pulled(&[pulled], &[]),
            "pull: docker-scs-1-35-v2\n\n- docker-scs-1-35-v2 from oci://r.example.org/s@sha256:a, signed with cosign.pub\n\n\
             Stackloom-Release: docker-scs-1-35-v2\nStackloom-Source: oci://r.example.org/s@sha256:a\nStackloom-Digest: sha256:b\n"
        );
        let many: Vec<_> = (0..30).map(|number| format!("openstack-scs-1-35-v{number}")).collect();
        assert!(releases_removed(&many).starts_with("release prune: 30 releases\n"));
    }
}
