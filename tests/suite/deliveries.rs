//! Every delivery of addons installs the same, or `check` refuses the addon: what its controller would make of its objects is
//! computed here in the controller's own way, apart from the code that writes them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use serde_json::{Map, Value as Json, json};
use stackloom::{
    generate::generate,
    model::AddonDelivery,
    note::{Notes, Severity},
    tree::Memory,
    world::Files,
};

use super::{sandbox, support};

/// What a cluster gets: the releases of Helm and the manifests, by cluster and name.
#[derive(Debug, Default, PartialEq)]
struct Installed {
    charts: BTreeMap<String, Release>,
    manifests: BTreeMap<String, Json>,
}

#[derive(Clone, Debug, PartialEq)]
struct Release {
    repository: String,
    chart: String,
    version: String,
    name: String,
    namespace: String,
    values: Json,
    /// Whether Helm waits, and for which others; where the controller can be told.
    waits: Option<bool>,
    after: Option<BTreeSet<String>>,
}

/// The strings that mean something to some engine between here and a chart.
fn hostile() -> Json {
    let mut texts: Vec<String> = [
        "{{ .Cluster.metadata.name }}",
        "{{- if .Values.x -}}a{{- end }}",
        "{% raw %}{{ x }}{% endraw %}",
        "{# comment #} #} %} }}",
        "{{{{{%{#{{",
        "${HOME} $(id) $$ ${x:=y}",
        "<< a >> *b &c !d @e `f` %g",
        "`{{ backtick }}` \"quoted\" 'single' \\{{ \\n",
        "1.30",
        "012",
        "yes",
        "null",
        "~",
        "12:30",
        "2026-01-01",
        "0x1f",
        "1e3",
        " leading and trailing ",
        "tab\there\r\nwindows\r",
        "---\n...\n# {{ no comment }}\n",
        "line\n{{ second }}\n\n",
        "\n{{ first }}",
        "umlaut \u{e4} emoji \u{1f600} nel \u{85} bom \u{feff}",
        "{{\"{{\"}} {{`{{`}} \\x7b\\x7b",
        "",
    ]
    .map(str::to_owned)
    .into();
    // Every way in which markers and what stands around them can meet.
    let alphabet = ["{", "%", "#", "-", "}", "`", "\"", "\n", " "];
    for length in 1..=3_u32 {
        for number in 0..alphabet.len().pow(length) {
            let letter = |at: u32| alphabet[number / alphabet.len().pow(at) % alphabet.len()];
            texts.push((0..length).map(letter).collect());
        }
    }
    let keys: Map<String, Json> = ["{{ key }}", "{% key %}", "${key}", "on", "1"]
        .map(|key| (key.to_owned(), json!("{{ x }}")))
        .into_iter()
        .collect();
    json!({
        "texts": texts,
        "keys": keys,
        "types": [1, -7, 1.5, 1e21, true, null, [], {}],
        "removed": null,
        "nested": { "removed": null, "list": [{ "a": "{{ b }}" }, null] },
        "large": "{{ x }} 0123456789abcdef\n".repeat(2000),
    })
}

const MANIFESTS: &str = "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: hostile
  namespace: default
data:
  go: '{{ .Values.x }}'
  jinja: '{% raw %} {# x #} {{ y }}'
  shell: |
    echo ${HOME} \"{{ z }}\" `id`
    {%- if x %}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: hostile
  namespace: kube-system
data:
  version: '1.30'
---
apiVersion: v1
kind: Namespace
metadata:
  name: hostile
";

fn chart(name: &str, rest: &str) -> String {
    format!(
        "apiVersion: stackloom.dev/v1alpha1\nkind: Addon\nmetadata:\n  name: {name}\nspec:\n  chart:\n    repository: \
         https://charts.example.org/\n    name: {name}-chart\n  versions:\n    - version: 2.0.0+build.1\n      kubernetes: \
         \">=1.35\"\n  release: {{ name: {name}-release, namespace: {name}-system }}\n{rest}"
    )
}

fn manifests(name: &str, rest: &str) -> String {
    format!(
        "apiVersion: stackloom.dev/v1alpha1\nkind: Addon\nmetadata:\n  name: {name}\nspec: {{ {rest} }}\n"
    )
}

