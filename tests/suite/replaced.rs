//! Changes that must not be made to a running Cluster, and the limits of a fleet.

use std::fs;

use stackloom::{
    generate::generate,
    io::disk::{DiskSink, Workspace},
    model::{AddonDelivery, Engine},
    note::Notes,
    tree::MemorySink,
    world::Files,
};

use super::{mistakes::git, sandbox, support};

const CLUSTER: &str = "generated/management/mgmt/clusters/blue/one/cluster/cluster.yaml";

/// The codes and messages of a run whose tree had a different Cluster before.
fn over(from: &str, to: &str) -> Vec<String> {
    run_over(from, to).iter().map(|note| format!("{}: {}", note.code, note.message)).collect()
}

fn run_over(from: &str, to: &str) -> Notes {
    run_with(from, to, ("clusters/_defaults.yaml", "", ""))
}

/// The messages of a run whose tree had a different Cluster before, with a source that is edited in both.
fn run_with(from: &str, to: &str, (source, old, new): (&str, &str, &str)) -> Notes {
    let root = sandbox::folder();
    sandbox::copy(&support::package().join("tests/cases/_base"), root.path());
    let edited = fs::read_to_string(root.path().join(source)).unwrap().replacen(old, new, 1);
    sandbox::write(&root.path().join(source), edited);
    sandbox::to_disk(root.path());
    let file = root.path().join(CLUSTER);
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains(from), "{text}");
    sandbox::write(&file, text.replace(from, to));
    let before = sandbox::snapshot(root.path());
    let world = Workspace::open(root.path()).unwrap();
    let (done, notes) = sandbox::run(&world, &mut DiskSink::new(&world));
    assert_eq!(done.is_err(), notes.errors() > 0);
    assert!(notes.errors() == 0 || before == sandbox::snapshot(root.path()), "something was written");
    notes
}

#[test]
fn a_lower_patch_version_is_the_stacks_and_another_minor_the_definitions() {
    let place = |before: &str| {
        let notes = run_over("version: v1.35.10", &format!("version: {before}"));
        let place = notes.iter().next().and_then(|note| note.place.clone()).unwrap();
        format!("{}: {}", place.file, place.source.trim())
    };
    assert_eq!(place("v1.35.11"), "stacks/test/tiny/stack.yaml: - version: 1.35.10");
    assert_eq!(place("v1.36.0"), "clusters/_defaults.yaml: kubernetes: \"1.35\"");
}

#[test]
fn a_cluster_cannot_downgrade_skip_a_minor_or_change_its_provider() {
    let version = "version: v1.35.10";
    for (before, why) in [
        ("v1.36.0", "would be downgraded from Kubernetes 1.36.0 to 1.35.10"),
        ("v1.35.11", "would be downgraded from Kubernetes 1.35.11 to 1.35.10"),
        ("v1.33.9", "would be upgraded from Kubernetes 1.33.9 to 1.35.10, which skips a minor version"),
        ("v0.36.9", "skips a minor version"),
    ] {
        let found = over(version, &format!("version: {before}"));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("replaced: ") && found[0].contains(why), "{found:?}");
    }
    for (from, to) in
        [(version, "version: v1.35.9"), (version, "version: v1.34.13"), ("name: test-tiny", "name: test-old")]
    {
        assert_eq!(over(from, to), Vec::<String>::new(), "{to}");
    }
    let found = over("name: test-tiny", "name: cloud-tiny");
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("from the provider `cloud` to `test`"), "{found:?}");
}

/// The guard accepts the versions that Cluster API accepts.
#[test]
fn a_version_is_refused_only_if_cluster_api_refuses_it() {
    let annotated = "  namespace: blue\n  annotations: { unsafe.topology.cluster.x-k8s.io/disable-update-version-check: \"\" }\n";
    let planned = "spec:\n  kubernetesVersions: [v1.33.9, v1.34.13, v1.35.10, v1.36.6]\n";
    let unchecked = ("clusters/blue/one.yaml", "  namespace: blue\n", annotated);
    let with_plan = ("stacks/test/tiny/cluster-class/class.yaml", "spec:\n", planned);
    for (edit, before, refused) in [
        (unchecked, "v1.36.0", false),
        (unchecked, "v1.33.9", false),
        (with_plan, "v1.33.9", false),
        (with_plan, "v1.36.0", true),
    ] {
        let notes = run_with("version: v1.35.10", &format!("version: {before}"), edit);
        let found: Vec<_> = notes.iter().map(|note| format!("{}: {}", note.code, note.message)).collect();
        assert_eq!(
            found.iter().any(|note| note.starts_with("replaced: ")),
            refused,
            "{edit:?} {before}: {found:?}"
        );
    }
}

