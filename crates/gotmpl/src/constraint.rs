//! Version constraints as implemented by `Masterminds/semver`.

use std::cmp::Ordering;
use std::sync::LazyLock;

use regex::Regex;

use super::version::{Version, compare_prerelease};

/// A version with wildcards, as used in constraints.
const VERSION: &str = r"v?([0-9|x|X|\*]+)(\.[0-9|x|X|\*]+)?(\.[0-9|x|X|\*]+)?(-([0-9A-Za-z\-]+(\.[0-9A-Za-z\-]+)*))?(\+([0-9A-Za-z\-]+(\.[0-9A-Za-z\-]+)*))?";
/// The operators in the order in which the library tries them.
const OPERATORS: &str = r"=||!=|>|<|>=|=>|<=|=<|~|~>|\^";
/// Go's `\s`.
const BLANK: &str = r"[\t\n\f\r ]";

static ONE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(&format!("^{BLANK}*({OPERATORS}){BLANK}*({VERSION}){BLANK}*$")).ok());
static RANGE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(&format!("{BLANK}*({VERSION}){BLANK}+-{BLANK}+({VERSION}){BLANK}*")).ok());
static FIND: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(&format!("({OPERATORS}){BLANK}*({VERSION})")).ok());
static VALID: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(&format!(
        "^({BLANK}*({OPERATORS}){BLANK}*({VERSION}){BLANK}*)((?:{BLANK}+|,{BLANK}*)({OPERATORS}){BLANK}*({VERSION}){BLANK}*)*$"
    ))
    .ok()
});

/// A range of versions with the semantics of `Masterminds/semver` v3.4.0, which Helm and sprig use. It consists of
/// alternatives; each is a list of comparisons that must all hold.
///
/// ```
/// let range = gotmpl::Constraint::parse(">=1.32 <1.37 || ~1.40.2").expect("a range");
/// assert!(range.allows([1, 36, 6], ""));
/// assert!(!range.allows([1, 36, 6], "rc.1"), "only a range that names a pre-release allows one");
/// assert!(gotmpl::Constraint::parse("newest").is_err());
/// ```
#[derive(Debug)]
pub struct Constraint {
    groups: Vec<Group>,
}

#[derive(Debug)]
struct Group {
    comparisons: Vec<Comparison>,
    /// Whether a comparison names a pre-release, which makes pre-releases eligible.
    has_pre: bool,
}

/// The operator of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// `=`, or none.
    Equal,
    /// `!=`
    NotEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `~`
    Tilde,
    /// `^`
    Caret,
}

/// A comparison of a range. Parts that are missing or wildcards are none, and so are those after them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Bound<'a> {
    /// How a version compares with the bound.
    pub operator: Operator,
    /// The major version.
    pub major: Option<u64>,
    /// The minor version.
    pub minor: Option<u64>,
    /// The patch version.
    pub patch: Option<u64>,
    /// The pre-release; empty if there is none.
    pub pre: &'a str,
}

#[derive(Debug)]
struct Comparison {
    operator: Operator,
    version: Version,
    /// Whether any part is missing or a wildcard.
    dirty: bool,
    /// Whether the minor version is missing or a wildcard.
    minor_dirty: bool,
    /// Whether the patch version is missing or a wildcard.
    patch_dirty: bool,
}

impl Constraint {
    /// Parses a range.
    ///
    /// # Errors
    ///
    /// The message of `semver.NewConstraint` if the text is not a range.
    pub fn parse(text: &str) -> Result<Constraint, String> {
        let improper = |text: &str| format!("improper constraint: {text}");
        let text = rewrite_ranges(text);
        let mut groups = Vec::new();
        for part in text.split("||") {
            if !VALID.as_ref().is_some_and(|valid| valid.is_match(part)) {
                return Err(improper(part));
            }
            let mut comparisons = Vec::new();
            if let Some(find) = FIND.as_ref() {
                for found in find.find_iter(part) {
                    comparisons.push(Comparison::parse(found.as_str())?);
                }
            }
            let has_pre = comparisons.iter().any(|comparison| !comparison.version.pre.is_empty());
            groups.push(Group { comparisons, has_pre });
        }
        Ok(Constraint { groups })
    }

    /// Reports whether the range contains a version, given as major, minor and patch with its pre-release (or an empty
    /// text). Build metadata is ignored.
    pub fn allows(&self, [major, minor, patch]: [u64; 3], pre: &str) -> bool {
        let (pre, metadata, original) = (pre.to_owned(), String::new(), String::new());
        self.check(&Version { major, minor, patch, pre, metadata, original })
    }

    /// The comparisons of each alternative, for programs that ask more about a range than what it contains.
    ///
    /// ```
    /// let range = gotmpl::Constraint::parse("1.2 - 1.4 || ^2").expect("a range");
    /// let minors = range.alternatives().map(|all| all.map(|one| one.minor).collect::<Vec<_>>());
    /// assert_eq!(minors.collect::<Vec<_>>(), [vec![Some(2), Some(4)], vec![None]]);
    /// ```
    pub fn alternatives(&self) -> impl Iterator<Item = impl Iterator<Item = Bound<'_>>> {
        self.groups.iter().map(|group| group.comparisons.iter().map(Comparison::bound))
    }

    /// Whether a version satisfies one of the alternatives.
    pub(super) fn check(&self, version: &Version) -> bool {
        self.groups.iter().any(|group| {
            (version.pre.is_empty() || group.has_pre)
                && group.comparisons.iter().all(|comparison| comparison.holds(version))
        })
    }
}

