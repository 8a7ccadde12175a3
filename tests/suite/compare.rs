//! Comparing two states of the fleet: finds only objects that differ, and how Cluster API acts on them.

use std::collections::BTreeSet;

use stackloom::{
    compare::{
        BlobId, ClassCache, ClusterChange, ClusterOutcome, Comparison, DefinedState, Fate, GeneratedTree,
        MemoryArchive, ObjectChangeKind, Unknown, Which, WrittenCluster, compare, forecast,
    },
    generate::{self, Understood},
    model::{Cluster, ReleaseRef},
    note::Notes,
    plan, render,
    topology::Meaning,
    world::Files,
};

use super::{sandbox, support};

fn understood(files: &Files) -> Understood {
    let mut notes = Notes::new();
    let found = generate::understand(files, &mut notes);
    found.unwrap_or_else(|_| panic!("{}", sandbox::messages(&notes)))
}

fn definitions(understood: &Understood) -> DefinedState<'_> {
    DefinedState::new(&understood.model, &understood.releases)
}

/// The tree of a fleet, with files changed or removed by a function.
fn generated(files: &Files, change: impl Fn(&str, &str) -> Option<String>) -> MemoryArchive {
    let mut memory = MemoryArchive::default();
    for (path, text) in sandbox::tree(files) {
        if let Some(text) = change(&path, &text) {
            memory.add(&path, &text);
        }
    }
    memory
}

/// The unchanged tree of a fleet.
fn tree(files: &Files) -> MemoryArchive {
    generated(files, |_, text| Some(text.to_owned()))
}

/// Compares a tree with the definitions.
fn since(tree: &MemoryArchive, files: &Files) -> Comparison {
    let after = understood(files);
    let before = GeneratedTree::new(tree, &after.model.fleet.management_clusters);
    compare(&before, &definitions(&after)).unwrap()
}

/// The fleet with a text replaced in one file.
fn edited(files: &Files, path: &str, from: &str, to: &str) -> Files {
    let mut files = files.clone();
    let text = files.0.get_mut(path).unwrap();
    assert!(text.contains(from), "{path} has no `{from}`:\n{text}");
    *text = text.replace(from, to);
    files
}

fn only(comparison: &Comparison) -> &ClusterChange {
    assert_eq!(comparison.clusters.len(), 1, "{comparison:#?}");
    &comparison.clusters[0]
}

fn meanings(change: &ClusterChange) -> Vec<(String, Meaning)> {
    let ClusterOutcome::Judged(answer) = &change.outcome else { panic!("{change:#?}") };
    answer.verdicts.iter().map(|one| (one.subject.to_string(), one.meaning.clone())).collect()
}

#[test]
fn a_generated_tree_compares_equal_in_any_layout() {
    let files = support::many(4);
    let found = since(&tree(&files), &files);
    assert_eq!((found.clusters.len(), found.unchanged), (0, 4), "{found:#?}");
    // Different bytes, but the same objects.
    let laid_out = |_: &str, text: &str| {
        let (first, rest) = text.split_once('\n')?;
        let moved = rest.split_once('\n').filter(|(line, _)| line.starts_with("apiVersion: "));
        Some(match moved {
            Some((version, rest)) => format!("{first}\n\n# by hand\n{rest}{version}\n"),
            None => text.to_owned(),
        })
    };
    let found = since(&generated(&files, laid_out), &files);
    assert_eq!((found.clusters.len(), found.unchanged), (0, 4), "{found:#?}");
}