/// What an addon may ask for, as files of the stack beside those of the base.
fn wishes() -> Vec<(&'static str, Vec<(&'static str, String)>)> {
    let notes = ("addons/extra/manifests/all.yaml", MANIFESTS.to_owned());
    let single = |name: &str, namespace: &str| {
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n{namespace}data:\n  a: b\n")
    };
    vec![
        ("a chart", vec![("addons/extra/addon.yaml", chart("extra", ""))]),
        ("manifests", vec![("addons/extra/addon.yaml", manifests("extra", "")), notes.clone()]),
        ("both", vec![("addons/extra/addon.yaml", chart("extra", "")), notes]),
        (
            "a registry",
            vec![(
                "addons/extra/addon.yaml",
                chart("extra", "")
                    .replace("https://charts.example.org/", "oci://registry.example.org/charts"),
            )],
        ),
        (
            "an order of charts",
            vec![
                ("addons/extra/addon.yaml", chart("extra", "")),
                ("addons/last/addon.yaml", chart("last", "  dependsOn: [extra]\n")),
            ],
        ),
        (
            "an order of manifests",
            vec![
                ("addons/extra/addon.yaml", manifests("extra", "")),
                ("addons/extra/manifests/a.yaml", single("a", "  namespace: default\n")),
                ("addons/last/addon.yaml", manifests("last", "dependsOn: [extra]")),
                ("addons/last/manifests/b.yaml", single("b", "  namespace: default\n")),
            ],
        ),
        (
            "values of a Secret",
            vec![(
                "addons/extra/addon.yaml",
                chart("extra", "  valuesFrom:\n    - secret: ${{ cluster.name }}-extra\n"),
            )],
        ),
        (
            "no namespace",
            vec![
                ("addons/extra/addon.yaml", manifests("extra", "")),
                ("addons/extra/manifests/a.yaml", single("a", "")),
            ],
        ),
    ]
}

/// The base with what a wish adds, delivered in a way.
fn fleet(delivery: AddonDelivery, files: &[(&str, String)], values: &Json) -> Files {
    let mut world: Files = support::fleet(&support::package().join("tests/cases/_base"));
    let engine = if delivery.needs().is_some() { "argocd" } else { "flux" };
    let fleet = world.0.get_mut("stackloom.yaml").unwrap();
    *fleet =
        fleet.replace("engine: flux", &format!("engine: {engine}\n  addonDelivery: {}", delivery.as_str()));
    for (path, text) in files {
        world.0.insert(format!("stacks/test/tiny/{path}"), text.clone());
    }
    let mut addons = Map::new();
    if delivery == AddonDelivery::ClusterResourceSet {
        // It installs no chart, and the base has one.
        addons.insert("net".to_owned(), json!({ "enabled": false }));
    } else {
        addons.insert("net".to_owned(), json!({ "values": values }));
    }
    let one = world.0.get_mut("clusters/blue/one.yaml").unwrap();
    write!(one, "\n  addons: {}\n", Json::from(addons)).unwrap();
    if delivery == AddonDelivery::ClusterResourceSet {
        let two = world.0.get_mut("clusters/green/two.yaml").unwrap();
        *two = two.replace("      values:\n        relay:\n          enabled: false", "      enabled: false");
    }
    world
}

/// The objects of the tree, or what was refused.
fn objects(world: &Files) -> Result<Vec<Json>, Vec<String>> {
    let (mut tree, mut notes) = (Memory::default(), Notes::new());
    let done = generate(world, &mut tree, &|_, _| {}, &mut notes);
    let faults: Vec<_> = notes.iter().filter(|note| note.severity == Severity::Error).collect();
    if done.is_err() {
        assert!(faults.iter().all(|note| note.code == "delivery"), "{}", sandbox::messages(&notes));
        return Err(faults.iter().map(|note| note.message.clone()).collect());
    }
    let files = tree.files().map(|file| (file.path.as_str(), std::str::from_utf8(&file.bytes).unwrap()));
    let objects = files.filter(|(path, _)| path.starts_with("generated/management/"));
    Ok(objects.map(|(path, text)| located(path, text)).collect())
}

/// An object with its file.
fn located(path: &str, text: &str) -> Json {
    let mut object = gotmpl::yaml::parse(text).unwrap();
    object["file"] = json!(path);
    object
}

fn text(object: &Json, pointer: &str) -> String {
    object.pointer(pointer).and_then(Json::as_str).unwrap_or_default().to_owned()
}

fn is(object: &Json, api: &str, kind: &str) -> bool {
    text(object, "/apiVersion").starts_with(api) && text(object, "/kind") == kind
}

/// What Go's templates make of a text, with what the controllers know; then again as often as one of them evaluates it.
fn after_go(template: &str, times: usize) -> Json {
    let known = json!({ "Cluster": { "metadata": { "name": "changed" } } });
    let mut text = template.to_owned();
    for _ in 0..times {
        text = gotmpl::Template::parse(&text).unwrap().render(&known).unwrap();
    }
    gotmpl::yaml::parse(&text).unwrap()
}

/// What Jinja makes of a text.
fn after_jinja(template: &str) -> String {
    let known = minijinja::Value::from_pairs([("x", "changed"), ("cluster", "changed")]);
    minijinja::Environment::new().render_str(template, known).unwrap()
}

fn values(found: Option<Json>) -> Json {
    found.unwrap_or_else(|| json!({}))
}

/// The names of an object's `dependsOn`, whether it is a list of names or of references.
fn after(object: &Json) -> BTreeSet<String> {
    let list = object.pointer("/spec/dependsOn").and_then(Json::as_array);
    let name = |one: &Json| one.as_str().map_or_else(|| text(one, "/name"), str::to_owned);
    list.into_iter().flatten().map(name).collect()
}

