//! `stackloom release --assets`: writes the files from which the cluster stack operator installs a release.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use super::printer::counted;
use crate::{
    io::{disk, net},
    note::{Fault, Notes},
    release::{self, CutOutcome, Release},
};

/// The assets of releases, in memory: for each folder name, its files.
pub(super) type Prepared = Vec<(String, BTreeMap<String, Vec<u8>>)>;

/// The releases to write assets for: the new ones, and the latest ones of unchanged stacks.
fn releases(considered: &[CutOutcome]) -> impl Iterator<Item = &Release> {
    considered.iter().filter_map(|one| match &one.cut {
        Some(cut) => Some(&cut.release),
        None => one.standing.as_deref(),
    })
}

/// Checks offline whether the operator supports everything that the releases contain.
pub(super) fn check(considered: &[CutOutcome], notes: &mut Notes) {
    releases(considered).for_each(|release| release::check_assets(release, notes));
}

/// Downloads the charts and builds the assets. Nothing is written.
pub(super) fn prepare(considered: &[CutOutcome], notes: &mut Notes) -> Result<Prepared, Fault> {
    let mut prepared = Vec::new();
    for release in releases(considered) {
        let mut charts = BTreeMap::new();
        for (addon, key) in release::charts_of_assets(release) {
            let recorded = release.addon(&addon).and_then(|one| one.locked.get(&key.version));
            let archive = net::chart_archive(&key, recorded.map(|locked| &locked.digest))?;
            let files = release::unpack_chart(&archive).map_err(|why| {
                Fault::new(format!("the archive of {key} is not a chart: {why}"))
                    .hint("check what is published there")
            })?;
            charts.insert(addon, files);
        }
        if let Some(files) = release::assets(release, &charts, notes) {
            prepared.push((release::assets_folder(release), files));
        }
    }
    Ok(prepared)
}

/// Writes the assets, one folder per release. Returns a message for each.
pub(super) fn write(root: &Path, prepared: &Prepared) -> Result<Vec<String>, Fault> {
    let mut lines = Vec::new();
    for (name, files) in prepared {
        let folder: PathBuf = root.join(name);
        for (file, bytes) in files {
            disk::write_bytes(&folder.join(file), bytes)?;
        }
        lines.push(format!("{} in {}", counted(files.len(), "asset"), folder.display()));
    }
    Ok(lines)
}
