//! Refused fields, as reported by Kubernetes' libraries.

/// The reason for refusing a field, in the API's terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ErrorType {
    /// The value is not acceptable.
    Invalid,
    /// The value has the wrong type.
    TypeInvalid,
    /// A value is missing.
    Required,
    /// The value is not in the list of supported ones.
    NotSupported,
    /// The field must not be set or changed.
    Forbidden,
    /// The value occurs twice.
    Duplicate,
    /// The schema has no such field. Server-side apply reports it, and gives it no type.
    Undeclared,
    /// The text is too long.
    TooLong,
    /// The list or map has too many entries.
    TooMany,
    /// An internal error of the upstream implementation.
    Internal,
    /// An error of a controller, which names no field.
    Controller,
}

impl ErrorType {
    /// The name used by the API; empty for an error without a field.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Invalid => "FieldValueInvalid",
            Self::TypeInvalid => "FieldValueTypeInvalid",
            Self::Required => "FieldValueRequired",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::Duplicate => "FieldValueDuplicate",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::Internal => "InternalError",
            Self::Undeclared | Self::Controller => "",
        }
    }
}

/// A refused field: `field.Error` of Kubernetes' libraries.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct FieldError {
    /// The path of the field, as printed by the API.
    pub field: String,
    /// What is wrong with the value.
    pub kind: ErrorType,
    /// The reason as text.
    pub detail: String,
    /// The feature gate that must be on for the value to be accepted; none if no gate decides that.
    pub requires: Option<&'static str>,
}

impl FieldError {
    /// The path of the affected field. For a field that is missing in the schema, it is only part of the text.
    pub fn path(&self) -> &str {
        let named = self.detail.split_once(": ").map(|(path, _)| path).filter(|path| path.starts_with('.'));
        if self.field.is_empty() { named.unwrap_or_default() } else { &self.field }
    }

    /// Creates an error for an unacceptable value.
    pub fn invalid(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(ErrorType::Invalid, field, detail)
    }

    /// Creates an error for a field that must not be set or changed.
    pub fn forbidden(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(ErrorType::Forbidden, field, detail)
    }

    /// Creates an error for a missing value.
    pub fn required(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(ErrorType::Required, field, detail)
    }

    /// Creates an error of any kind.
    pub fn new(kind: ErrorType, field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { field: field.into(), kind, detail: detail.into(), requires: None }
    }

    /// Says that a feature gate decides it.
    #[must_use]
    pub fn requiring(self, gate: &'static str) -> Self {
        Self { requires: Some(gate), ..self }
    }
}
