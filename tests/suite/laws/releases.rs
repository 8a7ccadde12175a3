//! Releases are read back as written, and their hash depends only on their content.

use std::collections::BTreeMap;

use stackloom::{
    generate::prepare,
    note::Notes,
    release::{self, Content, Release},
    world::Files,
    yaml::Sources,
};

use super::{
    super::{sandbox, support},
    changed, fleets, shuffled,
};

fn heads(files: &Files) -> BTreeMap<String, std::sync::Arc<Release>> {
    let mut notes = Notes::new();
    let done = prepare(files, &mut notes);
    let planned = done.unwrap_or_else(|failure| panic!("{failure:?}\n{}", sandbox::messages(&notes)));
    planned
        .plan
        .heads
        .iter()
        .map(|release| (release.kubernetes.minor().to_string(), release.clone()))
        .collect()
}

#[test]
fn what_is_written_is_read_back() {
    for files in fleets() {
        let (mut notes, mut count) = (Notes::new(), 0);
        let plan = prepare(&files, &mut notes).unwrap().plan;
        for head in &plan.heads {
            let found = read_back(&head.name, release::write(head), &mut notes);
            assert_eq!(sandbox::messages(&notes), "");
            assert_eq!(found.as_ref(), Some(&**head));
            count += 1;
        }
        assert!(count >= 2);
    }
}

fn read_back(name: &str, texts: BTreeMap<String, String>, notes: &mut Notes) -> Option<Release> {
    let mut sources = Sources::default();
    let read = texts.into_iter().map(|(path, text)| {
        let id = sources.add(&path, text);
        (path, sources.get(id).unwrap().clone())
    });
    release::read(name, &read.collect(), notes)
}

/// Requirements of a release that this program cannot check must not be ignored.
#[test]
fn a_release_that_only_a_later_program_understands_is_refused() {
    let head = heads(&base()).remove("1.35").unwrap();
    let texts = release::write(&head);
    for (old, new, reported) in [
        (
            "  format: 2\n",
            "  format: 3\n",
            "the release has format 3, but this version of stackloom reads format 2",
        ),
        ("  format: 2\n", "  format: 3\n  newFieldOfFormat3: 1\n", "the release has format 3, but"),
        ("  format: 2\n", "", "the release has no `spec.format`"),
        ("  format: 2\n", "  format: two\n", "`format` must be a whole number"),
        ("  format: 2\n", "  format: 2\n  upgrades: {}\n", "the release has `spec.upgrades`"),
        (
            "  requires:\n",
            "  requires:\n    providers: { test: newest }\n",
            "`newest` is not a version range",
        ),
        ("  requires:\n", "  requires:\n    somethingNew: 1\n", "unknown-key"),
        (
            "  templateLanguage: 1\n",
            "  templateLanguage: 9\n",
            "  |   templateLanguage: 9\n  |                     ^\n",
        ),
    ] {
        let mut texts = texts.clone();
        let text = texts.get_mut("release.yaml").unwrap();
        assert!(text.contains(old), "{text}");
        *text = text.replacen(old, new, 1);
        let mut notes = Notes::new();
        assert_eq!(read_back(&head.name, texts, &mut notes), None, "{new}");
        let messages = sandbox::messages(&notes);
        assert!(messages.contains(reported), "{messages}");
    }
}

/// A release is the same for every engine: the program adds nothing specific to one. Templates are up to the author.
#[test]
fn nothing_that_the_program_writes_into_a_release_names_an_engine() {
    for files in fleets() {
        for head in heads(&files).values() {
            let is_rendered = |path: &str| path.starts_with("cluster-class/") || !path.contains('/');
            for (path, text) in release::write(head).into_iter().filter(|(path, _)| is_rendered(path)) {
                let engine = ["fluxcd.io", "argoproj.io"].into_iter().find(|word| text.contains(word));
                assert_eq!(engine, None, "{path}");
            }
        }
    }
}

fn base() -> Files {
    support::fleet(&support::package().join("tests/cases/_base"))
}

fn contents(files: &Files) -> BTreeMap<String, Content> {
    heads(files).into_iter().map(|(minor, release)| (minor, release.content.clone())).collect()
}

const STACK: &str = "stacks/test/tiny";

