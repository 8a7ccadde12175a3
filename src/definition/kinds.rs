//! Types that several kinds share: the envelope, names, and small values.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::model::AddonDelivery;

/// The API group and version of every definition.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub enum ApiVersion {
    /// The only version so far.
    #[serde(rename = "stackloom.dev/v1alpha1")]
    V1Alpha1,
}

/// The name of a definition.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Named {
    /// A DNS label: lower-case letters, digits and dashes, at most 63 characters.
    pub name: String,
}

/// Labels or annotations.
pub type Labels = BTreeMap<String, Option<String>>;

/// Any value.
pub(super) type Anything = serde_json::Value;

/// A map with arbitrary values.
pub(super) type AnyMap = BTreeMap<String, Anything>;

/// A whole number that is not negative, such as a number of seconds.
pub(super) type Count = i64;

/// The schema of a whole number that fits the API's int32.
pub(super) fn count(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": ["integer", "null"], "minimum": 0, "maximum": i32::MAX })
}

/// The schema of a port.
pub(super) fn port(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": ["integer", "null"], "minimum": 1, "maximum": 65535 })
}

/// The schema of a whole number or a percentage.
pub(super) fn count_or_percent(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "oneOf": [
            { "type": "integer", "minimum": 0, "maximum": i32::MAX },
            { "type": "string", "pattern": "^[0-9]+%?$" },
            { "type": "null" },
        ]
    })
}

/// The schema of an addon delivery.
pub(super) fn addon_delivery(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let one = |(word, about)| serde_json::json!({ "type": "string", "const": word, "description": about });
    let null = std::iter::once(serde_json::json!({ "type": "null" }));
    schemars::json_schema!({ "oneOf": AddonDelivery::words().map(one).chain(null).collect::<Vec<_>>() })
}

/// An example of a delivery that works with every engine.
pub(super) fn delivery_of_others() -> &'static str {
    AddonDelivery::all().find(|one| one.engine().is_none()).map_or("", AddonDelivery::as_str)
}

/// The schema of one name or a list of names.
pub(super) fn one_or_many(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let name = serde_json::json!({ "type": "string", "minLength": 1, "maxLength": 100, "pattern": "^\\S+$" });
    schemars::json_schema!({
        "oneOf": [
            name,
            { "type": "array", "items": name, "minItems": 1, "maxItems": 20 },
            { "type": "null" },
        ]
    })
}
