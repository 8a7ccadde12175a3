//! A refused field, as Kubernetes' libraries report it.

/// Why a field is refused, in the API's own words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ErrorType {
    /// The value is not acceptable.
    Invalid,
    /// The value has the wrong type.
    TypeInvalid,
    /// A value is missing.
    Required,
    /// The value is not one of a list.
    NotSupported,
    /// The field may not be set, or may not change.
    Forbidden,
    /// The value is there twice.
    Duplicate,
    /// The text is too long.
    TooLong,
    /// The list or map has too many entries.
    TooMany,
    /// Upstream fails inside.
    Internal,
    /// An error of a controller, which names no field.
    Controller,
}

impl ErrorType {
    /// The name that the API uses; empty for an error without a field.
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
            Self::Controller => "",
        }
    }
}

/// One refused field: `field.Error` of Kubernetes' libraries.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FieldError {
    /// Path of the field, as the API prints it.
    pub field: String,
    /// Why it is refused.
    pub kind: ErrorType,
    /// The reason in words.
    pub detail: String,
}

impl FieldError {
    /// The path that it is about: of a field that a schema does not have, only the text names it.
    pub fn path(&self) -> &str {
        let named = self.detail.split_once(": ").map(|(path, _)| path).filter(|path| path.starts_with('.'));
        if self.field.is_empty() { named.unwrap_or_default() } else { &self.field }
    }

    /// A value that is not acceptable.
    pub fn invalid(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(ErrorType::Invalid, field, detail)
    }

    /// A field that may not be set or changed.
    pub fn forbidden(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(ErrorType::Forbidden, field, detail)
    }

    /// A value that is missing.
    pub fn required(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(ErrorType::Required, field, detail)
    }

    /// An error of any kind.
    pub fn new(kind: ErrorType, field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { field: field.into(), kind, detail: detail.into() }
    }
}
