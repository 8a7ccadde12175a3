//! Kubernetes structural schemas: defaulting, pruning, validation, formats and CEL rules.

pub mod cel;
pub mod cel_value;
pub mod defaulting;
pub mod error;
pub mod field_path;
pub mod formats;
pub mod rules;
pub mod schema;
pub mod trail;
pub mod unknown;
pub mod value;
pub mod value_validation;
