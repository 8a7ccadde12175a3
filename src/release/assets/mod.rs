//! Exports a release for the cluster stack operator: the files that csctl would make from a cluster stack.
//!
//! The files are a chart of the class, an archive with one chart per addon, the order in which the charts are applied, and
//! metadata. The operator evaluates the class's chart and the addons' values as Go templates with access to the Cluster. Of
//! a cluster's data, only name and namespace can be expressed there; templates that use anything else are rejected.

mod chart;
mod hashes;
mod refuse;
mod values;

use std::collections::{BTreeMap, BTreeSet};

pub use chart::unpack_chart;

use super::{Release, ReleaseAddon, write};
use crate::{
    model::{ChartVersion, Stage},
    note::Notes,
    yaml::{Mapping, Node, emit},
};

/// The files of an archive, by path.
pub type ChartFiles = BTreeMap<String, Vec<u8>>;

/// The folder in which the operator looks for a release: the release's name with dashes instead of dots.
pub fn assets_folder(release: &Release) -> String {
    release.name.replace('.', "-")
}

/// The charts that the assets of a release contain, by addon.
pub fn charts_of_assets(release: &Release) -> BTreeMap<String, ChartVersion> {
    let installed = release.addons.iter().filter(|one| one.addon.enabled);
    let chart = |one: &ReleaseAddon| {
        let chart = one.addon.chart.clone()?;
        Some((one.addon.name.to_string(), ChartVersion { chart, version: one.version.clone()? }))
    };
    installed.filter_map(|one| chart(one)).collect()
}

/// Reports all parts of a release that can't be expressed for the operator.
pub fn check_assets(release: &Release, notes: &mut Notes) {
    refuse::check(release, notes);
}

/// Builds the assets, by file name. `charts` holds the files of each addon's chart.
pub fn assets(
    release: &Release,
    charts: &BTreeMap<String, ChartFiles>,
    notes: &mut Notes,
) -> Option<BTreeMap<String, Vec<u8>>> {
    let before = notes.errors();
    refuse::check(release, notes);
    if notes.errors() > before {
        return None;
    }
    let prefix =
        format!("{}-{}-{}", release.stack.provider, release.stack.name, release.kubernetes.minor().dashed());
    let mut files = BTreeMap::new();
    let metadata = write(release).remove("metadata.yaml").unwrap_or_default();
    files.insert("metadata.yaml".to_owned(), metadata.into_bytes());
    files.insert("clusteraddon.yaml".to_owned(), stages(release).into_bytes());
    files.insert("hashes.json".to_owned(), hashes::text(&release.content).into_bytes());
    let class = format!("{prefix}-cluster-class");
    let version = &release.version;
    let packed = chart::pack(&class_chart(release, &class), notes)?;
    files.insert(format!("{class}-{version}.tgz"), packed);
    let mut addons = ChartFiles::new();
    for one in installed(release) {
        addon_chart(release, one, charts, &mut addons, notes)?;
    }
    let version = &release.components.cluster_addon;
    files.insert(format!("{prefix}-cluster-addon-{version}.tgz"), chart::pack(&addons, notes)?);
    Some(files)
}

/// Builds the chart of the class. Its objects contain nothing that is still evaluated.
fn class_chart(release: &Release, name: &str) -> ChartFiles {
    let mut files = ChartFiles::new();
    files.insert(format!("{name}/Chart.yaml"), chart_yaml(name, &release.version).into_bytes());
    for (path, text) in write(release) {
        if let Some(file) = path.strip_prefix("cluster-class/") {
            files.insert(format!("{name}/templates/{file}"), values::literal(&text).into_bytes());
        }
    }
    files
}

fn addon_chart(
    release: &Release,
    one: &ReleaseAddon,
    charts: &BTreeMap<String, ChartFiles>,
    files: &mut ChartFiles,
    notes: &mut Notes,
) -> Option<()> {
    let name = one.addon.name.as_str();
    if one.addon.chart.is_some() {
        let own = charts.get(name).cloned().unwrap_or_default();
        files.extend(own.into_iter().map(|(path, bytes)| (format!("{name}/{path}"), bytes)));
        let values = values::of_chart(release, one, notes)?;
        files.insert(format!("{name}/overwrite.yaml"), values.into_bytes());
    }
    if !one.manifests.is_empty() {
        let name = manifests_folder(one);
        let version = one.version.as_ref().map_or_else(|| "0.0.0".to_owned(), ToString::to_string);
        files.insert(format!("{name}/Chart.yaml"), chart_yaml(&name, &version).into_bytes());
        files.insert(format!("{name}/overwrite.yaml"), values::of_manifests().into_bytes());
        for (at, text) in values::manifests(release, one, notes)?.into_iter().enumerate() {
            files.insert(format!("{name}/templates/{at:03}.yaml"), text.into_bytes());
        }
    }
    Some(())
}

/// The folders of an addon, in the order in which they are applied: first its chart, then its manifests.
fn folders(one: &ReleaseAddon) -> Vec<String> {
    let chart = one.addon.chart.is_some().then(|| one.addon.name.to_string());
    let manifests = (!one.manifests.is_empty()).then(|| manifests_folder(one));
    chart.into_iter().chain(manifests).collect()
}

/// The folder of an addon's manifests. If the addon also has a chart, they form a separate chart.
fn manifests_folder(one: &ReleaseAddon) -> String {
    let name = &one.addon.name;
    if one.addon.chart.is_some() { format!("{name}-manifests") } else { name.to_string() }
}

fn chart_yaml(name: &str, version: &str) -> String {
    let mut root = Mapping::new();
    root.set("apiVersion", "v2");
    root.set("name", name);
    root.set("type", "application");
    root.set("version", version);
    text(root)
}

/// Writes `clusteraddon.yaml`, which lists the charts in the order in which they are applied.
fn stages(release: &Release) -> String {
    let names: Vec<String> = installed(release).into_iter().flat_map(folders).collect();
    let stage = |name: &String| {
        let mut stage = Mapping::new();
        stage.set("name", name.as_str());
        stage.set("action", "apply");
        Node::from(stage)
    };
    let mut hooks = Mapping::new();
    for hook in ["AfterControlPlaneInitialized", "BeforeClusterUpgrade"] {
        hooks.set(hook, names.iter().map(stage).collect::<Vec<_>>());
    }
    let mut root = Mapping::new();
    root.set("apiVersion", "clusteraddonconfig.x-k8s.io/v1alpha1");
    root.set("clusterAddonVersion", "clusteraddons.clusterstack.x-k8s.io/v1alpha1");
    root.set("addonStages", hooks);
    text(root)
}

/// The addons that are enabled by default, each after its dependencies.
fn installed(release: &Release) -> Vec<&ReleaseAddon> {
    let mut rest: Vec<&ReleaseAddon> =
        release.addons.iter().map(|one| &**one).filter(|one| one.addon.enabled).collect();
    rest.sort_by_key(|one| (one.addon.stage != Stage::Bootstrap, one.addon.name.clone()));
    let mut done: Vec<&ReleaseAddon> = Vec::new();
    while !rest.is_empty() {
        let waiting: BTreeSet<&str> = rest.iter().map(|one| one.addon.name.as_str()).collect();
        let free = |one: &&ReleaseAddon| {
            one.addon.depends_on.iter().all(|needed| !waiting.contains(needed.as_str()))
        };
        // A release that was read or frozen has no dependency cycles.
        let next = rest.iter().position(free).unwrap_or(0);
        done.push(rest.remove(next));
    }
    done
}

fn text(root: Mapping) -> String {
    let mut text = String::new();
    emit(&Node::from(root), &mut text);
    text
}
