//! Files beside a cluster that engines read differently: without a kustomize file at the top of the folder, each engine finds the objects
//! in its own way.

use super::{Finder, kustomize_folder};
use crate::{note::Place, plan::ClusterPlan};

pub(super) fn check(plan: &ClusterPlan, folder: &str, finder: &mut Finder<'_>) {
    if plan.cluster.companion.as_ref().is_none_or(|companion| companion.is_built) {
        return;
    }
    let texts = finder.texts;
    for source in texts.beside.below(folder) {
        let extension = source.path.rsplit_once('.').map(|(_, extension)| extension);
        let (message, hint) = match extension {
            Some("jsonnet" | "libsonnet") => (
                "some engines evaluate this file and apply the result, which nothing checks; others ignore it".to_owned(),
                "write the objects in YAML, or keep the file elsewhere".to_owned(),
            ),
            Some("json") => (
                "some engines apply the object in this file, others ignore it".to_owned(),
                format!("write it in YAML, or list it in `{folder}/kustomization.yaml`"),
            ),
            _ if kustomize_folder::is_kustomization(&source.path) => (
                "some engines build this subfolder, others apply its files as they are".to_owned(),
                format!("write a `{folder}/kustomization.yaml` with everything to apply, and list the subfolder there"),
            ),
            _ => continue,
        };
        finder.notes.error("object", Place::file(&*source.path), message).hint(hint);
    }
}
