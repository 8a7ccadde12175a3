//! Kubernetes structural schemas: defaulting, pruning, validation, formats, and CEL rules with their costs.
//!
//! An API server defaults, prunes and validates custom resources with the schemas of their definitions. This crate does the
//! same with `serde_json` values, offline.
//!
//! ```
//! use k8s_schema::{Rules, Schema, fill, unknown_fields, validate};
//! use serde_json::json;
//!
//! let source = json!({
//!     "type": "object",
//!     "properties": {
//!         "replicas": { "type": "integer", "default": 3, "maximum": 5 },
//!         "cidr": { "type": "string", "format": "cidr" },
//!     },
//!     "x-kubernetes-validations": [{ "rule": "self.replicas % 2 == 1", "message": "must be odd" }],
//! });
//! let schema = Schema::read(&source).expect("it is not nested too deep");
//!
//! let mut value = json!({ "cidr": "10.0.0.0/8", "size": 1 });
//! fill(&mut value, &schema);
//! assert_eq!(value["replicas"], 3);
//! assert_eq!(unknown_fields(&value, &schema, ""), [".size"]);
//! assert!(validate(&value, &schema, &"spec").is_empty());
//!
//! value["replicas"] = json!(4);
//! let judgement = Rules::read(&source).judge(&value, None, "spec");
//! assert_eq!(judgement.errors[0].field, "spec");
//! assert!(judgement.errors[0].detail.contains("must be odd"));
//! ```
//!
//! Anything that cannot be judged offline is reported as such, in [`Schema::obstacle`] and [`Judgement::opaque`].

pub mod cel;
mod defaulting;
mod error;
mod field_path;
mod formats;
mod nulls;
mod cel_rules;
mod schema;
mod trail;
mod typed;
mod unknown;
pub mod value;
mod value_validation;

pub use cel_rules::{Judgement, Rules};
pub use defaulting::{fill, replace_null};
pub use error::{ErrorType, FieldError};
pub use field_path::normalized as field_path;
pub use formats::is_strict_cidr;
pub use nulls::drop_nulls;
pub use schema::{MAX_DEPTH, Schema};
pub use typed::type_errors;
pub use unknown::unknown_fields;
pub use value_validation::validate;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