fn renamed(files: &Files, renames: &[(&str, &str)]) -> Files {
    let mut files = files.clone();
    for (old, new) in renames {
        let text = files.0.remove(&format!("{STACK}/{old}")).unwrap();
        files.0.insert(format!("{STACK}/{new}"), text);
    }
    files
}

#[test]
fn comments_formatting_file_names_and_orders_are_no_content() {
    let base = base();
    let expected = contents(&base);
    let commented = Files(
        base.0
            .iter()
            .map(|(path, text)| {
                let text = text.replace("metadata:\n", "# a comment\nmetadata: # and one more\n\n");
                (path.clone(), format!("# first\n\n{text}\n# last\n"))
            })
            .collect(),
    );
    let renamed = renamed(
        &base,
        &[
            ("cluster-class/class.yaml", "cluster-class/zz.yml"),
            ("cluster-class/templates.yaml", "cluster-class/all.yaml"),
            ("cluster/facts.yaml", "cluster/what-is-known.yaml"),
            ("namespace/limits.yaml", "namespace/a.yaml"),
            ("addons/notes/manifests/notes.yaml", "addons/notes/manifests/other.yaml"),
        ],
    );
    let mut as_json = base.clone();
    for path in ["stack.yaml", "node-images.yaml", "addons/net/addon.yaml", "addons/notes/addon.yaml"] {
        as_json = changed(&as_json, &format!("{STACK}/{path}"), |_| {});
    }
    for (what, other) in [("comments", commented), ("names", renamed), ("formatting", as_json)] {
        assert_eq!(contents(&other), expected, "{what}");
    }
    for seed in 0..5 {
        assert_eq!(contents(&shuffled(&base, seed)), expected, "seed {seed}");
    }
}

/// An edit of one file, and the components that it bumps, for each minor that has the file.
struct Edit {
    file: &'static str,
    old: &'static str,
    new: &'static str,
    bumps: &'static [&'static str],
    minors: &'static [&'static str],
}

const BOTH: &[&str] = &["1.35", "1.36"];

const EDITS: [Edit; 18] = [
    Edit {
        file: "cluster-class/class.yaml",
        old: "default: 20",
        new: "default: 30",
        bumps: &["class"],
        minors: BOTH,
    },
    Edit {
        file: "cluster-class/templates.yaml",
        old: "kubeadmConfigSpec: { format: cloud-config }",
        new: "kubeadmConfigSpec: { format: ignition }",
        bumps: &["class"],
        minors: BOTH,
    },
    Edit {
        file: "cluster-class/templates.yaml",
        old: "kubeadmConfigSpec: { format: cloud-config }",
        new: "kubeadmConfigSpec:",
        bumps: &["class"],
        minors: BOTH,
    },
    Edit { file: "cluster/facts.yaml", old: "motd: $", new: "message: $", bumps: &["class"], minors: BOTH },
    Edit {
        file: "cluster/facts.yaml",
        old: "${{ pool.name }}: $",
        new: "${{ pool.name }} $",
        bumps: &["class"],
        minors: BOTH,
    },
    Edit { file: "namespace/limits.yaml", old: "256Mi", new: "257Mi", bumps: &["class"], minors: BOTH },
    Edit {
        file: "stack.yaml",
        old: "upgradeTo: 1.1.0",
        new: "upgradeTo: 1.1.1",
        bumps: &["class"],
        minors: BOTH,
    },
    Edit { file: "stack.yaml", old: "\">=1.36\"", new: "\">=1.37\"", bumps: &["class"], minors: BOTH },
    Edit {
        file: "addons/net/addon.yaml",
        old: "version: 1.1.0",
        new: "version: 1.1.1",
        bumps: &["addon"],
        minors: BOTH,
    },
    Edit {
        file: "addons/net/addon.yaml",
        old: "\">=1.34 <1.37\"",
        new: "\">=1.33 <1.37\"",
        bumps: &["addon"],
        minors: BOTH,
    },
    Edit {
        file: "addons/net/addon.yaml",
        old: "stage: bootstrap",
        new: "stage: default",
        bumps: &["addon"],
        minors: BOTH,
    },
    Edit {
        file: "addons/net/addon.yaml",
        old: "stage: bootstrap",
        new: "stage: bootstrap\n  enabled: false",
        bumps: &["addon"],
        minors: BOTH,
    },
    Edit {
        file: "addons/net/addon.yaml",
        old: "stage: bootstrap",
        new: "stage: bootstrap\n  valuesFrom:\n    - secret: keys",
        bumps: &["addon"],
        minors: BOTH,
    },
    Edit {
        file: "addons/net/values.yaml",
        old: "replicas: 2",
        new: "replicas: 3",
        bumps: &["addon"],
        minors: BOTH,
    },
    Edit {
        file: "addons/notes/manifests/notes.yaml",
        old: "namespace: default",
        new: "namespace: kube-system",
        bumps: &["addon"],
        minors: BOTH,
    },
    Edit { file: "node-images.yaml", old: "aaaa\n", new: "aaab\n", bumps: &["image"], minors: &["1.35"] },
    Edit {
        file: "node-images.yaml",
        old: "oci://images",
        new: "oci://mirror",
        bumps: &["image"],
        minors: &["1.36"],
    },
    Edit {
        file: "node-images.yaml",
        old: "os: ubuntu-24.04",
        new: "os: ubuntu-26.04",
        bumps: &["image"],
        minors: &["1.35"],
    },
];