/// Whoever deletes generated files before the run is stopped like everybody else.
#[test]
fn what_the_last_commit_has_is_guarded_even_if_it_is_gone() {
    let root = sandbox::folder();
    sandbox::copy(&support::package().join("tests/cases/_base"), root.path());
    sandbox::to_disk(root.path());
    let file = root.path().join(CLUSTER);
    let text = fs::read_to_string(&file).unwrap();
    sandbox::write(&file, text.replace("version: v1.35.10", "version: v1.36.0"));
    git(root.path(), &["init", "-q"]);
    git(root.path(), &["add", "-A"]);
    git(root.path(), &["commit", "-qm", "a newer Kubernetes"]);
    let run = || {
        let world = Workspace::open(root.path()).unwrap();
        let (done, notes) = sandbox::run(&world, &mut DiskSink::new(&world));
        assert_eq!(done.is_err(), notes.errors() > 0);
        notes.iter().map(|note| format!("{}: {}", note.code, note.message)).collect::<Vec<_>>()
    };
    fs::remove_file(&file).unwrap();
    let found = run();
    assert!(found.len() == 1 && found[0].contains("would be downgraded"), "{found:?}");
    fs::remove_dir_all(root.path().join("generated")).unwrap();
    let found = run();
    assert!(found.len() == 1 && found[0].contains("would be downgraded"), "{found:?}");
    assert!(!root.path().join("generated").exists());
    fs::remove_file(root.path().join("clusters/green/two.yaml")).unwrap();
    let found = run();
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found.iter().any(|note| note.contains("`green/two` no longer has a definition")), "{found:?}");
}

#[test]
fn an_addon_moves_no_further_than_its_release_allows() {
    let root = sandbox::folder();
    sandbox::copy(&support::package().join("tests/cases/_base"), root.path());
    let addon = root.path().join("stacks/test/tiny/addons/net/addon.yaml");
    let text = fs::read_to_string(&addon).unwrap() + "  upgrade: { maxMinorStep: 1 }\n";
    fs::write(&addon, text).unwrap();
    sandbox::to_disk(root.path());
    let list =
        root.path().join("generated/management/mgmt/clusters/blue/one/addons/configmap-one.addons.yaml");
    let there = fs::read_to_string(&list).unwrap();
    assert!(there.contains("net: '1.1.0'"), "{there}");
    let run = |version: &str| {
        fs::write(&list, there.replace("1.1.0", version)).unwrap();
        let world = Workspace::open(root.path()).unwrap();
        let (done, notes) = sandbox::run(&world, &mut DiskSink::new(&world));
        assert_eq!(done.is_err(), notes.errors() > 0);
        notes.iter().map(|note| format!("{}: {}", note.message, note.hints[0])).collect::<Vec<_>>()
    };
    for near in ["1.0.3", "1.1.7", "1.2.9"] {
        assert_eq!(run(near), Vec::<String>::new(), "{near}");
    }
    for (far, distance, first) in [("0.7.2", 2, "1.0.0"), ("1.3.0", 2, "")] {
        let reported = run(far);
        let message = format!("would move from {far} to 1.1.0, by {distance} minor versions");
        assert!(reported.len() == 1 && reported[0].contains(&message), "{reported:?}");
        let way = if first.is_empty() {
            "go down by at most one minor first".to_owned()
        } else {
            format!("move net to {first} first")
        };
        assert!(reported[0].contains(&way), "{reported:?}");
        assert!(fs::read_to_string(&list).unwrap().contains(far), "something was written");
    }
}

