//! What stacks take from elsewhere: every version of every chart that their addons list, and the images that their own
//! manifests and class objects name.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    model::{ChartVersion, StackId},
    release::{Release, Releases, images_of},
    yaml::Origin,
};

/// What is to be looked up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Charts, each with the places that list it.
    pub charts: BTreeMap<ChartVersion, BTreeSet<Origin>>,
    /// Images by name, each with the stacks that name it.
    pub images: BTreeMap<String, BTreeSet<String>>,
    /// Whether some stacks could not be read: what they want is not known.
    pub is_partial: bool,
    /// Images whose name is made when a cluster is, as they are written: which they are is not known.
    pub unknown: BTreeSet<String>,
}

/// What all stacks want, or one of them.
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
