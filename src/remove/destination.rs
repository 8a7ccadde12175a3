//! Refuses to point a management cluster's engine at another cluster while it runs.

use std::collections::{BTreeMap, BTreeSet};

use super::former_texts::FormerTexts;
use crate::{
    note::{About, Notes, Place},
    render::{EngineTarget, may_name_target, target_of},
    tree::{Changes, File, FileChange, TreePath},
};

/// Where the engines of management clusters apply objects, by management cluster: a file that says it, and what it says.
#[derive(Debug, Default)]
pub(super) struct Targets(BTreeMap<String, (TreePath, EngineTarget)>);

impl Targets {
    /// Records a file of the run.
    pub(super) fn see(&mut self, file: &File, changes: &Changes) {
        if changes.files.get(&file.path) != Some(&FileChange::Changed) || !may_name_target(&file.path) {
            return;
        }
        let target = target_of(file.text());
        if let Some((management, target)) = management(&file.path).zip(target) {
            self.0.entry(management.to_owned()).or_insert_with(|| (file.path.clone(), target));
        }
    }

    /// Judges the targets. Returns the management clusters whose engine would move to another namespace.
    pub(super) fn judge(&self, former: &FormerTexts<'_>, notes: &mut Notes) -> BTreeSet<&str> {
        let mut moved = BTreeSet::new();
        for (management, (path, after)) in &self.0 {
            let before = former.text(path).as_deref().and_then(target_of);
            let Some(before) = before.filter(|before| before.runs) else { continue };
            let [cluster, namespace] = after.settings;
            // The other cluster has none of the machines, so Cluster API there would build them a second time.
            let (setting, message, page) = if before.cluster != after.cluster {
                let message = format!(
                    "the clusters of `{management}` would be built a second time: its engine would apply them to `{}`, and they run in `{}`",
                    after.cluster, before.cluster
                );
                (cluster, message, "Change the destination")
            } else if before.namespace != after.namespace {
                moved.insert(management.as_str());
                let message = format!(
                    "the engine of `{management}` would move from the namespace `{}` to `{}` while it runs: its objects would be in both",
                    before.namespace, after.namespace
                );
                (namespace, message, "Change the engine's namespace")
            } else {
                continue;
            };
            notes
                .error("engine-changed", Place::file(path.as_str()), message)
                .about(About::Setting { management: management.clone(), path: setting })
                .hint(format!("to leave the clusters where they are, restore `{setting}` of `{management}`"))
                .hint(standby_first(management))
                .hint(format!("the steps are in docs/management-clusters.md, under \"{page}\""));
        }
        moved
    }
}

/// The hint for a change that is safe once the engine does nothing.
pub(super) fn standby_first(management: &str) -> String {
    format!(
        "first commit `standby: true` for `{management}`, and wait until it is applied and no sync is running"
    )
}

/// The management cluster whose folder a file is in.
fn management(path: &TreePath) -> Option<&str> {
    path.as_str().split('/').nth(2)
}
