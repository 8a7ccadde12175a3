//! Fields that cause a verdict.

use std::fmt;

use crate::role::Role;

/// A field that causes a verdict.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Field {
    /// A field of an object; the object as a whole where the path is empty.
    Changed {
        /// The object.
        role: Role,
        /// Where the field is.
        path: Vec<String>,
    },
    /// A field that is refused, as the API names it.
    Refused(String),
}

impl Field {
    /// The object, where it is one of the cluster's.
    pub fn role(&self) -> Option<&Role> {
        match self {
            Self::Changed { role, .. } => Some(role),
            Self::Refused(_) => None,
        }
    }

    /// Whether it is this field of this object.
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
