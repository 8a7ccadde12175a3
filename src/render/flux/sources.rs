//! Sources: the git repository that Flux reads, and the charts.

use super::NAMESPACE;
use crate::{
    model::{Engine, EngineSource, GitReference, Label, ManagementCluster},
    plan::{ChartHost, ChartSource, Charts, charts_of},
    render::{Drawn, Purpose},
    tree::TreePath,
    yaml::{Mapping, Node},
};

const API_VERSION: &str = "source.toolkit.fluxcd.io/v1";
/// The interval for polling chart repositories and registries.
const REPOSITORY_INTERVAL: &str = "1h";
/// The interval for polling git, without a webhook.
const GIT_INTERVAL: &str = "1m";

/// The source object of the git repository, unless an existing one is used.
pub(in crate::render) fn repository(fleet: &Label, management: &ManagementCluster) -> Option<Node> {
    let EngineSource::Git { url, reference, secret } = &management.source else { return None };
    let mut git = Mapping::new();
    match reference {
        GitReference::Branch(branch) => git.set("branch", branch.as_str()),
        GitReference::Tag(tag) => git.set("tag", tag.as_str()),
    }
    let mut spec = Mapping::new();
    spec.set("interval", GIT_INTERVAL);
    spec.set("url", url.as_str());
    spec.set("ref", git);
    if let Some(secret) = secret {
        let mut name = Mapping::new();
        name.set("name", secret.as_str());
        spec.set("secretRef", name);
    }
    Some(object("GitRepository", fleet.as_str(), spec))
}

/// The reference to the repository in a Kustomization in `namespace`.
pub(in crate::render) fn reference(
    fleet: &Label,
    management: &ManagementCluster,
    namespace: &str,
) -> Mapping {
    let (kind, name, home) = match &management.source {
        EngineSource::Git { .. } => ("GitRepository", fleet.as_str(), NAMESPACE),
        EngineSource::Existing { kind, name, namespace } => {
            (*kind, name.as_str(), namespace.as_ref().map_or(NAMESPACE, Label::as_str))
        }
    };
    let mut mapping = Mapping::new();
    mapping.set("kind", kind);
    mapping.set("name", name);
    if home != namespace {
        mapping.set("namespace", home);
    }
    mapping
}

/// The reference to a chart in a `HelmRelease`.
pub(in crate::render) fn chart_reference(chart: &ChartSource) -> Mapping {
    let mut mapping = Mapping::new();
    mapping.set(
        "kind",
        match chart.host() {
            ChartHost::Repository => "HelmChart",
            ChartHost::Registry => "OCIRepository",
        },
    );
    mapping.set("name", chart.name());
    mapping.set("namespace", NAMESPACE);
    mapping
}

/// Draws the source objects of charts: one per chart version, and one per classic repository.
pub(in crate::render) fn draw_charts(charts: &Charts, suspended: bool, folder: &TreePath, drawn: &mut Drawn) {
    for (name, object) in self::charts(charts, suspended) {
        let file = folder.join(&format!("{name}.yaml"));
        drawn.add_engines(file, "the charts of the releases", object).with(Purpose::Chart(name));
    }
}

/// The source objects of charts, by name.
fn charts(charts: &Charts, suspended: bool) -> Vec<(String, Node)> {
    let mut objects = Vec::new();
    let mut repositories: Vec<&str> = Vec::new();
    // Other deliveries fetch charts themselves.
    for chart in charts_of(charts, Engine::Flux).into_iter().flatten() {
        let name = chart.name();
        match chart.host() {
            ChartHost::Registry => objects.push((name, oci_repository(chart))),
            ChartHost::Repository => {
                objects.push((name, helm_chart(chart)));
                if !repositories.contains(&chart.repository.as_str()) {
                    repositories.push(&chart.repository);
                    objects.push((chart.repository_name(), helm_repository(chart)));
                }
            }
        }
    }
    if suspended {
        for spec in objects.iter_mut().filter_map(|(_, object)| object.as_mapping_mut()?.get_mut("spec")) {
            spec.as_mapping_mut().into_iter().for_each(|spec| spec.set("suspend", true));
        }
    }
    objects
}

fn helm_repository(chart: &ChartSource) -> Node {
    let mut spec = Mapping::new();
    spec.set("interval", REPOSITORY_INTERVAL);
    spec.set("url", chart.repository.as_str());
    object("HelmRepository", &chart.repository_name(), spec)
}

fn helm_chart(chart: &ChartSource) -> Node {
    let mut source = Mapping::new();
    source.set("kind", "HelmRepository");
    source.set("name", chart.repository_name());
    let mut spec = Mapping::new();
    spec.set("interval", REPOSITORY_INTERVAL);
    spec.set("chart", chart.chart.as_str());
    spec.set("version", chart.version.to_string());
    spec.set("sourceRef", source);
    object("HelmChart", &chart.name(), spec)
}

fn oci_repository(chart: &ChartSource) -> Node {
    let mut layer = Mapping::new();
    layer.set("mediaType", "application/vnd.cncf.helm.chart.content.v1.tar+gzip");
    layer.set("operation", "copy");
    let mut reference = Mapping::new();
    // Tags in registries cannot contain a plus sign; Helm uses an underscore instead.
    reference.set("tag", chart.version.tag());
    // The digest takes precedence; the tag is for readers.
    let digest = chart.digest.as_ref();
    let digest = digest.map(|pin| Node::from(pin.digest.as_str()).with_origin(pin.origin));
    reference.set_some("digest", digest);
    let mut spec = Mapping::new();
    spec.set("interval", REPOSITORY_INTERVAL);
    spec.set("url", format!("{}/{}", chart.repository, chart.chart));
    spec.set("ref", reference);
    spec.set("layerSelector", layer);
    object("OCIRepository", &chart.name(), spec)
}

fn object(kind: &str, name: &str, spec: Mapping) -> Node {
    let mut metadata = Mapping::new();
    metadata.set("name", name);
    metadata.set("namespace", NAMESPACE);
    let mut root = Mapping::new();
    root.set("apiVersion", API_VERSION);
    root.set("kind", kind);
    root.set("metadata", metadata);
    root.set("spec", spec);
    root.into()
}
