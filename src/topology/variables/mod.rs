//! Variables of a Cluster: defaulted and validated as the Cluster's webhooks do.

pub mod cel_value;
pub mod defaulting;
pub mod formats;
pub mod rules;
pub mod schema;
pub mod trail;
pub mod unknown;
pub mod validation;
pub mod value_validation;

use serde_json::Value;

use self::rules::Rules;
use self::schema::Schema;
use super::memo::Memo;

/// One variable that a class defines.
#[derive(Debug)]
pub struct Definition {
    /// The variable's name.
    pub name: String,
    /// Whether every Cluster must have it.
    pub required: bool,
    /// What its value must look like.
    pub schema: Schema,
    /// The CEL rules of the schema.
    pub rules: Rules,
    /// Values that are valid.
    pub kept: Memo<()>,
}

/// The variables of a class by name, as its status lists them. Schemas that nest deeper than
/// we follow are named in the second list.
pub fn definitions(class: &Value) -> (Vec<Definition>, Vec<String>) {
    let mut read = Vec::new();
    let mut too_deep = Vec::new();
    for variable in crate::topology::value::list(class, &["spec", "variables"]) {
        let source =
            crate::topology::value::get(variable, &["schema", "openAPIV3Schema"]).unwrap_or(&Value::Null);
        let name = name(variable).to_owned();
        let required = variable.get("required").and_then(Value::as_bool) == Some(true);
        match Schema::read(source) {
            Some(schema) => {
                read.push(Definition {
                    name,
                    required,
                    schema,
                    rules: Rules::read(source),
                    kept: Memo::default(),
                });
            }
            None => too_deep.push(name),
        }
    }
    read.sort_by(|a, b| a.name.cmp(&b.name));
    (read, too_deep)
}

/// The name of a variable, as value or as definition.
pub fn name(variable: &Value) -> &str {
    super::value::text(variable, &["name"])
}

/// The definition of a name.
pub fn find<'a>(definitions: &'a [Definition], name: &str) -> Option<&'a Definition> {
    let at = definitions.binary_search_by(|one| one.name.as_str().cmp(name)).ok()?;
    definitions.get(at)
}
