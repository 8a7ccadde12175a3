//! Defaulting and validation of a Cluster's variables, as in the Cluster's webhooks.
//!
//! ```
//! use capi_topology::variables::{Scope, default_variables, definitions, validate_variables};
//! use serde_json::json;
//!
//! let class = json!({ "spec": { "variables": [
//!     { "name": "flavor", "schema": { "openAPIV3Schema": { "type": "string", "default": "small" } } },
//!     { "name": "workers", "schema": { "openAPIV3Schema": { "type": "integer", "maximum": 5 } } },
//! ] } });
//! let definitions = definitions(&class);
//! let written = [json!({ "name": "workers", "value": 6 })];
//! let path = "spec.topology.variables";
//!
//! let values = default_variables(&written, &definitions, Scope::Cluster, path).expect("both are defined");
//! assert_eq!(values[1], json!({ "name": "flavor", "value": "small" }));
//! let judged = validate_variables(&values, &[], &definitions, Scope::Cluster, path);
//! assert_eq!(judged.errors[0].field, "spec.topology.variables[workers].value");
//! ```

mod defaulting;
mod lookup;
mod validation;

use serde_json::Value;

use super::memo::{Memo, SMALL};
use k8s_schema::Rules;
use k8s_schema::Schema;

pub(crate) use defaulting::default_in_place;
pub use defaulting::{Scope, default_variables};
pub use lookup::lookup;
pub(crate) use validation::validate_known;
pub use validation::validate_variables;

/// One variable that a class defines.
#[derive(Debug)]
#[non_exhaustive]
pub struct Definition {
    /// The variable's name.
    pub name: String,
    /// Whether every Cluster must have it.
    pub required: bool,
    /// The schema of its value.
    pub schema: Schema,
    /// The CEL rules of the schema.
    pub rules: Rules,
    /// Cache of values that are valid.
    pub(crate) kept: Memo<()>,
    /// Why its valid values are unknown, if its schema is not supported.
    pub opaque: Option<String>,
}

/// Reads the variables of a class, sorted by name, as its status lists them.
pub fn definitions(class: &Value) -> Vec<Definition> {
    let mut read = Vec::new();
    for variable in k8s_schema::value::list(class, &["spec", "variables"]) {
        let source = k8s_schema::value::get(variable, &["schema", "openAPIV3Schema"]).unwrap_or(&Value::Null);
        let name = name(variable).to_owned();
        let required = variable.get("required").and_then(Value::as_bool) == Some(true);
        let (schema, rules) = match Schema::read(source) {
            Some(schema) => (schema, Rules::read(source)),
            None => (Schema::not_followed(source), Rules::default()),
        };
        let opaque = schema.obstacle().map(|obstacle| {
            format!(
                "the schema of variable {name:?} {obstacle}, which this program does not follow: what Cluster API makes of \
                 its value is not known"
            )
        });
        read.push(Definition { name, required, schema, rules, kept: Memo::new(SMALL), opaque });
    }
    read.sort_by(|a, b| a.name.cmp(&b.name));
    read
}

/// The name of a variable value or of a definition.
pub fn name(variable: &Value) -> &str {
    k8s_schema::value::text(variable, &["name"])
}

/// Finds a definition by name.
pub fn find<'a>(definitions: &'a [Definition], name: &str) -> Option<&'a Definition> {
    definitions.get(position(definitions, name)?)
}

fn position(definitions: &[Definition], name: &str) -> Option<usize> {
    definitions.binary_search_by(|one| one.name.as_str().cmp(name)).ok()
}