#[test]
fn a_field_is_named_with_its_values_and_what_it_means() {
    let files = support::many(4);
    let tree = tree(&files);
    let after = edited(&files, "clusters/team-000/cluster-00003.yaml", "replicas: 3", "replicas: 5");
    let found = since(&tree, &after);
    let one = only(&found);
    assert_eq!((one.cluster.to_string().as_str(), &one.fate), ("team-000/cluster-00003", &Fate::Changed));
    let [object] = one.objects.as_slice() else { panic!("{one:#?}") };
    assert_eq!(object.address.to_string(), "Cluster.cluster.x-k8s.io team-000/cluster-00003");
    let ObjectChangeKind::Changed(fields) = &object.kind else { panic!("{object:#?}") };
    assert_eq!(fields.len(), 1, "{fields:#?}");
    let path = "spec.topology.workers.machineDeployments[name=md-0].replicas";
    assert_eq!(fields[0].path.to_string(), path);
    assert_eq!((fields[0].before.clone(), fields[0].after.clone()), (Some(3.into()), Some(5.into())));
    assert!(meanings(one).contains(&("md.md-0".to_owned(), Meaning::Scale { from: 3, to: 5 })), "{one:#?}");
    assert_eq!(found.unchanged, 3);
}

#[test]
fn values_of_an_addon_touch_no_machine() {
    let files = support::many(2);
    let tree = tree(&files);
    let path = "clusters/team-000/cluster-00001.yaml";
    let found = since(&tree, &edited(&files, path, "color: \"000001\"", "color: \"blue\""));
    let one = only(&found);
    assert_eq!(one.outcome, ClusterOutcome::Untouched);
    let [addon] = one.addons.as_slice() else { panic!("{one:#?}") };
    assert_eq!((addon.name.as_str(), addon.objects, &addon.before), ("demo", 1, &addon.after));
    assert_eq!(addon.values.iter().map(|one| one.path.to_string()).collect::<Vec<_>>(), ["color"]);
    // An addon that is turned off is gone; its former version is known.
    let after = edited(&files, path, "    demo:\n", "    notes:\n      enabled: false\n    demo:\n");
    let found = since(&tree, &after);
    let addon = only(&found).addons.iter().find(|one| one.name == "notes").unwrap();
    assert!(addon.before.is_some() && addon.after.is_none(), "{addon:#?}");
}

#[test]
fn clusters_come_go_and_move() {
    let files = support::many(3);
    let tree = tree(&files);
    let mut after = files.clone();
    let path = "clusters/team-000/cluster-00002.yaml";
    let text = after.0.remove(path).unwrap();
    let gone = since(&tree, &after);
    let one = only(&gone);
    assert_eq!((&one.fate, &one.outcome), (&Fate::Gone, &ClusterOutcome::Absent));
    assert!(one.before.is_some() && one.after.is_none());
    // Moving the file changes no object.
    after.0.insert("clusters/elsewhere/two.yaml".to_owned(), text.clone());
    assert_eq!(since(&tree, &after).clusters.len(), 0);
    // In another namespace it is another cluster for Cluster API, but the same one for people.
    after.0.insert(
        "clusters/elsewhere/two.yaml".to_owned(),
        text.replace("namespace: team-000", "namespace: other"),
    );
    let moved = since(&tree, &after);
    let one = only(&moved);
    let Fate::Moved { from } = &one.fate else { panic!("{one:#?}") };
    assert_eq!(
        (from.to_string().as_str(), one.cluster.to_string().as_str()),
        ("team-000/cluster-00002", "other/cluster-00002")
    );
    // With another spec, it is not certain to be the same cluster.
    let other =
        text.replace("namespace: team-000", "namespace: other").replace("motd: cluster 2", "motd: another");
    after.0.insert("clusters/elsewhere/two.yaml".to_owned(), other);
    let fates: Vec<_> = since(&tree, &after).clusters.into_iter().map(|one| one.fate).collect();
    assert_eq!(fates, [Fate::Created, Fate::Gone]);
}

#[test]
fn a_cluster_moves_between_management_clusters_even_if_no_file_of_it_changes() {
    let second = "    - name: other\n      classNamespace: cluster-classes\n    - name: mgmt\n      classNamespace: cluster-classes\n";
    let one = "    - name: mgmt\n      classNamespace: cluster-classes\n";
    let files = edited(&support::many(2), "stackloom.yaml", one, second);
    let path = "clusters/team-000/cluster-00001.yaml";
    // The objects that apply manifests name their folder.
    let files = edited(&files, path, "  addons:\n", "  addons:\n    notes: { enabled: false }\n");
    let after = edited(&files, path, "spec:\n", "spec:\n  managementCluster: other\n");
    let moved = since(&tree(&files), &after);
    let one = only(&moved);
    let Fate::Moved { from } = &one.fate else { panic!("{one:#?}") };
    assert_eq!((from.management.as_str(), one.cluster.management.as_str()), ("mgmt", "other"));
    assert_eq!(one.objects, []);
}

