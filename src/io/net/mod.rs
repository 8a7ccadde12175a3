//! Looking things up where they come from: charts in repositories and registries, images in registries.
//!
//! Everything that is downloaded is compared with the digest in its index. Answers are bounded in time, size and
//! redirects. Who the user is comes from the configuration of docker, podman and helm, is sent to the host that it is
//! for, and is never printed.

mod charts;
mod helm;
mod http;
mod images;

use crate::{lock::Found, note::Fault};

pub use charts::{ChartQuestion, chart_archive, charts};
pub use images::image;

/// What was found, and what could not be asked.
#[derive(Debug, Default)]
pub struct Answer {
    /// What was found.
    pub found: Found,
    /// What failed; the rest holds all the same.
    pub faults: Vec<Fault>,
}

impl Answer {
    /// Takes over what was answered elsewhere.
    pub fn extend(&mut self, other: Self) {
        self.found.extend(other.found);
        self.faults.extend(other.faults);
    }
}
