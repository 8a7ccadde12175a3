//! Downloads: charts from repositories and registries, images from registries, health reports from an address.
//!
//! Every download is compared with the digest in its index. Answers are limited in time, size and redirects. Logins come
//! from the configuration of docker, podman and helm. They are sent only to the host they belong to, and never printed.

mod charts;
mod helm;
mod http;
mod images;
mod report;

use crate::{lock::LookupResults, note::Fault};

pub use charts::{ChartQuestion, chart_archive, charts};
pub use images::image;
pub use report::health_report;

/// The result of a lookup: what was found, and what failed.
#[derive(Debug, Default)]
pub struct LookupAnswer {
    /// What was found.
    pub found: LookupResults,
    /// The failed lookups. The rest of the answer is still valid.
    pub faults: Vec<Fault>,
}

impl LookupAnswer {
    /// Adds the answers of another lookup.
    pub fn extend(&mut self, other: Self) {
        self.found.extend(other.found);
        self.faults.extend(other.faults);
    }
}