#[test]
fn clusters_that_cannot_be_read_or_generated_are_unknown() {
    let files = support::many(2);
    let broken = |path: &str, text: &str| {
        Some(if path.ends_with("/cluster-00001/cluster/cluster.yaml") {
            "a: [\n".to_owned()
        } else {
            text.to_owned()
        })
    };
    let found = since(&generated(&files, broken), &files);
    let ClusterOutcome::Unknown(Unknown::Unread { side: Which::Before, file }) = &only(&found).outcome else {
        panic!("{found:#?}")
    };
    assert!(
        file.path.ends_with("team-000/cluster-00001/cluster/cluster.yaml") && file.line.is_some(),
        "{file}"
    );
    // A tree without the class of its Clusters.
    let classless = |path: &str, text: &str| (!path.contains("/cluster-class/")).then(|| text.to_owned());
    let after = edited(&files, "clusters/team-000/cluster-00001.yaml", "replicas: 1", "replicas: 2");
    let found = since(&generated(&files, classless), &after);
    let unread = |one: &ClusterChange| matches!(one.outcome, ClusterOutcome::Unknown(Unknown::Unread { .. }));
    // All of them are unknown, because their class differs.
    assert!(found.clusters.len() == 2 && found.clusters.iter().all(unread), "{found:#?}");
    // A Cluster that would no longer be generated.
    let fleet = understood(&files);
    let before = definitions(&fleet);
    let nowhere = ReleaseRef::Named(stackloom::model::Subdomain::new("gone-1-36-v1").unwrap());
    let found = compare(&before, &before.moved(nowhere)).unwrap();
    let refused = |one: &ClusterChange| matches!(&one.outcome, ClusterOutcome::Unknown(Unknown::Refused { side: Which::After, why }) if why.contains("gone-1-36-v1"));
    assert!(found.clusters.len() == 2 && found.clusters.iter().all(refused), "{found:#?}");
}

#[test]
fn a_class_that_was_edited_under_its_name_counts_for_all_of_its_clusters() {
    let files = support::many(3);
    let other = |path: &str, text: &str| {
        Some(if path.contains("/cluster-class/") {
            text.replace("startupDuration: 1s", "startupDuration: 7s")
        } else {
            text.to_owned()
        })
    };
    let found = since(&generated(&files, other), &files);
    assert_eq!(found.clusters.len(), 3, "{found:#?}");
    assert!(
        found.clusters.iter().all(|one| one.objects.is_empty() && !meanings(one).is_empty()),
        "{found:#?}"
    );
}

/// A fleet whose clusters differ in the sizes, labels and rollout strategies of their pools.
fn with_different_pools(count: usize) -> Files {
    let mut files = support::large::large(count);
    let strategies = [
        "",
        "{ type: RollingUpdate, rollingUpdate: { maxSurge: 25%, maxUnavailable: 10% } }",
        "{ type: RollingUpdate, rollingUpdate: { maxSurge: 0, maxUnavailable: 3 } }",
        "{ type: OnDelete }",
    ];
    let definitions = files.0.iter_mut().filter(|(path, _)| path.contains("/c-"));
    for (index, (_, text)) in definitions.enumerate() {
        let size = format!("replicas: {}\n      labels: {{ rack: r{} }}\n", (index * 5) % 23, index % 9);
        let strategy = strategies[index / 2 % strategies.len()];
        let rollout = if strategy.is_empty() {
            String::new()
        } else {
            format!("      rollout: {{ strategy: {strategy} }}\n")
        };
        let lines = text.split_inclusive('\n');
        let line = |line: &str| {
            let is_size = line.trim_start().starts_with("replicas: ");
            if is_size { format!("      {size}{rollout}") } else { line.to_owned() }
        };
        *text = lines.map(line).collect();
    }
    files
}

