//! The removal of a cluster, a node pool or an addon.

use schemars::JsonSchema;
use serde::Deserialize;

/// A removal in progress. It has two steps, each a commit of its own. `stackloom remove` writes them.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Removal {
    /// The reason, for people who read the definition.
    pub reason: String,
    /// The current step of the removal.
    pub step: RemovalStep,
}

/// The step of a removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RemovalStep {
    /// Turns off the protection against deletion. A cluster or addon keeps running; a node pool is scaled to zero machines.
    Detach,
    /// Deletes it. Objects that the deletion needs stay.
    Delete,
}
