//! Every delivery of addons installs the same, or `check` refuses the addon. A model of each controller computes what it
//! would do, independently of the code that writes its objects.

mod controllers;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use serde_json::{Map, Value as Json, json};
use stackloom::{
    generate::generate,
    model::{AddonDelivery, Engine},
    note::{Notes, Severity},
    tree::MemorySink,
    world::Files,
};

pub(super) use controllers::text;
use controllers::{Release, applied, release};

use super::{sandbox, support};

/// Everything installed in clusters: Helm releases and manifests, by cluster and name.
#[derive(Debug, Default, PartialEq)]
struct Installed {
    charts: BTreeMap<String, Release>,
    manifests: BTreeMap<String, Json>,
}

/// Strings with a meaning for some engine between here and a chart.
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
    // All short combinations of markers and surrounding characters.
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

/// The features that an addon may ask for, as files of the stack in addition to those of the base.
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

/// The base fleet with the files of a wish, using a delivery.
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
    if delivery == sandbox::without_charts() {
        // It installs no charts, but the base has one.
        addons.insert("net".to_owned(), json!({ "enabled": false }));
    } else {
        addons.insert("net".to_owned(), json!({ "values": values }));
    }
    let one = world.0.get_mut("clusters/blue/one.yaml").unwrap();
    write!(one, "\n  addons: {}\n", Json::from(addons)).unwrap();
    if delivery == sandbox::without_charts() {
        let two = world.0.get_mut("clusters/green/two.yaml").unwrap();
        *two = two.replace("      values:\n        relay:\n          enabled: false", "      enabled: false");
    }
    world
}

/// The objects of the tree, or the refusals. With a name, the tree also goes to `target/deliveries/<name>`, for readers in
/// other languages.
fn objects(world: &Files, name: Option<&str>) -> Result<Vec<Json>, Vec<String>> {
    let (mut tree, mut notes) = (MemorySink::default(), Notes::new());
    let done = generate(world, &mut tree, &|_, _| {}, &mut notes);
    let faults: Vec<_> = notes.iter().filter(|note| note.severity == Severity::Error).collect();
    if done.is_err() {
        assert!(faults.iter().all(|note| note.code == "delivery"), "{}", sandbox::messages(&notes));
        return Err(faults.iter().map(|note| note.message.clone()).collect());
    }
    if let Some(name) = name {
        sandbox::export(&format!("deliveries/{name}"), world, &tree);
    }
    let files = tree.files().map(|file| (file.path.as_str(), std::str::from_utf8(file.bytes()).unwrap()));
    let objects = files.filter(|(path, _)| path.starts_with("generated/management/"));
    Ok(objects.map(|(path, text)| located(path, text)).collect())
}

/// An object with its file, or the values of a chart in a file of their own.
fn located(path: &str, text: &str) -> Json {
    if path.split('/').nth(6) == Some("values") {
        return json!({ "file": path, "values": gotmpl::yaml::parse(text).unwrap() });
    }
    let mut object = gotmpl::yaml::parse(text).unwrap();
    object["file"] = json!(path);
    object
}