/// The Cluster of a definition as it would be written for a fleet that has no other.
fn alone(cluster: &Cluster, fleet: &Understood) -> WrittenCluster {
    let plan = plan::plan_cluster(cluster, &fleet.model, &fleet.releases, &mut Notes::new()).unwrap();
    WrittenCluster::drawn(&plan, &render::cluster_object(&plan).unwrap(), &ClassCache::default())
}

/// Answers are shared between clusters. Each must be the one that the cluster would get alone.
#[test]
fn each_cluster_that_moves_gets_its_own_answer() {
    let fleet = understood(&with_different_pools(80));
    let minor = |cluster: &Cluster| match &cluster.release {
        ReleaseRef::Head(stack, minor) if &*stack.provider == "openstack" => Some(minor.minor),
        _ => None,
    };
    let is_old = |cluster: &Cluster| minor(cluster) == Some(35);
    let target = fleet.model.clusters.iter().find(|one| minor(one) == Some(36)).unwrap().release.clone();
    let before = definitions(&fleet).only(is_old);
    let found = compare(&before, &before.moved(target.clone())).unwrap();
    assert_eq!(found.clusters.len(), 28);
    for one in &found.clusters {
        let cluster = fleet.model.clusters.iter().find(|cluster| cluster.id() == one.cluster).unwrap();
        let moved = Cluster { release: target.clone(), ..cluster.clone() };
        let alone = forecast(alone(cluster, &fleet), alone(&moved, &fleet)).unwrap();
        let ClusterOutcome::Judged(answer) = &one.outcome else { panic!("{one:#?}") };
        assert_eq!((&answer.verdicts, &answer.faults), (&alone.verdicts, &alone.faults));
        assert!(
            answer.verdicts.iter().any(|one| matches!(one.meaning, Meaning::Upgrade { .. })),
            "{answer:#?}"
        );
        let versions =
            [&one.before, &one.after].map(|facts| facts.as_ref().unwrap().version().unwrap().minor().minor);
        assert_eq!(versions, [35, 36]);
    }
}

/// The same for a change that replaces machines of the version that they have.
#[test]
fn each_cluster_of_a_changed_class_gets_its_own_answer() {
    let files = with_different_pools(80);
    let path = "stacks/docker/scs/cluster-class/worker.yaml";
    let (before, after) = (
        understood(&files),
        understood(&edited(&files, path, "imagefs.available<0%", "imagefs.available<1%")),
    );
    let found = compare(&definitions(&before), &definitions(&after)).unwrap();
    let (mut sizes, mut surges) = (BTreeSet::new(), BTreeSet::new());
    for one in &found.clusters {
        let of = |fleet: &Understood| {
            let cluster = fleet.model.clusters.iter().find(|cluster| cluster.id() == one.cluster).unwrap();
            alone(cluster, fleet)
        };
        let alone = forecast(of(&before), of(&after)).unwrap();
        let ClusterOutcome::Judged(answer) = &one.outcome else { panic!("{one:#?}") };
        assert_eq!((&answer.verdicts, &answer.faults), (&alone.verdicts, &alone.faults));
        for verdict in &answer.verdicts {
            if let Meaning::Rollout { machines, surge, .. } = verdict.meaning {
                sizes.insert(machines);
                surges.insert(surge);
            }
        }
    }
    assert!(sizes.len() > 5 && surges.len() > 3, "{sizes:?} {surges:?}");
}

#[test]
fn a_file_is_called_as_git_calls_it() {
    // The result of `git hash-object --stdin` for the same content.
    let hex = stackloom::model::hex(&BlobId::of(b"hello\n").0);
    assert_eq!(hex, "ce013625030ba8dba906f756967f9e9ca394464a");
}