/// The components that differ.
fn bumped(before: &Content, after: &Content) -> Vec<&'static str> {
    let Content { cluster_class, cluster_addon, node_image, whole } = after;
    let parts = [
        ("class", cluster_class, &before.cluster_class),
        ("addon", cluster_addon, &before.cluster_addon),
        ("image", node_image, &before.node_image),
    ];
    let bumped: Vec<_> = parts.iter().filter(|(_, new, old)| new != old).map(|(name, ..)| *name).collect();
    assert_eq!(bumped.is_empty(), *whole == before.whole, "the whole follows its parts");
    bumped
}

#[test]
fn every_real_change_bumps_its_component_and_no_other() {
    let base = base();
    let before = contents(&base);
    for Edit { file, old, new, bumps, minors } in EDITS {
        let path = format!("{STACK}/{file}");
        let mut files = base.clone();
        let text = &files.0[&path];
        assert_eq!(text.matches(old).count(), 1, "{file}: {old}");
        files.0.insert(path, text.replace(old, new));
        for (minor, after) in contents(&files) {
            let expected = if minors.contains(&&*minor) { bumps } else { &[] };
            assert_eq!(bumped(&before[&minor], &after), expected, "{file}: {old} → {new}, {minor}");
        }
    }
}

#[test]
fn a_new_patch_version_and_its_image_bump_their_minor_alone() {
    let base = base();
    let before = contents(&base);
    let mut files = base.clone();
    for file in ["stack.yaml", "node-images.yaml"] {
        let path = format!("{STACK}/{file}");
        let text = files.0[&path].replace("1.35.10", "1.35.11");
        files.0.insert(path, text);
    }
    let after = contents(&files);
    assert_eq!(bumped(&before["1.35"], &after["1.35"]), ["class", "image"]);
    assert_eq!(bumped(&before["1.36"], &after["1.36"]), [""; 0]);
}

#[test]
fn an_override_for_one_minor_bumps_that_minor_alone() {
    let base = base();
    let before = contents(&base);
    let mut files = base.clone();
    files.0.insert(format!("{STACK}/1-36/addons/net/values.yaml"), "relay:\n  enabled: false\n".to_owned());
    let after = contents(&files);
    assert_eq!(bumped(&before["1.35"], &after["1.35"]), [""; 0]);
    assert_eq!(bumped(&before["1.36"], &after["1.36"]), ["addon"]);
}

/// Anything that clusters are not built from is not content: how long a minor is served, and the stack's descriptions.
#[test]
fn words_about_a_stack_are_no_content() {
    let base = base();
    let files = changed(&base, &format!("{STACK}/stack.yaml"), |json| {
        json["spec"]["description"] = "Other words".into();
        json["spec"]["kubernetes"][0]["maturity"] = "deprecated".into();
        json["spec"]["kubernetes"][0]["endOfLife"] = "2027-03-01".into();
    });
    assert_eq!(contents(&files), contents(&base));
}
