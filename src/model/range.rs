//! Version ranges as in Helm charts: the semantics of Masterminds/semver v3, which [`gotmpl`] implements.
//!
//! Alternatives are joined by `||`, and the comparisons of one alternative by commas or spaces. Missing parts are wildcards:
//! `>1.34` means 1.35 and later, `<=1.34` includes every 1.34. A pre-release matches only if the comparison names one.

use std::{fmt, sync::Arc};

use gotmpl::{Bound, Constraint, Operator};
use semver::{Prerelease, Version};

/// A set of versions.
#[derive(Clone)]
pub struct VersionRange {
    text: String,
    constraint: Arc<Constraint>,
    /// The comparisons in the form that the digests of releases use.
    alternatives: Vec<Vec<Comparison>>,
}

/// A comparison with a version, parts of which may be missing.
#[derive(Clone, Debug)]
struct Comparison {
    operator: Operator,
    major: Option<u64>,
    minor: Option<u64>,
    patch: Option<u64>,
    pre: Prerelease,
}

impl VersionRange {
    /// Parses a range. The error names the invalid piece.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let constraint = Constraint::parse(text).map_err(|_| fault(text))?;
        let alternatives =
            constraint.alternatives().map(|all| all.map(Comparison::of).collect::<Option<_>>());
        let alternatives = alternatives.collect::<Option<_>>().ok_or_else(|| fault(text))?;
        Ok(Self { text: text.to_owned(), constraint: Arc::new(constraint), alternatives })
    }

    /// Reads the `kubeVersion` of a chart as Helm does: if it cannot be parsed, Helm never installs the chart, so the range
    /// contains no version.
    ///
    /// Source: Helm, `IsCompatibleRange` of `pkg/chart/v2/util/compatible.go`.
    pub fn of_chart(text: &str) -> Self {
        Self::parse(text).unwrap_or_else(|_| {
            let constraint = Constraint::parse(text).or_else(|_| Constraint::parse("<0.0.0"));
            let constraint = Arc::new(constraint.expect("it is a range"));
            Self { text: text.trim().to_owned(), constraint, alternatives: Vec::new() }
        })
    }

    /// The same range in canonical form, which frozen stacks use: single spaces, no commas, no space after an operator.
    #[must_use]
    pub fn canonical(&self) -> Self {
        let alternatives: Vec<_> = self.text.split("||").map(canonical_alternative).collect();
        Self { text: alternatives.join(" || "), ..self.clone() }
    }

    /// Reports whether a version is newer than all versions of the range.
    pub fn is_exceeded_by(&self, version: &Version) -> bool {
        let ends_before = |one: &Comparison| {
            let bound = [one.major, one.minor, one.patch].map(Option::unwrap_or_default);
            let has_end =
                !matches!(one.operator, Operator::Greater | Operator::GreaterOrEqual | Operator::NotEqual);
            has_end && one.major.is_some() && bound <= [version.major, version.minor, version.patch]
        };
        !self.contains(version) && self.alternatives.iter().all(|all| all.iter().any(ends_before))
    }

    /// Reports whether no version at all is in the range, such as `>=1.37 <1.36`. Of ranges that name pre-releases, it is not
    /// known, and the answer is no.
    pub fn is_empty(&self) -> bool {
        let all: Vec<&Comparison> = self.alternatives.iter().flatten().collect();
        if all.iter().any(|one| !one.pre.is_empty()) {
            return false;
        }
        // The least version of a range is 0.0.0, or one of these.
        let least = |one: &Comparison| {
            let [major, minor, patch] = [one.major, one.minor, one.patch].map(Option::unwrap_or_default);
            [
                (major, minor, patch),
                (major, minor, patch.saturating_add(1)),
                (major, minor.saturating_add(1), 0),
                (major.saturating_add(1), 0, 0),
            ]
        };
        let mut candidates = all.into_iter().flat_map(least).chain([(0, 0, 0)]);
        !candidates.any(|(major, minor, patch)| self.contains(&Version::new(major, minor, patch)))
    }

    pub fn contains(&self, version: &Version) -> bool {
        self.constraint.allows([version.major, version.minor, version.patch], &version.pre)
    }
}

