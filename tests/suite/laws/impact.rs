//! The recorded impact of a release is never milder than what Cluster API does to a cluster that moves to it.

use std::collections::{BTreeMap, BTreeSet};

use stackloom::{
    compare::{ClassCache, WrittenCluster, forecast},
    definition::Channel,
    generate::{self, prepare},
    note::Notes,
    plan::ClusterPlan,
    rebase,
    release::{Cut, CutRequest, Impact, RebaseEffect, differences, impact},
    render,
    world::Files,
};

use super::super::{sandbox, support};

const STACK: &str = "stacks/dev/inmemory";

/// Cuts releases of everything that changed, and adds them to the files.
fn released(files: &mut Files) -> Vec<Cut> {
    let request = CutRequest {
        stack: None,
        minor: None,
        channel: Channel::Stable,
        version: None,
        taken: BTreeSet::new(),
        tagged: std::collections::BTreeMap::new(),
        commit: None,
    };
    let mut notes = Notes::new();
    let considered = generate::cut(&*files, &request, &mut notes);
    let considered = considered.unwrap_or_else(|_| panic!("{}", sandbox::messages(&notes)));
    let cuts: Vec<Cut> = considered.into_iter().filter_map(|one| one.cut).collect();
    for cut in &cuts {
        for (path, text) in &cut.files {
            files.0.insert(format!("generated/releases/{}/{path}", cut.release.name), text.clone());
        }
    }
    cuts
}

/// The small fleet, with each cluster pinned to the first release of its minor.
fn pinned() -> Files {
    let mut files = support::inmemory();
    released(&mut files);
    for (path, text) in &mut files.0 {
        if path.starts_with("clusters/") {
            let pin = |line: &str| match line.trim() {
                "kubernetes: \"1.35\"" => Some("  release: dev-inmemory-1-35-v1".to_owned()),
                "kubernetes: \"1.36\"" => Some("  release: dev-inmemory-1-36-v1".to_owned()),
                "release: head" | "stack: dev/inmemory" => None,
                _ => Some(line.to_owned()),
            };
            *text = text.lines().filter_map(pin).map(|line| line + "\n").collect();
        }
    }
    files
}

/// The clusters that can be planned, each on its own.
fn clusters(files: &Files) -> BTreeMap<String, ClusterPlan> {
    let is_cluster = |path: &str| path.starts_with("clusters/") && path.matches('/').count() == 2;
    let planned = files.0.keys().filter(|path| is_cluster(path)).filter_map(|own| {
        let mut alone = files.clone();
        alone.0.retain(|path, _| path == own || !is_cluster(path));
        prepare(&alone, &mut Notes::new()).ok()?.plan.clusters.pop()
    });
    let name = |plan: &ClusterPlan| format!("{}/{}", plan.cluster.namespace, plan.cluster.name);
    planned.map(|plan| (name(&plan), plan)).collect()
}

/// The effects on each cluster; unknown if the cluster can no longer be generated.
fn effects(before: &Files, after: &Files) -> BTreeMap<String, (String, BTreeSet<RebaseEffect>)> {
    let (old, new) = (clusters(before), clusters(after));
    let classes = ClassCache::default();
    let written =
        |plan: &ClusterPlan| WrittenCluster::drawn(plan, &render::cluster_object(plan).unwrap(), &classes);
    let judge = |(name, plan): (&String, &ClusterPlan)| {
        let effects = match new.get(name) {
            None => BTreeSet::from([RebaseEffect::Unknown]),
            Some(now) => {
                let forecast = forecast(written(plan), written(now)).unwrap();
                forecast.verdicts.iter().filter_map(rebase::effect).collect()
            }
        };
        (name.clone(), (plan.release.name.clone(), effects))
    };
    old.iter().map(judge).collect()
}

fn covers(impact: &Impact, effect: RebaseEffect) -> bool {
    impact.effects.contains_key(&effect) || effect == RebaseEffect::InPlace && !impact.effects.is_empty()
}