#[test]
fn a_stack_takes_as_many_addons_as_its_limit_and_no_more() {
    let addon = |name: &str, before: Option<&str>| {
        format!(
            "apiVersion: stackloom.dev/v1alpha1\nkind: Addon\nmetadata:\n  name: {name}\nspec:\n  chart:\n    \
             repository: https://charts.example.org/\n    name: net\n  versions:\n    - version: 1.0.0\n      \
             kubernetes: \">=1.34\"\n  dependsOn: [{}]\n",
            before.unwrap_or_default()
        )
    };
    let with = |count: usize, circle: bool| {
        let mut files: Files = support::fleet(&support::package().join("tests/cases/_base"));
        let last = format!("a{:03}", count - 1);
        for at in 0..count {
            let before = (at > 0).then(|| format!("a{:03}", at - 1)).or_else(|| circle.then(|| last.clone()));
            let name = format!("a{at:03}");
            let path = format!("stacks/test/tiny/addons/{name}/addon.yaml");
            files.0.insert(path, addon(&name, before.as_deref()));
        }
        let mut notes = Notes::new();
        drop(generate(&files, &mut MemorySink::default(), &|_, _| {}, &mut notes));
        sandbox::messages(&notes)
    };
    // The base has two addons of its own.
    assert_eq!(with(198, false), "");
    assert!(with(199, false).contains("a stack can have at most 200 addons; this one has 201"));
    assert!(with(198, true).contains("these addons wait for each other: a000 → a197 → "));
}

#[test]
fn an_engine_changes_on_standby_only() {
    let files = |(engine, settings): (&str, &str), standby: bool| {
        let root = sandbox::folder();
        sandbox::copy(&support::package().join("tests/cases/_base"), root.path());
        let file = root.path().join("stackloom.yaml");
        let text = fs::read_to_string(&file).unwrap();
        let text = text.replace("engine: flux", &format!("engine: {engine}"));
        fs::write(&file, format!("{text}{settings}      standby: {standby}\n")).unwrap();
        root
    };
    let (flux, argocd) = (("flux", ""), ("argocd", ""));
    let argocd_with_flux = ("argocd\n  addonDelivery: flux-helm-release", "");
    // Applications in another namespace are other objects.
    let argocd_elsewhere = ("argocd", "      argocd: { namespace: other }\n");
    let argocd_elsewhere_with_flux = (argocd_with_flux.0, argocd_elsewhere.1);
    // Addons would be installed in clusters that are not registered yet.
    let argocd_with_names =
        ("argocd", "      argocd: { clusterNames: \"{managementCluster}-{namespace}-{cluster}\" }\n");
    // Argo CD applies the clusters to another one.
    let [argocd_to_eu, argocd_to_us] =
        ["eu", "us"].map(|name| format!("      argocd: {{ destination: {name} }}\n"));
    let moves = [
        (flux, argocd),
        (argocd, flux),
        (argocd, argocd_elsewhere),
        (argocd_with_flux, argocd_elsewhere_with_flux),
        (argocd, argocd_with_names),
        (argocd, ("argocd", argocd_to_eu.as_str())),
        (("argocd", argocd_to_eu.as_str()), ("argocd", argocd_to_us.as_str())),
        (argocd, argocd_with_flux),
        (argocd_with_flux, argocd),
        (argocd_with_flux, flux),
    ];
    let suspend = |root: &std::path::Path| {
        let file = root.join("clusters/_defaults.yaml");
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, text.replace("spec:\n", "spec:\n  suspend: a test\n")).unwrap();
    };
    for (from, to) in moves {
        // The engine of suspended clusters runs.
        for (standby, suspended, refused) in
            [(false, false, true), (false, true, true), (true, false, false), (true, true, false)]
        {
            let (before, after) = (files(from, standby), files(to, standby));
            if suspended {
                suspend(before.path());
            }
            sandbox::to_disk(before.path());
            fs::copy(after.path().join("stackloom.yaml"), before.path().join("stackloom.yaml")).unwrap();
            let tree = sandbox::snapshot(before.path());
            let world = Workspace::open(before.path()).unwrap();
            let (_, notes) = sandbox::run(&world, &mut DiskSink::new(&world));
            let codes: Vec<_> = notes.iter().map(|note| note.code).collect();
            assert_eq!(
                codes.contains(&"engine-changed"),
                refused,
                "{from:?} to {to:?}, standby {standby}, suspended {suspended}: {codes:?}"
            );
            assert_eq!(tree == sandbox::snapshot(before.path()), refused);
        }
    }
}