/// A release of Helm as the controller of an object would make it, with its cluster; none of other objects.
fn release(object: &Json, all: &[Json]) -> Option<(String, Release)> {
    if is(object, "helm.toolkit.fluxcd.io/", "HelmRelease") {
        Some(of_flux(object, all))
    } else if is(object, "argoproj.io/", "Application") && object.pointer("/spec/source/helm").is_some() {
        Some(of_argocd(object))
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

fn of_argocd(object: &Json) -> (String, Release) {
    let get = |pointer: &str| text(object, pointer);
    let (mut repository, mut chart) = (get("/spec/source/repoURL"), get("/spec/source/chart"));
    if chart.is_empty() {
        let (before, last) = repository.rsplit_once('/').unwrap();
        (chart, repository) = (last.to_owned(), before.to_owned());
    }
    let found = Release {
        repository,
        chart,
        version: get("/spec/source/targetRevision"),
        name: get("/spec/source/helm/releaseName"),
        namespace: get("/spec/destination/namespace"),
        values: values(object.pointer("/spec/source/helm/valuesObject").cloned()),
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

/// Sveltos evaluates values twice when it installs, and once when it looks for changes.
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

/// The chart behind a `HelmRelease` of Flux: its repository, name and version.
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

/// The manifests in an object or a file, as they reach the workload cluster, with the cluster.
fn applied(object: &Json) -> Vec<(String, Json)> {
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

fn installed(all: &[Json]) -> Installed {
    let manifest = |(home, mut object): (String, Json)| {
        // Flux needs its own annotation on an object with `${`; the object is the same.
        if let Some(annotations) = object.pointer("/metadata/annotations") {
            assert_eq!(annotations, &json!({ "kustomize.toolkit.fluxcd.io/substitute": "disabled" }));
            object["metadata"].as_object_mut().unwrap().remove("annotations");
        }
        let at = ["/kind", "/metadata/namespace", "/metadata/name"].map(|pointer| text(&object, pointer));
        (format!("{home}/{}", at.join("/")), object)
    };
    let named = |(home, release): (String, Release)| (format!("{home}/{}", release.name), release);
    Installed {
        charts: all.iter().filter_map(|object| release(object, all)).map(named).collect(),
        manifests: all.iter().flat_map(applied).map(manifest).collect(),
    }
}

/// What both controllers can be told must be the same; tags of a registry write `_` for `+`, and Helm reads both.
fn assert_same(mut found: Installed, expected: &Installed, what: &str) {
    let plain = |chart: &Release| chart.version.replace('_', "+");
    for (name, chart) in &mut found.charts {
        let other = expected
            .charts
            .get(name)
            .unwrap_or_else(|| panic!("{what}: {name} is installed by this one only"));
        assert_eq!(plain(chart), plain(other), "{what}: {name}");
        chart.version.clone_from(&other.version);
        chart.waits = chart.waits.or(other.waits);
        chart.after = chart.after.take().or_else(|| other.after.clone());
        assert_eq!(chart, other, "{what}: {name}");
    }
    assert_eq!(found.manifests, expected.manifests, "{what}");
    assert_eq!(found.charts.len(), expected.charts.len(), "{what}");
}

#[test]
fn every_delivery_installs_the_same_or_says_what_it_cannot() {
    let flux = AddonDelivery::FluxHelmRelease;
    let mut refused = BTreeSet::new();
    // The first wish brings all values, the others a few.
    let few = json!({ "texts": ["{{ x }} {% y %} ${z}"] });
    let all_values = std::iter::once(hostile()).chain(std::iter::repeat(few));
    for ((wish, files), values) in wishes().into_iter().zip(all_values) {
        let expected = installed(
            &objects(&fleet(flux, &files, &values)).unwrap_or_else(|faults| panic!("{wish}: {faults:?}")),
        );
        assert!(expected.charts.len() >= 2 && expected.manifests.len() >= 2, "{wish}: {expected:?}");
        for delivery in AddonDelivery::all().filter(|one| *one != flux) {
            let what = format!("{wish} through {}", delivery.as_str());
            match objects(&fleet(delivery, &files, &values)) {
                Err(faults) => {
                    assert!(!faults.is_empty(), "{what}");
                    refused.insert(what);
                }
                Ok(all) if delivery == AddonDelivery::ClusterResourceSet => {
                    let manifests = expected.manifests.clone();
                    assert_same(installed(&all), &Installed { manifests, ..Installed::default() }, &what);
                }
                Ok(all) => assert_same(installed(&all), &expected, &what),
            }
        }
    }
    let expected = [
        "a chart through cluster-resource-set",
        "a registry through azimuth-helm-release",
        "a registry through cluster-resource-set",
        "an order of charts through azimuth-helm-release",
        "an order of charts through cluster-resource-set",
        "an order of manifests through azimuth-helm-release",
        "both through cluster-resource-set",
        "no namespace through cluster-resource-set",
        "no namespace through helm-chart-proxy",
        "values of a Secret through argocd-application",
        "values of a Secret through azimuth-helm-release",
        "values of a Secret through cluster-resource-set",
        "values of a Secret through helm-chart-proxy",
        "values of a Secret through sveltos-profile",
    ];
    assert_eq!(refused, expected.map(str::to_owned).into());
}