/// File, old text, new text.
const EDITS: [(&str, &str, &str); 14] = [
    ("addons/extra/addon.yaml", ">=1.35 <1.37", ">=1.34 <1.37"),
    ("addons/demo/values.yaml", "octal: \"012\"", "octal: \"013\""),
    ("cluster-class/templates.yaml", "startupDuration: 1s", "startupDuration: 2s"),
    ("cluster-class/templates.yaml", "path: /etc/node-image", "path: /etc/image"),
    ("cluster-class/templates.yaml", "- 127.0.0.1", "- 127.0.0.1\n              - localhost"),
    (
        "cluster-class/templates.yaml",
        "spec:\n  template:\n    spec:\n      kubeadmConfigSpec:",
        "spec:\n  template:\n    spec:\n      rollout: { strategy: { type: RollingUpdate, rollingUpdate: { maxSurge: 0 } } }\n      kubeadmConfigSpec:",
    ),
    ("cluster-class/cluster-class.yaml", "default: in memory only", "default: another text"),
    ("cluster-class/cluster-class.yaml", "minLength: 1", "minLength: 4"),
    ("cluster-class/cluster-class.yaml", "path: /etc/motd", "path: /etc/motd.d/fleet"),
    (
        "cluster-class/cluster-class.yaml",
        "                  - 127.0.0.1\n",
        "                  - localhost\n",
    ),
    (
        "cluster-class/cluster-class.yaml",
        "  variables:\n",
        "  variables:\n    - name: zone\n      required: true\n      schema: { openAPIV3Schema: { type: string } }\n",
    ),
    ("cluster-class/cluster-class.yaml", "name: motd\n      required", "name: message\n      required"),
    (
        "cluster-class/cluster-class.yaml",
        "- class: default-worker\n",
        "- class: default-worker\n        deletion: { order: Oldest }\n",
    ),
    ("node-images.yaml", "name: inmemory-v1.3", "name: built-again-v1.3"),
];

#[test]
fn no_cluster_gets_worse_than_its_release_says() {
    let before = pinned();
    let last = clusters(&before);
    let mut seen = BTreeSet::new();
    for (file, old, new) in EDITS {
        let mut files = before.clone();
        let text = files.0.get_mut(&format!("{STACK}/{file}")).unwrap();
        assert!(text.contains(old), "{file} has no {old}");
        *text = text.replace(old, new);
        let cuts = released(&mut files);
        assert_eq!(cuts.len(), 2, "{file}: {new}");
        let mut after = files.clone();
        for (path, text) in &mut after.0 {
            if path.starts_with("clusters/") {
                *text = text.replace("-v1\n", "-v2\n");
            }
        }
        for (cluster, (release, effects)) in effects(&before, &after) {
            let cut = cuts.iter().find(|cut| cut.release.name == release.replace("-v1", "-v2")).unwrap();
            let history = cut.release.history.clone().unwrap();
            let recorded = Impact { effects: history.impact.unwrap() };
            let reported = differences(&last[&cluster].release, &cut.release);
            let management = std::slice::from_ref(&last[&cluster].cluster.management);
            let classes = rebase::class_forecasts(management, &last[&cluster].release, &cut.release);
            let by_class = impact(&cut.release, &reported, &classes);
            let group = cut
                .rebases
                .groups
                .iter()
                .find(|group| group.clusters.iter().any(|one| one.to_string() == cluster))
                .unwrap();
            assert_eq!(group.effects, effects, "{file}: {new}: {cluster}: {}", group.means);
            for effect in effects {
                let of_this = format!("{file}: {new}: {cluster}: {effect:?}");
                assert!(covers(&recorded, effect), "{of_this}: {recorded:?}");
                // A refusal may concern only this cluster. But no machine may be replaced without the class showing it.
                let replaced =
                    [RebaseEffect::WorkersReplaced, RebaseEffect::ControlPlaneReplaced].contains(&effect);
                assert!(!replaced || covers(&by_class, effect), "{of_this}: {by_class:?}");
                seen.insert(effect);
            }
        }
    }
    let all = [RebaseEffect::WorkersReplaced, RebaseEffect::ControlPlaneReplaced, RebaseEffect::Unknown];
    assert!(all.iter().all(|effect| seen.contains(effect)), "{seen:?}");
}
