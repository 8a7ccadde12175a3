//! A release as the cluster stack operator takes it: the files that csctl would make of a cluster stack.
//!
//! A chart of the class, an archive with one chart per addon, the order in which they are applied, and metadata. The
//! operator evaluates a class' chart and an addon's values as Go templates, and sees the Cluster there; of what our
//! templates say of a cluster, only its name and namespace can be said so. What cannot be said is refused.

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

/// The files of an archive, by their paths in it.
pub type ChartFiles = BTreeMap<String, Vec<u8>>;

/// The folder that the operator looks for a release in: dots of the name are dashes.
pub fn assets_folder(release: &Release) -> String {
    release.name.replace('.', "-")
}

/// The charts that the assets of a release hold, by addon.
pub fn charts_of_assets(release: &Release) -> BTreeMap<String, ChartVersion> {
    let installed = release.addons.iter().filter(|one| one.addon.enabled);
    let chart = |one: &ReleaseAddon| {
        let chart = one.addon.chart.clone()?;
        Some((one.addon.name.to_string(), ChartVersion { chart, version: one.version.clone()? }))
    };
    installed.filter_map(|one| chart(one)).collect()
}

/// What the operator cannot be told; every fault goes to `notes`.
pub fn check_assets(release: &Release, notes: &mut Notes) {
    refuse::check(release, notes);
}

/// The assets, by their file names. `charts` holds the content of the chart of each addon.
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

/// The class as a chart: its objects, with nothing left in them to be evaluated.
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

/// The folders of an addon, in the order in which they are applied: its chart's, and that of its manifests.
fn folders(one: &ReleaseAddon) -> Vec<String> {
    let chart = one.addon.chart.is_some().then(|| one.addon.name.to_string());
    let manifests = (!one.manifests.is_empty()).then(|| manifests_folder(one));
    chart.into_iter().chain(manifests).collect()
}

/// The manifests of an addon that has a chart are a chart of their own.
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

/// `clusteraddon.yaml`: what is applied, and in which order.
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

/// The addons that clusters have unless they say otherwise, each behind those that it waits for.
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
        // There are no circles in a release that was read or frozen.
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
