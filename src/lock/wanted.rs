//! Lists what stacks need from elsewhere: every listed version of their addons' charts, and the images named in their own
//! manifests and class objects.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    model::{ChartVersion, StackId},
    release::{Release, Releases, images_of},
    yaml::Origin,
};

/// The things to look up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Charts, each with the origins of its listings.
    pub charts: BTreeMap<ChartVersion, BTreeSet<Origin>>,
    /// Images by name, each with the stacks that name it.
    pub images: BTreeMap<String, BTreeSet<String>>,
    /// Whether some stacks could not be read, so that their needs are unknown.
    pub is_partial: bool,
    /// Image names that contain expressions. They are known only once a cluster is made.
    pub unknown: BTreeSet<String>,
}

/// Lists the needs of all stacks, or of one of them.
pub fn wanted(releases: &Releases, only: Option<&StackId>) -> Wanted {
    let mut wanted = Wanted::default();
    for release in releases.heads().filter(|release| only.is_none_or(|only| release.stack == *only)) {
        wanted.charts_of(release);
        wanted.images_of(release);
    }
    wanted
}

impl Wanted {
    fn charts_of(&mut self, release: &Release) {
        for addon in release.addons.iter().map(|one| &one.addon) {
            let Some(chart) = &addon.chart else { continue };
            for row in &addon.matrix {
                let key = ChartVersion { chart: chart.clone(), version: row.version.clone() };
                self.charts.entry(key).or_default().insert(row.version_origin);
            }
        }
    }

    fn images_of(&mut self, release: &Release) {
        let images = images_of(release);
        for name in images.known {
            self.images.entry(name).or_default().insert(release.stack.to_string());
        }
        self.unknown.extend(images.unknown);
    }
}
