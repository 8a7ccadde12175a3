//! What the guards know of classes. Refuses a class of the same stack whose infrastructure or control plane is of another kind:
//! Cluster API refuses to move a running Cluster to it.
//!
//! Source: `ClusterClassesAreCompatible` of `internal/topology/check/compatibility.go`.

use std::collections::BTreeMap;

use super::former_texts::FormerTexts;
use crate::{
    compare::ClusterFacts,
    note::{About, Notes, Place},
    release::group_of,
    topology,
    tree::{Changes, File, FileChange, PartId, TreePath},
    yaml::{self, FileId, Node, Source, to_json},
};

/// The kinds of templates that a class may not exchange: what they make, with kind and group.
type Kinds = BTreeMap<&'static str, String>;

/// The classes that a run writes and removes, by the name of their release.
#[derive(Clone, Debug, Default)]
pub(super) struct Classes(BTreeMap<String, Known>);

/// What is known of a class.
#[derive(Clone, Debug)]
struct Known {
    kinds: Kinds,
    /// Whether it plans upgrades over several minor versions.
    plans_upgrades: bool,
}

/// Where a class names the templates. `ref` is the field of `v1beta1`.
const TEMPLATES: [(&str, &[&str]); 3] = [
    ("infrastructure", &["spec", "infrastructure"]),
    ("control plane", &["spec", "controlPlane"]),
    ("control plane machines", &["spec", "controlPlane", "machineInfrastructure"]),
];

impl Classes {
    /// Records the class in a file of the run, if it is one.
    pub(super) fn see(&mut self, file: &File) {
        if let Some(release) = release_of(&file.path) {
            let text = file.text();
            self.add(release, text);
        }
    }

    fn add(&mut self, release: &str, text: &str) {
        if let Some(class) = text.contains("kind: ClusterClass").then(|| known(text)).flatten() {
            self.0.insert(release.to_owned(), class);
        }
    }

    /// Whether the class of a Cluster plans upgrades over several minor versions. False if it is not among these.
    pub(super) fn plan_upgrades(&self, facts: &ClusterFacts) -> bool {
        let class = facts.release.as_deref().and_then(|release| self.0.get(release));
        class.is_some_and(|class| class.plans_upgrades)
    }

    /// The same classes, with those that the run removes.
    pub(super) fn with_removed(&self, changes: &Changes, former: &FormerTexts<'_>) -> Self {
        let mut all = self.clone();
        let removed = changes.files.iter().filter(|(_, change)| **change == FileChange::Removed);
        for (path, release) in removed.filter_map(|(path, _)| Some((path, release_of(path)?))) {
            if let Some(text) = former.text(path) {
                all.add(release, &text);
            }
        }
        all
    }

    /// Judges the classes of a Cluster before and after the run, if both are among these.
    pub(super) fn judge(
        &self,
        (path, part): (&TreePath, &PartId),
        [old, new]: [&ClusterFacts; 2],
        notes: &mut Notes,
    ) {
        let kinds = |facts: &ClusterFacts| Some(&self.0.get(facts.release.as_deref()?)?.kinds);
        let (PartId::Cluster { namespace, cluster, .. }, Some(old), Some(new)) =
            (part, kinds(old), kinds(new))
        else {
            return;
        };
        let differ = |(what, before): (&&'static str, &String)| {
            let after = new.get(what).filter(|after| *after != before)?;
            Some((*what, before.clone(), after.clone()))
        };
        let Some((what, before, after)) = old.iter().find_map(differ) else { return };
        notes
            .error(
                "replaced",
                Place::file(path.as_str()),
                format!("the {what} of the cluster `{namespace}/{cluster}` would change from {before} to {after}: Cluster API refuses that"),
            )
            .about(About::Release)
            .hint("give the new class to a stack of its own, and define a cluster with another name for it");
    }
}

/// Whether the guard needs the text of a file.
pub(super) fn reads(path: &TreePath) -> bool {
    release_of(path).is_some()
}

/// The release whose class may be in a file.
fn release_of(path: &TreePath) -> Option<&str> {
    let (release, file) = path.as_str().strip_prefix("generated/releases/")?.split_once('/')?;
    file.starts_with("cluster-class/").then_some(release)
}

fn known(text: &str) -> Option<Known> {
    let class = yaml::read(&Source::new(FileId(0), "class", text), &mut Notes::new())?;
    let kind = |(what, path): &(&'static str, &[&str])| {
        let owner = class.at(path)?;
        let named = owner.get("templateRef").or_else(|| owner.get("ref"))?;
        let word = |key: &str| named.get(key).and_then(Node::as_str);
        Some((*what, format!("{}.{}", word("kind")?, group_of(word("apiVersion")?))))
    };
    let kinds = TEMPLATES.iter().filter_map(kind).collect();
    Some(Known { kinds, plans_upgrades: topology::plans_upgrades(&to_json(&class)) })
}