/// Rewrites `1.2 - 1.4` as two comparisons.
fn rewrite_ranges(text: &str) -> String {
    let mut out = text.to_owned();
    let Some(range) = RANGE.as_ref() else { return out };
    for captures in range.captures_iter(text) {
        let part = |index: usize| captures.get(index).map_or("", |found| found.as_str());
        let comparisons = format!(">= {}, <= {} ", part(1), part(11));
        out = out.replacen(part(0), &comparisons, 1);
    }
    out
}

fn is_wild(text: &str) -> bool {
    matches!(text.trim_start_matches('.'), "" | "x" | "X" | "*")
}

impl Comparison {
    fn parse(text: &str) -> Result<Comparison, String> {
        let captures = ONE.as_ref().and_then(|one| one.captures(text));
        let captures = captures.ok_or_else(|| format!("improper constraint: {text}"))?;
        let part = |index: usize| captures.get(index).map_or("", |found| found.as_str());
        let (major, minor, patch, pre) = (part(3), part(4), part(5), part(6));
        let (version, minor_dirty, patch_dirty) = if is_wild(major) {
            (format!("0.0.0{pre}"), false, false)
        } else if is_wild(minor) {
            (format!("{major}.0.0{pre}"), true, false)
        } else if is_wild(patch) {
            (format!("{major}{minor}.0{pre}"), false, true)
        } else {
            (part(2).to_owned(), false, false)
        };
        let dirty = is_wild(major) || minor_dirty || patch_dirty;
        let version = Version::parse(&version).map_err(|_| "constraint parser error".to_owned())?;
        let operator = match part(1) {
            "!=" => Operator::NotEqual,
            ">" => Operator::Greater,
            "<" => Operator::Less,
            ">=" | "=>" => Operator::GreaterOrEqual,
            "<=" | "=<" => Operator::LessOrEqual,
            "^" => Operator::Caret,
            "~" | "~>" => Operator::Tilde,
            _ => Operator::Equal,
        };
        Ok(Comparison { operator, version, dirty, minor_dirty, patch_dirty })
    }

    fn bound(&self) -> Bound<'_> {
        let Self { operator, version, dirty, minor_dirty, patch_dirty } = self;
        let has_major = !dirty || *minor_dirty || *patch_dirty;
        let has_minor = has_major && !minor_dirty;
        Bound {
            operator: *operator,
            major: has_major.then_some(version.major),
            minor: has_minor.then_some(version.minor),
            patch: (has_minor && !patch_dirty).then_some(version.patch),
            pre: &version.pre,
        }
    }

    fn holds(&self, version: &Version) -> bool {
        let order = version.compare(&self.version);
        match self.operator {
            Operator::Equal if !self.dirty => order == Ordering::Equal,
            Operator::NotEqual => self.differs(version),
            Operator::Greater => self.is_above(version),
            Operator::Less => order == Ordering::Less,
            Operator::GreaterOrEqual => order != Ordering::Less,
            Operator::LessOrEqual => self.is_at_most(version),
            Operator::Caret => self.caret(version),
            Operator::Equal | Operator::Tilde => self.tilde(version),
        }
    }

    fn differs(&self, version: &Version) -> bool {
        let other = &self.version;
        if self.dirty {
            if other.major != version.major {
                return true;
            }
            if self.minor_dirty {
                return false;
            }
            if other.minor != version.minor {
                return true;
            }
            if self.patch_dirty {
                return compare_prerelease(&version.pre, &other.pre) != Ordering::Equal;
            }
            if other.patch != version.patch {
                return true;
            }
        }
        version.compare(other) != Ordering::Equal
    }

    fn is_above(&self, version: &Version) -> bool {
        let other = &self.version;
        if self.dirty {
            match version.major.cmp(&other.major) {
                Ordering::Greater => return true,
                Ordering::Less => return false,
                Ordering::Equal if self.minor_dirty => return false,
                Ordering::Equal if self.patch_dirty => {
                    return version.minor > other.minor;
                }
                Ordering::Equal => {}
            }
        }
        version.compare(other) == Ordering::Greater
    }

    fn is_at_most(&self, version: &Version) -> bool {
        let other = &self.version;
        if !self.dirty {
            return version.compare(other) != Ordering::Greater;
        }
        let beyond_minor = version.minor > other.minor && !self.minor_dirty;
        version.major < other.major || version.major == other.major && !beyond_minor
    }

    fn tilde(&self, version: &Version) -> bool {
        let other = &self.version;
        if version.compare(other) == Ordering::Less {
            return false;
        }
        let zero = (other.major, other.minor, other.patch) == (0, 0, 0);
        if zero && !self.minor_dirty && !self.patch_dirty {
            return true;
        }
        version.major == other.major && (version.minor == other.minor || self.minor_dirty)
    }

    fn caret(&self, version: &Version) -> bool {
        let other = &self.version;
        if version.compare(other) == Ordering::Less {
            return false;
        }
        if other.major > 0 || self.minor_dirty {
            return version.major == other.major;
        }
        if version.major > 0 {
            return false;
        }
        if other.minor > 0 || self.patch_dirty {
            return version.minor == other.minor;
        }
        version.minor == 0 && other.patch == version.patch
    }
}
