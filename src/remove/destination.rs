//! Refuses to point a management cluster's engine at another cluster while it runs.

use std::collections::BTreeMap;

use super::former_texts::FormerTexts;
use crate::{
    note::{Notes, Place},
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
        let target = std::str::from_utf8(file.bytes()).ok().and_then(target_of);
        if let Some((management, target)) = management(&file.path).zip(target) {
            self.0.entry(management.to_owned()).or_insert_with(|| (file.path.clone(), target));
        }
    }

    /// Judges the targets. The other cluster has none of the machines, so Cluster API there would build them a second time.
    pub(super) fn judge(&self, former: &FormerTexts<'_>, notes: &mut Notes) {
        for (management, (path, after)) in &self.0 {
            let before = former.text(path).as_deref().and_then(target_of);
            let Some(before) = before.filter(|before| before.runs && before.cluster != after.cluster) else {
                continue;
            };
            let message = format!(
                "the clusters of `{management}` would be built a second time: its engine would apply them to `{}`, and they run in `{}`",
                after.cluster, before.cluster
            );
            notes
                .error("engine-changed", Place::file(path.as_str()), message)
                .hint(format!("to keep them where they are, restore `{}` of `{management}` in stackloom.yaml", after.setting))
                .hint(format!("if only the name of the cluster changes, first commit `standby: true` for `{management}`, and wait until it is applied and no sync is running"))
                .hint("the steps are in docs/management-clusters.md, under \"Change the destination\"");
        }
    }
}

/// The management cluster whose folder a file is in.
fn management(path: &TreePath) -> Option<&str> {
    path.as_str().split('/').nth(2)
}