#[test]
fn a_cluster_moves_to_a_management_cluster_on_standby_only() {
    for (standby, suspended, is_error) in
        [(false, false, true), (false, true, true), (true, false, false), (true, true, false)]
    {
        let root = sandbox::folder();
        sandbox::copy(&support::package().join("tests/cases/_base"), root.path());
        let change = |file: &str, from: &str, to: &str| {
            let file = root.path().join(file);
            let text = fs::read_to_string(&file).unwrap();
            assert!(text.contains(from), "{text}");
            fs::write(&file, text.replacen(from, to, 1)).unwrap();
        };
        let others = format!(
            "    - name: mgmt\n      classNamespace: classes\n    - name: next\n      standby: {standby}\n"
        );
        change("stackloom.yaml", "    - name: mgmt\n      classNamespace: classes\n", &others);
        sandbox::to_disk(root.path());
        let suspend = if suspended { "  suspend: it moves\n" } else { "" };
        change("clusters/blue/one.yaml", "spec:\n", &format!("spec:\n  managementCluster: next\n{suspend}"));
        let world = Workspace::open(root.path()).unwrap();
        let (done, notes) = sandbox::run(&world, &mut DiskSink::new(&world));
        let moved = notes.iter().find(|note| note.code == "moved");
        assert!(moved.is_some(), "{}", sandbox::messages(&notes));
        assert_eq!(done.is_err(), is_error, "{standby} {suspended}: {}", sandbox::messages(&notes));
    }
}

#[test]
fn a_delivery_changes_on_standby_only_also_that_of_one_cluster() {
    let flux = "flux-helm-release";
    let others = sandbox::chart_deliveries().map(|to| (flux, to.as_str(), "", true));
    let moves = others.chain([
        ("helm-chart-proxy", flux, "", true),
        // Suspending a cluster does not stop its engine.
        (flux, "helm-chart-proxy", "suspend: storage is being moved", true),
        (flux, "helm-chart-proxy", "standby", false),
    ]);
    for (from, to, how, refused) in moves {
        let root = sandbox::folder();
        sandbox::copy(&support::package().join("tests/cases/_base"), root.path());
        // Its file comes before that of the chart, and Cluster API would leave it behind.
        let first = root.path().join("stacks/test/tiny/addons/a");
        sandbox::copy(&root.path().join("stacks/test/tiny/addons/notes"), &first);
        for (file, name) in [("addon.yaml", "name: a\n"), ("manifests/notes.yaml", "name: first\n")] {
            let text = fs::read_to_string(first.join(file)).unwrap().replace("name: notes\n", name);
            fs::write(first.join(file), text).unwrap();
        }
        let change = |file: &str, from: &str, to: &str| {
            let file = root.path().join(file);
            let text = fs::read_to_string(&file).unwrap();
            assert!(text.contains(from), "{text}");
            fs::write(&file, text.replacen(from, to, 1)).unwrap();
        };
        let one = "clusters/blue/one.yaml";
        if how == "standby" {
            let setting = "classNamespace: classes\n      standby: true";
            change("stackloom.yaml", "classNamespace: classes", setting);
        } else if !how.is_empty() {
            change(one, "spec:\n", &format!("spec:\n  {how}\n"));
        }
        change(one, "spec:\n", &format!("spec:\n  addonDelivery: {from}\n"));
        sandbox::to_disk(root.path());
        change(one, &format!("addonDelivery: {from}"), &format!("addonDelivery: {to}"));
        let world = Workspace::open(root.path()).unwrap();
        let (_, notes) = sandbox::run(&world, &mut DiskSink::new(&world));
        let reported: Vec<_> = notes.iter().filter(|note| note.code == "engine-changed").collect();
        assert_eq!(!reported.is_empty(), refused, "{to} {how}: {}", sandbox::messages(&notes));
        if let Some(note) = reported.first() {
            let message = format!("`blue/one` would change from {from} to {to}");
            assert!(note.message.contains(&message), "{}", note.message);
        }
    }
}

