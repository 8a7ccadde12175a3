//! Version ranges as Helm charts write them: the semantics of Masterminds/semver v3, which [`gotmpl`] implements.
//!
//! Alternatives are joined by `||`; the comparisons of one alternative by commas or spaces. Missing parts are wildcards:
//! `>1.34` means 1.35 and later, `<=1.34` every 1.34. Pre-releases match only where the comparison names one.

use std::{fmt, sync::Arc};

use gotmpl::Constraint;
use semver::Version;

/// A set of versions.
#[derive(Clone, Debug)]
pub struct VersionRange {
    text: String,
    constraint: Arc<Constraint>,
}

impl VersionRange {
    /// Reads a range; the error names the alternative that cannot be read.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        match Constraint::parse(text) {
            Ok(constraint) => Ok(Self { text: text.to_owned(), constraint: Arc::new(constraint) }),
            Err(_) => {
                let is_wrong = |part: &&str| Constraint::parse(part).is_err();
                let wrong = text.split("||").find(is_wrong).unwrap_or(text).trim();
                Err(format!("`{wrong}` is not a version range"))
            }
        }
    }

    /// The same range in the one form in which stacks are frozen: single spaces, no commas, operators at their versions.
    #[must_use]
    pub fn canonical(&self) -> Self {
        let alternatives: Vec<_> = self.text.split("||").map(canonical_alternative).collect();
        Self { text: alternatives.join(" || "), constraint: Arc::clone(&self.constraint) }
    }

    /// Whether a version is in it.
    pub fn contains(&self, version: &Version) -> bool {
        self.constraint.allows([version.major, version.minor, version.patch], &version.pre)
    }
}

impl PartialEq for VersionRange {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl fmt::Display for VersionRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn canonical_alternative(text: &str) -> String {
    let joined = text.replace(',', " ");
    let mut canonical = String::new();
    for word in joined.split_whitespace() {
        let apart = canonical.chars().next_back().is_some_and(|last| !is_sign(last));
        // The dash of `1.2 - 1.4` stands apart on both sides.
        let dash = word == "-" || canonical.ends_with(" -");
        canonical.extend((apart || dash).then_some(' '));
        canonical.push_str(word);
    }
    canonical
}

fn is_sign(c: char) -> bool {
    "=!<>~^".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(range: &str, inside: &[&str], outside: &[&str]) {
        let range = VersionRange::parse(range).expect(range);
        for (versions, expected) in [(inside, true), (outside, false)] {
            for version in versions {
                let version = Version::parse(version).expect("a version");
                assert_eq!(range.contains(&version), expected, "{version} in {range}");
            }
        }
    }

    #[test]
    fn ranges_are_those_of_masterminds_semver() {
        check(">=1.32 <1.37", &["1.32.0", "1.36.6"], &["1.31.9", "1.37.0", "1.35.0-rc.1"]);
        check(">=0.1, <0.2", &["0.1.0", "0.1.9"], &["0.2.0"]);
        check("<0.6.4", &["0.6.3"], &["0.6.4"]);
        check(">1.34", &["1.35.0"], &["1.34.13"]);
        check("<=1.34", &["1.34.13"], &["1.35.0"]);
        check("1.34.x || >= 1.36", &["1.34.2", "1.36.0"], &["1.35.1"]);
        check("~1.2.3", &["1.2.3", "1.2.9"], &["1.3.0", "1.2.2"]);
        check("^0.2.3", &["0.2.3", "0.2.9"], &["0.3.0"]);
        check("^1", &["1.0.0", "1.9.0"], &["2.0.0"]);
        check("1.2 - 1.4.5", &["1.2.0", "1.4.5"], &["1.4.6"]);
        check("!=1.35.1", &["1.35.0"], &["1.35.1"]);
        check("*", &["0.0.1", "9.9.9"], &[]);
        check(">=1.30.0-0", &["1.31.0-rc.1"], &["1.29.0"]);
    }

    #[test]
    fn what_is_no_range_is_named() {
        for bad in ["", ">=", "one", ">=1.2.3.4", "1.2.x.4", "<1.2 ||", "=<>1"] {
            assert!(VersionRange::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_range_has_one_form() {
        for (written, canonical) in [
            (">=1.32  <1.37", ">=1.32 <1.37"),
            (" >= 1.32,<1.37 ", ">=1.32 <1.37"),
            (">=1.32 , < 1.37||  =1.38", ">=1.32 <1.37 || =1.38"),
            ("1.30 -  1.32", "1.30 - 1.32"),
            ("!= 1.33.1", "!=1.33.1"),
            (">=1.32 <1.37", ">=1.32 <1.37"),
        ] {
            let found = VersionRange::parse(written).unwrap().canonical();
            assert_eq!(found.to_string(), canonical, "{written}");
            let again = VersionRange::parse(canonical).unwrap();
            assert_eq!(format!("{:?}", found.constraint), format!("{:?}", again.constraint), "{written}");
        }
    }
}