fn installed(all: &[Json]) -> Installed {
    let manifest = |(home, mut object): (String, Json)| {
        // Flux needs its own annotation on an object with `${`. Apart from that, the object is the same.
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

/// Settings that both controllers have must be equal. Tags in registries use `_` instead of `+`; Helm accepts both.
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
    let mut refused = BTreeSet::new();
    // The first wish includes all values, the others only a few.
    let few = json!({ "texts": ["{{ x }} {% y %} ${z}"] });
    let all_values = std::iter::once(hostile()).chain(std::iter::repeat(few));
    for ((wish, files), values) in wishes().into_iter().zip(all_values) {
        // Flux adds no namespaces.
        let reference = if wish == "no namespace" { "sveltos-profile" } else { "flux-helm-release" };
        let reference = AddonDelivery::of_word(reference).unwrap();
        let expected = installed(
            &objects(&fleet(reference, &files, &values), None)
                .unwrap_or_else(|faults| panic!("{wish}: {faults:?}")),
        );
        assert!(expected.charts.len() >= 2 && expected.manifests.len() >= 2, "{wish}: {expected:?}");
        for delivery in AddonDelivery::all().filter(|one| *one != reference) {
            let what = format!("{wish} through {}", delivery.as_str());
            match objects(&fleet(delivery, &files, &values), None) {
                Err(faults) => {
                    assert!(!faults.is_empty(), "{what}");
                    refused.insert(what);
                }
                Ok(all) if delivery == sandbox::without_charts() => {
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
        "no namespace through flux-helm-release",
        "no namespace through helm-chart-proxy",
        "values of a Secret through argocd-application",
        "values of a Secret through argocd-multi-source-application",
        "values of a Secret through azimuth-helm-release",
        "values of a Secret through cluster-resource-set",
        "values of a Secret through helm-chart-proxy",
        "values of a Secret through sveltos-profile",
    ];
    assert_eq!(refused, expected.map(str::to_owned).into());
}

/// Go evaluates these trees with the engines' own code and renders the charts with Helm's library:
/// `tests/conformance/cmd/deliveries`.
#[test]
fn hostile_fleets_are_written_for_other_readers() {
    // Together with the rest, about as much as etcd takes for an object. Argo CD keeps five copies.
    let huge = |lines: usize| {
        let mut values = hostile();
        values["huge"] = json!("{{ x }} 0123456789abcde\n".repeat(lines));
        values
    };
    let (most, of_argocd) = (huge(43_700), huge(1_000));
    assert!(most["huge"].as_str().unwrap().len() > 1 << 20);
    let (_, files) = wishes().into_iter().find(|(wish, _)| *wish == "both").unwrap();
    for delivery in AddonDelivery::all().filter(|one| *one != sandbox::without_charts()) {
        if delivery != AddonDelivery::of(Engine::ArgoCd) {
            let name = format!("hostile/{}", delivery.as_str());
            objects(&fleet(delivery, &files, &most), Some(&name)).unwrap();
        }
    }
    for delivery in [AddonDelivery::of(Engine::Flux), AddonDelivery::of(Engine::ArgoCd)] {
        let name = format!("hostile-smaller/{}", delivery.as_str());
        objects(&fleet(delivery, &files, &of_argocd), Some(&name)).unwrap();
    }
    // More than an API server takes.
    let too_much = fleet(AddonDelivery::of(Engine::Flux), &files, &huge(70_000));
    let faults = objects(&too_much, None).unwrap_err();
    assert!(faults.iter().any(|fault| fault.contains("an API server takes 1572864")), "{faults:?}");
    let faults = objects(&fleet(AddonDelivery::of(Engine::ArgoCd), &files, &most), None).unwrap_err();
    assert!(faults.iter().any(|fault| fault.contains("can have at most 100000")), "{faults:?}");
}

#[test]
fn this_repositorys_fleet_gets_the_same_from_every_delivery() {
    let fleet = |delivery: AddonDelivery, folder: &str| {
        let mut files = support::own();
        // The clusters on OpenStack have addons that take values from a Secret.
        files.0.retain(|path, _| {
            !path.starts_with("clusters/staging/") && !path.starts_with("clusters/prod/")
                || path.starts_with(folder)
        });
        let defaults = files.0.get_mut(&format!("{folder}_defaults.yaml")).unwrap();
        *defaults =
            defaults.replacen("spec:\n", &format!("spec:\n  addonDelivery: {}\n", delivery.as_str()), 1);
        if let Some(engine) = delivery.needs() {
            let mgmt = "    - name: mgmt\n      classNamespace: cluster-classes\n";
            let decryption = "      decryption:\n        provider: sops\n        secret: sops-age\n";
            let fleet = files.0.get_mut("stackloom.yaml").unwrap();
            let argocd = format!(
                "{mgmt}      engine: {}\n      argocd: {{ registration: other }}\n",
                engine.as_str().to_lowercase().replace(' ', "")
            );
            assert!(fleet.contains(&format!("{mgmt}{decryption}")));
            *fleet = fleet.replace(&format!("{mgmt}{decryption}"), &argocd);
        }
        let name = folder.starts_with("clusters/dev").then(|| format!("own/{}", delivery.as_str()));
        objects(&files, name.as_deref())
    };
    let flux = installed(&fleet(AddonDelivery::of(Engine::Flux), "clusters/dev/").unwrap());
    let own = flux.charts.keys().filter(|name| name.starts_with("dev-"));
    assert!(own.count() >= 3 && !flux.manifests.is_empty(), "{:?}", flux.charts.keys());
    let others = [AddonDelivery::of(Engine::Flux), sandbox::without_charts()];
    for delivery in AddonDelivery::all().filter(|one| !others.contains(one)) {
        let found = fleet(delivery, "clusters/dev/").unwrap_or_else(|faults| panic!("{faults:?}"));
        assert_same(installed(&found), &flux, delivery.as_str());
        if delivery.needs().is_some() {
            // Argo CD does not decrypt the files beside these clusters.
            continue;
        }
        let refused = fleet(delivery, "clusters/staging/").unwrap_err();
        assert!(refused.iter().all(|message| message.contains("takes values from a Secret")), "{refused:?}");
    }
}

/// Argo CD reads a file as soon as it is in git, but an Application only once its wave has come. So no Application may find a file
/// that is meant for its next version.
#[test]
fn a_values_file_is_for_one_version_of_an_application_only() {
    let delivery = AddonDelivery::of_word("argocd-multi-source-application").unwrap();
    let addon = "stacks/test/tiny/addons/net/addon.yaml";
    let one = "clusters/blue/one.yaml";
    let release = "  release: { name: other, namespace: net }\n  stage: bootstrap";
    let edits = [
        (one, "\"a\":1", "\"a\":2", 1),
        (addon, "https://charts.example.org/", "https://mirror.example.org/", 2),
        (addon, "    name: net\n", "    name: network\n", 2),
        (addon, "  stage: bootstrap", release, 2),
        (addon, "version: 1.1.0", "version: 1.1.1", 2),
        ("stackloom.yaml", "    - name: mgmt\n", "    - name: mgmt\n      standby: true\n", 0),
    ];
    let files = |all: &[Json]| -> BTreeMap<String, Json> {
        let files = all.iter().filter(|one| one.get("values").is_some() && one.get("kind").is_none());
        files.map(|one| (text(one, "/file"), one["values"].clone())).collect()
    };
    for (path, from, to, changed) in edits {
        let mut world = fleet(delivery, &[], &json!({ "a": 1 }));
        let before = files(&objects(&world, None).unwrap());
        assert_eq!(before.len(), 2);
        let edited = world.0.get_mut(path).unwrap();
        assert!(edited.contains(from), "{edited}");
        *edited = edited.replacen(from, to, 1);
        let after = files(&objects(&world, None).unwrap());
        assert_eq!(after.len(), 2);
        let kept = before.iter().filter(|(path, values)| after.get(*path) == Some(values)).count();
        assert_eq!(kept, 2 - changed, "{to}: {before:?} {after:?}");
        let reused =
            before.iter().filter(|(path, values)| after.get(*path).is_some_and(|new| new != *values));
        assert_eq!(reused.count(), 0, "{to}");
    }
}