/// The Applications are the same objects, so Argo CD changes them, and prunes none.
#[test]
fn applications_with_one_source_and_with_several_take_turns_without_standby() {
    let all = AddonDelivery::all().filter(|one| one.engine() == Some(Engine::ArgoCd));
    let all: Vec<_> = all.map(AddonDelivery::as_str).collect();
    assert_eq!(all.len(), 2);
    let flux = AddonDelivery::of(Engine::Flux).as_str();
    for (from, to, refused) in
        [(all[0], all[1], false), (all[1], all[0], false), (flux, all[1], true), (all[1], flux, true)]
    {
        let fleet = |delivery: &str| {
            let mut files: Files = support::fleet(&support::package().join("tests/cases/_base"));
            let text = files.0.get_mut("stackloom.yaml").unwrap();
            *text = text.replace("engine: flux", &format!("engine: argocd\n  addonDelivery: {delivery}"));
            files
        };
        let root = sandbox::folder();
        let write = |files: &Files| {
            files.0.iter().for_each(|(path, text)| sandbox::write(&root.path().join(path), text));
        };
        write(&fleet(from));
        sandbox::to_disk(root.path());
        let installers = |tree: &std::collections::BTreeMap<String, Vec<u8>>| {
            let own = tree.iter().filter(|(path, _)| path.contains("/one/addons/"));
            let named = own.map(|(path, bytes)| {
                let object = gotmpl::yaml::parse(std::str::from_utf8(bytes).unwrap()).unwrap();
                (path.clone(), object["kind"].clone(), object["metadata"].clone())
            });
            named.collect::<Vec<_>>()
        };
        let before = sandbox::snapshot(root.path());
        write(&fleet(to));
        let world = Workspace::open(root.path()).unwrap();
        let (_, notes) = sandbox::run(&world, &mut DiskSink::new(&world));
        let found = notes.iter().find(|note| note.code == "engine-changed");
        assert_eq!(found.is_some(), refused, "{from} to {to}: {}", sandbox::messages(&notes));
        if let Some(found) = found {
            assert!(found.message.contains(&format!("from {from} to {to}")), "{}", found.message);
            continue;
        }
        let after = sandbox::snapshot(root.path());
        assert_ne!(before, after);
        // Names, labels, protection and finalizers are the same; only the annotation about paths differs.
        let plain = |mut all: Vec<(String, serde_json::Value, serde_json::Value)>| {
            for (.., metadata) in &mut all {
                let annotations = metadata["annotations"].as_object_mut().unwrap();
                annotations.remove("argocd.argoproj.io/manifest-generate-paths");
            }
            all
        };
        assert_eq!(plain(installers(&before)), plain(installers(&after)));
        let has_values = |tree: &std::collections::BTreeMap<String, Vec<u8>>| {
            tree.keys().any(|path| path.contains("/one/values/net/"))
        };
        assert_eq!([has_values(&before), has_values(&after)], [from == all[1], to == all[1]]);
    }
}

#[test]
fn objects_that_cluster_api_leaves_behind_are_reported_when_they_leave_git() {
    let root = sandbox::folder();
    sandbox::copy(&support::package().join("tests/cases/_base"), root.path());
    let one = root.path().join("clusters/blue/one.yaml");
    let text = fs::read_to_string(&one).unwrap();
    let with = |addons: &str| {
        let added = format!("spec:\n  addonDelivery: cluster-resource-set\n  addons: {addons}\n");
        fs::write(&one, text.replacen("spec:\n", &added, 1)).unwrap();
    };
    with("{ net: { enabled: false } }");
    sandbox::to_disk(root.path());
    with("{ net: { enabled: false }, notes: { enabled: false } }");
    let world = Workspace::open(root.path()).unwrap();
    let (done, notes) = sandbox::run(&world, &mut DiskSink::new(&world));
    assert!(done.is_ok());
    let reported: Vec<_> = notes.iter().map(|note| (note.code, note.message.clone())).collect();
    let message = "the manifests of `notes` are removed from git but stay in the cluster `blue/one`: Cluster API deletes nothing there";
    assert_eq!(reported, [("abandoned", message.to_owned())]);
}

/// The cluster that Argo CD runs in has a name and an address, and a destination may look like a number.
#[test]
fn a_destination_is_compared_and_shown_as_it_is_meant() {
    let with = |destination: &str| {
        let text = fs::read_to_string(support::package().join("tests/cases/_base/stackloom.yaml")).unwrap();
        let settings = format!("      argocd: {{ registration: other{destination} }}\n");
        text.replace("engine: flux", "engine: argocd") + &settings
    };
    for (from, to, refused) in [
        ("", ", destination: in-cluster", None),
        (", destination: 'https://eu.example.org/'", ", destination: 'https://eu.example.org'", None),
        (", destination: '123'", ", destination: eu", Some("apply them to `eu`, and they run in `123`")),
    ] {
        let root = sandbox::folder();
        sandbox::copy(&support::package().join("tests/cases/_base"), root.path());
        let file = root.path().join("stackloom.yaml");
        fs::write(&file, with(from)).unwrap();
        sandbox::to_disk(root.path());
        fs::write(&file, with(to)).unwrap();
        let world = Workspace::open(root.path()).unwrap();
        let (_, notes) = sandbox::run(&world, &mut DiskSink::new(&world));
        let found: Vec<_> = notes.iter().filter(|note| note.code == "engine-changed").collect();
        match refused {
            None => assert!(found.is_empty(), "{found:?}"),
            Some(words) => assert!(found.iter().any(|note| note.message.contains(words)), "{found:?}"),
        }
    }
}
