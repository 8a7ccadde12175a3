//! What the schema of a kind expects where it rejects a value.

use std::fmt;

use jsonschema::JsonType;

use super::{advice::either, pattern_words};

/// What is expected of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    /// One of these words.
    OneOf(Vec<String>),
    /// A value of one of these types.
    Type(Vec<JsonType>),
    /// A number that is not less than this.
    Minimum(String),
    /// A number that is not greater than this.
    Maximum(String),
    /// At least so many entries.
    LeastEntries(u64),
    /// At most so many entries.
    MostEntries(u64),
    /// At most so many characters.
    MostCharacters(u64),
    /// Text of this pattern.
    Pattern(String),
    /// Of one of its entries.
    Entry(Box<Expected>),
    /// Something that has no words.
    Other,
}

impl Expected {
    /// Whether a value of a type would do, or an entry of one.
    pub(super) fn takes(&self, wanted: JsonType) -> bool {
        match self {
            Self::Type(types) => types.contains(&wanted),
            Self::Entry(entry) => entry.takes(wanted),
            _ => false,
        }
    }

    /// What holds for a value as expected, after "a value that".
    pub(super) fn relative_clause(&self) -> String {
        match self {
            Self::OneOf(words) => format!("is {}", either(words)),
            Self::Type(types) => format!("is {}", type_words(types)),
            Self::Minimum(limit) => format!("is at least {limit}"),
            Self::Maximum(limit) => format!("is at most {limit}"),
            Self::LeastEntries(limit) => format!("has at least {}", entries(*limit)),
            Self::MostEntries(limit) => format!("has at most {limit} entries"),
            Self::MostCharacters(limit) => format!("has at most {limit} characters"),
            Self::Pattern(pattern) => match pattern_words::meaning(pattern) {
                Some(meaning) => format!("is {meaning}"),
                None => format!("matches `{pattern}`"),
            },
            Self::Entry(entry) => entry.relative_clause(),
            Self::Other => "the schema allows".to_owned(),
        }
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OneOf(words) => write!(f, "must be {}", either(words)),
            Self::Type(types) => write!(f, "must be {}", type_words(types)),
            Self::Minimum(limit) => write!(f, "must be at least {limit}"),
            Self::Maximum(limit) => write!(f, "must be at most {limit}"),
            Self::LeastEntries(limit) => write!(f, "must have at least {}", entries(*limit)),
            Self::MostEntries(limit) => write!(f, "must have at most {limit} entries"),
            Self::MostCharacters(limit) => write!(f, "must have at most {limit} characters"),
            Self::Pattern(pattern) => match pattern_words::meaning(pattern) {
                Some(meaning) => write!(f, "must be {meaning}"),
                None => write!(f, "must match `{pattern}`"),
            },
            Self::Entry(entry) => write!(f, "has an entry that {entry}"),
            Self::Other => write!(f, "has a wrong value"),
        }
    }
}

fn entries(count: u64) -> String {
    format!("{count} entr{}", if count == 1 { "y" } else { "ies" })
}

/// Describes types. `null` is omitted, unless it is the only one.
fn type_words(types: &[JsonType]) -> String {
    let words = |kind: &JsonType| match kind {
        JsonType::String => Some("a string"),
        JsonType::Integer => Some("a whole number"),
        JsonType::Number => Some("a number"),
        JsonType::Boolean => Some("true or false"),
        JsonType::Array => Some("a list"),
        JsonType::Object => Some("a map"),
        JsonType::Null => None,
    };
    let words: Vec<_> = types.iter().filter_map(words).map(str::to_owned).collect();
    if words.is_empty() { "null".to_owned() } else { words.join(" or ") }
}
