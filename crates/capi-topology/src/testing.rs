//! Single steps of the flow, for the tests, benchmarks and fuzz targets of this crate.
//!
//! This is not part of the interface, and may change in any release.

/// The webhook of classes, as far as it looks at variables.
pub mod class_variables {
    pub use crate::admission::class_variables::validate;
}

/// The webhooks of all kinds.
pub mod webhooks {
    pub use crate::admission::webhooks::validate;
}

/// The webhooks of machine deployments and machine pools.
pub mod workers {
    pub use crate::admission::workers::defaulting;
}

/// JSON patches of a class.
pub mod json_patch {
    pub use crate::patches::json_patch::{Operation, Path, apply};
}

/// The objects that a class makes of an admitted Cluster.
pub mod desired {
    pub use crate::desired::Generated;
    pub use crate::predict::create::desired as generate;
    pub use crate::predict::running::with_defaults;
}

/// What the API server stores of an object that is applied.
pub mod apply {
    pub use crate::predict::apply::{read_metadata, server_side_apply};
}

/// What the API server and the webhooks refuse of the objects that the controller writes.
pub mod objects {
    pub use crate::predict::objects::{refused, refused_create};
}

/// A change of what runs, followed pass by pass.
pub mod change {
    pub use crate::predict::change::{After, Before, Writing, change, run};
    pub use crate::predict::rollout::Instants;
}
