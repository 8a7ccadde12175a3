//! Versions, parsed and compared like `Masterminds/semver`.

use std::cmp::Ordering;
use std::fmt;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// A `semver.Version`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Version {
    pub(super) major: u64,
    pub(super) minor: u64,
    pub(super) patch: u64,
    pub(super) pre: String,
    pub(super) metadata: String,
    pub(super) original: String,
}

/// The versions that the library accepts, with optional `v`, minor and patch.
static LOOSE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let extra = r"[0-9A-Za-z\-]+(?:\.[0-9A-Za-z\-]+)*";
    Regex::new(&format!(r"^v?([0-9]+)(?:\.([0-9]+))?(?:\.([0-9]+))?(?:-({extra}))?(?:\+({extra}))?$")).ok()
});

fn group(captures: &Captures<'_>, index: usize) -> String {
    captures.get(index).map_or_else(String::new, |found| found.as_str().to_owned())
}

impl Version {
    /// `semver.NewVersion`
    pub(super) fn parse(text: &str) -> Result<Version, String> {
        let invalid = || "invalid semantic version".to_owned();
        let captures = LOOSE.as_ref().and_then(|loose| loose.captures(text)).ok_or_else(invalid)?;
        let segment = |index| match group(&captures, index).as_str() {
            "" => Ok(0),
            digits => digits.parse().map_err(|_| format!("error parsing version segment: {digits}")),
        };
        let pre = group(&captures, 4);
        if !valid_prerelease(&pre) {
            return Err("version segment starts with 0".to_owned());
        }
        Ok(Version {
            major: segment(1)?,
            minor: segment(2)?,
            patch: segment(3)?,
            pre,
            metadata: group(&captures, 5),
            original: text.to_owned(),
        })
    }

    /// Compares by precedence, ignoring metadata.
    pub(super) fn compare(&self, other: &Version) -> Ordering {
        let numbers = |version: &Version| (version.major, version.minor, version.patch);
        numbers(self).cmp(&numbers(other)).then_with(|| match (self.pre.is_empty(), other.pre.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => compare_prerelease(&self.pre, &other.pre),
        })
    }

    /// The version with other numbers and without pre-release and metadata. Keeps the `v` prefix.
    pub(super) fn next(&self, major: u64, minor: u64, patch: u64) -> Version {
        let next = Version {
            major,
            minor,
            patch,
            pre: String::new(),
            metadata: String::new(),
            original: self.original.clone(),
        };
        next.with_original()
    }

    /// Updates the original text to match the other fields.
    pub(super) fn with_original(mut self) -> Version {
        let prefix = if self.original.starts_with('v') { "v" } else { "" };
        self.original = format!("{prefix}{self}");
        self
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)?;
        if !self.pre.is_empty() {
            write!(f, "-{}", self.pre)?;
        }
        if !self.metadata.is_empty() {
            write!(f, "+{}", self.metadata)?;
        }
        Ok(())
    }
}

/// Whether a text is empty or a list of dot-separated identifiers.
pub(super) fn valid_identifiers(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    text.is_empty() || text.split('.').all(|part| !part.is_empty() && part.bytes().all(allowed))
}

/// Like [`valid_identifiers`], but numbers must not have leading zeros.
pub(super) fn valid_prerelease(text: &str) -> bool {
    let padded = |part: &str| {
        part.len() > 1 && part.starts_with('0') && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    valid_identifiers(text) && !text.split('.').any(padded)
}

/// Compares pre-releases part by part. Two empty ones are equal.
pub(super) fn compare_prerelease(left: &str, right: &str) -> Ordering {
    let (mut left, mut right) = (left.split('.'), right.split('.'));
    loop {
        let order = match (left.next(), right.next()) {
            (None, None) => return Ordering::Equal,
            (left, right) => compare_part(left.unwrap_or(""), right.unwrap_or("")),
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

/// Orders the absence of a part before numbers, and numbers before words.
fn compare_part(left: &str, right: &str) -> Ordering {
    if left == right || left.is_empty() || right.is_empty() {
        return left.len().cmp(&right.len());
    }
    let number = |text: &str| {
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        if digits { text.parse::<u64>().ok() } else { None }
    };
    match (number(left), number(right)) {
        (None, None) => left.cmp(right),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        // Different texts with equal numbers would need leading zeros, which are not allowed.
        (Some(left), Some(right)) => {
            if left > right {
                Ordering::Greater
            } else {
                Ordering::Less
            }
        }
    }
}
