//! Models how controllers process the objects of deliveries, independently of the code that writes these.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

/// A Helm release.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Release {
    pub(super) repository: String,
    pub(super) chart: String,
    pub(super) version: String,
    pub(super) name: String,
    pub(super) namespace: String,
    pub(super) values: Json,
    /// Whether Helm waits, and for which others, if the controller has such a setting.
    pub(super) waits: Option<bool>,
    pub(super) after: Option<BTreeSet<String>>,
}

pub(crate) fn text(object: &Json, pointer: &str) -> String {
    object.pointer(pointer).and_then(Json::as_str).unwrap_or_default().to_owned()
}

fn is(object: &Json, api: &str, kind: &str) -> bool {
    text(object, "/apiVersion").starts_with(api) && text(object, "/kind") == kind
}

/// Renders a text as a Go template with the controllers' data, as many times as a controller evaluates it.
fn after_go(template: &str, times: usize) -> Json {
    let known = json!({ "Cluster": { "metadata": { "name": "changed" } } });
    let mut text = template.to_owned();
    for _ in 0..times {
        text = gotmpl::Template::parse(&text).unwrap().render(&known).unwrap();
    }
    gotmpl::yaml::parse(&text).unwrap()
}

/// Renders a text as a Jinja template.
fn after_jinja(template: &str) -> String {
    let known = minijinja::Value::from_pairs([("x", "changed"), ("cluster", "changed")]);
    minijinja::Environment::new().render_str(template, known).unwrap()
}

fn values(found: Option<Json>) -> Json {
    found.unwrap_or_else(|| json!({}))
}

/// The names in an object's `dependsOn`, which is a list of names or of references.
fn after(object: &Json) -> BTreeSet<String> {
    let list = object.pointer("/spec/dependsOn").and_then(Json::as_array);
    let name = |one: &Json| one.as_str().map_or_else(|| text(one, "/name"), str::to_owned);
    list.into_iter().flatten().map(name).collect()
}

/// The Helm release that a controller would make from an object, with its cluster; none for other objects.
pub(super) fn release(object: &Json, all: &[Json]) -> Option<(String, Release)> {
    if is(object, "helm.toolkit.fluxcd.io/", "HelmRelease") {
        Some(of_flux(object, all))
    } else if is(object, "argoproj.io/", "Application") && object.pointer("/spec/source/helm").is_some() {
        let source = object.pointer("/spec/source").unwrap();
        Some(of_argocd(object, source, source.pointer("/helm/valuesObject").cloned()))
    } else if is(object, "argoproj.io/", "Application") && object.pointer("/spec/sources").is_some() {
        Some(of_argocd(object, object.pointer("/spec/sources/0").unwrap(), Some(values_file(object, all))))
    } else if is(object, "addons.cluster.x-k8s.io/", "HelmChartProxy") {
        Some(of_proxy(object))
    } else if is(object, "config.projectsveltos.io/", "Profile")
        && object.pointer("/spec/helmCharts").is_some()
    {
        Some(of_sveltos(object))
    } else {
        is(object, "addons.stackhpc.com/", "HelmRelease").then(|| of_azimuth(object))
    }
}

fn of_flux(object: &Json, all: &[Json]) -> (String, Release) {
    let get = |pointer: &str| text(object, pointer);
    let (repository, chart, version) = flux_chart(object, all);
    let found = Release {
        repository,
        chart,
        version,
        name: get("/spec/releaseName"),
        namespace: get("/spec/targetNamespace"),
        values: values(object.pointer("/spec/values").cloned()),
        waits: Some(object.pointer("/spec/install/disableWait") != Some(&json!(true))),
        after: Some(after(object)),
    };
    (get("/spec/kubeConfig/secretRef/name").replace("-kubeconfig", ""), found)
}

/// The content of the only values file of an Application, which is in the repository that its own manifests are in.
fn values_file(object: &Json, all: &[Json]) -> Json {
    let [chart, repository] = object["spec"]["sources"].as_array().unwrap().as_slice() else {
        panic!("{object}");
    };
    assert_eq!(chart["helm"].get("ignoreMissingValueFiles"), None, "a missing file must be an error");
    let is_of_fleet =
        |one: &&Json| text(one, "/kind") == "Application" && one["spec"]["source"].get("path").is_some();
    let fleet = all.iter().find(is_of_fleet).unwrap();
    for key in ["repoURL", "targetRevision"] {
        assert_eq!(repository[key], fleet["spec"]["source"][key], "{key}");
    }
    let [file] = chart["helm"]["valueFiles"].as_array().unwrap().as_slice() else { panic!("{chart}") };
    let start = format!("${}/", text(repository, "/ref"));
    let path = file.as_str().unwrap().strip_prefix(&start).unwrap();
    // Argo CD would look at commits that change no other file, and not at those that change this one.
    let watched = text(object, "/metadata/annotations/argocd.argoproj.io~1manifest-generate-paths");
    assert!(
        path.starts_with(&format!("{}/", watched.strip_prefix('/').unwrap())),
        "{watched} is not above {path}"
    );
    let read = all.iter().find(|one| one["file"] == path).unwrap_or_else(|| panic!("there is no {path}"));
    read["values"].clone()
}

