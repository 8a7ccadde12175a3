//! Single steps of the prediction, for the tests, benchmarks and fuzz targets of this crate.
//!
//! This module is not part of the public API and may change in any release.

/// The variable checks of the class webhook.
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

/// The objects generated from a class and an admitted Cluster.
pub mod desired {
    pub use crate::desired::Generated;
    pub use crate::predict::create::desired as generate;
    pub use crate::predict::running::with_defaults;
}

/// The object that the API server stores after an apply.
pub mod apply {
    pub use crate::predict::apply::{read_metadata, server_side_apply};
}

/// The checks of the API server and the webhooks on objects that the controller writes.
pub mod objects {
    pub use crate::predict::objects::{refused, refused_create};
}

/// A change of running objects, simulated pass by pass.
pub mod change {
    pub use crate::predict::before_after::{After, Before};
    pub use crate::predict::change::{Writing, change, run};
    pub use crate::predict::rules::machine_rollouts::Instants;
}
