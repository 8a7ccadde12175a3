//! Kubernetes versions as Cluster API reads and compares them.
//!
//! Source: `util/version/version.go`, over `github.com/blang/semver/v4`.

use std::cmp::Ordering;
use std::fmt;

/// A version: three numbers, a pre-release and build identifiers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Version {
    pub major: u64,
    pub minor: u64,
    pub patch: u64,
    pre: Vec<Identifier>,
    build: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Identifier {
    Number(u64),
    Text(String),
}

/// The result of comparing two versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Known(Ordering),
    /// Their builds differ, so it is unknown which is newer.
    Unknown,
}

impl Version {
    /// Parses a strict semantic version, without a `v`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (rest, build) = match text.split_once('+') {
            Some((rest, build)) => (rest, identifiers(build)?),
            None => (text, Vec::new()),
        };
        let (numbers, pre) = match rest.split_once('-') {
            Some((numbers, pre)) => (numbers, pre_release(pre)?),
            None => (rest, Vec::new()),
        };
        let mut parts = numbers.split('.').map(number);
        let version =
            Self { major: parts.next()??, minor: parts.next()??, patch: parts.next()??, pre, build };
        parts.next().is_none().then_some(version)
    }

    /// Parses a version as leniently as upstream: with a `v`, or without a patch number.
    pub(crate) fn tolerant(text: &str) -> Option<Self> {
        let text = text.trim();
        let text = text.strip_prefix('v').unwrap_or(text);
        let mut parts: Vec<String> = text.splitn(3, '.').map(str::to_owned).collect();
        for part in &mut parts {
            let stripped = part.trim_start_matches('0');
            let is_number = stripped.starts_with(|c: char| c.is_ascii_digit());
            if part.len() > 1 {
                *part = if is_number { stripped.to_owned() } else { format!("0{stripped}") };
            }
        }
        if parts.len() < 3 && parts.last()?.contains(['+', '-']) {
            return None;
        }
        while parts.len() < 3 {
            parts.push("0".to_owned());
        }
        Self::parse(&parts.join("."))
    }

    /// Compares without build identifiers.
    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        let numbers = |version: &Self| (version.major, version.minor, version.patch);
        let releases = match (self.pre.is_empty(), other.pre.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => self.pre.cmp(&other.pre),
        };
        numbers(self).cmp(&numbers(other)).then(releases)
    }

    /// Compares with build identifiers.
    pub(crate) fn compare_builds(&self, other: &Self) -> Order {
        let order = self.compare(other);
        if order != Ordering::Equal {
            return Order::Known(order);
        }
        for (ours, theirs) in self.build.iter().zip(&other.build) {
            let order = match (ours.parse::<u64>(), theirs.parse::<u64>()) {
                (Ok(ours), Ok(theirs)) => ours.cmp(&theirs),
                (Ok(_), Err(_)) => Ordering::Less,
                (Err(_), Ok(_)) => Ordering::Greater,
                (Err(_), Err(_)) if ours == theirs => Ordering::Equal,
                (Err(_), Err(_)) => return Order::Unknown,
            };
            if order != Ordering::Equal {
                return Order::Known(order);
            }
        }
        Order::Known(self.build.len().cmp(&other.build.len()))
    }

    #[must_use]
    pub(crate) fn without_pre_release(&self) -> Self {
        Self { pre: Vec::new(), ..self.clone() }
    }

    /// The first version that is two minor versions ahead.
    #[must_use]
    pub(crate) fn ceiling(&self) -> Self {
        Self {
            major: self.major,
            minor: self.minor.saturating_add(2),
            patch: 0,
            pre: Vec::new(),
            build: Vec::new(),
        }
    }

    /// Reports whether this version is newer, or may be: upstream's comparison returns 1 or 2.
    pub(crate) fn exceeds(&self, other: &Self) -> bool {
        matches!(self.compare_builds(other), Order::Unknown | Order::Known(Ordering::Greater))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)?;
        for (at, identifier) in self.pre.iter().enumerate() {
            f.write_str(if at == 0 { "-" } else { "." })?;
            match identifier {
                Identifier::Number(number) => write!(f, "{number}")?,
                Identifier::Text(text) => f.write_str(text)?,
            }
        }
        if !self.build.is_empty() {
            write!(f, "+{}", self.build.join("."))?;
        }
        Ok(())
    }
}

fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let leading_zero = text.len() > 1 && text.starts_with('0');
    if digits && !leading_zero { text.parse().ok() } else { None }
}

fn identifiers(text: &str) -> Option<Vec<String>> {
    let fits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    text.split('.').map(|part| fits(part).then(|| part.to_owned())).collect()
}

fn pre_release(text: &str) -> Option<Vec<Identifier>> {
    identifiers(text)?
        .into_iter()
        .map(|part| {
            if part.bytes().all(|byte| byte.is_ascii_digit()) {
                number(&part).map(Identifier::Number)
            } else {
                Some(Identifier::Text(part))
            }
        })
        .collect()
}
