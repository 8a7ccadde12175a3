//! Names that Kubernetes accepts.

use std::{fmt, sync::Arc};

use sha2::{Digest, Sha256};

/// Why a text is not a valid name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameFault {
    /// The text is empty.
    Empty,
    /// The text is longer than the limit.
    TooLong {
        /// The actual length.
        length: usize,
        /// The greatest permitted length.
        limit: usize,
    },
    /// The text contains a character that is not allowed.
    Character(char),
    /// The text, or a label within it, begins or ends with a character that is not allowed there.
    Edge,
}

impl fmt::Display for NameFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("it is empty"),
            Self::TooLong { length, limit } => {
                write!(f, "it has {length} characters, and Kubernetes allows {limit}")
            }
            Self::Character(c) => write!(f, "it must not contain `{c}`"),
            Self::Edge => f.write_str("it must begin and end with a lower-case letter or a digit"),
        }
    }
}

/// The greatest length of a DNS label and of a Kubernetes label value.
const LABEL_LIMIT: usize = 63;
/// Whether a text is a valid key of a Kubernetes label, annotation or finalizer: a name, with a domain before it if it has a slash.
pub fn is_label_key(key: &str) -> bool {
    let is_name = |name: &str| !name.is_empty() && is_label_value(name);
    match key.split_once('/') {
        Some((domain, name)) => Subdomain::new(domain).is_ok() && is_name(name),
        None => is_name(key),
    }
}

/// Whether a text is a valid value of a Kubernetes label.
pub fn is_label_value(text: &str) -> bool {
    let edge = |c: Option<char>| c.is_none_or(|c| c.is_ascii_alphanumeric());
    text.len() <= LABEL_LIMIT
        && edge(text.chars().next())
        && edge(text.chars().last())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

/// The greatest length of a DNS subdomain, the form of most object names.
const SUBDOMAIN_LIMIT: usize = 253;

fn check(text: &str, limit: usize, dots: bool) -> Result<(), NameFault> {
    if text.is_empty() {
        return Err(NameFault::Empty);
    }
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || (dots && c == '.');
    if let Some(c) = text.chars().find(|c| !allowed(*c)) {
        return Err(NameFault::Character(c));
    }
    let edge = |part: &str| part.is_empty() || part.starts_with('-') || part.ends_with('-');
    if text.split('.').any(edge) {
        return Err(NameFault::Edge);
    }
    let length = text.len();
    if length > limit { Err(NameFault::TooLong { length, limit }) } else { Ok(()) }
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $limit:expr, $dots:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Validates a text as such a name.
            pub fn new(text: &str) -> Result<Self, NameFault> {
                check(text, $limit, $dots).map(|()| Self(text.into()))
            }

            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name!(
    /// A DNS label: lower-case letters, digits and dashes, at most 63 characters.
    Label,
    LABEL_LIMIT,
    false
);
name!(
    /// A DNS subdomain: labels joined by dots, at most 253 characters.
    Subdomain,
    SUBDOMAIN_LIMIT,
    true
);

/// The identity of a stack: its provider and its name. Neither contains a dash, so that release names can be split.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StackId {
    /// The infrastructure provider.
    pub provider: Arc<str>,
    pub name: Arc<str>,
}

impl StackId {
    /// Accepts a provider and a stack name if both consist of lower-case letters and digits.
    pub fn new(provider: &str, name: &str) -> Result<Self, NameFault> {
        for part in [provider, name] {
            check(part, LABEL_LIMIT, false)?;
            if part.contains('-') {
                return Err(NameFault::Character('-'));
            }
        }
        Ok(Self { provider: provider.into(), name: name.into() })
    }

    /// Parses `<provider>/<stack>`.
    pub fn parse(text: &str) -> Option<Self> {
        let (provider, name) = text.split_once('/')?;
        Self::new(provider, name).ok()
    }
}

impl fmt::Display for StackId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider, self.name)
    }
}

/// Encodes bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: [u8; 16] = *b"0123456789abcdef";
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Shortens a name to 63 characters, the limit of label values, because Flux uses names as label values. A name that fits is
/// returned unchanged. A longer one is cut and made unique with a hash of the whole name.
pub fn shortened(name: &str) -> String {
    const HASH: usize = 8;
    if name.len() <= LABEL_LIMIT {
        return name.to_owned();
    }
    let digest = Sha256::digest(name.as_bytes());
    let hash = hex(&digest[..HASH / 2]);
    let cut = name[..LABEL_LIMIT - HASH - 1].trim_end_matches(['-', '.']);
    format!("{cut}-{hash}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_what_the_api_server_takes() {
        for good in ["a", "prod-eu-1", "0", &"a".repeat(63)] {
            assert!(Label::new(good).is_ok(), "{good}");
        }
        for bad in ["", "-a", "a-", "A", "a_b", "a.b", "ä", &"a".repeat(64)] {
            assert!(Label::new(bad).is_err(), "{bad}");
        }
        assert!(Subdomain::new("a.b-c.d").is_ok());
        assert!(Subdomain::new("a..b").is_err());
        assert!(StackId::parse("openstack/scs").is_some());
        assert!(StackId::parse("open-stack/scs").is_none());
    }

    #[test]
    fn long_names_stay_distinct_and_within_the_limit() {
        let long = |end: char| format!("{}{end}", "team-a.".repeat(12));
        assert_eq!(shortened("team-a.prod"), "team-a.prod");
        assert!(shortened(&long('x')).len() <= LABEL_LIMIT);
        assert_ne!(shortened(&long('x')), shortened(&long('y')));
        assert!(Subdomain::new(&shortened(&long('x'))).is_ok());
    }
}