fn of_argocd(object: &Json, source: &Json, given: Option<Json>) -> (String, Release) {
    let get = |pointer: &str| text(object, pointer);
    let (mut repository, mut chart) = (text(source, "/repoURL"), text(source, "/chart"));
    if chart.is_empty() {
        let (before, last) = repository.rsplit_once('/').unwrap();
        (chart, repository) = (last.to_owned(), before.to_owned());
    }
    let found = Release {
        repository,
        chart,
        version: text(source, "/targetRevision"),
        name: text(source, "/helm/releaseName"),
        namespace: get("/spec/destination/namespace"),
        values: values(given),
        waits: None,
        after: None,
    };
    (get("/metadata/labels/stackloom.dev~1cluster"), found)
}

fn of_proxy(object: &Json) -> (String, Release) {
    let get = |pointer: &str| text(object, pointer);
    let template = object.pointer("/spec/valuesTemplate").and_then(Json::as_str);
    let found = Release {
        repository: get("/spec/repoURL"),
        chart: get("/spec/chartName"),
        version: get("/spec/version"),
        name: get("/spec/releaseName"),
        namespace: get("/spec/namespace"),
        values: values(template.map(|text| after_go(text, 1))),
        waits: object.pointer("/spec/options/wait").and_then(Json::as_bool),
        after: None,
    };
    (get("/spec/clusterSelector/matchLabels/cluster.x-k8s.io~1cluster-name"), found)
}

/// Sveltos evaluates values twice when it installs, and once when it checks for changes.
fn of_sveltos(object: &Json) -> (String, Release) {
    let chart = object.pointer("/spec/helmCharts/0").unwrap();
    let get = |key: &str| text(chart, &format!("/{key}"));
    let template = chart.get("values").and_then(Json::as_str);
    let [once, twice] = [1, 2].map(|times| template.map(|text| after_go(text, times)));
    assert_eq!(once, twice);
    let found = Release {
        repository: get("repositoryURL"),
        chart: get("chartName"),
        version: get("chartVersion"),
        name: get("releaseName"),
        namespace: get("releaseNamespace"),
        values: values(once),
        waits: chart.pointer("/options/wait").and_then(Json::as_bool),
        after: Some(after(object)),
    };
    (text(object, "/spec/clusterRefs/0/name"), found)
}

fn of_azimuth(object: &Json) -> (String, Release) {
    let get = |pointer: &str| text(object, pointer);
    let template = object.pointer("/spec/valuesSources/0/template").and_then(Json::as_str);
    let found = Release {
        repository: get("/spec/chart/repo"),
        chart: get("/spec/chart/name"),
        version: get("/spec/chart/version"),
        name: get("/spec/releaseName"),
        namespace: get("/spec/targetNamespace"),
        values: values(template.map(|text| gotmpl::yaml::parse(&after_jinja(text)).unwrap())),
        waits: None,
        after: None,
    };
    (get("/spec/clusterName"), found)
}

/// The repository, name and version of the chart of a Flux `HelmRelease`.
fn flux_chart(object: &Json, all: &[Json]) -> (String, String, String) {
    let named = |kind: &str, name: &str| {
        all.iter()
            .find(|one| is(one, "source.toolkit.fluxcd.io/", kind) && text(one, "/metadata/name") == name)
            .unwrap()
    };
    let source = named(&text(object, "/spec/chartRef/kind"), &text(object, "/spec/chartRef/name"));
    if is(source, "source.", "HelmChart") {
        let repository = named("HelmRepository", &text(source, "/spec/sourceRef/name"));
        return (text(repository, "/spec/url"), text(source, "/spec/chart"), text(source, "/spec/version"));
    }
    let url = text(source, "/spec/url");
    let (repository, chart) = url.rsplit_once('/').unwrap();
    (repository.to_owned(), chart.to_owned(), text(source, "/spec/ref/tag"))
}

/// The manifests in an object or a file, as applied to the workload cluster, with the cluster.
pub(super) fn applied(object: &Json) -> Vec<(String, Json)> {
    let file = text(object, "/file");
    let parts: Vec<&str> = file.split('/').collect();
    let home = parts.get(5).copied().unwrap_or_default().to_owned();
    if parts.get(6) == Some(&"manifests") {
        let mut own = object.clone();
        own.as_object_mut().unwrap().remove("file");
        return vec![(home, own)];
    }
    if is(object, "v1", "ConfigMap") && file.ends_with(".manifests-data.yaml") {
        let data = object["data"].as_object().unwrap();
        return data
            .values()
            .map(|text| (home.clone(), gotmpl::yaml::parse(text.as_str().unwrap()).unwrap()))
            .collect();
    }
    if is(object, "addons.stackhpc.com/", "Manifests") {
        let rendered = after_jinja(&text(object, "/spec/manifestSources/0/template"));
        let documents = rendered.split("\n---\n").map(|one| gotmpl::yaml::parse(one).unwrap());
        return documents.map(|one| (text(object, "/spec/clusterName"), one)).collect();
    }
    Vec::new()
}
