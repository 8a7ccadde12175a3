//! Fields that cause a verdict.

use std::fmt;

use crate::role::Role;

/// A field that causes a verdict.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Field {
    /// A field of an object; the whole object if the path is empty.
    Changed {
        /// The object.
        role: Role,
        /// The keys from the root of the object to the field.
        path: Vec<String>,
    },
    /// A refused field, as the API names it.
    Refused(String),
}

impl Field {
    /// The object, unless the field was refused.
    pub fn role(&self) -> Option<&Role> {
        match self {
            Self::Changed { role, .. } => Some(role),
            Self::Refused(_) => None,
        }
    }

    /// Reports whether this is the given field of the given object.
    pub fn is(&self, of: &Role, at: &[&str]) -> bool {
        matches!(self, Self::Changed { role, path } if role == of && path == at)
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changed { role, path } if path.is_empty() => role.fmt(f),
            Self::Changed { role, path } => write!(f, "{role}: {}", path.join(".")),
            Self::Refused(field) => f.write_str(field),
        }
    }
}