/// The form that the digests of releases are computed from. It must never change.
impl fmt::Debug for VersionRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, constraint: _, alternatives } = self;
        f.debug_struct("VersionRange").field("text", text).field("alternatives", alternatives).finish()
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
        let after_word = canonical.chars().next_back().is_some_and(|last| !is_sign(last));
        // The dash of `1.2 - 1.4` has a space on both sides.
        let dash = word == "-" || canonical.ends_with(" -");
        canonical.extend((after_word || dash).then_some(' '));
        canonical.push_str(word);
    }
    canonical
}

fn is_sign(c: char) -> bool {
    "=!<>~^".contains(c)
}

impl Comparison {
    fn of(bound: Bound<'_>) -> Option<Self> {
        let Bound { operator, major, minor, patch, pre, .. } = bound;
        Some(Self { operator, major, minor, patch, pre: Prerelease::new(pre).ok()? })
    }
}

/// Says which piece of a text makes it no range.
fn fault(text: &str) -> String {
    for alternative in text.split("||") {
        let Some(pieces) = comparisons(alternative) else {
            return format!("`{}` has no version to compare with", alternative.trim());
        };
        if let Some(piece) = pieces.iter().find(|piece| Constraint::parse(piece).is_err()) {
            return format!("`{piece}` is not a version comparison");
        }
    }
    format!("`{text}` is not a version range")
}

/// The comparisons of an alternative, as written. A space may separate an operator from its version: `>= 1.2`.
fn comparisons(alternative: &str) -> Option<Vec<String>> {
    let joined = alternative.replace(',', " ");
    let mut pieces = Vec::new();
    let mut operator = String::new();
    for word in joined.split_whitespace().filter(|word| *word != "-") {
        operator.push_str(word);
        if !word.chars().all(is_sign) {
            pieces.push(std::mem::take(&mut operator));
        }
    }
    (operator.is_empty() && !pieces.is_empty()).then_some(pieces)
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
    fn a_kube_version_that_cannot_be_parsed_fits_no_version() {
        let contains = |text: &str| VersionRange::of_chart(text).contains(&Version::new(1, 36, 4));
        assert!(contains(">=1.30.0-0") && !contains(">=1.37") && !contains("nonsense"));
        assert_eq!(VersionRange::of_chart(" nonsense ").to_string(), "nonsense");
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
        check("!=*", &["1.0.0"], &["0.0.0"]);
        check(">=1.30.0-0", &["1.31.0-rc.1"], &["1.29.0"]);
    }

    #[test]
    fn a_range_ends_before_a_version_or_not() {
        let is_exceeded = |range: &str, version: &str| {
            VersionRange::parse(range).unwrap().is_exceeded_by(&Version::parse(version).unwrap())
        };
        for range in
            [">=1.14 <1.16", "<=1.15", "~1.15.2", "^1.15", "1.15.x", "1.14 - 1.15", "1.14.x || 1.15.x"]
        {
            assert!(is_exceeded(range, "2.0.0"), "{range}");
            assert!(!is_exceeded(range, "1.13.0"), "{range}");
        }
        for range in [">=1.14", "1.14.x || >=3", "!=2.0.0", "*"] {
            assert!(!is_exceeded(range, "2.0.0"), "{range}");
        }
    }

    #[test]
    fn a_range_without_versions_is_empty() {
        for range in
            [">=1.37 <1.36", ">1.34 <1.35", "=1.2.3 !=1.2.3", "~1.2 >=1.3", "<0.0.0", "<1.2 >1.4 || >2 <2"]
        {
            assert!(VersionRange::parse(range).unwrap().is_empty(), "{range}");
        }
        for range in [
            ">=1.36 <1.37",
            ">1.34 <1.36",
            ">1.2.3 <1.2.5",
            "<1.0.0",
            "!=1.2.3",
            "!=1.2",
            "*",
            "^0.2.3",
            "1.2 - 1.2",
            ">2 <2 || 1.5.x",
            ">=1.2.3-rc.1 <1.2.3-rc.2",
        ] {
            assert!(!VersionRange::parse(range).unwrap().is_empty(), "{range}");
        }
    }

    #[test]
    fn invalid_ranges_are_named() {
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
            assert_eq!(format!("{:?}", found.alternatives), format!("{:?}", again.alternatives), "{written}");
        }
    }
}
