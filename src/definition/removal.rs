//! How a cluster, a node pool or an addon leaves.

use schemars::JsonSchema;
use serde::Deserialize;

/// How something leaves: in steps, each a commit of its own. `stackloom remove` writes them.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Removal {
    /// Why, for those who find it so.
    pub reason: String,
    /// How far it is.
    pub step: RemovalStep,
}

/// How far a removal is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RemovalStep {
    /// What protects it is taken off; it goes on as it is, a pool with no machines.
    Detach,
    /// It goes, and what it needs for that stays.
    Delete,
}
